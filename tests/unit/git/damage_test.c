/* Tests damage after which everything is still readable. Each object must match its id, and have the type
 * that its references expect. */
#include "git/walk.h"

#include "objects.h"
#include "pack_writer.h"

/* The result of read_reachable. That function reads everything that refs reach, in the order of a scan: first
 * the graph, then the contents. */
struct reading {
    size_t faults;
    struct seen_list contents;
    struct ts_git_fault first;
};

static struct reading read_reachable(const char *folder) {
    struct fault_list *faults = calloc(1, sizeof *faults);
    struct ts_git_repo *repo = NULL;
    struct ts_git_graph *graph = NULL;
    struct ts_git_set *set = NULL;
    struct ts_git_selection all = {.all_refs = true};
    assert_non_null(faults);
    struct ts_git_fault_sink sink = {fault_take, faults};
    struct ts_git_open_options open = {.faults = sink};
    struct ts_git_graph_options options = {.threads = 1, .faults = sink};
    assert_int_equal(ts_git_repo_open(folder, &open, &repo, NULL), TS_GIT_OK);
    assert_int_equal(ts_git_graph_new(repo, &options, &graph, NULL), TS_GIT_OK);
    assert_int_equal(ts_git_graph_reach(graph, &all, &set, NULL, NULL), TS_GIT_OK);
    struct ts_git_visit_options visit = {.threads = 1,
                                         .types = ALL_TYPES & ~TS_GIT_TYPE_BIT(TS_GIT_TREE),
                                         .wanted = set,
                                         .memory_bytes = 4 << 20,
                                         .faults = sink};
    struct reading reading = {.contents = seen_by_visit(repo, &visit, NULL)};
    reading.faults = faults->count;
    reading.first = faults->items[0];
    ts_git_set_free(set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
    free(faults);
    return reading;
}

static bool is_same(const struct seen_list *a, const struct seen_list *b) {
    for (size_t i = 0; i < a->count && a->count == b->count; i++)
        if (!ts_git_oid_equal(&a->items[i].oid, &b->items[i].oid) || a->items[i].type != b->items[i].type ||
            a->items[i].hash != b->items[i].hash)
            return false;
    return a->count == b->count;
}

static void make_packed(const char *more) {
    sh("rm -rf r b && git init -q r && cd r && mkdir d && for i in 1 2 3 4; do for k in 1 2 3 4 5 6 7 8 9; do "
       "echo \"line $k of $((i * k))\"; done >d/f && echo $i >g$((i %% 2)) && git add . && git commit -qm $i; "
       "done && git tag -am t t && git tag light main~1 && cd .. && git clone -q --bare r b && cd b && "
       "git repack -q -adf && git pack-refs --all && %s",
       more);
}

static uint8_t *read_file(const char *path, size_t *ret_len) {
    return (uint8_t *)output_of(ret_len, "cat %s", path);
}

/* Changes each bit of the type of every entry of the largest pack, one at a time. The contents must be the
 * same, or there must be a fault. */
static void check_type_bits(const char *more) {
    make_packed(more);
    struct reading expected = read_reachable("b");
    assert_int_equal(expected.faults, 0);
    char *path = output_of(NULL, "ls -S b/objects/pack/*.pack | head -1");
    path[strcspn(path, "\n")] = '\0';
    char *offsets = output_of(NULL, "git show-index <%.*s.idx | cut -d' ' -f1",
                              (int)(strlen(path) - strlen(".pack")), path);
    size_t len;
    uint8_t *bytes = read_file(path, &len);
    sh("chmod u+w %s", path);
    size_t entries = 0;
    char *rest = offsets;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0'; entries++) {
        size_t at = strtoull(line, NULL, 10);
        for (unsigned bit = 4; bit < 7; bit++) {
            bytes[at] ^= (uint8_t)(1u << bit);
            write_file(path, bytes, len);
            bytes[at] ^= (uint8_t)(1u << bit);
            struct reading found = read_reachable("b");
            if (found.faults == 0 && !is_same(&found.contents, &expected.contents))
                fail_msg("%s: bit %u of the entry at %zu: no fault, and not the same", more, bit, at);
            free(found.contents.items);
        }
    }
    assert_true(entries > 15);
    free(expected.contents.items);
    free(bytes);
    free(offsets);
    free(path);
}

static void a_flipped_type_is_a_fault_whatever_is_next_to_the_pack(void **state) {
    (void)state;
    check_type_bits("true");
    check_type_bits("echo loose | git hash-object -w --stdin >../out");
    check_type_bits(
        "echo other | git hash-object -w --stdin | git pack-objects -q objects/pack/pack >../out");
    check_type_bits(
        "echo other | git hash-object -w --stdin | git pack-objects -q objects/pack/pack >../out && "
        "git multi-pack-index write");
    check_type_bits(
        "git -c pack.indexVersion=1 repack -q -adf && echo loose | git hash-object -w --stdin >../out");
}

/* Every object has an intact copy: single objects, and the bases of deltas, are read from that copy. */
static void a_sound_copy_is_read_instead_of_a_damaged_one(void **state) {
    (void)state;
    make_packed("cd objects/pack && for f in pack-*; do cp $f pack-z.${f##*.}; done");
    char *path = output_of(NULL, "ls b/objects/pack/pack-[0-9a-f]*.pack");
    path[strcspn(path, "\n")] = '\0';
    struct seen_list expected = seen_by_git("b", TS_GIT_SHA1);
    size_t len;
    uint8_t *bytes = read_file(path, &len);
    sh("chmod u+w %s", path);
    for (size_t at = 12; at + 20 < len; at += 5) {
        bytes[at] ^= 0x10;
        write_file(path, bytes, len);
        bytes[at] ^= 0x10;
        struct ts_git_repo *repo = open_repo("b");
        for (size_t i = 0; i < expected.count; i++) {
            struct ts_git_content content;
            assert_int_equal(ts_git_object_read(repo, &expected.items[i].oid, SIZE_MAX, &content, NULL),
                             TS_GIT_OK);
            assert_int_equal(content.type, expected.items[i].type);
            assert_true(ts_xxh64_of_bytes(ts_bytes_of(content.bytes, content.len)) == expected.items[i].hash);
            free(content.bytes);
        }
        ts_git_repo_free(repo);
    }
    free(bytes);
    free(path);
    free(expected.items);
}

/* Stores an object under an id that does not match its content. */
static void a_content_under_another_id_is_a_fault(void **state) {
    (void)state;
    static const char *const wrong[] = {"HEAD", "HEAD^{tree}", "HEAD:d/f", "t"};
    make_packed("mv objects/pack/*.pack ../p && rm -f objects/pack/* && git unpack-objects -q <../p");
    sh("mv b loose");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        sh("rm -rf b && cp -r loose b && cd b && good=$(git rev-parse %s) && kind=$(git cat-file -t $good) && { git cat-file $kind $good; echo; } >../c "
           "&& bad=$(git hash-object --literally -t $kind -w ../c) && "
           "cp -f objects/$(echo $bad | sed 's|^..|&/|') objects/$(echo $good | sed 's|^..|&/|')",
           wrong[i]);
        struct reading found = read_reachable("b");
        assert_int_not_equal(found.faults, 0);
        assert_int_equal(found.first.error, TS_GIT_BAD_ID);
        free(found.contents.items);
    }
}

/* In a pack with correct CRCs, only the id shows the damage. */
static void forged_ids_in_packs_are_faults_when_they_are_verified(void **state) {
    (void)state;
    static const struct {
        unsigned verify;
        size_t faults;
    } ways[] = {{0, 0},
                {TS_GIT_TYPE_BIT(TS_GIT_BLOB), 2},
                {TS_GIT_TYPE_BIT(TS_GIT_TREE), 1},
                {TS_GIT_TYPE_BIT(TS_GIT_TREE) | TS_GIT_TYPE_BIT(TS_GIT_BLOB), 3}};
    struct pack_writer w;
    uint8_t delta[64];
    writer_init(&w);
    uint64_t base = writer_blob(&w, "a blob", 6);
    writer_offset_delta(&w, base, delta, delta_append(delta, 6, 's'));
    writer_entry(&w, TS_GIT_TREE, 0, NULL, 0, "", 0);
    writer_finish(&w, "r");
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct fault_list *faults = calloc(1, sizeof *faults);
        assert_non_null(faults);
        struct ts_git_repo *repo = open_repo("r");
        struct ts_git_visit_options options = {
            .types = ALL_TYPES, .verify = ways[i].verify, .faults = {fault_take, faults}};
        struct seen_list found = seen_by_visit(repo, &options, NULL);
        assert_int_equal(faults->count, ways[i].faults);
        assert_int_equal(found.count, 3 - ways[i].faults);
        free(found.items);
        ts_git_repo_free(repo);
        free(faults);
    }
}

/* ---- types ---- */

#define ENTRY(mode_and_name, child)                                                                          \
    "python3 -c \"import sys; sys.stdout.buffer.write(b'" mode_and_name "\\0' + bytes.fromhex('$" child      \
    "'))\" | git hash-object --literally -t tree -w --stdin"

/* Each of these commands writes an object that names another object with a wrong type. The last line that it
 * prints is the id of the tip. */
static void objects_that_are_named_with_another_type_are_faults(void **state) {
    (void)state;
    static const char *const makers[] = {
        /* a commit whose tree is a blob */
        "printf 'tree %s\\nauthor A <a@x> 1 +0000\\ncommitter C <c@x> 1 +0000\\n\\nm\\n' $blob | "
        "git hash-object --literally -t commit -w --stdin",
        /* a commit whose tree is a commit */
        "printf 'tree %s\\nauthor A <a@x> 1 +0000\\ncommitter C <c@x> 1 +0000\\n\\nm\\n' $commit | "
        "git hash-object --literally -t commit -w --stdin",
        /* parents that are not commits */
        "printf 'tree %s\\nparent %s\\nauthor A <a@x> 1 +0000\\ncommitter C <c@x> 1 +0000\\n\\nm\\n' $tree $tree | "
        "git hash-object --literally -t commit -w --stdin",
        "printf 'tree %s\\nparent %s\\nauthor A <a@x> 1 +0000\\ncommitter C <c@x> 1 +0000\\n\\nm\\n' $tree $blob | "
        "git hash-object --literally -t commit -w --stdin",
        "printf 'tree %s\\nparent %s\\nauthor A <a@x> 1 +0000\\ncommitter C <c@x> 1 +0000\\n\\nm\\n' $tree $tag | "
        "git hash-object --literally -t commit -w --stdin",
        /* a folder that is a blob, a file that is a tree or a commit */
        ENTRY("40000 sub", "blob"),
        ENTRY("100644 file", "tree"),
        ENTRY("100644 file", "commit"),
        /* a tag whose object has another type */
        "printf 'object %s\\ntype commit\\ntag x\\ntagger T <t@x> 1 +0000\\n\\nm\\n' $blob | "
        "git hash-object --literally -t tag -w --stdin",
        "printf 'object %s\\ntype blob\\ntag x\\ntagger T <t@x> 1 +0000\\n\\nm\\n' $commit | "
        "git hash-object --literally -t tag -w --stdin",
    };
    make_packed("true");
    sh("mv b sound");
    for (int is_packed = 0; is_packed < 2; is_packed++)
        for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
            sh("rm -rf b && cp -r sound b && cd b && blob=$(git rev-parse HEAD:d/f) tree=$(git rev-parse HEAD^{tree}) commit=$(git rev-parse HEAD) "
               "tag=$(git rev-parse t) && %s >../tip && %s mkdir -p refs/other && cp ../tip refs/other/x",
               makers[i],
               is_packed ? "git pack-objects -q objects/pack/pack <../tip >../out && git prune-packed &&"
                         : "");
            struct reading found = read_reachable("b");
            if (found.faults == 0 || found.first.error != TS_GIT_WRONG_TYPE)
                fail_msg("not a fault, or another one: %s", makers[i]);
            free(found.contents.items);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_flipped_type_is_a_fault_whatever_is_next_to_the_pack, maker_setup,
                                        maker_teardown),
        cmocka_unit_test_setup_teardown(a_sound_copy_is_read_instead_of_a_damaged_one, maker_setup,
                                        maker_teardown),
        cmocka_unit_test_setup_teardown(a_content_under_another_id_is_a_fault, maker_setup, maker_teardown),
        cmocka_unit_test_setup_teardown(forged_ids_in_packs_are_faults_when_they_are_verified, maker_setup,
                                        maker_teardown),
        cmocka_unit_test_setup_teardown(objects_that_are_named_with_another_type_are_faults, maker_setup,
                                        maker_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
