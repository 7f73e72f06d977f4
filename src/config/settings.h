/*
 * The registry: every setting with its type, its place in struct ts_txn_config, its range and its meaning.
 */
#ifndef TS_CONFIG_SETTINGS_H
#define TS_CONFIG_SETTINGS_H

#include "config/config.h"

#include "base/bytes.h"

#include <stdint.h>

/* Room for the text of one value. */
#define TS_CONFIG_VALUE_SIZE 64

enum config_kind {
    CONFIG_DURATION, /* uint64_t, microseconds; written with a unit */
    CONFIG_MILLIS,   /* uint64_t; a plain number, because the name has the unit */
    CONFIG_COUNT,    /* uint32_t */
    CONFIG_RATIO,    /* uint32_t, parts per million; written as a decimal fraction */
    CONFIG_CHOICE,   /* an enum; written as one of the names */
};

struct config_setting {
    const char *name;
    enum config_kind kind;
    size_t offset;
    uint64_t min, max;          /* not for CHOICE */
    const char *const *choices; /* CHOICE: indexed by value, NULL at the end */
    const char *meaning;
    size_t given_offset; /* offset of a bool that says whether the value was set explicitly; 0: none */
};

extern const struct config_setting config__settings[];
extern const size_t config__setting_count;

/* Returns a setting by its full name; NULL if the name is unknown. */
const struct config_setting *config__setting_find(struct ts_bytes name);

/* Returns the setting's value in the struct, for every kind of setting. */
uint64_t config__setting_get(const struct config_setting *setting, const struct ts_txn_config *config);
/* Sets the value, and marks it as set explicitly. */
void config__setting_put(const struct config_setting *setting, struct ts_txn_config *config, uint64_t value);

/* Writes the reason and a suggestion for an unknown name: "unknown setting; did you mean
 * timeouts.prepare?" */
void config__explain_unknown(struct ts_bytes name, char *ret_text, size_t size);

/* Parses a value. Returns false, with reason and fix in ret_why, when the value is not valid for this
 * setting. */
bool config__value_parse(const struct config_setting *setting, struct ts_bytes text, uint64_t *ret_value,
                         char *ret_why, size_t size);

/* Writes a value in the form that config__value_parse reads. */
void config__value_format(const struct config_setting *setting, uint64_t value,
                          char ret_text[static TS_CONFIG_VALUE_SIZE]);

/* Writes the allowed values, such as "1us to 24h" or "Fifo, ShortTxnPriority". Returns ret_text. */
const char *config__allowed(const struct config_setting *setting, char *ret_text, size_t size);

#endif
