/*
 * turnstone schedule list, show, pause, resume and remove.
 */
#include "schedule.h"

#include "complain.h"
#include "output.h"
#include "verbs.h"

#include "os/out_json.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SHOW_LIST = COORD_OPTIONS };

/* ---- shared ---- */

enum cli_exit cli__schedule_name(const char *verb, const struct cli_arguments *arguments,
                                 struct ts_schedule_name *ret_name) {
    if (arguments->operand_count != 1)
        return cli__complain(CLI_EXIT_USAGE, "%s: give the name of one schedule", verb);
    if (!ts_schedule_name_from_text(ts_bytes_of_cstring(arguments->operands[0]), ret_name))
        return cli__complain(
            CLI_EXIT_USAGE,
            "%s: a name has 1 to 32 printable ASCII characters without blanks and '/'; got '%s'", verb,
            cli__quote_text(arguments->operands[0]).text);
    return CLI_EXIT_DONE;
}

enum cli_exit cli__schedule_read(struct cli_coord *coord, const struct ts_schedule_name *name,
                                 enum cli_schedule_need need, struct ts_schedule_seen *ret_seen) {
    const struct ts_schedule_ref ref = {coord->tenant, *name};
    const struct ts_bytes text = ts_schedule_name_text(name);
    struct ts_infra_error error = {0};
    if (!ts_schedule_read(coord->coord, &ref, ret_seen, &error))
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: %s", coord->verb, error.text);
    if (ret_seen->version == 0 && need != CLI_SCHEDULE_ANY)
        return cli__complain(CLI_EXIT_REFUSED, "%s: there is no schedule '%.*s'; 'schedule list' prints them",
                             coord->verb, (int)text.len, (const char *)text.data);
    if (ret_seen->is_damaged && need == CLI_SCHEDULE_VALID)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: schedule '%.*s': %s", coord->verb, (int)text.len,
                             (const char *)text.data, ts_fleet_error_text(ret_seen->error));
    return CLI_EXIT_DONE;
}

/* Returns the time of day of a daily schedule: "02:30". */
static struct cli_moment show_daily(const struct ts_fleet_schedule *schedule) {
    struct cli_moment shown;
    const uint64_t minutes = schedule->first_ms % TS_SCHEDULE_DAY_MS / 60000;
    snprintf(shown.text, sizeof shown.text, "%02u:%02u", (unsigned)(minutes / 60), (unsigned)(minutes % 60));
    return shown;
}

struct cli_rhythm cli__show_rhythm(const struct ts_fleet_schedule *schedule) {
    static const struct {
        uint64_t ms;
        const char *one, *many;
    } units[] = {{TS_SCHEDULE_DAY_MS, "day", "days"},
                 {3600000, "hour", "hours"},
                 {60000, "minute", "minutes"},
                 {1000, "second", "seconds"},
                 {1, "ms", "ms"}};
    struct cli_rhythm shown;
    size_t i = 0;
    if (schedule->is_daily) {
        snprintf(shown.text, sizeof shown.text, "daily at %.5s UTC", show_daily(schedule).text);
        return shown;
    }
    while (schedule->every_ms % units[i].ms != 0)
        i++;
    const unsigned long long count = schedule->every_ms / units[i].ms;
    if (count == 1)
        snprintf(shown.text, sizeof shown.text, "every %s", units[i].one);
    else
        snprintf(shown.text, sizeof shown.text, "every %llu %s", count, units[i].many);
    return shown;
}

/* ---- list and show ---- */

static struct ts_run_id run_of(const struct ts_schedule_seen *seen, uint64_t due_ms) {
    return ts_schedule_run(&seen->ref.tenant, &seen->ref.name, due_ms);
}

/* Returns the due time of the next start. If a run was begun but is not completely started, returns the due
 * time of this run. */
static uint64_t next_of(const struct ts_schedule_seen *seen) {
    const struct ts_fleet_schedule *schedule = &seen->schedule;
    const uint64_t due_ms =
        schedule->has_begun ? schedule->begun_due_ms : ts_schedule_due(schedule, seen->now_ms);
    return due_ms != 0 ? due_ms : ts_schedule_next(schedule, seen->now_ms);
}

static void put_text(struct cli_coord *coord, const char *name, struct ts_bytes text) {
    cli__member(coord, name);
    ts_out_put_json(coord->out, text);
}

static void put_runs(struct cli_coord *coord, const struct ts_schedule_seen *seen) {
    cli__member(coord, "runs");
    ts_out_put_char(coord->out, '[');
    for (size_t i = 0; i < seen->schedule.run_count; i++) {
        ts_out_put_cstring(coord->out, ts_json_separator(i, ","));
        ts_out_put_cstring(coord->out, "{\"run\":");
        ts_out_put_u64(coord->out, run_of(seen, seen->schedule.runs[i]).v);
        ts_out_put_cstring(coord->out, ",\"due_ms\":");
        ts_out_put_u64(coord->out, seen->schedule.runs[i]);
        ts_out_put_char(coord->out, '}');
    }
    ts_out_put_char(coord->out, ']');
}

static void put_source(struct cli_coord *coord, const struct ts_fleet_schedule *schedule) {
    cli__member_number(coord, "targets", schedule->list.targets);
    cli__member(coord, "requests");
    ts_out_put_char(coord->out, '[');
    for (size_t i = 0; i < schedule->request_count; i++) {
        ts_out_put_cstring(coord->out, ts_json_separator(i, ","));
        ts_out_put_json(coord->out, schedule->requests[i]);
    }
    ts_out_put_char(coord->out, ']');
    cli__member_bool(coord, "no_archived", schedule->no_archived);
    cli__member_bool(coord, "no_forks", schedule->no_forks);
    cli__member_bool(coord, "ssh", schedule->ssh);
    put_text(coord, "selection", schedule->selection);
    cli__member_text(coord, "object_format", schedule->is_sha256 ? "sha256" : "sha1");
    cli__member_number(coord, "lease_ms", schedule->lease_ms);
    cli__member_number(coord, "attempts", schedule->attempts);
    cli__member_number(coord, "keep", schedule->keep);
}

static void put_object(struct cli_coord *coord, const struct ts_schedule_seen *seen) {
    const struct ts_fleet_schedule *schedule = &seen->schedule;
    cli__object_begin(coord);
    put_text(coord, "schedule", ts_schedule_name_text(&seen->ref.name));
    if (seen->is_damaged) {
        cli__member_text(coord, "damaged", ts_fleet_error_text(seen->error));
        cli__object_end(coord);
        return;
    }
    cli__member_bool(coord, "paused", schedule->is_paused);
    cli__member_number(coord, "every_ms", schedule->every_ms);
    if (schedule->is_daily)
        cli__member_text(coord, "daily", show_daily(schedule).text);
    cli__member_number(coord, "now_ms", seen->now_ms);
    cli__member_number(coord, "next_due_ms", next_of(seen));
    cli__member_number(coord, "last_due_ms", schedule->last_due_ms);
    put_source(coord, schedule);
    put_runs(coord, seen);
    if (schedule->failures > 0) {
        cli__member_number(coord, "failures", schedule->failures);
        cli__member_number(coord, "failed_at_ms", schedule->failed_at_ms);
        cli__member_number(coord, "again_at_ms", schedule->again_at_ms);
        put_text(coord, "why", schedule->why);
    }
    cli__object_end(coord);
}

static void say_targets(struct cli_coord *coord, const struct ts_fleet_schedule *schedule) {
    if (schedule->list.targets > 0)
        cli__say(coord, "%llu target%s", (unsigned long long)schedule->list.targets,
                 schedule->list.targets == 1 ? "" : "s");
    if (schedule->request_count > 0)
        cli__say(coord, "%s%zu forge request%s", schedule->list.targets > 0 ? " and " : "",
                 schedule->request_count, schedule->request_count == 1 ? "" : "s");
}

static void say_next(struct cli_coord *coord, const struct ts_schedule_seen *seen) {
    const uint64_t next_ms = next_of(seen);
    if (seen->schedule.is_paused)
        cli__say(coord, "paused");
    else if (next_ms <= seen->now_ms)
        cli__say(coord, "due since %s", cli__show_moment(next_ms).text);
    else
        cli__say(coord, "next %s (in %s)", cli__show_moment(next_ms).text,
                 cli__show_ms(next_ms - seen->now_ms).text);
}

struct listing {
    struct cli_coord coord;
    uint64_t count, damaged;
};

static bool print_line(void *context, const struct ts_schedule_seen *seen) {
    struct listing *listing = context;
    struct cli_coord *coord = &listing->coord;
    const struct ts_bytes name = ts_schedule_name_text(&seen->ref.name);
    listing->count++;
    listing->damaged += seen->is_damaged;
    if (coord->json) {
        put_object(coord, seen);
        return true;
    }
    cli__say(coord, "%-16.*s  ", (int)name.len, (const char *)name.data);
    if (seen->is_damaged) {
        cli__say(coord, "damaged\n");
        return true;
    }
    cli__say(coord, "%s, ", cli__show_rhythm(&seen->schedule).text);
    say_next(coord, seen);
    cli__say(coord, ", ");
    say_targets(coord, &seen->schedule);
    cli__say(coord, seen->schedule.failures > 0 ? ", failing\n" : "\n");
    return true;
}

static enum cli_exit schedule_list(const struct cli_arguments *arguments) {
    static const char verb[] = "schedule list";
    struct listing listing = {0};
    struct ts_infra_error error = {0};
    enum cli_exit status = cli__coord_open(verb, arguments, NULL, &listing.coord);
    if (status != CLI_EXIT_DONE)
        return status;
    if (!ts_schedules_list(listing.coord.coord, &listing.coord.tenant, print_line, &listing, &error))
        status = cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: %s", verb, error.text);
    else if (listing.damaged > 0)
        status = cli__complain_damaged(&listing.coord, listing.damaged);
    else if (listing.count == 0 && !listing.coord.json)
        cli__say(&listing.coord, "there are no schedules; 'schedule add' makes one\n");
    return cli__coord_close(&listing.coord, status);
}

static bool print_unit(void *context, const struct ts_fleet_unit *unit) {
    struct cli_coord *coord = context;
    const struct ts_bytes address = unit->url.len > 0 ? unit->url : unit->address;
    if (coord->json) {
        cli__object_begin(coord);
        put_text(coord, "address", unit->address);
        put_text(coord, "url", address);
        put_text(coord, "selection", unit->selection);
        cli__object_end(coord);
        return true;
    }
    cli__put_escaped(coord->out, address);
    cli__say(coord, "\t");
    cli__put_escaped(coord->out, unit->selection);
    cli__say(coord, "\n");
    return true;
}

static void print_all(struct cli_coord *coord, const struct ts_schedule_seen *seen) {
    const struct ts_fleet_schedule *schedule = &seen->schedule;
    const struct ts_bytes name = ts_schedule_name_text(&seen->ref.name);
    cli__say(coord, "%.*s: %s, ", (int)name.len, (const char *)name.data, cli__show_rhythm(schedule).text);
    say_next(coord, seen);
    cli__say(coord, "\n  ");
    say_targets(coord, schedule);
    cli__say(coord, ", selection ");
    cli__put_escaped(coord->out, schedule->selection);
    cli__say(coord, "\n");
    for (size_t i = 0; i < schedule->request_count; i++) {
        cli__say(coord, "  ");
        cli__put_escaped(coord->out, schedule->requests[i]);
        cli__say(coord, "%s%s%s\n", schedule->no_archived ? ", without archived ones" : "",
                 schedule->no_forks ? ", without forks" : "", schedule->ssh ? ", by ssh" : "");
    }
    if (schedule->failures > 0) {
        cli__say(coord, "  %llu %s failed, the last one %s: ", (unsigned long long)schedule->failures,
                 schedule->failures == 1 ? "try" : "tries", cli__show_moment(schedule->failed_at_ms).text);
        cli__put_escaped(coord->out, schedule->why);
        cli__say(coord, "; next try %s\n", cli__show_moment(schedule->again_at_ms).text);
    }
    for (size_t i = 0; i < schedule->run_count; i++)
        cli__say(coord, "  run %llu for %s\n", (unsigned long long)run_of(seen, schedule->runs[i]).v,
                 cli__show_moment(schedule->runs[i]).text);
}

static enum cli_exit schedule_show(const struct cli_arguments *arguments) {
    static const char verb[] = "schedule show";
    static struct ts_schedule_seen seen;
    struct ts_schedule_name name;
    struct cli_coord coord;
    struct ts_infra_error error = {0};
    enum cli_exit status = cli__schedule_name(verb, arguments, &name);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    status = cli__schedule_read(&coord, &name, CLI_SCHEDULE_VALID, &seen);
    if (status == CLI_EXIT_DONE && arguments->values[SHOW_LIST] != NULL) {
        if (!ts_listing_read(coord.coord, &seen.ref, &seen.schedule.list, print_unit, &coord, &error))
            status = cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: %s", verb, error.text);
    } else if (status == CLI_EXIT_DONE && coord.json) {
        put_object(&coord, &seen);
    } else if (status == CLI_EXIT_DONE) {
        print_all(&coord, &seen);
    }
    return cli__coord_close(&coord, status);
}

/* ---- pause, resume, remove ---- */

enum change { PAUSE, RESUME, REMOVE };

/* If not all shards of the begun run are registered, deletes the run, because nobody would register the other
 * shards. */
static enum cli_exit drop_begun(struct cli_coord *coord, const struct ts_schedule_seen *seen) {
    const struct ts_coord_run_query query = {.tenant = coord->tenant,
                                             .run = run_of(seen, seen->schedule.begun_due_ms)};
    struct ts_run_record run;
    struct ts_coord_detail detail = {0};
    struct ts_coord_outcome outcome;
    struct ts_coord_deleted deleted;
    if (!seen->schedule.has_begun || ts_coord_get_run(coord->coord, &query, &run, &detail) != TS_GET_RUN_OK ||
        run.status != TS_RUN_INITIALIZING)
        return CLI_EXIT_DONE;
    const struct ts_end_run_op op = {.tenant = coord->tenant, .run = query.run, .op_id = {query.run.v}};
    const enum ts_run_transition_error ended = ts_coord_cancel_run(coord->coord, op, &outcome, &detail);
    if (ended != TS_RUN_TRANSITION_OK)
        return cli__coord_refuse(coord, ts_run_transition_error_variant(ended), &detail);
    const enum ts_delete_run_error error = ts_coord_delete_run(coord->coord, &query, &deleted, &detail);
    return error == TS_DELETE_RUN_OK ? CLI_EXIT_DONE
                                     : cli__coord_refuse(coord, ts_delete_run_error_variant(error), &detail);
}

static enum cli_exit print_changed(struct cli_coord *coord, const struct ts_schedule_seen *seen,
                                   enum change change) {
    static const char *const words[] = {[PAUSE] = "paused", [RESUME] = "resumed", [REMOVE] = "removed"};
    const struct ts_bytes name = ts_schedule_name_text(&seen->ref.name);
    if (coord->json) {
        cli__object_begin(coord);
        put_text(coord, "schedule", name);
        cli__member_text(coord, "outcome", words[change]);
        cli__object_end(coord);
        return CLI_EXIT_DONE;
    }
    cli__say(coord, "schedule %.*s is %s", (int)name.len, (const char *)name.data, words[change]);
    if (change == RESUME)
        cli__say(coord, "; next %s", cli__show_moment(ts_schedule_next(&seen->schedule, seen->now_ms)).text);
    cli__say(coord, "\n");
    return CLI_EXIT_DONE;
}

static enum cli_exit change_once(struct cli_coord *coord, struct ts_schedule_seen *seen, enum change change,
                                 bool *ret_again) {
    struct ts_fleet_schedule next = seen->schedule;
    struct ts_listings listings;
    struct ts_infra_error error = {0};
    next.is_paused = change == PAUSE;
    /* Due times that passed during the pause are skipped. */
    if (change == RESUME && seen->schedule.is_paused)
        next.last_due_ms = ts_schedule_latest(&next, seen->now_ms);
    if (change == REMOVE && !ts_listings_collect(coord->coord, &seen->ref, &listings, &error))
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: %s", coord->verb, error.text);
    const enum ts_schedule_write written =
        ts_schedule_write(coord->coord, seen, change == REMOVE ? NULL : &next, &error);
    *ret_again = written == TS_SCHEDULE_CHANGED;
    if (*ret_again)
        return CLI_EXIT_DONE;
    if (written != TS_SCHEDULE_WRITTEN)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: %s", coord->verb, error.text);
    const struct ts_listings_kept none = {0};
    if (change == REMOVE && !ts_listings_remove(coord->coord, &seen->ref, &listings, none, &error))
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: %s", coord->verb, error.text);
    const enum cli_exit status = change == REMOVE ? drop_begun(coord, seen) : CLI_EXIT_DONE;
    return status == CLI_EXIT_DONE ? print_changed(coord, seen, change) : status;
}

static enum cli_exit change_schedule(const char *verb, const struct cli_arguments *arguments,
                                     enum change change) {
    static struct ts_schedule_seen seen;
    struct ts_schedule_name name;
    struct cli_coord coord;
    bool again = true;
    enum cli_exit status = cli__schedule_name(verb, arguments, &name);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    for (int tries = 0; tries < CLI_SCHEDULE_TRIES && again && status == CLI_EXIT_DONE; tries++) {
        status = cli__schedule_read(&coord, &name, change == REMOVE ? CLI_SCHEDULE_THERE : CLI_SCHEDULE_VALID,
                                    &seen);
        again = false;
        if (status == CLI_EXIT_DONE)
            status = change_once(&coord, &seen, change, &again);
    }
    if (again)
        status = cli__complain(CLI_EXIT_REFUSED, "%s: other processes keep changing the schedule; try again",
                               verb);
    return cli__coord_close(&coord, status);
}

static enum cli_exit schedule_pause(const struct cli_arguments *arguments) {
    return change_schedule("schedule pause", arguments, PAUSE);
}
static enum cli_exit schedule_resume(const struct cli_arguments *arguments) {
    return change_schedule("schedule resume", arguments, RESUME);
}
static enum cli_exit schedule_remove(const struct cli_arguments *arguments) {
    return change_schedule("schedule remove", arguments, REMOVE);
}

/* ---- tables ---- */

static const struct cli_option plain_options[] = {CLI_COORD_OPTIONS};
static const struct cli_option show_options[] = {
    CLI_COORD_OPTIONS,
    [SHOW_LIST] =
        {.name = "list",
         .help = "print the stored targets instead, one per line, as --targets of 'schedule add' reads them"},
};

const struct cli_verb cli__verb_schedule_list = {
    .name = "schedule list",
    .summary = "list the schedules of a tenant",
    .description =
        "Prints one line for each schedule, in the order of their names. A damaged schedule is listed as damaged, and the exit "
        "status is then 6. With --json, prints one object per line, with everything that 'schedule show' shows.",
    .options = plain_options,
    .option_count = sizeof plain_options / sizeof plain_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = schedule_list,
};

const struct cli_verb cli__verb_schedule_show = {
    .name = "schedule show",
    .summary = "show a schedule and its last runs",
    .operands = "NAME",
    .description =
        "If the last try to start a run failed, it shows the reason. With --json, times are in milliseconds "
        "since 1970, by the clock of the first store.",
    .options = show_options,
    .option_count = sizeof show_options / sizeof show_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = schedule_show,
};

const struct cli_verb cli__verb_schedule_pause = {
    .name = "schedule pause",
    .summary = "start no runs of a schedule until it is resumed",
    .operands = "NAME",
    .description = "Runs that were started continue.",
    .options = plain_options,
    .option_count = sizeof plain_options / sizeof plain_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = schedule_pause,
};

const struct cli_verb cli__verb_schedule_resume = {
    .name = "schedule resume",
    .summary = "start runs of a paused schedule again",
    .operands = "NAME",
    .description =
        "The next run starts at the next due time. Due times that passed during the pause are skipped.",
    .options = plain_options,
    .option_count = sizeof plain_options / sizeof plain_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = schedule_resume,
};

const struct cli_verb cli__verb_schedule_remove = {
    .name = "schedule remove",
    .summary = "remove a schedule with its list of targets",
    .operands = "NAME",
    .description =
        "Its runs and their findings stay. A run that is being registered at this moment is cancelled and deleted.",
    .options = plain_options,
    .option_count = sizeof plain_options / sizeof plain_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = schedule_remove,
};
