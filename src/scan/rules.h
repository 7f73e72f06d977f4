/*
 * Compiled rules, shared by all profiles whose rules come from the same texts.
 *
 * Reading the built-in rules and their compiled form takes 3 ms and 2 MB. Targets often have their own
 * configuration, but seldom their own rules. So a scan of many such targets reads the rules once.
 */
#ifndef TS_SCAN_RULES_H
#define TS_SCAN_RULES_H

#include "detect/config.h"
#include "detect/detector.h"
#include "scan/scan.h"

struct scan_profile_source;

struct scan_rules {
    struct ts_ruleset set;
    size_t builtin_count;       /* the set begins with this many built-in rules; 0: they are omitted */
    struct ts_ruleset left_out; /* the built-in rules if they are omitted, otherwise empty */
    struct ts_detector *detector;
    uint8_t sources[32];      /* digest of those texts of the set that differ between targets */
    atomic_size_t user_count; /* number of profiles that use the rules, in any thread */
};

/* The rule files that a target's own configuration names, with their content. */
struct scan_rule_files {
    struct scan_rule_file *items;
    size_t count;
};

/* Reads the files. `config` must stay valid until the release. On failure returns false with one line of
 * text, and there is nothing to release. */
bool scan__rule_files_init(struct scan_rule_files *files, const struct ts_detect_config *config,
                           const struct scan_profile_source *source, struct ts_scan_error *ret_error);
void scan__rule_files_release(struct scan_rule_files *files);

struct scan_rules_options {
    const struct ts_scan_options *scan;
    const struct ts_detect_config *config; /* NULL: none */
    /* Rule files of the target; empty when `config` is not the target's own. */
    const struct scan_rule_files *own;
};

/* Computes the value of `sources` for rules with these options. */
void scan__rules_sources(const struct scan_rules_options *options, uint8_t ret_sources[static 32]);

/* Makes rules with one user. On failure returns NULL, and the error says what is wrong. */
struct scan_rules *scan__rules_new(const struct scan_rules_options *options, struct ts_scan_error *ret_error);

/* scan__rules_share adds a user, and returns the rules. scan__rules_drop removes a user; removing the last
 * user frees the rules. scan__rules_drop accepts NULL. */
struct scan_rules *scan__rules_share(struct scan_rules *rules);
void scan__rules_drop(struct scan_rules *rules);

#endif
