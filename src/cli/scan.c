/*
 * turnstone scan: secrets in repositories, folders, files and standard input.
 */
#include "complain.h"
#include "scan_run.h"
#include "verbs.h"

#include "report/baseline.h"

static enum cli_exit scan_and_write(struct cli_scan_options *options, struct ts_baseline *baseline) {
    struct ts_report report;
    enum cli_exit status = cli__scan_run(options, &report);
    if (status != CLI_EXIT_DONE)
        return status;
    if (baseline)
        status = cli__scan_compare(options, baseline, &report);
    if (status == CLI_EXIT_DONE)
        status = cli__scan_write(options, &report, cli__scan_status(&report, options->fail_on));
    ts_scan_release(&report);
    return status;
}

static enum cli_exit run_scan(const struct cli_arguments *arguments) {
    struct cli_scan_options options;
    struct ts_baseline baseline = {.count = 0};
    struct ts_baseline_error error;
    enum cli_exit status = cli__scan_options_read("scan", arguments, &options);
    if (status != CLI_EXIT_DONE)
        return status;
    status = cli__scan_check_outputs(&options);
    if (status == CLI_EXIT_DONE && options.baseline && !ts_baseline_read(options.baseline, &baseline, &error))
        status = cli__complain(CLI_EXIT_USAGE, "scan: %s", error.text);
    if (status == CLI_EXIT_DONE) {
        options.scan.salt = ts_baseline_salt(&baseline, TS_BYTES(""));
        status = scan_and_write(&options, options.baseline ? &baseline : NULL);
    }
    ts_baseline_release(&baseline);
    cli__scan_options_release(&options);
    return status;
}

static const struct cli_variable variables[] = {
    {"NO_COLOR", "when set, and not empty, no colours are used on a terminal"},
    {"TMPDIR", "where temporary files go, such as parts of very large objects; /tmp by default"},
    {"XDG_CACHE_HOME", "where compiled rules are kept; ~/.cache by default"},
    {"XDG_STATE_HOME", "where what scans learnt is kept; ~/.local/state by default"},
};

static const struct cli_example examples[] = {
    {"printf 'nothing here' | turnstone scan -", "standard input"},
    {"printf 'nothing here' | turnstone scan - --format json", "for programs"},
};

const struct cli_verb cli__verb_scan = {
    .name = "scan",
    .summary = "find secrets in repositories, folders and files",
    .operands = "TARGET…",
    .description =
        "Looks for secrets in each target: every file of every commit that a ref of a git repository reaches, or HEAD of one of its "
        "work trees, with the messages "
        "of commits and tags, and notes; or a file; or '-' for standard input. Each secret is reported once for a rule, with "
        "where it stands: up to 100 occurrences, each a path and a version of a file with the first commit that had it.\n\n"
        "A repository is a work tree, a bare repository, or its .git folder. Nothing in it is executed, and nothing is written "
        "to it. What a shallow or partial clone leaves out is counted; what cannot be read is named, and everything else is "
        "scanned.\n\n"
        "The .turnstone.yml at the top of a target, of a bare repository that of HEAD, may allow findings, and add, replace or leave "
        "out rules; the report says what it suppressed and which rules it took away.\n\n"
        "With --baseline only findings that it does not have are shown and count; turnstone baseline makes it. Formats, and "
        "what finding ids are, are described in docs/formats.\n\n"
        "Status 0 is clean, 1 findings, 2 a target or option that is wrong, 4 a scan that is incomplete, with or without "
        "findings: something could not be read, or it was interrupted; and 6 that memory, threads, temporary files or the output "
        "failed. With several targets the others are scanned and reported all the same: 6 comes before 2, 2 before 4, and 4 "
        "before 1. A first Ctrl-C ends it with a report of what was found, a second one at once.",
    .options = cli__scan_option_table,
    .option_count = SCAN_OPTION_COUNT,
    .variables = variables,
    .variable_count = sizeof variables / sizeof variables[0],
    .examples = examples,
    .example_count = sizeof examples / sizeof examples[0],
    .run = run_scan,
};
