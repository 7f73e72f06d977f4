/* Compares trees with their bases. For any delta, the result equals that of reading the whole tree. */
#include "tree.h"

#include "base/prng.h"
#include "graph.h"
#include "repo_maker.h"

#define HASH_LEN    20
#define ENTRIES_MAX 40
#define COPIES_MAX  (2 * ENTRIES_MAX)

struct text {
    uint8_t bytes[8192];
    size_t len;
};

/* The positions where the entries of a text begin, and the end of the last entry. */
struct entries {
    size_t starts[ENTRIES_MAX + 1];
    size_t count;
};

struct kit {
    struct ts_git_repo *repo;
    struct ts_git_graph *graph;
    struct git__tree_reader reader;
    struct ts_prng random;
};

static struct kit *kit_new(uint64_t seed) {
    struct kit *kit = calloc(1, sizeof *kit);
    assert_non_null(kit);
    sh("git init -q r%u", (unsigned)seed);
    char folder[16];
    snprintf(folder, sizeof folder, "r%u", (unsigned)seed);
    kit->repo = open_repo(folder);
    assert_int_equal(ts_git_graph_new(kit->repo, NULL, &kit->graph, NULL), TS_GIT_OK);
    kit->reader.graph = kit->graph;
    kit->reader.names = calloc(1, sizeof *kit->reader.names);
    assert_non_null(kit->reader.names);
    ts_prng_init(&kit->random, seed);
    return kit;
}

static void kit_free(struct kit *kit) {
    git__tree_reader_release(&kit->reader);
    assert_int_equal(atomic_load(&kit->graph->tree_bytes), 0);
    ts_git_graph_free(kit->graph);
    ts_git_repo_free(kit->repo);
    free(kit);
}

static unsigned below(struct kit *kit, unsigned limit) {
    return (unsigned)ts_prng_below(&kit->random, limit);
}

static void append(struct text *text, const void *bytes, size_t len) {
    assert_true(text->len + len <= sizeof text->bytes);
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
}

/* Appends a random mode and name. There are few modes and names, so many entries are equal. */
static void append_head(struct kit *kit, struct text *text) {
    static const char *const modes[] = {"100644", "100755", "40000", "120000", "160000"};
    char head[64];
    int len = snprintf(head, sizeof head, "%s name%u", modes[below(kit, 5)], below(kit, 12) * below(kit, 12));
    append(text, head, (size_t)len + 1);
}

static void append_id(struct kit *kit, struct text *text) {
    uint8_t id[HASH_LEN] = {0};
    id[below(kit, HASH_LEN)] = (uint8_t)below(kit, 8);
    append(text, id, sizeof id);
}

static void make_base(struct kit *kit, struct text *text, struct entries *entries) {
    text->len = 0;
    entries->count = below(kit, ENTRIES_MAX);
    for (size_t i = 0; i < entries->count; i++) {
        entries->starts[i] = text->len;
        append_head(kit, text);
        append_id(kit, text);
    }
    entries->starts[entries->count] = text->len;
}

struct delta {
    struct text text;
    struct ts_git_copy copies[COPIES_MAX];
    size_t copy_count;
};

/* Appends a part of the base, usually as a copy. Some equal bytes are inserted instead of copied, as in real
 * deltas. */
static void append_copy(struct kit *kit, struct delta *delta, const struct text *base, size_t from,
                        size_t to) {
    size_t at = delta->text.len;
    append(&delta->text, base->bytes + from, to - from);
    size_t skip = below(kit, 3) == 0 ? below(kit, 30) : 0;
    size_t less = below(kit, 3) == 0 ? below(kit, 30) : 0;
    if (skip + less >= to - from || delta->copy_count == COPIES_MAX)
        return;
    delta->copies[delta->copy_count++] =
        (struct ts_git_copy){.at = at + skip, .from = from + skip, .len = to - from - skip - less};
}

/* Makes a delta from three kinds of parts: stretches of the base, mostly in order; entries of the base with
 * another id; new entries. */
static void make_delta(struct kit *kit, struct delta *delta, const struct text *base,
                       const struct entries *entries) {
    delta->text.len = 0;
    delta->copy_count = 0;
    size_t next = 0;
    for (unsigned i = below(kit, 12); i > 0; i--) {
        unsigned what = below(kit, 8);
        if (what == 0)
            next = below(kit, (unsigned)entries->count + 1);
        if (what <= 3 && next < entries->count) {
            size_t end = next + 1 + below(kit, (unsigned)(entries->count - next));
            append_copy(kit, delta, base, entries->starts[next], entries->starts[end]);
            next = end;
        } else if (what <= 5 && next < entries->count) {
            append_copy(kit, delta, base, entries->starts[next], entries->starts[next + 1] - HASH_LEN);
            append_id(kit, &delta->text);
            next++;
        } else {
            append_head(kit, &delta->text);
            append_id(kit, &delta->text);
        }
    }
}

static int compare_changes(const void *a, const void *b) {
    const struct git__change *x = a;
    const struct git__change *y = b;
    if (x->child != y->child)
        return x->child < y->child ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

struct changes {
    struct git__change items[4 * ENTRIES_MAX + 16];
    size_t count;
};

static void note(struct changes *changes, struct git__change change) {
    if (change.child != GIT__NONE)
        changes->items[changes->count++] = change;
}

static void assert_same(struct changes *a, struct changes *b) {
    assert_int_equal(a->count, b->count);
    qsort(a->items, a->count, sizeof *a->items, compare_changes);
    qsort(b->items, b->count, sizeof *b->items, compare_changes);
    assert_memory_equal(a->items, b->items, a->count * sizeof *a->items);
}

static struct ts_git_object object_of(const struct text *text, const struct ts_git_base *base) {
    return (struct ts_git_object){.type = TS_GIT_TREE,
                                  .size = text->len,
                                  .content = ts_bytes_of(text->bytes, text->len),
                                  .is_last = true,
                                  .is_base = true,
                                  .base = base};
}

static struct git__tree *read_valid(struct kit *kit, const struct ts_git_object *object) {
    bool has_base;
    struct git__tree *tree = NULL;
    assert_int_equal(git__tree_read(&kit->reader, object, &has_base, &tree), GIT__TREE_READ);
    assert_int_equal(has_base, object->base != NULL);
    return tree;
}

static void assert_same_trees(const struct git__tree *a, const struct git__tree *b) {
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->ends, b->ends, a->count * sizeof *a->ends);
    assert_memory_equal(a->children, b->children, a->count * sizeof *a->children);
    assert_memory_equal(a->names, b->names, a->count * sizeof *a->names);
}

static void check(struct kit *kit, const struct text *base_text, const struct delta *delta, bool is_held) {
    struct ts_git_object base_object = object_of(base_text, NULL);
    struct git__tree *base_tree = read_valid(kit, &base_object);
    struct ts_git_base base = {.size = base_text->len,
                               .content = ts_bytes_of(base_text->bytes, base_text->len),
                               .result = is_held ? base_tree : NULL,
                               .copies = delta->copies,
                               .copy_count = delta->copy_count};
    struct ts_git_object alone = object_of(&delta->text, NULL);
    struct ts_git_object beside = object_of(&delta->text, &base);
    struct git__tree *expected_tree = read_valid(kit, &alone);
    struct git__tree *tree = read_valid(kit, &beside);
    assert_same_trees(tree, expected_tree);
    /* Checks that base - removed + added = tree, written as base + added = tree + removed. */
    static struct changes left;
    static struct changes right;
    left.count = right.count = 0;
    for (uint32_t i = 0; i < base_tree->count; i++)
        note(&left, (struct git__change){base_tree->children[i], base_tree->names[i]});
    for (size_t i = 0; i < kit->reader.added_count; i++)
        note(&left, kit->reader.added[i].change);
    for (uint32_t i = 0; i < tree->count; i++)
        note(&right, (struct git__change){tree->children[i], tree->names[i]});
    for (size_t i = 0; i < kit->reader.removed_count; i++)
        note(&right, kit->reader.removed[i]);
    assert_same(&left, &right);
    git__tree_free(kit->graph, base_tree);
    git__tree_free(kit->graph, expected_tree);
    git__tree_free(kit->graph, tree);
}

static void a_tree_beside_its_base_is_the_tree(void **state) {
    (void)state;
    static struct text base;
    static struct delta delta;
    struct kit *kit = kit_new(1);
    for (unsigned round = 0; round < 20000; round++) {
        struct entries entries;
        make_base(kit, &base, &entries);
        make_delta(kit, &delta, &base, &entries);
        check(kit, &base, &delta, below(kit, 4) != 0);
    }
    kit_free(kit);
}

/* A copied entry is neither added nor removed. A changed entry is removed once and added once. */
static void only_changes_are_parsed(void **state) {
    (void)state;
    static struct text base;
    static struct delta delta;
    struct kit *kit = kit_new(2);
    struct entries entries = {.count = 3};
    for (unsigned i = 0; i < 3; i++) {
        static const char *const heads[] = {"100644 a", "100644 b", "40000 c"};
        entries.starts[i] = base.len;
        append(&base, heads[i], strlen(heads[i]) + 1);
        append(&base, (const uint8_t[HASH_LEN]){1, (uint8_t)i}, HASH_LEN);
    }
    size_t id = entries.starts[2] - HASH_LEN;
    delta.text = base;
    delta.text.bytes[id + 1] = 7;
    delta.copies[0] = (struct ts_git_copy){.at = 0, .from = 0, .len = id};
    delta.copies[1] =
        (struct ts_git_copy){.at = id + HASH_LEN, .from = id + HASH_LEN, .len = base.len - id - HASH_LEN};
    delta.copy_count = 2;
    check(kit, &base, &delta, true);
    assert_int_equal(kit->reader.added_count, 1);
    assert_int_equal(kit->reader.removed_count, 1);
    assert_int_equal(kit->reader.added[0].change.name, kit->reader.removed[0].name);
    assert_int_not_equal(kit->reader.added[0].change.child, kit->reader.removed[0].child);
    kit_free(kit);
}

/* The reader reports the entries before the first invalid one as added, and does not use the base. */
static void a_tree_that_is_cut_is_read_without_its_base(void **state) {
    (void)state;
    static struct text base;
    static struct delta delta;
    struct kit *kit = kit_new(3);
    for (unsigned round = 0; round < 2000; round++) {
        struct entries entries;
        make_base(kit, &base, &entries);
        if (entries.count < 2)
            continue;
        size_t len = entries.starts[entries.count] - 1 - below(kit, HASH_LEN);
        delta.text = base;
        delta.text.len = len;
        delta.copies[0] = (struct ts_git_copy){.at = 0, .from = 0, .len = len};
        struct ts_git_base of = {.size = base.len,
                                 .content = ts_bytes_of(base.bytes, base.len),
                                 .copies = delta.copies,
                                 .copy_count = 1};
        struct ts_git_object object = object_of(&delta.text, &of);
        struct git__tree *tree = NULL;
        bool has_base = true;
        assert_int_equal(git__tree_read(&kit->reader, &object, &has_base, &tree), GIT__TREE_BAD);
        assert_false(has_base);
        assert_null(tree);
        assert_int_equal(kit->reader.added_count, entries.count - 1);
        assert_int_equal(kit->reader.removed_count, 0);
    }
    kit_free(kit);
}

/* If there is no room to hold the entries of a base, the next delta reads the base again, with the same
 * result. */
static void a_base_that_is_not_held_is_read_again(void **state) {
    (void)state;
    static struct text base;
    struct kit *kit = kit_new(4);
    struct entries entries = {.count = 0};
    while (entries.count == 0)
        make_base(kit, &base, &entries);
    kit->graph->tree_bytes_max = 8;
    struct ts_git_object object = object_of(&base, NULL);
    assert_null(read_valid(kit, &object));
    kit_free(kit);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, maker_setup, maker_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_tree_beside_its_base_is_the_tree),
        TEST(only_changes_are_parsed),
        TEST(a_tree_that_is_cut_is_read_without_its_base),
        TEST(a_base_that_is_not_held_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
