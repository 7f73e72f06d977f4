/*
 * turnstone shard list, show and unpark.
 */
#include "complain.h"
#include "coord_verb.h"
#include "verbs.h"

#include "base/bytes.h"
#include "os/out_json.h"

#include <string.h>

enum { LIST_RUN = COORD_OPTIONS, LIST_STATUS, LIST_LEASED, LIST_STUCK, LIST_LIMIT };
enum { SHARD_RUN = COORD_OPTIONS, SHARD_SHARD, SHARD_OP_ID };

struct listing {
    struct cli_coord *coord;
    uint64_t left;
    uint64_t damaged;
};

static void put_optional_key(struct cli_coord *coord, const char *name, bool is_there,
                             struct ts_bytes bytes) {
    if (is_there)
        cli__member_key(coord, name, bytes);
    else
        cli__member_null(coord, name);
}

static void print_json(struct cli_coord *coord, const struct ts_coord_shard_view *view) {
    const struct ts_shard_record *record = view->record;
    cli__object_begin(coord);
    cli__member_number(coord, "shard", record->key.shard.v);
    cli__member_text(coord, "status", ts_shard_status_name(record->status));
    if (record->has_park_reason)
        cli__member_text(coord, "reason", ts_park_reason_name(record->park_reason));
    cli__member_key(coord, "start", record->spec.range.start);
    cli__member_key(coord, "end", record->spec.range.end);
    cli__member_key(coord, "metadata", record->spec.metadata);
    put_optional_key(coord, "key", record->cursor.has_key, record->cursor.last_key);
    put_optional_key(coord, "token", record->cursor.has_token, record->cursor.token);
    cli__member_number(coord, "fence", record->fence.v);
    cli__member_number(coord, "attempts", record->attempts);
    if (record->has_holder) {
        cli__member_key(coord, "worker",
                        ts_bytes_of(record->holder.owner.b, strnlen((const char *)record->holder.owner.b,
                                                                    sizeof record->holder.owner.b)));
        cli__member_number(coord, "deadline", record->holder.deadline.ms);
        cli__member_bool(coord, "expired", !ts_shard_record_is_leased_at(record, view->now));
    }
    if (record->has_parent)
        cli__member_number(coord, "parent", record->parent.v);
    cli__member(coord, "spawned");
    ts_out_put_char(coord->out, '[');
    for (size_t i = 0; i < ts_spawned_count(record->spawned); i++) {
        ts_out_put_cstring(coord->out, ts_json_separator(i, ","));
        ts_out_put_u64(coord->out, ts_spawned_at(record->spawned, i).v);
    }
    ts_out_put_char(coord->out, ']');
    cli__member_number(coord, "store", view->place);
    cli__object_end(coord);
}

/* Prints the state of a shard: "leased, 12.3 s left", "free", "Done", "Parked: Poisoned", … */
static void say_state(struct cli_coord *coord, const struct ts_coord_shard_view *view) {
    const struct ts_shard_record *record = view->record;
    if (record->has_park_reason)
        cli__say(coord, "Parked: %s", ts_park_reason_name(record->park_reason));
    else if (record->status != TS_SHARD_ACTIVE)
        cli__say(coord, "%s", ts_shard_status_name(record->status));
    else if (!record->has_holder)
        cli__say(coord, "free");
    else if (!ts_shard_record_is_leased_at(record, view->now))
        cli__say(coord, "lease expired %s ago", cli__show_ms(view->now.ms - record->holder.deadline.ms).text);
    else
        cli__say(coord, "leased, %s left", cli__show_ms(record->holder.deadline.ms - view->now.ms).text);
}

static void say_range(struct cli_coord *coord, struct ts_key_range range) {
    cli__say(coord, "%s to %s", range.start.len ? cli__show_key(range.start).text : "the start",
             range.end.len ? cli__show_key(range.end).text : "the end");
}

static bool print_listed(void *context, const struct ts_coord_shard_view *view) {
    struct listing *listing = context;
    struct cli_coord *coord = listing->coord;
    if (coord->json) {
        print_json(coord, view);
    } else {
        cli__say(coord, "%20llu  ", (unsigned long long)view->record->key.shard.v);
        say_range(coord, view->record->spec.range);
        cli__say(coord, "  ");
        say_state(coord, view);
        if (view->record->cursor.has_key)
            cli__say(coord, ", at %s", cli__show_key(view->record->cursor.last_key).text);
        if (view->record->attempts > 1)
            cli__say(coord, ", acquired %u times without progress", view->record->attempts);
        cli__say(coord, "\n");
    }
    return --listing->left > 0;
}

static bool print_damaged(void *context, struct ts_shard_key shard, const struct ts_infra_error *reason) {
    struct listing *listing = context;
    struct cli_coord *coord = listing->coord;
    listing->damaged++;
    if (coord->json) {
        cli__object_begin(coord);
        cli__member_number(coord, "shard", shard.shard.v);
        cli__member_text(coord, "status", "damaged");
        cli__member_text(coord, "cause", reason->text);
        cli__object_end(coord);
    } else {
        cli__say(coord, "%20llu  damaged\n", (unsigned long long)shard.shard.v);
    }
    return --listing->left > 0;
}

static enum cli_exit run_list(const struct cli_arguments *arguments) {
    static const char verb[] = "shard list";
    struct ts_coord_shard_query query = {.damaged = print_damaged};
    struct cli_coord coord;
    struct listing listing = {.coord = &coord, .left = UINT64_MAX};
    enum cli_exit status = cli__number_required(verb, arguments, LIST_RUN, "run", &query.run.run.v);
    if (status == CLI_EXIT_DONE)
        status = cli__number_optional(verb, arguments, LIST_LIMIT, "limit", &listing.left);
    if (status == CLI_EXIT_DONE && listing.left == 0)
        status = cli__complain(CLI_EXIT_USAGE, "%s: --limit must be at least 1", verb);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    query.run.tenant = coord.tenant;
    const char *wanted = arguments->values[LIST_STATUS];
    if (wanted)
        query.filter.by_status = ts_shard_status_from_name(ts_bytes_of_cstring(wanted), &query.filter.status);
    query.filter.only_leased = arguments->values[LIST_LEASED] != NULL;
    query.filter.only_struggling = arguments->values[LIST_STUCK] != NULL;
    struct ts_coord_detail detail = {0};
    enum ts_get_run_error error = ts_coord_list_shards(coord.coord, &query, print_listed, &listing, &detail);
    if (error != TS_GET_RUN_OK)
        status = cli__coord_refuse(&coord, ts_get_run_error_variant(error), &detail);
    else if (listing.damaged > 0)
        status = cli__complain_damaged(&coord, listing.damaged);
    return cli__coord_close(&coord, status);
}

static void print_shown(void *context, const struct ts_coord_shard_view *view) {
    struct cli_coord *coord = context;
    if (coord->json) {
        print_json(coord, view);
        return;
    }
    const struct ts_shard_record *record = view->record;
    cli__say(coord, "shard %llu of run %llu, on store %u: ", (unsigned long long)record->key.shard.v,
             (unsigned long long)record->key.run.v, view->place);
    say_state(coord, view);
    cli__say(coord, "\n  range: ");
    say_range(coord, record->spec.range);
    cli__say(coord, "\n  cursor: %s%s\n",
             record->cursor.has_key ? cli__show_key(record->cursor.last_key).text : "not begun",
             record->cursor.has_token ? ", with a token" : "");
    if (record->spec.metadata.len > 0)
        cli__say(coord, "  metadata: %s\n", cli__show_key(record->spec.metadata).text);
    cli__say(coord, "  fence: %llu, acquired %u times without progress\n",
             (unsigned long long)record->fence.v, record->attempts);
    if (record->has_parent)
        cli__say(coord, "  parent: %llu\n", (unsigned long long)record->parent.v);
    if (ts_spawned_count(record->spawned) > 0) {
        cli__say(coord, "  spawned:");
        for (size_t i = 0; i < ts_spawned_count(record->spawned); i++)
            cli__say(coord, " %llu", (unsigned long long)ts_spawned_at(record->spawned, i).v);
        cli__say(coord, "\n");
    }
}

static enum cli_exit read_shard(const char *verb, const struct cli_arguments *arguments,
                                struct ts_shard_key *ret_shard) {
    enum cli_exit status = cli__number_required(verb, arguments, SHARD_RUN, "run", &ret_shard->run.v);
    if (status == CLI_EXIT_DONE)
        status = cli__number_required(verb, arguments, SHARD_SHARD, "shard", &ret_shard->shard.v);
    return status;
}

static enum cli_exit run_show(const struct cli_arguments *arguments) {
    struct ts_coord_shard_ref ref = {0};
    struct cli_coord coord;
    enum cli_exit status = read_shard("shard show", arguments, &ref.shard);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open("shard show", arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    ref.tenant = coord.tenant;
    struct ts_coord_detail detail = {0};
    enum ts_get_shard_error error = ts_coord_get_shard(coord.coord, &ref, print_shown, &coord, &detail);
    if (error != TS_GET_SHARD_OK)
        status = cli__coord_refuse(&coord, ts_get_shard_error_variant(error), &detail);
    return cli__coord_close(&coord, status);
}

static enum cli_exit run_unpark(const struct cli_arguments *arguments) {
    static const char verb[] = "shard unpark";
    struct ts_unpark_op op = {0};
    struct cli_coord coord;
    enum cli_exit status = read_shard(verb, arguments, &op.shard);
    if (status == CLI_EXIT_DONE)
        status = cli__op_id(verb, arguments, SHARD_OP_ID, &op.op_id);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, &op.op_id, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    op.tenant = coord.tenant;
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    enum ts_unpark_error error = ts_coord_unpark(coord.coord, &op, &outcome, &detail);
    if (error != TS_UNPARK_OK) {
        status = cli__coord_refuse(&coord, ts_unpark_error_variant(error), &detail);
    } else if (coord.json) {
        cli__object_begin(&coord);
        cli__put_outcome(&coord, &outcome, op.op_id);
        cli__object_end(&coord);
    } else {
        cli__put_outcome(&coord, &outcome, op.op_id);
        cli__say(&coord, ": shard %llu can be claimed again\n", (unsigned long long)op.shard.shard.v);
    }
    return cli__coord_close(&coord, status);
}

static const struct cli_option list_options[] = {
    CLI_COORD_OPTIONS,
    [LIST_RUN] = CLI_RUN_OPTION,
    [LIST_STATUS] = {.name = "status",
                     .argument = "STATUS",
                     .choices = CLI_NUMBERED_CHOICES(TS_SHARD_STATUSES),
                     .help = "only shards with this status"},
    [LIST_LEASED] = {.name = "leased", .help = "only shards with a valid lease"},
    [LIST_STUCK] = {.name = "stuck",
                    .help = "only shards that were acquired more than once without progress"},
    [LIST_LIMIT] = {.name = "limit", .argument = "N", .help = "print at most N shards (default: no limit)"},
};

static const struct cli_option show_options[] = {
    CLI_COORD_OPTIONS,
    [SHARD_RUN] = CLI_RUN_OPTION,
    [SHARD_SHARD] = CLI_SHARD_OPTION,
};

static const struct cli_option unpark_options[] = {
    CLI_COORD_OPTIONS,
    [SHARD_RUN] = CLI_RUN_OPTION,
    [SHARD_SHARD] = CLI_SHARD_OPTION,
    [SHARD_OP_ID] = CLI_OP_ID_OPTION,
};

const struct cli_verb cli__verb_shard_list = {
    .name = "shard list",
    .summary = "list the shards of a run",
    .description =
        "Prints one line for each shard, in the order of their ids, with range, state and cursor; with "
        "--json also its worker. Damaged records are listed as damaged, and the exit status is then 6. The "
        "list is not a snapshot of one moment.",
    .options = list_options,
    .option_count = sizeof list_options / sizeof list_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_list,
};

const struct cli_verb cli__verb_shard_show = {
    .name = "shard show",
    .summary = "show all details of a shard",
    .description = "Shows the range, cursor, fence, lease, parent and the shards that were split off.",
    .options = show_options,
    .option_count = sizeof show_options / sizeof show_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_show,
};

const struct cli_verb cli__verb_shard_unpark = {
    .name = "shard unpark",
    .summary = "make a parked shard available again",
    .description =
        "The next worker continues at the cursor, with a higher fence. The number of attempts starts again "
        "at 0.",
    .options = unpark_options,
    .option_count = sizeof unpark_options / sizeof unpark_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_unpark,
};
