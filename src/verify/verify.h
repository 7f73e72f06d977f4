/*
 * Asking issuers whether secrets work, over HTTPS, one request after the other.
 *
 * Only what a rule of the program or of the user says is sent, and only to the host of its URL: TLS with a verified
 * certificate, no redirects, no cookies, a limit on time and on the size of the answer. Nothing of a request or of an
 * answer is logged, and no text that comes out of here contains either.
 */
#ifndef TS_VERIFY_VERIFY_H
#define TS_VERIFY_VERIFY_H

#include "verify/request.h"

#include <stdatomic.h>

struct ts_verifier_options {
    unsigned per_second;     /* requests to one host, at least 1 */
    unsigned timeout_s;      /* for one request, at least 1 */
    const char *ca_file;     /* certificates to trust instead of the system's; NULL: the system's */
    const atomic_bool *stop; /* ends a request and every wait soon after it is set; NULL: never */
};

/* One line, safe to print. */
struct ts_verify_error {
    char text[240];
};

struct ts_verify_result {
    enum ts_verdict verdict;
    long status;  /* of the answer; 0: there was none */
    char why[96]; /* of UNKNOWN: safe to print; otherwise "" */
};

struct ts_verifier;

/* NULL when the HTTP library cannot be loaded or memory runs out. The options are copied; what they point to is borrowed. */
struct ts_verifier *ts_verifier_new(const struct ts_verifier_options *options,
                                    struct ts_verify_error *ret_error);
void ts_verifier_free(struct ts_verifier *verifier); /* takes NULL */

/* Waits for its turn, asks, and asks once more when the issuer says when. Whether the rule may be trusted is the
 * caller's to decide. */
struct ts_verify_result ts_verifier_ask(struct ts_verifier *verifier, const struct ts_rule_request *rule,
                                        struct ts_bytes secret);

#endif
