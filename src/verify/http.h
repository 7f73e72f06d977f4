/* One request over HTTPS, by libcurl. */
#ifndef TS_VERIFY_HTTP_H
#define TS_VERIFY_HTTP_H

#include "verify/verify.h"

#include <stdint.h>

/* The limit on the bytes of an answer; the rest is not read. */
#define VERIFY_BODY_MAX ((size_t)64 << 10)

struct verify_http;

struct verify_answer {
    long status;            /* 0: no answer, and `problem` says why */
    const char *problem;    /* static text */
    uint64_t retry_after_s; /* 0: the answer has none */
    struct ts_bytes body;   /* borrowed until the next request */
};

struct verify_http *verify__http_new(const struct ts_verifier_options *options,
                                     struct ts_verify_error *ret_error);
void verify__http_free(struct verify_http *http); /* accepts NULL */

struct verify_answer verify__http_send(struct verify_http *http, const struct ts_verify_request *request);

#endif
