/* Compares every object with git's output, for every form in which git stores objects. */
#include "git/visit.h"

#include "objects.h"

#include <stdatomic.h>

static void deep_chains_of_deltas_are_rebuilt(void **state) {
    (void)state;
    sh("git init -q r");
    maker_history("r", 400, 1);
    sh("git -C r repack -q -adf --depth=200 --window=50");
    assert_true(check_all_objects("r") > 900);
    /* Checks that the pack really has long chains of deltas. */
    size_t len;
    char *said = output_of(
        &len, "git verify-pack -v r/.git/objects/pack/*.idx | grep -E 'chain length = ([5-9]|[1-9][0-9]+):'");
    assert_true(len > 0);
    free(said);
}

static void deltas_come_with_their_base(void **state) {
    (void)state;
    sh("git init -q r");
    maker_history("r", 100, 2);
    sh("git -C r repack -q -adf --depth=50 --window=50");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_visit_options options = {.threads = 2};
    struct ts_git_visit_stats stats;
    struct seen_list found = seen_by_visit(repo, &options, &stats);
    assert_true(found.with_base > found.count / 2);
    assert_int_equal(found.with_base, stats.deltas);
    for (size_t i = 0; i < found.count; i++)
        assert_int_equal(found.items[i].type, TS_GIT_BLOB);
    free(found.items);
    ts_git_repo_free(repo);
}

static void deltas_by_id_are_rebuilt(void **state) {
    (void)state;
    sh("git init -q r && git init -q --bare refs");
    maker_history("r", 120, 3);
    sh("cp r/.git/packed-refs refs/ 2>/dev/null || true; cp -r r/.git/refs refs/");
    sh("git -C r rev-list --objects --all --no-object-names | git -C r pack-objects -q --window=50 "
       "--depth=50 "
       "--no-reuse-delta --no-reuse-object \"$PWD/refs/objects/pack/pack\" >/dev/null");
    assert_true(check_all_objects("refs") > 300);
}

static void several_packs_loose_objects_and_copies_are_visited_once(void **state) {
    (void)state;
    sh("git init -q r");
    maker_history("r", 60, 4);
    sh("git -C r repack -q -d");
    sh("git -C r checkout -q main && echo more >r/more && git -C r add more && git -C r commit -qm more");
    sh("git -C r repack -q -d && git -C r repack -q"); /* another small pack */
    sh("git -C r rev-list --objects --no-object-names main~5..main | git -C r pack-objects -q "
       ".git/objects/pack/pack >/dev/null"); /* a pack with copies of objects */
    sh("echo loose >r/loose && git -C r add loose && git -C r commit -qm loose");
    sh("git -C r cat-file blob main:more | git -C r hash-object -w --stdin >/dev/null");
    sh("cd r && o=$(git rev-parse main:more) && git cat-file blob $o >../more && rm -rf ../copy && git clone "
       "-q . "
       "../copy && cp -r ../copy/.git/objects/?? .git/objects/ 2>/dev/null || true");
    check_all_objects("r");
}

static void a_multi_pack_index_leads_to_the_same_objects(void **state) {
    (void)state;
    sh("git init -q r");
    maker_history("r", 40, 5);
    sh("git -C r repack -q -d");
    sh("git -C r checkout -q main && echo more >r/more && git -C r add more && git -C r commit -qm more && "
       "git -C r "
       "repack -q -d");
    sh("git -C r multi-pack-index write && test -f r/.git/objects/pack/multi-pack-index");
    check_all_objects("r");
}

static void index_version_1_is_read(void **state) {
    (void)state;
    sh("git init -q r");
    maker_history("r", 30, 6);
    sh("git -C r -c pack.indexVersion=1 repack -q -adf");
    check_all_objects("r");
}

static void large_offsets_are_read(void **state) {
    (void)state;
    sh("git init -q r");
    maker_history("r", 30, 7);
    sh("git -C r repack -q -adf");
    /* Every offset above 4 KiB is in the table of large offsets. */
    sh("cd r/.git/objects/pack && chmod u+w *.idx && git index-pack --index-version=2,0x1000 -o new.idx "
       "pack-*.pack "
       ">/dev/null && mv -f new.idx pack-*.idx");
    check_all_objects("r");
}

static void sha256_repositories_are_read(void **state) {
    (void)state;
    sh("git init -q --object-format=sha256 r");
    maker_history("r", 60, 8);
    sh("git -C r repack -q -adf && git -C r checkout -q main && echo more >r/more && git -C r add more && "
       "git -C r "
       "commit -qm more");
    check_all_objects("r");
    sh("git -C r repack -q -d && git -C r multi-pack-index write");
    check_all_objects("r");
}

static void links_modules_and_odd_names_are_read(void **state) {
    (void)state;
    sh("git init -q r && cd r && ln -s target link && printf 'x' >'new\nline' && : >empty && chmod +x empty "
       "&& git add "
       ". && git update-index --add --cacheinfo 160000,0123456789012345678901234567890123456789,module && "
       "git commit "
       "-qm odd");
    check_all_objects("r");
    sh("git -C r repack -q -adf");
    check_all_objects("r");
}

static void an_empty_repository_has_nothing(void **state) {
    (void)state;
    sh("git init -q r && git init -q --bare b");
    assert_int_equal(check_all_objects("r"), 0);
    assert_int_equal(check_all_objects("b"), 0);
}

static void alternates_are_followed_and_may_go_round(void **state) {
    (void)state;
    sh("git init -q a");
    maker_history("a", 20, 9);
    sh("git clone -q -s a b && cd b && echo b >b && git add b && git commit -qm b");
    sh("git clone -q -s b c && cd c && echo c >c && git add c && git commit -qm c");
    sh("echo \"$PWD/c/.git/objects\" >>a/.git/objects/info/alternates");
    size_t in_c = check_all_objects("c");
    struct ts_git_repo *repo = NULL;
    struct ts_git_open_options alone = {.no_alternates = true};
    assert_int_equal(ts_git_repo_open("c", &alone, &repo, NULL), TS_GIT_OK);
    struct ts_git_visit_options options = {.types = ALL_TYPES};
    struct seen_list own = seen_by_visit(repo, &options, NULL);
    assert_int_equal(own.count, 3);
    assert_true(in_c > 3);
    free(own.items);
    ts_git_repo_free(repo);
}

/* ---- memory ---- */

static void write_large(const char *path, size_t size, uint64_t seed, size_t changed_at) {
    struct ts_prng prng;
    ts_prng_init(&prng, seed);
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    ts_prng_fill(&prng, bytes, size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)('a' + bytes[i] % 16);
    if (changed_at < size)
        bytes[changed_at] = '!';
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    free(bytes);
}

/* Visits blobs of 3 MB with a budget of 4 MiB. Each blob is delivered in windows, and the deltas use a
 * spilled base. */
static void larger_blobs_than_memory_come_in_windows(void **state) {
    (void)state;
    sh("git init -q r");
    for (size_t i = 0; i < 4; i++) {
        write_large("r/large", 3000000, 77, 1000000 + i * 10);
        sh("cd r && git add large && git commit -qm large");
    }
    check_all_objects("r"); /* as loose objects */
    sh("git -C r -c core.bigFileThreshold=1g repack -q -adf --window=10");
    check_all_objects("r");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_visit_options options = {.memory_bytes = 4 << 20, .window_bytes = 1 << 20, .threads = 2};
    struct ts_git_visit_stats stats;
    struct seen_list found = seen_by_visit(repo, &options, &stats);
    assert_int_equal(found.count, 4);
    assert_true(found.windows >= 12);
    assert_int_equal(found.with_base, 3);
    assert_true(stats.spilled_bytes >= 3000000);
    assert_true(stats.held_bytes_max <= 4 << 20);
    free(found.items);
    ts_git_repo_free(repo);
}

/* The versions of the file are deltas of one another, and the memory is enough for only a few versions. */
static void little_memory_gives_the_same_objects(void **state) {
    (void)state;
    sh("git init -q r");
    for (unsigned i = 0; i < 60; i++) {
        write_large("r/file", 240000, i % 7, i * 100);
        sh("cd r && git add file && git commit -qm %u", i);
    }
    sh("git -C r repack -q -adf --window=60 --depth=20");
    struct seen_list expected = seen_by_git("r", TS_GIT_SHA1);
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        struct ts_git_repo *repo = open_repo("r");
        struct ts_git_visit_options options = {
            .types = ALL_TYPES, .memory_bytes = 4 << 20, .threads = threads};
        struct ts_git_visit_stats stats;
        struct seen_list found = seen_by_visit(repo, &options, &stats);
        assert_same_objects(&expected, &found);
        assert_true(stats.held_bytes_max <= 4 << 20);
        free(found.items);
        ts_git_repo_free(repo);
    }
    free(expected.items);
}

static void objects_beyond_the_limit_are_faults(void **state) {
    (void)state;
    sh("git init -q r");
    write_large("r/large", 100000, 1, 5);
    sh("cd r && echo small >small && git add . && git commit -qm both && git repack -q -adf");
    struct ts_git_repo *repo = open_repo("r");
    struct fault_list *faults = calloc(1, sizeof *faults);
    struct ts_git_visit_options options = {.object_bytes_max = 50000, .faults = {fault_take, faults}};
    struct seen_list found = seen_by_visit(repo, &options, NULL);
    assert_int_equal(found.count, 1);
    assert_int_equal(faults->count, 1);
    assert_int_equal(faults->items[0].error, TS_GIT_TOO_LARGE);
    assert_true(faults->items[0].has_oid);
    free(found.items);
    free(faults);
    ts_git_repo_free(repo);
}

/* ---- selection, stopping, order ---- */

static void only_wanted_objects_are_visited(void **state) {
    (void)state;
    sh("git init -q r");
    maker_history("r", 80, 11);
    sh("git -C r repack -q -adf --depth=50");
    struct ts_git_repo *repo = open_repo("r");
    struct seen_list all = seen_by_visit(repo, &(struct ts_git_visit_options){.threads = 1}, NULL);
    struct ts_git_set *set = NULL;
    assert_int_equal(ts_git_set_new(repo, &set, NULL), TS_GIT_OK);
    size_t wanted = 0;
    for (size_t i = 0; i < all.count; i += 5, wanted++)
        assert_true(ts_git_set_add(set, &all.items[i].oid));
    struct ts_git_oid none = {{1, 2, 3}};
    assert_false(ts_git_set_add(set, &none));
    assert_int_equal(ts_git_set_count(set), wanted);
    struct ts_git_visit_options options = {.threads = 2, .wanted = set};
    struct seen_list found = seen_by_visit(repo, &options, NULL);
    assert_int_equal(found.count, wanted);
    for (size_t i = 0; i < wanted; i++) {
        assert_true(ts_git_oid_equal(&found.items[i].oid, &all.items[5 * i].oid));
        assert_true(found.items[i].hash == all.items[5 * i].hash);
    }
    ts_git_set_free(set);
    free(found.items);
    free(all.items);
    ts_git_repo_free(repo);
}

static bool stop_at_ten(void *ctx, unsigned worker, const struct ts_git_object *object, void **result) {
    (void)worker;
    (void)object;
    (void)result;
    atomic_uint *left = ctx;
    return atomic_fetch_sub(left, 1) > 1;
}

static void a_visit_can_be_stopped(void **state) {
    (void)state;
    sh("git init -q r");
    maker_history("r", 80, 12);
    sh("git -C r repack -q -adf --depth=50");
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct ts_git_repo *repo = open_repo("r");
        atomic_uint left = 10;
        struct ts_git_visitor visitor = {.visit = stop_at_ten, .ctx = &left};
        struct ts_git_visit_stats stats;
        assert_int_equal(
            ts_git_visit(repo, &(struct ts_git_visit_options){.threads = threads}, &visitor, &stats, NULL),
            TS_GIT_STOPPED);
        assert_in_range(stats.objects, 10, 10 + threads);
        ts_git_repo_free(repo);
    }
}

/* ---- damage ---- */

static void a_damaged_copy_is_replaced_by_a_sound_one(void **state) {
    (void)state;
    sh("git init -q r");
    maker_history("r", 40, 13);
    sh("git -C r repack -q -adf --depth=50");
    struct seen_list expected = seen_by_git("r", TS_GIT_SHA1);
    /* Makes a second pack of everything, then changes bytes in the middle of the first pack. */
    sh("cd r && p=$(ls .git/objects/pack/*.pack) && git rev-list --objects --all --no-object-names | git -c "
       "pack.window=0 pack-objects -q --no-reuse-delta --window=0 .git/objects/pack/zzz >/dev/null && chmod "
       "u+w $p && "
       "s=$(stat -c %%s $p) && printf '\\377\\000\\377' | dd of=$p bs=1 seek=$((s / 2)) conv=notrunc "
       "2>/dev/null");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_visit_stats stats;
    struct seen_list found =
        seen_by_visit(repo, &(struct ts_git_visit_options){.types = ALL_TYPES, .threads = 2}, &stats);
    assert_same_objects(&expected, &found);
    assert_int_equal(stats.faults, 0);
    free(found.items);
    free(expected.items);
    ts_git_repo_free(repo);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, maker_setup, maker_teardown)
    const struct CMUnitTest tests[] = {
        TEST(deep_chains_of_deltas_are_rebuilt),
        TEST(deltas_come_with_their_base),
        TEST(deltas_by_id_are_rebuilt),
        TEST(several_packs_loose_objects_and_copies_are_visited_once),
        TEST(a_multi_pack_index_leads_to_the_same_objects),
        TEST(index_version_1_is_read),
        TEST(large_offsets_are_read),
        TEST(sha256_repositories_are_read),
        TEST(links_modules_and_odd_names_are_read),
        TEST(an_empty_repository_has_nothing),
        TEST(alternates_are_followed_and_may_go_round),
        TEST(larger_blobs_than_memory_come_in_windows),
        TEST(little_memory_gives_the_same_objects),
        TEST(objects_beyond_the_limit_are_faults),
        TEST(only_wanted_objects_are_visited),
        TEST(a_visit_can_be_stopped),
        TEST(a_damaged_copy_is_replaced_by_a_sound_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
