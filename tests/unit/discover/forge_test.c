#include "forge.h"

#include "support/cmocka.h"

#include <string.h>

static void requests_are_parsed(void **state) {
    (void)state;
    struct discover_request request;
    assert_null(discover__request_parse("github://GitHub.com/Acme/", &request));
    assert_string_equal(request.forge->name, "github");
    assert_string_equal(request.host, "github.com");
    assert_string_equal(request.owner, "Acme");
    assert_null(discover__request_parse("gitlab://git.example.com:8443/a/b.c/d_e", &request));
    assert_string_equal(request.host, "git.example.com:8443");
    assert_string_equal(request.owner, "a/b.c/d_e");
    assert_null(discover__request_parse("gitea://[::1]:3000/a", &request));
    assert_string_equal(request.host, "[::1]:3000");
    assert_null(discover__forge_of("https://github.com/a"));
    assert_null(discover__forge_of("github:a"));
}

static void wrong_requests_are_refused_and_leave_the_output_alone(void **state) {
    (void)state;
    static const char *const texts[] = {
        "github://",           "github://github.com",     "github://github.com/",
        "github:///a",         "github://host/a/b",       "github://host/a b",
        "github://host/..",    "github://host/-a",        "github://a@host/b",
        "gitlab://host/a//b",  "gitlab://host/a/../b",    "gitlab://[::1/a",
        "github://host/a?b=c", "github://host/a%2fb",     "github://ho\nst/a",
        "github://host/a\x1b", "github://-host/a",        "gitlab://host/a/b/c//",
        "github://:80/a",      "github://host/{{token}}", "gitea://host/\xc3\xa4",
        "svn://host/a",
    };
    struct discover_request request = {.host = "unchanged"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *why = discover__request_parse(texts[i], &request);
        if (!why)
            fail_msg("accepted: %s", texts[i]);
        assert_string_equal(request.host, "unchanged");
    }
}

static void names_are_paths_that_nothing_can_hide_in(void **state) {
    (void)state;
    assert_true(discover__is_name("a/b"));
    assert_true(discover__is_name("a/b/c-d._e"));
    static const char *const wrong[] = {"",      "a",       "a/",      "/a",     "a//b",
                                        "a/..",  "../a",    "a/./b",   "a/-b",   "-a/b",
                                        "a/b\n", "a/b\x1b", "a/b?x",   "a/b#",   "a/b%2e",
                                        "a/b c", "a@b/c",   "a:b@h/c", "a/b\\c", "a/\xe2\x80\xae"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (discover__is_name(wrong[i]))
            fail_msg("accepted: %s", wrong[i]);
}

static void templates_are_filled_within_their_size(void **state) {
    (void)state;
    const struct discover_values values = {.host = "h", .owner = "a/b", .page = "7"};
    char text[32];
    assert_true(discover__fill("https://{{host}}/{{owner}}?{{page}}", &values, text, sizeof text));
    assert_string_equal(text, "https://h/a%2Fb?7");
    assert_true(discover__fill("{{token}}", &values, text, sizeof text)); /* the name token has no value */
    assert_string_equal(text, "{{token}}");
    assert_true(discover__fill("{{page}}", &values, text, 2));
    assert_false(discover__fill("{{page}}", &values, text, 1));
    /* A value is inserted as it is, even if it looks like a template. */
    assert_true(discover__fill("{{name}}", &(struct discover_values){.name = "{{name}}"}, text, sizeof text));
    assert_string_equal(text, "{{name}}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_parsed),
        cmocka_unit_test(wrong_requests_are_refused_and_leave_the_output_alone),
        cmocka_unit_test(names_are_paths_that_nothing_can_hide_in),
        cmocka_unit_test(templates_are_filled_within_their_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
