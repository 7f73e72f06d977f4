/*
 * turnstone run diff: prints the findings that came and went between two runs.
 */
#include "complain.h"
#include "findings_filter.h"
#include "output.h"
#include "verbs.h"

#include "base/hex.h"
#include "base/number.h"
#include "os/out_json.h"
#include "runtime/durable/diff.h"

struct diffing {
    struct cli_coord *coord;
    bool is_reversed; /* the second run is the earlier one, so came and went are exchanged */
};

static void member_bytes(struct cli_coord *coord, const char *name, struct ts_bytes text) {
    cli__member(coord, name);
    ts_out_put_json(coord->out, text);
}

static void print_json(struct cli_coord *coord, const struct ts_diff_entry *entry, bool came) {
    char target[2 * TS_TARGET_ID_LEN + 1];
    *ts_hex_encode(ts_bytes_of(entry->target.bytes, TS_TARGET_ID_LEN), target) = '\0';
    cli__object_begin(coord);
    cli__member_text(coord, "change", came ? "came" : "went");
    cli__member_text(coord, "id", cli__show_finding(&entry->id).text);
    member_bytes(coord, "rule", entry->record.rule);
    member_bytes(coord, "name", entry->record.name);
    cli__member_text(coord, "severity", ts_severity_name((enum ts_severity)entry->record.severity));
    member_bytes(coord, "redacted", entry->record.redacted);
    cli__member_text(coord, "target", target);
    member_bytes(coord, "address", entry->address);
    member_bytes(coord, "selection", entry->selection);
    cli__member_bool(coord, "elsewhere", !entry->is_everywhere);
    cli__object_end(coord);
}

static void print_text(struct cli_coord *coord, const struct ts_diff_entry *entry, bool came) {
    cli__say(coord, "%c %s  %-8s  ", came ? '+' : '-', cli__show_finding(&entry->id).text,
             ts_severity_name((enum ts_severity)entry->record.severity));
    cli__put_escaped(coord->out, entry->record.rule);
    cli__say(coord, "  ");
    cli__put_escaped(coord->out, entry->record.redacted);
    cli__say(coord, "  ");
    cli__put_escaped(coord->out, entry->address);
    if (!entry->is_everywhere)
        cli__say(coord, came ? "  (others had it)" : "  (others have it)");
    cli__say(coord, "\n");
}

static void print_entry(void *context, const struct ts_diff_entry *entry) {
    const struct diffing *diffing = context;
    const bool came = entry->came != diffing->is_reversed;
    if (diffing->coord->json)
        print_json(diffing->coord, entry, came);
    else
        print_text(diffing->coord, entry, came);
}

static void print_counts(struct cli_coord *coord, const struct ts_diff_counts *counts) {
    if (coord->json) {
        cli__object_begin(coord);
        cli__member_number(coord, "came", counts->came);
        cli__member_number(coord, "went", counts->went);
        cli__member_number(coord, "new", counts->new_count);
        cli__member_number(coord, "gone", counts->gone);
        cli__member_number(coord, "targets", counts->targets);
        cli__member_number(coord, "unreadable", counts->blind);
        cli__member_number(coord, "cut", counts->cut);
        cli__object_end(coord);
        return;
    }
    if (counts->came + counts->went == 0)
        cli__say(coord, "no finding came or went\n");
    else
        cli__say(coord, "%llu came and %llu went in %llu %s; %llu new, %llu gone everywhere\n",
                 (unsigned long long)counts->came, (unsigned long long)counts->went,
                 (unsigned long long)counts->targets, counts->targets == 1 ? "target" : "targets",
                 (unsigned long long)counts->new_count, (unsigned long long)counts->gone);
    if (counts->blind > 0)
        cli__say(coord,
                 "the earlier findings of %llu %s could not be read: all findings there count as new\n",
                 (unsigned long long)counts->blind, counts->blind == 1 ? "target" : "targets");
    if (counts->cut > 0)
        cli__say(coord, "%llu %s more changes than are stored: the list is not complete\n",
                 (unsigned long long)counts->cut, counts->cut == 1 ? "target has" : "targets have");
}

static enum cli_exit diff(struct cli_coord *coord, const struct ts_run_id runs[2]) {
    struct ts_run_record records[2];
    for (size_t i = 0; i < 2; i++) {
        const struct ts_coord_run_query query = {.tenant = coord->tenant, .run = runs[i]};
        struct ts_coord_detail detail = {0};
        const enum ts_get_run_error error = ts_coord_get_run(coord->coord, &query, &records[i], &detail);
        if (error == TS_GET_RUN_RUN_NOT_FOUND && !coord->json)
            return cli__complain(CLI_EXIT_REFUSED,
                                 "%s: RunNotFound: there is no run %llu; 'turnstone run list' lists them",
                                 coord->verb, (unsigned long long)runs[i].v);
        if (error != TS_GET_RUN_OK)
            return cli__coord_refuse(coord, ts_get_run_error_variant(error), &detail);
    }
    struct diffing diffing = {.coord = coord, .is_reversed = records[0].number > records[1].number};
    const struct ts_diff_query query = {.tenant = coord->tenant,
                                        .from = records[diffing.is_reversed ? 1 : 0].number,
                                        .to = records[diffing.is_reversed ? 0 : 1].number};
    struct ts_diff_counts counts;
    struct ts_infra_error error = {0};
    if (!ts_diff_list(coord->coord, &query, print_entry, &diffing, &counts, &error))
        return cli__findings_refuse(coord, &error);
    if (diffing.is_reversed)
        counts = (struct ts_diff_counts){.came = counts.went,
                                         .went = counts.came,
                                         .new_count = counts.gone,
                                         .gone = counts.new_count,
                                         .targets = counts.targets,
                                         .blind = counts.blind,
                                         .cut = counts.cut};
    print_counts(coord, &counts);
    return CLI_EXIT_DONE;
}

static enum cli_exit run_diff(const struct cli_arguments *arguments) {
    static const char verb[] = "run diff";
    struct ts_run_id runs[2];
    struct cli_coord coord = {0};
    if (arguments->operand_count != 2)
        return cli__complain(CLI_EXIT_USAGE, "%s: name two runs; 'turnstone run list' lists them", verb);
    for (size_t i = 0; i < 2; i++) {
        if (ts_id_parse(ts_bytes_of_cstring(arguments->operands[i]), &runs[i].v) != TS_NUMBER_OK)
            return cli__complain(CLI_EXIT_USAGE, "%s: '%s' is not the id of a run, which is a number", verb,
                                 cli__quote_text(arguments->operands[i]).text);
    }
    const enum cli_exit status = cli__coord_open(verb, arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    return cli__coord_close(&coord, diff(&coord, runs));
}

static const struct cli_option diff_options[] = {CLI_COORD_OPTIONS};

const struct cli_verb cli__verb_run_diff = {
    .name = "run diff",
    .summary = "list findings that came and went between two runs",
    .operands = "A B",
    .description =
        "Compares the findings of the fleet after run A with those after run B. A target's findings after a "
        "run are those of its last complete scan by that run or an earlier one. Prints a line for "
        "each finding that is new in a target (+) or gone from it (-), by severity; the line says whether "
        "other targets had or have the same secret. The runs may be of any age, as long as their records "
        "exist. If run B is still active, its results so far count.\n\n"
        "With --json, prints one object per line; the last one has the counts.",
    .options = diff_options,
    .option_count = sizeof diff_options / sizeof diff_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_diff,
};
