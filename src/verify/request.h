/*
 * A rule's request with a secret in it. Pure functions make the request, and interpret an answer.
 */
#ifndef TS_VERIFY_REQUEST_H
#define TS_VERIFY_REQUEST_H

#include "detect/rule.h"

#include <stdbool.h>
#include <stddef.h>

#define TS_VERDICTS(X)                                                                                       \
    X(LIVE, "live")                                                                                          \
    X(REVOKED, "revoked")                                                                                    \
    X(UNKNOWN, "unknown")

#define TS_VERDICT_ENUM(suffix, text) TS_VERDICT_##suffix,
enum ts_verdict { TS_VERDICTS(TS_VERDICT_ENUM) };
#undef TS_VERDICT_ENUM

const char *ts_verdict_name(enum ts_verdict verdict);

struct ts_verify_request {
    const char *method; /* borrowed from the rule */
    char *url;
    char **headers;
    size_t header_count;
    char *body; /* "" if there is none */
};

enum ts_verify_made {
    TS_VERIFY_MADE,
    TS_VERIFY_UNSENDABLE, /* the secret has bytes that are not allowed in a header */
    TS_VERIFY_NO_MEMORY,
};

/* Makes a request with the secret. If the request is made, the caller releases it. */
enum ts_verify_made ts_verify_request_make(const struct ts_rule_request *rule, struct ts_bytes secret,
                                           struct ts_verify_request *ret_request);

/* Makes a request as text for people, with the redacted secret in place of the secret. */
enum ts_verify_made ts_verify_request_show(const struct ts_rule_request *rule, const char *redacted,
                                           struct ts_verify_request *ret_request);

/* Overwrites and frees the texts of the request, which contain the secret. Accepts a request that was never
 * made ({0}). */
void ts_verify_request_release(struct ts_verify_request *request);

/* Returns the host of a rule's URL, with its port if there is one. */
struct ts_bytes ts_verify_host(const struct ts_rule_request *rule);

/* Returns the meaning of an answer. The body may be truncated; a text after the cut is not found. */
enum ts_verdict ts_verify_judge(const struct ts_rule_request *rule, long status, struct ts_bytes body);

#endif
