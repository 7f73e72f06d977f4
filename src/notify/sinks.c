#include "sinks.h"

#include "base/number.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 65536 };

__attribute__((format(printf, 2, 3))) static bool refuse(struct ts_notify_error *error, const char *format,
                                                         ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- files ---- */

static const char *check_owner(int fd, size_t max) {
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || (size_t)status.st_size > max)
        return "is not a file, or is too large";
    if (status.st_uid != 0 && status.st_uid != geteuid())
        return "belongs to another user; it must be yours, or root's";
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return "can be used by others; run 'chmod 600' on it";
    return NULL;
}

char *notify__read_private(const char *path, size_t max, size_t *ret_size, const char **ret_why) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    *ret_why = fd < 0 ? "cannot be opened" : check_owner(fd, max);
    char *text = *ret_why == NULL ? malloc(max + 1) : NULL;
    size_t size = 0;
    for (ssize_t count = 1; text != NULL && count > 0 && size<max; size += count> 0 ? (size_t)count : 0)
        count = read(fd, text + size, max - size);
    if (fd >= 0)
        (void)close(fd);
    if (text == NULL) {
        *ret_why = *ret_why != NULL ? *ret_why : "cannot be read: out of memory";
        return NULL;
    }
    text[size] = '\0';
    *ret_size = size;
    return text;
}

/* ---- URLs ---- */

static bool is_this_machine(const char *host, size_t len) {
    static const char *const names[] = {"localhost", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == len && memcmp(host, names[i], len) == 0)
            return true;
    /* Only digits and dots, so that no name such as 127.example.org counts. */
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

static char *trim(char *text) {
    text += strspn(text, " \t");
    size_t len = strlen(text);
    while (len > 0 && strchr(" \t\r", text[len - 1]) != NULL)
        text[--len] = '\0';
    return text;
}

static bool add_sink(struct notify__sinks *sinks, char *name, unsigned line,
                     struct ts_notify_error *ret_error) {
    const size_t len = strlen(name);
    if (len < 3 || name[len - 1] != ']' || len - 2 > TS_NOTIFY_NAME_MAX)
        return refuse(ret_error, "line %u: a name of 1 to 32 bytes is written as [name]", line);
    name[len - 1] = '\0';
    for (size_t i = 0; i < sinks->count; i++)
        if (strcmp(sinks->list[i].name, name + 1) == 0)
            return refuse(ret_error, "line %u: the name occurs twice", line);
    if (sinks->count == TS_NOTIFY_SINKS)
        return refuse(ret_error, "line %u: there are more than %d parts", line, TS_NOTIFY_SINKS);
    sinks->list[sinks->count++] = (struct ts_notify_sink){
        .name = name + 1, .confidence = TS_CONFIDENCE_MEDIUM, .timeout_s = TS_NOTIFY_TIMEOUT_S};
    return true;
}

/* Returns NULL, or why the value is wrong. */
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

static bool add_setting(struct notify__sinks *sinks, char *text, unsigned line,
                        struct ts_notify_error *ret_error) {
    char *equals = strchr(text, '=');
    if (sinks->count == 0)
        return refuse(ret_error, "line %u: a name in brackets must come first", line);
    if (equals == NULL)
        return refuse(ret_error, "line %u: a setting is written as KEY = VALUE", line);
    *equals = '\0';
    const char *value = trim(equals + 1);
    if (*value == '\0')
        return refuse(ret_error, "line %u: the value is empty", line);
    const char *wrong = set(&sinks->list[sinks->count - 1], trim(text), value);
    return wrong == NULL || refuse(ret_error, "line %u: %s", line, wrong);
}

static bool check(const struct ts_notify_sink *sink, struct ts_notify_error *ret_error) {
    if ((sink->webhook == NULL) == (sink->command == NULL))
        return refuse(ret_error, "[%s] needs either a webhook or a command", sink->name);
    if (sink->command != NULL)
        return (sink->secret_file == NULL && sink->ca == NULL && !sink->allow_http) ||
               refuse(ret_error, "[%s]: secret-file, ca and allow-http are for webhooks", sink->name);
    const char *wrong = notify__check_url(sink->webhook, sink->allow_http);
    if (wrong != NULL)
        return refuse(ret_error, "[%s]: %s", sink->name, wrong);
    if (sink->secret_file == NULL)
        return refuse(ret_error, "[%s]: secret-file is missing; webhooks are signed", sink->name);
    if (sink->ca != NULL && access(sink->ca, R_OK) != 0)
        return refuse(ret_error, "[%s]: the file of ca cannot be read", sink->name);
    return true;
}

static bool parse(struct notify__sinks *sinks, struct ts_notify_error *ret_error) {
    char *rest = sinks->text;
    unsigned line = 0;
    for (char *text; (text = strsep(&rest, "\n")) != NULL;) {
        text = trim(text);
        line++;
        if (*text == '\0' || *text == '#')
            continue;
        if (*text == '[' ? !add_sink(sinks, text, line, ret_error)
                         : !add_setting(sinks, text, line, ret_error))
            return false;
    }
    for (size_t i = 0; i < sinks->count; i++)
        if (!check(&sinks->list[i], ret_error))
            return false;
    return sinks->count > 0 ||
           refuse(ret_error, "names no receiver; add one, such as [team] with a webhook or a command");
}

bool notify__sinks_load(const char *path, struct notify__sinks *ret_sinks,
                        struct ts_notify_error *ret_error) {
    struct notify__sinks sinks = {0};
    const char *why;
    sinks.text = notify__read_private(path, FILE_MAX, &sinks.size, &why);
    if (sinks.text == NULL)
        return refuse(ret_error, "%s", why);
    if (memchr(sinks.text, '\0', sinks.size) != NULL) {
        notify__sinks_release(&sinks);
        return refuse(ret_error, "has a zero byte");
    }
    if (!parse(&sinks, ret_error)) {
        notify__sinks_release(&sinks);
        return false;
    }
    *ret_sinks = sinks;
    return true;
}

void notify__sinks_release(struct notify__sinks *sinks) {
    if (sinks->text != NULL)
        explicit_bzero(sinks->text, sinks->size);
    free(sinks->text);
    *sinks = (struct notify__sinks){0};
}
