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

/* Returns NULL if the URL is allowed: https with a host and without a user; or http if the host is this
 * machine or allow_http is true. Otherwise returns the reason. */
const char *notify__check_url(const char *url, bool allow_http);

#endif
