#include "masks.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#define SECRET "p4ss-word/of+mine"

static const struct ts_siphash_key key = {{1, 2}};
static struct scan_masks masks;
static struct ts_arena arena;

static int begin(void **state) {
    (void)state;
    static const char *const secrets[] = {SECRET,
                                          "tok_12",
                                          "a \"quoted\" \\ one",
                                          "w\xc3\xb6rter!",
                                          "<a href=\"b&c'd\">",
                                          "key\xf0\x9f\x94\x91 \xe2\x82\xac!"};
    masks = (struct scan_masks){.prints = {.key = key}};
    arena = (struct ts_arena){.blocks = NULL};
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        struct scan_print print = scan__print_of(&key, ts_bytes_of_cstring(secrets[i]));
        if (!scan__prints_add(&masks.prints, &print))
            return -1;
    }
    scan__prints_sort(&masks.prints);
    return 0;
}

static int end(void **state) {
    (void)state;
    scan__masks_release(&masks);
    ts_arena_release(&arena);
    return 0;
}

static const char *masked(const char *text) {
    struct ts_bytes made = scan__masks_apply(&masks, &arena, ts_bytes_of_cstring(text));
    assert_int_equal(made.data[made.len], '\0');
    assert_int_equal(scan__masks_touch(&masks, ts_bytes_of_cstring(text)),
                     strcmp((const char *)made.data, text) != 0);
    return (const char *)made.data;
}

static void a_text_without_secrets_stays(void **state) {
    (void)state;
    static const char *const texts[] = {"", "a", "src/main.c", "p4ss-word/of+min", "%zz \\q ====", "tok_1 2"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_ptr_equal(masked(texts[i]), texts[i]);
    struct scan_masks none = {.capacity = 0};
    struct ts_bytes text = TS_BYTES(SECRET);
    assert_ptr_equal(scan__masks_apply(&none, &arena, text).data, text.data);
}

static void a_secret_is_masked_wherever_it_occurs(void **state) {
    (void)state;
    assert_string_equal(masked(SECRET), "********");
    assert_string_equal(masked("x" SECRET "y"), "x********y");
    assert_string_equal(masked("tok_12 xtok_12tok_12x " SECRET "."), "******** x********x ********.");
}

/* Secrets are masked in all their encodings, at any position in the groups of base64. */
static void encoded_secrets_are_masked(void **state) {
    (void)state;
    assert_string_equal(masked("a%70%34%73%73%2dword%2Fof%2bmine&b"), "a********&b");
    assert_string_equal(masked("\"\\u0070\\u0034ss-word\\/of\\u002Bmine\""), "\"********\"");
    assert_string_equal(masked("a \\\"quoted\\\" \\\\ one"), "********");
    assert_string_equal(masked("w\\xc3\\xb6rter!"), "********");
    assert_string_equal(masked("w\\u00f6rter!"), "********");
    assert_string_equal(masked("x=cDRzcy13b3JkL29mK21pbmU="), "x=********=");        /* the secret alone */
    assert_string_equal(masked("x=YXA0c3Mtd29yZC9vZittaW5lYg"), "x=Y********Yg");    /* a, the secret, b */
    assert_string_equal(masked("x=YWFwNHNzLXdvcmQvb2YrbWluZWI="), "x=YW********I="); /* aa, the secret, b */
    assert_string_equal(masked("zzzcDRzcy13b3JkL29mK21pbmU"), "zzz********");        /* inside a word */
    assert_string_equal(masked("Y0RSemN5MTNiM0prTDI5bUsyMXBibVU9"), "********9"); /* twice; a "=" remains */
    assert_string_equal(masked("cDRz%63y13b3JkL29mK21pbmU"), "********");         /* base64, escaped */
}

static void html_hexadecimal_and_other_forms_are_masked(void **state) {
    (void)state;
    assert_string_equal(masked("x &lt;a href=&quot;b&amp;c&apos;d&quot;&gt; y"), "x ******** y");
    assert_string_equal(masked("&#60;a&#x20;href&#X3D;\"b&c&#39;d\"&#62"), "********");
    assert_string_equal(masked("<a href=3D\"b=26c'd\">"), "********");
    assert_string_equal(masked("\\160\\64ss-word\\57of+mine."), "********.");
    assert_string_equal(masked("0x703473732d776f72642f6f662b6d696e65!"), "0x********!");
    assert_string_equal(masked("a703473732D776F72642F6F662B6D696E65b"), "a********b");
    assert_string_equal(masked("key\\ud83d\\udd11\\u0020\\u20ac!"), "********");
    assert_string_equal(masked("key\\u{1f511} \\U000020ac!"), "********");
    assert_string_equal(masked("x=d8O2cnRlciE="), "x=********="); /* bytes that are not ASCII, in base64 */
    assert_string_equal(masked("x=77c3b672746572 77c3b67274657221"), "x=77c3b672746572 ********");
    static const char *const broken[] = {
        "&#;",  "&#x;", "&#",         "&",  "\\u{}", "\\u{12",         "\\u12",
        "\\x1", "\\",   "\\ud83d\\u", "%4", "=4",    "&#x110000;....", "\\u{110000}...."};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        assert_ptr_equal(masked(broken[i]), broken[i]);
}

/* Wide text is masked in both byte orders, even if the text begins or continues in the middle of a
 * character. */
static void utf_16_of_other_characters_is_masked(void **state) {
    (void)state;
    static const char little[] = "x\0k\0e\0y\0\x3d\xd8\x11\xdd \0\xac\x20!\0y";
    static const char big[] = "\0x\0k\0e\0y\xd8\x3d\xdd\x11\0 \x20\xac\0!\0y";
    bool found[sizeof little + 1];
    assert_true(scan__masks_find(&masks, ts_bytes_of(little, sizeof little), found));
    for (size_t i = 0; i < sizeof little; i++)
        assert_int_equal(found[i], i >= 2 && i < 18);
    assert_true(scan__masks_find(&masks, ts_bytes_of(little + 1, sizeof little - 1), found));
    for (size_t i = 0; i < sizeof little - 1; i++)
        assert_int_equal(found[i], i >= 1 && i < 17);
    assert_true(scan__masks_find(&masks, ts_bytes_of(big, sizeof big - 1), found));
    assert_true(found[2] && found[17] && !found[1] && !found[18]);
    assert_true(scan__masks_find(&masks, ts_bytes_of(big + 1, sizeof big - 2), found));
    assert_true(found[1] && found[16] && !found[0] && !found[17]);
}

/* There are thousands of secrets with the same beginning, and texts that consist of this beginning. Comparing
 * each secret would take seconds. */
static void a_text_that_takes_too_many_steps_is_masked_whole(void **state) {
    (void)state;
    char text[2000];
    for (size_t len = 12; len < sizeof text; len++) {
        for (size_t i = 0; i < len; i++)
            text[i] = (char)(i < 2 ? 'a' : 'b' + (len + i * i) % 20);
        struct scan_print print = scan__print_of(&key, ts_bytes_of(text, len));
        assert_true(scan__prints_add(&masks.prints, &print));
    }
    scan__prints_sort(&masks.prints);
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_string_equal(masked(text), "********");
    assert_in_range(masks.steps, 1, 32768);
    assert_ptr_equal(masked("aa and aa"), "aa and aa");
    memset(text, ' ', sizeof text - 1);
    memset(text, 'a', 4);
    assert_ptr_equal(masked(text), text);
    assert_false(masks.is_cut);
    masks.is_late = true;
    assert_string_equal(masked(text), "********");
    assert_true(masks.is_cut);
}

/* When no time is left, all texts together may take only a limited number of steps. After that, every text is
 * masked completely. */
static void texts_have_a_limit_together_when_it_is_late(void **state) {
    (void)state;
    char text[600];
    for (size_t i = 0; i < sizeof text - 1; i++)
        text[i] = (char)(i % 50 == 0 ? ' ' : 'a' + i * i % 26);
    text[sizeof text - 1] = '\0';
    masks.is_late = true;
    size_t looked_at = 0;
    while (!scan__masks_touch(&masks, ts_bytes_of_cstring(text)) && looked_at < 1000000)
        looked_at++;
    assert_in_range(looked_at, 500, 1000);
    assert_true(masks.is_cut);
    assert_string_equal(masked(text), "********");
    assert_in_range(masks.late_steps, 1 << 16, (1 << 16) + 1024);
}

/* Names may have megabytes, and their decoded forms would take many times as much memory. */
static void a_text_that_is_too_long_is_masked_whole(void **state) {
    (void)state;
    size_t len = 64 << 10;
    char *text = malloc(len + 2);
    assert_non_null(text);
    memset(text, ' ', len + 1);
    text[len + 1] = '\0';
    assert_string_equal(masked(text), "********");
    text[len] = '\0';
    assert_ptr_equal(masked(text), text);
    free(text);
}

static void utf_16_is_masked(void **state) {
    (void)state;
    static const char text[] = "x\0t\0o\0k\0_\0001\0002\0y\0";
    bool found[sizeof text - 1];
    assert_true(scan__masks_find(&masks, ts_bytes_of(text, sizeof found), found));
    for (size_t i = 0; i < sizeof found; i++)
        /* The zeros on both sides are masked, too, because either may belong to the secret. */
        assert_int_equal(found[i], i >= 1 && i < 14);
}

/* Texts of any bytes are searched within bounds, and the secrets in them are found. */
static void any_bytes_are_looked_at(void **state) {
    (void)state;
    uint8_t text[300];
    bool found[sizeof text];
    unsigned random = 1;
    for (int round = 0; round < 2000; round++) {
        size_t len = (size_t)(round % (int)sizeof text);
        for (size_t i = 0; i < len; i++) {
            random = random * 1103515245u + 12345u;
            static const char some[] = "%\\ux0aZ/+=&#;{}\0\xff\xd8";
            text[i] =
                round % 2 == 0 ? (uint8_t)(random >> 16) : (uint8_t)some[(random >> 16) % (sizeof some - 1)];
        }
        assert_false(scan__masks_find(&masks, ts_bytes_of(text, len), found));
        if (len < sizeof SECRET - 1)
            continue;
        size_t at = (random >> 8) % (len - (sizeof SECRET - 1) + 1);
        memcpy(text + at, SECRET, sizeof SECRET - 1);
        assert_true(scan__masks_find(&masks, ts_bytes_of(text, len), found));
        for (size_t i = 0; i < sizeof SECRET - 1; i++)
            assert_true(found[at + i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_text_without_secrets_stays, begin, end),
        cmocka_unit_test_setup_teardown(a_secret_is_masked_wherever_it_occurs, begin, end),
        cmocka_unit_test_setup_teardown(encoded_secrets_are_masked, begin, end),
        cmocka_unit_test_setup_teardown(html_hexadecimal_and_other_forms_are_masked, begin, end),
        cmocka_unit_test_setup_teardown(utf_16_is_masked, begin, end),
        cmocka_unit_test_setup_teardown(utf_16_of_other_characters_is_masked, begin, end),
        cmocka_unit_test_setup_teardown(a_text_that_takes_too_many_steps_is_masked_whole, begin, end),
        cmocka_unit_test_setup_teardown(texts_have_a_limit_together_when_it_is_late, begin, end),
        cmocka_unit_test_setup_teardown(a_text_that_is_too_long_is_masked_whole, begin, end),
        cmocka_unit_test_setup_teardown(any_bytes_are_looked_at, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
