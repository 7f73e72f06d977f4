/*
 * turnstone protect: what is staged, before it is committed.
 */
#include "complain.h"
#include "output.h"
#include "scan_run.h"
#include "verbs.h"

#include "base/number.h"

#include <stdlib.h>

enum { RULES, NO_BUILTIN_RULES, CONFIG, NO_REPO_CONFIG, BASELINE, FAIL_ON, OPTION_COUNT };

static const struct cli_option options_table[OPTION_COUNT] = {
    [RULES] = {.name = "rules",
               .argument = "FILE",
               .help = "add the rules of this file; one with the id of a built-in rule takes its place",
               .many = true},
    [NO_BUILTIN_RULES] = {.name = "no-builtin-rules",
                          .help = "only the rules of --rules and of the configuration"},
    [CONFIG] = {.name = "config",
                .argument = "FILE",
                .help = "use this configuration instead of .turnstone.yml"},
    [NO_REPO_CONFIG] = {.name = "no-repo-config", .help = "ignore the .turnstone.yml of the repository"},
    [BASELINE] = {.name = "baseline", .argument = "FILE", .help = "findings that are known, and no matter"},
    [FAIL_ON] = {.name = "fail-on",
                 .argument = "SEVERITY",
                 .choices = "low|medium|high|critical",
                 .help = "refuse only findings of this severity or graver; by default any"},
};

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

/* As git tells its hooks, which it runs at the top of the work tree. */
static struct ts_scan_target choose_target(const struct cli_arguments *arguments) {
    struct ts_scan_target target = {.path = "."};
    if (arguments->operand_count > 0) {
        target.path = arguments->operands[0];
    } else if ((target.git_dir = variable("GIT_DIR"))) {
        const char *work_tree = variable("GIT_WORK_TREE");
        target.path = work_tree ? work_tree : ".";
    }
    return target;
}

/* Nothing is said when there is nothing to say: commits are made all day. */
static enum cli_exit tell(struct cli_scan_options *options, const struct ts_report *report) {
    enum cli_exit status = cli__scan_status(report, options->fail_on);
    if (status == CLI_EXIT_INCOMPLETE)
        cli__scan_complain_incomplete(options->verb, report);
    if (ts_report_totals(report).findings > 0)
        status = cli__scan_write(options, report, status);
    if (status == CLI_EXIT_FINDINGS)
        cli__complain(
            status,
            "protect: refused: what is staged has secrets. Take them out and stage again; what is none is "
            "allowed by 'turnstone:allow' in its line, or in .turnstone.yml. 'git commit --no-verify' "
            "commits all the same");
    return status;
}

static enum cli_exit scan_and_tell(struct cli_scan_options *options) {
    struct ts_baseline baseline = {.count = 0};
    struct ts_baseline_error error;
    struct ts_report report;
    if (options->baseline && !ts_baseline_read(options->baseline, &baseline, &error))
        return cli__complain(CLI_EXIT_USAGE, "protect: %s", error.text);
    options->scan.salt = ts_baseline_salt(&baseline, TS_BYTES(""));
    enum cli_exit status = cli__scan_run(options, &report);
    if (status == CLI_EXIT_DONE) {
        if (options->baseline)
            status = cli__scan_compare(options, &baseline, &report);
        if (status == CLI_EXIT_DONE)
            status = tell(options, &report);
        ts_scan_release(&report);
    }
    ts_baseline_release(&baseline);
    return status;
}

static enum cli_exit run_protect(const struct cli_arguments *arguments) {
    const char *const *values = arguments->values;
    if (arguments->operand_count > 1)
        return cli__complain(CLI_EXIT_USAGE, "protect: one repository at a time; the second is '%s'",
                             cli__quote_text(arguments->operands[1]).text);
    if (values[CONFIG] && values[NO_REPO_CONFIG])
        return cli__complain(
            CLI_EXIT_USAGE,
            "protect: with --config no other configuration is read; leave out --no-repo-config");
    struct ts_scan_target target = choose_target(arguments);
    struct cli_scan_options options = {
        .verb = "protect",
        .format = TS_REPORT_FORMAT_TEXT,
        .baseline = values[BASELINE],
        .fail_on = TS_SEVERITY_LOW,
        .no_progress = true,
        .scan = {.targets = &target,
                 .target_count = 1,
                 .extent = TS_SCAN_STAGED,
                 .only_changes = true,
                 .search_upward = true,
                 .index_file = arguments->operand_count == 0 ? variable("GIT_INDEX_FILE") : NULL,
                 .jobs = 1,
                 .config_file = values[CONFIG],
                 .no_repo_config = values[NO_REPO_CONFIG] != NULL,
                 .no_builtin_rules = values[NO_BUILTIN_RULES] != NULL}};
    const char **rules = calloc(arguments->given_count + 1, sizeof *rules);
    if (!rules)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "out of memory");
    for (size_t i = 0; i < arguments->given_count; i++)
        if (arguments->given[i].option == RULES)
            rules[options.scan.rule_file_count++] = arguments->given[i].value;
    options.scan.rule_files = rules;
    if (values[FAIL_ON])
        (void)ts_severity_parse(ts_bytes_of_cstring(values[FAIL_ON]), &options.fail_on);
    enum cli_exit status = scan_and_tell(&options);
    free(rules);
    return status;
}

static const struct cli_variable variables[] = {
    {"GIT_DIR", "the repository, when none is named; by default that of the current folder"},
    {"GIT_WORK_TREE", "with GIT_DIR, where its files are; by default the current folder"},
    {"GIT_INDEX_FILE", "the index to look at, as git tells its hooks, when no repository is named"},
    {"NO_COLOR", "when set, and not empty, no colours are used on a terminal"},
    {"XDG_CACHE_HOME", "where compiled rules are kept; ~/.cache by default"},
};

const struct cli_verb cli__verb_protect = {
    .name = "protect",
    .summary = "refuse a commit that would bring secrets",
    .operands = "[REPOSITORY]",
    .description =
        "For a pre-commit hook: looks at the files that are staged and differ from HEAD, and reports the secrets that the commit "
        "would bring. What these files had before, or what only moves from one to another, is left out; turnstone scan finds "
        "that. Says nothing when there is nothing to report.\n\n"
        "The repository is that of the current folder by default. The .turnstone.yml of its work tree may allow findings; so "
        "does --baseline.\n\n"
        "As a hook of git, put 'exec turnstone protect' into .git/hooks/pre-commit; with the pre-commit framework, use the hook "
        "'turnstone' of this repository.\n\n"
        "Status 0 lets the commit pass, 1 are findings, 2 is a wrong option or no repository, 4 something that could not be "
        "read, and 6 that memory or temporary files failed.",
    .options = options_table,
    .option_count = OPTION_COUNT,
    .variables = variables,
    .variable_count = sizeof variables / sizeof variables[0],
    .run = run_protect,
};
