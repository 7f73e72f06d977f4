#include "transfer.h"

#include "curl_late.h"

#include "base/number.h"
#include "os/clock.h"
#include "turnstone/version.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct http_transfer {
    CURL *curl;
    struct ts_http_options options;
    char agent[48];
    char *body; /* buffer of body_max bytes */
    size_t body_len;
    size_t body_used; /* length of the longest body so far; http__transfer_free zeroes these bytes */
};

/* ---- opening ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_ready;

static void prepare_curl(void) {
    is_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

struct http_transfer *http__transfer_new(const struct ts_http_options *options,
                                         struct ts_http_error *ret_error) {
    if (!ts_late_library_load(&http__curl_library)) {
        snprintf(ret_error->text, sizeof ret_error->text, "%s cannot be loaded (%s); install the package %s",
                 http__curl_library.what, http__curl_library.why_not, http__curl_library.package);
        return NULL;
    }
    pthread_once(&once, prepare_curl);
    struct http_transfer *transfer = calloc(1, sizeof *transfer);
    if (transfer) {
        transfer->curl = is_ready ? curl_easy_init() : NULL;
        transfer->body = malloc(options->body_max);
    }
    if (!transfer || !transfer->curl || !transfer->body) {
        http__transfer_free(transfer);
        snprintf(ret_error->text, sizeof ret_error->text,
                 "the HTTP library cannot be started; memory may be short");
        return NULL;
    }
    transfer->options = *options;
    snprintf(transfer->agent, sizeof transfer->agent, "turnstone/%.32s", ts_version());
    return transfer;
}

void http__transfer_free(struct http_transfer *transfer) {
    if (!transfer)
        return;
    if (transfer->curl)
        curl_easy_cleanup(transfer->curl);
    if (transfer->body)
        explicit_bzero(transfer->body, transfer->body_used);
    free(transfer->body);
    free(transfer);
}

/* ---- one request ---- */

/* Stores a part of the body. If the part does not fit, stores its beginning and ends the transfer; the answer
 * then says that its body is cut. */
static size_t keep_body(char *data, size_t size, size_t count, void *context) {
    struct http_transfer *transfer = context;
    size_t len = size * count;
    size_t room = transfer->options.body_max - transfer->body_len;
    size_t kept = len < room ? len : room;
    memcpy(transfer->body + transfer->body_len, data, kept);
    transfer->body_len += kept;
    if (transfer->body_used < transfer->body_len)
        transfer->body_used = transfer->body_len;
    return kept;
}

static int look_for_stop(void *context, curl_off_t to_load, curl_off_t loaded, curl_off_t to_send,
                         curl_off_t sent) {
    const struct http_transfer *transfer = context;
    (void)to_load;
    (void)loaded;
    (void)to_send;
    (void)sent;
    return transfer->options.stop && atomic_load(transfer->options.stop);
}

static bool set_text(CURL *curl, CURLoption option, const char *text) {
    return curl_easy_setopt(curl, option, text) == CURLE_OK;
}

static bool set_number(CURL *curl, CURLoption option, long number) {
    return curl_easy_setopt(curl, option, number) == CURLE_OK;
}

/* Sets every limit. If one cannot be set, no request is sent. */
static bool set_limits(struct http_transfer *transfer) {
    CURL *curl = transfer->curl;
    return set_text(curl, CURLOPT_PROTOCOLS_STR, transfer->options.plain ? "https,http" : "https") &&
           set_number(curl, CURLOPT_FOLLOWLOCATION, 0) && set_number(curl, CURLOPT_SSL_VERIFYPEER, 1) &&
           set_number(curl, CURLOPT_SSL_VERIFYHOST, 2) &&
           set_number(curl, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2) &&
           (!transfer->options.ca_file || set_text(curl, CURLOPT_CAINFO, transfer->options.ca_file)) &&
           set_number(curl, CURLOPT_TIMEOUT, (long)transfer->options.timeout_s) &&
           set_number(curl, CURLOPT_NOSIGNAL, 1) && set_number(curl, CURLOPT_NOPROGRESS, 0) &&
           curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_for_stop) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_body) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer) == CURLE_OK;
}

static bool set_request(struct http_transfer *transfer, const struct ts_http_request *request,
                        const struct curl_slist *headers) {
    CURL *curl = transfer->curl;
    bool is_head = strcmp(request->method, "HEAD") == 0;
    bool is_post = strcmp(request->method, "POST") == 0;
    return set_text(curl, CURLOPT_URL, request->url) && set_text(curl, CURLOPT_USERAGENT, transfer->agent) &&
           curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
           (!is_head || set_number(curl, CURLOPT_NOBODY, 1)) &&
           (!is_post || set_text(curl, CURLOPT_POSTFIELDS, request->body));
}

/* Returns the text for an error. The library's own texts are not used, because they may contain the URL. */
static const char *problem_of(CURLcode code) {
    static const struct {
        CURLcode code;
        const char *text;
    } texts[] = {
        {CURLE_COULDNT_RESOLVE_HOST, "the name of the host cannot be resolved; check the network"},
        {CURLE_COULDNT_RESOLVE_PROXY, "the name of the proxy cannot be resolved; check HTTPS_PROXY"},
        {CURLE_COULDNT_CONNECT, "no connection to the host; check the network and HTTPS_PROXY"},
        {CURLE_OPERATION_TIMEDOUT, "no answer in time; try again later, or raise the timeout"},
        {CURLE_PEER_FAILED_VERIFICATION,
         "the certificate cannot be verified; if the host has its own CA, name the certificate of the CA"},
        {CURLE_SSL_CACERT_BADFILE, "the file with the certificate of the CA cannot be read"},
        {CURLE_SSL_CONNECT_ERROR, "the TLS handshake failed"},
        {CURLE_ABORTED_BY_CALLBACK, HTTP_STOPPED},
        {CURLE_OUT_OF_MEMORY, "out of memory"},
        {CURLE_GOT_NOTHING, "the answer is empty"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].code == code)
            return texts[i].text;
    return "the request failed, or the answer is not HTTP";
}

static bool read_header(CURL *curl, const char *name, uint64_t *ret_number) {
    struct curl_header *header;
    return curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK &&
           ts_u64_parse(ts_bytes_of_cstring(header->value), ret_number) == TS_NUMBER_OK;
}

/* Returns the pause that the host asks for: the value of Retry-After, or the time until an exhausted rate
 * limit is reset. Forges use two families of headers for rate limits. */
static uint64_t pause_of(CURL *curl) {
    static const char *const names[][2] = {{"X-RateLimit-Remaining", "X-RateLimit-Reset"},
                                           {"RateLimit-Remaining", "RateLimit-Reset"}};
    curl_off_t retry_after_s = 0;
    if (curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after_s) == CURLE_OK && retry_after_s > 0)
        return (uint64_t)retry_after_s;
    uint64_t now_s = ts_clock_wall_ms() / 1000;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint64_t remaining, reset_s;
        if (read_header(curl, names[i][0], &remaining) && remaining == 0 &&
            read_header(curl, names[i][1], &reset_s))
            return reset_s > now_s ? reset_s - now_s : 1;
    }
    return 0;
}

static struct ts_http_answer perform(struct http_transfer *transfer) {
    CURLcode code = curl_easy_perform(transfer->curl);
    bool is_cut = code == CURLE_WRITE_ERROR && transfer->body_len == transfer->options.body_max;
    if (code != CURLE_OK && !is_cut)
        return (struct ts_http_answer){.problem = problem_of(code)};
    struct ts_http_answer answer = {.body = ts_bytes_of(transfer->body, transfer->body_len),
                                    .is_cut = is_cut};
    if (curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &answer.status) != CURLE_OK ||
        answer.status == 0)
        return (struct ts_http_answer){.problem = "the answer is not HTTP"};
    answer.retry_after_s = pause_of(transfer->curl);
    return answer;
}

struct ts_http_answer http__transfer_send(struct http_transfer *transfer,
                                          const struct ts_http_request *request) {
    struct curl_slist *headers = NULL;
    struct ts_http_answer answer = {.problem = "out of memory"};
    transfer->body_len = 0;
    curl_easy_reset(transfer->curl); /* connections stay open */
    for (size_t i = 0; i < request->header_count; i++) {
        struct curl_slist *longer = curl_slist_append(headers, request->headers[i]);
        if (!longer)
            goto done;
        headers = longer;
    }
    if (set_limits(transfer) && set_request(transfer, request, headers))
        answer = perform(transfer);
done:
    for (struct curl_slist *each = headers; each; each = each->next)
        explicit_bzero(each->data, strlen(each->data));
    curl_slist_free_all(headers);
    return answer;
}
