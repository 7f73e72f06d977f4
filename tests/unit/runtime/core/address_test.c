#include "runtime/core/address.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static const char *text_of(struct ts_bytes bytes) {
    static char text[TS_ADDRESS_MAX + 1];
    memcpy(text, bytes.data, bytes.len);
    text[bytes.len] = '\0';
    return text;
}

static void expect(const char *given, const char *address, const char *url) {
    struct ts_address parsed;
    enum ts_address_error error = ts_address_parse(ts_bytes_of_cstring(given), &parsed);
    if (error != TS_ADDRESS_OK)
        fail_msg("%s %s", given, ts_address_error_text(error));
    assert_string_equal(text_of(ts_fixed_buf_read(&parsed.text)), address);
    assert_string_equal(text_of(ts_fixed_buf_read(&parsed.url)), url);
    assert_false(parsed.is_path);
}

static void one_repository_has_one_spelling(void **state) {
    (void)state;
    static const char *const rows[][3] = {
        {"https://github.com/a/b", "https://github.com/a/b", "https://github.com/a/b"},
        {"HTTPS://GitHub.Com:443//a/./b.git/", "https://github.com/a/b", "https://github.com/a/b.git"},
        {"https://github.com./a/b", "https://github.com/a/b", "https://github.com/a/b"},
        {"https://host:8443/a", "https://host:8443/a", "https://host:8443/a"},
        {"https://host:/a", "https://host/a", "https://host/a"},
        {"http://host:80/a", "http://host/a", "http://host/a"},
        {"git://host:9418/a", "git://host/a", "git://host/a"},
        {"ssh://git@host:22/a.git", "ssh://git@host/a", "ssh://git@host/a.git"},
        {"git+ssh://git@host/a", "ssh://git@host/a", "ssh://git@host/a"},
        {"ssh://git@[2001:DB8::1]:22/a/./b", "ssh://git@[2001:db8::1]/a/b", "ssh://git@[2001:db8::1]/a/b"},
        {"https://host/%7ea/b%2fc", "https://host/~a/b%2Fc", "https://host/~a/b%2Fc"},
        {"https://host/a%20b", "https://host/a%20b", "https://host/a%20b"},
        {"https://host/\xc3\xa4", "https://host/%C3%A4", "https://host/%C3%A4"},
        {"https://host/%c3%a4", "https://host/%C3%A4", "https://host/%C3%A4"},
        {"git@github.com:a/b.git", "ssh://git@github.com/a/b", "git@github.com:a/b.git"},
        {"git@GitHub.com:/a/b", "ssh://git@github.com/a/b", "ssh://git@github.com/a/b"},
        {"host:a", "ssh://host/~/a", "host:a"},
        {"me@host:a/b.git", "ssh://me@host/~/a/b", "me@host:a/b.git"},
        {"me@host:~other/b", "ssh://me@host/~other/b", "me@host:~other/b"},
        {"git@[2001:DB8::1]:a/b.git", "ssh://git@[2001:db8::1]/a/b", "git@[2001:DB8::1]:a/b.git"},
        {"[::1]:/a", "ssh://[::1]/a", "ssh://[::1]/a"},
        {"[git@host:2222]:a/b", "ssh://git@host:2222/a/b", "[git@host:2222]:a/b"},
        {"[git@host:22]:/a/b.git", "ssh://git@host/a/b", "ssh://git@host/a/b.git"},
        {"[host:2222]:a", "ssh://host:2222/~/a", "[host:2222]:a"},
        {"git@host:a/@b/c", "ssh://git@host/a/@b/c", "git@host:a/@b/c"},
        {"https://host/Case/Counts", "https://host/Case/Counts", "https://host/Case/Counts"},
        {"https://host/a/.git", "https://host/a/.git", "https://host/a/.git"},
        {"https://host/a/..git", "https://host/a/..git", "https://host/a/..git"},
        {"https://host/a/...git.git/", "https://host/a/...git", "https://host/a/...git.git"},
        {"https://host/a.git.git", "https://host/a", "https://host/a.git.git"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        expect(rows[i][0], rows[i][1], rows[i][2]);
        expect(rows[i][1], rows[i][1], rows[i][1]);
    }
}

static void an_address_in_its_spelling_stays_as_it_is(void **state) {
    (void)state;
    static const char *const given[] = {"https://github.com/a/b", "ssh://git@github.com/a/b",
                                        "ssh://me@host/~/a", "https://host/b%2Fc%25",
                                        "ssh://git@[2001:db8::1]:23/a"};
    for (size_t i = 0; i < LENGTH(given); i++)
        expect(given[i], given[i], given[i]);
}

static void paths_are_left_to_the_driver(void **state) {
    (void)state;
    static const char *const rows[][2] = {{"/srv/a.git", "/srv/a.git"},
                                          {"file:///srv/a", "/srv/a"},
                                          {"FILE:///srv/a", "/srv/a"},
                                          {"../a", "../a"},
                                          {"a", "a"},
                                          {"./a:b", "./a:b"},
                                          {"a/b:c", "a/b:c"},
                                          {"/with a blank", "/with a blank"}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct ts_address parsed;
        assert_int_equal(ts_address_parse(ts_bytes_of_cstring(rows[i][0]), &parsed), TS_ADDRESS_OK);
        assert_true(parsed.is_path);
        assert_string_equal(text_of(ts_fixed_buf_read(&parsed.text)), rows[i][1]);
    }
}

static void an_impossible_target_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *given;
        enum ts_address_error error;
    } rows[] = {
        {"", TS_ADDRESS_EMPTY},
        {"-oProxyCommand=x:y", TS_ADDRESS_DASH},
        {"--upload-pack=x", TS_ADDRESS_DASH},
        {"https://user:hunter2@host/a", TS_ADDRESS_CREDENTIALS},
        {"https://ghp_token@host/a", TS_ADDRESS_CREDENTIALS},
        {"https://@host/a", TS_ADDRESS_CREDENTIALS},
        {"ssh://git:hunter2@host/a", TS_ADDRESS_CREDENTIALS},
        {"me:hunter2@host:a", TS_ADDRESS_CREDENTIALS},
        {"https://a@b@host/a", TS_ADDRESS_CREDENTIALS},
        {"https:/me:hunter2@host/a", TS_ADDRESS_CREDENTIALS},
        {"https:me:hunter2@host/a", TS_ADDRESS_CREDENTIALS},
        {"ssh:/git:hunter2@host/a", TS_ADDRESS_CREDENTIALS},
        {"me:hunter/2@host:a", TS_ADDRESS_CREDENTIALS},
        {"[git:hunter2@host:22]:a", TS_ADDRESS_CREDENTIALS},
        {"https:/host/a", TS_ADDRESS_SCHEME},
        {"HTTP:host/a", TS_ADDRESS_SCHEME},
        {"file:/srv/a", TS_ADDRESS_SCHEME},
        {"ext::sh", TS_ADDRESS_SCHEME},
        {"ftp://host/a", TS_ADDRESS_SCHEME},
        {"://host/a", TS_ADDRESS_SCHEME},
        {"https:///a", TS_ADDRESS_HOST},
        {"https://-host/a", TS_ADDRESS_HOST},
        {"https://a..b/a", TS_ADDRESS_HOST},
        {"https://a../a", TS_ADDRESS_HOST},
        {"https://h\xc3\xb6st/a", TS_ADDRESS_HOST},
        {"https://[::1/a", TS_ADDRESS_HOST},
        {"https://[::1%25eth0]/a", TS_ADDRESS_HOST},
        {"file://host/a", TS_ADDRESS_HOST},
        {"https://host:0/a", TS_ADDRESS_PORT},
        {"https://host:65536/a", TS_ADDRESS_PORT},
        {"https://host:x/a", TS_ADDRESS_PORT},
        {"https://[::1]x/a", TS_ADDRESS_PORT},
        {"[git@host:0]:a", TS_ADDRESS_PORT},
        {"git@[::1:a", TS_ADDRESS_HOST},
        {"git@[::1]x:a", TS_ADDRESS_HOST},
        {"[]:a", TS_ADDRESS_HOST},
        {"[git@[::1]:22]:a", TS_ADDRESS_HOST},
        {"https://host", TS_ADDRESS_PATH},
        {"https://host/./", TS_ADDRESS_PATH},
        {"git@host:", TS_ADDRESS_PATH},
        {"file://", TS_ADDRESS_PATH},
        {"https://host/a/../b", TS_ADDRESS_PARENT},
        {"https://host/a/%2e%2E/b", TS_ADDRESS_PARENT},
        {"https://host/a%zz", TS_ADDRESS_ESCAPE},
        {"https://host/a%4", TS_ADDRESS_ESCAPE},
        {"https://host/a%00", TS_ADDRESS_ESCAPE},
        {"https://host/a?b", TS_ADDRESS_QUERY},
        {"https://host/a#b", TS_ADDRESS_QUERY},
        {"https://host/a b", TS_ADDRESS_CHARACTER},
        {"https://host/a\nb", TS_ADDRESS_CHARACTER},
        {"https://host\\@evil/a", TS_ADDRESS_CHARACTER},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct ts_address parsed;
        memset(&parsed, 0x55, sizeof parsed);
        struct ts_address before = parsed;
        enum ts_address_error error = ts_address_parse(ts_bytes_of_cstring(rows[i].given), &parsed);
        if (error != rows[i].error)
            fail_msg("%s %s", rows[i].given, ts_address_error_text(error));
        assert_memory_equal(&parsed, &before, sizeof parsed);
    }
}

/* Escapes make an address longer, so the limit applies to the result. */
static void an_address_has_a_longest_form(void **state) {
    (void)state;
    char given[TS_ADDRESS_MAX + 2];
    struct ts_address parsed;
    (void)snprintf(given, sizeof given, "https://host/%0*d", TS_ADDRESS_MAX - 13, 0);
    assert_int_equal(strlen(given), TS_ADDRESS_MAX);
    assert_int_equal(ts_address_parse(ts_bytes_of_cstring(given), &parsed), TS_ADDRESS_OK);
    assert_int_equal(ts_address_parse(ts_bytes_of(given, strlen(given) + 1), &parsed), TS_ADDRESS_TOO_LONG);
    memset(given + 13, '|', TS_ADDRESS_MAX - 13);
    assert_int_equal(ts_address_parse(ts_bytes_of_cstring(given), &parsed), TS_ADDRESS_TOO_LONG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_repository_has_one_spelling),
        cmocka_unit_test(an_address_in_its_spelling_stays_as_it_is),
        cmocka_unit_test(paths_are_left_to_the_driver),
        cmocka_unit_test(an_impossible_target_is_refused),
        cmocka_unit_test(an_address_has_a_longest_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
