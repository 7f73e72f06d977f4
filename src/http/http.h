/*
 * A client for HTTPS: waits until the host may be asked, sends a request, and repeats the request if the host
 * asks for a pause.
 *
 * TLS with a verified certificate, no redirects, no cookies; limits on the time and on the size of an answer.
 * Neither requests nor answers are logged, and no error text contains a part of them.
 */
#ifndef TS_HTTP_HTTP_H
#define TS_HTTP_HTTP_H

#include "base/bytes.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ts_http_options {
    unsigned per_second;     /* limit of requests per second to one host, at least 1 */
    unsigned timeout_s;      /* timeout of one request, at least 1 */
    const char *ca_file;     /* certificates to trust instead of the system's; NULL: the system's */
    const atomic_bool *stop; /* when it is set, a request or a wait ends soon; NULL: never */
    size_t body_max;         /* limit on the bytes of an answer's body; further bytes are not read */
    unsigned pause_max_s;    /* if a host asks for a longer pause, the request is not repeated */
    unsigned repeats;        /* limit of repeats of one request after pauses */
    bool plain;              /* also allows http:// URLs; the caller decides for which hosts */
};

struct ts_http_request {
    const char *method; /* GET, HEAD or POST */
    const char *url;
    char *const *headers;
    size_t header_count;
    const char *body; /* body of the request, used for POST */
};

struct ts_http_answer {
    long status;            /* 0: no answer, and `problem` says why */
    const char *problem;    /* static text that is safe to print */
    uint64_t retry_after_s; /* the pause that the host asks for; 0: none */
    struct ts_bytes body;   /* bytes of the body, borrowed until the next request */
    bool is_cut;            /* the body is longer than the limit */
};

/* One line that is safe to print. */
struct ts_http_error {
    char text[240];
};

struct ts_http;

/* Returns NULL if the HTTP library cannot be loaded or started, or if memory runs out. Copies the options, but
 * borrows the memory that they point to. */
struct ts_http *ts_http_new(const struct ts_http_options *options, struct ts_http_error *ret_error);
void ts_http_free(struct ts_http *http); /* accepts NULL */

struct ts_http_answer ts_http_ask(struct ts_http *http, const struct ts_http_request *request);

/* Returns whether the host asks for fewer requests. */
bool ts_http_is_too_often(const struct ts_http_answer *answer);

#endif
