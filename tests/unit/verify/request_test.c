#include "request.h"

#include "support/cmocka.h"

static const char bearer[] = "Authorization: Bearer {{secret}}";
static const char basic[] = "Authorization: Basic {{basic}}";
static const char accept[] = "Accept: application/json";
static const char ok_text[] = "\"ok\":true";
static const char bad_text[] = "invalid_auth";
static const char gone_text[] = "token_revoked";

static struct ts_rule_request rule_with(const char *const *headers, size_t count) {
    return (struct ts_rule_request){.method = "POST",
                                    .url = "https://api.example:8443/bot{{secret}}/me?again={{secret}}",
                                    .headers = {.texts = headers, .count = count},
                                    .body = "token={{secret}}&x=1",
                                    .live = {.statuses = {200}, .count = 1},
                                    .revoked = {.statuses = {401}, .count = 1}};
}

static void a_secret_is_encoded_for_its_place(void **state) {
    (void)state;
    const char *const headers[] = {bearer, basic, accept};
    struct ts_rule_request rule = rule_with(headers, 3);
    struct ts_verify_request request;
    assert_int_equal(ts_verify_request_make(&rule, TS_BYTES("a/b&c=d"), &request), TS_VERIFY_MADE);
    assert_string_equal(request.url, "https://api.example:8443/bota%2Fb%26c%3Dd/me?again=a%2Fb%26c%3Dd");
    assert_string_equal(request.headers[0], "Authorization: Bearer a/b&c=d");
    assert_string_equal(request.headers[1], "Authorization: Basic YS9iJmM9ZDo=");
    assert_string_equal(request.headers[2], "Accept: application/json");
    assert_string_equal(request.body, "token=a%2Fb%26c%3Dd&x=1");
    ts_verify_request_release(&request);
    assert_null(request.url);
    ts_verify_request_release(&request);
}

static void base64_is_padded_for_every_length(void **state) {
    (void)state;
    static const struct {
        const char *secret;
        const char *header;
    } rows[] = {
        {"", "Authorization: Basic Og=="},
        {"a", "Authorization: Basic YTo="},
        {"ab", "Authorization: Basic YWI6"},
        {"abc", "Authorization: Basic YWJjOg=="},
    };
    const char *const headers[] = {basic};
    struct ts_rule_request rule = rule_with(headers, 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ts_verify_request request;
        assert_int_equal(ts_verify_request_make(&rule, ts_bytes_of_cstring(rows[i].secret), &request),
                         TS_VERIFY_MADE);
        assert_string_equal(request.headers[0], rows[i].header);
        ts_verify_request_release(&request);
    }
}

static void bytes_that_would_break_a_header_are_not_sent(void **state) {
    (void)state;
    const char *const headers[] = {bearer};
    const char *const others[] = {basic};
    struct ts_rule_request rule = rule_with(headers, 1);
    struct ts_rule_request encoded = rule_with(others, 1);
    struct ts_verify_request request;
    assert_int_equal(ts_verify_request_make(&rule, TS_BYTES("a\r\nHost: b"), &request), TS_VERIFY_UNSENDABLE);
    assert_int_equal(ts_verify_request_make(&rule, TS_BYTES("a\xc3\xa9"), &request), TS_VERIFY_UNSENDABLE);
    assert_int_equal(ts_verify_request_make(&encoded, TS_BYTES("a\r\n"), &request), TS_VERIFY_MADE);
    assert_string_equal(request.headers[0], "Authorization: Basic YQ0KOg==");
    assert_string_equal(request.body, "token=a%0D%0A&x=1");
    ts_verify_request_release(&request);
}

static void a_shown_request_has_the_redacted_secret_as_it_is(void **state) {
    (void)state;
    const char *const headers[] = {bearer, basic};
    struct ts_rule_request rule = rule_with(headers, 2);
    struct ts_verify_request request;
    assert_int_equal(ts_verify_request_show(&rule, "gh\u2026x", &request), TS_VERIFY_MADE);
    assert_string_equal(request.url, "https://api.example:8443/botgh\u2026x/me?again=gh\u2026x");
    assert_string_equal(request.headers[1], "Authorization: Basic gh\u2026x");
    ts_verify_request_release(&request);
}

static void the_host_ends_at_the_path(void **state) {
    (void)state;
    struct ts_rule_request rule = {.url = "https://api.example:8443/bot{{secret}}"};
    struct ts_rule_request bare = {.url = "https://api.example"};
    assert_true(ts_bytes_equal(ts_verify_host(&rule), TS_BYTES("api.example:8443")));
    assert_true(ts_bytes_equal(ts_verify_host(&bare), TS_BYTES("api.example")));
}

static void only_an_answer_that_means_one_thing_is_a_verdict(void **state) {
    (void)state;
    const char *const live[] = {ok_text};
    const char *const revoked[] = {bad_text, gone_text};
    struct ts_rule_request rule = rule_with(NULL, 0);
    assert_int_equal(ts_verify_judge(&rule, 200, TS_BYTES("")), TS_VERDICT_LIVE);
    assert_int_equal(ts_verify_judge(&rule, 401, TS_BYTES("x")), TS_VERDICT_REVOKED);
    assert_int_equal(ts_verify_judge(&rule, 500, TS_BYTES("")), TS_VERDICT_UNKNOWN);
    rule.live.texts = (struct ts_rule_texts){.texts = live, .count = 1};
    rule.revoked =
        (struct ts_rule_answer){.statuses = {200, 401}, .count = 2, .texts = {.texts = revoked, .count = 2}};
    assert_int_equal(ts_verify_judge(&rule, 200, TS_BYTES("{\"ok\":true}")), TS_VERDICT_LIVE);
    assert_int_equal(ts_verify_judge(&rule, 200, TS_BYTES("token_revoked")), TS_VERDICT_REVOKED);
    assert_int_equal(ts_verify_judge(&rule, 200, TS_BYTES("{\"ok\":true} invalid_auth")), TS_VERDICT_UNKNOWN);
    assert_int_equal(ts_verify_judge(&rule, 200, TS_BYTES("maintenance")), TS_VERDICT_UNKNOWN);
    assert_int_equal(ts_verify_judge(&rule, 200, TS_BYTES("")), TS_VERDICT_UNKNOWN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_is_encoded_for_its_place),
        cmocka_unit_test(base64_is_padded_for_every_length),
        cmocka_unit_test(bytes_that_would_break_a_header_are_not_sent),
        cmocka_unit_test(a_shown_request_has_the_redacted_secret_as_it_is),
        cmocka_unit_test(the_host_ends_at_the_path),
        cmocka_unit_test(only_an_answer_that_means_one_thing_is_a_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
