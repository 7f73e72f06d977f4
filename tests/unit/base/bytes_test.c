#include "base/bytes.h"

#include "support/cmocka.h"
#include "support/stops.h"

static const struct ts_bytes none = {NULL, 0};

static void a_literal_keeps_its_zeros_and_loses_its_terminator(void **state) {
    (void)state;
    static const struct ts_bytes fixed = TS_BYTES_INIT("a\0b");
    assert_int_equal(fixed.len, 3);
    assert_memory_equal(fixed.data, "a\0b", 3);
    assert_true(ts_bytes_equal(TS_BYTES("a\0b"), fixed));
    assert_int_equal(TS_BYTES("").len, 0);
}

static void a_cstring_ends_at_its_first_zero(void **state) {
    (void)state;
    assert_true(ts_bytes_equal(ts_bytes_of_cstring("ab\0c"), TS_BYTES("ab")));
    assert_int_equal(ts_bytes_of_cstring("").len, 0);
}

static void null_is_an_empty_run_everywhere(void **state) {
    (void)state;
    assert_int_equal(none.len, 0);
    assert_int_equal(ts_bytes_of(NULL, 0).len, 0);
    assert_true(ts_bytes_equal(none, none));
    assert_true(ts_bytes_equal(none, TS_BYTES("")));
    assert_false(ts_bytes_equal(none, TS_BYTES("a")));
    assert_int_equal(ts_bytes_compare(none, TS_BYTES("")), 0);
    assert_true(ts_bytes_compare(none, TS_BYTES("a")) < 0);
    assert_true(ts_bytes_compare(TS_BYTES("a"), none) > 0);
    assert_true(ts_bytes_starts_with(none, none));
    assert_true(ts_bytes_starts_with(TS_BYTES("a"), none));
    assert_false(ts_bytes_starts_with(none, TS_BYTES("a")));
    assert_int_equal(ts_bytes_skip(none, 0).len, 0);
    assert_int_equal(ts_bytes_slice(none, (struct ts_span){0}).len, 0);
}

static void runs_are_equal_by_length_and_content(void **state) {
    (void)state;
    assert_true(ts_bytes_equal(TS_BYTES("abc"), ts_bytes_of("abcd", 3)));
    assert_false(ts_bytes_equal(TS_BYTES("abc"), TS_BYTES("abd")));
    assert_false(ts_bytes_equal(TS_BYTES("abc"), TS_BYTES("ab")));
}

static void order_is_by_unsigned_bytes_then_length(void **state) {
    (void)state;
    static const struct ts_bytes sorted[] = {
        TS_BYTES_INIT(""),     TS_BYTES_INIT("\0"),   TS_BYTES_INIT("a"),
        TS_BYTES_INIT("a\0"),  TS_BYTES_INIT("aa"),   TS_BYTES_INIT("b"),
        TS_BYTES_INIT("\x7f"), TS_BYTES_INIT("\x80"), TS_BYTES_INIT("\xff"),
    };
    const size_t count = sizeof sorted / sizeof sorted[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            int order = ts_bytes_compare(sorted[i], sorted[j]);
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
}

static void a_run_starts_with_its_prefixes_only(void **state) {
    (void)state;
    assert_true(ts_bytes_starts_with(TS_BYTES("abc"), TS_BYTES("ab")));
    assert_true(ts_bytes_starts_with(TS_BYTES("abc"), TS_BYTES("abc")));
    assert_false(ts_bytes_starts_with(TS_BYTES("abc"), TS_BYTES("abcd")));
    assert_false(ts_bytes_starts_with(TS_BYTES("abc"), TS_BYTES("b")));
}

static void a_slice_is_a_part_without_a_copy(void **state) {
    (void)state;
    struct ts_bytes whole = TS_BYTES("abcdef");
    struct ts_bytes part = ts_bytes_slice(whole, (struct ts_span){.from = 2, .len = 3});
    assert_ptr_equal(part.data, whole.data + 2);
    assert_true(ts_bytes_equal(part, TS_BYTES("cde")));
    assert_true(ts_bytes_equal(ts_bytes_skip(whole, 4), TS_BYTES("ef")));
    assert_true(ts_bytes_equal(ts_bytes_first(whole, 2), TS_BYTES("ab")));
    assert_int_equal(ts_bytes_slice(whole, (struct ts_span){.from = 6, .len = 0}).len, 0);
}

static void a_slice_outside_stops(void **state) {
    (void)state;
    struct ts_bytes whole = TS_BYTES("abc");
    assert_stops("count <= bytes.len", ts_bytes_skip(whole, 4).len);
    assert_stops("count <= bytes.len", ts_bytes_first(whole, 4).len);
    struct ts_span wraps = {.from = 2, .len = SIZE_MAX};
    assert_stops("count <= bytes.len", ts_bytes_slice(whole, wraps).len);
    assert_stops("data != NULL || len == 0", ts_bytes_of(NULL, 1).len);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_literal_keeps_its_zeros_and_loses_its_terminator),
        cmocka_unit_test(a_cstring_ends_at_its_first_zero),
        cmocka_unit_test(null_is_an_empty_run_everywhere),
        cmocka_unit_test(runs_are_equal_by_length_and_content),
        cmocka_unit_test(order_is_by_unsigned_bytes_then_length),
        cmocka_unit_test(a_run_starts_with_its_prefixes_only),
        cmocka_unit_test(a_slice_is_a_part_without_a_copy),
        cmocka_unit_test(a_slice_outside_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
