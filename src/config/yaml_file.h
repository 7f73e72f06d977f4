/*
 * A YAML file as a list of settings: mappings of mappings of plain values, and nothing else.
 */
#ifndef TS_CONFIG_YAML_FILE_H
#define TS_CONFIG_YAML_FILE_H

#include "config/config.h"

#include "base/bytes.h"

/* Takes one setting with its full name; false: it is wrong, and the taker has said why. */
struct config_taker {
    bool (*take)(void *context, struct ts_bytes name, struct ts_bytes value, size_t line);
    void *context;
};

/* Reads the file and hands over its settings in their order. There is no text in ret_error for NO_MEMORY, and for
 * INVALID when the taker said no: it has its own. */
enum ts_config_result config__yaml_read(const char *path, struct config_taker taker,
                                        struct ts_config_error *ret_error);

#endif
