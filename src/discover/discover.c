#include "discover/discover.h"

#include "answer.h"
#include "forge.h"
#include "tokens.h"

#include "http/http.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BODY_MAX = 4 << 20, /* a page of 100 repositories has about 600 kB */
    PAGES_MAX = 1000,
    PAUSE_MAX_S = 60,
    REPEATS = 5, /* limit of repeats of the request for one page */
};

bool ts_discover_is_request(const char *text) {
    return discover__forge_of(text) != NULL;
}

const char *ts_discover_check(const char *request) {
    struct discover_request parsed;
    return discover__request_parse(request, &parsed);
}

void ts_discovered_release(struct ts_discovered *list) {
    free(list->addresses); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion) */
    ts_arena_release(&list->arena);
    *list = (struct ts_discovered){0};
}

/* ---- what went wrong ---- */

__attribute__((format(printf, 3, 4))) static enum ts_discover_result
fail(struct ts_discover_error *ret_error, enum ts_discover_result result, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(ret_error->text, sizeof ret_error->text, format, arguments);
    va_end(arguments);
    return result;
}

/* Returns the error for an answer whose status is not 200. */
static enum ts_discover_result refused(const struct ts_http_answer *answer, bool has_token,
                                       struct ts_discover_error *ret_error) {
    const char *cure = has_token ? "" : ", or name a file with tokens by --tokens";
    if (answer->status == 0)
        return fail(ret_error, TS_DISCOVER_FAILED, "the forge cannot be asked: %s", answer->problem);
    if (ts_http_is_too_often(answer) && answer->retry_after_s > 0)
        return fail(ret_error, TS_DISCOVER_FAILED, "the forge limits requests; try again in %llu s%s",
                    (unsigned long long)answer->retry_after_s, cure);
    if (ts_http_is_too_often(answer))
        return fail(ret_error, TS_DISCOVER_FAILED, "the forge limits requests; try again later%s", cure);
    if (answer->status == 401 || answer->status == 403)
        return fail(ret_error, TS_DISCOVER_FAILED,
                    has_token ? "the forge refuses the token (status %ld); check what it may read"
                              : "the forge wants a token (status %ld); name a file with tokens by --tokens",
                    answer->status);
    if (answer->status == 404)
        return fail(ret_error, TS_DISCOVER_WRONG,
                    "the forge knows no such owner; check the name, and what the token may read");
    if (answer->status >= 300 && answer->status < 400)
        return fail(ret_error, TS_DISCOVER_WRONG,
                    "the forge redirects (status %ld), which is never followed; check the host and the owner",
                    answer->status);
    return fail(ret_error, TS_DISCOVER_FAILED, "the forge answers with status %ld; try again later",
                answer->status);
}

static enum ts_discover_result judge(enum discover_page_result result, struct ts_discover_error *ret_error) {
    static const char *const texts[] = {
        [DISCOVER_PAGE_NOT_JSON] = "an answer that is not JSON; check the host",
        [DISCOVER_PAGE_OTHER] =
            "JSON that is not a list of repositories; check the host and the forge's kind",
        [DISCOVER_PAGE_NAME] = "a repository name with characters that no forge allows; check the host",
        [DISCOVER_PAGE_OWNER] = "a repository of another owner; check the name of the owner",
        [DISCOVER_PAGE_REPEATED] = "the same page again; check the host and the forge's kind",
    };
    switch (result) {
    case DISCOVER_PAGE_OK:
        return TS_DISCOVER_OK;
    case DISCOVER_PAGE_NO_MEMORY:
        return fail(ret_error, TS_DISCOVER_NO_MEMORY, "out of memory");
    case DISCOVER_PAGE_NOT_JSON:
    case DISCOVER_PAGE_OTHER:
    case DISCOVER_PAGE_NAME:
    case DISCOVER_PAGE_OWNER:
    case DISCOVER_PAGE_REPEATED:
        break;
    }
    return fail(ret_error, TS_DISCOVER_FAILED, "the forge sends %s", texts[result]);
}

/* ---- asking ---- */

/* The requests to one forge, and their headers. */
struct talk {
    struct ts_http *http;
    const struct discover_request *request;
    char token_header[DISCOVER_TOKEN_MAX + 64]; /* header with the token; "": no token */
    char header[64];
    char *headers[2];
    size_t header_count;
};

static bool make_url(const struct talk *talk, const char *path, unsigned page, char *ret_url, size_t size) {
    const struct discover_forge *forge = talk->request->forge;
    const bool is_own = forge->own_api && strcmp(talk->request->host, forge->own_host) == 0;
    char number[16], template[512];
    (void)snprintf(number, sizeof number, "%u", page);
    (void)snprintf(template, sizeof template, "%s%s", is_own ? forge->own_api : forge->api, path);
    const struct discover_values values = {
        .host = talk->request->host, .owner = talk->request->owner, .page = number};
    return discover__fill(template, &values, ret_url, size);
}

static struct ts_http_answer ask(struct talk *talk, const char *path, unsigned page) {
    char url[2048];
    if (!make_url(talk, path, page, url, sizeof url))
        return (struct ts_http_answer){.problem = "the address of the page is too long"};
    const struct ts_http_request request = {.method = "GET",
                                            .url = url,
                                            .headers = talk->headers,
                                            .header_count = talk->header_count,
                                            .body = ""};
    return ts_http_ask(talk->http, &request);
}

static enum ts_discover_result read_pages(struct talk *talk, struct discover_pages *pages,
                                          struct ts_discover_error *ret_error) {
    const struct discover_forge *forge = talk->request->forge;
    const char *path = forge->organisation;
    enum ts_discover_result result = TS_DISCOVER_OK;
    for (unsigned page = 1; result == TS_DISCOVER_OK && !pages->is_last; page++) {
        if (page > PAGES_MAX)
            return fail(ret_error, TS_DISCOVER_FAILED,
                        "the forge sends more than %d pages; ask for parts, such as subgroups", PAGES_MAX);
        struct ts_http_answer answer = ask(talk, path, page);
        if (answer.status == 404 && page == 1 && forge->user) {
            path = forge->user;
            answer = ask(talk, path, page);
        }
        if (answer.status != 200)
            return refused(&answer, talk->token_header[0] != '\0', ret_error);
        if (answer.is_cut)
            return fail(ret_error, TS_DISCOVER_FAILED,
                        "the forge sends a page of more than %d MiB; check the host", BODY_MAX >> 20);
        result = judge(discover__page_read(pages, answer.body), ret_error);
    }
    return result;
}

static enum ts_discover_result begin(struct talk *talk, const struct ts_discover_options *options,
                                     struct ts_discover_error *ret_error) {
    char token[DISCOVER_TOKEN_MAX + 1];
    enum ts_discover_result result =
        discover__token_find(options->tokens_file, talk->request, token, ret_error);
    if (result == TS_DISCOVER_OK && token[0] != '\0') {
        (void)discover__fill(talk->request->forge->token_header, &(struct discover_values){.token = token},
                             talk->token_header, sizeof talk->token_header);
        talk->headers[talk->header_count++] = talk->token_header;
    }
    explicit_bzero(token, sizeof token);
    if (talk->request->forge->header) {
        (void)snprintf(talk->header, sizeof talk->header, "%s", talk->request->forge->header);
        talk->headers[talk->header_count++] = talk->header;
    }
    if (result != TS_DISCOVER_OK)
        return result;
    struct ts_http_error error;
    talk->http = ts_http_new(&(struct ts_http_options){.per_second = options->per_second,
                                                       .timeout_s = options->timeout_s,
                                                       .ca_file = options->ca_file,
                                                       .stop = options->stop,
                                                       .body_max = BODY_MAX,
                                                       .pause_max_s = PAUSE_MAX_S,
                                                       .repeats = REPEATS},
                             &error);
    return talk->http ? TS_DISCOVER_OK : fail(ret_error, TS_DISCOVER_FAILED, "%s", error.text);
}

enum ts_discover_result ts_discover(const struct ts_discover_options *options, const char *request,
                                    struct ts_discovered *list, struct ts_discover_error *ret_error) {
    struct discover_request parsed;
    const char *why = discover__request_parse(request, &parsed);
    if (why)
        return fail(ret_error, TS_DISCOVER_WRONG, "the request %s", why);
    struct talk talk = {.request = &parsed};
    struct discover_pages pages = {.options = options, .request = &parsed, .list = list};
    enum ts_discover_result result = begin(&talk, options, ret_error);
    if (result == TS_DISCOVER_OK)
        result = read_pages(&talk, &pages, ret_error);
    ts_http_free(talk.http);
    explicit_bzero(&talk, sizeof talk);
    return result;
}
