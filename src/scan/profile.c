#include "profile.h"

#include "option_names.h"
#include "rule_changes.h"

#include "base/blake3.h"
#include "base/redact.h"
#include "os/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Limits for the files of a target. A regular expression of an allow entry is tried on every finding. */
#define REPO_CONFIG_MAX     ((size_t)256 << 10)
#define REPO_IGNORED_MAX    ((size_t)4 << 20)
#define REPO_ALLOWS_MAX     1000
#define REPO_PATTERNS_MAX   1000
#define REPO_RULE_FILES_MAX 16

bool scan__refuse(struct ts_scan_error *ret_error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(ret_error->text, sizeof ret_error->text, format, arguments);
    va_end(arguments);
    return false;
}

bool scan__refuse_memory(struct ts_scan_error *ret_error) {
    ret_error->os_error = ENOMEM;
    return scan__refuse(
        ret_error, "out of memory for the rules; use fewer, or raise the limit of the process (ulimit -v)");
}

/* ---- the user's configuration ---- */

static bool read_given(struct scan_profile *profile, const char *path, struct ts_scan_error *ret_error) {
    char shown[200];
    struct ts_detect_error error;
    (void)ts_text_escape(ts_bytes_of_cstring(path), shown, sizeof shown);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t *bytes = NULL;
    size_t len = 0;
    const bool is_read = fd >= 0 && ts_read_all(fd, TS_DETECT_CONFIG_SIZE_MAX, &bytes, &len);
    if (!is_read)
        (void)scan__refuse(ret_error, "%s: cannot be read: %s", shown, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    const bool done =
        is_read && ts_detect_config_parse(path, ts_bytes_of(bytes, len), &profile->config, &error);
    if (done)
        ts_blake3_hash(ts_bytes_of(bytes, len), profile->config_digest);
    free(bytes);
    if (!is_read)
        return false;
    if (!done)
        return scan__refuse(ret_error, "%s", error.text);
    profile->has_config = true;
    return true;
}

/* ---- the target's configuration ---- */

static bool keeps_limits(const struct ts_detect_config *config) {
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
    snprintf(name, sizeof name, "%s/%s", shown, source->file);
    switch (source->read(source->ctx, source->file, REPO_CONFIG_MAX, &file)) {
    case SCAN_PROFILE_ABSENT:
        return true;
    case SCAN_PROFILE_UNREADABLE:
        return scan__refuse(ret_error, "%s: cannot be read, or is larger than %zu bytes" SCAN_CONFIG_CURE,
                            name, REPO_CONFIG_MAX);
    case SCAN_PROFILE_READ:
        break;
    }
    bool done =
        ts_detect_config_parse(source->file, ts_bytes_of(file.bytes, file.len), &profile->config, &error);
    ts_blake3_hash(ts_bytes_of(file.bytes, file.len), profile->config_digest);
    free(file.bytes);
    if (!done)
        return scan__refuse(ret_error, "%s/%s" SCAN_CONFIG_CURE, shown, error.text);
    profile->has_config = true;
    if (!keeps_limits(&profile->config))
        return scan__refuse(
            ret_error,
            "%s: more than %d allow entries, %d regular expressions or %d rule files" SCAN_CONFIG_CURE
            "; a file given by " SCAN_OPTION_CONFIG " has no limits",
            name, REPO_ALLOWS_MAX, REPO_PATTERNS_MAX, REPO_RULE_FILES_MAX);
    return true;
}

/* Reads .gitleaksignore. Lines that are not fingerprints have no effect, and do not prevent the scan. */
static bool read_ignored(struct scan_profile *profile, const struct scan_profile_source *source,
                         struct ts_scan_error *ret_error) {
    struct scan_profile_file file;
    switch (source->read(source->ctx, SCAN_IGNORE_NAME, REPO_IGNORED_MAX, &file)) {
    case SCAN_PROFILE_ABSENT:
        return true;
    case SCAN_PROFILE_UNREADABLE:
        return scan__refuse(ret_error,
                            SCAN_IGNORE_NAME ": cannot be read, or is larger than %zu bytes" SCAN_CONFIG_CURE,
                            REPO_IGNORED_MAX);
    case SCAN_PROFILE_READ:
        break;
    }
    bool done = scan__ignored_parse(ts_bytes_of(file.bytes, file.len), &profile->ignored);
    free(file.bytes);
    if (!done)
        return scan__refuse_memory(ret_error);
    if (profile->ignored.wrong > 0)
        snprintf(profile->ignored_note, sizeof profile->ignored_note,
                 SCAN_IGNORE_NAME
                 ":%u: not a fingerprint, such as FILE:RULE:LINE or COMMIT:FILE:RULE:LINE; lines without "
                 "effect: %zu",
                 profile->ignored.first_wrong, profile->ignored.wrong);
    return true;
}

/* ---- both configurations ---- */

static bool read_config(struct scan_profile *profile, const struct ts_scan_options *options,
                        const struct scan_profile_source *source, struct ts_scan_error *ret_error) {
    if (options->config_file != NULL)
        return read_given(profile, options->config_file, ret_error);
    if (options->no_repo_config || source->read == NULL)
        return true;
    if (source->has_ignored && !read_ignored(profile, source, ret_error))
        return false;
    return source->file == NULL || read_own(profile, source, ret_error);
}

/* Returns the rules: those of a known profile if they come from the same texts, otherwise new rules. */
static struct scan_rules *find_rules(const struct scan_profile_context *context,
                                     const struct scan_rules_options *options,
                                     struct ts_scan_error *ret_error) {
    uint8_t sources[sizeof((struct scan_rules *)NULL)->sources];
    scan__rules_sources(options, sources);
    for (size_t i = 0; i < context->known_count; i++)
        if (memcmp(context->known[i]->rules->sources, sources, sizeof sources) == 0)
            return scan__rules_share(context->known[i]->rules);
    return scan__rules_new(options, ret_error);
}

static bool read_rules(struct scan_profile *profile, const struct scan_profile_context *context,
                       struct ts_scan_error *ret_error) {
    struct scan_rule_files own = {.items = NULL};
    struct scan_rules_options options = {
        .scan = context->options, .config = profile->has_config ? &profile->config : NULL, .own = &own};
    if (profile->has_config && context->options->config_file == NULL &&
        !scan__rule_files_init(&own, &profile->config, &context->source, ret_error))
        return false;
    profile->rules = find_rules(context, &options, ret_error);
    scan__rule_files_release(&own);
    return profile->rules != NULL && scan__rule_changes_find(profile, context->options, ret_error);
}

static bool names_findings(const struct ts_detect_config *config) {
    for (size_t i = 0; i < config->allow_count; i++)
        if (config->allows[i].findings.count > 0)
            return true;
    return false;
}

/* Chooses the keys of finding ids. Precedence of salts: the baseline's salt, the project's salt, the random
 * salt of a new baseline. */
static void choose_keys(struct scan_profile *profile, const struct ts_scan_options *options) {
    struct ts_bytes own = profile->has_config ? profile->config.salt : (struct ts_bytes){NULL, 0};
    struct ts_bytes salt = options->salt.len > 0 ? options->salt : own.len > 0 ? own : options->new_salt;
    profile->has_public_salt = salt.len == 0;
    profile->key = ts_finding_key_of(salt);
    profile->project_key = ts_finding_key_of(own);
    profile->has_project_key = profile->has_config && names_findings(&profile->config) &&
                               memcmp(&profile->key, &profile->project_key, sizeof profile->key) != 0;
}

bool scan__profile_init(struct scan_profile *profile, const struct scan_profile_context *context,
                        struct ts_scan_error *ret_error) {
    *profile = (struct scan_profile){.has_config = false};
    if (!read_config(profile, context->options, &context->source, ret_error) ||
        !read_rules(profile, context, ret_error)) {
        scan__profile_release(profile);
        return false;
    }
    choose_keys(profile, context->options);
    return true;
}

void scan__profile_release(struct scan_profile *profile) {
    scan__rules_drop(profile->rules);
    if (profile->has_config)
        ts_detect_config_release(&profile->config);
    scan__ignored_release(&profile->ignored);
    free(profile->rule_changes);
    ts_arena_release(&profile->arena);
    *profile = (struct scan_profile){.has_config = false};
}
