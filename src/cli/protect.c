/*
 * turnstone protect: scans staged changes before a commit.
 */
#include "complain.h"
#include "output.h"
#include "scan_run.h"
#include "verbs.h"

#include "base/number.h"

#include <stdlib.h>

enum {
    ALLOW_MISSING,
    RULES,
    NO_BUILTIN_RULES,
    CONFIG,
    NO_REPO_CONFIG,
    BASELINE,
    FAIL_ON,
    MIN_CONFIDENCE,
    FAIL_ON_CONFIDENCE,
    MEMORY,
    MAX_TIME,
    MAX_RATIO,
    ARCHIVES,
    MAX_ARCHIVE,
    STRICT,
    FILES,
    OPTION_COUNT
};

static const struct cli_option options_table[OPTION_COUNT] = {
    [ALLOW_MISSING] = {.name = "allow-missing",
                       .help = "allow staged files that a partial clone lacks (default: with such files, the "
                               "status is 4)"},
    CLI_SCAN_RULE_OPTIONS(RULES, NO_BUILTIN_RULES, CONFIG, NO_REPO_CONFIG),
    [BASELINE] = {.name = "baseline", .argument = "FILE", .help = "known findings to ignore"},
    [FAIL_ON] = {.name = "fail-on",
                 .argument = "SEVERITY",
                 .choices = CLI_CHOICES(TS_SEVERITIES),
                 .help = "refuse the commit only for findings of this severity or higher (default: low)"},
    [MIN_CONFIDENCE] = {.name = "min-confidence",
                        .argument = "CONFIDENCE",
                        .choices = CLI_CHOICES(TS_CONFIDENCES),
                        .help = "list only findings of this confidence or higher (default: low)"},
    [FAIL_ON_CONFIDENCE] = CLI_SCAN_CONFIDENCE_OPTION,
    CLI_SCAN_LIMIT_OPTIONS(MEMORY, MAX_TIME, MAX_RATIO, ARCHIVES, MAX_ARCHIVE),
    [STRICT] = {.name = "strict",
                .help =
                    "end with status 4 if there are submodules, encrypted archives or missing LFS objects"},
    [FILES] = {.name = "files",
               .help = "the operands are paths in the index: scan these files even if they have no staged "
                       "change. If one of them has no staged change, report all secrets in all scanned "
                       "files, even those that HEAD already has"},
};

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

/* Returns the repository to scan: the operand, or the repository in the variables that git sets for hooks, or
 * the current folder. Hooks run at the top of the work tree. */
static struct ts_scan_target choose_target(const struct cli_arguments *arguments) {
    struct ts_scan_target target = {.path = "."};
    if (arguments->operand_count > 0 && !arguments->values[FILES]) {
        target.path = arguments->operands[0];
    } else if ((target.git_dir = variable("GIT_DIR"))) {
        const char *work_tree = variable("GIT_WORK_TREE");
        target.path = work_tree ? work_tree : ".";
    }
    return target;
}

/* Prints the result and returns the exit status. Prints nothing if there is nothing to report, because
 * commits are frequent. */
static enum cli_exit tell(struct cli_scan_options *options, const struct ts_report *report) {
    enum cli_exit status = cli__scan_status(options, report);
    if (status == CLI_EXIT_INCOMPLETE)
        cli__scan_complain_incomplete(options->verb, report);
    if (ts_report_totals(report).findings > 0)
        status = cli__scan_write(options, report, status);
    if (status == CLI_EXIT_FINDINGS)
        cli__complain(
            status,
            "protect: refused: the staged changes%s contain secrets. Remove them and stage again; to allow "
            "a false positive, put 'turnstone:allow' in its line, or use .turnstone.yml. 'git commit "
            "--no-verify' skips this check",
            options->scan.file_count > 0 ? " or the named files" : "");
    return status;
}

static enum cli_exit scan_and_tell(struct cli_scan_options *options) {
    struct cli_baseline baseline;
    struct ts_report report;
    enum cli_exit status = cli__scan_read_baseline(options, &baseline);
    if (status == CLI_EXIT_DONE)
        status = cli__scan_run(options, &report);
    if (status == CLI_EXIT_DONE) {
        status = cli__scan_compare(options, &baseline, &report);
        if (status == CLI_EXIT_DONE)
            status = tell(options, &report);
        ts_scan_report_release(&report);
    }
    cli__scan_release_baseline(&baseline);
    return status;
}

static enum cli_exit run_protect(const struct cli_arguments *arguments) {
    const char *const *values = arguments->values;
    bool has_files = values[FILES] != NULL;
    if (arguments->operand_count > 1 && !has_files)
        return cli__complain(CLI_EXIT_USAGE, "protect: takes one repository; '%s' is a second one",
                             cli__quote_text(arguments->operands[1]).text);
    enum cli_exit status = cli__scan_config_check("protect", values[CONFIG], values[NO_REPO_CONFIG]);
    if (status != CLI_EXIT_DONE)
        return status;
    struct ts_scan_target target = choose_target(arguments);
    struct cli_scan_options options = {
        .verb = "protect",
        .format = TS_REPORT_FORMAT_TEXT,
        .baseline = values[BASELINE],
        .fail_on = TS_SEVERITY_LOW,
        .fail_on_confidence = TS_CONFIDENCE_MEDIUM,
        .no_progress = true,
        .scan = {.targets = &target,
                 .target_count = 1,
                 .extent = TS_SCAN_STAGED,
                 .search_upward = true,
                 .min_confidence = TS_CONFIDENCE_LOW,
                 .ceilings = variable("GIT_CEILING_DIRECTORIES"),
                 .index_file = arguments->operand_count == 0 || has_files ? variable("GIT_INDEX_FILE") : NULL,
                 .files = arguments->operands,
                 .file_count = has_files ? arguments->operand_count : 0,
                 .allow_missing = values[ALLOW_MISSING] != NULL,
                 .strict = values[STRICT] != NULL,
                 .config_file = values[CONFIG],
                 .no_repo_config = values[NO_REPO_CONFIG] != NULL,
                 .no_builtin_rules = values[NO_BUILTIN_RULES] != NULL}};
    struct cli_scan_limits limits = {.memory = values[MEMORY],
                                     .max_time = values[MAX_TIME],
                                     .max_ratio = values[MAX_RATIO],
                                     .archives = values[ARCHIVES],
                                     .max_archive = values[MAX_ARCHIVE]};
    status = cli__scan_limits_read("protect", &limits, &options.scan);
    if (status != CLI_EXIT_DONE)
        return status;
    const char **rules = calloc(arguments->given_count + 1, sizeof *rules);
    if (!rules)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "out of memory");
    for (size_t i = 0; i < arguments->given_count; i++)
        if (arguments->given[i].option == RULES)
            rules[options.scan.rule_file_count++] = arguments->given[i].value;
    options.scan.rule_files = rules;
    if (values[FAIL_ON])
        (void)ts_severity_parse(ts_bytes_of_cstring(values[FAIL_ON]), &options.fail_on);
    if (values[MIN_CONFIDENCE])
        (void)ts_confidence_parse(ts_bytes_of_cstring(values[MIN_CONFIDENCE]), &options.scan.min_confidence);
    if (values[FAIL_ON_CONFIDENCE])
        (void)ts_confidence_parse(ts_bytes_of_cstring(values[FAIL_ON_CONFIDENCE]),
                                  &options.fail_on_confidence);
    status = cli__scan_check_confidence(&options, values[FAIL_ON_CONFIDENCE]);
    if (status == CLI_EXIT_DONE)
        status = scan_and_tell(&options);
    free(rules);
    return status;
}

static const struct cli_variable variables[] = {
    {"GIT_DIR", "the repository, if no operand names one (default: the repository of the current folder)"},
    {"GIT_WORK_TREE", "with GIT_DIR, the work tree of the repository (default: the current folder)"},
    {"GIT_CEILING_DIRECTORIES",
     "folders, separated by ':'; the upward search for a repository stops below them"},
    {"GIT_INDEX_FILE", "the index to scan, if no operand names a repository; git sets it for hooks"},
    {"NO_COLOR", "if set and not empty, do not use colours on a terminal"},
    {"XDG_CACHE_HOME", "folder for compiled rules (default: ~/.cache)"},
};

const struct cli_verb cli__verb_protect = {
    .name = "protect",
    .summary = "refuse a commit that would add secrets",
    .operands = "[REPOSITORY | --files FILE…]",
    .description =
        "For a pre-commit hook: scans the staged files that differ from HEAD, and reports the secrets that "
        "the commit would add, as 'turnstone scan --staged' does. It ignores secrets that HEAD already has in "
        "any file, and secrets of a commit that is being merged; 'turnstone scan' reports those. It prints "
        "nothing if there are no findings.\n\n"
        "By default it uses the repository of the current folder. The .turnstone.yml of the work tree and "
        "--baseline may allow findings.\n\n"
        "To run it as a git hook, put 'exec turnstone protect' into .git/hooks/pre-commit. With the pre-commit "
        "framework, use the hook 'turnstone' of this repository; it passes --files, so that 'pre-commit run "
        "--all-files' scans all files.\n\n"
        "Exit status: 0 the commit may go ahead; 1 findings; 2 a wrong option or no repository; 4 something "
        "could not be read; 6 no memory or temporary files.",
    .options = options_table,
    .option_count = OPTION_COUNT,
    .variables = variables,
    .variable_count = sizeof variables / sizeof variables[0],
    .run = run_protect,
};
