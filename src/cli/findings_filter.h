/*
 * Shared by the verbs on findings: the options that select findings, the ids of findings, and failures.
 */
#ifndef TS_CLI_FINDINGS_FILTER_H
#define TS_CLI_FINDINGS_FILTER_H

#include "coord_verb.h"

#include "runtime/durable/findings.h"

/* In a verb's table, these options follow the options of coordination. */
enum {
    FINDINGS_RULE = COORD_OPTIONS,
    FINDINGS_SEVERITY,
    FINDINGS_CONFIDENCE,
    FINDINGS_STATE,
    FINDINGS_TARGET,
    FINDINGS_OPTIONS
};

#define CLI_FINDINGS_OPTIONS                                                                                 \
    CLI_COORD_OPTIONS,                                                                                       \
        [FINDINGS_RULE] = {.name = "rule", .argument = "ID", .help = "only findings of this rule"},          \
        [FINDINGS_SEVERITY] = {.name = "severity",                                                           \
                               .argument = "LEVEL",                                                          \
                               .choices = CLI_CHOICES(TS_SEVERITIES),                                        \
                               .help = "only findings of this severity or higher (default: "                 \
                                       "low)"},                                                              \
        [FINDINGS_CONFIDENCE] = {.name = "confidence",                                                       \
                                 .argument = "LEVEL",                                                        \
                                 .choices = CLI_CHOICES(TS_CONFIDENCES),                                     \
                                 .help = "only findings of this confidence or higher "                       \
                                         "(default: medium)"},                                               \
        [FINDINGS_STATE] = {.name = "state",                                                                 \
                            .argument = "STATE",                                                             \
                            .choices = CLI_CHOICES_AND(TS_FLEET_FINDING_STATES, "all"),                      \
                            .help = "only findings in this state; allowed: marks in the "                    \
                                    "source allow every occurrence (default: open)"},                        \
        [FINDINGS_TARGET] = {.name = "target",                                                               \
                             .argument = "ID",                                                               \
                             .help = "only findings of this target, by the id that "                         \
                                     "'turnstone targets' prints for the same selection"}

/* Reads the options that select findings. Prints an error when an option is wrong. */
enum cli_exit cli__findings_filter(const char *verb, const struct cli_arguments *arguments,
                                   struct ts_findings_filter *ret_filter);

/* Reads the id of a finding: 32 hexadecimal digits. `what` names the id in the error. */
enum cli_exit cli__finding_id(const char *verb, const char *what, const char *text,
                              struct ts_fleet_finding *ret_finding);

/* The id of a finding as people write it. */
struct cli_finding_shown {
    char text[2 * TS_FLEET_FINDING_LEN + 1];
};
struct cli_finding_shown cli__show_finding(const struct ts_fleet_finding *finding);

/* Prints why the stores could not be read or written, and returns the exit status. */
enum cli_exit cli__findings_refuse(struct cli_coord *coord, const struct ts_infra_error *error);

/* Prints that the tenant has never had the finding, and returns the exit status. */
enum cli_exit cli__findings_refuse_unknown(struct cli_coord *coord, const struct ts_fleet_finding *finding);

/* Refuses a filter by a target that was never scanned: an empty answer would look like a clean repository. */
enum cli_exit cli__findings_check_target(struct cli_coord *coord, const struct ts_findings_filter *filter);

#endif
