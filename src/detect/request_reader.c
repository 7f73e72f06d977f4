#include "request_reader.h"

#include "rule_reader.h"

#include "base/number.h"

#include <string.h>

enum { HEADER_MAX = 512, TEXT_MAX = 256, STATUS_MIN = 100, STATUS_MAX = 599 };

/* Apart from the places of the secret, the URL may have only these characters, which all clients interpret in
 * the same way. */
static const char url_characters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?&=%,+@";
static const char host_characters[] = "abcdefghijklmnopqrstuvwxyz0123456789-.:";
static const char header_name_characters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-";

static bool is_url(const char *url) {
    static const char scheme[] = "https://";
    if (strncmp(url, scheme, sizeof scheme - 1) != 0)
        return false;
    const char *host = url + sizeof scheme - 1;
    size_t host_len = strspn(host, host_characters);
    if (host_len == 0 || (host[host_len] != '/' && host[host_len] != '\0'))
        return false;
    for (const char *rest = host + host_len; *rest != '\0';) {
        if (strncmp(rest, TS_RULE_SECRET, sizeof TS_RULE_SECRET - 1) == 0)
            rest += sizeof TS_RULE_SECRET - 1;
        else if (strchr(url_characters, *rest))
            rest++;
        else
            return false;
    }
    return true;
}

/* Returns whether the header has the form "Name: value" in printable ASCII. */
static bool is_header(const char *header) {
    size_t name_len = strspn(header, header_name_characters);
    if (name_len == 0 || header[name_len] != ':' || header[name_len + 1] != ' ')
        return false;
    for (const char *at = header; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            return false;
    return true;
}

static bool is_known_method(const char *method) {
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 || strcmp(method, "POST") == 0;
}

static void read_statuses(struct detect_yaml *yaml, yaml_node_t *node, const char *field,
                          struct ts_rule_answer *answer) {
    size_t count = detect__yaml_count(yaml, node, field);
    if (count > TS_RULE_STATUSES_MAX) {
        detect__yaml_fail(yaml, detect__yaml_line(node), field, "at most %d", TS_RULE_STATUSES_MAX);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        yaml_node_t *item = detect__yaml_item(yaml, node, i);
        struct ts_bytes text = {0};
        uint32_t status = 0;
        if (!detect__yaml_scalar(yaml, item, field, &text))
            continue;
        if (ts_u32_parse(text, &status) != TS_NUMBER_OK || status < STATUS_MIN || status > STATUS_MAX)
            detect__yaml_fail(yaml, detect__yaml_line(item), field,
                              "each item must be an HTTP status from %d to %d", STATUS_MIN, STATUS_MAX);
        answer->statuses[answer->count++] = (uint16_t)status;
    }
}

static bool do_answers_differ(const struct ts_rule_request *request) {
    const struct ts_rule_answer *live = &request->live;
    const struct ts_rule_answer *revoked = &request->revoked;
    for (size_t i = 0; i < live->count; i++)
        for (size_t k = 0; k < revoked->count; k++)
            if (live->statuses[i] == revoked->statuses[k] &&
                (live->texts.count == 0 || revoked->texts.count == 0))
                return false;
    return true;
}

static bool has_secret(const struct ts_rule_request *request) {
    if (strstr(request->url, TS_RULE_SECRET) || strstr(request->body, TS_RULE_SECRET))
        return true;
    for (size_t i = 0; i < request->headers.count; i++)
        if (strstr(request->headers.texts[i], TS_RULE_SECRET) ||
            strstr(request->headers.texts[i], TS_RULE_BASIC))
            return true;
    return false;
}

static void check(struct detect_yaml *yaml, yaml_node_t *node, const struct ts_rule_request *request) {
    unsigned line = detect__yaml_line(node);
    if (!is_known_method(request->method))
        detect__yaml_fail(yaml, line, "verify method", "must be GET, HEAD or POST");
    if (!is_url(request->url))
        detect__yaml_fail(yaml, line, "verify url",
                          "must begin with https:// and a host in lower case; " TS_RULE_SECRET
                          " may come after the host");
    for (size_t i = 0; i < request->headers.count; i++)
        if (!is_header(request->headers.texts[i]))
            detect__yaml_fail(yaml, line, "verify headers",
                              "item %zu must be 'Name: value' in printable ASCII", i + 1);
    if (request->body[0] != '\0' && strcmp(request->method, "POST") != 0)
        detect__yaml_fail(yaml, line, "verify body", "needs 'method: POST'");
    if (!has_secret(request))
        detect__yaml_fail(yaml, line, "verify",
                          "does not send the secret; put " TS_RULE_SECRET
                          " into the URL, a header or the body");
    if (request->live.count == 0)
        detect__yaml_fail(yaml, line, "verify live", "is missing; list the statuses of a secret that works");
    if (!do_answers_differ(request))
        detect__yaml_fail(
            yaml, line, "verify",
            "one status means both live and revoked; distinguish them with live-texts and revoked-texts");
}

const struct ts_rule_request *detect__request_read(struct detect_yaml *yaml, yaml_node_t *node) {
    static const char *const names[] = {"method", "url",     "headers",    "body",
                                        "live",   "revoked", "live-texts", "revoked-texts"};
    static const struct detect_text_limits text_limits = {1, TEXT_MAX};
    size_t problems_before = yaml->problems;
    if (!node ||
        !detect__yaml_mapping(yaml, node, "a request under 'verify'", names, sizeof names / sizeof names[0]))
        return NULL;
    struct ts_rule_request *request = ts_arena_take(yaml->arena, sizeof *request);
    if (!request) {
        detect__yaml_fail(yaml, detect__yaml_line(node), "verify", "out of memory");
        return NULL;
    }
    request->method = detect__read_text(yaml, node, "method", false);
    if (request->method[0] == '\0')
        request->method = "GET";
    request->url = detect__read_text(yaml, node, "url", true);
    request->headers = detect__read_texts(yaml, detect__yaml_get(yaml, node, "headers"), "verify headers",
                                          (struct detect_text_limits){1, HEADER_MAX});
    request->body = detect__read_text(yaml, node, "body", false);
    read_statuses(yaml, detect__yaml_get(yaml, node, "live"), "verify live", &request->live);
    read_statuses(yaml, detect__yaml_get(yaml, node, "revoked"), "verify revoked", &request->revoked);
    request->live.texts = detect__read_texts(yaml, detect__yaml_get(yaml, node, "live-texts"),
                                             "verify live-texts", text_limits);
    request->revoked.texts = detect__read_texts(yaml, detect__yaml_get(yaml, node, "revoked-texts"),
                                                "verify revoked-texts", text_limits);
    check(yaml, node, request);
    return yaml->problems == problems_before ? request : NULL;
}
