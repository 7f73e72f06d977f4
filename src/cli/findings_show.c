/*
 * turnstone findings show and export.
 */
#include "complain.h"
#include "findings_filter.h"
#include "output.h"
#include "verbs.h"

#include "os/clock.h"
#include "report/write.h"
#include "turnstone/version.h"

enum { EXPORT_FORMAT = FINDINGS_OPTIONS };

#define MS_PER_S UINT64_C(1000)

/* ---- show ---- */

static void say_triage(struct cli_coord *coord, const struct ts_fleet_triage *triage) {
    cli__say(coord, "%s, by ", ts_triage_name(triage->state));
    cli__put_escaped(coord->out, triage->who);
    cli__say(coord, ", %s", cli__show_time(coord, (struct ts_logical_time){triage->at_ms}).text);
    if (triage->why.len > 0) {
        cli__say(coord, ": ");
        cli__put_escaped(coord->out, triage->why);
    }
    cli__say(coord, "\n");
}

/* Prints the decision of a person about a finding, unless the output is JSON. The caller then prints the
 * report of the finding. Prints an error if the finding is unknown. */
static enum cli_exit say_decision(struct cli_coord *coord, const struct ts_fleet_finding *finding) {
    const struct ts_triage_query query = {coord->tenant, *finding};
    struct ts_triage_room room;
    struct ts_fleet_triage triage;
    struct ts_infra_error error = {0};
    bool exists = false;
    if (!ts_triage_get(coord->coord, &query, &room, &exists, &triage, &error))
        return cli__findings_refuse(coord, &error);
    if (!exists)
        return cli__findings_refuse_unknown(coord, finding);
    if (coord->json)
        return CLI_EXIT_DONE;
    cli__say(coord, "state: ");
    if (triage.at_ms != 0)
        say_triage(coord, &triage);
    else
        cli__say(coord, "nobody has decided\n");
    return CLI_EXIT_DONE;
}

static void write_report(struct cli_coord *coord, const struct ts_report *report,
                         enum ts_report_format format) {
    const int64_t now_s = (int64_t)(ts_clock_wall_ms() / MS_PER_S);
    const struct ts_report_options options = {.format = format,
                                              .version = ts_version(),
                                              .start_s = now_s,
                                              .end_s = now_s,
                                              .fails_from = TS_CONFIDENCE_LOW};
    ts_report_write(report, &options, coord->out);
}

/* Prints a place: "config/prod.yml:3:15  4f2a91c0de", and whether the source allows the finding there. */
static void say_place(struct cli_coord *coord, const struct ts_report *report,
                      const struct ts_report_occurrence *place) {
    enum { COMMIT_DIGITS = 10 };
    cli__say(coord, "  ");
    if (place->path.len > 0)
        cli__put_escaped(coord->out, place->path);
    else
        cli__say(coord, "%s", ts_place_name(place->place));
    cli__say(coord, ":%llu:%llu", (unsigned long long)place->line, (unsigned long long)place->column);
    if (place->commit != TS_REPORT_NONE)
        cli__say(coord, "  %.*s", COMMIT_DIGITS, report->commits[place->commit].oid);
    cli__say(coord, "%s\n", place->is_allowed ? "  allowed in source" : "");
}

/* Prints a finding and its listed places, grouped by the address of their repository. */
static void say_finding(struct cli_coord *coord, const struct ts_report *report,
                        const struct ts_report_finding *finding) {
    cli__say(coord, "%s, %s severity, %s confidence: ", finding->id.text,
             ts_severity_name(finding->rule->severity), ts_confidence_name(finding->confidence));
    cli__put_escaped(coord->out, ts_bytes_of_cstring(finding->rule->name));
    cli__say(coord, " (%s)  ", finding->rule->id);
    cli__put_escaped(coord->out, ts_bytes_of_cstring(finding->redacted));
    cli__say(coord, "\n");
    uint32_t target = TS_REPORT_NONE;
    for (size_t i = 0; i < finding->listed_count; i++) {
        const struct ts_report_occurrence *place = &finding->occurrences[i];
        if (place->target != target) {
            cli__put_escaped(coord->out, report->targets[place->target].name);
            cli__say(coord, "\n");
        }
        target = place->target;
        say_place(coord, report, place);
    }
}

static enum cli_exit show(struct cli_coord *coord, const struct ts_findings_scope *scope) {
    struct ts_report report;
    struct ts_infra_error error = {0};
    if (!ts_findings_report(coord->coord, scope, &report, &error))
        return cli__findings_refuse(coord, &error);
    if (coord->json)
        write_report(coord, &report, TS_REPORT_FORMAT_JSON);
    else if (report.finding_count == 0)
        cli__say(coord, "no target has it any more\n");
    else
        say_finding(coord, &report, &report.findings[0]);
    ts_findings_report_release(&report);
    return CLI_EXIT_DONE;
}

static enum cli_exit run_show(const struct cli_arguments *arguments) {
    static const char verb[] = "findings show";
    struct ts_findings_scope scope = {.has_finding = true};
    struct cli_coord coord = {0};
    if (arguments->operand_count != 1)
        return cli__complain(CLI_EXIT_USAGE, "%s: give the id of one finding; 'findings list' prints them",
                             verb);
    enum cli_exit status = cli__finding_id(verb, "the operand", arguments->operands[0], &scope.finding);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    scope.tenant = coord.tenant;
    status = say_decision(&coord, &scope.finding);
    if (status == CLI_EXIT_DONE)
        status = show(&coord, &scope);
    return cli__coord_close(&coord, status);
}

/* ---- export ---- */

static enum cli_exit run_export(const struct cli_arguments *arguments) {
    static const char verb[] = "findings export";
    const char *name = arguments->values[EXPORT_FORMAT];
    enum ts_report_format format = TS_REPORT_FORMAT_JSON;
    struct ts_findings_scope scope = {0};
    struct cli_coord coord = {0};
    /* The parser has checked the value of the option, so parsing it cannot fail. */
    if (name != NULL)
        (void)ts_report_format_parse(ts_bytes_of_cstring(name), &format);
    enum cli_exit status = cli__findings_filter(verb, arguments, &scope.filter);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    scope.tenant = coord.tenant;
    struct ts_report report;
    struct ts_infra_error error = {0};
    status = cli__findings_check_target(&coord, &scope.filter);
    if (status != CLI_EXIT_DONE)
        return cli__coord_close(&coord, status);
    if (!ts_findings_report(coord.coord, &scope, &report, &error))
        return cli__coord_close(&coord, cli__findings_refuse(&coord, &error));
    write_report(&coord, &report, format);
    ts_findings_report_release(&report);
    return cli__coord_close(&coord, CLI_EXIT_DONE);
}

static const struct cli_option show_options[] = {CLI_COORD_OPTIONS};

static const struct cli_option export_options[] = {
    CLI_FINDINGS_OPTIONS,
    [EXPORT_FORMAT] = {.name = "format",
                       .argument = "FORMAT",
                       .choices = TS_REPORT_FORMAT_CHOICES,
                       .help = "the format of the report (default: json)"},
};

const struct cli_verb cli__verb_findings_show = {
    .name = "findings show",
    .summary = "show a finding with all its places in all repositories",
    .operands = "ID",
    .description = "Prints the decision about the finding, and every place of the secret in every repository "
                   "of the tenant. With --json, prints a report of this finding, in the JSON format of "
                   "'scan'.",
    .options = show_options,
    .option_count = sizeof show_options / sizeof show_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_show,
};

const struct cli_verb cli__verb_findings_export = {
    .name = "findings export",
    .summary = "write a report of the findings of all targets",
    .description = "Writes the report that a scan of all targets of the tenant would write, in any format of "
                   "'scan', on standard output.",
    .options = export_options,
    .option_count = sizeof export_options / sizeof export_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_export,
};
