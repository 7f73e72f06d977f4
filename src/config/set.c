#include "turnstone/config.h"

#include "settings.h"

#include "base/redact.h"

#include <stdio.h>
#include <stdlib.h>

struct ts_txn_config *ts_txn_config_new(void) {
    struct ts_txn_config *config = malloc(sizeof *config);
    if (config != NULL)
        ts_txn_config_init(config);
    return config;
}

void ts_txn_config_free(struct ts_txn_config *config) {
    free(config);
}

enum ts_config_result ts_txn_config_set(struct ts_txn_config *config, const char *name, const char *value,
                                        struct ts_config_error *ret_error) {
    char why[360], shown[96];
    uint64_t parsed;
    const struct config_setting *setting = config__setting_find(ts_bytes_of_cstring(name));
    if (setting == NULL) {
        config__explain_unknown(ts_bytes_of_cstring(name), why, sizeof why);
    } else if (config__value_parse(setting, ts_bytes_of_cstring(value), &parsed, why, sizeof why)) {
        config__setting_put(setting, config, parsed);
        return TS_CONFIG_OK;
    }
    snprintf(ret_error->text, sizeof ret_error->text, "%s: %s",
             ts_text_quote(ts_bytes_of_cstring(name), shown, sizeof shown), why);
    return TS_CONFIG_INVALID;
}
