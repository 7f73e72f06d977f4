/*
 * The settings of a target's scan: rules, the target's own configuration, and the key of finding ids.
 *
 * The configuration of a target is untrusted: it may name only rule files of the target, and only within the
 * limits of profile.c and rules.c, so that it cannot make a scan arbitrarily expensive.
 */
#ifndef TS_SCAN_PROFILE_H
#define TS_SCAN_PROFILE_H

#include "ignored.h"
#include "rules.h"

#include "detect/config.h"
#include "detect/finding_id.h"
#include "option_names.h"
#include "os/arena.h"
#include "scan/scan.h"

struct scan_profile {
    struct scan_rules *rules; /* may be shared with other profiles */
    struct ts_detect_config config;
    bool has_config;
    struct scan_ignored ignored; /* entries of .gitleaksignore */
    struct ts_finding_key key;
    bool is_kept; /* the caller owns the profile and reuses it for later scans: the pass does not free it */
    bool has_public_salt;
    struct ts_finding_key project_key; /* the key that applies without a baseline */
    /* project_key differs from the key, and allow entries name findings. An id in an entry may be made with
     * either key. */
    bool has_project_key;
    uint8_t config_digest[32]; /* digest of the text of the configuration; zeros if there is none */
    struct ts_report_rule_change *rule_changes;
    size_t rule_change_count; /* `target` of a change: TS_REPORT_NONE, or 0 for the target of the profile */
    size_t rule_change_capacity;
    char note[400];         /* a note on the configuration for the report, or "" */
    char ignored_note[200]; /* a note on .gitleaksignore, or "" */
    struct ts_arena arena;
};

/* The content of a file of the target. The caller frees bytes. */
struct scan_profile_file {
    uint8_t *bytes;
    size_t len;
};
enum scan_profile_read { SCAN_PROFILE_READ, SCAN_PROFILE_ABSENT, SCAN_PROFILE_UNREADABLE };
typedef enum scan_profile_read scan_profile_reader(void *ctx, const char *path, size_t max,
                                                   struct scan_profile_file *ret_file);

struct scan_profile_source {
    const char *name;          /* the target's name in messages */
    scan_profile_reader *read; /* NULL: the target has no configuration of its own */
    void *ctx;
    const char *file; /* the name of the target's configuration; NULL: none */
    bool has_ignored; /* the target has a .gitleaksignore */
};

#define SCAN_CONFIG_NAME  ".turnstone.yml"
#define SCAN_CONFIG_OTHER ".turnstone.yaml" /* the same file by another name */
#define SCAN_CONFIG_CURE  "; " SCAN_OPTION_NO_REPO_CONFIG " scans without it"

struct scan_profile_context {
    const struct ts_scan_options *options;
    struct scan_profile_source source;
    struct scan_profile *const *known; /* profiles of the same options, whose rules may be shared */
    size_t known_count;
};

/* Writes the error, and returns false. */
__attribute__((format(printf, 2, 3))) bool scan__refuse(struct ts_scan_error *ret_error, const char *format,
                                                        ...);

/* Like scan__refuse, for memory that ran out: os_error is ENOMEM, because no configuration is to blame. */
bool scan__refuse_memory(struct ts_scan_error *ret_error);

/* Makes a profile. On failure returns false, and the error has one line of text. */
bool scan__profile_init(struct scan_profile *profile, const struct scan_profile_context *context,
                        struct ts_scan_error *ret_error);
void scan__profile_release(struct scan_profile *profile);

#endif
