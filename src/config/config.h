/*
 * The configuration: one YAML file and overrides of the form "timeouts.prepare=2s".
 *
 * A file is a mapping of sections, and a section a mapping of settings; "timeouts.prepare: 2s" at the top
 * means the same. Later ones win over earlier ones only across file and overrides: twice in one file is an
 * error. Whatever is wrong is told in one line that names the place, the setting, the reason and the cure,
 * and nothing is loaded.
 */
#ifndef TS_CONFIG_CONFIG_H
#define TS_CONFIG_CONFIG_H

#include "os/out.h"
#include "turnstone/config.h"
#include "txn/txn_config.h"

#include <stdbool.h>
#include <stddef.h>

/* Where files are looked for when none is named. An empty or relative variable counts as unset. */
struct ts_config_places {
    const char *xdg_config_home; /* else HOME/.config */
    const char *home;
    const char *xdg_config_dirs; /* colons between them; else /etc/xdg */
    const char *system;          /* the last of all: /etc */
};

/* From the environment. Borrowed from it. */
void ts_config_places_init(struct ts_config_places *places);

/* The path of the file that counts: the user's, else the system's. False when there is none. The first that
 * is there counts, readable or not. */
#define TS_CONFIG_PATH_SIZE 4096
bool ts_config_find(const struct ts_config_places *places, char ret_path[static TS_CONFIG_PATH_SIZE]);

struct ts_config_options {
    const char *path;                      /* NULL: the one that ts_config_find gives, if any */
    const struct ts_config_places *places; /* NULL: the environment's */
    const char *const *overrides;          /* "NAME=VALUE", in their order; the last of one name wins */
    size_t override_count;
};

/* On failure *ret_config is untouched and *ret_error says what is wrong. */
enum ts_config_result ts_config_load(const struct ts_config_options *options,
                                     struct ts_txn_config *ret_config, struct ts_config_error *ret_error);

/* The whole configuration as a file that loads to the same; what is not the default is marked. Flushing is
 * the caller's. */
void ts_config_print(const struct ts_txn_config *config, struct ts_out *out);

/* What there is to set, in the order of the document. */
#define TS_CONFIG_VALUE_SIZE 64
struct ts_config_setting {
    const char *name; /* "timeouts.prepare" */
    const char *meaning;
    char default_value[TS_CONFIG_VALUE_SIZE];
    char allowed[2 * TS_CONFIG_VALUE_SIZE]; /* "1us to 24h", "Fifo, ShortTxnPriority" */
};
size_t ts_config_setting_count(void);
void ts_config_setting_at(size_t index, struct ts_config_setting *ret_setting);

#endif
