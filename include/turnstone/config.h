/*
 * The settings of a coordinator: timeouts, limits and policies. docs/configuration.md lists their names.
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
    TS_CONFIG_UNREADABLE, /* the file cannot be read, or a named file does not exist */
    TS_CONFIG_INVALID,    /* the file or a setting is wrong */
    TS_CONFIG_NO_MEMORY,
};

struct ts_config_error {
    char text[512]; /* one line: what is wrong, why, and how to fix it */
};

/* Returns a configuration with all settings at their defaults, or NULL when memory runs out. The caller frees
 * the configuration. Coordinators that are already open keep their own copy. */
TS_API struct ts_txn_config *ts_txn_config_new(void);
TS_API void ts_txn_config_free(struct ts_txn_config *config); /* NULL is allowed */

/*
 * Sets one setting, such as "timeouts.prepare" to "2s". INVALID when the setting is unknown or the value is
 * wrong; the configuration is then unchanged. Contradictions between settings are found when a coordinator is
 * opened.
 */
TS_API enum ts_config_result ts_txn_config_set(struct ts_txn_config *config, const char *name,
                                               const char *value, struct ts_config_error *ret_error);

#ifdef __cplusplus
}
#endif

#endif
