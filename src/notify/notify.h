/*
 * Sends messages to webhooks and commands that the operator of a worker has listed in a file:
 *
 *     [security]
 *     webhook = https://hooks.example.com/turnstone
 *     secret-file = /etc/turnstone/webhook.secret
 *     severity = high
 *
 *     [tickets]
 *     command = /usr/local/bin/open-ticket
 *
 * Each call of ts_notify_send sends a message once. If the call fails, the caller repeats it with the same id
 * and body.
 */
#ifndef TS_NOTIFY_NOTIFY_H
#define TS_NOTIFY_NOTIFY_H

#include "detect/rule.h"
#include "os/private_file.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TS_NOTIFY_SINKS = 8,
    TS_NOTIFY_NAME_MAX = 32,
    TS_NOTIFY_TIMEOUT_S = 30,
    TS_NOTIFY_TIMEOUT_MAX_S = 300
};

struct ts_notify_sink {
    const char *name;
    const char *webhook; /* URL; NULL: the sink is a command */
    const char *secret_file;
    const char *ca;
    bool allow_http;
    const char *command; /* shell command; NULL: the sink is a webhook */
    enum ts_severity severity;
    enum ts_confidence confidence;
    uint32_t timeout_s;
};

struct ts_notify;

/* Reads the file. If the file is wrong, or if other users can read it, returns NULL and sets *ret_error,
 * which has no URL, command or secret. Soon after `stop` is set, a running request or command ends. */
struct ts_notify *ts_notify_new(const char *path, const atomic_bool *stop,
                                struct ts_private_error *ret_error);
void ts_notify_free(struct ts_notify *notify); /* accepts NULL */

size_t ts_notify_count(const struct ts_notify *notify);
const struct ts_notify_sink *ts_notify_sink(const struct ts_notify *notify, size_t index);

struct ts_notify_message {
    const char *id;   /* id of the message; a repeated message has the same id */
    const char *body; /* JSON text */
};

struct ts_notify_answer {
    bool is_sent;
    const char *label;      /* why the message was not sent: a word from a fixed list, for logs */
    char text[120];         /* the same reason, as a text for people */
    uint64_t retry_after_s; /* the pause that the receiver asks for; 0: none */
};

/* Sends a message. Blocks until the sink has answered, its timeout has passed, or `stop` is set. Only one
 * thread may call it at a time. */
struct ts_notify_answer ts_notify_send(struct ts_notify *notify, size_t index,
                                       const struct ts_notify_message *message);

#endif
