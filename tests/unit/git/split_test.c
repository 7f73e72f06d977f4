/* Tests split indexes whose two files do not match, which git never writes. Valid split indexes are in
 * staged_test.c. */
#include "split.h"

#include "base/endian.h"
#include "support/cmocka.h"

#include <stdlib.h>

#define SHARED_COUNT 70

/* Makes entries with paths of four digits, or without paths. */
static struct ts_git_staged make(size_t count, unsigned first, bool has_paths) {
    struct ts_git_staged staged = {.items = calloc(count + 1, sizeof *staged.items), .count = count};
    assert_non_null(staged.items);
    for (size_t i = 0; i < count; i++) {
        struct ts_git_staged_entry *entry = &staged.items[i];
        unsigned number = first + (unsigned)i;
        entry->path = calloc(1, 5);
        assert_non_null(entry->path);
        entry->mode = 0100644;
        entry->path_len = has_paths ? 4 : 0;
        for (size_t k = entry->path_len; k > 0; k--, number /= 10)
            entry->path[k - 1] = (char)('0' + number % 10);
    }
    return staged;
}

/* The bitmaps of a split index, as bytes. */
struct maps {
    uint8_t bytes[256];
    size_t len;
};

static void put32(struct maps *maps, uint32_t value) {
    ts_be32_store(value, maps->bytes + maps->len);
    maps->len += 4;
}

static void put64(struct maps *maps, uint64_t value) {
    ts_be64_store(value, maps->bytes + maps->len);
    maps->len += 8;
}

static uint64_t head(uint64_t bit, uint64_t run, uint64_t literals) {
    return bit | run << 1 | literals << 33;
}

static void put_empty(struct maps *maps) {
    put32(maps, 0);
    put32(maps, 1);
    put64(maps, 0);
    put32(maps, 0);
}

/* Appends a bitmap that has a head and one literal word. */
static void put_word(struct maps *maps, uint64_t first, uint64_t literal) {
    put32(maps, SHARED_COUNT);
    put32(maps, 2);
    put64(maps, first);
    put64(maps, literal);
    put32(maps, 0);
}

/* Joins SHARED_COUNT shared entries with the index's own entries. Returns the number of joined entries, or -1
 * if joining fails. */
static int join(const struct maps *maps, struct ts_git_staged own) {
    struct git__split split = {.is_split = true, .bitmaps = ts_bytes_of(maps->bytes, maps->len)};
    struct ts_git_staged shared = make(SHARED_COUNT, 1000, true);
    struct ts_git_staged joined = {.items = NULL};
    int count = -1;
    if (git__split_join(&split, &shared, &own, &joined)) {
        count = (int)joined.count;
        for (size_t i = 1; i < joined.count; i++)
            assert_true(strcmp(joined.items[i - 1].path, joined.items[i].path) < 0);
        ts_git_staged_release(&joined);
    }
    ts_git_staged_release(&shared);
    ts_git_staged_release(&own);
    return count;
}

static void runs_and_literals_say_which_entries_go(void **state) {
    (void)state;
    struct maps none = {.len = 0};
    assert_int_equal(join(&none, make(0, 0, true)), SHARED_COUNT);
    assert_int_equal(join(&none, make(3, 2000, true)), SHARED_COUNT + 3);
    struct maps maps = {.len = 0};
    put_word(&maps, head(1, 1, 1), 0x3f);
    put_empty(&maps);
    assert_int_equal(join(&maps, make(0, 0, true)), 0);
    maps.len = 0;
    put_word(&maps, head(0, 1, 1), 0x21);
    put_empty(&maps);
    assert_int_equal(join(&maps, make(0, 0, true)), SHARED_COUNT - 2);
}

static void an_entry_that_is_added_again_replaces_the_shared_one(void **state) {
    (void)state;
    struct maps none = {.len = 0};
    assert_int_equal(join(&none, make(3, 1000, true)), SHARED_COUNT);
    assert_int_equal(join(&none, make(3, 1068, true)), SHARED_COUNT + 1);
}

static void bits_beyond_the_entries_are_refused(void **state) {
    (void)state;
    struct maps maps = {.len = 0};
    put_word(&maps, head(0, 1, 1), 0x40);
    put_empty(&maps);
    assert_int_equal(join(&maps, make(0, 0, true)), -1);
    maps.len = 0;
    put_word(&maps, head(1, UINT32_MAX, 0), 0);
    put_empty(&maps);
    assert_int_equal(join(&maps, make(0, 0, true)), -1);
    maps.len = 0;
    put_word(&maps, head(0, 3, 0), head(0, 0, 0));
    put_empty(&maps);
    assert_int_equal(join(&maps, make(0, 0, true)), -1);
    maps.len = 0;
    put_word(&maps, head(0, 2, 1), 0);
    put_empty(&maps);
    assert_int_equal(join(&maps, make(0, 0, true)), -1);
}

static void lengths_that_lie_are_refused(void **state) {
    (void)state;
    struct maps maps = {.len = 0};
    put_word(&maps, head(0, 0, 2), 0); /* states two literal words, but has one */
    put_empty(&maps);
    assert_int_equal(join(&maps, make(0, 0, true)), -1);
    maps.len = 0;
    put_empty(&maps);
    put_empty(&maps);
    assert_int_equal(join(&maps, make(0, 0, true)), SHARED_COUNT);
    ts_be32_store(UINT32_MAX, maps.bytes + 4);
    assert_int_equal(join(&maps, make(0, 0, true)), -1);
    ts_be32_store(1, maps.bytes + 4);
    for (size_t len = maps.len - 1; len > 0; len--) {
        maps.len = len;
        assert_int_equal(join(&maps, make(0, 0, true)), -1);
    }
    maps.len = 0;
    put_empty(&maps);
    put_empty(&maps);
    put32(&maps, 0); /* bytes after the end of the bitmaps */
    assert_int_equal(join(&maps, make(0, 0, true)), -1);
}

static void entries_without_paths_are_those_that_replace(void **state) {
    (void)state;
    struct maps maps = {.len = 0};
    put_empty(&maps);
    put_word(&maps, head(0, 0, 1), 7);
    assert_int_equal(join(&maps, make(3, 0, false)), SHARED_COUNT);
    assert_int_equal(join(&maps, make(2, 0, false)), -1);   /* too few entries */
    assert_int_equal(join(&maps, make(4, 0, false)), -1);   /* too many entries */
    assert_int_equal(join(&maps, make(3, 2000, true)), -1); /* entries with paths */
    struct ts_git_staged folders = make(3, 0, false);
    folders.items[1].mode = 0040000; /* a folder at the path of a file */
    assert_int_equal(join(&maps, folders), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_and_literals_say_which_entries_go),
        cmocka_unit_test(an_entry_that_is_added_again_replaces_the_shared_one),
        cmocka_unit_test(bits_beyond_the_entries_are_refused),
        cmocka_unit_test(lengths_that_lie_are_refused),
        cmocka_unit_test(entries_without_paths_are_those_that_replace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
