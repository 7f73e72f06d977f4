/*
 * turnstone run show and watch: the progress of a run.
 */
#include "complain.h"
#include "coord_verb.h"
#include "verbs.h"

#include "base/bytes.h"
#include "os/out_json.h"

#include <string.h>
#include <time.h>

enum { SHOW_RUN = COORD_OPTIONS, SHOW_INTERVAL };
enum { BAR_WIDTH = 50, WATCH_INTERVAL_DEFAULT_MS = 2000, LISTED_MAX = 10 };

/* The state of a run at one moment. */
struct picture {
    struct ts_run_record run;
    struct ts_run_progress progress;
    struct ts_logical_time now;
    uint64_t total;
    uint64_t free;
    size_t stuck_count; /* listed ones */
    struct ts_shard_id stuck[LISTED_MAX];
    uint64_t damaged;
    struct ts_shard_id damaged_shards[LISTED_MAX]; /* the first of them */
};

static struct ts_bytes watermark_of(const struct ts_run_progress *progress) {
    return ts_fixed_buf_read(&progress->watermark);
}

static bool note_shard(void *context, const struct ts_coord_shard_view *shard) {
    static const struct ts_shard_filter stuck = {.only_struggling = true};
    struct picture *picture = context;
    ts_run_progress_add(&picture->progress, shard->record, shard->now);
    if (picture->now.ms == 0)
        picture->now = shard->now;
    if (picture->stuck_count < LISTED_MAX && ts_shard_filter_matches(&stuck, shard->record, shard->now))
        picture->stuck[picture->stuck_count++] = shard->record->key.shard;
    return true;
}

static bool note_damaged(void *context, struct ts_shard_key shard, const struct ts_infra_error *reason) {
    (void)reason;
    struct picture *picture = context;
    if (picture->damaged < LISTED_MAX)
        picture->damaged_shards[picture->damaged] = shard.shard;
    picture->damaged++;
    return true;
}

static enum ts_get_run_error read_picture(struct cli_coord *coord, struct ts_run_id run,
                                          struct picture *ret_picture, struct ts_coord_detail *ret_detail) {
    const struct ts_coord_shard_query query = {.run = {.tenant = coord->tenant, .run = run},
                                               .damaged = note_damaged};
    ret_picture->stuck_count = 0;
    ret_picture->damaged = 0;
    ret_picture->now = (struct ts_logical_time){0};
    ts_run_progress_clear(&ret_picture->progress);
    enum ts_get_run_error error = ts_coord_get_run(coord->coord, &query.run, &ret_picture->run, ret_detail);
    if (error == TS_GET_RUN_OK)
        error = ts_coord_list_shards(coord->coord, &query, note_shard, ret_picture, ret_detail);
    if (error == TS_GET_RUN_OK) {
        const struct ts_shard_counts *counts = &ret_picture->progress.counts;
        ret_picture->total =
            counts->active + counts->done + counts->split + counts->parked + ret_picture->damaged;
        ret_picture->free = counts->active - ret_picture->progress.leased - ret_picture->progress.expired;
    }
    return error;
}

static void put_config(struct cli_coord *coord, const struct ts_run_config *config) {
    cli__member_number(coord, "lease_ms", config->lease_duration_ms);
    cli__member_number(coord, "attempts", config->attempts);
    cli__member_number(coord, "cooldown_ms", config->cooldown_ms);
    cli__member_text(coord, "semantics", ts_cursor_semantics_name(config->semantics));
    cli__member_number(coord, "shard_max", config->shard_max);
}

static void put_ids(struct cli_coord *coord, const char *name, const struct ts_shard_id *ids, size_t count) {
    cli__member(coord, name);
    ts_out_put_char(coord->out, '[');
    for (size_t i = 0; i < count; i++) {
        ts_out_put_cstring(coord->out, ts_json_separator(i, ","));
        ts_out_put_u64(coord->out, ids[i].v);
    }
    ts_out_put_char(coord->out, ']');
}

static size_t damaged_listed(const struct picture *picture) {
    return picture->damaged < LISTED_MAX ? (size_t)picture->damaged : LISTED_MAX;
}

/* Everything possible is done, and some shards could not be done. */
static bool has_failures(const struct picture *picture) {
    return picture->progress.counts.active == 0 && picture->progress.counts.parked > 0;
}

static void print_json(struct cli_coord *coord, const struct picture *picture) {
    const struct ts_run_progress *progress = &picture->progress;
    cli__object_begin(coord);
    cli__member_number(coord, "run", picture->run.run.v);
    cli__member_number(coord, "number", picture->run.number);
    cli__member_text(coord, "status", ts_run_status_name(picture->run.status));
    cli__member_bool(coord, "with_failures", has_failures(picture));
    cli__member_number(coord, "registered", picture->run.registered);
    cli__member_number(coord, "created_at", picture->run.created_at.ms);
    if (picture->run.ended_at.ms != 0)
        cli__member_number(coord, "ended_at", picture->run.ended_at.ms);
    put_config(coord, &picture->run.config);
    cli__member_number(coord, "shards", picture->total);
    cli__member_number(coord, "active", progress->counts.active);
    cli__member_number(coord, "done", progress->counts.done);
    cli__member_number(coord, "split", progress->counts.split);
    cli__member_number(coord, "parked", progress->counts.parked);
    cli__member_number(coord, "free", picture->free);
    cli__member_number(coord, "leased", progress->leased);
    cli__member_number(coord, "expired", progress->expired);
    cli__member_number(coord, "stuck", progress->struggling);
    put_ids(coord, "stuck_shards", picture->stuck, picture->stuck_count);
    cli__member_number(coord, "damaged", picture->damaged);
    put_ids(coord, "damaged_shards", picture->damaged_shards, damaged_listed(picture));
    if (progress->has_oldest_lease)
        cli__member_number(coord, "oldest_lease", progress->oldest_lease.ms);
    else
        cli__member_null(coord, "oldest_lease");
    if (progress->has_watermark)
        cli__member_key(coord, "watermark", watermark_of(progress));
    else
        cli__member_null(coord, "watermark");
    cli__object_end(coord);
}

/* Each state gets its share of the bar; a state with shards gets at least one place. */
static void put_bar(struct cli_coord *coord, const struct picture *picture) {
    const struct ts_shard_counts *counts = &picture->progress.counts;
    const struct {
        char drawn;
        uint64_t count;
    } parts[] = {{'#', counts->done},
                 {'+', counts->split},
                 {'!', counts->parked},
                 {'=', picture->progress.leased},
                 {'~', picture->progress.expired},
                 {'.', picture->free}};
    char bar[BAR_WIDTH + 1];
    size_t used = 0;
    uint64_t before = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        before += parts[i].count;
        size_t until = picture->total ? (size_t)(before * BAR_WIDTH / picture->total) : 0;
        if (parts[i].count > 0 && until == used && used < BAR_WIDTH)
            until = used + 1;
        while (used < until)
            bar[used++] = parts[i].drawn;
    }
    bar[used] = '\0';
    cli__say(coord, "  [%-*s]\n", BAR_WIDTH, bar);
}

static void print_text(struct cli_coord *coord, const struct picture *picture) {
    const struct ts_run_progress *progress = &picture->progress;
    cli__say(coord, "run %llu: %s%s, %llu %s, number %llu of its tenant\n",
             (unsigned long long)picture->run.run.v, ts_run_status_name(picture->run.status),
             has_failures(picture) ? ", with failures" : "", (unsigned long long)picture->total,
             picture->total == 1 ? "shard" : "shards", (unsigned long long)picture->run.number);
    if (picture->total > 0)
        put_bar(coord, picture);
    cli__say(
        coord,
        "  done %llu (#), split %llu (+), parked %llu (!), leased %llu (=), expired %llu (~), free %llu (.)\n",
        (unsigned long long)progress->counts.done, (unsigned long long)progress->counts.split,
        (unsigned long long)progress->counts.parked, (unsigned long long)progress->leased,
        (unsigned long long)progress->expired, (unsigned long long)picture->free);
    if (progress->has_oldest_lease && progress->oldest_lease.ms > picture->now.ms)
        cli__say(coord, "  oldest lease: ends in %s\n",
                 cli__show_ms(progress->oldest_lease.ms - picture->now.ms).text);
    if (progress->struggling > 0) {
        cli__say(coord, "  stuck: %llu, acquired more than once without progress:",
                 (unsigned long long)progress->struggling);
        for (size_t i = 0; i < picture->stuck_count; i++)
            cli__say(coord, " %llu", (unsigned long long)picture->stuck[i].v);
        cli__say(coord, progress->struggling > picture->stuck_count ? " …\n" : "\n");
    }
    if (picture->damaged > 0) {
        cli__say(coord,
                 "  damaged: %llu, whose records cannot be read:", (unsigned long long)picture->damaged);
        for (size_t i = 0; i < damaged_listed(picture); i++)
            cli__say(coord, " %llu", (unsigned long long)picture->damaged_shards[i].v);
        cli__say(coord, picture->damaged > damaged_listed(picture) ? " …\n" : "\n");
    }
    if (progress->has_watermark)
        cli__say(coord, "  watermark: %s\n", cli__show_key(watermark_of(progress)).text);
}

static void print_picture(struct cli_coord *coord, const struct picture *picture) {
    if (coord->json)
        print_json(coord, picture);
    else
        print_text(coord, picture);
}

static enum cli_exit run_show(const struct cli_arguments *arguments) {
    struct ts_run_id run;
    struct cli_coord coord;
    enum cli_exit status = cli__number_required("run show", arguments, SHOW_RUN, "run", &run.v);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open("run show", arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    static struct picture picture;
    struct ts_coord_detail detail = {0};
    enum ts_get_run_error error = read_picture(&coord, run, &picture, &detail);
    if (error != TS_GET_RUN_OK)
        status = cli__coord_refuse(&coord, ts_get_run_error_variant(error), &detail);
    else
        print_picture(&coord, &picture);
    if (error == TS_GET_RUN_OK && picture.damaged > 0)
        status = cli__complain_damaged(&coord, picture.damaged);
    return cli__coord_close(&coord, status);
}

/* Returns whether the output would be the same. */
static bool looks_the_same(const struct picture *a, const struct picture *b) {
    return a->run.status == b->run.status && a->progress.leased == b->progress.leased &&
           a->progress.expired == b->progress.expired && a->damaged == b->damaged &&
           a->progress.struggling == b->progress.struggling &&
           memcmp(&a->progress.counts, &b->progress.counts, sizeof a->progress.counts) == 0 &&
           a->progress.has_watermark == b->progress.has_watermark &&
           ts_bytes_equal(watermark_of(&a->progress), watermark_of(&b->progress));
}

/* There is nothing more to watch: the run has ended, or all its shards have. */
static bool is_over(const struct picture *picture) {
    return ts_run_status_is_terminal(picture->run.status) ||
           (picture->total > 0 && picture->progress.counts.active == 0);
}

static enum cli_exit watch(struct cli_coord *coord, struct ts_run_id run, uint64_t interval_ms) {
    static struct picture pictures[2];
    struct ts_coord_detail detail = {0};
    for (unsigned turn = 0;; turn++) {
        struct picture *picture = &pictures[turn % 2];
        enum ts_get_run_error error = read_picture(coord, run, picture, &detail);
        if (error != TS_GET_RUN_OK)
            return cli__coord_refuse(coord, ts_get_run_error_variant(error), &detail);
        if (turn == 0 || !looks_the_same(picture, &pictures[(turn + 1) % 2]))
            print_picture(coord, picture);
        /* Ends when the reader is gone. */
        if (!ts_out_flush(coord->out) || is_over(picture))
            return picture->damaged > 0 ? cli__complain_damaged(coord, picture->damaged) : CLI_EXIT_DONE;
        const struct timespec pause = {.tv_sec = (time_t)(interval_ms / 1000),
                                       .tv_nsec = (long)(interval_ms % 1000) * 1000000};
        (void)nanosleep(&pause, NULL);
    }
}

static enum cli_exit run_watch(const struct cli_arguments *arguments) {
    static const char verb[] = "run watch";
    struct ts_run_id run;
    uint64_t interval_ms = WATCH_INTERVAL_DEFAULT_MS;
    struct cli_coord coord;
    enum cli_exit status = cli__number_required(verb, arguments, SHOW_RUN, "run", &run.v);
    if (status == CLI_EXIT_DONE)
        status = cli__number_optional(verb, arguments, SHOW_INTERVAL, "interval-ms", &interval_ms);
    if (status == CLI_EXIT_DONE && (interval_ms < 10 || interval_ms > 3600000))
        status = cli__complain(CLI_EXIT_USAGE, "%s: --interval-ms must be from 10 to 3600000", verb);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    return cli__coord_close(&coord, watch(&coord, run, interval_ms));
}

static const struct cli_option show_options[] = {
    CLI_COORD_OPTIONS,
    [SHOW_RUN] = CLI_RUN_OPTION,
};

static const struct cli_option watch_options[] = {
    CLI_COORD_OPTIONS,
    [SHOW_RUN] = CLI_RUN_OPTION,
    [SHOW_INTERVAL] = {.name = "interval-ms",
                       .argument = "N",
                       .help = "how often to look, 10 to 3600000 (default: 2000)"},
};

const struct cli_verb cli__verb_run_show = {
    .name = "run show",
    .summary = "show the progress of a run",
    .description =
        "Shows the number of shards in each state, the lease that ends first, shards that are acquired "
        "again and again without progress, and the watermark: the lowest key that an active shard has "
        "reached. Reads every shard of the run; if one is damaged, the exit status is 6. After the end of "
        "a run its shards keep their last state, and nobody can work on them.",
    .options = show_options,
    .option_count = sizeof show_options / sizeof show_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_show,
};

const struct cli_verb cli__verb_run_watch = {
    .name = "run watch",
    .summary = "show the progress of a run, and again after each change",
    .description =
        "Ends when the run or all its shards have ended. Other processes can work on the run at the same "
        "time only on PostgreSQL: one process at a time can open a RocksDB directory.",
    .options = watch_options,
    .option_count = sizeof watch_options / sizeof watch_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_watch,
};
