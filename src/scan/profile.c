#include "profile.h"

#include "rule_changes.h"

#include "base/blake3.h"
#include "base/redact.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits for the files of a target. A regular expression of an allow entry is tried on every finding. */
#define REPO_CONFIG_MAX     ((size_t)256 << 10)
#define REPO_ALLOWS_MAX     1000
#define REPO_PATTERNS_MAX   1000
#define REPO_RULES_MAX      1000
#define REPO_RULE_FILES_MAX 16
#define REPO_RULE_FILE_MAX  ((size_t)1 << 20)

#define CURE                "; --no-repo-config scans without it"

__attribute__((format(printf, 2, 3))) static bool fail(struct ts_scan_error *ret_error, const char *format,
                                                       ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(ret_error->text, sizeof ret_error->text, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- the user's configuration ---- */

static bool read_given(struct scan_profile *profile, const char *path, struct ts_scan_error *ret_error) {
    char shown[200];
    struct ts_detect_error error;
    (void)ts_text_escape(ts_bytes_of_cstring(path), shown, sizeof shown);
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return fail(ret_error, "%s: cannot be read: %s", shown, strerror(errno));
    uint8_t *bytes = malloc(TS_CONFIG_SIZE_MAX + 1);
    size_t len = bytes != NULL ? fread(bytes, 1, TS_CONFIG_SIZE_MAX + 1, file) : 0;
    bool is_read = bytes != NULL && ferror(file) == 0;
    (void)fclose(file);
    bool done = is_read && ts_config_parse(path, ts_bytes_of(bytes, len), &profile->config, &error);
    if (done)
        ts_blake3_hash(ts_bytes_of(bytes, len), profile->config_digest);
    free(bytes);
    if (!is_read)
        return fail(ret_error, "%s: cannot be read", shown);
    if (!done)
        return fail(ret_error, "%s", error.text);
    profile->has_config = true;
    return true;
}

/* The rule files of a user's configuration are relative to it. */
static bool add_given_files(struct scan_profile *profile, const char *config_path,
                            struct ts_scan_error *ret_error) {
    const char *slash = strrchr(config_path, '/');
    for (size_t i = 0; i < profile->config.rule_files.count; i++) {
        char path[4096];
        struct ts_detect_error error;
        const char *name = profile->config.rule_files.texts[i];
        int len = name[0] == '/' || slash == NULL
                      ? snprintf(path, sizeof path, "%s", name)
                      : snprintf(path, sizeof path, "%.*s/%s", (int)(slash - config_path), config_path, name);
        if (len < 0 || (size_t)len >= sizeof path)
            return fail(ret_error, "rules: the path of a rule file is too long");
        if (!ts_ruleset_add_file(&profile->rules, path, &error))
            return fail(ret_error, "rules: %s", error.text);
    }
    return true;
}

/* ---- the target's configuration ---- */

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

static bool keeps_limits(const struct ts_config *config) {
    size_t patterns = 0;
    for (size_t i = 0; i < config->allow_count; i++)
        patterns += config->allows[i].secrets.count + config->allows[i].lines.count;
    return config->allow_count <= REPO_ALLOWS_MAX && patterns <= REPO_PATTERNS_MAX &&
           config->rule_files.count <= REPO_RULE_FILES_MAX;
}

static bool read_own(struct scan_profile *profile, const struct scan_profile_source *source,
                     struct ts_scan_error *ret_error) {
    char name[300];
    char shown[200];
    struct scan_profile_file file;
    struct ts_detect_error error;
    (void)ts_text_escape(ts_bytes_of_cstring(source->name), shown, sizeof shown);
    snprintf(name, sizeof name, "%s/" SCAN_CONFIG_NAME, shown);
    switch (source->read(source->ctx, SCAN_CONFIG_NAME, REPO_CONFIG_MAX, &file)) {
    case SCAN_PROFILE_ABSENT:
        return true;
    case SCAN_PROFILE_UNREADABLE:
        return fail(ret_error, "%s: cannot be read, or is larger than %zu bytes" CURE, name, REPO_CONFIG_MAX);
    case SCAN_PROFILE_READ:
        break;
    }
    bool done =
        ts_config_parse(SCAN_CONFIG_NAME, ts_bytes_of(file.bytes, file.len), &profile->config, &error);
    ts_blake3_hash(ts_bytes_of(file.bytes, file.len), profile->config_digest);
    free(file.bytes);
    if (!done)
        return fail(ret_error, "%s/%s" CURE, shown, error.text);
    profile->has_config = true;
    if (!keeps_limits(&profile->config))
        return fail(ret_error,
                    "%s: more than %d allow entries, %d regular expressions or %d rule files" CURE
                    ", a file given by --config has no limits",
                    name, REPO_ALLOWS_MAX, REPO_PATTERNS_MAX, REPO_RULE_FILES_MAX);
    return true;
}

static bool add_own_files(struct scan_profile *profile, const struct scan_profile_source *source,
                          struct ts_scan_error *ret_error) {
    size_t before = profile->rules.count;
    profile->rules.origin = TS_RULE_OF_TARGET;
    for (size_t i = 0; i < profile->config.rule_files.count; i++) {
        const char *path = profile->config.rule_files.texts[i];
        char shown[200];
        struct scan_profile_file file;
        struct ts_detect_error error;
        (void)ts_text_escape(ts_bytes_of_cstring(path), shown, sizeof shown);
        if (!is_inside(path))
            return fail(ret_error, SCAN_CONFIG_NAME ": rule file '%s' is not inside the target" CURE, shown);
        if (source->read(source->ctx, path, REPO_RULE_FILE_MAX, &file) != SCAN_PROFILE_READ)
            return fail(ret_error,
                        SCAN_CONFIG_NAME ": rule file '%s' does not exist, or is larger than %zu bytes" CURE,
                        shown, REPO_RULE_FILE_MAX);
        bool done = ts_ruleset_add(&profile->rules, path, ts_bytes_of(file.bytes, file.len), &error);
        free(file.bytes);
        if (!done)
            return fail(ret_error, "rules of the target: %s" CURE, error.text);
    }
    profile->rules.origin = TS_RULE_OF_USER;
    if (profile->rules.count > before + REPO_RULES_MAX)
        return fail(ret_error, SCAN_CONFIG_NAME ": more than %d rules of its own" CURE, REPO_RULES_MAX);
    return true;
}

/* ---- both ---- */

static bool read_config(struct scan_profile *profile, const struct ts_scan_options *options,
                        const struct scan_profile_source *source, struct ts_scan_error *ret_error) {
    if (options->config_file != NULL)
        return read_given(profile, options->config_file, ret_error);
    if (options->no_repo_config || source->read == NULL)
        return true;
    return read_own(profile, source, ret_error);
}

static bool read_rules(struct scan_profile *profile, const struct ts_scan_options *options,
                       const struct scan_profile_source *source, struct ts_scan_error *ret_error) {
    struct ts_detect_error error;
    if (!options->no_builtin_rules && !(profile->has_config && profile->config.without_builtin) &&
        !ts_ruleset_add_builtin(&profile->rules, &error))
        return fail(ret_error, "rules: %s", error.text);
    profile->builtin_count = profile->rules.count;
    if (profile->has_config &&
        !(options->config_file != NULL ? add_given_files(profile, options->config_file, ret_error)
                                       : add_own_files(profile, source, ret_error)))
        return false;
    for (size_t i = 0; i < options->rule_file_count; i++)
        if (!ts_ruleset_add_file(&profile->rules, options->rule_files[i], &error))
            return fail(ret_error, "rules: %s", error.text);
    if (profile->rules.count == 0)
        return fail(ret_error, "no rules to scan with; --no-builtin-rules needs --rules FILE");
    return scan__rule_changes_find(profile, options, ret_error);
}

static bool names_findings(const struct ts_config *config) {
    for (size_t i = 0; i < config->allow_count; i++)
        if (config->allows[i].findings.count > 0)
            return true;
    return false;
}

/* A baseline's own salt comes first, then that of the project, then the random one of a new baseline. */
static void choose_keys(struct scan_profile *profile, const struct ts_scan_options *options) {
    struct ts_bytes own = profile->has_config ? profile->config.salt : (struct ts_bytes){NULL, 0};
    struct ts_bytes salt = options->salt.len > 0 ? options->salt : own.len > 0 ? own : options->new_salt;
    profile->has_public_salt = salt.len == 0;
    profile->key = ts_finding_key_of(salt);
    profile->project_key = ts_finding_key_of(own);
    profile->has_project_key = profile->has_config && names_findings(&profile->config) &&
                               memcmp(&profile->key, &profile->project_key, sizeof profile->key) != 0;
}

bool scan__profile_init(struct scan_profile *profile, const struct ts_scan_options *options,
                        const struct scan_profile_source *source, struct ts_scan_error *ret_error) {
    *profile = (struct scan_profile){.has_config = false};
    ts_ruleset_init(&profile->rules);
    struct ts_detect_error error;
    bool done =
        read_config(profile, options, source, ret_error) && read_rules(profile, options, source, ret_error);
    if (done) {
        struct ts_detector_options detector = {.cache_folder = options->cache_folder};
        profile->detector = ts_detector_new(&profile->rules, &detector, &error);
        done = profile->detector != NULL || fail(ret_error, "rules: %s", error.text);
    }
    if (!done) {
        scan__profile_release(profile);
        return false;
    }
    choose_keys(profile, options);
    return true;
}

void scan__profile_release(struct scan_profile *profile) {
    ts_detector_free(profile->detector);
    ts_ruleset_release(&profile->rules);
    if (profile->has_config)
        ts_config_release(&profile->config);
    free(profile->rule_changes);
    ts_arena_release(&profile->arena);
    *profile = (struct scan_profile){.has_config = false};
}
