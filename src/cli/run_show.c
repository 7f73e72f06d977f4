/*
 * turnstone run show: prints the progress of a run.
 */
#include "complain.h"
#include "output.h"
#include "run_picture.h"
#include "verbs.h"

#include "base/hex.h"

enum { SHOW_RUN = COORD_OPTIONS, SHOW_LOG };
enum { BAR_WIDTH = 50 };
enum { WAITING_MAX = 10 }; /* maximum number of waiting targets that are listed without --log */

static void print_json(struct cli_coord *coord, const struct cli_picture *picture, bool with_log) {
    cli__object_begin(coord);
    cli__picture_members(coord, picture, with_log);
    cli__object_end(coord);
}

static void say_name(struct cli_coord *coord, const struct cli_item *item) {
    if (item->address.len > 0)
        cli__put_escaped(coord->out, item->address);
    else
        cli__say(coord, "shard %llu", (unsigned long long)item->shard.v);
}

static void say_log(struct cli_coord *coord, const struct cli_item *item) {
    for (size_t i = 0; item->decisions != NULL && i < item->decisions->count; i++) {
        const struct ts_fleet_decision *decision = &item->decisions->list[i];
        cli__say(coord, "      %s  %s by ", cli__show_moment(decision->at_ms).text,
                 decision->is_parked ? "parked" : "handed back");
        cli__put_escaped(coord->out, decision->worker);
        cli__say(coord, ": ");
        cli__put_escaped(coord->out, decision->reason);
        cli__say(coord, "\n");
    }
    const uint64_t shown = item->decisions != NULL ? item->decisions->count : 0;
    if (item->troubles > shown)
        cli__say(coord, "      and %llu before\n", (unsigned long long)(item->troubles - shown));
}

/* Prints the items that are targets, each on a line with its reason. If `unparks` is not NULL, also prints
 * the command that unparks the item in this run. */
static void say_items(struct cli_coord *coord, const struct cli_items *items, struct ts_logical_time now,
                      bool with_log, const struct ts_run_id *unparks) {
    for (size_t i = 0; i < items->count; i++) {
        const struct cli_item *item = &items->list[i];
        if (!item->is_target)
            continue;
        cli__say(coord, "    ");
        say_name(coord, item);
        const struct cli_item_about about = cli__item_about(item, now);
        const char *reason = item->is_parked ? cli__item_reason(item) : about.text;
        if (reason[0] != '\0')
            cli__say(coord, ": %s", reason);
        if (item->is_parked && item->troubles > 1)
            cli__say(coord, " (after %llu tries)", (unsigned long long)item->troubles);
        cli__say(coord, "\n");
        if (with_log)
            say_log(coord, item);
        if (unparks != NULL)
            cli__say(coord, "      turnstone shard unpark --run %llu --shard %llu\n",
                     (unsigned long long)unparks->v, (unsigned long long)item->shard.v);
    }
    if (items->count > 0 && items->list[0].is_target && items->total > items->count)
        cli__say(coord, "    and %llu more; 'shard list' shows all\n",
                 (unsigned long long)(items->total - items->count));
}

static void say_ids(struct cli_coord *coord, const struct ts_shard_id *ids, size_t count, uint64_t total) {
    for (size_t i = 0; i < count; i++)
        cli__say(coord, " %llu", (unsigned long long)ids[i].v);
    cli__say(coord, total > count ? " …\n" : "\n");
}

static void say_head(struct cli_coord *coord, const struct cli_picture *picture) {
    cli__say(coord, "run %llu: %s%s, %llu %s, number %llu of its tenant\n",
             (unsigned long long)picture->run.run.v, ts_run_status_name(picture->run.status),
             cli__picture_has_failures(picture) ? ", with failures" : "", (unsigned long long)picture->total,
             picture->total == 1 ? "shard" : "shards", (unsigned long long)picture->run.number);
    if (ts_pin_is_set(&picture->run.config.pin)) {
        char pin[2 * TS_PIN_LEN + 1];
        *ts_hex_encode(ts_bytes_of(picture->run.config.pin.b, TS_PIN_LEN), pin) = '\0';
        cli__say(coord, "  pinned to %s\n", pin);
    }
    if (picture->run.status == TS_RUN_INITIALIZING && picture->run.announced.count > 0)
        cli__say(
            coord,
            "  %llu of %llu shards are registered; repeat the command that creates the run, or cancel the run\n",
            (unsigned long long)picture->run.registered, (unsigned long long)picture->run.announced.count);
}

static void say_counts(struct cli_coord *coord, const struct cli_picture *picture) {
    const struct ts_run_progress *progress = &picture->progress;
    char bar[BAR_WIDTH + 1];
    cli__picture_bar(picture, BAR_WIDTH, bar);
    if (picture->total > 0)
        cli__say(coord, "  [%-*s]\n", BAR_WIDTH, bar);
    cli__say(
        coord,
        "  done %llu (#), split %llu (+), parked %llu (!), leased %llu (=), expired %llu (~), free %llu (.)\n",
        (unsigned long long)progress->counts.done, (unsigned long long)progress->counts.split,
        (unsigned long long)progress->counts.parked, (unsigned long long)progress->leased,
        (unsigned long long)progress->expired, (unsigned long long)picture->free);
    if (picture->changes.targets > 0)
        cli__say(coord, "  findings: %llu came, %llu went, in %llu %s\n",
                 (unsigned long long)picture->changes.came, (unsigned long long)picture->changes.went,
                 (unsigned long long)picture->changes.targets,
                 picture->changes.targets == 1 ? "target" : "targets");
}

static void print_text(struct cli_coord *coord, const struct cli_picture *picture, bool with_log) {
    const struct ts_run_progress *progress = &picture->progress;
    say_head(coord, picture);
    say_counts(coord, picture);
    if (progress->has_oldest_lease && progress->oldest_lease.ms > picture->now.ms)
        cli__say(coord, "  oldest lease: ends in %s\n",
                 cli__show_ms(progress->oldest_lease.ms - picture->now.ms).text);
    if (progress->struggling > 0) {
        cli__say(coord, "  stuck: %llu, acquired more than once without progress:",
                 (unsigned long long)progress->struggling);
        say_ids(coord, picture->stuck, picture->stuck_count, progress->struggling);
        say_items(coord, &picture->struggling, picture->now, with_log, NULL);
    }
    if (picture->waiting.total > 0) {
        struct cli_items waiting = picture->waiting;
        if (!with_log && waiting.count > WAITING_MAX)
            waiting.count = WAITING_MAX;
        cli__say(coord, "  waiting for another try: %llu\n", (unsigned long long)waiting.total);
        say_items(coord, &waiting, picture->now, with_log, NULL);
    }
    if (picture->parked.count > 0 && picture->is_of_targets) {
        const bool is_active = picture->run.status == TS_RUN_ACTIVE;
        cli__say(coord, "  parked: %llu; %s\n", (unsigned long long)progress->counts.parked,
                 is_active ? "fix the cause, then let a worker try again"
                           : "a later run of the same targets tries them again");
        say_items(coord, &picture->parked, picture->now, with_log, is_active ? &picture->run.run : NULL);
    }
    if (picture->damaged > 0) {
        cli__say(coord,
                 "  damaged: %llu, whose records cannot be read:", (unsigned long long)picture->damaged);
        say_ids(coord, picture->damaged_shards,
                picture->damaged < CLI_IDS_MAX ? (size_t)picture->damaged : CLI_IDS_MAX, picture->damaged);
    }
    if (progress->has_watermark)
        cli__say(coord, "  watermark: %s\n", cli__show_key(ts_fixed_buf_read(&progress->watermark)).text);
}

static enum cli_exit run_show(const struct cli_arguments *arguments) {
    struct ts_run_id run;
    struct cli_coord coord;
    enum cli_exit status = cli__number_required("run show", arguments, SHOW_RUN, "run", &run.v);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open("run show", arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    static struct cli_picture picture;
    status = cli__picture_read(&coord, run, NULL, &picture);
    if (status == CLI_EXIT_DONE && coord.json)
        print_json(&coord, &picture, arguments->values[SHOW_LOG] != NULL);
    else if (status == CLI_EXIT_DONE)
        print_text(&coord, &picture, arguments->values[SHOW_LOG] != NULL);
    if (status == CLI_EXIT_DONE && picture.damaged > 0)
        status = cli__complain_damaged(&coord, picture.damaged);
    cli__picture_release(&picture);
    return cli__coord_close(&coord, status);
}

static const struct cli_option show_options[] = {
    CLI_COORD_OPTIONS,
    [SHOW_RUN] = CLI_RUN_OPTION,
    [SHOW_LOG] = {.name = "log",
                  .help = "also list when stuck and parked targets were parked or handed back, and why"},
};

const struct cli_verb cli__verb_run_show = {
    .name = "run show",
    .summary = "show the progress of a run",
    .description =
        "Shows the number of shards in each state, the lease that ends first, shards that were acquired "
        "repeatedly without progress, and the watermark: the lowest key that an active shard has reached. "
        "For a run of targets, also shows how many findings came and went, and the addresses of stuck, "
        "waiting and parked targets with the reasons. While the run is active, also shows the commands that unpark them. Reads every "
        "shard of the run; if one is damaged, the exit status is 6. After the end of a run its "
        "shards keep their last state, and no worker can claim them.",
    .options = show_options,
    .option_count = sizeof show_options / sizeof show_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_show,
};
