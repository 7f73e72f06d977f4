#include "request.h"

#include "base/base64.h"
#include "base/hex.h"

#include <stdlib.h>
#include <string.h>

const char *ts_verdict_name(enum ts_verdict verdict) {
#define NAME(suffix, text) [TS_VERDICT_##suffix] = text,
    static const char *const names[] = {TS_VERDICTS(NAME)};
#undef NAME
    return names[verdict];
}

/* ---- putting a secret into a template ---- */

enum place { IN_URL, IN_HEADER, IN_BODY, SHOWN };

static char *put_percent(char *to, struct ts_bytes secret) {
    for (size_t i = 0; i < secret.len; i++)
        to += ts_percent_encode(secret.data[i], to);
    return to;
}

/* Writes the base64 of "SECRET:". */
static char *put_basic(char *to, struct ts_bytes secret) {
    const size_t rest = secret.len % 3, whole = secret.len - rest;
    uint8_t last[3] = {0};
    if (rest > 0)
        memcpy(last, secret.data + whole, rest);
    last[rest] = ':';
    to = ts_base64_encode(ts_bytes_first(secret, whole), to);
    to = ts_base64_encode(ts_bytes_of(last, rest + 1), to);
    explicit_bzero(last, sizeof last);
    return to;
}

static char *put_plain(char *to, struct ts_bytes text) {
    if (text.len > 0)
        memcpy(to, text.data, text.len);
    return to + text.len;
}

static char *put_secret(char *to, struct ts_bytes secret, enum place place) {
    switch (place) {
    case IN_URL:
    case IN_BODY:
        return put_percent(to, secret);
    case IN_HEADER:
    case SHOWN:
        return put_plain(to, secret);
    }
    return to;
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + strlen(part), part))
        count++;
    return count;
}

/* Returns a template with the secret inserted; NULL when memory runs out. */
static char *fill(const char *template, struct ts_bytes secret, enum place place) {
    static const size_t secret_len = sizeof TS_RULE_SECRET - 1, basic_len = sizeof TS_RULE_BASIC - 1;
    size_t places = count_of(template, TS_RULE_SECRET) + count_of(template, TS_RULE_BASIC);
    /* Percent-encoding turns one byte into three. Base64 needs less; the 8 bytes are for its colon and
     * padding. */
    char *made = malloc(strlen(template) + places * (3 * secret.len + 8) + 1);
    if (!made)
        return NULL;
    char *to = made;
    for (const char *from = template; *from != '\0';) {
        bool is_basic = strncmp(from, TS_RULE_BASIC, basic_len) == 0;
        if (strncmp(from, TS_RULE_SECRET, secret_len) == 0) {
            to = put_secret(to, secret, place);
            from += secret_len;
        } else if (is_basic) {
            to = place == SHOWN ? put_plain(to, secret) : put_basic(to, secret);
            from += basic_len;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    return made;
}

/* ---- requests ---- */

static enum ts_verify_made make(const struct ts_rule_request *rule, struct ts_bytes secret, bool is_shown,
                                struct ts_verify_request *ret_request) {
    struct ts_verify_request request = {.method = rule->method,
                                        .url = fill(rule->url, secret, is_shown ? SHOWN : IN_URL),
                                        .body = fill(rule->body, secret, is_shown ? SHOWN : IN_BODY)};
    request.headers = calloc(rule->headers.count + 1, sizeof *request.headers);
    bool is_whole = request.url && request.body && request.headers;
    for (size_t i = 0; is_whole && i < rule->headers.count; i++) {
        request.headers[i] = fill(rule->headers.texts[i], secret, is_shown ? SHOWN : IN_HEADER);
        is_whole = request.headers[i] != NULL;
        request.header_count = i + 1;
    }
    if (!is_whole) {
        ts_verify_request_release(&request);
        return TS_VERIFY_NO_MEMORY;
    }
    *ret_request = request;
    return TS_VERIFY_MADE;
}

static bool is_fit_for_headers(struct ts_bytes secret) {
    for (size_t i = 0; i < secret.len; i++)
        if (secret.data[i] < ' ' || secret.data[i] > '~')
            return false;
    return true;
}

static bool do_headers_have(const struct ts_rule_request *rule, const char *part) {
    for (size_t i = 0; i < rule->headers.count; i++)
        if (strstr(rule->headers.texts[i], part))
            return true;
    return false;
}

enum ts_verify_made ts_verify_request_make(const struct ts_rule_request *rule, struct ts_bytes secret,
                                           struct ts_verify_request *ret_request) {
    if (do_headers_have(rule, TS_RULE_SECRET) && !is_fit_for_headers(secret))
        return TS_VERIFY_UNSENDABLE;
    return make(rule, secret, false, ret_request);
}

enum ts_verify_made ts_verify_request_show(const struct ts_rule_request *rule, const char *redacted,
                                           struct ts_verify_request *ret_request) {
    return make(rule, ts_bytes_of_cstring(redacted), true, ret_request);
}

static void forget(char *text) {
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void ts_verify_request_release(struct ts_verify_request *request) {
    forget(request->url);
    forget(request->body);
    for (size_t i = 0; i < request->header_count; i++)
        forget(request->headers[i]);
    free(request->headers);
    *request = (struct ts_verify_request){0};
}

struct ts_bytes ts_verify_host(const struct ts_rule_request *rule) {
    const char *host = rule->url + strlen("https://");
    return ts_bytes_of(host, strcspn(host, "/"));
}

/* ---- answers ---- */

static bool is_answer(const struct ts_rule_answer *answer, long status, struct ts_bytes body) {
    bool is_status = false;
    for (size_t i = 0; i < answer->count; i++)
        is_status = is_status || answer->statuses[i] == status;
    bool has_text = answer->texts.count == 0;
    for (size_t i = 0; i < answer->texts.count && body.len > 0; i++)
        has_text = has_text || memmem(body.data, body.len, answer->texts.texts[i],
                                      strlen(answer->texts.texts[i])) != NULL;
    return is_status && has_text;
}

enum ts_verdict ts_verify_judge(const struct ts_rule_request *rule, long status, struct ts_bytes body) {
    bool is_live = is_answer(&rule->live, status, body);
    bool is_revoked = is_answer(&rule->revoked, status, body);
    if (is_live == is_revoked)
        return TS_VERDICT_UNKNOWN;
    return is_live ? TS_VERDICT_LIVE : TS_VERDICT_REVOKED;
}
