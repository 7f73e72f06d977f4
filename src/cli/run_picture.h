/*
 * The state of a run at one moment, for people: how many shards are in which state, the targets that people ask
 * about (in progress, stuck, waiting, parked) with their names, and what the run has found.
 */
#ifndef TS_CLI_RUN_PICTURE_H
#define TS_CLI_RUN_PICTURE_H

#include "coord_verb.h"

#include "os/arena.h"
#include "runtime/core/fleet_decision.h"
#include "runtime/core/target.h"
#include "runtime/durable/diff.h"

/* CLI_NAMED_MAX: the maximum number of items of each kind that get a name. CLI_IDS_MAX: the maximum number of
 * listed ids of stuck shards, and of damaged shards. */
enum { CLI_NAMED_MAX = 1000, CLI_IDS_MAX = 10 };

/* A shard that people ask about. */
struct cli_item {
    struct ts_shard_id shard;
    bool is_target; /* false: a shard of another kind, which has no name */
    struct ts_target_id target;
    bool is_leased;
    bool is_stuck; /* the shard was acquired more than once without progress, and has not ended */
    bool is_parked;
    enum ts_park_reason park_reason;
    uint64_t fence;
    uint32_t attempts;
    struct ts_worker_id worker;
    uint64_t left_ms;        /* time until the end of the lease */
    uint32_t parts;          /* number of stored parts, over all leases */
    uint64_t since_ms;       /* when this lease was seen first, by the clock of the store */
    struct ts_bytes address; /* address of the target; empty: no name */
    struct ts_bytes label;   /* label of the last trouble; empty: no trouble */
    uint64_t troubles;       /* how often the shard was parked or handed back */
    /* The last troubles, the newest first; NULL: there are none, or memory has run out. */
    const struct ts_fleet_decisions *decisions;
};

struct cli_items {
    struct cli_item *list;
    size_t count, capacity;
    uint64_t total; /* number of items, including those that are not listed */
};

struct cli_picture {
    struct ts_run_record run;
    struct ts_run_progress progress;
    struct ts_logical_time now;
    uint64_t total;
    uint64_t free;
    uint64_t digest; /* changes when a shard changes its state or its owner */
    bool is_of_targets;
    size_t stuck_count; /* number of ids in `stuck` */
    struct ts_shard_id stuck[CLI_IDS_MAX];
    uint64_t damaged;
    struct ts_shard_id damaged_shards[CLI_IDS_MAX]; /* ids of the first damaged shards */
    struct cli_items busy, struggling, parked;
    struct cli_items waiting; /* free shards that a worker has handed back because of a problem */
    uint64_t workers;         /* number of processes that hold leases */
    struct ts_diff_sums changes;
    struct ts_arena arena;
};

/* Reads the picture of a run. `before`, which may be NULL, is the last picture of the same run. It shows
 * since when leases are held. On failure prints the reason, and returns the exit status. */
enum cli_exit cli__picture_read(struct cli_coord *coord, struct ts_run_id run,
                                const struct cli_picture *before, struct cli_picture *picture);
void cli__picture_release(struct cli_picture *picture);

/* Returns whether no shard is active, but some shards are parked. */
bool cli__picture_has_failures(const struct cli_picture *picture);

/* Returns the number of shards that have ended: done, split or parked. */
uint64_t cli__picture_ended(const struct cli_picture *picture);

/* Draws a bar in which each state has a width in proportion to its shards. A state with shards has at least
 * one character. `bar` has room for width + 1 characters. */
void cli__picture_bar(const struct cli_picture *picture, size_t width, char *bar);

/* The name of a worker process: the name of a worker without the number of its job. */
struct cli_worker_name {
    char text[TS_NAME_ID_LEN + 1];
};
struct cli_worker_name cli__worker_process(const struct ts_worker_id *worker, bool is_of_targets);

/* Returns a sentence that says why the shard was parked, or what happened last; empty if nothing is known. */
const char *cli__item_reason(const struct cli_item *item);

/* Returns how long the reason of the last decision has lasted without another reason in between, as far as
 * decisions are stored; 0: unknown. */
uint64_t cli__item_troubled_ms(const struct cli_item *item, struct ts_logical_time now);

/* The reason, and for how long it has held up the shard: "the host limits …, for 12 min". */
struct cli_item_about {
    char text[256];
};
struct cli_item_about cli__item_about(const struct cli_item *item, struct ts_logical_time now);

/* Writes the members of the JSON object of a picture. If with_log is true, writes the last decisions about
 * stuck, waiting and parked targets, too. */
void cli__picture_members(struct cli_coord *coord, const struct cli_picture *picture, bool with_log);

#endif
