/* Reads the operator's file that lists the receivers of messages. */
#ifndef TS_NOTIFY_SINKS_H
#define TS_NOTIFY_SINKS_H

#include "notify/notify.h"

/* The sinks of a file. {0} has no sinks. */
struct notify__sinks {
    struct ts_private_file file; /* has the texts of the sinks */
    struct ts_notify_sink list[TS_NOTIFY_SINKS];
    size_t count;
};

bool notify__sinks_load(const char *path, struct notify__sinks *ret_sinks,
                        struct ts_private_error *ret_error);
void notify__sinks_release(struct notify__sinks *sinks);

/* Returns NULL if the URL is allowed, otherwise the reason. An allowed URL has a host and no user. It begins
 * with https, or with http if the host is this machine or allow_http is true. */
const char *notify__check_url(const char *url, bool allow_http);

#endif
