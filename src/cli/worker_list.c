/*
 * turnstone worker list: prints which processes hold leases, and of which targets.
 */
#include "complain.h"
#include "output.h"
#include "run_picture.h"
#include "verbs.h"

#include "os/grow.h"
#include "os/out_json.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_RUN = COORD_OPTIONS };

/* A row of the list: one lease. The texts of the row are in the arena of the listing. */
struct held {
    struct cli_worker_name process;
    struct ts_run_id run;
    struct cli_item item;
};

struct listing {
    struct ts_run_id *runs; /* ids of active runs */
    size_t run_count, run_capacity;
    struct held *held;
    size_t count, capacity;
    struct ts_arena arena;
    bool no_memory;
};

static bool note_run(void *context, const struct ts_run_record *run) {
    struct listing *listing = context;
    if (!TS_GROW(listing->runs, listing->run_capacity, listing->run_count + 1)) {
        listing->no_memory = true;
        return false;
    }
    listing->runs[listing->run_count++] = run->run;
    return true;
}

static void take(struct listing *listing, const struct cli_picture *picture) {
    for (size_t i = 0; i < picture->busy.count && !listing->no_memory; i++) {
        struct held held = {.run = picture->run.run, .item = picture->busy.list[i]};
        const char *address = ts_arena_copy(&listing->arena, held.item.address);
        listing->no_memory =
            address == NULL || !TS_GROW(listing->held, listing->capacity, listing->count + 1);
        if (listing->no_memory)
            return;
        held.item.address = ts_bytes_of(address, held.item.address.len);
        held.process = cli__worker_process(&held.item.worker, held.item.is_target);
        listing->held[listing->count++] = held;
    }
}

static int compare(const void *a, const void *b) {
    const struct held *one = a, *other = b;
    const int order = strcmp(one->process.text, other->process.text);
    if (order != 0)
        return order;
    const int job = memcmp(one->item.worker.b, other->item.worker.b, sizeof one->item.worker.b);
    return job != 0 ? job
                    : (one->item.shard.v > other->item.shard.v) - (one->item.shard.v < other->item.shard.v);
}

static void print_json(struct cli_coord *coord, const struct held *held) {
    cli__object_begin(coord);
    cli__member_text(coord, "worker", held->process.text);
    cli__member(coord, "job");
    ts_out_put_json(coord->out, ts_bytes_of(held->item.worker.b, strnlen((const char *)held->item.worker.b,
                                                                         sizeof held->item.worker.b)));
    cli__member_number(coord, "run", held->run.v);
    cli__member_number(coord, "shard", held->item.shard.v);
    if (held->item.is_target) {
        cli__member(coord, "address");
        ts_out_put_json(coord->out, held->item.address);
        cli__member_number(coord, "parts", held->item.parts);
    }
    cli__member_number(coord, "left_ms", held->item.left_ms);
    cli__object_end(coord);
}

/* Prints one lease. Before the first lease of a process, prints the name of the process. */
static void print_text(struct cli_coord *coord, const struct held *held, const struct held *before) {
    if (before == NULL || strcmp(held->process.text, before->process.text) != 0) {
        cli__put_escaped(coord->out, ts_bytes_of_cstring(held->process.text));
        cli__say(coord, "\n");
    }
    cli__say(coord, "  run %llu  lease %s  ", (unsigned long long)held->run.v,
             cli__show_ms(held->item.left_ms).text);
    if (held->item.address.len > 0)
        cli__put_escaped(coord->out, held->item.address);
    else
        cli__say(coord, "shard %llu", (unsigned long long)held->item.shard.v);
    if (held->item.parts > 0)
        cli__say(coord, "  %u %s", held->item.parts, held->item.parts == 1 ? "part" : "parts");
    cli__say(coord, "\n");
}

static enum cli_exit list(struct cli_coord *coord, struct listing *listing) {
    for (size_t i = 0; i < listing->run_count && !listing->no_memory; i++) {
        static struct cli_picture picture;
        const enum cli_exit status = cli__picture_read(coord, listing->runs[i], NULL, &picture);
        if (status == CLI_EXIT_DONE)
            take(listing, &picture);
        cli__picture_release(&picture);
        picture = (struct cli_picture){.total = 0};
        if (status != CLI_EXIT_DONE)
            return status;
    }
    if (listing->no_memory)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: out of memory", coord->verb);
    if (listing->count > 0)
        qsort(listing->held, listing->count, sizeof *listing->held, compare);
    for (size_t i = 0; i < listing->count; i++) {
        if (coord->json)
            print_json(coord, &listing->held[i]);
        else
            print_text(coord, &listing->held[i], i > 0 ? &listing->held[i - 1] : NULL);
    }
    if (listing->count == 0 && !coord->json)
        cli__say(coord, "no worker holds a lease\n");
    return CLI_EXIT_DONE;
}

static enum cli_exit run_list(const struct cli_arguments *arguments) {
    static const char verb[] = "worker list";
    struct listing listing = {0};
    struct cli_coord coord;
    struct ts_run_id run;
    enum cli_exit status = cli__number_optional(verb, arguments, LIST_RUN, "run", &run.v);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    const struct ts_coord_runs_query query = {
        .filter = {.tenant = coord.tenant, .by_status = true, .status = TS_RUN_ACTIVE}};
    struct ts_coord_detail detail = {0};
    if (arguments->values[LIST_RUN] != NULL) {
        const struct ts_run_record only = {.run = run};
        (void)note_run(&listing, &only);
    } else {
        const enum ts_get_run_error error =
            ts_coord_list_runs(coord.coord, &query, note_run, &listing, &detail);
        if (error != TS_GET_RUN_OK)
            status = cli__coord_refuse(&coord, ts_get_run_error_variant(error), &detail);
    }
    if (status == CLI_EXIT_DONE)
        status = list(&coord, &listing);
    free(listing.runs);
    free(listing.held);
    ts_arena_release(&listing.arena);
    return cli__coord_close(&coord, status);
}

static const struct cli_option list_options[] = {
    CLI_COORD_OPTIONS,
    [LIST_RUN] = {.name = "run", .argument = "ID", .help = "only this run (default: all active runs)"},
};

const struct cli_verb cli__verb_worker_list = {
    .name = "worker list",
    .summary = "list the workers that hold leases, and their targets",
    .description =
        "Lists the workers that hold leases, with the target of each job, its run, how long the lease is "
        "still valid without a renewal, and how many parts are stored. A worker that waits for work holds no "
        "lease, so it is not listed. A killed worker is listed until its leases expire.\n\n"
        "One process at a time can open a RocksDB directory, so this verb is useful only on PostgreSQL.",
    .options = list_options,
    .option_count = sizeof list_options / sizeof list_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_list,
};
