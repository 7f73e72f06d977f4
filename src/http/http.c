#include "http.h"

#include "pace.h"
#include "transfer.h"

#include "os/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_OF_S  UINT64_C(1000000000)
/* A waiting client checks the stop flag at this interval. */
#define SLICE_NS UINT64_C(20000000)

struct ts_http {
    struct ts_http_options options;
    struct http_pace pace;
    struct http_transfer *transfer;
};

struct ts_http *ts_http_new(const struct ts_http_options *options, struct ts_http_error *ret_error) {
    struct ts_http *http = calloc(1, sizeof *http);
    if (!http) {
        snprintf(ret_error->text, sizeof ret_error->text, "out of memory");
        return NULL;
    }
    http->options = *options;
    http__pace_init(&http->pace, NS_OF_S / options->per_second);
    http->transfer = http__transfer_new(options, ret_error);
    if (!http->transfer) {
        free(http);
        return NULL;
    }
    return http;
}

void ts_http_free(struct ts_http *http) {
    if (http)
        http__transfer_free(http->transfer);
    free(http);
}

static bool is_stopped(const struct ts_http *http) {
    return http->options.stop && atomic_load(http->options.stop);
}

/* Waits until a time. Returns false if the stop flag ended the wait. */
static bool wait_until(const struct ts_http *http, uint64_t until_ns) {
    for (uint64_t now_ns = ts_clock_monotonic_ns(); now_ns < until_ns; now_ns = ts_clock_monotonic_ns()) {
        if (is_stopped(http))
            return false;
        uint64_t rest_ns = until_ns - now_ns;
        struct timespec slice = {.tv_nsec = (long)(rest_ns < SLICE_NS ? rest_ns : SLICE_NS)};
        nanosleep(&slice, NULL);
    }
    return !is_stopped(http);
}

static struct ts_bytes host_of(const char *url) {
    const char *host = strstr(url, "://");
    host = host ? host + strlen("://") : url;
    return ts_bytes_of(host, strcspn(host, "/"));
}

bool ts_http_is_too_often(const struct ts_http_answer *answer) {
    return answer->status == 429 ||
           ((answer->status == 403 || answer->status == 503) && answer->retry_after_s > 0);
}

struct ts_http_answer ts_http_ask(struct ts_http *http, const struct ts_http_request *request) {
    struct ts_bytes host = host_of(request->url);
    for (unsigned repeats = 0;; repeats++) {
        if (!wait_until(http, http__pace_take(&http->pace, host, ts_clock_monotonic_ns())))
            return (struct ts_http_answer){.problem = HTTP_STOPPED};
        struct ts_http_answer answer = http__transfer_send(http->transfer, request);
        bool is_worth_it = answer.retry_after_s > 0 && answer.retry_after_s <= http->options.pause_max_s;
        if (!ts_http_is_too_often(&answer) || repeats == http->options.repeats || !is_worth_it)
            return answer;
        http__pace_hold(&http->pace, host, ts_clock_monotonic_ns() + answer.retry_after_s * NS_OF_S);
    }
}
