#include "sinks.h"

#include "base/number.h"
#include "os/private_ini.h"

#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 65536 };

static const struct ts_private_ini_words words = {.section = "name",
                                                  .form = "a name of 1 to 32 bytes is written as [name]"};

/* ---- URLs ---- */

static bool is_this_machine(const char *host, size_t len) {
    static const char *const names[] = {"localhost", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == len && memcmp(host, names[i], len) == 0)
            return true;
    /* Only digits and dots may follow, so that a name such as 127.example.org does not count. */
    return len > 4 && memcmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") >= len;
}

const char *notify__check_url(const char *url, bool allow_http) {
    static const char https[] = "https://", http[] = "http://";
    const bool is_https = strncmp(url, https, sizeof https - 1) == 0;
    const bool is_http = strncmp(url, http, sizeof http - 1) == 0;
    if (!is_https && !is_http)
        return "the URL must begin with https://";
    const char *host = url + (is_https ? sizeof https : sizeof http) - 1;
    const size_t authority = strcspn(host, "/?#");
    if (memchr(host, '@', authority) != NULL)
        return "the URL has a user or password; use secret-file, or a path that is hard to guess";
    const size_t len = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/?#");
    if (len == 0 || len > authority || strpbrk(url, " \t\"<>\\") != NULL)
        return "the URL is not valid";
    if (is_http && !allow_http && !is_this_machine(host, len))
        return "the URL must begin with https://; 'allow-http = yes' allows http";
    return NULL;
}

/* ---- lines ---- */

static bool add_sink(struct notify__sinks *sinks, const struct ts_private_ini_item *item,
                     struct ts_private_error *ret_error) {
    if (strlen(item->name) > TS_NOTIFY_NAME_MAX)
        return ts_private_refuse(ret_error, "line %u: %s", item->line, words.form);
    if (sinks->count == TS_NOTIFY_SINKS)
        return ts_private_refuse(ret_error, "line %u: there are more than %d parts", item->line,
                                 TS_NOTIFY_SINKS);
    sinks->list[sinks->count++] = (struct ts_notify_sink){
        .name = item->name, .confidence = TS_CONFIDENCE_MEDIUM, .timeout_s = TS_NOTIFY_TIMEOUT_S};
    return true;
}

/* Sets a field of the sink. Returns NULL, or why the value is wrong. */
static const char *set(struct ts_notify_sink *sink, const char *key, const char *value) {
    const struct ts_bytes bytes = ts_bytes_of_cstring(value);
    if (strcmp(key, "webhook") == 0)
        sink->webhook = value;
    else if (strcmp(key, "command") == 0)
        sink->command = value;
    else if (strcmp(key, "secret-file") == 0)
        sink->secret_file = value;
    else if (strcmp(key, "ca") == 0)
        sink->ca = value;
    else if (strcmp(key, "allow-http") == 0) {
        sink->allow_http = strcmp(value, "yes") == 0;
        return sink->allow_http || strcmp(value, "no") == 0 ? NULL : "allow-http is yes or no";
    } else if (strcmp(key, "severity") == 0)
        return ts_severity_parse(bytes, &sink->severity) ? NULL : "severity is low, medium, high or critical";
    else if (strcmp(key, "confidence") == 0)
        return ts_confidence_parse(bytes, &sink->confidence) ? NULL : "confidence is low, medium or high";
    else if (strcmp(key, "timeout") == 0)
        return ts_u32_parse(bytes, &sink->timeout_s) == TS_NUMBER_OK && sink->timeout_s >= 1 &&
                       sink->timeout_s <= TS_NOTIFY_TIMEOUT_MAX_S
                   ? NULL
                   : "timeout is a number of seconds from 1 to 300";
    else
        return "unknown key; use webhook, secret-file, ca, allow-http, command, severity, confidence or timeout";
    return NULL;
}

static bool add_setting(struct notify__sinks *sinks, const struct ts_private_ini_item *item,
                        struct ts_private_error *ret_error) {
    const char *wrong = set(&sinks->list[sinks->count - 1], item->name, item->value);
    return wrong == NULL || ts_private_refuse(ret_error, "line %u: %s", item->line, wrong);
}

static bool check(const struct ts_notify_sink *sink, struct ts_private_error *ret_error) {
    if ((sink->webhook == NULL) == (sink->command == NULL))
        return ts_private_refuse(ret_error, "[%s] needs either a webhook or a command", sink->name);
    if (sink->command != NULL)
        return (sink->secret_file == NULL && sink->ca == NULL && !sink->allow_http) ||
               ts_private_refuse(ret_error, "[%s]: secret-file, ca and allow-http are for webhooks",
                                 sink->name);
    const char *wrong = notify__check_url(sink->webhook, sink->allow_http);
    if (wrong != NULL)
        return ts_private_refuse(ret_error, "[%s]: %s", sink->name, wrong);
    if (sink->secret_file == NULL)
        return ts_private_refuse(ret_error, "[%s]: secret-file is missing; webhooks are signed", sink->name);
    if (sink->ca != NULL && access(sink->ca, R_OK) != 0)
        return ts_private_refuse(ret_error, "[%s]: the file in 'ca' cannot be read", sink->name);
    return true;
}

static bool parse(struct notify__sinks *sinks, struct ts_private_ini *ini,
                  struct ts_private_error *ret_error) {
    struct ts_private_ini_item item;
    enum ts_private_ini_result result;
    while ((result = ts_private_ini_next(ini, &item, ret_error)) < TS_PRIVATE_INI_END)
        if (result == TS_PRIVATE_INI_SECTION ? !add_sink(sinks, &item, ret_error)
                                             : !add_setting(sinks, &item, ret_error))
            return false;
    if (result == TS_PRIVATE_INI_WRONG)
        return false;
    for (size_t i = 0; i < sinks->count; i++)
        if (!check(&sinks->list[i], ret_error))
            return false;
    return sinks->count > 0 ||
           ts_private_refuse(ret_error,
                             "names no receiver; add one, such as [team] with a webhook or a command");
}

bool notify__sinks_load(const char *path, struct notify__sinks *ret_sinks,
                        struct ts_private_error *ret_error) {
    struct notify__sinks sinks = {0};
    const struct ts_private_file_options options = {.max = FILE_MAX, .is_text = true};
    if (!ts_private_file_read(path, &options, &sinks.file, ret_error))
        return false;
    struct ts_private_ini ini = {.file = &sinks.file, .words = &words};
    const bool done = parse(&sinks, &ini, ret_error);
    ts_private_ini_release(&ini);
    if (done)
        *ret_sinks = sinks;
    else
        notify__sinks_release(&sinks);
    return done;
}

void notify__sinks_release(struct notify__sinks *sinks) {
    ts_private_file_release(&sinks->file);
    *sinks = (struct notify__sinks){0};
}
