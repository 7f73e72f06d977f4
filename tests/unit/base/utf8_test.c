#include "base/utf8.h"

#include "support/cmocka.h"

static size_t decoded(struct ts_bytes bytes, uint32_t expected) {
    uint32_t point = 0xdead;
    size_t len = ts_utf8_decode(bytes, &point);
    assert_int_equal(point, len > 0 ? expected : 0xdead);
    return len;
}

static void characters_of_every_length_are_decoded(void **state) {
    (void)state;
    assert_int_equal(decoded(TS_BYTES("\0"), 0), 1);
    assert_int_equal(decoded(TS_BYTES("az"), 'a'), 1);
    assert_int_equal(decoded(TS_BYTES("\xc3\xbcx"), 0xfc), 2);
    assert_int_equal(decoded(TS_BYTES("\xe2\x82\xac"), 0x20ac), 3);
    assert_int_equal(decoded(TS_BYTES("\xf0\x9f\x90\xa6"), 0x1f426), 4);
    assert_int_equal(decoded(TS_BYTES("\xf4\x8f\xbf\xbf"), 0x10ffff), 4);
}

static void invalid_characters_have_no_length(void **state) {
    (void)state;
    assert_int_equal(decoded(TS_BYTES("\x80"), 0), 0);
    assert_int_equal(decoded(TS_BYTES("\xc3"), 0), 0);
    assert_int_equal(decoded(TS_BYTES("\xc3("), 0), 0);
    assert_int_equal(decoded(TS_BYTES("\xc0\x80"), 0), 0);
    assert_int_equal(decoded(TS_BYTES("\xe0\x80\xaf"), 0), 0);
    assert_int_equal(decoded(TS_BYTES("\xed\xa0\x80"), 0), 0);
    assert_int_equal(decoded(TS_BYTES("\xf4\x90\x80\x80"), 0), 0);
    assert_int_equal(decoded(TS_BYTES("\xff"), 0), 0);
}

static void valid_is_all_of_it(void **state) {
    (void)state;
    assert_true(ts_utf8_is_valid(TS_BYTES("")));
    assert_true(ts_utf8_is_valid(TS_BYTES("gr\xc3\xbc\xc3\x9f\n")));
    assert_false(ts_utf8_is_valid(TS_BYTES("gr\xc3\xbc\xc3")));
    assert_false(ts_utf8_is_valid(TS_BYTES("\xff"
                                           "abc")));
}

static void controls_and_characters_that_hide_text_are_not_shown(void **state) {
    (void)state;
    static const uint32_t hidden[] = {0,      0x1b,   0x1f,   0x7f,   0x9b,   0xad,   0x61c,   0x200b,
                                      0x200f, 0x2028, 0x202e, 0x2066, 0xfeff, 0xfffb, 0xe0001, 0xe007f};
    static const uint32_t shown[] = {' ',    '~',    0xa0,   0x200a,  0x2010, 0x2027,
                                     0x202f, 0x2070, 0xfffd, 0x1f426, 0xe0080};
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        assert_false(ts_utf8_is_shown(hidden[i]));
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        assert_true(ts_utf8_is_shown(shown[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_of_every_length_are_decoded),
        cmocka_unit_test(invalid_characters_have_no_length),
        cmocka_unit_test(valid_is_all_of_it),
        cmocka_unit_test(controls_and_characters_that_hide_text_are_not_shown),
    };
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
