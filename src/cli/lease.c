/*
 * turnstone lease: the operations of a worker, by hand.
 */
#include "complain.h"
#include "coord_verb.h"
#include "key.h"
#include "lease_given.h"
#include "shards_file.h"
#include "verbs.h"

#include "base/bytes.h"
#include "coord/core/lease_token.h"
#include "os/out_json.h"

#include <stdlib.h>
#include <string.h>

enum { GET_RUN = COORD_OPTIONS, GET_WORKER, GET_OWN };
enum { CLAIM_PIN = GET_OWN };
enum { GET_SHARD = GET_OWN };
enum { USE_LEASE = COORD_OPTIONS, USE_OP_ID, USE_OPTIONS };
enum { CURSOR_KEY = USE_OPTIONS, CURSOR_TOKEN };
enum { PARK_REASON = USE_OPTIONS };
enum { RELEASE_BLAME = USE_OPTIONS };
enum { REPLACE_CHILDREN = USE_OPTIONS };
enum { RESIDUAL_AT = USE_OPTIONS, RESIDUAL_METADATA };

/* ---- claim and acquire ---- */

static void put_lease(struct cli_coord *coord, const struct ts_lease *lease) {
    char token[TS_LEASE_TOKEN_SIZE];
    ts_lease_token_make(ts_cluster_meta(coord->cluster, 0)->secret, lease, token);
    if (coord->json)
        cli__member_text(coord, "lease", token);
    else
        cli__say(coord, "  lease: %s\n", token);
}

static void put_capacity(struct cli_coord *coord, const struct ts_capacity_hint *capacity) {
    if (!coord->json) {
        cli__say(coord, "  capacity: %s%u more to claim\n",
                 capacity->available_count >= TS_CAPACITY_MAX ? "at least " : "", capacity->available_count);
        return;
    }
    cli__member(coord, "capacity");
    cli__object_begin(coord);
    cli__member_number(coord, "available", capacity->available_count);
    if (capacity->has_earliest_deadline)
        cli__member_number(coord, "earliest_deadline", capacity->earliest_deadline.ms);
    else
        cli__member_null(coord, "earliest_deadline");
    ts_out_put_char(coord->out, '}');
}

/* Prints the parent of the shard, and the shards that were split off from the shard. */
static void put_family(struct cli_coord *coord, const struct ts_shard_snapshot_view *shard) {
    const size_t spawned = ts_spawned_count(shard->spawned);
    if (coord->json) {
        if (shard->has_parent)
            cli__member_number(coord, "parent", shard->parent.v);
        else
            cli__member_null(coord, "parent");
        cli__member(coord, "spawned");
        ts_out_put_char(coord->out, '[');
        for (size_t i = 0; i < spawned; i++) {
            ts_out_put_cstring(coord->out, ts_json_separator(i, ","));
            ts_out_put_u64(coord->out, ts_spawned_at(shard->spawned, i).v);
        }
        ts_out_put_char(coord->out, ']');
        return;
    }
    if (shard->has_parent)
        cli__say(coord, "  parent: %llu\n", (unsigned long long)shard->parent.v);
    for (size_t i = 0; i < spawned; i++)
        cli__say(coord, "%s %llu%s", i == 0 ? "  spawned:" : "",
                 (unsigned long long)ts_spawned_at(shard->spawned, i).v, i + 1 == spawned ? "\n" : "");
}

static void print_acquired(struct cli_coord *coord, const struct ts_acquire_result_view *view) {
    const struct ts_shard_key shard = ts_lease_shard(&view->lease);
    const struct ts_shard_spec *spec = &view->snapshot.spec;
    const struct ts_cursor *cursor = &view->snapshot.cursor;
    if (coord->json) {
        cli__object_begin(coord);
        cli__member_number(coord, "run", shard.run.v);
        cli__member_number(coord, "shard", shard.shard.v);
        cli__member_key(coord, "start", spec->range.start);
        cli__member_key(coord, "end", spec->range.end);
        cli__member_key(coord, "metadata", spec->metadata);
        if (cursor->has_key)
            cli__member_key(coord, "key", cursor->last_key);
        else
            cli__member_null(coord, "key");
        if (cursor->has_token)
            cli__member_key(coord, "token", cursor->token);
        else
            cli__member_null(coord, "token");
        cli__member_text(coord, "semantics", ts_cursor_semantics_name(view->snapshot.semantics));
        cli__member_text(coord, "status", ts_shard_status_name(view->snapshot.status));
        put_family(coord, &view->snapshot);
        cli__member_number(coord, "fence", ts_lease_fence(&view->lease).v);
        cli__member_number(coord, "deadline", ts_lease_deadline(&view->lease).ms);
        put_capacity(coord, &view->capacity);
        put_lease(coord, &view->lease);
        cli__object_end(coord);
        return;
    }
    cli__say(coord, "shard %llu of run %llu: %s to %s\n", (unsigned long long)shard.shard.v,
             (unsigned long long)shard.run.v,
             spec->range.start.len ? cli__show_key(spec->range.start).text : "the start",
             spec->range.end.len ? cli__show_key(spec->range.end).text : "the end");
    cli__say(coord, "  cursor: %s\n", cursor->has_key ? cli__show_key(cursor->last_key).text : "not begun");
    if (spec->metadata.len > 0)
        cli__say(coord, "  metadata: %s\n", cli__show_key(spec->metadata).text);
    cli__say(coord, "  status: %s\n", ts_shard_status_name(view->snapshot.status));
    put_family(coord, &view->snapshot);
    cli__say(coord, "  fence: %llu, until %s\n", (unsigned long long)ts_lease_fence(&view->lease).v,
             cli__show_time(coord, ts_lease_deadline(&view->lease)).text);
    put_capacity(coord, &view->capacity);
    put_lease(coord, &view->lease);
}

static enum cli_exit read_worker(const char *verb, const struct cli_arguments *arguments,
                                 struct ts_worker_id *ret_worker) {
    const char *text = arguments->values[GET_WORKER];
    if (!text || !ts_worker_id_from_text(ts_bytes_of_cstring(text), ret_worker))
        return cli__complain(CLI_EXIT_USAGE, "%s: --worker NAME is missing (1 to 32 bytes)", verb);
    return CLI_EXIT_DONE;
}

static enum cli_exit run_claim(const struct cli_arguments *arguments) {
    static const char verb[] = "lease claim";
    static struct ts_acquire_scratch scratch;
    struct ts_coord_claim_op op = {0};
    struct cli_coord coord = {0};
    enum cli_exit status = cli__number_required(verb, arguments, GET_RUN, "run", &op.run.v);
    if (status == CLI_EXIT_DONE)
        status = read_worker(verb, arguments, &op.worker);
    if (status == CLI_EXIT_DONE)
        status = cli__pin_optional(verb, arguments, CLAIM_PIN, &op.pin);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    op.tenant = coord.tenant;
    ts_acquire_scratch_init(&scratch);
    struct ts_acquire_result_view view;
    struct ts_coord_detail detail = {0};
    enum ts_claim_error error = ts_coord_claim_next_available(coord.coord, &op, &scratch, &view, &detail);
    if (error != TS_CLAIM_OK)
        status = cli__coord_refuse(&coord, ts_claim_error_variant(error), &detail);
    else
        print_acquired(&coord, &view);
    return cli__coord_close(&coord, status);
}

static enum cli_exit run_acquire(const struct cli_arguments *arguments) {
    static const char verb[] = "lease acquire";
    static struct ts_acquire_scratch scratch;
    struct ts_acquire_op op = {0};
    struct cli_coord coord = {0};
    enum cli_exit status = cli__number_required(verb, arguments, GET_RUN, "run", &op.shard.run.v);
    if (status == CLI_EXIT_DONE)
        status = cli__number_required(verb, arguments, GET_SHARD, "shard", &op.shard.shard.v);
    if (status == CLI_EXIT_DONE)
        status = read_worker(verb, arguments, &op.worker);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    op.tenant = coord.tenant;
    ts_acquire_scratch_init(&scratch);
    struct ts_acquire_result_view view;
    struct ts_coord_detail detail = {0};
    enum ts_acquire_error error = ts_coord_acquire(coord.coord, &op, &scratch, &view, &detail);
    if (error != TS_ACQUIRE_OK)
        status = cli__coord_refuse(&coord, ts_acquire_error_variant(error), &detail);
    else
        print_acquired(&coord, &view);
    return cli__coord_close(&coord, status);
}

/* ---- with a lease ---- */

/* Opens the cluster and reads the lease. *ret_by gets the tenant of the option or, without the option, the
 * tenant of the lease. For op_id see cli__coord_open. */
static enum cli_exit open_lease(const char *verb, const struct cli_arguments *arguments,
                                const struct ts_op_id *op_id, struct cli_coord *ret_coord,
                                struct ts_lease_op *ret_by) {
    char text[CLI_LEASE_SIZE];
    enum cli_exit status = cli__lease_given(verb, arguments->values[USE_LEASE], text);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, op_id, ret_coord);
    if (status != CLI_EXIT_DONE)
        return status;
    if (!ts_lease_token_read(ts_cluster_meta(ret_coord->cluster, 0)->secret, ts_bytes_of_cstring(text),
                             &ret_by->lease))
        return cli__coord_close(
            ret_coord,
            cli__complain(CLI_EXIT_USAGE,
                          "%s: --lease is not a lease of this cluster; copy it as 'lease claim' or 'lease "
                          "acquire' printed it",
                          verb));
    ret_by->tenant = ret_coord->has_tenant ? ret_coord->tenant : *ts_lease_tenant(&ret_by->lease);
    return CLI_EXIT_DONE;
}

/* Reads the op id of the operation, and then does the same work as open_lease. */
static enum cli_exit open_with_lease(const char *verb, const struct cli_arguments *arguments,
                                     struct cli_coord *ret_coord, struct ts_lease_op *ret_by) {
    const enum cli_exit status = cli__op_id(verb, arguments, USE_OP_ID, &ret_by->op_id);
    return status == CLI_EXIT_DONE ? open_lease(verb, arguments, &ret_by->op_id, ret_coord, ret_by) : status;
}

/* Prints the answer of an operation that has no results except its outcome. */
static void print_outcome(struct cli_coord *coord, const struct ts_coord_outcome *outcome,
                          struct ts_op_id op_id) {
    if (coord->json) {
        cli__object_begin(coord);
        cli__put_outcome(coord, outcome, op_id);
        cli__member_text(coord, "result", ts_op_result_name(outcome->result));
        cli__object_end(coord);
        return;
    }
    cli__put_outcome(coord, outcome, op_id);
    cli__say(coord,
             outcome->result == TS_OP_RESULT_SUPERSEDED ? ": a later checkpoint has replaced it\n" : "\n");
}

static enum cli_exit run_renew(const struct cli_arguments *arguments) {
    struct cli_coord coord = {0};
    struct ts_lease_op by = {0};
    enum cli_exit status = open_lease("lease renew", arguments, NULL, &coord, &by);
    if (status != CLI_EXIT_DONE)
        return status;
    const struct ts_renew_op op = {.tenant = by.tenant, .lease = by.lease};
    struct ts_lease lease;
    struct ts_renew_result result;
    struct ts_coord_detail detail = {0};
    enum ts_renew_error error = ts_coord_renew(coord.coord, &op, NULL, &lease, &result, &detail);
    if (error != TS_RENEW_OK) {
        status = cli__coord_refuse(&coord, ts_renew_error_variant(error), &detail);
    } else if (coord.json) {
        cli__object_begin(&coord);
        cli__member_text(&coord, "outcome", "executed");
        cli__member_number(&coord, "deadline", result.new_deadline.ms);
        put_capacity(&coord, &result.capacity);
        put_lease(&coord, &lease);
        cli__object_end(&coord);
    } else {
        cli__say(&coord, "executed: until %s\n", cli__show_time(&coord, result.new_deadline).text);
        put_capacity(&coord, &result.capacity);
        put_lease(&coord, &lease);
    }
    return cli__coord_close(&coord, status);
}

/* Parses the text of an option as bytes (cli__bytes_parse). *ret_bytes points into *ret_memory, which the
 * caller frees. */
static enum cli_exit read_bytes(const char *verb, const char *name, const char *text,
                                struct ts_bytes *ret_bytes, uint8_t **ret_memory) {
    size_t length = strlen(text);
    uint8_t *bytes = malloc(length + 1);
    if (!bytes)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: out of memory", verb);
    size_t len = 0;
    /* Any length is accepted, because the operation checks the length. */
    const char *why = cli__bytes_parse(
        text, length, (struct cli_bytes_rule){.may_be_empty = true, .max = SIZE_MAX}, bytes, &len);
    if (why) {
        free(bytes);
        return cli__complain(CLI_EXIT_USAGE, "%s: --%s %s", verb, name, why);
    }
    *ret_bytes = ts_bytes_of(bytes, len);
    *ret_memory = bytes;
    return CLI_EXIT_DONE;
}

struct cursor_memory {
    uint8_t *key;
    uint8_t *token;
};

static enum cli_exit read_cursor(const char *verb, const struct cli_arguments *arguments,
                                 struct ts_cursor *ret_cursor, struct cursor_memory *memory) {
    const char *key = arguments->values[CURSOR_KEY];
    const char *token = arguments->values[CURSOR_TOKEN];
    *ret_cursor = (struct ts_cursor){.has_key = key != NULL, .has_token = token != NULL};
    enum cli_exit status = CLI_EXIT_DONE;
    if (key)
        status = read_bytes(verb, "key", key, &ret_cursor->last_key, &memory->key);
    if (status == CLI_EXIT_DONE && token)
        status = read_bytes(verb, "token", token, &ret_cursor->token, &memory->token);
    return status;
}

static enum cli_exit do_checkpoint(struct cli_coord *coord, const struct ts_cursor_op *op) {
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    enum ts_checkpoint_error error = ts_coord_checkpoint(coord->coord, op, NULL, &outcome, &detail);
    if (error != TS_CHECKPOINT_OK)
        return cli__coord_refuse(coord, ts_checkpoint_error_variant(error), &detail);
    print_outcome(coord, &outcome, op->by.op_id);
    return CLI_EXIT_DONE;
}

static enum cli_exit do_complete(struct cli_coord *coord, const struct ts_cursor_op *op) {
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    enum ts_complete_error error = ts_coord_complete(coord->coord, op, NULL, &outcome, &detail);
    if (error != TS_COMPLETE_OK)
        return cli__coord_refuse(coord, ts_complete_error_variant(error), &detail);
    print_outcome(coord, &outcome, op->by.op_id);
    return CLI_EXIT_DONE;
}

static enum cli_exit with_cursor(const char *verb, const struct cli_arguments *arguments,
                                 enum cli_exit (*operate)(struct cli_coord *coord,
                                                          const struct ts_cursor_op *op)) {
    struct cli_coord coord = {0};
    struct ts_cursor_op op = {0};
    struct cursor_memory memory = {0};
    enum cli_exit status = read_cursor(verb, arguments, &op.cursor, &memory);
    if (status == CLI_EXIT_DONE)
        status = open_with_lease(verb, arguments, &coord, &op.by);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_close(&coord, operate(&coord, &op));
    free(memory.key);
    free(memory.token);
    return status;
}

static enum cli_exit run_checkpoint(const struct cli_arguments *arguments) {
    return with_cursor("lease checkpoint", arguments, do_checkpoint);
}
static enum cli_exit run_complete(const struct cli_arguments *arguments) {
    return with_cursor("lease complete", arguments, do_complete);
}

static enum cli_exit run_park(const struct cli_arguments *arguments) {
    struct cli_coord coord = {0};
    struct ts_park_op op = {.reason = TS_PARK_OTHER};
    const char *reason = arguments->values[PARK_REASON];
    /* The parser accepts only names of enum ts_park_reason. */
    if (reason)
        (void)ts_park_reason_from_name(ts_bytes_of_cstring(reason), &op.reason);
    enum cli_exit status = open_with_lease("lease park", arguments, &coord, &op.by);
    if (status != CLI_EXIT_DONE)
        return status;
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    enum ts_park_error error = ts_coord_park(coord.coord, &op, NULL, &outcome, &detail);
    if (error != TS_PARK_OK)
        status = cli__coord_refuse(&coord, ts_park_error_variant(error), &detail);
    else
        print_outcome(&coord, &outcome, op.by.op_id);
    return cli__coord_close(&coord, status);
}

static enum cli_exit run_release(const struct cli_arguments *arguments) {
    struct cli_coord coord = {0};
    struct ts_release_op op = {.blame = TS_BLAME_SHARD};
    const char *blame = arguments->values[RELEASE_BLAME];
    /* The parser accepts only names of enum ts_blame. */
    if (blame)
        (void)ts_blame_from_name(ts_bytes_of_cstring(blame), &op.blame);
    enum cli_exit status = open_with_lease("lease release", arguments, &coord, &op.by);
    if (status != CLI_EXIT_DONE)
        return status;
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    enum ts_release_error error = ts_coord_release(coord.coord, &op, NULL, &outcome, &detail);
    if (error != TS_RELEASE_OK)
        status = cli__coord_refuse(&coord, ts_release_error_variant(error), &detail);
    else
        print_outcome(&coord, &outcome, op.by.op_id);
    return cli__coord_close(&coord, status);
}

static void print_split(struct cli_coord *coord, const struct ts_coord_outcome *outcome,
                        struct ts_op_id op_id, const struct ts_shard_id *made, size_t count) {
    if (!coord->json) {
        cli__put_outcome(coord, outcome, op_id);
        cli__say(coord, ":");
        for (size_t i = 0; i < count; i++)
            cli__say(coord, " %llu", (unsigned long long)made[i].v);
        cli__say(coord, "\n");
        return;
    }
    cli__object_begin(coord);
    cli__put_outcome(coord, outcome, op_id);
    cli__member(coord, "shards");
    ts_out_put_char(coord->out, '[');
    for (size_t i = 0; i < count; i++) {
        ts_out_put_cstring(coord->out, ts_json_separator(i, ","));
        ts_out_put_u64(coord->out, made[i].v);
    }
    ts_out_put_char(coord->out, ']');
    cli__object_end(coord);
}

static enum cli_exit run_split_replace(const struct cli_arguments *arguments) {
    static const char verb[] = "lease split-replace";
    struct cli_coord coord = {0};
    struct cli_shards children = {0};
    struct ts_split_replace_op op = {0};
    const char *path = arguments->values[REPLACE_CHILDREN];
    enum cli_exit status =
        path ? cli__shards_read(verb, path, &children)
             : cli__complain(CLI_EXIT_USAGE, "%s: --children FILE is missing ('-': standard input)", verb);
    if (status == CLI_EXIT_DONE)
        status = open_with_lease(verb, arguments, &coord, &op.by);
    if (status == CLI_EXIT_DONE) {
        op.children = (struct ts_new_shards){children.list, children.count};
        static struct ts_split_replace_result result;
        struct ts_coord_outcome outcome;
        struct ts_coord_detail detail = {0};
        enum ts_split_error error =
            ts_coord_split_replace(coord.coord, &op, NULL, &result, &outcome, &detail);
        if (error != TS_SPLIT_OK)
            status = cli__coord_refuse(&coord, ts_split_error_variant(error), &detail);
        else
            print_split(&coord, &outcome, op.by.op_id, result.children, result.count);
        status = cli__coord_close(&coord, status);
    }
    cli__shards_release(&children);
    return status;
}

/* A copy of the parent's metadata, for a split-off shard without metadata of its own. */
struct inherited {
    uint8_t *memory; /* NULL: the parent was not found, or memory ran out */
    size_t len;
};

static void copy_metadata(void *context, const struct ts_coord_shard_view *view) {
    struct inherited *inherited = context;
    inherited->len = view->record->spec.metadata.len;
    inherited->memory = malloc(inherited->len + 1);
    if (inherited->memory && inherited->len > 0)
        memcpy(inherited->memory, view->record->spec.metadata.data, inherited->len);
}

/* Copies the metadata of the parent. If the parent does not exist or belongs to another tenant, returns
 * CLI_EXIT_DONE, because the operation itself reports this error. */
static enum cli_exit inherit_metadata(struct cli_coord *coord, const struct ts_lease_op *by,
                                      struct inherited *inherited) {
    const struct ts_coord_shard_ref parent = {by->tenant, ts_lease_shard(&by->lease)};
    struct ts_coord_detail detail = {0};
    enum ts_get_shard_error error =
        ts_coord_get_shard(coord->coord, &parent, copy_metadata, inherited, &detail);
    switch (error) {
    case TS_GET_SHARD_OK:
        return inherited->memory ? CLI_EXIT_DONE
                                 : cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: out of memory", coord->verb);
    case TS_GET_SHARD_SHARD_NOT_FOUND:
    case TS_GET_SHARD_TENANT_MISMATCH:
        return CLI_EXIT_DONE;
    case TS_GET_SHARD_BACKEND_ERROR:
        break;
    }
    return cli__coord_refuse(coord, ts_get_shard_error_variant(error), &detail);
}

static enum cli_exit do_split_residual(struct cli_coord *coord, const struct ts_split_residual_op *op) {
    struct ts_split_residual_result result;
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    enum ts_split_error error = ts_coord_split_residual(coord->coord, op, NULL, &result, &outcome, &detail);
    if (error != TS_SPLIT_OK)
        return cli__coord_refuse(coord, ts_split_error_variant(error), &detail);
    print_split(coord, &outcome, op->by.op_id, &result.residual, 1);
    return CLI_EXIT_DONE;
}

static enum cli_exit run_split_residual(const struct cli_arguments *arguments) {
    static const char verb[] = "lease split-residual";
    struct cli_coord coord = {0};
    struct ts_split_residual_op op = {0};
    uint8_t *at_memory = NULL;
    uint8_t *metadata_memory = NULL;
    const char *at = arguments->values[RESIDUAL_AT];
    const char *metadata = arguments->values[RESIDUAL_METADATA];
    enum cli_exit status =
        at ? read_bytes(verb, "at", at, &op.residual.spec.range.start, &at_memory)
           : cli__complain(CLI_EXIT_USAGE, "%s: --at KEY is missing: the first key of the second part", verb);
    if (status == CLI_EXIT_DONE && metadata)
        status = read_bytes(verb, "metadata", metadata, &op.residual.spec.metadata, &metadata_memory);
    if (status == CLI_EXIT_DONE)
        status = open_with_lease(verb, arguments, &coord, &op.by);
    if (status == CLI_EXIT_DONE) {
        struct inherited inherited = {0};
        if (!metadata) {
            status = inherit_metadata(&coord, &op.by, &inherited);
            op.residual.spec.metadata = ts_bytes_of(inherited.memory, inherited.len);
        }
        if (status == CLI_EXIT_DONE)
            status = do_split_residual(&coord, &op);
        status = cli__coord_close(&coord, status);
        free(inherited.memory);
    }
    free(at_memory);
    free(metadata_memory);
    return status;
}

/* ---- tables ---- */

#define LEASE_OPTIONS                                                                                        \
    CLI_COORD_OPTIONS, [USE_LEASE] = {.name = "lease", .argument = "LEASE", .help = CLI_LEASE_HELP},         \
                       [USE_OP_ID] = CLI_OP_ID_OPTION

#define CURSOR_OPTIONS                                                                                       \
    [CURSOR_KEY] = {.name = "key",                                                                           \
                    .argument = "KEY",                                                                       \
                    .help = "the last key that was reached; text, or 0x and hexadecimal digits"},            \
    [CURSOR_TOKEN] = {                                                                                       \
        .name = "token", .argument = "TOKEN", .help = "a text for the next worker, in addition to the key"}

static const struct cli_option claim_options[] = {
    CLI_COORD_OPTIONS,
    [GET_RUN] = CLI_RUN_OPTION,
    [GET_WORKER] = {.name = "worker", .argument = "NAME", .help = "the name of the worker, up to 32 bytes"},
    [CLAIM_PIN] =
        {.name = "pin",
         .argument = "HEX",
         .help = "the worker's pin, 64 hexadecimal digits; a worker gets no shard of a run with another pin "
                 "(default: none)"},
};
static const struct cli_option acquire_options[] = {
    CLI_COORD_OPTIONS,
    [GET_RUN] = CLI_RUN_OPTION,
    [GET_WORKER] = {.name = "worker", .argument = "NAME", .help = "the name of the worker, up to 32 bytes"},
    [GET_SHARD] = CLI_SHARD_OPTION,
};
static const struct cli_option renew_options[] = {
    CLI_COORD_OPTIONS,
    [USE_LEASE] = {.name = "lease", .argument = "LEASE", .help = CLI_LEASE_HELP},
};
static const struct cli_option cursor_options[] = {LEASE_OPTIONS, CURSOR_OPTIONS};
static const struct cli_option park_options[] = {
    LEASE_OPTIONS,
    [PARK_REASON] = {.name = "reason",
                     .argument = "REASON",
                     .choices = CLI_NUMBERED_CHOICES(TS_PARK_REASONS),
                     .help = "why no worker should claim the shard (default: Other)"},
};
static const struct cli_option release_options[] = {
    LEASE_OPTIONS,
    [RELEASE_BLAME] = {.name = "blame",
                       .argument = "WHO",
                       .choices = CLI_NUMBERED_CHOICES(TS_BLAMES),
                       .help = "who is at fault: Shard counts the attempt, Nobody does not (default: Shard)"},
};
static const struct cli_option replace_options[] = {
    LEASE_OPTIONS,
    [REPLACE_CHILDREN] = {.name = "children",
                          .argument = "FILE",
                          .help = "the children, as JSON lines like those of 'run create' ('-': standard "
                                  "input)"},
};
static const struct cli_option residual_options[] = {
    LEASE_OPTIONS,
    [RESIDUAL_AT] = {.name = "at", .argument = "KEY", .help = "the first key of the new shard"},
    [RESIDUAL_METADATA] = {.name = "metadata",
                           .argument = "TEXT",
                           .help = "the metadata of the new shard (default: the parent's)"},
};

#define LEASE_VERB(variable, options_, variables_, ...)                                                      \
    const struct cli_verb cli__verb_lease_##variable = {                                                     \
        .options = options_,                                                                                 \
        .option_count = sizeof options_ / sizeof options_[0],                                                \
        .variables = variables_,                                                                             \
        .variable_count = sizeof variables_ / sizeof variables_[0],                                          \
        __VA_ARGS__}

LEASE_VERB(
    claim, claim_options, cli__cluster_variables, .name = "lease claim",
    .summary = "lease any free shard of a run",
    .description =
        "Prints the shard with its range, cursor, status, parent, split-off shards, fence and deadline, the "
        "number of other free shards, and the lease, which the other lease verbs take as --lease. If no shard "
        "is free, the error says when the next lease ends.",
    .run = run_claim);
LEASE_VERB(acquire, acquire_options, cli__cluster_variables, .name = "lease acquire",
           .summary = "lease one shard", .description = "Like 'lease claim', but for a particular shard.",
           .run = run_acquire);
LEASE_VERB(renew, renew_options, cli__lease_variables, .name = "lease renew", .summary = "extend a lease",
           .description = "Prints the lease with its new deadline. An expired lease cannot be renewed.",
           .run = run_renew);
LEASE_VERB(checkpoint, cursor_options, cli__lease_variables, .name = "lease checkpoint",
           .summary = "move a shard's cursor forward",
           .description =
               "The next worker that acquires the shard continues at the cursor. The cursor never goes back.",
           .run = run_checkpoint);
LEASE_VERB(complete, cursor_options, cli__lease_variables, .name = "lease complete",
           .summary = "end a shard as done",
           .description = "Ends the shard as done, with the last key "
                          "that was reached.",
           .run = run_complete);
LEASE_VERB(park, park_options, cli__lease_variables, .name = "lease park",
           .summary = "set a shard aside until it is unparked",
           .description = "No worker can claim the shard until 'shard unpark'.", .run = run_park);
LEASE_VERB(release, release_options, cli__lease_variables, .name = "lease release",
           .summary = "return a lease "
                      "before it ends",
           .description =
               "After this any worker can claim the shard at once. The attempt counts against the limit "
               "of the run, unless --blame is Nobody or a checkpoint was made.",
           .run = run_release);
LEASE_VERB(
    split_replace, replace_options, cli__lease_variables, .name = "lease split-replace",
    .summary = "replace a shard by several that cover its range",
    .description = "The children must cover the shard's range exactly, in order, without gap or overlap.",
    .run = run_split_replace);
LEASE_VERB(split_residual, residual_options, cli__lease_variables, .name = "lease split-residual",
           .summary = "split off the second part of a shard's range",
           .description = "The shard keeps the keys before --at; a new shard gets the rest.",
           .run = run_split_residual);
