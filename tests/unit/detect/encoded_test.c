/* Encoded secrets: found, with the places that they have on the outside. */
#include "support.h"

static struct kit kit;

static int make_kit(void **state) {
    (void)state;
    kit_init(&kit,
             "rules:\n  - {id: tok, name: N, severity: low, gate: {literals: [tok_], lead: 5}, reach: 24, "
             "pattern: '\\b(?<secret>tok_[a-z0-9]{20})\\b'}\n");
    return 0;
}

static int drop_kit(void **state) {
    (void)state;
    kit_release(&kit);
    return 0;
}

/* Exactly one match, of the secret, in this part of the text, through these encodings. */
static void finds(const void *text, size_t len, struct ts_span secret, uint8_t depth,
                  enum ts_encoding outer) {
    for (int ungated = 0; ungated < 2; ungated++) {
        struct list list =
            scan_raw(&kit, (struct ts_scan){.bytes = ts_bytes_of(text, len), .ungated = ungated == 1});
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
    /* "key=tok_...;" with 0, 1 and 2 bytes more in front */
    FINDS("a: a2V5PXRva183YTJiOWM0ZDFlNmYzZzhoNWowazs=", 8, 33, 1, BASE64);
    FINDS("a: LmtleT10b2tfN2EyYjljNGQxZTZmM2c4aDVqMGs7", 9, 33, 1, BASE64);
    FINDS("a: Li5rZXk9dG9rXzdhMmI5YzRkMWU2ZjNnOGg1ajBrOw==", 11, 32, 1, BASE64);
    /* What stands before it without a gap shifts the groups of four. */
    FINDS("aQa2V5PXRva183YTJiOWM0ZDFlNmYzZzhoNWowazs=", 7, 33, 1, BASE64);
}

static void base64_across_lines_is_one_text(void **state) {
    (void)state;
    FINDS("a2V5PXRva183YTJiOWM0\r\n    ZDFlNmYzZzhoNWowazs=\n", 5, 39, 1, BASE64);
    finds_nothing("a2V5PXRva183YTJiOWM0 ZDFlNmYzZzhoNWowazs=\n", 42);
}

static void base64_of_binary_is_left_alone(void **state) {
    (void)state;
    /* The token between bytes that are no text is found by its own boundaries all the same. */
    FINDS("AAECAwQFBgf/IGtleT10b2tfN2EyYjljNGQxZTZmM2c4aDVqMGs7", 18, 33, 1, BASE64);
    finds_nothing("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIj", 48);
}

static void percent_encoding_is_decoded(void **state) {
    (void)state;
    FINDS("u?q=%74ok_7a2b9c4d1e6f3g8h5j0k%3B", 4, 26, 1, PERCENT);
    FINDS("u?q%3Dtok%5F7a2b9c4d1e6f3g8h5j0k", 6, 26, 1, PERCENT);
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

static void encodings_are_followed_to_their_depth(void **state) {
    (void)state;
    /* base64 of base64; then once more */
    FINDS("YTJWNVBYUnZhMTgzWVRKaU9XTTBaREZsTm1Zelp6aG9OV293YXpzPQ==", 6, 45, 2, BASE64);
    finds_nothing("WVRKV05WQllVblpoTVRneldWUkthVTlYVFRCYVJFWnNUbTFaZWxwNmFHOU9WMjkzWVhwelBRPT0=", 76);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_is_not_encoded),
        cmocka_unit_test(base64_is_decoded_at_every_alignment),
        cmocka_unit_test(base64_across_lines_is_one_text),
        cmocka_unit_test(base64_of_binary_is_left_alone),
        cmocka_unit_test(percent_encoding_is_decoded),
        cmocka_unit_test(utf16_of_both_byte_orders_is_decoded),
        cmocka_unit_test(encodings_are_followed_to_their_depth),
    };
    return cmocka_run_group_tests(tests, make_kit, drop_kit);
}
