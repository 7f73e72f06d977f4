#include "config/config.h"

#include "settings.h"
#include "yaml_file.h"

#include "base/assert.h"
#include "base/redact.h"

#include <stdio.h>
#include <string.h>

enum { SETTINGS_MAX = 64 };

/* Where a setting was set last. */
struct origin {
    size_t line; /* line in the file, from 1; 0: not in the file */
    const char *override;
};

struct loading {
    const char *path;
    struct ts_txn_config config;
    struct origin origins[SETTINGS_MAX];
    struct ts_config_error *error;
};

/* Writes "FILE:LINE", or "--set" and the beginning of the override's text, which is enough to find the
 * override. */
static void name_place(const struct loading *loading, struct origin origin, char *ret_text, size_t size) {
    char shown[96];
    if (origin.override != NULL)
        snprintf(ret_text, size, "--set %s",
                 ts_text_quote(ts_bytes_of_cstring(origin.override), shown, sizeof shown));
    else
        snprintf(ret_text, size, "%s:%zu", loading->path, origin.line);
}

static bool complain(struct loading *loading, struct origin origin, struct ts_bytes name, const char *why) {
    char place[300], shown[96];
    name_place(loading, origin, place, sizeof place);
    char *text = loading->error->text;
    size_t size = sizeof loading->error->text;
    int len = snprintf(text, size, "%s: %s: %s", place, ts_text_quote(name, shown, sizeof shown), why);
    if (len >= (int)size)
        memcpy(text + size - sizeof "...", "...", sizeof "...");
    return false;
}

static bool set(struct loading *loading, struct origin origin, struct ts_bytes name, struct ts_bytes value) {
    char why[360];
    const struct config_setting *setting = config__setting_find(name);
    if (setting == NULL) {
        config__explain_unknown(name, why, sizeof why);
        return complain(loading, origin, name, why);
    }
    struct origin *before = &loading->origins[setting - config__settings];
    if (origin.override == NULL && before->line != 0) {
        snprintf(why, sizeof why, "already set in line %zu: remove one of them", before->line);
        return complain(loading, origin, name, why);
    }
    uint64_t parsed;
    if (!config__value_parse(setting, value, &parsed, why, sizeof why))
        return complain(loading, origin, name, why);
    config__setting_put(setting, &loading->config, parsed);
    *before = origin;
    return true;
}

static bool take_from_file(void *context, struct ts_bytes name, struct ts_bytes value, size_t line) {
    return set(context, (struct origin){.line = line}, name, value);
}

static bool take_override(struct loading *loading, const char *override) {
    struct origin origin = {.override = override};
    const char *equals = strchr(override, '=');
    if (equals == NULL)
        return complain(loading, origin, ts_bytes_of_cstring(override),
                        "expected NAME=VALUE, such as timeouts.prepare=2s");
    return set(loading, origin, ts_bytes_of(override, (size_t)(equals - override)),
               ts_bytes_of_cstring(equals + 1));
}

/* Checks for contradictions between two settings. The error names both settings, and the place where one of
 * them was set. */
static bool check_together(struct loading *loading) {
    const char *conflict = ts_txn_config_conflict(&loading->config);
    if (conflict == NULL)
        return true;
    for (size_t i = 0; i < config__setting_count; i++) {
        struct origin origin = loading->origins[i];
        if ((origin.line == 0 && origin.override == NULL) ||
            strstr(conflict, config__settings[i].name) == NULL)
            continue;
        char place[300];
        name_place(loading, origin, place, sizeof place);
        snprintf(loading->error->text, sizeof loading->error->text, "%s: %s", place, conflict);
        return false;
    }
    ts_unreachable("the defaults agree with one another");
}

enum ts_config_result ts_config_load(const struct ts_config_options *options,
                                     struct ts_txn_config *ret_config, struct ts_config_error *ret_error) {
    char found[TS_CONFIG_PATH_SIZE];
    struct ts_config_places environment;
    struct ts_config_error error = {0};
    struct loading loading = {.path = options->path, .error = &error};
    ts_assert(config__setting_count <= SETTINGS_MAX);
    ts_txn_config_init(&loading.config);
    if (loading.path == NULL) {
        ts_config_places_init(&environment);
        if (ts_config_find(options->places != NULL ? options->places : &environment, found))
            loading.path = found;
    }
    enum ts_config_result result = TS_CONFIG_OK;
    if (loading.path != NULL)
        result =
            config__yaml_read(loading.path, (struct config_taker){take_from_file, &loading}, loading.error);
    for (size_t i = 0; result == TS_CONFIG_OK && i < options->override_count; i++)
        if (!take_override(&loading, options->overrides[i]))
            result = TS_CONFIG_INVALID;
    if (result == TS_CONFIG_OK && !check_together(&loading))
        result = TS_CONFIG_INVALID;
    if (result == TS_CONFIG_NO_MEMORY)
        snprintf(error.text, sizeof error.text, "no memory to read the configuration");
    if (result == TS_CONFIG_OK)
        *ret_config = loading.config;
    else
        *ret_error = error;
    return result;
}
