/*
 * .turnstone.yml: the configuration of a project's scans. docs/formats/turnstone-yml.md describes the file.
 */
#ifndef TS_DETECT_CONFIG_H
#define TS_DETECT_CONFIG_H

#include "detect/detect_error.h"
#include "detect/rule.h"

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TS_DETECT_CONFIG_SIZE_MAX ((size_t)4 << 20)
#define TS_DETECT_CONFIG_SALT_MIN 16

/* Compiled regular expressions. */
struct ts_allow_patterns {
    void **codes;
    size_t count;
};

/* An entry allows a match if all its conditions hold. Each condition is a list. It holds if one of its items
 * fits, or if the list is empty. */
struct ts_allow {
    struct ts_rule_texts paths; /* globs */
    struct ts_rule_texts rules;
    struct ts_rule_texts findings;
    struct ts_allow_patterns secrets;
    struct ts_allow_patterns lines;
    const char *reason; /* "" if the entry has no reason */
    unsigned line;      /* line of the entry in the file */
};

struct ts_detect_config {
    const char *file;     /* name of the file, from the caller */
    struct ts_bytes salt; /* empty: the project has no salt */
    bool without_builtin;
    struct ts_rule_texts rule_files; /* relative to the folder of the file */
    struct ts_allow *allows;
    size_t allow_count;
    /* Step limit of one pattern. All patterns together also have a limit for each match. */
    uint32_t match_limit;
    void *memory;
};

/* Parses a configuration. An empty text is an empty configuration. On failure there is nothing to release. */
bool ts_detect_config_parse(const char *file, struct ts_bytes text, struct ts_detect_config *ret_config,
                            struct ts_detect_error *ret_error);
void ts_detect_config_release(struct ts_detect_config *config);

/* A match and its place: a caller asks whether an entry allows the match. */
struct ts_allow_question {
    const char *path;
    const char *rule;
    const char *finding; /* id of the finding */
    /* The id with the project's own salt, if `finding` was made with another salt; otherwise NULL. */
    const char *project_finding;
    struct ts_bytes secret;
    struct ts_bytes lines;
    struct ts_bytes line_before;
};

/*
 * Finds the entry that allows a match, in two steps, because callers learn the path last. The first step
 * lists the entries (indexes in allows) that allow the match if the path matches; it ignores the path in the
 * question. After the first entry without paths, it lists only entries that name the finding: these do not
 * change the answer, but count as used. ret_entries has room for allow_count. Returns the number of listed
 * entries. In the second step, the first listed entry for which ts_allow_has_path holds allows the match. If
 * no listed entry has the path, the match is allowed only if ts_pragma_find returns a mark. Any thread may
 * call these functions.
 */
size_t ts_detect_config_consider(const struct ts_detect_config *config,
                                 const struct ts_allow_question *question, uint32_t *ret_entries);
bool ts_allow_has_path(const struct ts_allow *allow, const char *path);

/* Returns whether the path is allowed by an entry that has no condition except its paths. */
bool ts_detect_config_allows_all(const struct ts_detect_config *config, const char *path);

#endif
