/*
 * turnstone baseline: records the current findings as known.
 */
#include "complain.h"
#include "output.h"
#include "scan_run.h"
#include "verbs.h"

#include "os/replace.h"
#include "report/baseline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static enum cli_exit complain(const struct ts_baseline_error *error) {
    bool is_ours = error->kind == TS_BASELINE_NO_MEMORY || error->kind == TS_BASELINE_NO_ENTROPY ||
                   error->kind == TS_BASELINE_UNWRITABLE;
    return cli__complain(is_ours ? CLI_EXIT_INFRASTRUCTURE : CLI_EXIT_USAGE, "baseline: %s", error->text);
}

static bool is_there(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 || errno != ENOENT;
}

/* Returns the baseline that contains the salt of the report's ids: `old` if it has a salt, otherwise `drawn`.
 * Returns NULL if the ids were made with the project's salt. */
static const struct ts_baseline *salt_of(const struct ts_baseline *old, const struct ts_baseline *drawn,
                                         const struct ts_report *report) {
    if (old->salt_len > 0)
        return old;
    struct ts_finding_key key = ts_finding_key_of(ts_baseline_salt(drawn, TS_BYTES("")));
    return memcmp(key.key, report->key.key, sizeof key.key) == 0 ? drawn : NULL;
}

/* Returns the number of missing objects that --allow-missing accepts. A finding of the old baseline may be in
 * one of these objects. */
static uint64_t count_missing(const struct ts_report *report) {
    uint64_t missing = 0;
    for (size_t i = 0; i < report->target_count; i++)
        missing += report->targets[i].missing_by_design;
    return missing;
}

static enum cli_exit save(const char *path, struct ts_baseline *old, const struct ts_baseline *drawn,
                          struct ts_report *report) {
    struct ts_baseline_error error;
    if (ts_report_is_incomplete(report)) {
        enum cli_exit status = cli__scan_status(&(struct cli_scan_options){.verb = "baseline"}, report);
        cli__scan_complain_incomplete("baseline", report);
        return cli__complain(
            status,
            "baseline: the scan is incomplete, so findings could be missing from the baseline; '%s' is "
            "unchanged",
            cli__quote_text(path).text);
    }
    if (report->has_several_keys)
        return cli__complain(CLI_EXIT_USAGE,
                             "baseline: the targets have different salts; make a baseline for each target");
    cli__scan_complain_rules("baseline", report);
    ts_baseline_apply(old, report);
    uint64_t missing = count_missing(report);
    if (missing > 0 && report->gone_count > 0)
        return cli__complain(
            CLI_EXIT_INCOMPLETE,
            "baseline: %zu known finding%s may be in %llu missing object%s; '%s' is unchanged; fetch the "
            "missing objects with 'git fetch --refetch --no-filter --tags'",
            report->gone_count, report->gone_count == 1 ? "" : "s", (unsigned long long)missing,
            missing == 1 ? "" : "s", cli__quote_text(path).text);
    if (!ts_baseline_save(salt_of(old, drawn, report), &report->key, report, path, &error))
        return complain(&error);
    printf("%s: %zu finding%s, %llu added, %zu removed\n", cli__quote_text(path).text, report->finding_count,
           report->finding_count == 1 ? "" : "s", (unsigned long long)ts_report_totals(report).findings,
           report->gone_count);
    return cli__finish_stdout(CLI_EXIT_DONE);
}

static enum cli_exit make(const char *path, struct cli_scan_options *options) {
    struct ts_baseline old = {.count = 0};
    struct ts_baseline drawn = {.count = 0};
    struct ts_baseline_error error;
    struct ts_report report;
    if (is_there(path) && !ts_baseline_read(path, &old, &error))
        return complain(&error);
    enum cli_exit status = CLI_EXIT_DONE;
    if (!ts_baseline_new_salt(&drawn, &error))
        status = complain(&error);
    if (status == CLI_EXIT_DONE) {
        options->scan.salt = ts_baseline_salt(&old, TS_BYTES(""));
        options->scan.new_salt = ts_baseline_salt(&drawn, TS_BYTES(""));
        status = cli__scan_run(options, &report);
    }
    if (status == CLI_EXIT_DONE) {
        status = save(path, &old, &drawn, &report);
        ts_scan_report_release(&report);
    }
    ts_baseline_release(&old);
    return status;
}

static enum cli_exit run_baseline(const struct cli_arguments *arguments) {
    struct cli_scan_options options;
    const char *path = arguments->values[SCAN_OUTPUT];
    if (!path)
        return cli__complain(CLI_EXIT_USAGE, "baseline: no output file; name one with --output");
    if (strcmp(path, "-") == 0)
        return cli__complain(CLI_EXIT_USAGE,
                             "baseline: cannot write a baseline to standard output; name a file with "
                             "--output ('./-' for a file named '-')");
    if (ts_replace_is_direct(path))
        return cli__complain(CLI_EXIT_USAGE,
                             "baseline: '%s' is not a regular file; name a file with --output",
                             cli__quote_text(path).text);
    enum cli_exit status = cli__scan_options_read("baseline", arguments, &options);
    if (status != CLI_EXIT_DONE)
        return status;
    options.scan.min_confidence = TS_CONFIDENCE_LOW; /* a baseline also has findings that scans do not list */
    status = cli__scan_check_outputs(&options);
    if (status == CLI_EXIT_DONE)
        status = make(path, &options);
    cli__scan_options_release(&options);
    return status;
}

static const struct cli_example examples[] = {
    {"printf 'nothing here' | turnstone baseline - -o known.baseline", "a baseline without findings"},
};

const struct cli_verb cli__verb_baseline = {
    .name = "baseline",
    .summary = "record the current findings as known",
    .operands = "[TARGET…]",
    .description =
        "Scans like 'turnstone scan' and writes the ids and rules of all findings, of every confidence, to a "
        "file, for 'turnstone scan --baseline'. The file contains no secrets, dates, paths or lines, so that "
        "it can be committed and changes only when findings appear or disappear. An existing file is updated "
        "and keeps its salt. If the scan is incomplete, nothing is written.\n\n"
        "Ids are keyed by the salt of the project (.turnstone.yml). Without one, a new baseline gets a random "
        "salt and stores it, and scans with that baseline use it. The ids of such scans differ from those of other "
        "scans. docs/formats/baseline.md explains what the salt protects.\n\n"
        "Exit status: 0 the file was written; 2 a wrong target or option; 4 an incomplete scan; 6 no memory, "
        "threads or temporary files, or the output cannot be written.",
    .options = cli__baseline_option_table,
    .option_count = SCAN_COMMON_COUNT,
    .examples = examples,
    .example_count = sizeof examples / sizeof examples[0],
    .run = run_baseline,
};
