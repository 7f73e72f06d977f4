#include "base/endian.h"

#include "support/cmocka.h"

static const uint8_t bytes[] = {0xff, 0x81, 0x02, 0x03, 0x84, 0x05, 0x06, 0x07, 0x88};

static void little_endian_has_the_lowest_byte_first_at_any_alignment(void **state) {
    (void)state;
    assert_int_equal(ts_le16_load(bytes + 1), 0x0281);
    assert_int_equal(ts_le32_load(bytes + 1), 0x84030281);
    assert_true(ts_le64_load(bytes + 1) == UINT64_C(0x8807060584030281));
}

static void big_endian_has_the_highest_byte_first_at_any_alignment(void **state) {
    (void)state;
    assert_int_equal(ts_be16_load(bytes + 1), 0x8102);
    assert_int_equal(ts_be32_load(bytes + 1), 0x81020384);
    assert_true(ts_be64_load(bytes + 1) == UINT64_C(0x8102038405060788));
}

static void storing_writes_its_bytes_and_no_others(void **state) {
    (void)state;
    uint8_t to[10];
    memset(to, 0xee, sizeof to);
    ts_le16_store(0x0281, to + 1);
    assert_memory_equal(to, "\xee\x81\x02\xee", 4);
    ts_be16_store(0x0281, to + 1);
    assert_memory_equal(to, "\xee\x02\x81\xee", 4);
    ts_le32_store(UINT32_C(0x84030281), to + 1);
    assert_memory_equal(to, "\xee\x81\x02\x03\x84\xee", 6);
    ts_be32_store(UINT32_C(0x84030281), to + 1);
    assert_memory_equal(to, "\xee\x84\x03\x02\x81\xee", 6);
    ts_le64_store(UINT64_C(0x8807060584030281), to + 1);
    assert_memory_equal(to, "\xee\x81\x02\x03\x84\x05\x06\x07\x88\xee", 10);
    ts_be64_store(UINT64_C(0x8807060584030281), to + 1);
    assert_memory_equal(to, "\xee\x88\x07\x06\x05\x84\x03\x02\x81\xee", 10);
}

static void the_largest_numbers_survive(void **state) {
    (void)state;
    uint8_t to[8];
    ts_le64_store(UINT64_MAX, to);
    assert_true(ts_le64_load(to) == UINT64_MAX);
    assert_true(ts_be64_load(to) == UINT64_MAX);
    assert_int_equal(ts_be32_load(to), UINT32_MAX);
    assert_int_equal(ts_le16_load(to), UINT16_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(little_endian_has_the_lowest_byte_first_at_any_alignment),
        cmocka_unit_test(big_endian_has_the_highest_byte_first_at_any_alignment),
        cmocka_unit_test(storing_writes_its_bytes_and_no_others),
        cmocka_unit_test(the_largest_numbers_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
