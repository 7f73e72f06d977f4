#include "coord/core/ids.h"

#include "support/cmocka.h"

static void stored_numbers_are_those_of_the_specification(void **state) {
    (void)state;
    assert_int_equal(TS_SHARD_ACTIVE, 0);
    assert_int_equal(TS_SHARD_DONE, 1);
    assert_int_equal(TS_SHARD_SPLIT, 2);
    assert_int_equal(TS_SHARD_PARKED, 3);
    assert_int_equal(TS_PARK_PERMISSION_DENIED, 0);
    assert_int_equal(TS_PARK_NOT_FOUND, 1);
    assert_int_equal(TS_PARK_POISONED, 2);
    assert_int_equal(TS_PARK_TOO_MANY_ERRORS, 3);
    assert_int_equal(TS_PARK_OTHER, 4);
    assert_int_equal(TS_RUN_INITIALIZING, 0);
    assert_int_equal(TS_RUN_ACTIVE, 1);
    assert_int_equal(TS_RUN_DONE, 2);
    assert_int_equal(TS_RUN_FAILED, 3);
    assert_int_equal(TS_RUN_CANCELLED, 4);
    assert_int_equal(TS_CURSOR_COMPLETED, 0);
    assert_int_equal(TS_CURSOR_DISPATCHED, 1);
    assert_int_equal(TS_SHARD_OP_CHECKPOINT, 0);
    assert_int_equal(TS_SHARD_OP_COMPLETE, 1);
    assert_int_equal(TS_SHARD_OP_PARK, 2);
    assert_int_equal(TS_SHARD_OP_SPLIT_REPLACE, 3);
    assert_int_equal(TS_SHARD_OP_SPLIT_RESIDUAL, 4);
    assert_int_equal(TS_SHARD_OP_UNPARK, 5);
    assert_int_equal(TS_SHARD_OP_RELEASE, 6);
    assert_int_equal(TS_BLAME_NOBODY, 0);
    assert_int_equal(TS_BLAME_SHARD, 1);
    assert_int_equal(TS_RUN_OP_REGISTER_SHARDS, 0);
    assert_int_equal(TS_RUN_OP_COMPLETE_RUN, 1);
    assert_int_equal(TS_RUN_OP_FAIL_RUN, 2);
    assert_int_equal(TS_RUN_OP_CANCEL_RUN, 3);
    assert_int_equal(TS_OP_RESULT_COMPLETED, 0);
    assert_int_equal(TS_OP_RESULT_ERROR, 1);
    assert_int_equal(TS_OP_RESULT_SUPERSEDED, 2);
    assert_int_equal(TS_DERIVED_CHILD, 0);
    assert_int_equal(TS_DERIVED_RESIDUAL, 1);
}

static void every_enum_comes_back_from_its_number_and_its_name(void **state) {
    (void)state;
#define ROUND_TRIP(type, TABLE, count)                                                                       \
    for (unsigned number = 0; number < 256; number++) {                                                      \
        enum type value;                                                                                     \
        memset(&value, 0x55, sizeof value);                                                                  \
        assert_int_equal(type##_from_number((uint8_t)number, &value), number < (count));                     \
        if (number >= (count))                                                                               \
            continue;                                                                                        \
        assert_int_equal(value, number);                                                                     \
    }
    TS_COORD_ENUMS(ROUND_TRIP)
#define NAME_ROUND_TRIP(type, TABLE, count)                                                                  \
    for (unsigned number = 0; number < (count); number++) {                                                  \
        enum type named;                                                                                     \
        assert_true(type##_from_name(ts_bytes_of_cstring(type##_name((enum type)number)), &named));          \
        assert_int_equal(named, number);                                                                     \
        assert_false(type##_from_name(TS_BYTES("nothing"), &named));                                         \
    }
    TS_COORD_PUBLIC_ENUMS(NAME_ROUND_TRIP)
}

static void names_of_1_to_32_bytes_without_zeros_are_ids(void **state) {
    (void)state;
    struct ts_tenant_id tenant;
    assert_true(ts_tenant_id_from_text(TS_BYTES("acme"), &tenant));
    assert_true(ts_bytes_equal(ts_tenant_id_text(&tenant), TS_BYTES("acme")));
    assert_true(ts_tenant_id_from_text(TS_BYTES("0123456789abcdef0123456789abcdef"), &tenant));
    assert_int_equal(ts_tenant_id_text(&tenant).len, 32);
    assert_false(ts_tenant_id_from_text(TS_BYTES(""), &tenant));
    assert_false(ts_tenant_id_from_text(TS_BYTES("0123456789abcdef0123456789abcdefX"), &tenant));
    assert_false(ts_tenant_id_from_text(TS_BYTES("a\0b"), &tenant));
    struct ts_worker_id a, b;
    assert_true(ts_worker_id_from_text(TS_BYTES("w"), &a));
    assert_true(ts_worker_id_from_text(TS_BYTES("w2"), &b));
    assert_false(ts_worker_id_equal(&a, &b));
    assert_false(ts_worker_id_from_text(TS_BYTES(""), &b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_numbers_are_those_of_the_specification),
        cmocka_unit_test(every_enum_comes_back_from_its_number_and_its_name),
        cmocka_unit_test(names_of_1_to_32_bytes_without_zeros_are_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
