#include "base/redact.h"

#include "support/cmocka.h"
#include "support/stops.h"

static char text[200];

static const char *escape(struct ts_bytes bytes) {
    return ts_text_escape(bytes, text, sizeof text);
}

static void a_value_is_shown_by_its_length(void **state) {
    (void)state;
    assert_string_equal(ts_redact_len(12, text, sizeof text), "[12 bytes]");
    assert_string_equal(ts_redact_len(0, text, sizeof text), "[0 bytes]");
    assert_string_equal(TS_REDACTED, "<redacted>");
}

static void the_longest_redacted_text_fits(void **state) {
    (void)state;
    char small[TS_REDACT_TEXT_SIZE];
    assert_string_equal(ts_redact_len(SIZE_MAX, small, sizeof small), "[18446744073709551615 bytes]");
}

static void a_redacted_text_never_leaves_a_small_buffer(void **state) {
    (void)state;
    char small[6];
    memset(small, 'z', sizeof small);
    assert_string_equal(ts_redact_len(12, small, 5), "[12 ");
    assert_int_equal(small[5], 'z');
    assert_stops("size > 0", ts_redact_len(12, small, 0));
    assert_stops("size > 0", ts_text_escape(TS_BYTES("a"), small, 0));
}

static void printable_text_stays(void **state) {
    (void)state;
    assert_string_equal(escape(TS_BYTES("")), "");
    struct ts_bytes null = {NULL, 0};
    assert_string_equal(escape(null), "");
    assert_string_equal(escape(TS_BYTES(" !~'\"<>&%s")), " !~'\"<>&%s");
    assert_string_equal(escape(TS_BYTES("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xa6")),
                        "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xa6");
}

static const char *quote(const char *value) {
    return ts_text_quote(ts_bytes_of_cstring(value), text, sizeof text);
}

static void a_quoted_value_has_no_password(void **state) {
    (void)state;
    assert_string_equal(quote(""), "");
    assert_string_equal(quote("plain: value"), "plain: value");
    assert_string_equal(quote("postgresql://u:geheim@h/d"), "postgresql://...");
    assert_string_equal(quote("a=x://"), "a=x://");
    assert_string_equal(quote("host=h password=geheim"), "host=h ...");
    assert_string_equal(quote("password://geheim"), "...");
    char small[8];
    assert_string_equal(ts_text_quote(TS_BYTES("abcdefgh://i"), small, sizeof small), "......");
    assert_stops("size >=", ts_text_quote(TS_BYTES("a"), small, 7));
}

static void control_characters_are_spelled_out(void **state) {
    (void)state;
    assert_string_equal(escape(TS_BYTES("a\nb\r\t\0c\x7f")), "a\\x0ab\\x0d\\x09\\x00c\\x7f");
    assert_string_equal(escape(TS_BYTES("\x1b[31mred")), "\\x1b[31mred");
    /* C1 controls: U+009B alone starts an escape sequence. */
    assert_string_equal(escape(TS_BYTES("\xc2\x9b"
                                        "2J")),
                        "\\xc2\\x9b2J");
    assert_string_equal(escape(TS_BYTES("\xc2\x80\xc2\xa0")), "\\xc2\\x80\xc2\xa0");
}

static void characters_that_reorder_or_hide_text_are_spelled_out(void **state) {
    (void)state;
    assert_string_equal(escape(TS_BYTES("\xe2\x80\xae")), "\\xe2\\x80\\xae"); /* right-to-left override */
    assert_string_equal(escape(TS_BYTES("\xe2\x81\xa6")), "\\xe2\\x81\\xa6"); /* left-to-right isolate */
    assert_string_equal(escape(TS_BYTES("\xe2\x80\xa8")), "\\xe2\\x80\\xa8"); /* line separator */
    assert_string_equal(escape(TS_BYTES("\xe2\x80\x8b")), "\\xe2\\x80\\x8b"); /* zero-width space */
    assert_string_equal(escape(TS_BYTES("\xef\xbb\xbf")), "\\xef\\xbb\\xbf"); /* byte order mark */
    assert_string_equal(escape(TS_BYTES("\xf3\xa0\x81\x81")), "\\xf3\\xa0\\x81\\x81"); /* tag character */
}

/* Returns whether escaping leaves the character unchanged. */
static bool stays(uint32_t point) {
    uint8_t utf8[4];
    size_t len = 0;
    if (point < 0x80) {
        utf8[len++] = (uint8_t)point;
    } else if (point < 0x800) {
        utf8[len++] = (uint8_t)(0xc0 | point >> 6);
    } else if (point < 0x10000) {
        utf8[len++] = (uint8_t)(0xe0 | point >> 12);
        utf8[len++] = (uint8_t)(0x80 | (point >> 6 & 0x3f));
    } else {
        utf8[len++] = (uint8_t)(0xf0 | point >> 18);
        utf8[len++] = (uint8_t)(0x80 | (point >> 12 & 0x3f));
        utf8[len++] = (uint8_t)(0x80 | (point >> 6 & 0x3f));
    }
    if (point >= 0x80)
        utf8[len++] = (uint8_t)(0x80 | (point & 0x3f));
    char escaped[40];
    ts_text_escape(ts_bytes_of(utf8, len), escaped, sizeof escaped);
    return strlen(escaped) == len && memcmp(escaped, utf8, len) == 0;
}

static void ranges_of_hidden_characters_end_where_they_should(void **state) {
    (void)state;
    static const struct {
        uint32_t first;
        uint32_t last;
    } hidden[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x200b, 0x200f},
                  {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        assert_true(hidden[i].first == 0 || stays(hidden[i].first - 1));
        assert_false(stays(hidden[i].first));
        assert_false(stays(hidden[i].last));
        assert_true(stays(hidden[i].last + 1));
    }
}

static void a_backslash_is_doubled_so_that_escapes_cannot_be_faked(void **state) {
    (void)state;
    assert_string_equal(escape(TS_BYTES("\\x41")), "\\\\x41");
}

static void invalid_utf8_is_spelled_out_byte_by_byte(void **state) {
    (void)state;
    assert_string_equal(escape(TS_BYTES("\xff\xfe")), "\\xff\\xfe");
    assert_string_equal(escape(TS_BYTES("\x80z")), "\\x80z");                 /* a continuation byte alone */
    assert_string_equal(escape(TS_BYTES("\xc3z")), "\\xc3z");                 /* no continuation byte */
    assert_string_equal(escape(TS_BYTES("\xc3")), "\\xc3");                   /* cut at the end */
    assert_string_equal(escape(TS_BYTES("\xe2\x82")), "\\xe2\\x82");          /* cut at the end */
    assert_string_equal(escape(TS_BYTES("\xc0\xaf")), "\\xc0\\xaf");          /* overlong */
    assert_string_equal(escape(TS_BYTES("\xe0\x80\xaf")), "\\xe0\\x80\\xaf"); /* overlong */
    assert_string_equal(escape(TS_BYTES("\xf0\x80\x80\xaf")), "\\xf0\\x80\\x80\\xaf"); /* overlong */
    assert_string_equal(escape(TS_BYTES("\xed\xa0\x80")), "\\xed\\xa0\\x80");          /* surrogate */
    assert_string_equal(escape(TS_BYTES("\xf4\x90\x80\x80")), "\\xf4\\x90\\x80\\x80"); /* above U+10FFFF */
    assert_string_equal(escape(TS_BYTES("\xf8\x88\x80\x80\x80")), "\\xf8\\x88\\x80\\x80\\x80");
}

static void a_text_that_fits_exactly_is_not_truncated(void **state) {
    (void)state;
    assert_string_equal(ts_text_escape(TS_BYTES("abcdefgh"), text, 9), "abcdefgh");
    assert_string_equal(ts_text_escape(TS_BYTES("ab\n"), text, 7), "ab\\x0a");
}

static void a_truncated_text_ends_with_dots(void **state) {
    (void)state;
    assert_string_equal(ts_text_escape(TS_BYTES("abcdefghi"), text, 9), "...");
    assert_string_equal(ts_text_escape(TS_BYTES("ab \ndef"), text, 9), "ab ...");
    /* A character of three bytes is kept or dropped as a whole. */
    assert_string_equal(ts_text_escape(TS_BYTES("a\xe2\x82\xac/-----"), text, 9), "a\xe2\x82\xac/...");
    assert_string_equal(ts_text_escape(TS_BYTES("a/c/e/g/-----"), text, 9), "a/c/...");
}

static void tiny_buffers_hold_as_many_dots_as_fit(void **state) {
    (void)state;
    static const char *const expected[] = {"", ".", "..", "..."};
    for (size_t room = 0; room < 4; room++) {
        memset(text, 'z', sizeof text);
        assert_string_equal(ts_text_escape(TS_BYTES("abcdef"), text, room + 1), expected[room]);
        assert_int_equal(text[room + 1], 'z');
    }
    assert_string_equal(ts_text_escape(TS_BYTES("ab"), text, 3), "ab");
}

/* For every pair of bytes, the output has no control character and fits its buffer of 1 to 10 bytes. */
static void every_pair_of_bytes_comes_out_printable(void **state) {
    (void)state;
    for (unsigned pair = 0; pair < 65536; pair++) {
        const uint8_t bytes[2] = {(uint8_t)(pair >> 8), (uint8_t)pair};
        for (size_t size = 1; size <= 10; size++) {
            const char *out = ts_text_escape(ts_bytes_of(bytes, 2), text, size);
            size_t len = strlen(out);
            if (len >= size)
                fail_msg("too long for %zu: %s", size, out);
            for (size_t i = 0; i < len; i++) {
                if ((unsigned char)out[i] < 0x20 || out[i] == 0x7f)
                    fail_msg("control byte from %04x", pair);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_shown_by_its_length),
        cmocka_unit_test(the_longest_redacted_text_fits),
        cmocka_unit_test(a_redacted_text_never_leaves_a_small_buffer),
        cmocka_unit_test(printable_text_stays),
        cmocka_unit_test(a_quoted_value_has_no_password),
        cmocka_unit_test(control_characters_are_spelled_out),
        cmocka_unit_test(characters_that_reorder_or_hide_text_are_spelled_out),
        cmocka_unit_test(ranges_of_hidden_characters_end_where_they_should),
        cmocka_unit_test(a_backslash_is_doubled_so_that_escapes_cannot_be_faked),
        cmocka_unit_test(invalid_utf8_is_spelled_out_byte_by_byte),
        cmocka_unit_test(a_text_that_fits_exactly_is_not_truncated),
        cmocka_unit_test(a_truncated_text_ends_with_dots),
        cmocka_unit_test(tiny_buffers_hold_as_many_dots_as_fit),
        cmocka_unit_test(every_pair_of_bytes_comes_out_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
