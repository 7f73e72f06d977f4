/* The index beside git ls-files. */
#include "git/staged.h"

#include "repo_maker.h"

static void check_staged(const char *folder) {
    struct ts_git_repo *repo = open_repo(folder);
    struct ts_git_staged staged;
    struct ts_git_fault fault;
    assert_int_equal(ts_git_staged_read(repo, &staged, &fault), TS_GIT_OK);
    size_t len;
    char *text = output_of(&len, "git -C %s ls-files -s -z", folder);
    size_t count = 0;
    for (size_t at = 0; at < len; at += strlen(text + at) + 1, count++) {
        char line[512];
        char hex[TS_GIT_OID_HEX_SIZE];
        assert_true(count < staged.count);
        const struct ts_git_staged_entry *entry = &staged.items[count];
        snprintf(line, sizeof line, "%06o %s %u\t%s", entry->mode,
                 ts_git_oid_format(ts_git_repo_hash(repo), &entry->oid, hex), entry->stage, entry->path);
        assert_string_equal(line, text + at);
        assert_int_equal(entry->path_len, strlen(entry->path));
    }
    assert_int_equal(staged.count, count);
    free(text);
    ts_git_staged_release(&staged);
    ts_git_repo_free(repo);
}

static void make(const char *format) {
    sh("git init -q --object-format=%s r && cd r && mkdir -p d/e && for i in 1 2 3 4 5 6 7 8 9 10; do echo $i "
       ">d/e/file-with-a-longer-name-$i; echo $i >f$i; done && ln -s f1 link && printf x >'new\nline' && git add . && git "
       "commit -qm 1 && rm f3 && git add -u && echo changed >f4 && git add f4",
       format);
}

static void every_version_is_read(void **state) {
    (void)state;
    static const char *const formats[] = {"sha1", "sha256"};
    for (size_t i = 0; i < 2; i++) {
        make(formats[i]);
        for (int version = 2; version <= 4; version++) {
            /* Version 3 is version 2 with something that needs it. */
            sh("cd r && git update-index --index-version %d && echo n >n%d && git add %s n%d", version,
               version, version == 2 ? "" : "-N", version);
            check_staged("r");
        }
        sh("rm -rf r");
    }
}

static void conflicts_have_stages(void **state) {
    (void)state;
    sh("git init -q r && cd r && echo 1 >a && git add a && git commit -qm 1 && git checkout -qb other && echo 2 >a && git "
       "commit -qam 2 && git checkout -q main && echo 3 >a && git commit -qam 3 && ! git merge -q other >/dev/null");
    check_staged("r");
}

static void what_is_only_meant_to_be_added_is_marked(void **state) {
    (void)state;
    sh("git init -q r && cd r && echo 1 >a && git add -N a");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_staged staged;
    assert_int_equal(ts_git_staged_read(repo, &staged, NULL), TS_GIT_OK);
    assert_int_equal(staged.count, 1);
    assert_true(staged.items[0].is_intent_to_add);
    ts_git_staged_release(&staged);
    ts_git_repo_free(repo);
}

static void sizes_and_times_are_those_of_the_file(void **state) {
    (void)state;
    sh("git init -q r && cd r && printf 12345 >a && touch -d @1234567890 a && git add a");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_staged staged;
    assert_int_equal(ts_git_staged_read(repo, &staged, NULL), TS_GIT_OK);
    assert_int_equal(staged.items[0].file_size, 5);
    assert_int_equal(staged.items[0].mtime_s, 1234567890);
    ts_git_staged_release(&staged);
    ts_git_repo_free(repo);
}

static void without_an_index_nothing_is_staged(void **state) {
    (void)state;
    sh("git init -q r");
    check_staged("r");
}

static void split_and_damaged_ones_are_refused_by_name(void **state) {
    (void)state;
    make("sha1");
    sh("git -C r update-index --split-index");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_staged staged;
    struct ts_git_fault fault;
    assert_int_equal(ts_git_staged_read(repo, &staged, &fault), TS_GIT_BAD_FILE);
    assert_non_null(strstr(fault.thing, "/index"));
    sh("git -C r update-index --no-split-index && cd r/.git && head -c 300 index >short && mv short index");
    assert_int_equal(ts_git_staged_read(repo, &staged, &fault), TS_GIT_BAD_FILE);
    ts_git_repo_free(repo);
}

/* A path that leads out of the work tree would be read by whoever scans it. */
static void paths_that_lead_out_are_refused(void **state) {
    (void)state;
    sh("git init -q r && cd r && mkdir xx && echo 1 >xx/passwd && git add xx/passwd && git update-index --index-version 2");
    size_t len;
    char *bytes = output_of(&len, "cat r/.git/index");
    struct ts_git_staged staged;
    assert_true(ts_git_staged_parse(TS_GIT_SHA1, ts_bytes_of(bytes, len), &staged));
    ts_git_staged_release(&staged);
    char *path = memmem(bytes, len, "xx/passwd", 9);
    assert_non_null(path);
    memcpy(path, "../", 3);
    assert_false(ts_git_staged_parse(TS_GIT_SHA1, ts_bytes_of(bytes, len), &staged));
    memcpy(path, "/xx", 3);
    assert_false(ts_git_staged_parse(TS_GIT_SHA1, ts_bytes_of(bytes, len), &staged));
    free(bytes);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, maker_setup, maker_teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_version_is_read),
        TEST(conflicts_have_stages),
        TEST(what_is_only_meant_to_be_added_is_marked),
        TEST(sizes_and_times_are_those_of_the_file),
        TEST(without_an_index_nothing_is_staged),
        TEST(split_and_damaged_ones_are_refused_by_name),
        TEST(paths_that_lead_out_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
