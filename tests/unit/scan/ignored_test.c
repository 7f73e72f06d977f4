#include "ignored.h"

#include "support/cmocka.h"

static void fingerprints_have_a_place_and_perhaps_a_commit(void **state) {
    (void)state;
    struct scan_ignored ignored;
    size_t first;
    assert_true(scan__ignored_parse(TS_BYTES("# comment\n\n"
                                             "./b/c:d.txt:generic-api-key:12\r\n"
                                             "  0123456789abcdef0123456789abcdef01234567:a.env:jwt:1  \n"
                                             "win\\path.txt:jwt:3\n"
                                             "not a fingerprint\n"
                                             "a.env:jwt:first\n"
                                             ":jwt:1\n"
                                             "a.env:jwt:2"),
                                    &ignored));
    assert_int_equal(ignored.count, 4);
    assert_int_equal(ignored.wrong, 3);
    assert_int_equal(ignored.first_wrong, 6);
    assert_int_equal(scan__ignored_at(&ignored, "a.env", &first), 2);
    assert_int_equal(ignored.entries[first].at, 4);
    assert_int_equal(ignored.entries[first].commit.bytes[0], 0x01);
    assert_int_equal(ignored.entries[first].line, 1);
    assert_string_equal(ignored.entries[first].rule, "jwt");
    assert_int_equal(ignored.entries[first + 1].at, 9);
    assert_int_equal(ignored.entries[first + 1].commit.bytes[0], 0);
    assert_int_equal(scan__ignored_at(&ignored, "b/c:d.txt", &first), 1);
    assert_int_equal(ignored.entries[first].line, 12);
    assert_int_equal(scan__ignored_at(&ignored, "win/path.txt", &first), 1);
    assert_int_equal(scan__ignored_at(&ignored, "b", &first), 0);
    scan__ignored_release(&ignored);
}

static void an_empty_file_ignores_nothing(void **state) {
    (void)state;
    struct scan_ignored ignored;
    size_t first;
    assert_true(scan__ignored_parse(TS_BYTES(""), &ignored));
    assert_int_equal(scan__ignored_at(&ignored, "a", &first), 0);
    scan__ignored_release(&ignored);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fingerprints_have_a_place_and_perhaps_a_commit),
        cmocka_unit_test(an_empty_file_ignores_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
