/*
 * The options of turnstone scan, and their values.
 */
#ifndef TS_CLI_SCAN_OPTIONS_H
#define TS_CLI_SCAN_OPTIONS_H

#include "verb.h"

#include "report/write.h"
#include "scan/scan.h"

/* The options in the order of the tables: first the options that scan shares with other verbs (what to scan,
 * and how), then the options of scan alone. */
enum {
    SCAN_DIR,
    SCAN_REF,
    SCAN_BRANCH,
    SCAN_COMMIT,
    SCAN_RANGE,
    SCAN_SINCE,
    SCAN_STAGED,
    SCAN_WORKING_TREE,
    SCAN_UNREACHABLE,
    SCAN_ALLOW_MISSING,
    SCAN_OUTPUT,
    SCAN_RULES,
    SCAN_NO_BUILTIN_RULES,
    SCAN_CONFIG,
    SCAN_NO_REPO_CONFIG,
    SCAN_FULL,
    SCAN_UNGATED,
    SCAN_JOBS,
    SCAN_MEMORY,
    SCAN_MAX_TIME,
    SCAN_MAX_RATIO,
    SCAN_ARCHIVES,
    SCAN_MAX_ARCHIVE,
    SCAN_STRICT,
    SCAN_STATE,
    SCAN_NO_STATE,
    SCAN_NO_PROGRESS,
    SCAN_COMMON_COUNT,
    SCAN_FORMAT = SCAN_COMMON_COUNT,
    SCAN_MIN_CONFIDENCE,
    SCAN_OCCURRENCES,
    SCAN_SHOW_SECRETS,
    SCAN_FAIL_ON,
    SCAN_FAIL_ON_CONFIDENCE,
    SCAN_BASELINE,
    SCAN_DIFF_BASELINE,
    SCAN_QUIET,
    SCAN_OPTION_COUNT,
};

extern const struct cli_option cli__scan_option_table[SCAN_OPTION_COUNT];

/* The options of turnstone baseline: those that it shares with turnstone scan. */
extern const struct cli_option cli__baseline_option_table[SCAN_COMMON_COUNT];

/* The options for the rules of a scan, which other verbs have, too. */
#define CLI_RULES_OPTION                                                                                     \
    {                                                                                                        \
        .name = "rules", .argument = "FILE",                                                                 \
        .help = "add the rules of this file; a rule replaces an earlier one with the same id", .many = true  \
    }
#define CLI_NO_BUILTIN_RULES_OPTION                                                                          \
    { .name = "no-builtin-rules", .help = "do not use the built-in rules" }
#define CLI_SCAN_RULE_OPTIONS(rules, no_builtin_rules, config, no_repo_config)                               \
    [rules] = CLI_RULES_OPTION, [no_builtin_rules] = CLI_NO_BUILTIN_RULES_OPTION,                            \
    [config] = {.name = "config",                                                                            \
                .argument = "FILE",                                                                          \
                .help = "use this configuration file instead of the .turnstone.yml of the target"},          \
    [no_repo_config] = {.name = "no-repo-config", .help = "ignore the .turnstone.yml of the target"}

/* Prints an error if both --config and --no-repo-config are given. `config` and `no_repo_config` are their
 * values, or NULL. */
enum cli_exit cli__scan_config_check(const char *verb, const char *config, const char *no_repo_config);

/* The options for the limits of a scan, which other verbs have, too. */
#define CLI_SCAN_LIMIT_OPTIONS(memory, max_time, max_ratio, archives, max_archive)                           \
    [memory] = {.name = "memory",                                                                            \
                .argument = "SIZE",                                                                          \
                .help = "use at most SIZE of memory, not counting mapped files, such as 512M or 2G (at "     \
                        "least 64M; default: 1G)"},                                                          \
    [max_time] = {.name = "max-time",                                                                        \
                  .argument = "DURATION",                                                                    \
                  .help = "stop after this time, such as 90s, 15m or 2h, with status 4 and a report of "     \
                          "the findings so far (default: no limit)"},                                        \
    [max_ratio] = {.name = "max-ratio",                                                                      \
                   .argument = "COUNT",                                                                      \
                   .help = "stop with status 4 when a repository unpacks to more than COUNT times its "      \
                           "size on disk and to more than 1G (default: 10000)"},                             \
    [archives] = {.name = "archives",                                                                        \
                  .argument = "DEPTH",                                                                       \
                  .help = "scan the files in archives (zip, jar, docx, tar, gz, bz2, xz, zstd …), and in " \
                          "nested archives down to DEPTH, from 0 (do not open archives) to 8 (default: 3)"}, \
    [max_archive] = {.name = "max-archive",                                                                  \
                     .argument = "SIZE",                                                                     \
                     .help = "unpack at most SIZE of each archive; end with status 4 if there is more "      \
                             "(default: 1G)"}

/* The option for the minimum confidence of findings that cause status 1. The verb protect also has this
 * option. */
#define CLI_SCAN_CONFIDENCE_OPTION                                                                           \
    {                                                                                                        \
        .name = "fail-on-confidence", .argument = "CONFIDENCE", .choices = CLI_CHOICES(TS_CONFIDENCES),      \
        .help = "end with status 1 only for findings of this confidence or higher (default: medium); both "  \
                "this and --fail-on must hold"                                                               \
    }

/* Reads a size in bytes. The text may end with K, M, G or T. Returns false if the text is wrong. */
bool cli__size_parse(const char *text, uint64_t *ret_bytes);

/* Reads a number followed by ms, s, m or h; at most a year. Returns false if the text is wrong. */
bool cli__duration_parse(const char *text, uint64_t *ret_ms);

/* The values of the options for limits, or NULL. */
struct cli_scan_limits {
    const char *memory;
    const char *max_time;
    const char *max_ratio;
    const char *archives;
    const char *max_archive;
};
enum cli_exit cli__scan_limits_read(const char *verb, const struct cli_scan_limits *texts,
                                    struct ts_scan_options *scan);

/* A destination of the report, and its format. */
struct cli_scan_output {
    const char *path; /* path of a file; "-": standard output */
    enum ts_report_format format;
};

struct cli_scan_options {
    struct ts_scan_options scan;
    const char *verb;                /* name of the verb, for messages */
    enum ts_report_format format;    /* format on standard output */
    struct cli_scan_output *outputs; /* destinations, owned; without destinations: standard output */
    size_t output_count;
    const char *baseline; /* file of --baseline; NULL: no baseline */
    bool lists_gone;
    enum ts_severity fail_on;
    enum ts_confidence fail_on_confidence;
    const char **texts; /* lists of values that `scan` points to; owned */
    struct ts_scan_target *targets;
    char *state_folder; /* the user's default folder, owned; or NULL */
    bool no_progress;
    bool quiet; /* prints no summary on standard error */
};

/* Prints an error if --fail-on-confidence is below --min-confidence, because findings that are not listed do
 * not count. `fail_on_confidence` is the value of the option, or NULL. */
enum cli_exit cli__scan_check_confidence(const struct cli_scan_options *options,
                                         const char *fail_on_confidence);

/* Reads the options. If the result is not CLI_EXIT_DONE, an error was printed, and there is nothing to
 * release. */
enum cli_exit cli__scan_options_read(const char *verb, const struct cli_arguments *arguments,
                                     struct cli_scan_options *ret_options);
void cli__scan_options_release(struct cli_scan_options *options);

#endif
