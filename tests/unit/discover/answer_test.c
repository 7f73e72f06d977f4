#include "answer.h"

#include "support/cmocka.h"

#include <string.h>

/* Reads one page for a request. Returns the result. */
static enum discover_page_result read_page(const char *request, const char *body,
                                           const struct ts_discover_options *options,
                                           struct ts_discovered *list, bool *ret_is_last) {
    struct discover_request parsed;
    assert_null(discover__request_parse(request, &parsed));
    struct discover_pages pages = {.options = options, .request = &parsed, .list = list};
    enum discover_page_result result = discover__page_read(&pages, ts_bytes_of_cstring(body));
    *ret_is_last = pages.is_last;
    return result;
}

static void names_become_addresses_on_the_host_of_the_request(void **state) {
    (void)state;
    struct ts_discover_options options = {0};
    struct ts_discovered list = {0};
    bool is_last;
    static const char page[] = "[{\"full_name\":\"Acme/one\",\"clone_url\":\"https://evil.example/x\"}]";
    assert_int_equal(read_page("github://h:8443/acme", page, &options, &list, &is_last), DISCOVER_PAGE_OK);
    assert_false(is_last);
    options.ssh = true;
    assert_int_equal(read_page("github://h:8443/acme", page, &options, &list, &is_last), DISCOVER_PAGE_OK);
    assert_int_equal(read_page("github://[::1]/acme", page, &options, &list, &is_last), DISCOVER_PAGE_OK);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.addresses[0], "https://h:8443/Acme/one.git");
    assert_string_equal(list.addresses[1], "ssh://git@h/Acme/one.git");
    assert_string_equal(list.addresses[2], "ssh://git@[::1]/Acme/one.git");
    ts_discovered_release(&list);
}

static void the_last_page_is_empty_or_has_no_successor(void **state) {
    (void)state;
    const struct ts_discover_options options = {0};
    struct ts_discovered list = {0};
    bool is_last;
    assert_int_equal(read_page("gitea://h/a", "[]", &options, &list, &is_last), DISCOVER_PAGE_OK);
    assert_true(is_last);
    assert_int_equal(read_page("bitbucket://h/a", "{\"values\":[],\"next\":\"https://evil.example/\"}",
                               &options, &list, &is_last),
                     DISCOVER_PAGE_OK);
    assert_false(is_last);
    assert_int_equal(
        read_page("bitbucket://h/a", "{\"values\":[{\"full_name\":\"a/b\"}]}", &options, &list, &is_last),
        DISCOVER_PAGE_OK);
    assert_true(is_last);
    ts_discovered_release(&list);
}

static void filters_omit_archived_repositories_and_forks(void **state) {
    (void)state;
    static const char page[] =
        "[{\"path_with_namespace\":\"a/plain\",\"archived\":false,\"forked_from_project\":null},"
        "{\"path_with_namespace\":\"a/old\",\"archived\":true},"
        "{\"path_with_namespace\":\"a/s/fork\",\"forked_from_project\":{\"id\":1}}]";
    const struct {
        struct ts_discover_options options;
        size_t count;
    } cases[] = {{{0}, 3},
                 {{.no_archived = true}, 2},
                 {{.no_forks = true}, 2},
                 {{.no_archived = true, .no_forks = true}, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ts_discovered list = {0};
        bool is_last;
        assert_int_equal(read_page("gitlab://h/a", page, &cases[i].options, &list, &is_last),
                         DISCOVER_PAGE_OK);
        assert_int_equal(list.count, cases[i].count);
        ts_discovered_release(&list);
    }
}

static void wrong_pages_are_errors(void **state) {
    (void)state;
    static const struct {
        const char *page;
        enum discover_page_result result;
    } cases[] = {
        {"", DISCOVER_PAGE_NOT_JSON},
        {"<html>", DISCOVER_PAGE_NOT_JSON},
        {"[{\"full_name\":\"a/b\"}", DISCOVER_PAGE_NOT_JSON},
        {"[{\"full_name\":\"a/b\\u0000\"}]", DISCOVER_PAGE_NOT_JSON},
        {"{}", DISCOVER_PAGE_OTHER},
        {"{\"message\":\"x\"}", DISCOVER_PAGE_OTHER},
        {"[1]", DISCOVER_PAGE_OTHER},
        {"[{}]", DISCOVER_PAGE_OTHER},
        {"[{\"full_name\":7}]", DISCOVER_PAGE_OTHER},
        {"[{\"full_name\":\"a/b\"},null]", DISCOVER_PAGE_OTHER},
        {"[{\"full_name\":\"a/b\\u001b[2J\"}]", DISCOVER_PAGE_NAME},
        {"[{\"full_name\":\"a/../../etc\"}]", DISCOVER_PAGE_NAME},
        {"[{\"full_name\":\"user:pw@evil.example/b\"}]", DISCOVER_PAGE_NAME},
        {"[{\"full_name\":\"b/a\"}]", DISCOVER_PAGE_OWNER},
        {"[{\"full_name\":\"ab/a\"}]", DISCOVER_PAGE_OWNER},
    };
    const struct ts_discover_options options = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ts_discovered list = {0};
        bool is_last = false;
        if (read_page("github://h/a", cases[i].page, &options, &list, &is_last) != cases[i].result)
            fail_msg("page %s", cases[i].page);
        assert_false(is_last);
        ts_discovered_release(&list);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_become_addresses_on_the_host_of_the_request),
        cmocka_unit_test(the_last_page_is_empty_or_has_no_successor),
        cmocka_unit_test(filters_omit_archived_repositories_and_forks),
        cmocka_unit_test(wrong_pages_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
