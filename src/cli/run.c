/*
 * turnstone run create, register, list, complete, fail, cancel and delete.
 */
#include "complain.h"
#include "coord_verb.h"
#include "forge_option.h"
#include "run_targets.h"
#include "shards_file.h"
#include "verbs.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/number.h"
#include "os/out_json.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    CREATE_RUN = COORD_OPTIONS,
    CREATE_SHARDS,
    CREATE_TARGETS,
    CREATE_SELECT,
    CREATE_FORMAT,
    CREATE_LEASE_MS,
    CREATE_ATTEMPTS,
    CREATE_COOLDOWN_MS,
    CREATE_SEMANTICS,
    CREATE_SHARD_MAX,
    CREATE_PIN,
    CREATE_REQUEST,
    CREATE_OP_ID,
    CREATE_FORGE,
};
enum { REGISTER_RUN = COORD_OPTIONS, REGISTER_SHARDS, REGISTER_OP_ID };
enum { LIST_STATUS = COORD_OPTIONS };
enum { END_RUN = COORD_OPTIONS, END_OP_ID };
enum { DELETE_RUN = COORD_OPTIONS };

/* A parsed registration. */
struct registration {
    struct cli_shards shards;
    struct ts_register_op op;
    struct ts_manifest_memory *memory;
    struct ts_shard_id *ids; /* the ids of all registered shards */
    bool has_request;
};

static enum cli_exit read_shards(const char *verb, const char *path, struct registration *registration) {
    enum cli_exit status = cli__shards_read(verb, path, &registration->shards);
    if (status != CLI_EXIT_DONE)
        return status;
    registration->op.shards = (struct ts_new_shards){registration->shards.list, registration->shards.count};
    registration->memory = malloc(sizeof *registration->memory);
    registration->ids = calloc(registration->shards.count + 1, sizeof *registration->ids);
    return registration->memory && registration->ids
               ? CLI_EXIT_DONE
               : cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: out of memory", verb);
}

static void release(struct registration *registration) {
    cli__shards_release(&registration->shards);
    free(registration->memory);
    free(registration->ids);
}

static void put_shard_ids(struct cli_coord *coord, const struct registration *registration) {
    cli__member(coord, "shards");
    ts_out_put_char(coord->out, '[');
    for (size_t i = 0; i < registration->op.shards.count; i++) {
        ts_out_put_cstring(coord->out, ts_json_separator(i, ","));
        ts_out_put_u64(coord->out, registration->ids[i].v);
    }
    ts_out_put_char(coord->out, ']');
}

/* Prints the result of a registration. A new registration makes its run active. After a repeated
 * registration, the run may be in any state. */
static enum cli_exit print_registered(struct cli_coord *coord, const struct registration *registration,
                                      const struct ts_coord_outcome *outcome) {
    const bool is_new = outcome->outcome == TS_OUTCOME_EXECUTED;
    const struct ts_coord_run_query query = {.tenant = coord->tenant, .run = registration->op.run};
    struct ts_run_record run = {.status = TS_RUN_ACTIVE};
    struct ts_coord_detail detail = {0};
    if (!is_new) {
        const enum ts_get_run_error error = ts_coord_get_run(coord->coord, &query, &run, &detail);
        if (error != TS_GET_RUN_OK)
            return cli__coord_refuse(coord, ts_get_run_error_variant(error), &detail);
    }
    if (coord->json) {
        cli__object_begin(coord);
        cli__put_outcome(coord, outcome, registration->op.op_id);
        cli__member_number(coord, "run", registration->op.run.v);
        cli__member_text(coord, "status", ts_run_status_name(run.status));
        put_shard_ids(coord, registration);
        cli__object_end(coord);
        return CLI_EXIT_DONE;
    }
    const size_t count = registration->op.shards.count;
    cli__put_outcome(coord, outcome, registration->op.op_id);
    if (is_new)
        cli__say(coord, ": run %llu has %zu more %s\n", (unsigned long long)registration->op.run.v, count,
                 count == 1 ? "shard" : "shards");
    else
        cli__say(coord, ": run %llu already had %s, %llu registered in total; it is %s\n",
                 (unsigned long long)registration->op.run.v, count == 1 ? "this shard" : "these shards",
                 (unsigned long long)run.registered, ts_run_status_name(run.status));
    return CLI_EXIT_DONE;
}

static void keep_ids(struct registration *registration) {
    ts_assert(registration->ids != NULL && registration->memory != NULL);
    for (size_t i = 0; i < registration->op.shards.count; i++)
        registration->ids[i] = registration->memory->ids[i];
}

static enum cli_exit create_in_steps(struct cli_coord *coord, const struct ts_create_run_op *op,
                                     struct registration *registration) {
    const struct ts_coord_list_op list = {
        .create = *op, .shards = registration->op.shards, .op_id = registration->op.op_id};
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    const enum ts_create_run_error error =
        ts_coord_create_run_in_steps(coord->coord, &list, registration->ids, &outcome, &detail);
    if (error != TS_CREATE_RUN_OK)
        return cli__coord_refuse(coord, ts_create_run_error_variant(error), &detail);
    return print_registered(coord, registration, &outcome);
}

static enum cli_exit create_with_shards(struct cli_coord *coord, const struct ts_create_run_op *op,
                                        struct registration *registration) {
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    registration->op.tenant = op->tenant;
    registration->op.run = op->run;
    if (registration->has_request || registration->op.shards.count > TS_REGISTER_MAX)
        return create_in_steps(coord, op, registration);
    enum ts_create_run_error error = ts_coord_create_run_with_shards(coord->coord, op, &registration->op,
                                                                     registration->memory, &outcome, &detail);
    if (error != TS_CREATE_RUN_OK)
        return cli__coord_refuse(coord, ts_create_run_error_variant(error), &detail);
    keep_ids(registration);
    return print_registered(coord, registration, &outcome);
}

static enum cli_exit create_alone(struct cli_coord *coord, const struct ts_create_run_op *op) {
    struct ts_run_record run;
    struct ts_coord_detail detail = {0};
    enum ts_create_run_error error = ts_coord_create_run(coord->coord, op, &run, &detail);
    if (error != TS_CREATE_RUN_OK)
        return cli__coord_refuse(coord, ts_create_run_error_variant(error), &detail);
    if (coord->json) {
        cli__object_begin(coord);
        cli__member_text(coord, "outcome", "executed");
        cli__member_number(coord, "run", run.run.v);
        cli__member_text(coord, "status", ts_run_status_name(run.status));
        cli__object_end(coord);
    } else {
        cli__say(coord, "executed: run %llu is %s; 'run register' adds shards\n",
                 (unsigned long long)run.run.v, ts_run_status_name(run.status));
    }
    return CLI_EXIT_DONE;
}

static enum cli_exit read_config(const char *verb, const struct cli_arguments *arguments,
                                 struct ts_run_config *ret_config) {
    struct ts_run_config config = ts_run_config_default();
    uint64_t attempts = config.attempts;
    enum cli_exit status =
        cli__number_optional(verb, arguments, CREATE_LEASE_MS, "lease-ms", &config.lease_duration_ms);
    if (status == CLI_EXIT_DONE)
        status = cli__number_optional(verb, arguments, CREATE_ATTEMPTS, "attempts", &attempts);
    if (status == CLI_EXIT_DONE)
        status =
            cli__number_optional(verb, arguments, CREATE_COOLDOWN_MS, "cooldown-ms", &config.cooldown_ms);
    if (status == CLI_EXIT_DONE)
        status = cli__number_optional(verb, arguments, CREATE_SHARD_MAX, "shard-max", &config.shard_max);
    if (status == CLI_EXIT_DONE)
        status = cli__pin_optional(verb, arguments, CREATE_PIN, &config.pin);
    if (status != CLI_EXIT_DONE)
        return status;
    /* A value that is too large for the field is replaced by the field's maximum, which the check of the run
     * refuses. */
    config.attempts = attempts < UINT32_MAX ? (uint32_t)attempts : UINT32_MAX;
    const char *semantics = arguments->values[CREATE_SEMANTICS];
    if (semantics)
        config.semantics = strcmp(semantics, "dispatched") == 0 ? TS_CURSOR_DISPATCHED : TS_CURSOR_COMPLETED;
    *ret_config = config;
    return CLI_EXIT_DONE;
}

/* Checks combinations of options. */
static enum cli_exit check_create(const char *verb, const struct cli_arguments *arguments) {
    const char *const *values = arguments->values;
    if (values[CREATE_SHARDS] && values[CREATE_TARGETS])
        return cli__complain(CLI_EXIT_USAGE, "%s: --shards and --targets exclude each other", verb);
    if (!values[CREATE_TARGETS] && (values[CREATE_SELECT] || values[CREATE_FORMAT]))
        return cli__complain(CLI_EXIT_USAGE, "%s: --select and --object-format need --targets", verb);
    if (!values[CREATE_TARGETS] && cli__forge_options_are_given(arguments, CREATE_FORGE))
        return cli__complain(CLI_EXIT_USAGE, "%s: options for forges, such as --tokens, need --targets",
                             verb);
    if (values[CREATE_PIN] && values[CREATE_TARGETS])
        return cli__complain(
            CLI_EXIT_USAGE,
            "%s: --pin and --targets exclude each other: with --targets, the pin is computed from the rules "
            "of this program",
            verb);
    if (!values[CREATE_RUN] && !values[CREATE_REQUEST])
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: --run ID is missing; or give the submission a name with --request", verb);
    if (values[CREATE_RUN] && values[CREATE_REQUEST])
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: --run and --request exclude each other: the run's id is derived from the "
                             "request",
                             verb);
    if (values[CREATE_REQUEST] && !values[CREATE_SHARDS] && !values[CREATE_TARGETS])
        return cli__complain(CLI_EXIT_USAGE, "%s: --request needs --targets or --shards", verb);
    if (values[CREATE_REQUEST] && values[CREATE_OP_ID])
        return cli__complain(
            CLI_EXIT_USAGE,
            "%s: --request and --op-id exclude each other: the op id is derived from the request", verb);
    if (!values[CREATE_SHARDS] && values[CREATE_OP_ID])
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: --op-id needs --shards: without shards, creating a run "
                             "takes no op id",
                             verb);
    return CLI_EXIT_DONE;
}

static enum cli_exit create(struct cli_coord *coord, const struct cli_arguments *arguments,
                            struct ts_create_run_op *op, struct registration *registration) {
    const struct cli_run_targets targets = {.arguments = arguments,
                                            .targets = CREATE_TARGETS,
                                            .select = CREATE_SELECT,
                                            .format = CREATE_FORMAT,
                                            .forge = CREATE_FORGE};
    const char *request = arguments->values[CREATE_REQUEST];
    op->tenant = coord->tenant;
    registration->has_request = request != NULL;
    if (request &&
        !ts_request_ids(&op->tenant, ts_bytes_of_cstring(request), &op->run, &registration->op.op_id))
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: --request: a name has 1 to 64 printable ASCII characters without blanks",
                             coord->verb);
    if (arguments->values[CREATE_TARGETS])
        return cli__run_create_targets(coord, &targets, op);
    return arguments->values[CREATE_SHARDS] ? create_with_shards(coord, op, registration)
                                            : create_alone(coord, op);
}

static enum cli_exit run_create(const struct cli_arguments *arguments) {
    static const char verb[] = "run create";
    struct ts_create_run_op op = {0};
    struct registration registration = {0};
    const char *shards = arguments->values[CREATE_SHARDS];
    enum cli_exit status = check_create(verb, arguments);
    if (status == CLI_EXIT_DONE)
        status = cli__number_optional(verb, arguments, CREATE_RUN, "run", &op.run.v);
    if (status == CLI_EXIT_DONE)
        status = read_config(verb, arguments, &op.config);
    if (status == CLI_EXIT_DONE)
        status = cli__op_id(verb, arguments, CREATE_OP_ID, &registration.op.op_id);
    if (status == CLI_EXIT_DONE && shards)
        status = read_shards(verb, shards, &registration);
    struct cli_coord coord;
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, shards ? &registration.op.op_id : NULL, &coord);
    if (status == CLI_EXIT_DONE) {
        status = create(&coord, arguments, &op, &registration);
        status = cli__coord_close(&coord, status);
    }
    release(&registration);
    return status;
}

static enum cli_exit run_register(const struct cli_arguments *arguments) {
    static const char verb[] = "run register";
    struct registration registration = {0};
    const char *shards = arguments->values[REGISTER_SHARDS];
    enum cli_exit status = cli__number_required(verb, arguments, REGISTER_RUN, "run", &registration.op.run.v);
    if (status == CLI_EXIT_DONE && !shards)
        status = cli__complain(CLI_EXIT_USAGE, "%s: --shards FILE is missing ('-': standard input)", verb);
    if (status == CLI_EXIT_DONE)
        status = cli__op_id(verb, arguments, REGISTER_OP_ID, &registration.op.op_id);
    if (status == CLI_EXIT_DONE)
        status = read_shards(verb, shards, &registration);
    struct cli_coord coord;
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, &registration.op.op_id, &coord);
    if (status == CLI_EXIT_DONE) {
        struct ts_coord_outcome outcome;
        struct ts_coord_detail detail = {0};
        registration.op.tenant = coord.tenant;
        enum ts_register_shards_error error =
            ts_coord_register_shards(coord.coord, &registration.op, registration.memory, &outcome, &detail);
        if (error != TS_REGISTER_SHARDS_OK)
            status = cli__coord_refuse(&coord, ts_register_shards_error_variant(error), &detail);
        else {
            keep_ids(&registration);
            status = print_registered(&coord, &registration, &outcome);
        }
        status = cli__coord_close(&coord, status);
    }
    release(&registration);
    return status;
}

/* The state of listing runs. `damaged` is the number of runs that cannot be read. */
struct listing {
    struct cli_coord coord;
    uint64_t damaged;
};

static bool print_run(void *context, const struct ts_run_record *run) {
    struct cli_coord *coord = &((struct listing *)context)->coord;
    if (!coord->json) {
        cli__say(coord, "%20llu  %-12s  number %llu, %llu registered, lease %s\n",
                 (unsigned long long)run->run.v, ts_run_status_name(run->status),
                 (unsigned long long)run->number, (unsigned long long)run->registered,
                 cli__show_ms(run->config.lease_duration_ms).text);
        return true;
    }
    cli__object_begin(coord);
    cli__member_number(coord, "run", run->run.v);
    cli__member_number(coord, "number", run->number);
    cli__member_text(coord, "status", ts_run_status_name(run->status));
    cli__member_number(coord, "registered", run->registered);
    cli__member_number(coord, "created_at", run->created_at.ms);
    if (run->ended_at.ms != 0)
        cli__member_number(coord, "ended_at", run->ended_at.ms);
    cli__object_end(coord);
    return true;
}

static bool print_damaged_run(void *context, struct ts_run_id run, const struct ts_infra_error *reason) {
    struct listing *listing = context;
    struct cli_coord *coord = &listing->coord;
    listing->damaged++;
    if (!coord->json) {
        cli__say(coord, "%20llu  damaged\n", (unsigned long long)run.v);
        return true;
    }
    cli__object_begin(coord);
    cli__member_number(coord, "run", run.v);
    cli__member_text(coord, "status", "damaged");
    cli__member_text(coord, "cause", reason->text);
    cli__object_end(coord);
    return true;
}

static enum cli_exit run_list(const struct cli_arguments *arguments) {
    struct listing listing = {0};
    struct cli_coord *coord = &listing.coord;
    enum cli_exit status = cli__coord_open("run list", arguments, NULL, coord);
    if (status != CLI_EXIT_DONE)
        return status;
    struct ts_coord_runs_query query = {.filter = {.tenant = coord->tenant}, .damaged = print_damaged_run};
    const char *wanted = arguments->values[LIST_STATUS];
    if (wanted)
        query.filter.by_status = ts_run_status_from_name(ts_bytes_of_cstring(wanted), &query.filter.status);
    struct ts_coord_detail detail = {0};
    enum ts_get_run_error error = ts_coord_list_runs(coord->coord, &query, print_run, &listing, &detail);
    if (error != TS_GET_RUN_OK)
        status = cli__coord_refuse(coord, ts_get_run_error_variant(error), &detail);
    else if (listing.damaged > 0)
        status = cli__complain_damaged(coord, listing.damaged);
    return cli__coord_close(coord, status);
}

/* Prints how a run has ended, and returns the exit status: 1 if the run is done but has parked shards. */
static enum cli_exit print_ended(struct cli_coord *coord, const struct ts_end_run_op *op,
                                 const struct ts_coord_outcome *outcome, enum ts_run_status status) {
    const struct ts_coord_run_query query = {.tenant = op->tenant, .run = op->run};
    struct ts_shard_counts counts = {0};
    struct ts_coord_detail detail = {0};
    enum ts_get_run_error error = TS_GET_RUN_OK;
    if (status == TS_RUN_DONE)
        error = ts_coord_run_counts(coord->coord, &query, &counts, &detail);
    const bool has_failures = error == TS_GET_RUN_OK && counts.parked > 0;
    if (coord->json) {
        cli__object_begin(coord);
        cli__put_outcome(coord, outcome, op->op_id);
        cli__member_number(coord, "run", op->run.v);
        cli__member_text(coord, "status", ts_run_status_name(status));
        if (status == TS_RUN_DONE && error == TS_GET_RUN_OK) {
            cli__member_bool(coord, "with_failures", has_failures);
            cli__member_number(coord, "parked", counts.parked);
        }
        cli__object_end(coord);
    } else {
        cli__put_outcome(coord, outcome, op->op_id);
        cli__say(coord, ": run %llu is %s", (unsigned long long)op->run.v, ts_run_status_name(status));
        if (has_failures)
            cli__say(coord, ", with failures: %llu %s parked", (unsigned long long)counts.parked,
                     counts.parked == 1 ? "shard is" : "shards are");
        cli__say(coord, "\n");
    }
    /* The run has ended, even if its counts cannot be read. */
    if (error != TS_GET_RUN_OK)
        return cli__complain(
            CLI_EXIT_INFRASTRUCTURE,
            "%s: the run is done, but the number of parked shards cannot be read; see 'run show'",
            coord->verb);
    return has_failures ? CLI_EXIT_FINDINGS : CLI_EXIT_DONE;
}

static enum cli_exit end_run(const char *verb, const struct cli_arguments *arguments,
                             enum ts_run_op_kind kind, enum ts_run_status becomes) {
    struct ts_end_run_op op = {.kind = kind};
    struct cli_coord coord;
    enum cli_exit status = cli__number_required(verb, arguments, END_RUN, "run", &op.run.v);
    if (status == CLI_EXIT_DONE)
        status = cli__op_id(verb, arguments, END_OP_ID, &op.op_id);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, &op.op_id, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    op.tenant = coord.tenant;
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    enum ts_run_transition_error error = ts_coord_end_run(coord.coord, &op, &outcome, &detail);
    if (error != TS_RUN_TRANSITION_OK) {
        status = cli__coord_refuse(&coord, ts_run_transition_error_variant(error), &detail);
    } else {
        status = print_ended(&coord, &op, &outcome, becomes);
    }
    return cli__coord_close(&coord, status);
}

static enum cli_exit run_complete(const struct cli_arguments *arguments) {
    return end_run("run complete", arguments, TS_RUN_OP_COMPLETE_RUN, TS_RUN_DONE);
}
static enum cli_exit run_fail(const struct cli_arguments *arguments) {
    return end_run("run fail", arguments, TS_RUN_OP_FAIL_RUN, TS_RUN_FAILED);
}
static enum cli_exit run_cancel(const struct cli_arguments *arguments) {
    return end_run("run cancel", arguments, TS_RUN_OP_CANCEL_RUN, TS_RUN_CANCELLED);
}

static enum cli_exit run_delete(const struct cli_arguments *arguments) {
    static const char verb[] = "run delete";
    struct ts_coord_run_query query;
    struct cli_coord coord;
    enum cli_exit status = cli__number_required(verb, arguments, DELETE_RUN, "run", &query.run.v);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    query.tenant = coord.tenant;
    struct ts_coord_deleted deleted = {0};
    struct ts_coord_detail detail = {0};
    const enum ts_delete_run_error error = ts_coord_delete_run(coord.coord, &query, &deleted, &detail);
    const unsigned long long run = query.run.v, shards = deleted.shards;
    if (error != TS_DELETE_RUN_OK) {
        status = cli__coord_refuse(&coord, ts_delete_run_error_variant(error), &detail);
    } else if (coord.json) {
        cli__object_begin(&coord);
        cli__member_number(&coord, "run", run);
        cli__member_bool(&coord, "deleted", deleted.was_there);
        cli__member_number(&coord, "shards", shards);
        cli__member_number(&coord, "units", deleted.units);
        cli__object_end(&coord);
    } else if (deleted.was_there) {
        cli__say(&coord, "run %llu is deleted, with %llu %s\n", run, shards,
                 shards == 1 ? "shard" : "shards");
    } else {
        cli__say(&coord, "there is no run %llu: nothing to delete\n", run);
    }
    return cli__coord_close(&coord, status);
}

static_assert(TS_TENANT_SHARD_MAX == 100000 && TS_GLOBAL_SHARD_MAX == 1000000,
              "the help of --shard-max says so");

static const struct cli_option create_options[] = {
    CLI_COORD_OPTIONS,
    [CREATE_RUN] = CLI_RUN_OPTION,
    [CREATE_SHARDS] = {.name = "shards",
                       .argument = "FILE",
                       .help = "register these shards ('-': standard input)"},
    [CREATE_TARGETS] =
        {.name = "targets",
         .argument = "FILE|FOLDER|FORGE|ADDRESS|-",
         .many = true,
         .help = "register one shard for each of these repositories, for 'turnstone worker'; may be "
                 "repeated ('-': a list on standard input); see 'turnstone help targets' for forges"},
    [CREATE_SELECT] = {.name = "select",
                       .argument = "WHAT",
                       .help =
                           "with --targets: which part of each repository (default: default); see 'turnstone "
                           "help targets'"},
    [CREATE_FORMAT] = {.name = "object-format",
                       .argument = "FORMAT",
                       .choices = "sha1|sha256",
                       .help =
                           "with --targets: the object format of repositories on servers (default: sha1)"},
    [CREATE_LEASE_MS] = {.name = "lease-ms",
                         .argument = "N",
                         .help = "duration of a lease in milliseconds, 1000 to 86400000 (default: 30000)"},
    [CREATE_ATTEMPTS] = {.name = "attempts",
                         .argument = "N",
                         .help = "how often a shard may be acquired without progress before it is parked, 0 "
                                 "to 1000 (default: 5; 0: no limit)"},
    [CREATE_COOLDOWN_MS] = {.name = "cooldown-ms",
                            .argument = "N",
                            .help = "minimum time between two claims of a worker, in milliseconds (default: "
                                    "0)"},
    [CREATE_SEMANTICS] = {.name = "semantics",
                          .argument = "NAME",
                          .choices = "completed|dispatched",
                          .help = "the meaning of a cursor's key: everything up to it is done, or was only "
                                  "dispatched (default: completed)"},
    [CREATE_SHARD_MAX] = {.name = "shard-max",
                          .argument = "N",
                          .help = "maximum number of registered shards, 1 to 1000000 (default: 100000)"},
    [CREATE_PIN] =
        {.name = "pin",
         .argument = "HEX",
         .help = "allow only claims with the same pin, 64 hexadecimal digits (default: allow every claim)"},
    [CREATE_REQUEST] =
        {.name = "request",
         .argument = "NAME",
         .help = "a name for this submission instead of --run, 1 to 64 printable characters: the run's id is "
                 "derived from tenant and name, so that a repeated command does not create a second run"},
    [CREATE_OP_ID] = CLI_OP_ID_OPTION,
    CLI_FORGE_OPTIONS(CREATE_FORGE),
};

static const struct cli_option register_options[] = {
    CLI_COORD_OPTIONS,
    [REGISTER_RUN] = CLI_RUN_OPTION,
    [REGISTER_SHARDS] = {.name = "shards", .argument = "FILE", .help = "the shards ('-': standard input)"},
    [REGISTER_OP_ID] = CLI_OP_ID_OPTION,
};

static const struct cli_option list_options[] = {
    CLI_COORD_OPTIONS,
    [LIST_STATUS] = {.name = "status",
                     .argument = "STATUS",
                     .choices = CLI_NUMBERED_CHOICES(TS_RUN_STATUSES),
                     .help = "only runs with this status"},
};

static const struct cli_option end_options[] = {
    CLI_COORD_OPTIONS,
    [END_RUN] = CLI_RUN_OPTION,
    [END_OP_ID] = CLI_OP_ID_OPTION,
};

static const struct cli_option delete_options[] = {
    CLI_COORD_OPTIONS,
    [DELETE_RUN] = CLI_RUN_OPTION,
};

#define SHARD_LINES                                                                                          \
    "Shards are JSON lines, {\"start\":\"a\",\"end\":\"m\"} optionally with \"metadata\", \"id\", and "      \
    "the \"key\" and \"token\" of a cursor. Keys are text, or any bytes as 0x and hexadecimal digits; "      \
    "without a start or end the range has no bound there. \"id\" is a number below 2^63, or a string of "    \
    "its digits. Missing ids are derived from the op id, so use --op-id if you may repeat the call. "        \
    "Without --op-id each call uses a new random op id, and a repeated call registers further shards "       \
    "with the same ranges."

static const struct cli_variable create_variables[] = {CLI_CLUSTER_VARIABLE, CLI_FORGE_VARIABLES};

const struct cli_verb cli__verb_run_create = {
    .name = "run create",
    .summary = "create a run, with or without its shards",
    .description =
        "A run is a set of shards that workers lease, work on and complete. Without --shards and --targets "
        "the run waits for 'run register'.\n\n"
        "Up to 10,000 shards are registered in one transaction. Longer "
        "lists, targets, and every list with --request are registered in steps; the run becomes Active with "
        "the last step. If the command is stopped, repeat it, and it continues. Another list, or other "
        "settings, for the same run are refused as ConfigMismatch. A run whose list is incomplete can be "
        "cancelled, and then deleted.\n\n" SHARD_LINES,
    .options = create_options,
    .option_count = sizeof create_options / sizeof create_options[0],
    .variables = create_variables,
    .variable_count = sizeof create_variables / sizeof create_variables[0],
    .run = run_create,
};

const struct cli_verb cli__verb_run_register = {
    .name = "run register",
    .summary = "register the shards of a run",
    .description = "Registers all shards in one transaction, or none.\n\n" SHARD_LINES,
    .options = register_options,
    .option_count = sizeof register_options / sizeof register_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_register,
};

const struct cli_verb cli__verb_run_list = {
    .name = "run list",
    .summary = "list the runs of a tenant",
    .description =
        "Prints one line for each run, in the order of their ids. A run with a damaged record is always "
        "listed, as damaged, and the exit status is then 6.",
    .options = list_options,
    .option_count = sizeof list_options / sizeof list_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_list,
};

const struct cli_verb cli__verb_run_complete = {
    .name = "run complete",
    .summary = "end a run whose shards have all ended",
    .description =
        "While a shard is active, the operation is refused as WrongStatus. If shards are parked, the run is done "
        "with failures, and the exit status is 1.",
    .options = end_options,
    .option_count = sizeof end_options / sizeof end_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_complete,
};

const struct cli_verb cli__verb_run_fail = {
    .name = "run fail",
    .summary = "end a run as failed, with shards in any state",
    .description = "After this no operation changes a shard of the run; workers get ShardTerminal.",
    .options = end_options,
    .option_count = sizeof end_options / sizeof end_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_fail,
};

const struct cli_verb cli__verb_run_cancel = {
    .name = "run cancel",
    .summary = "end a run that is no longer needed",
    .description = "After this no operation changes a shard of the run; workers get ShardTerminal.",
    .options = end_options,
    .option_count = sizeof end_options / sizeof end_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_cancel,
};

const struct cli_verb cli__verb_run_delete = {
    .name = "run delete",
    .summary = "delete a run that has ended, with its shards",
    .description =
        "Deletes all records of the run from the stores. A run that has not ended is refused as WrongStatus: "
        "complete, fail or cancel it first. A large run is deleted in batches. If the command is stopped, "
        "run it again, and it continues where it stopped. The run's id stays in use until everything is "
        "deleted. A missing run is not an error.\n\n"
        "With --json: \"deleted\": whether the run existed; "
        "\"shards\": number of shards that this call deleted; \"units\": number of deleted records about the "
        "run's targets.",
    .options = delete_options,
    .option_count = sizeof delete_options / sizeof delete_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_delete,
};
