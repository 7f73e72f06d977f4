/*
 * turnstone verify: asks the issuers of found secrets whether they still work.
 */
#include "complain.h"
#include "forge_option.h"
#include "output.h"
#include "scan_run.h"
#include "verbs.h"

#include "os/out.h"
#include "os/out_json.h"
#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    YES,
    DRY_RUN,
    FINDING,
    RATE,
    TIMEOUT,
    CA,
    JSON,
    RULES,
    NO_BUILTIN_RULES,
    CONFIG,
    NO_REPO_CONFIG,
    MEMORY,
    MAX_TIME,
    MAX_RATIO,
    ARCHIVES,
    MAX_ARCHIVE,
    NO_PROGRESS,
    OPTION_COUNT
};

enum { RATE_DEFAULT = 2, TIMEOUT_DEFAULT_S = 10 };

static const struct cli_option options_table[OPTION_COUNT] = {
    [YES] = {.name = "yes", .help = "send each secret to its issuer; without it nothing is sent"},
    [DRY_RUN] = {.name = "dry-run", .help = "print the requests, with redacted secrets, and send nothing"},
    [FINDING] =
        {.name = "finding",
         .argument = "ID",
         .help = "ask only about this finding, by the id in the report of 'turnstone scan' (default: all)",
         .many = true},
    [RATE] = {.name = "rate",
              .argument = "COUNT",
              .help = "send at most COUNT requests per second to one host, from 1 to 100 (default: 2)"},
    [TIMEOUT] = {.name = "timeout",
                 .argument = "SECONDS",
                 .help = "wait at most this long for an answer, from 1 to 300 seconds (default: 10)"},
    [CA] = {.name = "ca",
            .argument = "FILE",
            .help = "trust the certificates of this PEM file instead of the system's"},
    [JSON] = {.name = "json", .help = "print one JSON object for each finding"},
    CLI_SCAN_RULE_OPTIONS(RULES, NO_BUILTIN_RULES, CONFIG, NO_REPO_CONFIG),
    CLI_SCAN_LIMIT_OPTIONS(MEMORY, MAX_TIME, MAX_RATIO, ARCHIVES, MAX_ARCHIVE),
    [NO_PROGRESS] = {.name = "no-progress", .help = "show no progress on the terminal"},
};

static struct ts_out out;

struct job {
    const struct cli_arguments *arguments;
    const struct ts_report *report;
    struct ts_http *verifier; /* NULL: no request is sent */
    const atomic_bool *stop;
    size_t verdicts[TS_VERDICT_UNKNOWN + 1];
    size_t asked;   /* findings asked about; in a dry run: findings whose request was printed */
    size_t silent;  /* findings whose rule has no request */
    size_t refused; /* findings of the target's own rules, which are never asked about */
};

/* ---- which findings ---- */

static bool is_wanted(const struct job *job, const struct ts_report_finding *finding) {
    const struct cli_arguments *arguments = job->arguments;
    if (!arguments->values[FINDING])
        return true;
    for (size_t i = 0; i < arguments->given_count; i++)
        if (arguments->given[i].option == FINDING && strcmp(arguments->given[i].value, finding->id.text) == 0)
            return true;
    return false;
}

/* Prints an error if an id on the command line is not the id of a finding. */
static enum cli_exit check_findings(const struct cli_arguments *arguments, const struct ts_report *report) {
    for (size_t i = 0; i < arguments->given_count; i++) {
        bool is_found = arguments->given[i].option != FINDING;
        for (size_t k = 0; k < report->finding_count && !is_found; k++)
            is_found = strcmp(arguments->given[i].value, report->findings[k].id.text) == 0;
        if (!is_found)
            return cli__complain(
                CLI_EXIT_USAGE,
                "verify: no finding '%s' in this scan; 'turnstone scan --format json' lists the ids",
                cli__quote_text(arguments->given[i].value).text);
    }
    return CLI_EXIT_DONE;
}

/* ---- output ---- */

/* Prints rule, redacted secret and first place. These texts of the report are masked. */
static void put_finding(const struct ts_report_finding *finding) {
    const struct ts_report_occurrence *first = &finding->occurrences[0];
    ts_out_put_cstring(&out, finding->rule->id);
    ts_out_put_cstring(&out, "  ");
    ts_out_put_cstring(&out, finding->redacted);
    ts_out_put_cstring(&out, "  ");
    cli__put_escaped(&out,
                     first->path.len > 0 ? first->path : ts_bytes_of_cstring(ts_place_name(first->place)));
    ts_out_put_char(&out, ':');
    ts_out_put_u64(&out, first->line);
}

static void put_json_member(const char *name, const char *text) {
    ts_out_put_json_name(&out, 1, name);
    ts_out_put_json(&out, ts_bytes_of_cstring(text));
}

/* Writes the beginning of the JSON object of a finding. The caller writes the rest. */
static void put_json_finding(const struct ts_report_finding *finding) {
    ts_out_put_cstring(&out, "{\"finding\":");
    ts_out_put_json(&out, ts_bytes_of_cstring(finding->id.text));
    put_json_member("rule", finding->rule->id);
    put_json_member("redacted", finding->redacted);
    ts_out_put_cstring(&out, ",\"host\":");
    ts_out_put_json(&out, ts_verify_host(finding->rule->verify));
}

static void put_result(const struct job *job, const struct ts_report_finding *finding,
                       const struct ts_verify_result *result) {
    const char *verdict = ts_verdict_name(result->verdict);
    if (job->arguments->values[JSON]) {
        put_json_finding(finding);
        put_json_member("verdict", verdict);
        ts_out_put_cstring(&out, ",\"status\":");
        ts_out_put_u64(&out, (uint64_t)result->status);
        put_json_member("why", result->why);
        ts_out_put_cstring(&out, "}\n");
        return;
    }
    cli__put_padded(&out, verdict, strlen("revoked"));
    put_finding(finding);
    ts_out_put_cstring(&out, "  ");
    ts_out_put(&out, ts_verify_host(finding->rule->verify));
    ts_out_put_cstring(&out, ": ");
    if (result->status > 0)
        ts_out_put_u64(&out, (uint64_t)result->status);
    ts_out_put_cstring(&out, result->status > 0 && result->why[0] ? ", " : "");
    ts_out_put_cstring(&out, result->why);
    ts_out_put_char(&out, '\n');
}

static void put_request(const struct job *job, const struct ts_report_finding *finding,
                        const struct ts_verify_request *request) {
    if (job->arguments->values[JSON]) {
        put_json_finding(finding);
        put_json_member("method", request->method);
        put_json_member("url", request->url);
        ts_out_put_cstring(&out, ",\"headers\":[");
        for (size_t i = 0; i < request->header_count; i++) {
            ts_out_put_cstring(&out, ts_json_separator(i, ","));
            ts_out_put_json(&out, ts_bytes_of_cstring(request->headers[i]));
        }
        ts_out_put_char(&out, ']');
        put_json_member("body", request->body);
        ts_out_put_cstring(&out, "}\n");
        return;
    }
    put_finding(finding);
    ts_out_put_cstring(&out, "\n  ");
    ts_out_put_cstring(&out, request->method);
    ts_out_put_char(&out, ' ');
    ts_out_put_cstring(&out, request->url);
    for (size_t i = 0; i < request->header_count; i++) {
        ts_out_put_cstring(&out, "\n  ");
        ts_out_put_cstring(&out, request->headers[i]);
    }
    ts_out_put_cstring(&out, request->body[0] ? "\n\n  " : "");
    ts_out_put_cstring(&out, request->body);
    ts_out_put_char(&out, '\n');
}

static void put_count(const char *before, size_t count, const char *after) {
    ts_out_put_cstring(&out, before);
    ts_out_put_u64(&out, count);
    ts_out_put_cstring(&out, after);
}

static void put_summary(const struct job *job) {
    if (job->verifier) {
        put_count("", job->asked, job->asked == 1 ? " secret asked about: " : " secrets asked about: ");
        put_count("", job->verdicts[TS_VERDICT_LIVE], " live, ");
        put_count("", job->verdicts[TS_VERDICT_REVOKED], " revoked, ");
        put_count("", job->verdicts[TS_VERDICT_UNKNOWN], " unknown");
    } else {
        put_count("", job->asked, job->asked == 1 ? " request, not sent" : " requests, not sent");
    }
    if (job->silent > 0)
        put_count("; ", job->silent, " not asked about: no request in the rule");
    if (job->refused > 0)
        put_count("; ", job->refused, " not asked about: the rule is the target's own");
    ts_out_put_char(&out, '\n');
}

/* ---- asking ---- */

static enum cli_exit show(struct job *job, const struct ts_report_finding *finding) {
    struct ts_verify_request request = {0};
    if (ts_verify_request_show(finding->rule->verify, finding->redacted, &request) != TS_VERIFY_MADE)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "verify: out of memory");
    put_request(job, finding, &request);
    ts_verify_request_release(&request);
    job->asked++;
    return CLI_EXIT_DONE;
}

static void ask(struct job *job, const struct ts_report_finding *finding) {
    struct ts_verify_result result = ts_verifier_ask(job->verifier, finding->rule->verify, finding->secret);
    job->verdicts[result.verdict]++;
    job->asked++;
    put_result(job, finding, &result);
    (void)ts_out_flush(&out); /* the next answer may take long */
}

/* Asks about all wanted findings. A repository must not choose where its secrets are sent, so requests of the
 * repository's own rules are never sent. */
static enum cli_exit ask_all(struct job *job) {
    enum cli_exit status = CLI_EXIT_DONE;
    for (size_t i = 0; i < job->report->finding_count && status == CLI_EXIT_DONE; i++) {
        const struct ts_report_finding *finding = &job->report->findings[i];
        if (!is_wanted(job, finding))
            continue;
        if (job->verifier && atomic_load(job->stop))
            break;
        if (finding->rule->origin == TS_RULE_OF_TARGET)
            job->refused++;
        else if (!finding->rule->verify)
            job->silent++;
        else if (job->verifier)
            ask(job, finding);
        else
            status = show(job, finding);
    }
    return status;
}

static enum cli_exit status_of(const struct job *job) {
    if (job->verdicts[TS_VERDICT_LIVE] > 0)
        return CLI_EXIT_FINDINGS;
    bool is_incomplete = ts_report_is_incomplete(job->report) || atomic_load(job->stop);
    return is_incomplete || job->verdicts[TS_VERDICT_UNKNOWN] > 0 ? CLI_EXIT_INCOMPLETE : CLI_EXIT_DONE;
}

static enum cli_exit verify_report(struct job *job) {
    cli__scan_complain_incomplete("verify", job->report);
    enum cli_exit status = check_findings(job->arguments, job->report);
    if (status != CLI_EXIT_DONE)
        return status;
    ts_out_init(&out, STDOUT_FILENO);
    status = ask_all(job);
    if (!job->arguments->values[JSON])
        put_summary(job);
    return cli__finish_out(&out, status == CLI_EXIT_DONE ? status_of(job) : status);
}

/* ---- options ---- */

static enum cli_exit check_consent(const char *const *values) {
    if (values[YES] && values[DRY_RUN])
        return cli__complain(CLI_EXIT_USAGE, "verify: --yes sends and --dry-run does not; use one of them");
    if (!values[YES] && !values[DRY_RUN])
        return cli__complain(
            CLI_EXIT_USAGE,
            "verify: sends each secret to its issuer; allow it with --yes, or print the requests with "
            "--dry-run");
    return cli__ca_check("verify", values[CA]);
}

static enum cli_exit scan_and_verify(const struct cli_arguments *arguments, struct cli_scan_options *options,
                                     const struct ts_verifier_options *asking) {
    struct ts_report report;
    struct ts_http_error error;
    struct job job = {.arguments = arguments, .report = &report, .stop = asking->stop};
    if (arguments->values[YES] && !(job.verifier = ts_verifier_new(asking, &error)))
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "verify: %s", error.text);
    enum cli_exit status = cli__scan_run(options, &report);
    if (status == CLI_EXIT_DONE) {
        status = verify_report(&job);
        ts_scan_report_release(&report);
    }
    ts_http_free(job.verifier);
    return status;
}

static enum cli_exit run_with(const struct cli_arguments *arguments, const char **rules,
                              struct ts_scan_target *targets) {
    const char *const *values = arguments->values;
    uint32_t rate = RATE_DEFAULT, timeout_s = TIMEOUT_DEFAULT_S;
    struct cli_scan_options options = {
        .verb = "verify",
        .no_progress = values[NO_PROGRESS] != NULL,
        .scan = {.targets = targets,
                 .target_count = arguments->operand_count > 0 ? arguments->operand_count : 1,
                 .search_upward = true,
                 .ceilings = getenv("GIT_CEILING_DIRECTORIES"),
                 .config_file = values[CONFIG],
                 .no_repo_config = values[NO_REPO_CONFIG] != NULL,
                 .no_builtin_rules = values[NO_BUILTIN_RULES] != NULL,
                 .rule_files = rules,
                 .keeps_secrets = true}};
    for (size_t i = 0; i < arguments->given_count; i++)
        if (arguments->given[i].option == RULES)
            rules[options.scan.rule_file_count++] = arguments->given[i].value;
    targets[0] = (struct ts_scan_target){.path = ".", .kind = TS_SCAN_TARGET_REPOSITORY};
    for (size_t i = 0; i < arguments->operand_count; i++)
        targets[i] = (struct ts_scan_target){
            .path = arguments->operands[i],
            .kind = strcmp(arguments->operands[i], "-") == 0 ? TS_SCAN_TARGET_INPUT : TS_SCAN_TARGET_ANY};
    struct cli_scan_limits limits = {.memory = values[MEMORY],
                                     .max_time = values[MAX_TIME],
                                     .max_ratio = values[MAX_RATIO],
                                     .archives = values[ARCHIVES],
                                     .max_archive = values[MAX_ARCHIVE]};
    enum cli_exit status = cli__scan_limits_read("verify", &limits, &options.scan);
    if (status == CLI_EXIT_DONE)
        status = cli__count_read("verify", "rate", values[RATE], CLI_RATE_MAX, &rate);
    if (status == CLI_EXIT_DONE)
        status = cli__count_read("verify", "timeout", values[TIMEOUT], CLI_TIMEOUT_MAX_S, &timeout_s);
    if (status != CLI_EXIT_DONE)
        return status;
    struct ts_verifier_options asking = {
        .per_second = rate, .timeout_s = timeout_s, .ca_file = values[CA], .stop = cli__scan_stop_flag()};
    return scan_and_verify(arguments, &options, &asking);
}

static enum cli_exit run_verify(const struct cli_arguments *arguments) {
    enum cli_exit status =
        cli__scan_config_check("verify", arguments->values[CONFIG], arguments->values[NO_REPO_CONFIG]);
    if (status == CLI_EXIT_DONE)
        status = check_consent(arguments->values);
    if (status != CLI_EXIT_DONE)
        return status;
    const char **rules = calloc(arguments->given_count + 1, sizeof *rules);
    struct ts_scan_target *targets = calloc(arguments->operand_count + 1, sizeof *targets);
    if (rules && targets)
        status = run_with(arguments, rules, targets);
    else
        status = cli__complain(CLI_EXIT_INFRASTRUCTURE, "verify: out of memory");
    free(rules);
    free(targets);
    return status;
}

static const struct cli_variable variables[] = {
    {"GIT_CEILING_DIRECTORIES",
     "folders, separated by ':'; the upward search for a repository stops below them"},
    {"HTTPS_PROXY", "the proxy for requests (default: none)"},
    {"XDG_CACHE_HOME", "folder for compiled rules (default: ~/.cache)"},
};

static const struct cli_example examples[] = {
    {"printf 'nothing here' | turnstone verify --dry-run -", "the requests that would be sent, and their "
                                                             "hosts"},
};

const struct cli_verb cli__verb_verify = {
    .name = "verify",
    .summary = "ask issuers whether found secrets still work",
    .operands = "[TARGET…]",
    .description =
        "Scans each target as 'turnstone scan' does, and asks the issuer of each secret whether the secret "
        "works. Without a target, it scans the repository of the current folder. Nothing is sent without "
        "--yes; --dry-run prints the requests with redacted secrets instead.\n\n"
        "A rule defines the request, and what each answer means: live, revoked or unknown. Secrets whose "
        "rules have no request are only counted. Requests of rules in a target's own files are never sent, so "
        "that a repository cannot choose where its secrets are sent. Requests of rules from --rules and "
        "--config are sent.\n\n"
        "Requests use HTTPS with a verified certificate, follow no redirects, and are sent one after the "
        "other. If an issuer asks for a pause of up to 30 seconds, the request is repeated once after the "
        "pause. No secret is printed or stored.\n\n"
        "Exit status: 0 no secret is live; 1 at least one is live; 2 a wrong target or option; 4 an unknown "
        "answer or an incomplete scan; 6 no memory, or no HTTP library. Status 1 takes precedence over 4.",
    .options = options_table,
    .option_count = OPTION_COUNT,
    .variables = variables,
    .variable_count = sizeof variables / sizeof variables[0],
    .examples = examples,
    .example_count = sizeof examples / sizeof examples[0],
    .run = run_verify,
};
