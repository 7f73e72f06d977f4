#include "prints.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static const struct ts_siphash_key key = {{1, 2}};
static struct scan_prints prints;

static int begin(void **state) {
    (void)state;
    prints = (struct scan_prints){.key = key};
    return 0;
}

static int end(void **state) {
    (void)state;
    scan__prints_release(&prints);
    return 0;
}

static void add(const char *secret) {
    struct scan_print print = scan__print_of(&key, ts_bytes_of_cstring(secret));
    assert_true(scan__prints_add(&prints, &print));
}

static size_t match(const char *text) {
    uint64_t steps = 0;
    return scan__prints_match(&prints, ts_bytes_of_cstring(text), &steps);
}

static void the_longest_secret_that_a_text_begins_with_is_known(void **state) {
    (void)state;
    add("ab2def");
    add("ab2defgh");
    add("ab2defghijklmnop");
    add("ab2defghijklmnopqrst");
    add("ab2defghijklmnopqrst");
    scan__prints_sort(&prints);
    assert_int_equal(match("ab2de"), 0);
    assert_int_equal(match("ab2def"), 6);
    assert_int_equal(match("ab2defg"), 6);
    assert_int_equal(match("ab2defghijk"), 8);
    assert_int_equal(match("ab2defghijklmnopqrs"), 16);
    assert_int_equal(match("ab2defghijklmnopqrstuvw"), 20);
    assert_int_equal(match("xab2defghijklmnopqrst"), 0);
    assert_int_equal(match(""), 0);
    assert_int_equal(prints.count, 4);
}

static void short_secrets_have_no_print(void **state) {
    (void)state;
    assert_int_equal(scan__print_of(&key, TS_BYTES("abcde")).len, 0);
    assert_int_equal(scan__print_of(&key, TS_BYTES("")).len, 0);
    add("abcde");
    assert_int_equal(prints.count, 0);
}

/* Words have no print, so that a path such as config/postgres.yml stays readable. */
static void words_have_no_print(void **state) {
    (void)state;
    static const char *const words[] = {"postgres", "SECRET_KEY", "changeMe", "Password",
                                        "rabbitmq", "libgit2",    "client1",  "spring_boot3"};
    static const char *const others[] = {"client123",
                                         "p0stgres",
                                         "xkqzvbwt",
                                         "kJqXzW",
                                         "post gres!",
                                         "-postgres",
                                         "correct-horse-battery-staple"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_int_equal(scan__print_of(&key, ts_bytes_of_cstring(words[i])).len, 0);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(scan__print_of(&key, ts_bytes_of_cstring(others[i])).len, strlen(others[i]));
}

/* If reports show no byte of a secret, the print of the secret contains none of its bytes, either. */
static void only_long_secrets_show_their_first_bytes(void **state) {
    (void)state;
    static const uint8_t none[SCAN_PRINT_HEAD_LEN] = {0};
    assert_memory_equal(scan__print_of(&key, TS_BYTES("ab2defghijk")).head, none, sizeof none);
    assert_memory_equal(scan__print_of(&key, TS_BYTES("ab2defghijkl")).head, "ab", 2);
}

static void many_are_known(void **state) {
    (void)state;
    char secret[40];
    for (int i = 0; i < 5000; i++) {
        snprintf(secret, sizeof secret, "%0*d-secret", 1 + i % 20, i);
        add(secret);
    }
    scan__prints_sort(&prints);
    for (int i = 0; i < 5000; i++) {
        int len = snprintf(secret, sizeof secret, "%0*d-secret", 1 + i % 20, i);
        assert_int_equal(match(secret), len);
        secret[len - 1] = 'T';
        assert_int_equal(match(secret), 0);
    }
}

/* Each of many secrets with the same beginning and different lengths costs one step. All of them together
 * cost one pass over the bytes. */
static void steps_are_counted(void **state) {
    (void)state;
    char secret[2000];
    uint64_t steps = 0;
    for (size_t len = 12; len < sizeof secret; len++) {
        for (size_t i = 0; i < len; i++)
            secret[i] = (char)(i < 2 ? 'a' : 'b' + (len + i * i) % 20);
        struct scan_print print = scan__print_of(&key, ts_bytes_of(secret, len));
        assert_true(scan__prints_add(&prints, &print));
    }
    scan__prints_sort(&prints);
    memset(secret, 'a', sizeof secret);
    assert_int_equal(scan__prints_match(&prints, ts_bytes_of(secret, sizeof secret), &steps), 0);
    assert_in_range(steps, 2000 - 12, 2000 + 2000 / 8);
    steps = 0;
    secret[1] = 'c';
    assert_int_equal(scan__prints_match(&prints, ts_bytes_of(secret, sizeof secret), &steps), 0);
    assert_int_equal(steps, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_longest_secret_that_a_text_begins_with_is_known, begin, end),
        cmocka_unit_test_setup_teardown(words_have_no_print, begin, end),
        cmocka_unit_test_setup_teardown(short_secrets_have_no_print, begin, end),
        cmocka_unit_test_setup_teardown(only_long_secrets_show_their_first_bytes, begin, end),
        cmocka_unit_test_setup_teardown(many_are_known, begin, end),
        cmocka_unit_test_setup_teardown(steps_are_counted, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
