/*
 * The settings of a coordinator: timeouts, limits and policies, by the names that docs/configuration.md lists.
 */
#ifndef TURNSTONE_CONFIG_H
#define TURNSTONE_CONFIG_H

#include "turnstone/api.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ts_txn_config;

enum ts_config_result {
    TS_CONFIG_OK,
    TS_CONFIG_UNREADABLE, /* the file cannot be read, or is not there though it was asked for */
    TS_CONFIG_INVALID,    /* the file or a setting is wrong */
    TS_CONFIG_NO_MEMORY,
};

struct ts_config_error {
    char text[512]; /* one line: the thing, the reason and the cure */
};

/* Every setting at its default. NULL when there is no memory. The caller frees it, and may do so as soon as
 * the coordinators that were opened with it are open. */
TS_API struct ts_txn_config *ts_txn_config_new(void);
TS_API void ts_txn_config_free(struct ts_txn_config *config); /* NULL is no matter */

/*
 * Sets one setting, such as "timeouts.prepare" to "2s". INVALID when there is no such setting or the value is
 * none of it; the configuration is then as it was. What two settings mean together is checked when a
 * coordinator is opened.
 */
TS_API enum ts_config_result ts_txn_config_set(struct ts_txn_config *config, const char *name,
                                               const char *value, struct ts_config_error *ret_error);

#ifdef __cplusplus
}
#endif

#endif
