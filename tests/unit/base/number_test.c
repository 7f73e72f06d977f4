#include "base/number.h"

#include "support/cmocka.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

static void expect_u64(const char *text, uint64_t value) {
    uint64_t got = ~value;
    assert_int_equal(ts_u64_parse(ts_bytes_of_cstring(text), &got), TS_NUMBER_OK);
    assert_true(got == value);
}

static void expect_no_u64(struct ts_bytes text, enum ts_number_error error) {
    uint64_t got = 7;
    assert_int_equal(ts_u64_parse(text, &got), error);
    assert_int_equal(got, 7);
}

static void expect_id(const char *text, uint64_t bits) {
    uint64_t got = ~bits;
    assert_int_equal(ts_id_parse(ts_bytes_of_cstring(text), &got), TS_NUMBER_OK);
    assert_true(got == bits);
}

static void expect_no_id(struct ts_bytes text, enum ts_number_error error) {
    uint64_t got = 7;
    assert_int_equal(ts_id_parse(text, &got), error);
    assert_int_equal(got, 7);
    int64_t i64 = 7;
    assert_int_equal(ts_i64_parse(text, &i64), error);
    assert_int_equal(i64, 7);
}

static void digits_are_a_number(void **state) {
    (void)state;
    expect_u64("0", 0);
    expect_u64("7", 7);
    expect_u64("1234567", 1234567);
    expect_u64("12345678", 12345678);
    expect_u64("123456789", 123456789);
    expect_u64("1234567890123456", UINT64_C(1234567890123456));
    expect_u64("9999999999999999999", UINT64_C(9999999999999999999));
    expect_u64("18446744073709551615", UINT64_MAX);
}

static void leading_zeros_change_nothing(void **state) {
    (void)state;
    expect_u64("00", 0);
    expect_u64("0000000000000000000000000000000000000000", 0);
    expect_u64("000000000000000000000000000018446744073709551615", UINT64_MAX);
    expect_id("-0000000000000000000000000000000000009", (uint64_t)-9);
    expect_id("-0", 0);
}

static void an_empty_text_is_empty(void **state) {
    (void)state;
    struct ts_bytes null = {NULL, 0};
    expect_no_u64(null, TS_NUMBER_EMPTY);
    expect_no_u64(TS_BYTES(""), TS_NUMBER_EMPTY);
    expect_no_id(null, TS_NUMBER_EMPTY);
    uint32_t got = 7;
    assert_int_equal(ts_u32_parse(null, &got), TS_NUMBER_EMPTY);
    assert_int_equal(got, 7);
}

static void anything_but_digits_is_not_a_number(void **state) {
    (void)state;
    static const char *const texts[] = {
        "+1", " 1", "1 ", "1\n", "0x10", "1e3", "1.0", "1_000", "1,000", "abc", "--1", "-", "-+1", "- 1",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        expect_no_u64(ts_bytes_of_cstring(texts[i]), TS_NUMBER_NOT_A_NUMBER);
        expect_no_id(ts_bytes_of_cstring(texts[i]), TS_NUMBER_NOT_A_NUMBER);
    }
    expect_no_u64(TS_BYTES("-1"), TS_NUMBER_NOT_A_NUMBER);
    expect_no_u64(TS_BYTES("-0"), TS_NUMBER_NOT_A_NUMBER);
    expect_no_u64(TS_BYTES("1\0"), TS_NUMBER_NOT_A_NUMBER);
}

/* Digits are read eight at a time: a byte that is not a digit must be detected at every position. */
static void every_wrong_byte_at_every_place_is_seen(void **state) {
    (void)state;
    for (size_t len = 1; len <= 22; len++) {
        for (size_t place = 0; place < len; place++) {
            for (int byte = 0; byte < 256; byte++) {
                if (byte >= '0' && byte <= '9')
                    continue;
                uint8_t text[22];
                memset(text, '1', sizeof text);
                text[place] = (uint8_t)byte;
                expect_no_u64(ts_bytes_of(text, len), TS_NUMBER_NOT_A_NUMBER);
            }
        }
    }
}

static void a_number_that_does_not_fit_is_out_of_range(void **state) {
    (void)state;
    expect_no_u64(TS_BYTES("18446744073709551616"), TS_NUMBER_OUT_OF_RANGE);
    expect_no_u64(TS_BYTES("18446744073709551620"), TS_NUMBER_OUT_OF_RANGE);
    expect_no_u64(TS_BYTES("99999999999999999999"), TS_NUMBER_OUT_OF_RANGE);
    expect_no_u64(TS_BYTES("100000000000000000000"), TS_NUMBER_OUT_OF_RANGE);
    expect_no_u64(TS_BYTES("0100000000000000000000000000000000000"), TS_NUMBER_OUT_OF_RANGE);
}

static void a_long_text_that_is_no_number_is_not_merely_out_of_range(void **state) {
    (void)state;
    expect_no_u64(TS_BYTES("9999999999999999999999999999x"), TS_NUMBER_NOT_A_NUMBER);
    expect_no_u64(TS_BYTES("9999999999999999999x"), TS_NUMBER_NOT_A_NUMBER);
}

static void u32_has_its_own_range(void **state) {
    (void)state;
    uint32_t got = 7;
    assert_int_equal(ts_u32_parse(TS_BYTES("4294967296"), &got), TS_NUMBER_OUT_OF_RANGE);
    assert_int_equal(ts_u32_parse(TS_BYTES("18446744073709551616"), &got), TS_NUMBER_OUT_OF_RANGE);
    assert_int_equal(ts_u32_parse(TS_BYTES("-1"), &got), TS_NUMBER_NOT_A_NUMBER);
    assert_int_equal(got, 7);
    assert_int_equal(ts_u32_parse(TS_BYTES("4294967295"), &got), TS_NUMBER_OK);
    assert_int_equal(got, UINT32_MAX);
}

static void i64_has_its_own_range(void **state) {
    (void)state;
    int64_t got = 7;
    assert_int_equal(ts_i64_parse(TS_BYTES("9223372036854775808"), &got), TS_NUMBER_OUT_OF_RANGE);
    assert_int_equal(ts_i64_parse(TS_BYTES("-9223372036854775809"), &got), TS_NUMBER_OUT_OF_RANGE);
    assert_int_equal(ts_i64_parse(TS_BYTES("-99999999999999999999"), &got), TS_NUMBER_OUT_OF_RANGE);
    assert_int_equal(got, 7);
    assert_int_equal(ts_i64_parse(TS_BYTES("9223372036854775807"), &got), TS_NUMBER_OK);
    assert_true(got == INT64_MAX);
    assert_int_equal(ts_i64_parse(TS_BYTES("-9223372036854775808"), &got), TS_NUMBER_OK);
    assert_true(got == INT64_MIN);
    assert_int_equal(ts_i64_parse(TS_BYTES("-1"), &got), TS_NUMBER_OK);
    assert_true(got == -1);
}

static void an_id_may_be_written_signed_or_unsigned(void **state) {
    (void)state;
    expect_id("0", 0);
    expect_id("-1", UINT64_MAX);
    expect_id("18446744073709551615", UINT64_MAX);
    expect_id("-9223372036854775808", UINT64_C(1) << 63);
    expect_id("9223372036854775808", UINT64_C(1) << 63);
    expect_id("320816801799737344", UINT64_C(320816801799737344));
    uint64_t got = 7;
    assert_int_equal(ts_id_parse(TS_BYTES("-9223372036854775809"), &got), TS_NUMBER_OUT_OF_RANGE);
    assert_int_equal(ts_id_parse(TS_BYTES("18446744073709551616"), &got), TS_NUMBER_OUT_OF_RANGE);
    assert_int_equal(got, 7);
}

static void expect_formatted_u64(uint64_t value) {
    char expected[32], got[TS_NUMBER_TEXT_SIZE];
    snprintf(expected, sizeof expected, "%" PRIu64, value);
    assert_int_equal(ts_u64_format(value, got), strlen(expected));
    assert_string_equal(got, expected);
}

static void expect_formatted_i64(int64_t value) {
    char expected[32], got[TS_NUMBER_TEXT_SIZE];
    snprintf(expected, sizeof expected, "%" PRId64, value);
    assert_int_equal(ts_i64_format(value, got), strlen(expected));
    assert_string_equal(got, expected);
}

static void formatting_agrees_with_printf_around_every_power_of_ten(void **state) {
    (void)state;
    uint64_t power = 1;
    for (int digits = 0; digits < 20; digits++, power *= 10) {
        for (uint64_t value = power - 1; value <= power + 1; value++) {
            expect_formatted_u64(value);
            expect_formatted_i64((int64_t)value);
            expect_formatted_i64((int64_t)(0 - value));
        }
        expect_formatted_u64(power * 7 / 3);
    }
    expect_formatted_u64(UINT64_MAX);
    expect_formatted_i64(INT64_MAX);
    expect_formatted_i64(INT64_MIN);
    for (uint64_t value = 0; value < 12000; value++)
        expect_formatted_u64(value);
}

static const char *size_text(uint64_t bytes) {
    static char text[TS_SIZE_TEXT_SIZE];
    size_t len = ts_size_format(bytes, text);
    assert_int_equal(len, strlen(text));
    return text;
}

static void sizes_are_for_people(void **state) {
    (void)state;
    assert_string_equal(size_text(0), "0 bytes");
    assert_string_equal(size_text(1), "1 byte");
    assert_string_equal(size_text(999), "999 bytes");
    assert_string_equal(size_text(1000), "1.0 kB");
    assert_string_equal(size_text(1049), "1.0 kB");
    assert_string_equal(size_text(1050), "1.1 kB");
    assert_string_equal(size_text(999949), "999.9 kB");
    assert_string_equal(size_text(999950), "1.0 MB");
    assert_string_equal(size_text(91400321), "91.4 MB");
    assert_string_equal(size_text(UINT64_MAX), "18.4 EB");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_are_a_number),
        cmocka_unit_test(leading_zeros_change_nothing),
        cmocka_unit_test(an_empty_text_is_empty),
        cmocka_unit_test(anything_but_digits_is_not_a_number),
        cmocka_unit_test(every_wrong_byte_at_every_place_is_seen),
        cmocka_unit_test(a_number_that_does_not_fit_is_out_of_range),
        cmocka_unit_test(a_long_text_that_is_no_number_is_not_merely_out_of_range),
        cmocka_unit_test(u32_has_its_own_range),
        cmocka_unit_test(i64_has_its_own_range),
        cmocka_unit_test(an_id_may_be_written_signed_or_unsigned),
        cmocka_unit_test(formatting_agrees_with_printf_around_every_power_of_ten),
        cmocka_unit_test(sizes_are_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
