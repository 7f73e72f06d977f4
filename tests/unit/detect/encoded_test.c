/* Encoded secrets are found, with their positions in the encoded text. */
#include "support.h"

static struct kit kit;

static int make_kit(void **state) {
    (void)state;
    kit_init(&kit,
             "rules:\n  - {id: tok, name: N, severity: low, gate: {literals: [tok_], lead: 5}, reach: 24, "
             "pattern: '\\b(?<secret>tok_[a-z0-9]{20})\\b'}\n"
             "  - {id: big, name: N, severity: low, gate: {literals: [big_], lead: 5}, reach: 5004, "
             "pattern: '\\b(?<secret>big_[a-z0-9]{3000,5000})\\b'}\n");
    return 0;
}

static int drop_kit(void **state) {
    (void)state;
    kit_release(&kit);
    return 0;
}

/* Expects exactly one match: the token at `secret`, with this depth and this outer encoding. */
static void finds(const void *text, size_t len, struct ts_span secret, uint8_t depth,
                  enum ts_encoding outer) {
    for (int ungated = 0; ungated < 2; ungated++) {
        struct list list = scan_raw(
            &kit, (struct ts_scanner_input){.bytes = ts_bytes_of(text, len), .ungated = ungated == 1});
        list_settle(&list, &kit.rules);
        assert_int_equal(list.count, 1);
        const struct ts_match *match = &list.matches[0];
        assert_true(ts_bytes_equal(match->secret, TS_BYTES("tok_7a2b9c4d1e6f3g8h5j0k")));
        assert_int_equal(match->depth, depth);
        if (depth > 0)
            assert_int_equal(match->encodings[0], outer);
        assert_int_equal(match->secret_span.from, secret.from);
        assert_int_equal(match->secret_span.len, secret.len);
        list_release(&list);
    }
}

static void finds_nothing(const void *text, size_t len) {
    struct list list = scan_text(&kit, text, len);
    assert_int_equal(list.count, 0);
    list_release(&list);
}

#define FINDS(text, from, len, depth, outer)                                                                 \
    finds(text, sizeof(text) - 1, (struct ts_span){from, len}, depth, TS_ENCODING_##outer)

static void plain_text_is_not_encoded(void **state) {
    (void)state;
    FINDS("x = tok_7a2b9c4d1e6f3g8h5j0k;", 4, 24, 0, PLAIN);
}

static void base64_is_decoded_at_every_alignment(void **state) {
    (void)state;
    /* The texts are "key=tok_...;" with 0, 1 and 2 additional bytes before "key". */
    FINDS("a: a2V5PXRva183YTJiOWM0ZDFlNmYzZzhoNWowazs=", 8, 33, 1, BASE64);
    FINDS("a: LmtleT10b2tfN2EyYjljNGQxZTZmM2c4aDVqMGs7", 9, 33, 1, BASE64);
    FINDS("a: Li5rZXk9dG9rXzdhMmI5YzRkMWU2ZjNnOGg1ajBrOw==", 11, 32, 1, BASE64);
    /* Text directly before the base64 shifts the groups of four. */
    FINDS("aQa2V5PXRva183YTJiOWM0ZDFlNmYzZzhoNWowazs=", 7, 33, 1, BASE64);
}

static void base64_across_lines_is_one_text(void **state) {
    (void)state;
    FINDS("a2V5PXRva183YTJiOWM0\r\n    ZDFlNmYzZzhoNWowazs=\n", 5, 39, 1, BASE64);
    finds_nothing("a2V5PXRva183YTJiOWM0 ZDFlNmYzZzhoNWowazs=\n", 42);
}

static void base64_of_binary_is_left_alone(void **state) {
    (void)state;
    /* The token is found between bytes that are not text, by its own boundaries. */
    FINDS("AAECAwQFBgf/IGtleT10b2tfN2EyYjljNGQxZTZmM2c4aDVqMGs7", 18, 33, 1, BASE64);
    finds_nothing("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIj", 48);
}

/* In the three texts, one, two and three bytes FF are before the token, and the same number of bytes that are
 * not text are after the token. */
static void a_token_between_bytes_that_are_no_text_is_whole(void **state) {
    (void)state;
    FINDS("/3Rva183YTJiOWM0ZDFlNmYzZzhoNWowawE=", 1, 33, 1, BASE64);
    FINDS("//90b2tfN2EyYjljNGQxZTZmM2c4aDVqMGsB/w==", 2, 33, 1, BASE64);
    FINDS("////dG9rXzdhMmI5YzRkMWU2ZjNnOGg1ajBrAf//", 4, 32, 1, BASE64);
}

static void percent_encoding_is_decoded(void **state) {
    (void)state;
    FINDS("u?q=%74ok_7a2b9c4d1e6f3g8h5j0k%3B", 4, 26, 1, PERCENT);
    FINDS("u?q%3Dtok%5F7a2b9c4d1e6f3g8h5j0k", 6, 26, 1, PERCENT);
}

/* If the escape before the token were not decoded, one of its letters would be directly before the token. */
static void an_escape_directly_before_a_token_is_decoded(void **state) {
    (void)state;
    FINDS("GET /cb?next=https%3A%2F%2Fx%3Ftoken%3Dtok_7a2b9c4d1e6f3g8h5j0k HTTP/1.1\n", 39, 24, 1, PERCENT);
    FINDS("GET%20tok_7a2b9c4d1e6f3g8h5j0k", 6, 24, 1, PERCENT);
    FINDS("%3Atok_7a2b9c4d1e6f3g8h5j0k", 3, 24, 1, PERCENT);
    /* An escape of a byte that is not text is not decoded. */
    finds_nothing("GET%A0tok_7a2b9c4d1e6f3g8h5j0k%20", 33);
}

static void a_secret_that_is_found_in_both_forms_is_plain(void **state) {
    (void)state;
    FINDS("u?q=tok_7a2b9c4d1e6f3g8h5j0k%3B", 4, 24, 0, PLAIN);
    FINDS("u?q%3D%20.tok_7a2b9c4d1e6f3g8h5j0k", 10, 24, 0, PLAIN);
}

static void utf16_of_both_byte_orders_is_decoded(void **state) {
    (void)state;
    static const char text[] = "key=tok_7a2b9c4d1e6f3g8h5j0k;";
    for (int big = 0; big < 2; big++) {
        for (int with_mark = 0; with_mark < 2; with_mark++) {
            uint8_t wide[2 + 2 * sizeof text];
            size_t len = 0;
            if (with_mark) {
                wide[len++] = big ? 0xfe : 0xff;
                wide[len++] = big ? 0xff : 0xfe;
            }
            for (size_t i = 0; i < sizeof text - 1; i++) {
                wide[len++] = big ? 0 : (uint8_t)text[i];
                wide[len++] = big ? (uint8_t)text[i] : 0;
            }
            finds(wide, len, (struct ts_span){(size_t)(2 * with_mark + 8 + big), 47}, 1, TS_ENCODING_UTF16);
        }
    }
}

/* The texts are "key tok_...;" in both byte orders, the token after a byte order mark, the token alone, and
 * the token at the end of a text. */
static void utf16_in_base64_is_decoded(void **state) {
    (void)state;
    FINDS("awBlAHkAIAB0AG8AawBfADcAYQAyAGIAOQBjADQAZAAxAGUANgBmADMAZwA4AGgANQBqADAAawA7AA==", 10, 64, 2,
          BASE64);
    FINDS("AGsAZQB5ACAAdABvAGsAXwA3AGEAMgBiADkAYwA0AGQAMQBlADYAZgAzAGcAOABoADUAagAwAGsAOw==", 12, 63, 2,
          BASE64);
    FINDS("//50AG8AawBfADcAYQAyAGIAOQBjADQAZAAxAGUANgBmADMAZwA4AGgANQBqADAAawA=", 2, 64, 2, BASE64);
    FINDS("AHQAbwBrAF8ANwBhADIAYgA5AGMANABkADEAZQA2AGYAMwBnADgAaAA1AGoAMABr", 1, 63, 2, BASE64);
    FINDS("AHgAIAB0AG8AawBfADcAYQAyAGIAOQBjADQAZAAxAGUANgBmADMAZwA4AGgANQBqADAAaw==", 6, 64, 2, BASE64);
}

static void utf16_in_percent_encoding_is_decoded(void **state) {
    (void)state;
    FINDS(
        "k=k%00e%00y%00%20%00t%00o%00k%00_%007%00a%002%00b%009%00c%004%00d%001%00e%006%00f%003%00g%008%00h%005%00j%000%00k%00",
        20, 93, 2, PERCENT);
}

static void encodings_are_followed_to_their_depth(void **state) {
    (void)state;
    /* Two layers of base64 are decoded, and three layers are not. */
    FINDS("YTJWNVBYUnZhMTgzWVRKaU9XTTBaREZsTm1Zelp6aG9OV293YXpzPQ==", 6, 45, 2, BASE64);
    finds_nothing("WVRKV05WQllVblpoTVRneldWUkthVTlYVFRCYVJFWnNUbTFaZWxwNmFHOU9WMjkzWVhwelBRPT0=", 76);
}

static size_t put(char *text, size_t at, const char *part, size_t len) {
    memcpy(text + at, part, len);
    return at + len;
}

static size_t put_break(char *text, size_t at, const char *indent) {
    at = put(text, at, "\r\n", 2);
    return put(text, at, indent, strlen(indent));
}

/* Writes the token of finds() in base64: 20 characters in one line, then lines that are too short to be
 * recognised as base64. Returns the position after them. */
static size_t put_short_behind(char *text, size_t at, const char *indent) {
    static const char encoded[] = "a2V5PXRva183YTJiOWM0ZDFlNmYzZzhoNWowazs7";
    at = put(text, at, encoded, 20);
    for (size_t i = 20; i < 40; i += 4)
        at = put(text, put_break(text, at, indent), encoded + i, 4);
    return at;
}

/* Like put_short_behind, but writes the short lines first. */
static size_t put_short_before(char *text, size_t at, const char *indent) {
    static const char encoded[] = "LmtleT10b2tfN2EyYjljNGQxZTZmM2c4aDVqMGs7";
    for (size_t i = 0; i < 16; i += 2)
        at = put_break(text, put(text, at, encoded + i, 2), indent);
    return put(text, at, encoded + 16, 24);
}

static void finds_one_changed(struct ts_bytes text, size_t at) {
    struct ts_span changed = {at, 1};
    struct ts_scanner_input scan = {.bytes = text, .changed = &changed, .changed_count = 1};
    for (int are_known = 0; are_known < 2; are_known++) {
        scan.landmarks.are_known = are_known == 1;
        struct list found = scan_raw(&kit, scan);
        list_settle(&found, &kit.rules);
        assert_int_equal(found.count, 1);
        list_release(&found);
    }
}

/* The margin around the changed byte may end inside a line break. */
static void short_lines_that_change_are_a_part_of_the_text_around_them(void **state) {
    (void)state;
    static const char indent[] = "                ";
    char text[800];
    memset(text, ';', sizeof text);
    size_t end = put_short_behind(text, 300, indent);
    for (size_t back = 1; back < 24; back++)
        finds_one_changed(ts_bytes_of(text, sizeof text), end - back);
    memset(text, ';', sizeof text);
    put_short_before(text, 300, indent);
    for (size_t behind = 20; behind < 45; behind++)
        finds_one_changed(ts_bytes_of(text, sizeof text), 300 + behind);
}

/* Texts are cut 16,512 bytes after the end of a block of 128 KiB. A secret on the cut is found with the next
 * block. */
static void short_lines_across_a_cut_are_found(void **state) {
    (void)state;
    enum { BLOCK = 131072, CUT = BLOCK + 16512, SIZE = CUT + 400 };
    static char text[SIZE];
    for (size_t before = 22; before < 55; before++) {
        memset(text, ';', SIZE);
        size_t at = put(text, BLOCK - 60, "QUJDQUJDQUJD1234QUJD1234", 24);
        while (at + 5 <= CUT - before)
            at = put(text, at, "\nQUJD", 5);
        at = put(text, at, "\n", 1);
        (void)put_short_behind(text, at, "");
        struct list found = scan_text(&kit, text, SIZE);
        assert_int_equal(found.count, 1);
        list_release(&found);
    }
}

/* A match is found if it and 80 bytes on both sides of it take at most DETECT_ENCODED_REACH bytes of the
 * input. */
static void an_encoded_match_may_take_8192_bytes(void **state) {
    (void)state;
    static uint8_t wide[2 * 6000];
    for (size_t chars = 4010; chars <= 4018; chars++) {
        size_t len = 0;
        for (size_t i = 0; i < 5000; i++) {
            size_t at = i - 100;
            uint8_t c = i < 100 || at >= chars ? (uint8_t)' '
                        : at < 4               ? (uint8_t) "big_"[at]
                                               : (uint8_t)("a7k2"[at % 4]);
            wide[len++] = c;
            wide[len++] = 0;
        }
        struct list found = scan_text(&kit, wide, len);
        /* The reach includes the bytes directly before and after the match. */
        bool fits = (chars + 2) * 2 - 1 + 160 <= 8192;
        assert_int_equal(found.count, fits);
        list_release(&found);
    }
}

static size_t found_around(struct ts_bytes text, struct ts_span changed) {
    struct ts_scanner_input scan = {
        .bytes = text, .changed = &changed, .changed_count = 1, .landmarks = {.are_known = true}};
    struct list found = scan_raw(&kit, scan);
    list_settle(&found, &kit.rules);
    size_t count = found.count;
    list_release(&found);
    return count;
}

/* An escape is far before or far after the changed byte, in the same text. */
static void a_change_far_from_the_escape_changes_the_text(void **state) {
    (void)state;
    static char text[8000];
    for (int is_behind = 0; is_behind < 2; is_behind++) {
        memset(text, '\n', sizeof text);
        size_t at = put(text, 700, "big_", 4);
        for (size_t i = 0; i < 3002; i++) /* decoding the escape leaves 3000, the pattern's minimum */
            text[at++] = "a7k2"[i % 4];
        size_t escape = is_behind ? at - 3 : 703;
        (void)put(text, escape, is_behind ? "%61" : "%5F", 3);
        if (!is_behind)
            (void)put(text, 706, "a", 1);
        struct ts_bytes all = ts_bytes_of(text, sizeof text);
        assert_int_equal(found_around(all, (struct ts_span){is_behind ? 700 : at - 1, 1}), 1);
    }
}

/* The match of the token also depends on the escape before the token. */
static void a_change_of_the_escape_before_a_token_is_looked_at(void **state) {
    (void)state;
    char text[400];
    memset(text, ';', sizeof text);
    (void)put(text, 100, "%3Dtok_7a2b9c4d1e6f3g8h5j0k", 27);
    struct ts_bytes all = ts_bytes_of(text, sizeof text);
    for (size_t at = 100; at < 127; at++)
        assert_int_equal(found_around(all, (struct ts_span){at, 1}), 1);
    assert_int_equal(found_around(all, (struct ts_span){300, 1}), 0);
}

/* No rule here has the gate `token`, so only encoded text needs a margin. */
static void a_change_at_the_edge_of_wide_text_changes_it(void **state) {
    (void)state;
    static const char secret[] = "key tok_7a2b9c4d1e6f3g8h5j0k";
    uint8_t text[400];
    memset(text, ';', sizeof text);
    size_t at = 100;
    for (size_t i = 0; i < sizeof secret - 1; i++) {
        text[at++] = (uint8_t)secret[i];
        text[at++] = 0;
    }
    struct ts_bytes all = ts_bytes_of(text, sizeof text);
    assert_int_equal(found_around(all, (struct ts_span){at, 1}), 1);
    assert_int_equal(found_around(all, (struct ts_span){99, 1}), 1);
}

static void put_wide(uint8_t *text, size_t at, const char *part, size_t len) {
    for (size_t i = 0; i < len; i++) {
        text[at + 2 * i] = (uint8_t)part[i];
        text[at + 2 * i + 1] = 0;
    }
}

/* Wide text is cut 16,512 bytes after the end of a block. A secret on the cut is found, even if hardly any
 * text follows. */
static void wide_text_that_ends_after_a_cut_is_found(void **state) {
    (void)state;
    enum { CUT = 131072 + 16512 };
    static uint8_t text[CUT + 64];
    static const char secret[] = " tok_7a2b9c4d1e6f3g8h5j0k";
    for (size_t size = CUT - 40; size <= sizeof text; size += 2) {
        for (size_t at = 0; at < size; at += 16)
            put_wide(text, at, "word 12 ", (size - at) / 2 < 8 ? (size - at) / 2 : 8);
        put_wide(text, size - 2 * (sizeof secret - 1), secret, sizeof secret - 1);
        struct list found = scan_text(&kit, text, size);
        assert_int_equal(found.count, 1);
        list_release(&found);
    }
}

/* A scan of two changes. Wide text around the first change is cut. The secret at the second change is in the
 * same text, after the cut. */
static void wide_text_of_a_change_continues_after_the_cut_of_another(void **state) {
    (void)state;
    static uint8_t text[60000];
    static char secret[3010];
    for (size_t i = 0; i < sizeof secret; i++)
        secret[i] = "a7k2"[i % 4];
    (void)put(secret, 0, " big_", 5);
    secret[sizeof secret - 1] = ' ';
    for (size_t at = 0; at < sizeof text; at += 16)
        put_wide(text, at, "word 12 ", 8);
    put_wide(text, 15000, secret, sizeof secret);
    struct ts_span changed[] = {{1000, 1}, {15002, 1}};
    struct ts_scanner_input scan = {.bytes = ts_bytes_of(text, sizeof text),
                                    .changed = changed,
                                    .changed_count = 2,
                                    .landmarks = {.are_known = true}};
    struct list found = scan_raw(&kit, scan);
    list_settle(&found, &kit.rules);
    assert_int_equal(found.count, 1);
    list_release(&found);
}

/* Before the token there is a group of four base64 characters, each on its own line. Where the decoded text
 * begins depends on whether this group is text. */
static void a_match_depends_on_the_group_before_its_text(void **state) {
    (void)state;
    char text[400];
    memset(text, ';', sizeof text);
    size_t at = 100;
    for (size_t i = 0; i < 4; i++) {
        at = put(text, at, &"/WJj"[i], 1);
        at = put(text, at, "\r\n                ", 18);
    }
    (void)put(text, at, "a2V5PXRva183YTJiOWM0ZDFlNmYzZzhoNWowazs7", 40);
    struct list found = scan_raw(&kit, (struct ts_scanner_input){.bytes = ts_bytes_of(text, sizeof text)});
    list_settle(&found, &kit.rules);
    assert_int_equal(found.count, 1);
    assert_true(found.matches[0].depends.from <= 100);
    list_release(&found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_is_not_encoded),
        cmocka_unit_test(base64_is_decoded_at_every_alignment),
        cmocka_unit_test(base64_across_lines_is_one_text),
        cmocka_unit_test(base64_of_binary_is_left_alone),
        cmocka_unit_test(a_token_between_bytes_that_are_no_text_is_whole),
        cmocka_unit_test(percent_encoding_is_decoded),
        cmocka_unit_test(an_escape_directly_before_a_token_is_decoded),
        cmocka_unit_test(a_secret_that_is_found_in_both_forms_is_plain),
        cmocka_unit_test(utf16_of_both_byte_orders_is_decoded),
        cmocka_unit_test(utf16_in_base64_is_decoded),
        cmocka_unit_test(utf16_in_percent_encoding_is_decoded),
        cmocka_unit_test(encodings_are_followed_to_their_depth),
        cmocka_unit_test(short_lines_that_change_are_a_part_of_the_text_around_them),
        cmocka_unit_test(short_lines_across_a_cut_are_found),
        cmocka_unit_test(an_encoded_match_may_take_8192_bytes),
        cmocka_unit_test(a_change_far_from_the_escape_changes_the_text),
        cmocka_unit_test(a_change_of_the_escape_before_a_token_is_looked_at),
        cmocka_unit_test(a_change_at_the_edge_of_wide_text_changes_it),
        cmocka_unit_test(wide_text_that_ends_after_a_cut_is_found),
        cmocka_unit_test(wide_text_of_a_change_continues_after_the_cut_of_another),
        cmocka_unit_test(a_match_depends_on_the_group_before_its_text),
    };
    return cmocka_run_group_tests(tests, make_kit, drop_kit);
}
