#include "base/fixed_buf.h"

#include "support/cmocka.h"
#include "support/stops.h"

typedef TS_FIXED_BUF(4) buf4;
typedef TS_FIXED_BUF(12) buf12;

static void a_new_buffer_is_empty_and_zeroed(void **state) {
    (void)state;
    buf4 buf;
    memset(&buf, 0xaa, sizeof buf);
    ts_fixed_buf_init(&buf);
    assert_false(ts_fixed_buf_has_data(&buf));
    assert_int_equal(ts_fixed_buf_read(&buf).len, 0);
    assert_memory_equal(buf.bytes, "\0\0\0\0", 4);
}

static void reading_gives_what_was_last_written(void **state) {
    (void)state;
    buf4 buf = {0};
    ts_fixed_buf_write(&buf, TS_BYTES("abc"), "too long");
    assert_true(ts_bytes_equal(ts_fixed_buf_read(&buf), TS_BYTES("abc")));
    ts_fixed_buf_write(&buf, TS_BYTES("x"), "too long");
    assert_true(ts_bytes_equal(ts_fixed_buf_read(&buf), TS_BYTES("x")));
    assert_true(ts_fixed_buf_has_data(&buf));
}

static void an_empty_write_empties(void **state) {
    (void)state;
    buf4 buf = {0};
    ts_fixed_buf_write(&buf, TS_BYTES("abc"), "too long");
    struct ts_bytes none = {NULL, 0};
    ts_fixed_buf_write(&buf, none, "too long");
    assert_false(ts_fixed_buf_has_data(&buf));
}

static void the_full_capacity_can_be_used(void **state) {
    (void)state;
    buf4 buf = {0};
    ts_fixed_buf_write(&buf, TS_BYTES("abcd"), "too long");
    assert_true(ts_bytes_equal(ts_fixed_buf_read(&buf), TS_BYTES("abcd")));
}

static void one_byte_more_stops_with_the_callers_message_and_place(void **state) {
    (void)state;
    buf4 buf = {0};
    assert_stops("the key is larger than a key (tests/unit/base/fixed_buf_test.c:",
                 ts_fixed_buf_write(&buf, TS_BYTES("abcde"), "the key is larger than a key"));
    assert_stops("from a slice", ts_fixed_buf_from_slice(&buf, TS_BYTES("abcde"), "from a slice"));
}

static void from_slice_leaves_nothing_of_an_earlier_content(void **state) {
    (void)state;
    buf4 buf = {0};
    ts_fixed_buf_write(&buf, TS_BYTES("abcd"), "too long");
    ts_fixed_buf_from_slice(&buf, TS_BYTES("x"), "too long");
    assert_true(ts_bytes_equal(ts_fixed_buf_read(&buf), TS_BYTES("x")));
    assert_memory_equal(buf.bytes, "x\0\0\0", 4);
}

static void reset_forgets_the_length_and_keeps_the_bytes(void **state) {
    (void)state;
    buf4 buf = {0};
    ts_fixed_buf_write(&buf, TS_BYTES("abc"), "too long");
    ts_fixed_buf_reset(&buf);
    assert_false(ts_fixed_buf_has_data(&buf));
    assert_int_equal(ts_fixed_buf_read(&buf).len, 0);
    assert_memory_equal(buf.bytes, "abc", 3);
}

static void a_buffer_can_be_cut_to_a_part_of_itself(void **state) {
    (void)state;
    buf12 buf = {0};
    ts_fixed_buf_write(&buf, TS_BYTES("abcdefgh"), "too long");
    ts_fixed_buf_write(&buf, ts_bytes_skip(ts_fixed_buf_read(&buf), 2), "too long");
    assert_true(ts_bytes_equal(ts_fixed_buf_read(&buf), TS_BYTES("cdefgh")));
}

static void equality_is_of_what_was_written(void **state) {
    (void)state;
    buf4 a = {0};
    buf12 b = {0};
    assert_true(ts_fixed_buf_equal(&a, &b));
    ts_fixed_buf_write(&a, TS_BYTES("abcd"), "too long");
    ts_fixed_buf_write(&a, TS_BYTES("ab"), "too long");
    ts_fixed_buf_write(&b, TS_BYTES("ab"), "too long");
    assert_true(ts_fixed_buf_equal(&a, &b));
    ts_fixed_buf_write(&b, TS_BYTES("ac"), "too long");
    assert_false(ts_fixed_buf_equal(&a, &b));
}

static void a_copy_is_equal_and_independent(void **state) {
    (void)state;
    buf4 a = {0};
    buf12 b = {0};
    ts_fixed_buf_write(&a, TS_BYTES("abcd"), "too long");
    ts_fixed_buf_copy(&a, &b);
    assert_true(ts_fixed_buf_equal(&a, &b));
    ts_fixed_buf_write(&a, TS_BYTES("x"), "too long");
    assert_true(ts_bytes_equal(ts_fixed_buf_read(&b), TS_BYTES("abcd")));
    ts_fixed_buf_write(&b, TS_BYTES("abcde"), "too long");
    assert_stops("copy into a smaller buffer", ts_fixed_buf_copy(&b, &a));
}

static void debug_text_shows_at_most_8_bytes_and_the_length(void **state) {
    (void)state;
    char text[TS_FIXED_BUF_DEBUG_SIZE];
    buf12 buf = {0};
    assert_string_equal(ts_fixed_buf_debug(&buf, text), "FixedBuf(0 bytes)");
    ts_fixed_buf_write(&buf, TS_BYTES("\xff"), "too long");
    assert_string_equal(ts_fixed_buf_debug(&buf, text), "FixedBuf(1 byte: ff)");
    ts_fixed_buf_write(&buf, TS_BYTES("\0\1\2\3\4\5\6\x7f"), "too long");
    assert_string_equal(ts_fixed_buf_debug(&buf, text), "FixedBuf(8 bytes: 000102030405067f)");
    ts_fixed_buf_write(&buf, TS_BYTES("\0\1\2\3\4\5\6\x7f\x80"), "too long");
    assert_string_equal(ts_fixed_buf_debug(&buf, text), "FixedBuf(9 bytes: 000102030405067f...)");
}

static void the_longest_debug_text_fits(void **state) {
    (void)state;
    char text[TS_FIXED_BUF_DEBUG_SIZE];
    struct ts_bytes huge = {(const uint8_t *)"abcdefgh", SIZE_MAX};
    assert_string_equal(ts_fixed_buf__debug(huge, text),
                        "FixedBuf(18446744073709551615 bytes: 6162636465666768...)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_buffer_is_empty_and_zeroed),
        cmocka_unit_test(reading_gives_what_was_last_written),
        cmocka_unit_test(an_empty_write_empties),
        cmocka_unit_test(the_full_capacity_can_be_used),
        cmocka_unit_test(one_byte_more_stops_with_the_callers_message_and_place),
        cmocka_unit_test(from_slice_leaves_nothing_of_an_earlier_content),
        cmocka_unit_test(reset_forgets_the_length_and_keeps_the_bytes),
        cmocka_unit_test(a_buffer_can_be_cut_to_a_part_of_itself),
        cmocka_unit_test(equality_is_of_what_was_written),
        cmocka_unit_test(a_copy_is_equal_and_independent),
        cmocka_unit_test(debug_text_shows_at_most_8_bytes_and_the_length),
        cmocka_unit_test(the_longest_debug_text_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
