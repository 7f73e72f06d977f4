#include "scan_run.h"

#include "complain.h"
#include "interrupt.h"
#include "output.h"
#include "scan_progress.h"

#include "base/number.h"
#include "os/clock.h"
#include "os/out.h"
#include "os/replace.h"
#include "turnstone/version.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FAULTS_SHOWN 10

static struct ts_out out;
static struct ts_scan_progress progress;

/* ---- scanning ---- */

static void stop(int number) {
    static const char said[] = "\r\033[Kturnstone: stopping; a second Ctrl-C ends the program at once\n";
    static const char ended[] = "turnstone: stopped before anything was found\n";
    int saved = errno;
    (void)number;
    atomic_store(&progress.stop, true);
    /* In these stages, rules are compiled or a history is read, and nothing can be reported yet. */
    if (atomic_load(&progress.stage) <= TS_SCAN_STAGE_HISTORY && atomic_load(&progress.findings) == 0) {
        (void)!write(STDERR_FILENO, ended, sizeof ended - 1);
        _exit(CLI_EXIT_INCOMPLETE);
    }
    if (isatty(STDERR_FILENO) == 1)
        (void)!write(STDERR_FILENO, said, sizeof said - 1);
    errno = saved;
}

const atomic_bool *cli__scan_stop_flag(void) {
    return &progress.stop;
}

enum cli_exit cli__scan_run(struct cli_scan_options *options, struct ts_report *ret_report) {
    struct ts_scan_error error;
    struct cli_live_line line = {0};
    options->scan.progress = &progress;
    cli__catch_interrupts(stop);
    if (!options->no_progress)
        cli__scan_progress_begin(&line, &progress);
    enum ts_scan_outcome outcome = ts_scan_report_make(&options->scan, ret_report, &error);
    cli__live_line_end(&line);
    if (outcome == TS_SCAN_DONE && ret_report->state_warning)
        cli__complain(CLI_EXIT_DONE, "%s: %s", options->verb, ret_report->state_warning);
    if (outcome == TS_SCAN_DONE)
        return CLI_EXIT_DONE;
    return cli__complain(outcome == TS_SCAN_FAILED ? CLI_EXIT_INFRASTRUCTURE : CLI_EXIT_USAGE, "%s: %s",
                         options->verb, error.text);
}

/* Returns the exit status if a target could not be scanned; otherwise CLI_EXIT_DONE. This status takes
 * precedence over findings in other targets. */
static enum cli_exit status_of_targets(const struct ts_report *report) {
    enum cli_exit status = CLI_EXIT_DONE;
    for (size_t i = 0; i < report->target_count; i++) {
        if (report->targets[i].outcome == TS_REPORT_TARGET_FAILED)
            return CLI_EXIT_INFRASTRUCTURE;
        if (report->targets[i].outcome == TS_REPORT_TARGET_REFUSED)
            status = CLI_EXIT_USAGE;
    }
    return status;
}

enum cli_exit cli__scan_status(const struct cli_scan_options *options, const struct ts_report *report) {
    enum cli_exit status = status_of_targets(report);
    if (status != CLI_EXIT_DONE)
        return status;
    if (ts_report_is_incomplete(report))
        return CLI_EXIT_INCOMPLETE;
    for (size_t i = 0; i < report->finding_count; i++)
        if (report->findings[i].is_new && report->findings[i].rule->severity >= options->fail_on &&
            report->findings[i].confidence >= options->fail_on_confidence)
            return CLI_EXIT_FINDINGS;
    return CLI_EXIT_DONE;
}

static enum cli_exit parse_baseline(struct cli_scan_options *options, struct ts_bytes text,
                                    struct cli_baseline *ret_baseline) {
    struct ts_baseline_error error;
    struct cli_foreign_error foreign_error;
    ret_baseline->is_foreign = text.len <= TS_BASELINE_SIZE_MAX && cli__foreign_is_json(text);
    if (!ret_baseline->is_foreign)
        return ts_baseline_parse(options->baseline, text, &ret_baseline->own, &error)
                   ? CLI_EXIT_DONE
                   : cli__complain(CLI_EXIT_USAGE, "%s: %s", options->verb, error.text);
    /* Entries of another tool are compared by their secrets, so the report must keep secrets. */
    options->scan.keeps_secrets = true;
    if (cli__foreign_parse(options->baseline, text, &ret_baseline->foreign, &foreign_error))
        return CLI_EXIT_DONE;
    return cli__complain(foreign_error.is_memory ? CLI_EXIT_INFRASTRUCTURE : CLI_EXIT_USAGE, "%s: %s",
                         options->verb, foreign_error.text);
}

enum cli_exit cli__scan_read_baseline(struct cli_scan_options *options, struct cli_baseline *ret_baseline) {
    struct ts_baseline_error error;
    char *text;
    size_t len;
    *ret_baseline = (struct cli_baseline){.is_foreign = false};
    if (!options->baseline)
        return CLI_EXIT_DONE;
    if (!ts_baseline_load(options->baseline, &text, &len, &error))
        return cli__complain(CLI_EXIT_USAGE, "%s: %s", options->verb, error.text);
    enum cli_exit status = parse_baseline(options, ts_bytes_of(text, len), ret_baseline);
    free(text);
    options->scan.salt = ts_baseline_salt(&ret_baseline->own, TS_BYTES(""));
    return status;
}

void cli__scan_release_baseline(struct cli_baseline *baseline) {
    ts_baseline_release(&baseline->own);
    cli__foreign_release(&baseline->foreign);
}

/* Ids of findings can be compared only if all targets and the baseline have the same salt. */
enum cli_exit cli__scan_compare(const struct cli_scan_options *options, struct cli_baseline *baseline,
                                struct ts_report *report) {
    struct ts_baseline_error error;
    if (!options->baseline)
        return CLI_EXIT_DONE;
    if (baseline->is_foreign) {
        cli__foreign_apply(&baseline->foreign, report);
        return CLI_EXIT_DONE;
    }
    if (report->has_several_keys)
        return cli__complain(
            CLI_EXIT_USAGE,
            "%s: the targets have different salts, so they cannot share a baseline; scan them one by one",
            options->verb);
    if (!ts_baseline_fits(&baseline->own, &report->key, options->baseline, &error))
        return cli__complain(CLI_EXIT_USAGE, "%s: %s", options->verb, error.text);
    ts_baseline_apply(&baseline->own, report);
    return CLI_EXIT_DONE;
}

void cli__scan_complain_incomplete(const char *verb, const struct ts_report *report) {
    if (report->is_stopped)
        cli__complain(CLI_EXIT_INCOMPLETE, "%s: stopped before the end", verb);
    for (size_t i = 0; i < report->fault_count && i < FAULTS_SHOWN; i++)
        cli__complain(CLI_EXIT_INCOMPLETE, "%s: %s", verb, report->faults[i].text);
    if (report->fault_total > FAULTS_SHOWN)
        cli__complain(CLI_EXIT_INCOMPLETE, "%s: more faults, not listed: %llu", verb,
                      (unsigned long long)(report->fault_total - FAULTS_SHOWN));
    if (report->limits_hit > 0)
        cli__complain(CLI_EXIT_INCOMPLETE, "%s: matches abandoned at a pattern's step limit: %llu", verb,
                      (unsigned long long)report->limits_hit);
}

void cli__scan_complain_rules(const char *verb, const struct ts_report *report) {
    char line[TS_REPORT_LINE_SIZE];
    for (size_t i = 0; i < report->rule_change_count; i++)
        if (ts_report_is_rule_lost(&report->rule_changes[i]))
            cli__complain(CLI_EXIT_DONE, "%s: %s", verb,
                          ts_report_rule_change_text(report, &report->rule_changes[i], line));
}

/* ---- writing ---- */

/* Returns whether the format contains more than findings. */
static bool has_summary(enum ts_report_format format) {
    return format != TS_REPORT_FORMAT_JSONL && format != TS_REPORT_FORMAT_CSV;
}

static bool writes_summary(const struct cli_scan_output *outputs, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (has_summary(outputs[i].format))
            return true;
    return false;
}

static unsigned terminal_width(int fd) {
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static bool wants_colour(int fd) {
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return isatty(fd) == 1 && (!no_colour || no_colour[0] == '\0') && terminal &&
           strcmp(terminal, "dumb") != 0;
}

/* Returns the mode of a report's file. Only the user may read a report with secrets. */
static mode_t mode_of(const struct cli_scan_options *options) {
    return options->scan.shows_secrets ? 0600 : 0666;
}

static enum cli_exit complain_unwritable(const struct cli_scan_options *options, enum cli_exit status,
                                         const char *path, int error) {
    return cli__complain(status, "%s: cannot write '%s': %s", options->verb, cli__quote_text(path).text,
                         strerror(error));
}

static bool is_stdout(const struct cli_scan_output *output) {
    return strcmp(output->path, "-") == 0;
}

/* Reads SOURCE_DATE_EPOCH, the time for reproducible output. Returns false if the variable is not set.
 * check_source_date has refused an invalid value. */
static bool source_date(uint64_t *ret_s) {
    const char *text = getenv("SOURCE_DATE_EPOCH");
    return text && ts_u64_parse(ts_bytes_of_cstring(text), ret_s) == TS_NUMBER_OK;
}

/* Sets the start and the end of a scan that has just ended. */
static void take_times(const struct ts_report *report, struct ts_report_options *ret_how) {
    uint64_t end_s;
    uint64_t took_s = report->took_ns / 1000000000;
    if (source_date(&end_s))
        took_s = 0;
    else
        end_s = ts_clock_wall_ms() / 1000;
    ret_how->end_s = (int64_t)end_s;
    ret_how->start_s = (int64_t)(end_s - took_s);
}

static enum cli_exit check_source_date(const struct cli_scan_options *options) {
    uint64_t unused;
    bool is_used = options->output_count == 0 && options->format == TS_REPORT_FORMAT_GITLAB;
    for (size_t i = 0; i < options->output_count; i++)
        is_used = is_used || options->outputs[i].format == TS_REPORT_FORMAT_GITLAB;
    if (!is_used || !getenv("SOURCE_DATE_EPOCH") || source_date(&unused))
        return CLI_EXIT_DONE;
    return cli__complain(CLI_EXIT_USAGE,
                         "%s: SOURCE_DATE_EPOCH is '%s'; it must be a number of seconds since 1970, or unset",
                         options->verb, cli__quote_text(getenv("SOURCE_DATE_EPOCH")).text);
}

enum cli_exit cli__scan_check_outputs(const struct cli_scan_options *options) {
    enum cli_exit status = check_source_date(options);
    if (status != CLI_EXIT_DONE)
        return status;
    for (size_t i = 0; i < options->output_count; i++) {
        struct ts_replace file;
        /* A pipe is not opened before there is something to write, because opening may wait for the pipe's
         * reader. */
        if (is_stdout(&options->outputs[i]) || ts_replace_is_direct(options->outputs[i].path))
            continue;
        if (!ts_replace_open(&file, options->outputs[i].path, mode_of(options)))
            return complain_unwritable(options, CLI_EXIT_USAGE, options->outputs[i].path, errno);
        ts_replace_abandon(&file);
    }
    return CLI_EXIT_DONE;
}

static void write_to(const struct cli_scan_options *options, const struct ts_report *report,
                     enum ts_report_format format, int fd) {
    char *folder = getcwd(NULL, 0);
    struct ts_report_options how = {.format = format,
                                    .version = ts_version(),
                                    .folder = folder != NULL ? ts_scan_report_mask(report, folder) : NULL,
                                    .fails_from = options->fail_on_confidence,
                                    .only_new = true,
                                    .lists_gone = options->lists_gone,
                                    .colour = wants_colour(fd),
                                    .width = terminal_width(fd)};
    take_times(report, &how);
    ts_out_init(&out, fd);
    ts_report_write(report, &how, &out);
    free(folder);
}

static enum cli_exit write_file(const struct cli_scan_options *options, const struct ts_report *report,
                                const struct cli_scan_output *output) {
    struct ts_replace file;
    if (!ts_replace_open(&file, output->path, mode_of(options)))
        return complain_unwritable(options, CLI_EXIT_INFRASTRUCTURE, output->path, errno);
    write_to(options, report, output->format, file.fd);
    if (!ts_out_flush(&out)) {
        ts_replace_abandon(&file);
        return complain_unwritable(options, CLI_EXIT_INFRASTRUCTURE, output->path, ts_out_error(&out));
    }
    return ts_replace_commit(&file)
               ? CLI_EXIT_DONE
               : complain_unwritable(options, CLI_EXIT_INFRASTRUCTURE, output->path, errno);
}

/* Repeats on standard error which targets were not scanned, because the command is probably wrong. */
static void complain_unscanned(const char *verb, const struct ts_report *report) {
    for (size_t i = 0; i < report->fault_count; i++)
        if (report->targets[report->faults[i].target].outcome != TS_REPORT_TARGET_SCANNED)
            cli__complain(CLI_EXIT_USAGE, "%s: %s", verb, report->faults[i].text);
}

/* Prints the verdict on standard error if the report goes only to files, because the user does not see the
 * report then. */
static void tell_verdict(const struct cli_scan_options *options, const struct ts_report *report) {
    for (size_t i = 0; i < options->output_count; i++)
        if (is_stdout(&options->outputs[i]))
            return;
    char verdict[TS_REPORT_VERDICT_SIZE];
    if (options->output_count > 0 && !options->quiet)
        cli__complain(CLI_EXIT_DONE, "%s: %s", options->verb, ts_report_verdict(report, verdict));
}

enum cli_exit cli__scan_write(const struct cli_scan_options *options, const struct ts_report *report,
                              enum cli_exit status) {
    struct cli_scan_output only = {.path = "-", .format = options->format};
    const struct cli_scan_output *outputs = options->output_count > 0 ? options->outputs : &only;
    size_t count = options->output_count > 0 ? options->output_count : 1;
    bool is_told = false;
    bool is_written = true;
    for (size_t i = 0; i < count; i++)
        is_told = is_told || (is_stdout(&outputs[i]) && outputs[i].format == TS_REPORT_FORMAT_TEXT);
    /* Formats for programs may have no place for faults, and an incomplete scan must not look like a clean
     * one. */
    if (!is_told)
        cli__scan_complain_incomplete(options->verb, report);
    else
        complain_unscanned(options->verb, report);
    if (!writes_summary(outputs, count))
        cli__scan_complain_rules(options->verb, report);
    for (size_t i = 0; i < count; i++) {
        enum cli_exit written = CLI_EXIT_DONE;
        if (is_stdout(&outputs[i])) {
            write_to(options, report, outputs[i].format, STDOUT_FILENO);
            written = cli__finish_out(&out, CLI_EXIT_DONE);
        } else {
            written = write_file(options, report, &outputs[i]);
        }
        is_written = is_written && written == CLI_EXIT_DONE;
        if (written != CLI_EXIT_DONE)
            status = written;
    }
    if (is_written)
        tell_verdict(options, report);
    return status;
}
