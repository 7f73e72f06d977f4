#include "rules.h"

#include "option_names.h"
#include "profile.h"

#include "base/blake3.h"
#include "base/endian.h"
#include "base/redact.h"
#include "builtin/builtin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits for the rules of a target. */
#define REPO_RULES_MAX     1000
#define REPO_RULE_FILE_MAX ((size_t)1 << 20)

struct scan_rule_file {
    const char *path; /* path as written in the configuration */
    struct scan_profile_file text;
};

/* ---- files of the target ---- */

static bool is_inside(const char *path) {
    if (path[0] == '/' || path[0] == '\0')
        return false;
    for (const char *at = path; at != NULL; at = strchr(at, '/')) {
        at += at != path;
        if (at[0] == '.' && at[1] == '.' && (at[2] == '/' || at[2] == '\0'))
            return false;
    }
    return true;
}

static bool read_file(struct scan_rule_file *file, const struct scan_profile_source *source,
                      struct ts_scan_error *ret_error) {
    char shown[200];
    (void)ts_text_escape(ts_bytes_of_cstring(file->path), shown, sizeof shown);
    if (!is_inside(file->path))
        return scan__refuse(
            ret_error, SCAN_CONFIG_NAME ": rule file '%s' is not inside the target" SCAN_CONFIG_CURE, shown);
    if (source->read(source->ctx, file->path, REPO_RULE_FILE_MAX, &file->text) != SCAN_PROFILE_READ)
        return scan__refuse(ret_error,
                            SCAN_CONFIG_NAME
                            ": rule file '%s' does not exist, or is larger than %zu bytes" SCAN_CONFIG_CURE,
                            shown, REPO_RULE_FILE_MAX);
    return true;
}

bool scan__rule_files_init(struct scan_rule_files *files, const struct ts_detect_config *config,
                           const struct scan_profile_source *source, struct ts_scan_error *ret_error) {
    size_t count = config->rule_files.count;
    *files = (struct scan_rule_files){.items = calloc(count + 1, sizeof *files->items)};
    if (files->items == NULL)
        return scan__refuse_memory(ret_error);
    for (; files->count < count; files->count++) {
        struct scan_rule_file *file = &files->items[files->count];
        file->path = config->rule_files.texts[files->count];
        if (!read_file(file, source, ret_error)) {
            scan__rule_files_release(files);
            return false;
        }
    }
    return true;
}

void scan__rule_files_release(struct scan_rule_files *files) {
    for (size_t i = 0; i < files->count; i++)
        free(files->items[i].text.bytes);
    free(files->items);
    *files = (struct scan_rule_files){.items = NULL};
}

/* ---- where rules come from ---- */

static bool has_builtin(const struct scan_rules_options *options) {
    return !options->scan->no_builtin_rules && !(options->config != NULL && options->config->without_builtin);
}

static void hash_bytes(struct ts_blake3 *hasher, struct ts_bytes bytes) {
    uint8_t len[8];
    ts_le64_store(bytes.len, len);
    ts_blake3_update(hasher, ts_bytes_of(len, sizeof len));
    ts_blake3_update(hasher, bytes);
}

/* Hashes the texts that differ between targets. All other rule files are the same for all targets. */
void scan__rules_sources(const struct scan_rules_options *options, uint8_t ret_sources[static 32]) {
    struct ts_blake3 hasher;
    ts_blake3_init_derive_key(&hasher, TS_BYTES("turnstone 2026 what rules are read from"));
    ts_blake3_update(&hasher, has_builtin(options) ? TS_BYTES("+") : TS_BYTES("-"));
    for (size_t i = 0; i < options->own->count; i++) {
        const struct scan_rule_file *file = &options->own->items[i];
        hash_bytes(&hasher, ts_bytes_of_cstring(file->path));
        hash_bytes(&hasher, ts_bytes_of(file->text.bytes, file->text.len));
    }
    ts_blake3_output(&hasher, 0, ret_sources, 32);
}

/* ---- reading them ---- */

static bool refuse_rules(struct ts_scan_error *ret_error, const struct ts_detect_error *error) {
    return error->kind == TS_DETECT_NO_MEMORY ? scan__refuse_memory(ret_error)
                                              : scan__refuse(ret_error, "rules: %s", error->text);
}

static bool add_own_files(struct scan_rules *rules, const struct scan_rule_files *own,
                          struct ts_scan_error *ret_error) {
    struct ts_detect_error error;
    size_t before = rules->set.count;
    rules->set.origin = TS_RULE_OF_TARGET;
    for (size_t i = 0; i < own->count; i++) {
        const struct scan_rule_file *file = &own->items[i];
        if (!ts_ruleset_add(&rules->set, file->path, ts_bytes_of(file->text.bytes, file->text.len), &error))
            return scan__refuse(ret_error, "rules of the target: %s" SCAN_CONFIG_CURE, error.text);
    }
    rules->set.origin = TS_RULE_OF_USER;
    if (rules->set.count > before + REPO_RULES_MAX)
        return scan__refuse(ret_error, SCAN_CONFIG_NAME ": more than %d rules of its own" SCAN_CONFIG_CURE,
                            REPO_RULES_MAX);
    return true;
}

/* Adds the rule files of the user's configuration. Their paths are relative to that configuration. */
static bool add_given_files(struct scan_rules *rules, const struct scan_rules_options *options,
                            struct ts_scan_error *ret_error) {
    const char *config_path = options->scan->config_file;
    const char *slash = strrchr(config_path, '/');
    for (size_t i = 0; i < options->config->rule_files.count; i++) {
        char path[4096];
        struct ts_detect_error error;
        const char *name = options->config->rule_files.texts[i];
        int len = name[0] == '/' || slash == NULL
                      ? snprintf(path, sizeof path, "%s", name)
                      : snprintf(path, sizeof path, "%.*s/%s", (int)(slash - config_path), config_path, name);
        if (len < 0 || (size_t)len >= sizeof path)
            return scan__refuse(ret_error,
                                "rules: the path of a rule file has more than 4095 bytes; shorten it");
        if (!ts_ruleset_add_file(&rules->set, path, &error))
            return refuse_rules(ret_error, &error);
    }
    return true;
}

static bool read_all(struct scan_rules *rules, const struct scan_rules_options *options,
                     struct ts_scan_error *ret_error) {
    struct ts_detect_error error;
    bool is_given = options->config != NULL && options->scan->config_file != NULL;
    if (!ts_builtin_add(has_builtin(options) ? &rules->set : &rules->left_out, &error))
        return refuse_rules(ret_error, &error);
    rules->builtin_count = rules->set.count;
    if (!(is_given ? add_given_files(rules, options, ret_error)
                   : add_own_files(rules, options->own, ret_error)))
        return false;
    for (size_t i = 0; i < options->scan->rule_file_count; i++)
        if (!ts_ruleset_add_file(&rules->set, options->scan->rule_files[i], &error))
            return refuse_rules(ret_error, &error);
    if (rules->set.count == 0)
        return scan__refuse(ret_error, "no rules to scan with; " SCAN_OPTION_NO_BUILTIN_RULES
                                       " needs " SCAN_OPTION_RULES);
    struct ts_detector_options detector = {.cache_folder = options->scan->cache_folder};
    rules->detector = ts_detector_new(&rules->set, &detector, &error);
    return rules->detector != NULL || refuse_rules(ret_error, &error);
}

struct scan_rules *scan__rules_new(const struct scan_rules_options *options,
                                   struct ts_scan_error *ret_error) {
    struct scan_rules *rules = calloc(1, sizeof *rules);
    if (rules == NULL) {
        (void)scan__refuse_memory(ret_error);
        return NULL;
    }
    ts_ruleset_init(&rules->set);
    ts_ruleset_init(&rules->left_out);
    rules->user_count = 1;
    scan__rules_sources(options, rules->sources);
    if (!read_all(rules, options, ret_error)) {
        scan__rules_drop(rules);
        return NULL;
    }
    return rules;
}

struct scan_rules *scan__rules_share(struct scan_rules *rules) {
    (void)atomic_fetch_add(&rules->user_count, 1);
    return rules;
}

void scan__rules_drop(struct scan_rules *rules) {
    if (rules == NULL || atomic_fetch_sub(&rules->user_count, 1) > 1)
        return;
    ts_detector_free(rules->detector);
    ts_ruleset_release(&rules->set);
    ts_ruleset_release(&rules->left_out);
    free(rules);
}
