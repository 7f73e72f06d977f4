/*
 * The configuration: one YAML file, and overrides of the form "timeouts.prepare=2s".
 *
 * A file is a mapping of sections, and a section is a mapping of settings; "timeouts.prepare: 2s" at the top
 * level means the same. Overrides win over the file, and later overrides over earlier ones; a setting that
 * occurs twice in the file is an error. After an error nothing is loaded. The error is one line that names
 * the place, the setting, the reason and the fix.
 */
#ifndef TS_CONFIG_CONFIG_H
#define TS_CONFIG_CONFIG_H

#include "os/out.h"
#include "turnstone/config.h"
#include "txn/guard/txn_config.h"

#include <stdbool.h>
#include <stddef.h>

/* Where to search for files if none is named. An empty or relative variable counts as unset. */
struct ts_config_places {
    const char *xdg_config_home; /* if unset: HOME/.config */
    const char *home;
    const char *xdg_config_dirs; /* separated by colons; if unset: /etc/xdg */
    const char *system;          /* searched last: /etc */
};

/* Reads the variables from the environment. The strings are borrowed from it. */
void ts_config_places_init(struct ts_config_places *places);

/* Room for any path of a file, with its terminator. */
#define TS_CONFIG_PATH_SIZE 4096
/* Finds the path of the file to read: the user's file, or if there is none, the system's. Returns false when
 * there is no file. The first existing file counts, even if it is not readable. */
bool ts_config_find(const struct ts_config_places *places, char ret_path[static TS_CONFIG_PATH_SIZE]);

struct ts_config_options {
    const char *path;                      /* NULL: the file that ts_config_find finds, if any */
    const struct ts_config_places *places; /* NULL: use the environment */
    const char *const *overrides;          /* "NAME=VALUE", in order; the last value of a name wins */
    size_t override_count;
};

/* Loads the configuration. On failure *ret_config is unchanged and *ret_error has the reason. */
enum ts_config_result ts_config_load(const struct ts_config_options *options,
                                     struct ts_txn_config *ret_config, struct ts_config_error *ret_error);

#endif
