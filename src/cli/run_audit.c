/*
 * turnstone run audit: compares everything that is stored about a run with a full count.
 */
#include "complain.h"
#include "coord_verb.h"
#include "output.h"
#include "verbs.h"

enum { AUDIT_RUN = COORD_OPTIONS };

/* One kind of difference. make_lines returns all kinds in the order in which they are printed. */
struct line {
    const char *member;
    const char *text;
    uint64_t count;
};

enum { LINES = 6 };

static void make_lines(const struct ts_coord_audit *audit, struct line ret_lines[static LINES]) {
    const struct line lines[LINES] = {
        {"wrong_counters", "counters differ from the number of their shards", audit->wrong_counters},
        {"wrong_places", "shards are on a wrong store", audit->wrong_places},
        {"missing_index", "active shards have no entry in the index of claims", audit->missing_index},
        {"extra_index", "entries of the index of claims have no shard", audit->extra_index},
        {"wrong_guards", "stores have a wrong copy of the run's state", audit->wrong_guards},
        {"wrong_limits", "the number of the run's shards that counts against the limits is wrong",
         audit->wrong_limits},
    };
    for (size_t i = 0; i < LINES; i++)
        ret_lines[i] = lines[i];
}

static void print_json(struct cli_coord *coord, struct ts_run_id run, const struct ts_coord_audit *audit,
                       const struct line *lines) {
    cli__object_begin(coord);
    cli__member_number(coord, "run", run.v);
    cli__member_bool(coord, "clean", ts_coord_audit_is_clean(audit));
    for (size_t i = 0; i < LINES; i++)
        cli__member_number(coord, lines[i].member, lines[i].count);
    cli__object_end(coord);
}

static void print_text(struct cli_coord *coord, struct ts_run_id run, const struct ts_coord_audit *audit,
                       const struct line *lines) {
    const struct ts_shard_counts *counts = &audit->counted;
    cli__say(coord, "run %llu: %llu active, %llu done, %llu split, %llu parked\n", (unsigned long long)run.v,
             (unsigned long long)counts->active, (unsigned long long)counts->done,
             (unsigned long long)counts->split, (unsigned long long)counts->parked);
    for (size_t i = 0; i < LINES; i++)
        if (lines[i].count > 0)
            cli__say(coord, "  %s: %llu\n", lines[i].text, (unsigned long long)lines[i].count);
}

static enum cli_exit audit(struct cli_coord *coord, struct ts_run_id run) {
    const struct ts_coord_run_query query = {.tenant = coord->tenant, .run = run};
    struct ts_coord_audit found = {0};
    struct ts_coord_detail detail = {0};
    struct line lines[LINES];
    const enum ts_get_run_error error = ts_coord_audit_run(coord->coord, &query, &found, &detail);
    if (error != TS_GET_RUN_OK)
        return cli__coord_refuse(coord, ts_get_run_error_variant(error), &detail);
    make_lines(&found, lines);
    if (coord->json)
        print_json(coord, run, &found, lines);
    else
        print_text(coord, run, &found, lines);
    if (ts_coord_audit_is_clean(&found))
        return CLI_EXIT_DONE;
    return cli__complain(
        CLI_EXIT_INFRASTRUCTURE,
        "run audit: the records of run %llu contradict each other; stop all workers and audit "
        "again, and if that does not help, restore a backup",
        (unsigned long long)run.v);
}

static enum cli_exit run_audit(const struct cli_arguments *arguments) {
    struct ts_run_id run;
    struct cli_coord coord;
    enum cli_exit status = cli__number_required("run audit", arguments, AUDIT_RUN, "run", &run.v);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open("run audit", arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    return cli__coord_close(&coord, audit(&coord, run));
}

static const struct cli_option audit_options[] = {
    CLI_COORD_OPTIONS,
    [AUDIT_RUN] = CLI_RUN_OPTION,
};

const struct cli_verb cli__verb_run_audit = {
    .name = "run audit",
    .summary = "compare the records of a run with a full count",
    .description =
        "Reads every shard of the run on every store, and compares counters, indexes, limits and the state of the "
        "run with what it has counted. Use it after an accident, or after restoring a backup. While workers use the "
        "run or transactions are pending, differences are normal and mean nothing. If something differs, the exit "
        "status is 6.",
    .options = audit_options,
    .option_count = sizeof audit_options / sizeof audit_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_audit,
};
