/*
 * turnstone scan: finds secrets in repositories, folders, files and standard input.
 */
#include "scan_run.h"
#include "verbs.h"

static enum cli_exit scan_and_write(struct cli_scan_options *options, struct cli_baseline *baseline) {
    struct ts_report report;
    enum cli_exit status = cli__scan_run(options, &report);
    if (status != CLI_EXIT_DONE)
        return status;
    status = cli__scan_compare(options, baseline, &report);
    if (status == CLI_EXIT_DONE)
        status = cli__scan_write(options, &report, cli__scan_status(options, &report));
    ts_scan_report_release(&report);
    return status;
}

static enum cli_exit run_scan(const struct cli_arguments *arguments) {
    struct cli_scan_options options;
    struct cli_baseline baseline = {.is_foreign = false};
    enum cli_exit status = cli__scan_options_read("scan", arguments, &options);
    if (status != CLI_EXIT_DONE)
        return status;
    status = cli__scan_check_outputs(&options);
    if (status == CLI_EXIT_DONE)
        status = cli__scan_read_baseline(&options, &baseline);
    if (status == CLI_EXIT_DONE)
        status = scan_and_write(&options, &baseline);
    cli__scan_release_baseline(&baseline);
    cli__scan_options_release(&options);
    return status;
}

static const struct cli_variable variables[] = {
    {"GIT_CEILING_DIRECTORIES",
     "folders, separated by ':'; the upward search for a repository stops below them"},
    {"NO_COLOR", "if set and not empty, do not use colours on a terminal"},
    {"SOURCE_DATE_EPOCH", "the scan time to write in reports, in seconds since 1970 (default: the clock)"},
    {"TMPDIR", "folder for temporary files, such as parts of very large objects (default: /tmp)"},
    {"XDG_CACHE_HOME", "folder for compiled rules (default: ~/.cache)"},
    {"XDG_STATE_HOME", "folder for the state of scans (default: ~/.local/state)"},
};

static const struct cli_example examples[] = {
    {"printf 'nothing here' | turnstone scan -", "standard input"},
    {"printf 'nothing here' | turnstone scan - --format json", "for programs"},
};

const struct cli_verb cli__verb_scan = {
    .name = "scan",
    .summary = "find secrets in repositories, folders and files",
    .operands = "[TARGET…]",
    .description =
        "Looks for secrets in each target. A target is a git repository, a file, or '-' for standard input; "
        "a folder in a work tree means the whole repository. Without a target, it scans the repository of "
        "the current folder. In a repository it scans every file of every commit that a ref or the HEAD of a "
        "work tree reaches, the messages of commits and tags, and notes. It reports each secret once per "
        "rule, with up to 100 occurrences: the path and version of the file, and the first commit that had "
        "it.\n\n"
        "With --commit, --range, --since or --staged, it reports only secrets that the change adds: secrets "
        "that no file contained before the change.\n\n"
        "A repository is a work tree, a bare repository, or its .git folder. Turnstone executes nothing in it "
        "and writes nothing to it. The report counts the objects that a shallow or partial clone omits, and "
        "names objects that cannot be read. Everything else is scanned.\n\n"
        "The .turnstone.yml at the top of a target may allow findings, and add, replace or remove rules. For "
        "a bare repository, the file in HEAD is used. The report says which findings the file suppressed and "
        "which rules it removed. A .gitleaksignore at the top of the target is honoured, too, and so are comments of other tools "
        "that allow a line, such as gitleaks:allow.\n\n"
        "With --baseline, only findings that are not in the baseline are shown and counted. 'turnstone "
        "baseline' makes a baseline. Reports of other tools can be used as baselines, too. docs/formats "
        "describes the formats and the ids of findings.\n\n"
        "Exit status: 0 no findings; 1 findings; 2 a wrong target or option; 4 an incomplete scan, with or "
        "without findings: something could not be read, or the scan was interrupted; 6 no memory, threads or "
        "temporary files, or the output cannot be written. When one of several targets fails, the others are "
        "still scanned and reported. If several statuses apply, 6 takes precedence over 2, 2 over 4, and 4 "
        "over 1. The first Ctrl-C ends the scan with a report of the findings so far; the second one ends it "
        "at once.",
    .options = cli__scan_option_table,
    .option_count = SCAN_OPTION_COUNT,
    .variables = variables,
    .variable_count = sizeof variables / sizeof variables[0],
    .examples = examples,
    .example_count = sizeof examples / sizeof examples[0],
    .run = run_scan,
};
