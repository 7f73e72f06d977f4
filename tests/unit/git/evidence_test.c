#include "git/evidence.h"

#include "objects.h"
#include "pack_writer.h"

static const uint8_t key[TS_GIT_EVIDENCE_KEY_LEN] = {1, 2, 3};
static const uint8_t other_key[TS_GIT_EVIDENCE_KEY_LEN] = {1, 2, 4};

struct known {
    struct ts_git_oid oid;
    uint64_t evidence;
    uint32_t pack;
};

struct taken {
    struct ts_git_evidence *evidence;
    struct known items[64];
    size_t count;
};

static bool take(void *ctx, unsigned worker, const struct ts_git_object *object, void **result) {
    struct taken *taken = ctx;
    (void)worker;
    (void)result;
    assert_true(taken->count < 64);
    struct known *known = &taken->items[taken->count++];
    known->oid = object->oid;
    known->evidence = ts_git_evidence_of(taken->evidence, object, &known->pack);
    return true;
}

/* The evidence of all objects that look() has visited, and the ids of the packs. */
struct past {
    struct taken taken;
    uint8_t packs[8][TS_GIT_PACK_ID_LEN];
};

static void look(const char *folder, unsigned types, struct past *ret_past) {
    struct ts_git_repo *repo = open_repo(folder);
    struct ts_git_fault fault;
    struct ts_git_visit_options options = {.threads = 1, .types = types};
    struct ts_git_visitor visitor = {.visit = take, .ctx = &ret_past->taken};
    memset(ret_past, 0, sizeof *ret_past);
    assert_int_equal(ts_git_evidence_new(repo, key, NULL, &ret_past->taken.evidence, &fault), TS_GIT_OK);
    assert_int_equal(ts_git_visit(repo, &options, &visitor, NULL, &fault), TS_GIT_OK);
    size_t count;
    const uint8_t *ids = ts_git_evidence_packs(ret_past->taken.evidence, &count);
    assert_true(count <= 8);
    memcpy(ret_past->packs, ids, count * TS_GIT_PACK_ID_LEN);
    ts_git_evidence_free(ret_past->taken.evidence);
    ts_git_repo_free(repo);
}

/* Compares `past` with the repository, and counts the results by kind. */
static void compare(const char *folder, const uint8_t with[static TS_GIT_EVIDENCE_KEY_LEN],
                    const struct past *past, size_t ret_counts[static 3]) {
    struct ts_git_repo *repo = open_repo(folder);
    struct ts_git_evidence *evidence = NULL;
    struct ts_git_fault fault;
    assert_int_equal(ts_git_evidence_new(repo, with, NULL, &evidence, &fault), TS_GIT_OK);
    memset(ret_counts, 0, 3 * sizeof *ret_counts);
    for (size_t i = 0; i < past->taken.count; i++) {
        const struct known *known = &past->taken.items[i];
        uint32_t now;
        uint32_t then = known->pack == TS_GIT_NO_PACK
                            ? TS_GIT_NO_PACK
                            : ts_git_evidence_find_pack(evidence, past->packs[known->pack]);
        ret_counts[ts_git_evidence_compare(evidence, &known->oid, known->evidence, then, &now)]++;
    }
    ts_git_evidence_free(evidence);
    ts_git_repo_free(repo);
}

static void assert_counts(const size_t counts[static 3], size_t other, size_t pack, size_t bytes) {
    assert_int_equal(counts[TS_GIT_OTHER], other);
    assert_int_equal(counts[TS_GIT_SAME_PACK], pack);
    assert_int_equal(counts[TS_GIT_SAME_BYTES], bytes);
}

#define BLOBS TS_GIT_TYPE_BIT(TS_GIT_BLOB)

static void unchanged_packs_need_no_look_and_copies_of_them_are_compared(void **state) {
    (void)state;
    struct past past;
    size_t counts[3];
    sh("git init -q a && cd a && for i in 1 2 3 4 5 6; do seq 1 300 > f; echo $i >> f; git add f; git commit -qm $i; done && "
       "git repack -adq");
    look("a", BLOBS | TS_GIT_TYPE_BIT(TS_GIT_COMMIT), &past);
    assert_int_equal(past.taken.count, 12);
    for (size_t i = 0; i < 12; i++)
        assert_true(past.taken.items[i].evidence != 0 && past.taken.items[i].pack == 0);
    compare("a", key, &past, counts);
    assert_counts(counts, 0, 12, 0);
    sh("cp -r a b");
    compare("b", key, &past, counts);
    assert_counts(counts, 0, 0, 12);
    compare("b", other_key, &past, counts);
    assert_counts(counts, 12, 0, 0);
    /* Only the change time shows that the pack was touched. */
    sh("cd a/.git/objects/pack && chmod u+w *.pack && touch -r *.idx *.pack");
    compare("a", key, &past, counts);
    assert_counts(counts, 0, 0, 12);
    /* After a repack without deltas, objects that were deltas before have different entries. */
    sh("cd a && git repack -adfq --depth=0 --window=0");
    compare("a", key, &past, counts);
    assert_true(counts[TS_GIT_OTHER] == 5 && counts[TS_GIT_SAME_BYTES] == 7);
}

static void loose_objects_are_compared_by_their_files(void **state) {
    (void)state;
    struct past past;
    size_t counts[3];
    sh("git init -q a && cd a && echo one > f && git add f && git commit -qm one && echo two > f && git add f && git commit "
       "-qm two");
    look("a", BLOBS, &past);
    assert_int_equal(past.taken.count, 2);
    compare("a", key, &past, counts);
    assert_counts(counts, 0, 0, 2);
    sh("cd a/.git/objects && chmod -R u+w . && f=$(git hash-object ../../f | sed 's,^..,&/,') && printf x >> $f");
    compare("a", key, &past, counts);
    assert_counts(counts, 1, 0, 1);
    sh("cd a && rm -r .git/objects/??");
    compare("a", key, &past, counts);
    assert_counts(counts, 2, 0, 0);
}

/* Writes a pack with a chain of deltas whose first base is `root`. A different root changes the content of
 * every object in the chain, although the stored deltas are the same. */
static void make_chain(const char *folder, const char *root) {
    struct pack_writer w;
    uint8_t delta[64];
    writer_init(&w);
    uint64_t base = writer_blob(&w, root, strlen(root));
    for (uint64_t i = 0; i < 5; i++)
        base =
            writer_offset_delta(&w, base, delta, delta_append(delta, strlen(root) + i, (uint8_t)('0' + i)));
    (void)writer_blob(&w, "another", 7);
    writer_finish(&w, folder);
}

static void deltas_of_changed_objects_have_changed(void **state) {
    (void)state;
    struct past past;
    size_t counts[3];
    make_chain("honest", "something");
    make_chain("again", "something");
    make_chain("forged", "else here");
    look("honest", BLOBS, &past);
    assert_int_equal(past.taken.count, 7);
    compare("again", key, &past, counts);
    assert_counts(counts, 0, 0, 7);
    compare("forged", key, &past, counts);
    assert_counts(counts, 6, 0, 1);
}

/* Tests lengths around the sizes of words and blocks. */
static void contents_of_every_length_are_distinguished(void **state) {
    (void)state;
    static const size_t lengths[] = {0,    1,    15,   16,   17,   31,   1000, 1023,
                                     1024, 1025, 1040, 2047, 2048, 2049, 5000};
    struct past past;
    uint64_t seen[sizeof lengths / sizeof lengths[0]];
    uint8_t bytes[5000];
    struct ts_prng prng;
    ts_prng_init(&prng, 5);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)ts_prng_next(&prng);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct pack_writer w;
        writer_init(&w);
        (void)writer_blob(&w, bytes, lengths[i]);
        writer_finish(&w, "one");
        look("one", BLOBS, &past);
        assert_int_equal(past.taken.count, 1);
        seen[i] = past.taken.items[0].evidence;
        assert_true(seen[i] != 0);
        for (size_t k = 0; k < i; k++)
            assert_true(seen[i] != seen[k]);
        sh("rm -rf one");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unchanged_packs_need_no_look_and_copies_of_them_are_compared,
                                        maker_setup, maker_teardown),
        cmocka_unit_test_setup_teardown(loose_objects_are_compared_by_their_files, maker_setup,
                                        maker_teardown),
        cmocka_unit_test_setup_teardown(deltas_of_changed_objects_have_changed, maker_setup, maker_teardown),
        cmocka_unit_test_setup_teardown(contents_of_every_length_are_distinguished, maker_setup,
                                        maker_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
