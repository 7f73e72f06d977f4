/*
 * turnstone scan: secrets in repositories, folders, files and standard input.
 */
#include "complain.h"
#include "output.h"
#include "scan_options.h"
#include "scan_progress.h"
#include "verbs.h"

#include "os/out.h"
#include "turnstone/version.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FAULTS_SHOWN 10

static struct ts_out out;
static struct ts_scan_progress progress;

/* ---- stopping ---- */

/* The second signal ends the program: the action is the default one again. */
static void stop(int number) {
    (void)number;
    atomic_store(&progress.stop, true);
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = stop, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- writing ---- */

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

static enum cli_exit status_of(const struct ts_report *report, enum ts_severity fail_on) {
    if (ts_report_is_incomplete(report))
        return CLI_EXIT_INCOMPLETE;
    for (size_t i = 0; i < report->finding_count; i++)
        if (report->findings[i].is_new && report->findings[i].rule->severity >= fail_on)
            return CLI_EXIT_FINDINGS;
    return CLI_EXIT_DONE;
}

/* Formats for programs leave no room for it, and nobody should take an incomplete scan for a clean one. */
static void complain_incomplete(const struct ts_report *report) {
    if (report->is_stopped)
        cli__complain(CLI_EXIT_INCOMPLETE, "scan: stopped: the report has what was found until then");
    for (size_t i = 0; i < report->fault_count && i < FAULTS_SHOWN; i++)
        cli__complain(CLI_EXIT_INCOMPLETE, "scan: %s", report->faults[i].text);
    if (report->fault_total > FAULTS_SHOWN)
        cli__complain(CLI_EXIT_INCOMPLETE, "scan: and %llu more that could not be read",
                      (unsigned long long)(report->fault_total - FAULTS_SHOWN));
    if (report->limits_hit > 0)
        cli__complain(CLI_EXIT_INCOMPLETE, "scan: %llu patterns needed too many steps and were given up",
                      (unsigned long long)report->limits_hit);
}

static enum cli_exit write_report(const struct ts_report *report, const struct cli_scan_options *options,
                                  int fd) {
    enum cli_exit status = status_of(report, options->fail_on);
    char *folder = getcwd(NULL, 0);
    struct ts_report_options how = {.format = options->format,
                                    .version = ts_version(),
                                    .folder = folder,
                                    .colour = wants_colour(fd),
                                    .width = terminal_width(fd)};
    ts_out_init(&out, fd);
    ts_report_write(report, &how, &out);
    free(folder);
    if (options->format != TS_REPORT_FORMAT_TEXT || options->output)
        complain_incomplete(report);
    if (!options->output)
        return cli__finish_out(&out, status);
    bool done = ts_out_flush(&out) && close(fd) == 0;
    return done ? status
                : cli__complain(CLI_EXIT_INFRASTRUCTURE, "scan: cannot write '%s': %s",
                                cli__quote_text(options->output).text, strerror(errno));
}

/* Opened before the scan, which may take long: a wrong path is found out at once. Emptied when there is a report. */
static enum cli_exit open_output(const struct cli_scan_options *options, int *ret_fd) {
    *ret_fd = STDOUT_FILENO;
    if (!options->output)
        return CLI_EXIT_DONE;
    *ret_fd =
        open(options->output, O_WRONLY | O_CREAT | O_CLOEXEC, options->scan.shows_secrets ? 0600 : 0666);
    if (*ret_fd >= 0)
        return CLI_EXIT_DONE;
    return cli__complain(CLI_EXIT_USAGE, "scan: cannot write '%s': %s", cli__quote_text(options->output).text,
                         strerror(errno));
}

static enum cli_exit complain_outcome(enum ts_scan_outcome outcome, const struct ts_scan_error *error) {
    bool is_ours = outcome == TS_SCAN_FAILED;
    return cli__complain(is_ours ? CLI_EXIT_INFRASTRUCTURE : CLI_EXIT_USAGE, "scan: %s", error->text);
}

static enum cli_exit run_scan(const struct cli_arguments *arguments) {
    struct cli_scan_options options;
    struct ts_report report;
    struct ts_scan_error error;
    struct cli_scan_progress drawer;
    int fd;
    enum cli_exit status = cli__scan_options_read(arguments, &options);
    if (status != CLI_EXIT_DONE)
        return status;
    status = open_output(&options, &fd);
    if (status == CLI_EXIT_DONE) {
        options.scan.progress = &progress;
        catch_signals();
        cli__scan_progress_begin(&drawer, &progress, !arguments->values[SCAN_NO_PROGRESS]);
        enum ts_scan_outcome outcome = ts_scan_run(&options.scan, &report, &error);
        cli__scan_progress_end(&drawer);
        if (outcome != TS_SCAN_DONE) {
            status = complain_outcome(outcome, &error);
        } else {
            if (options.output)
                (void)!ftruncate(fd, 0); /* a pipe or device cannot be cut, and need not be */
            status = write_report(&report, &options, fd);
            ts_scan_release(&report);
        }
    }
    cli__scan_options_release(&options);
    return status;
}

static const struct cli_variable variables[] = {
    {"NO_COLOR", "when set, and not empty, no colours are used on a terminal"},
    {"TMPDIR", "where temporary files go, such as parts of very large objects; /tmp by default"},
    {"XDG_CACHE_HOME", "where compiled rules are kept; ~/.cache by default"},
};

static const struct cli_example examples[] = {
    {"printf 'nothing here' | turnstone scan -", "standard input"},
};

const struct cli_verb cli__verb_scan = {
    .name = "scan",
    .summary = "find secrets in repositories, folders and files",
    .operands = "TARGET…",
    .description =
        "Looks for secrets in each target: every file of every commit that a ref of a git repository reaches, with the messages "
        "of commits and tags, and notes; or a file; or '-' for standard input. Each secret is reported once for a rule, with "
        "where it stands: up to 100 occurrences, each a path and a version of a file with the first commit that had it.\n\n"
        "A repository is a work tree, a bare repository, or its .git folder. Nothing in it is executed, and nothing is written "
        "to it. What a shallow or partial clone leaves out is counted; what cannot be read is named, and everything else is "
        "scanned.\n\n"
        "The .turnstone.yml at the top of a target, of a bare repository that of HEAD, may allow findings and add rules; the "
        "report says what it suppressed.\n\n"
        "Status 0 is clean, 1 findings, 2 a target or option that is wrong, and 4 a scan that is incomplete, with or without "
        "findings: something could not be read, or it was interrupted. A first Ctrl-C ends it with a report of what was found, "
        "a second one at once.",
    .options = cli__scan_option_table,
    .option_count = SCAN_OPTION_COUNT,
    .variables = variables,
    .variable_count = sizeof variables / sizeof variables[0],
    .examples = examples,
    .example_count = sizeof examples / sizeof examples[0],
    .run = run_scan,
};
