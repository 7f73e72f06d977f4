/* Compares the index with the output of git ls-files. */
#include "git/staged.h"

#include "repo_maker.h"
#include "split.h"

/* Compares the staged entries with the output of git ls-files. If the index is sparse, both outputs have folders. */
static void check_staged_with(const char *folder, const char *options) {
    struct ts_git_repo *repo = open_repo(folder);
    struct ts_git_staged staged;
    struct ts_git_fault fault;
    assert_int_equal(ts_git_staged_read(repo, UINT64_MAX, &staged, &fault), TS_GIT_OK);
    size_t len;
    char *text = output_of(&len, "git -C %s ls-files -s -z %s", folder, options);
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

static void check_staged(const char *folder) {
    check_staged_with(folder, "");
}

static bool index_has(const char *folder, const char *text) {
    size_t len;
    char *bytes = output_of(&len, "cat %s/.git/index", folder);
    bool has = memmem(bytes, len, text, strlen(text)) != NULL;
    free(bytes);
    return has;
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
            /* git writes version 3 only if an entry needs that version, such as an entry that 'git add -N'
             * makes. */
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

static void a_file_that_is_only_meant_to_be_added_is_marked(void **state) {
    (void)state;
    sh("git init -q r && cd r && echo 1 >a && git add -N a");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_staged staged;
    assert_int_equal(ts_git_staged_read(repo, UINT64_MAX, &staged, NULL), TS_GIT_OK);
    assert_int_equal(staged.count, 1);
    assert_true(staged.items[0].is_intent_to_add);
    ts_git_staged_release(&staged);
    ts_git_repo_free(repo);
}

static void without_an_index_nothing_is_staged(void **state) {
    (void)state;
    sh("git init -q r");
    check_staged("r");
}

static void damaged_ones_are_refused_by_name(void **state) {
    (void)state;
    make("sha1");
    sh("cd r/.git && head -c 300 index >short && mv short index");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_staged staged;
    struct ts_git_fault fault;
    assert_int_equal(ts_git_staged_read(repo, UINT64_MAX, &staged, &fault), TS_GIT_BAD_FILE);
    assert_non_null(strstr(fault.thing, "/index"));
    ts_git_repo_free(repo);
}

static void folders_of_a_sparse_index_are_entries(void **state) {
    (void)state;
    static const char *const formats[] = {"sha1", "sha256"};
    for (size_t i = 0; i < 2; i++) {
        make(formats[i]);
        sh("cd r && mkdir -p keep other/deep && echo 1 >keep/k && echo 2 >other/deep/o && git add . && git commit -qm 2 && "
           "git sparse-checkout init --cone --sparse-index && git sparse-checkout set keep");
        assert_true(index_has("r", "sdir"));
        check_staged_with("r", "--sparse");
        sh("git -C r update-index --index-version 4");
        check_staged_with("r", "--sparse");
        struct ts_git_repo *repo = open_repo("r");
        struct ts_git_staged staged;
        assert_int_equal(ts_git_staged_read(repo, UINT64_MAX, &staged, NULL), TS_GIT_OK);
        unsigned folders = 0;
        for (size_t k = 0; k < staged.count; k++)
            if (ts_git_mode_is_tree(staged.items[k].mode)) {
                assert_int_equal(staged.items[k].path[staged.items[k].path_len - 1], '/');
                folders++;
            }
        assert_int_equal(folders, 2);
        ts_git_staged_release(&staged);
        ts_git_repo_free(repo);
        sh("rm -rf r");
    }
}

/* Some entries of the shared file are kept, some are deleted, and some are replaced. There are new entries
 * before, between and after them. */
static void a_split_index_is_read_with_the_shared_one(void **state) {
    (void)state;
    static const char *const formats[] = {"sha1", "sha256"};
    for (int i = 0; i < 4; i++) {
        make(formats[i % 2]);
        sh("cd r && git config splitIndex.maxPercentChange 100 && mkdir many && for i in $(seq 300); do echo $i "
           ">many/$i; done && git add . && git commit -qm 2 && git update-index --index-version %d --split-index",
           i < 2 ? 2 : 4);
        assert_true(index_has("r", "link"));
        check_staged("r");
        sh("cd r && echo changed >f5 && echo changed >many/77 && git add -u && echo n >Before && echo n >many/100x && echo n "
           ">zz && git add .");
        check_staged("r");
        sh("cd r && git rm -qr d && git rm -qf many/1* f7 && echo n >f7 && git add f7 && chmod +x f8 && git add f8 && rm f9 && "
           "mkdir f9 && echo 1 >f9/in && git add -A f9 && for i in $(seq 200 290); do echo more >>many/$i; done && git add -u");
        check_staged("r");
        assert_true(index_has("r", "link"));
        sh("rm -rf r");
    }
}

static void a_split_index_in_a_linked_work_tree_and_elsewhere_is_read(void **state) {
    (void)state;
    make("sha1");
    sh("cd r && git worktree add -q ../tree && cd ../tree && git update-index --split-index && echo 1 >new && git add new");
    check_staged("tree");
    sh("cd r && git update-index --split-index && mkdir ../away && cp .git/index .git/sharedindex.* ../away");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_staged staged;
    assert_int_equal(ts_git_staged_read_file(repo, "away/index", UINT64_MAX, &staged, NULL), TS_GIT_OK);
    size_t count = staged.count;
    assert_true(count > 10);
    ts_git_staged_release(&staged);
    sh("rm r/.git/sharedindex.*");
    assert_int_equal(ts_git_staged_read_file(repo, "away/index", UINT64_MAX, &staged, NULL), TS_GIT_OK);
    assert_int_equal(staged.count, count);
    ts_git_staged_release(&staged);
    assert_int_equal(chdir("away"), 0);
    assert_int_equal(ts_git_staged_read_file(repo, "index", UINT64_MAX, &staged, NULL), TS_GIT_OK);
    assert_int_equal(staged.count, count);
    ts_git_staged_release(&staged);
    ts_git_repo_free(repo);
}

static void a_shared_index_that_is_missing_or_another_is_named(void **state) {
    (void)state;
    make("sha1");
    sh("cd r && git update-index --split-index && mkdir ../kept && cp .git/sharedindex.* ../kept");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_staged staged;
    struct ts_git_fault fault;
    sh("rm r/.git/sharedindex.*");
    assert_int_equal(ts_git_staged_read(repo, UINT64_MAX, &staged, &fault), TS_GIT_NO_SHARED_INDEX);
    assert_non_null(strstr(fault.thing, "/.git/sharedindex."));
    sh("cd r/.git && name=$(cd ../../kept && ls) && cp ../../kept/$name . && printf x | dd of=$name bs=1 seek=$(($(stat -c "
       "%%s $name) - 1)) conv=notrunc 2>/dev/null");
    assert_int_equal(ts_git_staged_read(repo, UINT64_MAX, &staged, &fault), TS_GIT_BAD_FILE);
    assert_non_null(strstr(fault.thing, "/.git/sharedindex."));
    sh("cd r/.git && for f in sharedindex.*; do cp index $f; done");
    assert_int_equal(ts_git_staged_read(repo, UINT64_MAX, &staged, &fault), TS_GIT_BAD_FILE);
    assert_non_null(strstr(fault.thing, "/.git/sharedindex."));
    ts_git_repo_free(repo);
}

static void a_shared_index_that_is_split_itself_is_refused(void **state) {
    (void)state;
    make("sha1");
    sh("git -C r update-index --split-index");
    size_t len;
    char *bytes = output_of(&len, "cat r/.git/index");
    char hex[TS_GIT_OID_HEX_SIZE];
    char path[TS_GIT_OID_HEX_SIZE + 32];
    struct ts_git_oid end = ts_git_oid_of(TS_GIT_SHA1, (const uint8_t *)bytes + len - 20);
    snprintf(path, sizeof path, "r/.git/sharedindex.%s", ts_git_oid_format(TS_GIT_SHA1, &end, hex));
    sh("cp r/.git/index %s", path);
    char *link = memmem(bytes, len, "link", 4);
    assert_non_null(link);
    memcpy(link + 8, end.bytes, 20);
    memset(bytes + len - 20, 0, 20); /* no checksum, as with index.skipHash */
    FILE *file = fopen("r/.git/index", "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_staged staged;
    struct ts_git_fault fault;
    assert_int_equal(ts_git_staged_read(repo, UINT64_MAX, &staged, &fault), TS_GIT_BAD_FILE);
    assert_non_null(strstr(fault.thing, hex));
    ts_git_repo_free(repo);
    free(bytes);
}

/* Returns whether git has noted the tree of the index. If so, this tree must be that of HEAD. */
static bool has_tree_of_head(const char *folder) {
    struct ts_git_repo *repo = open_repo(folder);
    struct ts_git_staged staged;
    struct ts_git_fault fault;
    char hex[TS_GIT_OID_HEX_SIZE];
    size_t len;
    assert_int_equal(ts_git_staged_read(repo, UINT64_MAX, &staged, &fault), TS_GIT_OK);
    char *tree = output_of(&len, "git -C %s rev-parse HEAD^{tree}", folder);
    bool has = staged.has_tree;
    if (has)
        assert_memory_equal(ts_git_oid_format(ts_git_repo_hash(repo), &staged.tree, hex), tree,
                            2 * ts_git_hash_len(ts_git_repo_hash(repo)));
    free(tree);
    ts_git_staged_release(&staged);
    ts_git_repo_free(repo);
    return has;
}

static void the_tree_of_all_entries_is_known_until_something_is_staged(void **state) {
    (void)state;
    static const char *const formats[] = {"sha1", "sha256"};
    for (size_t i = 0; i < 2; i++) {
        make(formats[i]);
        assert_false(has_tree_of_head("r"));
        sh("cd r && git commit -qm 2");
        assert_true(has_tree_of_head("r"));
        sh("cd r && git update-index --split-index");
        assert_true(has_tree_of_head("r"));
        sh("cd r && echo 2 >d/e/new && git add d");
        assert_false(has_tree_of_head("r"));
        sh("rm -rf r");
    }
}

static void extensions_that_only_help_git_are_ignored(void **state) {
    (void)state;
    make("sha1");
    sh("cd r && git commit -qm 2");
    assert_true(index_has("r", "TREE"));
    check_staged("r");
    for (int version = 2; version <= 4; version += 2) {
        sh("cd r && git -c index.threads=3 -c index.recordEndOfIndexEntries=true -c index.recordOffsetTable=true update-index "
           "--index-version %d --force-write-index",
           version);
        assert_true(index_has("r", "EOIE"));
        assert_true(index_has("r", "IEOT"));
        check_staged("r");
    }
    sh("cd r && git update-index --force-untracked-cache && git status >/dev/null");
    assert_true(index_has("r", "UNTR"));
    check_staged("r");
    sh("cd r && printf '#!/bin/sh\\nprintf \"token\\\\0\"\\n' >.git/monitor && chmod +x .git/monitor && git config core.fsmonitor "
       ".git/monitor && git update-index --fsmonitor && git status >/dev/null");
    assert_true(index_has("r", "FSMN"));
    check_staged("r");
    sh("cd r && git config --unset core.fsmonitor && git checkout -qb other && echo 2 >f1 && git commit -qam 2 && git checkout -q "
       "main && echo 3 >f1 && git commit -qam 3 && ! git merge -q other >/dev/null && echo 4 >f1 && git add f1");
    assert_true(index_has("r", "REUC"));
    check_staged("r");
}

/* A path that leads out of the work tree would make a scan read a file elsewhere. */
static void paths_that_lead_out_are_refused(void **state) {
    (void)state;
    sh("git init -q r && cd r && mkdir xx && echo 1 >xx/passwd && git add xx/passwd && git update-index --index-version 2");
    size_t len;
    char *bytes = output_of(&len, "cat r/.git/index");
    struct ts_git_staged staged;
    struct git__split split;
    assert_int_equal(git__staged_parse(TS_GIT_SHA1, ts_bytes_of(bytes, len), UINT64_MAX, &staged, &split),
                     TS_GIT_OK);
    ts_git_staged_release(&staged);
    char *path = memmem(bytes, len, "xx/passwd", 9);
    assert_non_null(path);
    memcpy(path, "../", 3);
    assert_int_equal(git__staged_parse(TS_GIT_SHA1, ts_bytes_of(bytes, len), UINT64_MAX, &staged, &split),
                     TS_GIT_BAD_FILE);
    memcpy(path, "/xx", 3);
    assert_int_equal(git__staged_parse(TS_GIT_SHA1, ts_bytes_of(bytes, len), UINT64_MAX, &staged, &split),
                     TS_GIT_BAD_FILE);
    memcpy(path, "xx/passw/", 9); /* the path of a folder for an entry that is a file */
    assert_int_equal(git__staged_parse(TS_GIT_SHA1, ts_bytes_of(bytes, len), UINT64_MAX, &staged, &split),
                     TS_GIT_BAD_FILE);
    free(bytes);
}

/* Only a split index has entries without a path, which replace shared entries. */
static void empty_paths_are_refused(void **state) {
    (void)state;
    sh("git init -q r && cd r && echo 1 >x && git add x && git update-index --index-version 2");
    size_t len;
    char *bytes = output_of(&len, "cat r/.git/index");
    struct ts_git_staged staged;
    struct git__split split;
    assert_int_equal(bytes[12 + 62], 'x');
    assert_int_equal(git__staged_parse(TS_GIT_SHA1, ts_bytes_of(bytes, len), UINT64_MAX, &staged, &split),
                     TS_GIT_OK);
    ts_git_staged_release(&staged);
    bytes[12 + 62] = '\0'; /* the entry is as long as before, including its padding */
    assert_int_equal(git__staged_parse(TS_GIT_SHA1, ts_bytes_of(bytes, len), UINT64_MAX, &staged, &split),
                     TS_GIT_BAD_FILE);
    free(bytes);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, maker_setup, maker_teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_version_is_read),
        TEST(conflicts_have_stages),
        TEST(a_file_that_is_only_meant_to_be_added_is_marked),
        TEST(without_an_index_nothing_is_staged),
        TEST(damaged_ones_are_refused_by_name),
        TEST(folders_of_a_sparse_index_are_entries),
        TEST(a_split_index_is_read_with_the_shared_one),
        TEST(a_split_index_in_a_linked_work_tree_and_elsewhere_is_read),
        TEST(a_shared_index_that_is_missing_or_another_is_named),
        TEST(a_shared_index_that_is_split_itself_is_refused),
        TEST(extensions_that_only_help_git_are_ignored),
        TEST(the_tree_of_all_entries_is_known_until_something_is_staged),
        TEST(paths_that_lead_out_are_refused),
        TEST(empty_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
