#include "show.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static const char *redacted(const char *secret) {
    static char text[SCAN_REDACTED_SIZE];
    return scan__redact(ts_bytes_of_cstring(secret), text);
}

static void little_of_a_secret_is_shown(void **state) {
    (void)state;
    assert_string_equal(redacted("abcdefghijklmnopqrstuvwxyz0123456789"), "abcd…6789");
    assert_string_equal(redacted("abcdefghijklmnopqr"), "abc…pqr");
    assert_string_equal(redacted("abcdefghijkl"), "ab…kl");
    assert_string_equal(redacted("abcdefghijk"), "xxxxxxxxxxx");
    assert_string_equal(redacted("Abcd-12"), "Xxxx!99");
    assert_string_equal(redacted("Abc12"), "[5 bytes]");
    assert_string_equal(redacted("xxx999"), "[6 bytes]"); /* its shape would equal the secret itself */
    assert_string_equal(redacted("p\xc3\xa4sswort"), "[9 bytes]");
    assert_string_equal(redacted("x"), "[1 bytes]");
    assert_string_equal(redacted("\x1b[2Jefghijklmnopqrst\n\r\x07\x80"), "\\x1b[2J…\\x0a\\x0d\\x07\\x80");
}

static void keys_are_distinguished_by_their_kind_and_finding(void **state) {
    (void)state;
    char shown[SCAN_REDACTED_SIZE];
    const struct ts_finding_id id = {"51a0e1e7d7b2f6948ce1a4e5c9e597c8"};
    static const char *const others[] = {
        "ghp_x",
        "-----BEGIN ",
        "-----BEGIN RSA",
        "-----BEGIN \x1b[2J-----\n",
        "-----BEGIN -----",
        "-----BEGIN A LABEL THAT IS MUCH TOO LONG FOR A KEY OF ANY KIND-----",
        "-----BEGIN A LABEL THAT IS ONE CHARACTER TOO LONGISH-----"};
    assert_string_equal(scan__redact_block(TS_BYTES("-----BEGIN RSA PRIVATE "
                                                    "KEY-----\nabc"),
                                           &id, shown),
                        "RSA PRIVATE KEY (51a0e1e7)");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_null(scan__redact_block(ts_bytes_of_cstring(others[i]), &id, shown));
}

static char text[SCAN_EXCERPT_SIZE + 1];

static size_t excerpt_len(const struct scan_around *from, struct scan_masks *masks) {
    char around[SCAN_AROUND_SIZE];
    size_t len = scan__around(from, around);
    assert_true(len <= sizeof around);
    assert_true(scan__around_is_sound(ts_bytes_of(around, len)));
    return scan__excerpt(ts_bytes_of(around, len), masks, text);
}

static const char *excerpt(struct scan_around from) {
    size_t len = excerpt_len(&from, NULL);
    assert_true(len < sizeof text);
    text[len] = '\0';
    return text;
}

static void the_line_is_shown_with_its_secrets_masked(void **state) {
    (void)state;
    struct ts_span secrets[] = {{8, 6}, {20, 4}};
    struct ts_bytes content = TS_BYTES("before\na=SECRET and b=MORE, c=SECRET\r\nafter");
    struct scan_around from = {
        .content = content, .at = {9, 6}, .secrets = secrets, .secret_count = 0, .same = TS_BYTES("SECRET")};
    assert_string_equal(excerpt(from), "a=******** and b=MORE, c=********");
    secrets[0] = (struct ts_span){9, 6};
    secrets[1] = (struct ts_span){22, 4};
    from.secret_count = 2;
    from.same = (struct ts_bytes){NULL, 0};
    assert_string_equal(excerpt(from), "a=******** and b=********, c=SECRET");
    from.shown = true;
    assert_string_equal(excerpt(from), "a=SECRET and b=MORE, c=SECRET");
}

static void binary_content_is_shown_shortly(void **state) {
    (void)state;
    struct ts_span wide = {16, 12};
    struct scan_around from = {
        .content = TS_BYTES("\0t\0o\0k\0e\0n\0 \0=\0 S\0E\0C\0R\0E\0T\0;\0.\0"),
        .at = wide,
        .secrets = &wide,
        .secret_count = 1,
    };
    assert_string_equal(excerpt(from), "token = ********;.");
    struct ts_span at = {20, 6};
    from = (struct scan_around){
        .content = TS_BYTES("ab\1\2\3\0\0\0\0\0\0\0\0\0\0\0\xff\xfe\x80=SECRET\0\0\0z\xe9z caf\xc3\xa9"),
        .at = at,
        .secrets = &at,
        .secret_count = 1};
    assert_string_equal(excerpt(from), "ab·=********·z\xe9z caf\xc3\xa9");
    from.at = at = (struct ts_span){3, 6};
    from.content = TS_BYTES("\x7f\x7f=SECRET");
    assert_string_equal(excerpt(from), "·=********");
}

/* Single zeros are omitted only in wide text, and a few zeros do not make a text wide. */
static void a_few_zeros_do_not_make_it_wide(void **state) {
    (void)state;
    struct ts_span at = {3, 6};
    struct scan_around from = {
        .content = TS_BYTES("\0a\0SECRET"), .at = at, .secrets = &at, .secret_count = 1};
    assert_int_equal(excerpt_len(&from, NULL), 11);
    assert_memory_equal(text, "\0a\0********", 11);
    from.at = at = (struct ts_span){19, 6};
    from.content = TS_BYTES("a\0b\0c\0d\0 and more =SECRET");
    assert_int_equal(excerpt_len(&from, NULL), 27);
    assert_memory_equal(text, "a\0b\0c\0d\0 and more =********", 27);
}

static void a_short_secret_is_not_looked_for_elsewhere(void **state) {
    (void)state;
    struct ts_span at = {10, 3};
    struct scan_around from = {.content = TS_BYTES("abc abc x=abc"),
                               .at = at,
                               .secrets = &at,
                               .secret_count = 1,
                               .same = TS_BYTES("abc")};
    assert_string_equal(excerpt(from), "abc abc x=********");
    from.at = at = (struct ts_span){10, 4};
    from.content = TS_BYTES("abcd abc =abcd");
    from.same = TS_BYTES("abcd");
    assert_string_equal(excerpt(from), "******** abc =********");
}

static void long_lines_are_cut_and_masks_count_as_what_is_shown(void **state) {
    (void)state;
    static char line[5000];
    memset(line, 'x', sizeof line);
    struct ts_span secrets[] = {{1000, 300}, {1301, 40}};
    struct scan_around from = {
        .content = ts_bytes_of(line, sizeof line), .at = secrets[1], .secrets = secrets, .secret_count = 2};
    const char *shown = excerpt(from);
    assert_non_null(strstr(shown, "xxx********x********xxx"));
    assert_int_equal(strncmp(shown, "…", strlen("…")), 0);
    assert_string_equal(shown + strlen(shown) - strlen("…"), "…");
    assert_true(strlen(shown) <= SCAN_EXCERPT_MAX + 2 * strlen("…") + 8);
    assert_true(strlen(shown) >= SCAN_EXCERPT_MAX);
}

/* Tests secrets that begin and end anywhere around the cuts. No byte of a secret may be shown. */
static void no_byte_of_a_secret_is_shown(void **state) {
    (void)state;
    static char line[3000];
    for (size_t from = 0; from < 2900; from += 13) {
        for (size_t len = 1; len < 1500 && from + len < sizeof line; len = len * 3 + 1) {
            memset(line, '.', sizeof line);
            memset(line + from, 'S', len);
            struct ts_span secrets[] = {{from, len}, {1500, 20}};
            struct scan_around one = {.content = ts_bytes_of(line, sizeof line),
                                      .at = {1500, 20},
                                      .secrets = secrets,
                                      .secret_count = 2};
            assert_null(strchr(excerpt(one), 'S'));
        }
    }
}

static void characters_are_not_cut_in_two(void **state) {
    (void)state;
    static char line[1200];
    for (size_t i = 0; i + 2 <= sizeof line; i += 2)
        memcpy(line + i, "é", 2);
    struct ts_span secret = {601, 8};
    struct scan_around from = {
        .content = ts_bytes_of(line, sizeof line), .at = secret, .secrets = &secret, .secret_count = 1};
    const char *shown = excerpt(from);
    assert_int_equal((unsigned char)shown[strlen("…")], 0xc3);
    assert_int_equal((unsigned char)shown[strlen(shown) - strlen("…") - 2], 0xc3);
}

static void secrets_of_other_contents_are_masked_too(void **state) {
    (void)state;
    static const struct ts_siphash_key key = {{1, 2}};
    struct scan_print print = scan__print_of(&key, TS_BYTES("elsewhere-f0und"));
    struct scan_masks masks = {.prints = {.key = key}};
    assert_true(scan__prints_add(&masks.prints, &print));
    scan__prints_sort(&masks.prints);
    struct ts_span at = {2, 6};
    struct scan_around from = {.content = TS_BYTES("a=SECRET, xelsewhere-f0undy \xff\xff"),
                               .at = at,
                               .secrets = &at,
                               .secret_count = 1};
    char around[SCAN_AROUND_SIZE];
    struct ts_bytes made = ts_bytes_of(around, scan__around(&from, around));
    assert_true(scan__around_touched(made, &masks));
    text[excerpt_len(&from, &masks)] = '\0';
    assert_string_equal(text, "a=********, x********y ·");
    assert_null(memmem(around, made.len, "SECRET", 6));
    from.content = TS_BYTES("a=SECRET, xelsewhere-F0UNDy");
    made.len = scan__around(&from, around);
    assert_false(scan__around_touched(made, &masks));
    scan__masks_release(&masks);
}

/* A secret that is also a part of a longer one must not prevent the longer one from being recognised. */
static void a_longer_secret_around_one_of_the_line_is_masked_whole(void **state) {
    (void)state;
    static const struct ts_siphash_key key = {{1, 2}};
    struct scan_print print = scan__print_of(&key, TS_BYTES("not-12345-but-longer"));
    struct scan_masks masks = {.prints = {.key = key}};
    assert_true(scan__prints_add(&masks.prints, &print));
    scan__prints_sort(&masks.prints);
    struct ts_span secrets[] = {{4, 5}, {14, 5}};
    struct scan_around from = {.content = TS_BYTES("pin=12345 pin=abcde not-12345-but-longer abcdef 12345"),
                               .at = secrets[0],
                               .secrets = secrets,
                               .secret_count = 2,
                               .same = TS_BYTES("12345")};
    char around[SCAN_AROUND_SIZE];
    char packed[SCAN_AROUND_SIZE];
    struct ts_bytes made = ts_bytes_of(around, scan__around(&from, around));
    assert_true(scan__around_is_sound(made));
    static const char shown[] = "pin=******** pin=******** ******** ********f ********";
    text[excerpt_len(&from, &masks)] = '\0';
    assert_string_equal(text, shown);
    struct ts_bytes without = ts_bytes_of(packed, scan__around_mask(made, &masks, packed));
    assert_null(memmem(packed, without.len, "12345", 5));
    assert_null(memmem(packed, without.len, "longer", 6));
    text[scan__excerpt(without, NULL, text)] = '\0';
    assert_string_equal(text, shown);
    scan__masks_release(&masks);
}

/* A line with a hidden value is not kept unchanged, even if nothing else in the line is masked. */
static void hidden_values_are_masked_before_a_line_is_kept(void **state) {
    (void)state;
    struct ts_span at = {4, 5};
    struct scan_masks none = {.capacity = 0};
    struct scan_around from = {.content = TS_BYTES("pin=12345 x12345x"),
                               .at = at,
                               .secrets = &at,
                               .secret_count = 1,
                               .same = TS_BYTES("12345")};
    char around[SCAN_AROUND_SIZE];
    char packed[SCAN_AROUND_SIZE];
    struct ts_bytes made = ts_bytes_of(around, scan__around(&from, around));
    assert_true(scan__around_touched(made, &none));
    made = ts_bytes_of(packed, scan__around_mask(made, &none, packed));
    assert_null(memmem(packed, made.len, "12345", 5));
    assert_false(scan__around_touched(made, &none));
    assert_int_equal(scan__around_mask(made, &none, around), 0);
}

/* Searching each line for each secret would take too long. */
static void a_line_of_very_many_short_secrets_is_not_shown(void **state) {
    (void)state;
    static char line[400];
    static struct ts_span secrets[32];
    memset(line, '.', sizeof line);
    for (size_t i = 0; i < 32; i++) {
        secrets[i] = (struct ts_span){i * 10, 4};
        snprintf(line + i * 10, 5, "%04zu", i);
        line[i * 10 + 4] = '.';
    }
    struct scan_around from = {
        .content = ts_bytes_of(line, sizeof line), .at = secrets[0], .secrets = secrets, .secret_count = 31};
    assert_non_null(strchr(excerpt(from), '.'));
    from.secret_count = 32;
    assert_string_equal(excerpt(from), "********");
}

/* A secret that is cut at the limit cannot be recognised, so nothing of it is shown. */
static void what_is_near_the_end_of_what_is_looked_at_is_not_shown(void **state) {
    (void)state;
    static char line[5000];
    static struct ts_span secrets[300];
    size_t count = 0;
    memset(line, 'x', sizeof line);
    for (size_t from = 0; from < sizeof line; from += 40)
        secrets[count++] = (struct ts_span){from + 1, 39};
    struct scan_around one = {.content = ts_bytes_of(line, sizeof line),
                              .at = {2001, 39},
                              .secrets = secrets,
                              .secret_count = count};
    memset(line + 2001 - SCAN_EXCERPT_BEFORE, 'S', SCAN_EXCERPT_EDGE);
    memset(line + 2001 + SCAN_EXCERPT_BEHIND - SCAN_EXCERPT_EDGE, 'S', SCAN_EXCERPT_EDGE);
    const char *shown = excerpt(one);
    assert_null(strchr(shown, 'S'));
    assert_non_null(strstr(shown, "********x********"));
}

static void hidden_values_are_not_shown(void **state) {
    (void)state;
    struct scan_around from = {
        .content = TS_BYTES("before\na=SECRET and more\nbehind"), .at = {9, 6}, .is_hidden = true};
    assert_string_equal(excerpt(from), "********");
}

/* The bytes come from a file and may be arbitrary, so they are checked. */
static void an_invalid_around_is_refused(void **state) {
    (void)state;
    char around[SCAN_AROUND_SIZE];
    struct ts_span at = {2, 6};
    struct scan_around from = {
        .content = TS_BYTES("a=SECRET, b"), .at = at, .secrets = &at, .secret_count = 1};
    size_t len = scan__around(&from, around);
    assert_true(scan__around_is_sound(ts_bytes_of(around, len)));
    assert_true(scan__around_is_sound(ts_bytes_of(around, 0)));
    assert_false(scan__around_is_sound(ts_bytes_of(around, 7)));
    assert_false(scan__around_is_sound(ts_bytes_of(around, 11))); /* these bytes end within a mask */
    around[0] = 100;
    assert_false(scan__around_is_sound(ts_bytes_of(around, len)));
    static char large[SCAN_AROUND_SIZE + 10];
    assert_false(scan__around_is_sound(ts_bytes_of(large, sizeof large)));
}

static void lines_and_columns_are_counted(void **state) {
    (void)state;
    struct scan_lines lines;
    scan__lines_init(&lines, TS_BYTES("ab\n\ncd\n"));
    static const struct {
        size_t at;
        struct scan_position position;
    } expected[] = {{0, {1, 1}}, {1, {1, 2}}, {2, {1, 3}}, {2, {1, 3}},
                    {3, {2, 1}}, {5, {3, 2}}, {7, {4, 1}}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct scan_position found = scan__lines_find(&lines, expected[i].at);
        assert_int_equal(found.line, expected[i].position.line);
        assert_int_equal(found.column, expected[i].position.column);
    }
}

static void a_window_continues_in_the_middle_of_a_line(void **state) {
    (void)state;
    struct scan_lines lines;
    scan__lines_init(&lines, TS_BYTES("xy\nz"));
    lines.line = 7;
    lines.bytes_before = 100;
    struct scan_position found = scan__lines_find(&lines, 1);
    assert_int_equal(found.line, 7);
    assert_int_equal(found.column, 102);
    found = scan__lines_find(&lines, 3);
    assert_int_equal(found.line, 8);
    assert_int_equal(found.column, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(little_of_a_secret_is_shown),
        cmocka_unit_test(keys_are_distinguished_by_their_kind_and_finding),
        cmocka_unit_test(secrets_of_other_contents_are_masked_too),
        cmocka_unit_test(a_longer_secret_around_one_of_the_line_is_masked_whole),
        cmocka_unit_test(hidden_values_are_masked_before_a_line_is_kept),
        cmocka_unit_test(a_line_of_very_many_short_secrets_is_not_shown),
        cmocka_unit_test(what_is_near_the_end_of_what_is_looked_at_is_not_shown),
        cmocka_unit_test(hidden_values_are_not_shown),
        cmocka_unit_test(an_invalid_around_is_refused),
        cmocka_unit_test(binary_content_is_shown_shortly),
        cmocka_unit_test(a_few_zeros_do_not_make_it_wide),
        cmocka_unit_test(a_short_secret_is_not_looked_for_elsewhere),
        cmocka_unit_test(the_line_is_shown_with_its_secrets_masked),
        cmocka_unit_test(long_lines_are_cut_and_masks_count_as_what_is_shown),
        cmocka_unit_test(no_byte_of_a_secret_is_shown),
        cmocka_unit_test(characters_are_not_cut_in_two),
        cmocka_unit_test(lines_and_columns_are_counted),
        cmocka_unit_test(a_window_continues_in_the_middle_of_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
