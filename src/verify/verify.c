#include "verify.h"

#include "http.h"
#include "pace.h"

#include "os/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NS_OF_S     UINT64_C(1000000000)
/* A wait checks this often whether to stop. */
#define SLICE_NS    UINT64_C(20000000)
/* An issuer that wants a longer pause is not asked again. */
#define PAUSE_MAX_S 30

struct ts_verifier {
    struct ts_verifier_options options;
    struct verify_pace pace;
    struct verify_http *http;
};

struct ts_verifier *ts_verifier_new(const struct ts_verifier_options *options,
                                    struct ts_verify_error *ret_error) {
    struct ts_verifier *verifier = calloc(1, sizeof *verifier);
    if (!verifier) {
        snprintf(ret_error->text, sizeof ret_error->text, "out of memory");
        return NULL;
    }
    verifier->options = *options;
    verify__pace_init(&verifier->pace, NS_OF_S / options->per_second);
    verifier->http = verify__http_new(options, ret_error);
    if (!verifier->http) {
        free(verifier);
        return NULL;
    }
    return verifier;
}

void ts_verifier_free(struct ts_verifier *verifier) {
    if (verifier)
        verify__http_free(verifier->http);
    free(verifier);
}

static bool is_stopped(const struct ts_verifier *verifier) {
    return verifier->options.stop && atomic_load(verifier->options.stop);
}

/* Returns false when it was stopped. */
static bool wait_until(const struct ts_verifier *verifier, uint64_t until_ns) {
    for (uint64_t now_ns = ts_clock_monotonic_ns(); now_ns < until_ns; now_ns = ts_clock_monotonic_ns()) {
        if (is_stopped(verifier))
            return false;
        uint64_t rest_ns = until_ns - now_ns;
        struct timespec slice = {.tv_nsec = (long)(rest_ns < SLICE_NS ? rest_ns : SLICE_NS)};
        nanosleep(&slice, NULL);
    }
    return !is_stopped(verifier);
}

static struct ts_verify_result unknown(long status, const char *why) {
    struct ts_verify_result result = {.verdict = TS_VERDICT_UNKNOWN, .status = status};
    snprintf(result.why, sizeof result.why, "%s", why);
    return result;
}

static bool is_too_often(const struct verify_answer *answer) {
    return answer->status == 429 || (answer->status == 503 && answer->retry_after_s > 0);
}

static struct ts_verify_result judge(const struct ts_rule_request *rule, const struct verify_answer *answer) {
    if (answer->status == 0)
        return unknown(0, answer->problem);
    enum ts_verdict verdict = ts_verify_judge(rule, answer->status, answer->body);
    if (verdict != TS_VERDICT_UNKNOWN)
        return (struct ts_verify_result){.verdict = verdict, .status = answer->status};
    if (is_too_often(answer))
        return unknown(answer->status, "the issuer asks for fewer requests; try again later");
    if (answer->status >= 300 && answer->status < 400)
        return unknown(answer->status, "a redirect, which is never followed");
    return unknown(answer->status, "an answer that the rule does not know");
}

static struct ts_verify_result ask(struct ts_verifier *verifier, const struct ts_rule_request *rule,
                                   const struct ts_verify_request *request) {
    struct ts_bytes host = ts_verify_host(rule);
    for (bool is_second = false;; is_second = true) {
        if (!wait_until(verifier, verify__pace_take(&verifier->pace, host, ts_clock_monotonic_ns())))
            return unknown(0, "stopped");
        struct verify_answer answer = verify__http_send(verifier->http, request);
        bool is_worth_it = answer.retry_after_s > 0 && answer.retry_after_s <= PAUSE_MAX_S;
        if (!is_too_often(&answer) || is_second || !is_worth_it)
            return judge(rule, &answer);
        verify__pace_hold(&verifier->pace, host, ts_clock_monotonic_ns() + answer.retry_after_s * NS_OF_S);
    }
}

struct ts_verify_result ts_verifier_ask(struct ts_verifier *verifier, const struct ts_rule_request *rule,
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
    struct ts_verify_result result = ask(verifier, rule, &request);
    ts_verify_request_release(&request);
    return result;
}
