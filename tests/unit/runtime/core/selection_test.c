#include "runtime/core/selection.h"

#include "support/cmocka.h"

#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

#define ID_1          "1111111111111111111111111111111111111111"
#define ID_A          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_A_CAPITALS "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define ID_LONG       "2222222222222222222222222222222222222222222222222222222222222222"

static void a_selection_has_one_spelling(void **state) {
    (void)state;
    static const struct {
        const char *given;
        const char *text;
        size_t digits;
    } rows[] = {
        {"default", "default", 0},
        {"all", "all", 0},
        {"refs:main", "refs:refs/heads/main", 0},
        {"refs:refs/tags/*,main,release/*,main", "refs:refs/heads/main,refs/heads/release/*,refs/tags/*", 0},
        {"refs:b,a", "refs:refs/heads/a,refs/heads/b", 0},
        {"commits:" ID_A "," ID_1, "commits:" ID_1 "," ID_A, 40},
        {"commits:" ID_A_CAPITALS "," ID_A, "commits:" ID_A, 40},
        {"commits:" ID_LONG, "commits:" ID_LONG, 64},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct ts_selection selection;
        assert_int_equal(ts_selection_parse(ts_bytes_of_cstring(rows[i].given), &selection), TS_SELECTION_OK);
        assert_true(ts_bytes_equal(ts_fixed_buf_read(&selection.text), ts_bytes_of_cstring(rows[i].text)));
        assert_int_equal(selection.commit_digits, rows[i].digits);
    }
}

static void invariant_6_the_same_commits_lower_to_the_same_ref(void **state) {
    (void)state;
    static const char *const spellings[] = {"commits:" ID_A "," ID_1, "commits:" ID_1 "," ID_A,
                                            "commits:" ID_1 "," ID_A_CAPITALS "," ID_1};
    for (size_t i = 0; i < LENGTH(spellings); i++) {
        struct ts_selection selection;
        assert_int_equal(ts_selection_parse(ts_bytes_of_cstring(spellings[i]), &selection), TS_SELECTION_OK);
        /* The refs are made of TS_SELECTION_COMMIT_REF and the ids in this text. */
        assert_true(ts_bytes_equal(ts_fixed_buf_read(&selection.text), TS_BYTES("commits:" ID_1 "," ID_A)));
    }
}

static void a_selection_that_names_nothing_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *given;
        enum ts_selection_error error;
    } rows[] = {
        {"", TS_SELECTION_UNKNOWN},
        {"main", TS_SELECTION_UNKNOWN},
        {"refs:", TS_SELECTION_EMPTY},
        {"refs:a,,b", TS_SELECTION_EMPTY},
        {"refs:a,", TS_SELECTION_EMPTY},
        {"commits:", TS_SELECTION_EMPTY},
        {"refs:a..b", TS_SELECTION_NAME},
        {"refs:/a", TS_SELECTION_NAME},
        {"refs:a/", TS_SELECTION_NAME},
        {"refs:a//b", TS_SELECTION_NAME},
        {"refs:.a", TS_SELECTION_NAME},
        {"refs:a.", TS_SELECTION_NAME},
        {"refs:a.lock", TS_SELECTION_NAME},
        {"refs:a.lock/b", TS_SELECTION_NAME},
        {"refs:a b", TS_SELECTION_NAME},
        {"refs:a~1", TS_SELECTION_NAME},
        {"refs:a^", TS_SELECTION_NAME},
        {"refs:a:b", TS_SELECTION_NAME},
        {"refs:a@{1}", TS_SELECTION_NAME},
        {"refs:a\\b", TS_SELECTION_NAME},
        {"commits:HEAD", TS_SELECTION_ID},
        {"commits:" ID_1 "1", TS_SELECTION_ID},
        {"commits:z111111111111111111111111111111111111111", TS_SELECTION_ID},
        {"commits:" ID_1 "," ID_LONG, TS_SELECTION_MIXED},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct ts_selection selection;
        enum ts_selection_error error = ts_selection_parse(ts_bytes_of_cstring(rows[i].given), &selection);
        if (error != rows[i].error)
            fail_msg("%s %s", rows[i].given, ts_selection_error_text(error));
    }
}

/* The limit applies to full names: the prefix refs/heads/ makes short names longer. */
static void a_selection_has_a_longest_form(void **state) {
    (void)state;
    char given[TS_SELECTION_MAX + 1] = "refs:a";
    size_t len = strlen(given);
    struct ts_selection selection;
    for (unsigned i = 0; len + 4 <= TS_SELECTION_MAX; i++) {
        const char name[] = {',', (char)('a' + i / 20), (char)('a' + i % 20), 'x'};
        memcpy(given + len, name, sizeof name);
        len += sizeof name;
        size_t grown = strlen("refs:refs/heads/a") + (i + 1) * strlen(",refs/heads/abx");
        enum ts_selection_error due = grown <= TS_SELECTION_MAX ? TS_SELECTION_OK : TS_SELECTION_TOO_LONG;
        assert_int_equal(ts_selection_parse(ts_bytes_of(given, len), &selection), due);
    }
    memset(given, ',', sizeof given);
    assert_int_equal(ts_selection_parse(ts_bytes_of(given, sizeof given), &selection), TS_SELECTION_TOO_LONG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_selection_has_one_spelling),
        cmocka_unit_test(invariant_6_the_same_commits_lower_to_the_same_ref),
        cmocka_unit_test(a_selection_that_names_nothing_is_refused),
        cmocka_unit_test(a_selection_has_a_longest_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
