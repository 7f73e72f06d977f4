#include "notify/notify.h"

#include "command.h"
#include "sign.h"
#include "sinks.h"

#include "http/http.h"
#include "os/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECRET_FILE_MAX = 4096, ANSWER_MAX = 4096, HEADERS = 4, HEADER_SIZE = 160, PER_SECOND = 20 };

struct ts_notify {
    struct notify__sinks sinks;
    const atomic_bool *stop;
    struct ts_http *https[TS_NOTIFY_SINKS]; /* clients of the sinks, made when first needed */
};

/* Reads the key of a sink. The file is read for every message, so the secret may change at any time. Returns
 * the length of the key; 0: see ret_error. */
static size_t read_key(const struct ts_notify_sink *sink, uint8_t ret_key[static NOTIFY__KEY_MAX],
                       struct ts_private_error *ret_error) {
    struct ts_private_file file;
    const struct ts_private_file_options options = {.max = SECRET_FILE_MAX};
    if (!ts_private_file_read(sink->secret_file, &options, &file, ret_error))
        return 0;
    const size_t len = notify__key_of(ts_bytes_of(file.text, file.size), ret_key);
    ts_private_file_release(&file);
    if (len == 0)
        (void)ts_private_refuse(ret_error,
                                "has no secret: its first line has 1 to 1024 bytes, or whsec_ and base64");
    return len;
}

static bool check_secrets(const struct ts_notify *notify, struct ts_private_error *ret_error) {
    for (size_t i = 0; i < notify->sinks.count; i++) {
        const struct ts_notify_sink *sink = &notify->sinks.list[i];
        uint8_t key[NOTIFY__KEY_MAX];
        struct ts_private_error why;
        if (sink->webhook == NULL)
            continue;
        const size_t len = read_key(sink, key, &why);
        explicit_bzero(key, sizeof key);
        if (len == 0)
            return ts_private_refuse(ret_error, "[%s]: the file of secret-file %s", sink->name, why.text);
    }
    return true;
}

struct ts_notify *ts_notify_new(const char *path, const atomic_bool *stop,
                                struct ts_private_error *ret_error) {
    struct ts_notify *notify = calloc(1, sizeof *notify);
    if (notify == NULL) {
        (void)ts_private_refuse(ret_error, "cannot be read: out of memory");
        return NULL;
    }
    notify->stop = stop;
    if (!notify__sinks_load(path, &notify->sinks, ret_error) || !check_secrets(notify, ret_error)) {
        ts_notify_free(notify);
        return NULL;
    }
    return notify;
}

void ts_notify_free(struct ts_notify *notify) {
    if (notify == NULL)
        return;
    for (size_t i = 0; i < TS_NOTIFY_SINKS; i++)
        ts_http_free(notify->https[i]);
    notify__sinks_release(&notify->sinks);
    free(notify);
}

size_t ts_notify_count(const struct ts_notify *notify) {
    return notify->sinks.count;
}

const struct ts_notify_sink *ts_notify_sink(const struct ts_notify *notify, size_t index) {
    return &notify->sinks.list[index];
}

/* ---- webhooks ---- */

static struct ts_notify_answer answer_of(const struct ts_http_answer *http) {
    struct ts_notify_answer answer = {.is_sent = http->status >= 200 && http->status < 300,
                                      .retry_after_s = http->retry_after_s};
    if (http->status == 0) {
        answer.label = "no_answer";
        (void)snprintf(answer.text, sizeof answer.text, "%s", http->problem);
    } else if (!answer.is_sent) {
        answer.label = http->status == 429 ? "rate_limited" : "refused";
        (void)snprintf(answer.text, sizeof answer.text, "the server answers with status %ld", http->status);
    }
    return answer;
}

static struct ts_http *client_of(struct ts_notify *notify, size_t index, struct ts_http_error *ret_error) {
    const struct ts_notify_sink *sink = ts_notify_sink(notify, index);
    const struct ts_http_options options = {.per_second = PER_SECOND,
                                            .timeout_s = sink->timeout_s,
                                            .ca_file = sink->ca,
                                            .stop = notify->stop,
                                            .body_max = ANSWER_MAX,
                                            .plain = strncmp(sink->webhook, "http://", 7) == 0};
    if (notify->https[index] == NULL)
        notify->https[index] = ts_http_new(&options, ret_error);
    return notify->https[index];
}

static struct ts_notify_answer send_signed(struct ts_http *http, const struct ts_notify_sink *sink,
                                           const struct ts_notify_message *message, struct ts_bytes key) {
    char time[24], signature[NOTIFY__SIGNATURE_SIZE], texts[HEADERS][HEADER_SIZE];
    (void)snprintf(time, sizeof time, "%llu", (unsigned long long)(ts_clock_wall_ms() / 1000));
    notify__sign(key, &(struct notify__signed){message->id, time, message->body}, signature);
    (void)snprintf(texts[0], HEADER_SIZE, "Content-Type: application/json");
    (void)snprintf(texts[1], HEADER_SIZE, "webhook-id: %.64s", message->id);
    (void)snprintf(texts[2], HEADER_SIZE, "webhook-timestamp: %s", time);
    (void)snprintf(texts[3], HEADER_SIZE, "webhook-signature: %s", signature);
    char *const headers[HEADERS] = {texts[0], texts[1], texts[2], texts[3]};
    const struct ts_http_request request = {.method = "POST",
                                            .url = sink->webhook,
                                            .headers = headers,
                                            .header_count = HEADERS,
                                            .body = message->body};
    const struct ts_http_answer answer = ts_http_ask(http, &request);
    return answer_of(&answer);
}

static struct ts_notify_answer send_webhook(struct ts_notify *notify, size_t index,
                                            const struct ts_notify_message *message) {
    const struct ts_notify_sink *sink = ts_notify_sink(notify, index);
    struct ts_notify_answer answer = {.label = "own_fault"};
    struct ts_http_error error;
    uint8_t key[NOTIFY__KEY_MAX];
    struct ts_private_error why;
    struct ts_http *http = client_of(notify, index, &error);
    const size_t len = http != NULL ? read_key(sink, key, &why) : 0;
    if (http == NULL)
        (void)snprintf(answer.text, sizeof answer.text, "%.110s", error.text);
    else if (len == 0)
        (void)snprintf(answer.text, sizeof answer.text, "the file of secret-file %.80s", why.text);
    else
        answer = send_signed(http, sink, message, ts_bytes_of(key, len));
    explicit_bzero(key, sizeof key);
    return answer;
}

struct ts_notify_answer ts_notify_send(struct ts_notify *notify, size_t index,
                                       const struct ts_notify_message *message) {
    const struct ts_notify_sink *sink = ts_notify_sink(notify, index);
    return sink->webhook != NULL ? send_webhook(notify, index, message)
                                 : notify__command_run(sink, notify->stop, message);
}
