/*
 * Reads a YAML file as a list of settings. The file may contain only plain values, and sections that are
 * mappings of plain values.
 */
#ifndef TS_CONFIG_YAML_FILE_H
#define TS_CONFIG_YAML_FILE_H

#include "config/config.h"

#include "base/bytes.h"

/* Receives one setting with its full name. Returns false if the setting is wrong; the receiver has then
 * already reported why. */
struct config_taker {
    bool (*take)(void *context, struct ts_bytes name, struct ts_bytes value, size_t line);
    void *context;
};

/* Reads the file and passes its settings to the receiver, in order. ret_error has no text for NO_MEMORY, nor
 * for INVALID when the receiver returned false, because the receiver has its own text. */
enum ts_config_result config__yaml_read(const char *path, struct config_taker taker,
                                        struct ts_config_error *ret_error);

#endif
