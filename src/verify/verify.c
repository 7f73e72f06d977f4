#include "verify.h"

#include <stdio.h>

/* Maximum number of bytes of an answer: enough to judge the answer. */
#define BODY_MAX    ((size_t)64 << 10)
/* An issuer that asks for a longer pause is not asked again. */
#define PAUSE_MAX_S 30

struct ts_http *ts_verifier_new(const struct ts_verifier_options *options, struct ts_http_error *ret_error) {
    return ts_http_new(&(struct ts_http_options){.per_second = options->per_second,
                                                 .timeout_s = options->timeout_s,
                                                 .ca_file = options->ca_file,
                                                 .stop = options->stop,
                                                 .body_max = BODY_MAX,
                                                 .pause_max_s = PAUSE_MAX_S,
                                                 .repeats = 1},
                       ret_error);
}

static struct ts_verify_result unknown(long status, const char *why) {
    struct ts_verify_result result = {.verdict = TS_VERDICT_UNKNOWN, .status = status};
    snprintf(result.why, sizeof result.why, "%s", why);
    return result;
}

static struct ts_verify_result judge(const struct ts_rule_request *rule,
                                     const struct ts_http_answer *answer) {
    if (answer->status == 0)
        return unknown(0, answer->problem);
    enum ts_verdict verdict = ts_verify_judge(rule, answer->status, answer->body);
    if (verdict != TS_VERDICT_UNKNOWN)
        return (struct ts_verify_result){.verdict = verdict, .status = answer->status};
    if (ts_http_is_too_often(answer))
        return unknown(answer->status, "the issuer asks for fewer requests; try again later");
    if (answer->status >= 300 && answer->status < 400)
        return unknown(answer->status, "a redirect; redirects are never followed");
    return unknown(answer->status, "an answer that the rule does not know");
}

struct ts_verify_result ts_verifier_ask(struct ts_http *http, const struct ts_rule_request *rule,
                                        struct ts_bytes secret) {
    struct ts_verify_request request = {0};
    switch (ts_verify_request_make(rule, secret, &request)) {
    case TS_VERIFY_NO_MEMORY:
        return unknown(0, "out of memory");
    case TS_VERIFY_UNSENDABLE:
        return unknown(0, "the secret has bytes that a header cannot have");
    case TS_VERIFY_MADE:
        break;
    }
    const struct ts_http_request sent = {.method = request.method,
                                         .url = request.url,
                                         .headers = request.headers,
                                         .header_count = request.header_count,
                                         .body = request.body};
    const struct ts_http_answer answer = ts_http_ask(http, &sent);
    struct ts_verify_result result = judge(rule, &answer);
    ts_verify_request_release(&request);
    return result;
}
