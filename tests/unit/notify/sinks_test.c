#include "sinks.h"

#include "support/cmocka.h"

static void https_and_http_to_this_machine_are_allowed(void **state) {
    (void)state;
    static const char *const good[] = {"https://example.org",   "https://example.org:8443/a?b=c",
                                       "http://127.0.0.1:80/x", "http://localhost/x",
                                       "http://[::1]:8080/x",   "https://[2001:db8::1]/x"};
    static const char *const wrong[] = {"http://example.org/x",
                                        "http://127.example.org/",
                                        "http://127.0.0.1.example.org/",
                                        "http://localhost.evil/x",
                                        "file:///etc/passwd",
                                        "https://",
                                        "https:///x",
                                        "https://u:p@example.org/",
                                        "http://127.0.0.1@example.org/",
                                        "https://example.org/a b",
                                        "HTTPS://example.org/",
                                        "http://[2001:db8::1]/x",
                                        "-o https://example.org/"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_null(notify__check_url(good[i], false));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_non_null(notify__check_url(wrong[i], false));
    assert_null(notify__check_url("http://example.org/x", true));
    assert_non_null(notify__check_url("http://u@example.org/x", true));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(https_and_http_to_this_machine_are_allowed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
