#include "turnstone/route.h"

#include "support/cmocka.h"

#include <string.h>

#define SNOWFLAKE     UINT64_C(320816801799737344)
#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static const uint64_t ids[] = {0, 1, 42, SNOWFLAKE, INT64_MAX, UINT64_MAX};

static struct ts_ownership ownership_of(uint32_t index, uint32_t count) {
    struct ts_ownership ownership;
    assert_int_equal(ts_ownership_init((struct ts_store_id){index}, count, &ownership, NULL),
                     TS_OWNERSHIP_OK);
    return ownership;
}

static void the_default_is_store_zero_of_one_and_owns_everything(void **state) {
    (void)state;
    struct ts_ownership ownership = ts_ownership_default();
    assert_int_equal(ownership.index.v, 0);
    assert_int_equal(ownership.count, 1);
    for (size_t i = 0; i < LENGTH(ids); i++)
        assert_true(ts_ownership_owns(&ownership, ids[i]));
}

static void owning_agrees_with_the_hash(void **state) {
    (void)state;
    for (uint32_t count = 1; count <= 16; count++) {
        for (size_t i = 0; i < LENGTH(ids); i++) {
            uint32_t expected = ts_router_store_for(ids[i], count).v;
            for (uint32_t index = 0; index < count; index++) {
                struct ts_ownership ownership = ownership_of(index, count);
                assert_int_equal(ts_ownership_owns(&ownership, ids[i]), index == expected);
            }
        }
    }
}

static void every_id_has_exactly_one_owner(void **state) {
    (void)state;
    struct ts_ownership all[4];
    for (uint32_t index = 0; index < 4; index++)
        all[index] = ownership_of(index, 4);
    for (uint64_t i = 0; i < 10000; i++) {
        int owners = 0;
        for (uint32_t index = 0; index < 4; index++)
            owners += ts_ownership_owns(&all[index], SNOWFLAKE + i);
        assert_int_equal(owners, 1);
    }
}

static void expect_rejected(uint32_t index, uint32_t count, enum ts_ownership_error error, const char *line) {
    struct ts_ownership ownership = {{77}, 99};
    struct ts_ownership_error_detail detail;
    assert_int_equal(ts_ownership_init((struct ts_store_id){index}, count, &ownership, &detail), error);
    assert_int_equal(ownership.index.v, 77);
    assert_int_equal(ownership.count, 99);
    assert_int_equal(detail.error, error);
    assert_int_equal(detail.index.v, index);
    assert_int_equal(detail.count, count);

    char text[200];
    assert_int_equal(ts_ownership_error_describe(&detail, text, sizeof text), strlen(line));
    assert_string_equal(text, line);
    assert_int_equal(ts_ownership_init((struct ts_store_id){index}, count, &ownership, NULL), error);
}

static void a_count_of_zero_is_rejected(void **state) {
    (void)state;
    expect_rejected(0, 0, TS_OWNERSHIP_ZERO_STORE_COUNT, "TURNSTONE_STORE_COUNT must be >= 1; got 0");
    expect_rejected(3, 0, TS_OWNERSHIP_ZERO_STORE_COUNT, "TURNSTONE_STORE_COUNT must be >= 1; got 0");
}

static void an_index_at_or_above_the_count_is_rejected(void **state) {
    (void)state;
    expect_rejected(4, 4, TS_OWNERSHIP_INDEX_OUT_OF_RANGE,
                    "TURNSTONE_STORE_INDEX 4 >= TURNSTONE_STORE_COUNT 4; the index must be in 0..count");
    expect_rejected(5, 4, TS_OWNERSHIP_INDEX_OUT_OF_RANGE,
                    "TURNSTONE_STORE_INDEX 5 >= TURNSTONE_STORE_COUNT 4; the index must be in 0..count");
    expect_rejected(
        UINT32_MAX, UINT32_MAX, TS_OWNERSHIP_INDEX_OUT_OF_RANGE,
        "TURNSTONE_STORE_INDEX 4294967295 >= TURNSTONE_STORE_COUNT 4294967295; the index must be in "
        "0..count");
}

static void an_index_below_the_count_is_accepted_and_leaves_the_detail_alone(void **state) {
    (void)state;
    struct ts_ownership ownership;
    struct ts_ownership_error_detail detail = {.count = 123};
    assert_int_equal(ts_ownership_init((struct ts_store_id){3}, 4, &ownership, &detail), TS_OWNERSHIP_OK);
    assert_int_equal(ownership.index.v, 3);
    assert_int_equal(ownership.count, 4);
    assert_int_equal(detail.count, 123);
}

static void one_store_at_index_zero_is_accepted_and_owns_everything(void **state) {
    (void)state;
    struct ts_ownership ownership = ownership_of(0, 1);
    assert_int_equal(ownership.index.v, 0);
    assert_int_equal(ownership.count, 1);
    for (size_t i = 0; i < LENGTH(ids); i++)
        assert_true(ts_ownership_owns(&ownership, ids[i]));
}

static void errors_have_short_texts(void **state) {
    (void)state;
    assert_string_equal(ts_ownership_error_text(TS_OWNERSHIP_OK), "ok");
    assert_string_equal(ts_ownership_error_text(TS_OWNERSHIP_ZERO_STORE_COUNT), "zero store count");
    assert_string_equal(ts_ownership_error_text(TS_OWNERSHIP_INDEX_OUT_OF_RANGE), "index out of range");
    assert_null(ts_ownership_error_text((enum ts_ownership_error)TS_OWNERSHIP_ERROR_COUNT));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_is_store_zero_of_one_and_owns_everything),
        cmocka_unit_test(owning_agrees_with_the_hash),
        cmocka_unit_test(every_id_has_exactly_one_owner),
        cmocka_unit_test(a_count_of_zero_is_rejected),
        cmocka_unit_test(an_index_at_or_above_the_count_is_rejected),
        cmocka_unit_test(an_index_below_the_count_is_accepted_and_leaves_the_detail_alone),
        cmocka_unit_test(one_store_at_index_zero_is_accepted_and_owns_everything),
        cmocka_unit_test(errors_have_short_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
