#include "coord/core/manifest.h"

#include "base/endian.h"
#include "coord/core/target_shard.h"

#include "base/prng.h"
#include "world.h"

static struct ts_manifest_memory memory;
static struct ts_manifest_detail detail;
static struct ts_new_shard shards[TS_REGISTER_MAX + 1];
static char keys[TS_REGISTER_MAX + 2][24];
static uint8_t large[TS_TOKEN_MAX + 1];

static enum ts_manifest_validation_error check(const struct ts_new_shard *list, size_t count) {
    memset(&detail, 0, sizeof detail);
    return ts_manifest_check((struct ts_run_id){7}, (struct ts_op_id){11},
                             (struct ts_new_shards){list, count}, &memory, &detail);
}

/* Makes `count` adjacent shards. */
static void fill(size_t count) {
    for (size_t i = 0; i <= count; i++)
        snprintf(keys[i], sizeof keys[i], "k%06zu", i);
    for (size_t i = 0; i < count; i++)
        shards[i] = child_of(keys[i], keys[i + 1]);
}

static void a_good_list_gets_its_ids(void **state) {
    (void)state;
    struct ts_new_shard list[] = {child_of("m", ""), child_of("", "c"), child_of("d", "m")};
    list[1].has_id = true;
    list[1].id.v = 42;
    list[2].cursor = (struct ts_cursor)KEY("dd");
    assert_int_equal(check(list, 3), TS_MANIFEST_FAULT_OK);
    assert_true(memory.ids[0].v == ts_drawn_shard_id((struct ts_run_id){7}, (struct ts_op_id){11}, 0).v);
    assert_int_equal(memory.ids[1].v, 42);
    assert_true(memory.ids[2].v == ts_drawn_shard_id((struct ts_run_id){7}, (struct ts_op_id){11}, 2).v);
    const struct ts_new_shard whole = child_of("", "");
    assert_int_equal(check(&whole, 1), TS_MANIFEST_FAULT_OK);
}

static void a_list_has_1_to_10000_shards(void **state) {
    (void)state;
    assert_int_equal(check(NULL, 0), TS_MANIFEST_FAULT_EMPTY);
    fill(TS_REGISTER_MAX + 1);
    assert_int_equal(check(shards, TS_REGISTER_MAX + 1), TS_MANIFEST_FAULT_TOO_MANY_SHARDS);
    assert_int_equal(detail.limit.max, 10000);
    struct ts_prng prng;
    ts_prng_init(&prng, 3);
    ts_prng_shuffle(&prng, shards, TS_REGISTER_MAX);
    assert_int_equal(check(shards, TS_REGISTER_MAX), TS_MANIFEST_FAULT_OK);
}

static void bad_entries_are_distinguished(void **state) {
    (void)state;
    struct ts_new_shard list[2] = {child_of("a", "b"), child_of("m", "p")};
    struct ts_new_shard *bad = &list[1];
    const struct ts_new_shard good = *bad;
    bad->spec.range.end = TS_BYTES("m");
    assert_int_equal(check(list, 2), TS_MANIFEST_FAULT_INVALID_SPEC);
    assert_int_equal(detail.entry, 1);
    *bad = good;
    bad->spec.metadata = ts_bytes_of(large, TS_METADATA_MAX + 1);
    assert_int_equal(check(list, 2), TS_MANIFEST_FAULT_INVALID_SPEC);
    *bad = good;
    bad->has_id = true;
    bad->id.v = TS_DERIVED_SHARD_BIT | 1;
    assert_int_equal(check(list, 2), TS_MANIFEST_FAULT_INVALID_SPEC);
    *bad = good;
    bad->cursor = (struct ts_cursor){true, true, TS_BYTES("n"), ts_bytes_of(large, TS_TOKEN_MAX + 1)};
    assert_int_equal(check(list, 2), TS_MANIFEST_FAULT_INVALID_SPEC);
    *bad = good;
    bad->cursor = (struct ts_cursor){.has_key = true, .last_key = ts_bytes_of(large, TS_KEY_MAX + 1)};
    assert_int_equal(check(list, 2), TS_MANIFEST_FAULT_CURSOR_KEY_TOO_LARGE);
    *bad = good;
    bad->cursor = (struct ts_cursor)KEY("p");
    assert_int_equal(check(list, 2), TS_MANIFEST_FAULT_CURSOR_OUT_OF_BOUNDS);
    *bad = good;
    assert_int_equal(check(list, 2), TS_MANIFEST_FAULT_OK);
}

static void clashes_between_entries_are_distinguished(void **state) {
    (void)state;
    struct ts_new_shard list[3] = {child_of("m", "p"), child_of("a", "b"), child_of("b", "c")};
    list[0].has_id = list[2].has_id = true;
    list[0].id.v = list[2].id.v = 5;
    assert_int_equal(check(list, 3), TS_MANIFEST_FAULT_DUPLICATE_IDS);
    assert_int_equal(detail.entry, 2);
    assert_int_equal(detail.other, 0);
    /* An id that the list gives must not equal an id that is drawn for another entry. */
    list[2].id = ts_drawn_shard_id((struct ts_run_id){7}, (struct ts_op_id){11}, 1);
    assert_int_equal(check(list, 3), TS_MANIFEST_FAULT_DUPLICATE_IDS);
    list[2].id.v = 6;
    list[2].spec.range.end = TS_BYTES("mm");
    assert_int_equal(check(list, 3), TS_MANIFEST_FAULT_OVERLAPPING_RANGES);
    assert_int_equal(detail.entry, 0);
    assert_int_equal(detail.other, 2);
    list[2].spec.range.end = (struct ts_bytes){0};
    assert_int_equal(check(list, 3), TS_MANIFEST_FAULT_UNBOUNDED_RANGE);
    assert_int_equal(detail.entry, 2);
    list[2].spec.range = (struct ts_key_range){TS_BYTES(""), TS_BYTES("a")};
    list[1].spec.range.start = (struct ts_bytes){0};
    assert_int_equal(check(list, 3), TS_MANIFEST_FAULT_UNBOUNDED_RANGE);
    list[1].spec.range.start = TS_BYTES("a");
    assert_int_equal(check(list, 3), TS_MANIFEST_FAULT_OK);
}

static void a_unit_belongs_to_the_shard_of_a_target(void **state) {
    (void)state;
    static const uint8_t unit[TS_COORD_UNIT_MAX + 1];
    const uint8_t target[TS_COORD_TARGET_LEN] = {1};
    const struct ts_coord_target_keys bounds = ts_coord_target_keys_of(target);
    struct ts_new_shard list[1] = {
        {.spec.range = ts_coord_target_range(&bounds), .unit = ts_bytes_of(unit, TS_COORD_UNIT_MAX)}};
    assert_int_equal(check(list, 1), TS_MANIFEST_FAULT_OK);
    list[0].unit.len++;
    assert_int_equal(check(list, 1), TS_MANIFEST_FAULT_INVALID_SPEC);
    list[0] = child_of("a", "b");
    list[0].unit = ts_bytes_of(unit, 1);
    assert_int_equal(check(list, 1), TS_MANIFEST_FAULT_INVALID_SPEC);
}

static void a_whole_list_is_checked_as_one(void **state) {
    (void)state;
    enum { LONG = TS_REGISTER_MAX + 3 };
    static struct ts_new_shard list[LONG];
    static uint8_t bounds[LONG + 1][4];
    static struct ts_shard_id ids[LONG];
    static uint32_t order[LONG];
    const struct ts_manifest_room room = {ids, order};
    const struct ts_run_id run = {7};
    const struct ts_op_id op = {11};
    for (uint32_t i = 0; i <= LONG; i++)
        ts_be32_store(i + 1, bounds[i]);
    for (size_t i = 0; i < LONG; i++)
        list[i] =
            (struct ts_new_shard){.spec.range = {ts_bytes_of(bounds[i], 4), ts_bytes_of(bounds[i + 1], 4)}};
    struct ts_new_shards all = {list, LONG};
    assert_int_equal(ts_manifest_check_announced(run, op, all, room, &detail), TS_MANIFEST_FAULT_OK);
    assert_true(ids[LONG - 1].v == ts_drawn_shard_id(run, op, LONG - 1).v);
    list[LONG - 1].has_id = true;
    list[LONG - 1].id = ids[0];
    assert_int_equal(ts_manifest_check_announced(run, op, all, room, &detail),
                     TS_MANIFEST_FAULT_DUPLICATE_IDS);
    assert_int_equal(detail.entry, LONG - 1);
    list[LONG - 1].id.v = 5;
    list[LONG - 1].spec.range.start = list[0].spec.range.start;
    assert_int_equal(ts_manifest_check_announced(run, op, all, room, &detail),
                     TS_MANIFEST_FAULT_OVERLAPPING_RANGES);
    all.count = 0;
    assert_int_equal(ts_manifest_check_announced(run, op, all, room, &detail), TS_MANIFEST_FAULT_EMPTY);
    all.count = TS_GLOBAL_SHARD_MAX + 1;
    assert_int_equal(ts_manifest_check_announced(run, op, all, room, &detail),
                     TS_MANIFEST_FAULT_TOO_MANY_SHARDS);
    assert_int_equal(detail.limit.max, TS_GLOBAL_SHARD_MAX);
}

/* The reported pair does not depend on how the sort orders equal entries. */
static void the_first_of_many_clashes_is_reported(void **state) {
    (void)state;
    fill(20);
    for (size_t i = 0; i < 20; i++) {
        shards[i].has_id = true;
        shards[i].id.v = 5;
    }
    assert_int_equal(check(shards, 20), TS_MANIFEST_FAULT_DUPLICATE_IDS);
    assert_int_equal(detail.entry, 1);
    assert_int_equal(detail.other, 0);
    for (size_t i = 0; i < 20; i++)
        shards[i] = child_of("k", "l");
    assert_int_equal(check(shards, 20), TS_MANIFEST_FAULT_OVERLAPPING_RANGES);
    assert_int_equal(detail.entry, 1);
    assert_int_equal(detail.other, 0);
}

/* Compares the result of the check with a comparison of every pair of ranges. */
static void overlaps_are_found_exactly(void **state) {
    (void)state;
    static const char *const bounds[] = {"", "b", "c", "d", "e", "f", "g"};
    struct ts_prng prng;
    ts_prng_init(&prng, 5);
    size_t accepted = 0;
    for (int round = 0; round < 50000; round++) {
        const size_t count = 1 + ts_prng_below(&prng, 4);
        struct ts_new_shard list[4];
        bool valid = true;
        for (size_t i = 0; i < count; i++) {
            list[i] = child_of(bounds[ts_prng_below(&prng, 7)], bounds[ts_prng_below(&prng, 7)]);
            valid &= !ts_key_range_is_inverted(list[i].spec.range);
        }
        for (size_t i = 0; i < count; i++) {
            for (size_t k = 0; k < i; k++) {
                struct ts_key_range a = list[i].spec.range, b = list[k].spec.range;
                bool a_before_b = a.end.len != 0 && ts_bytes_compare(a.end, b.start) <= 0;
                bool b_before_a = b.end.len != 0 && ts_bytes_compare(b.end, a.start) <= 0;
                valid &= a_before_b || b_before_a;
            }
        }
        assert_int_equal(check(list, count) == TS_MANIFEST_FAULT_OK, valid);
        accepted += valid;
    }
    assert_true(accepted > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_list_gets_its_ids),
        cmocka_unit_test(a_list_has_1_to_10000_shards),
        cmocka_unit_test(bad_entries_are_distinguished),
        cmocka_unit_test(clashes_between_entries_are_distinguished),
        cmocka_unit_test(a_unit_belongs_to_the_shard_of_a_target),
        cmocka_unit_test(a_whole_list_is_checked_as_one),
        cmocka_unit_test(the_first_of_many_clashes_is_reported),
        cmocka_unit_test(overlaps_are_found_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
