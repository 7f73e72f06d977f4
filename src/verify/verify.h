/*
 * Asks issuers whether secrets work, over HTTPS, one request after the other.
 *
 * Only requests from rules of the program or of the user are sent, and only to the host of their URL: TLS
 * with a verified certificate, no redirects, no cookies, a limit on time and on the size of the answer.
 * Neither requests nor answers are logged, and no error text contains a part of them.
 */
#ifndef TS_VERIFY_VERIFY_H
#define TS_VERIFY_VERIFY_H

#include "http/http.h"
#include "verify/request.h"

#include <stdatomic.h>

struct ts_verifier_options {
    unsigned per_second;     /* limit of requests to one host, at least 1 */
    unsigned timeout_s;      /* timeout of one request, at least 1 */
    const char *ca_file;     /* certificates to trust instead of the system's; NULL: the system's */
    const atomic_bool *stop; /* when it is true, a running request or wait ends soon; NULL: never */
};

struct ts_verify_result {
    enum ts_verdict verdict;
    long status;  /* HTTP status of the answer; 0: no answer */
    char why[96]; /* for UNKNOWN: the reason, safe to print; otherwise "" */
};

/* Makes a client with the limits for asking issuers; the caller frees the client with ts_http_free. Returns
 * NULL when the HTTP library cannot be loaded or memory runs out. Copies the options, but borrows the data
 * that they point to. */
struct ts_http *ts_verifier_new(const struct ts_verifier_options *options, struct ts_http_error *ret_error);

/* Waits until the host may be asked, and asks. If the issuer asks for a pause, waits and asks again, once.
 * The caller decides whether to trust the rule. */
struct ts_verify_result ts_verifier_ask(struct ts_http *http, const struct ts_rule_request *rule,
                                        struct ts_bytes secret);

#endif
