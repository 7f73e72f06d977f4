#include "http.h"

#include "curl_late.h"

#include "turnstone/version.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct verify_http {
    CURL *curl;
    struct ts_verifier_options options;
    char agent[48];
    size_t body_len;
    char body[VERIFY_BODY_MAX];
};

/* ---- opening ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_ready;

static void prepare_curl(void) {
    is_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

struct verify_http *verify__http_new(const struct ts_verifier_options *options,
                                     struct ts_verify_error *ret_error) {
    if (!ts_late_library_load(&verify__curl_library)) {
        snprintf(ret_error->text, sizeof ret_error->text, "%s cannot be loaded (%s); install the package %s",
                 verify__curl_library.what, verify__curl_library.why_not, verify__curl_library.package);
        return NULL;
    }
    pthread_once(&once, prepare_curl);
    struct verify_http *http = calloc(1, sizeof *http);
    if (http)
        http->curl = is_ready ? curl_easy_init() : NULL;
    if (!http || !http->curl) {
        free(http);
        snprintf(ret_error->text, sizeof ret_error->text,
                 "the HTTP library cannot be started; memory may be short");
        return NULL;
    }
    http->options = *options;
    snprintf(http->agent, sizeof http->agent, "turnstone/%.32s", ts_version());
    return http;
}

void verify__http_free(struct verify_http *http) {
    if (!http)
        return;
    curl_easy_cleanup(http->curl);
    explicit_bzero(http->body, sizeof http->body);
    free(http);
}

/* ---- one request ---- */

/* Ends the transfer when the buffer is full: that is enough to judge. */
static size_t keep_body(char *data, size_t size, size_t count, void *context) {
    struct verify_http *http = context;
    size_t len = size * count;
    size_t room = sizeof http->body - http->body_len;
    size_t kept = len < room ? len : room;
    memcpy(http->body + http->body_len, data, kept);
    http->body_len += kept;
    return kept;
}

static int look_for_stop(void *context, curl_off_t to_load, curl_off_t loaded, curl_off_t to_send,
                         curl_off_t sent) {
    const struct verify_http *http = context;
    (void)to_load;
    (void)loaded;
    (void)to_send;
    (void)sent;
    return http->options.stop && atomic_load(http->options.stop);
}

static bool set_text(CURL *curl, CURLoption option, const char *text) {
    return curl_easy_setopt(curl, option, text) == CURLE_OK;
}

static bool set_number(CURL *curl, CURLoption option, long number) {
    return curl_easy_setopt(curl, option, number) == CURLE_OK;
}

/* Sets every limit. If one cannot be set, no request is sent. */
static bool set_limits(struct verify_http *http) {
    CURL *curl = http->curl;
    return set_text(curl, CURLOPT_PROTOCOLS_STR, "https") && set_number(curl, CURLOPT_FOLLOWLOCATION, 0) &&
           set_number(curl, CURLOPT_SSL_VERIFYPEER, 1) && set_number(curl, CURLOPT_SSL_VERIFYHOST, 2) &&
           set_number(curl, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2) &&
           (!http->options.ca_file || set_text(curl, CURLOPT_CAINFO, http->options.ca_file)) &&
           set_number(curl, CURLOPT_TIMEOUT, (long)http->options.timeout_s) &&
           set_number(curl, CURLOPT_NOSIGNAL, 1) && set_number(curl, CURLOPT_NOPROGRESS, 0) &&
           curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_for_stop) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_XFERINFODATA, http) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_body) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEDATA, http) == CURLE_OK;
}

static bool set_request(struct verify_http *http, const struct ts_verify_request *request,
                        const struct curl_slist *headers) {
    CURL *curl = http->curl;
    bool is_head = strcmp(request->method, "HEAD") == 0;
    bool is_post = strcmp(request->method, "POST") == 0;
    return set_text(curl, CURLOPT_URL, request->url) && set_text(curl, CURLOPT_USERAGENT, http->agent) &&
           curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
           (!is_head || set_number(curl, CURLOPT_NOBODY, 1)) &&
           (!is_post || set_text(curl, CURLOPT_POSTFIELDS, request->body));
}

/* Our own texts: those of the library may contain the URL. */
static const char *problem_of(CURLcode code) {
    static const struct {
        CURLcode code;
        const char *text;
    } texts[] = {
        {CURLE_COULDNT_RESOLVE_HOST, "the name of the host cannot be resolved; check the network"},
        {CURLE_COULDNT_RESOLVE_PROXY, "the name of the proxy cannot be resolved; check HTTPS_PROXY"},
        {CURLE_COULDNT_CONNECT, "no connection to the host; check the network and HTTPS_PROXY"},
        {CURLE_OPERATION_TIMEDOUT, "no answer in time; --timeout allows more"},
        {CURLE_PEER_FAILED_VERIFICATION, "the certificate cannot be verified; --ca names other certificates"},
        {CURLE_SSL_CACERT_BADFILE, "the file of --ca cannot be read"},
        {CURLE_SSL_CONNECT_ERROR, "the TLS handshake failed"},
        {CURLE_ABORTED_BY_CALLBACK, "stopped"},
        {CURLE_OUT_OF_MEMORY, "out of memory"},
        {CURLE_GOT_NOTHING, "the answer is empty"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].code == code)
            return texts[i].text;
    return "the request failed, or the answer is not HTTP";
}

static struct verify_answer perform(struct verify_http *http) {
    CURLcode code = curl_easy_perform(http->curl);
    bool is_full = code == CURLE_WRITE_ERROR && http->body_len == sizeof http->body;
    if (code != CURLE_OK && !is_full)
        return (struct verify_answer){.problem = problem_of(code)};
    struct verify_answer answer = {.body = ts_bytes_of(http->body, http->body_len)};
    curl_off_t retry_after_s = 0;
    if (curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &answer.status) != CURLE_OK ||
        answer.status == 0)
        return (struct verify_answer){.problem = "the answer is not HTTP"};
    if (curl_easy_getinfo(http->curl, CURLINFO_RETRY_AFTER, &retry_after_s) == CURLE_OK && retry_after_s > 0)
        answer.retry_after_s = (uint64_t)retry_after_s;
    return answer;
}

struct verify_answer verify__http_send(struct verify_http *http, const struct ts_verify_request *request) {
    struct curl_slist *headers = NULL;
    struct verify_answer answer = {.problem = "out of memory"};
    http->body_len = 0;
    curl_easy_reset(http->curl); /* connections stay open */
    for (size_t i = 0; i < request->header_count; i++) {
        struct curl_slist *longer = curl_slist_append(headers, request->headers[i]);
        if (!longer)
            goto done;
        headers = longer;
    }
    if (set_limits(http) && set_request(http, request, headers))
        answer = perform(http);
done:
    for (struct curl_slist *each = headers; each; each = each->next)
        explicit_bzero(each->data, strlen(each->data));
    curl_slist_free_all(headers);
    return answer;
}
