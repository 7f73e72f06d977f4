/*
 * Seeded worlds in which transactions want the same accounts of the same stores. Some transactions use the
 * stores {0, 1, 2}, some {1, 2}, and some {0, 2}. The seed decides the order of all events.
 *
 * The first attempt on three stores prepares in parallel and gives way: it waits for a lock for GIVE_WAY_MS
 * only. The second attempt, and every attempt on two stores, prepares in order and waits without a limit. So
 * there is no deadlock, which would stop the world, and no transaction needs a third attempt. A transaction
 * that takes its locks in order succeeds even while new transactions keep coming (no starvation).
 *
 * If one of these two rules is disabled, some seed leads to a world that stops.
 *
 *     txn_contention_sim_test                what `make check` runs
 *     txn_contention_sim_test --seeds N      the first N seeds
 */
#include "world.h"

#include "base/number.h"
#include "base/prng.h"

#include <stdio.h>

enum { SEEDS = 1500, SEEDS_WITHOUT = 2000, JOBS = 10, GIVE_WAY_MS = 20, STEPS_MAX = 20000 };

/* How attempts behave in a world. */
struct habits {
    bool first_gives_way;
    bool second_is_in_order;
};
static const struct habits sound = {true, true};

struct job {
    uint32_t places[MEMBERS];
    size_t count;
    unsigned attempts;
    bool under_way;
    bool committed;
    size_t txn; /* number of the transaction of the last attempt */
};

static struct world world;
static struct ts_prng prng;
static struct job jobs[JOBS];
static struct habits habits;

static size_t pick(size_t count) {
    return (size_t)ts_prng_below(&prng, count);
}

static void make_jobs(void) {
    static const struct {
        uint32_t places[MEMBERS]; /* the store with the lowest place decides */
        size_t count;
    } kinds[] = {{{0, 1, 2}, 3}, {{1, 2}, 2}, {{0, 2}, 2}, {{0, 1, 2}, 3}};
    for (size_t i = 0; i < JOBS; i++) {
        const size_t kind = pick(sizeof kinds / sizeof kinds[0]);
        jobs[i] = (struct job){.count = kinds[kind].count};
        memcpy(jobs[i].places, kinds[kind].places, sizeof jobs[i].places);
    }
}

static bool is_in_order(const struct job *job, unsigned attempts) {
    return job->count == 2 || (attempts > 1 && habits.second_is_in_order);
}

/* Begins an attempt of a job, which must have no attempt in progress. Returns false if there is no room. */
static bool begin(struct job *job) {
    const size_t from = pick(COORDINATORS);
    for (size_t i = 0; i < COORDINATORS; i++) {
        const size_t c = (from + i) % COORDINATORS;
        for (size_t r = 0; r < RUNS; r++) {
            if (world.coordinators[c].runs[r].used)
                continue;
            job->attempts++;
            world.in_order = is_in_order(job, job->attempts);
            job->txn = world.txn_count;
            (void)coordinator_begin(&world, c, job->places, job->count);
            job->under_way = true;
            return true;
        }
    }
    return false;
}

static bool begin_something(size_t among) {
    const size_t from = pick(among);
    for (size_t i = 0; i < among; i++) {
        struct job *job = &jobs[(from + i) % among];
        if (!job->under_way && !job->committed && world.txn_count < TXNS)
            return begin(job);
    }
    return false;
}

static bool send_something(void) {
    const size_t from = pick((size_t)COORDINATORS * RUNS);
    for (size_t i = 0; i < (size_t)COORDINATORS * RUNS; i++) {
        const size_t at = (from + i) % ((size_t)COORDINATORS * RUNS);
        struct message *message = coordinator_send(&world, at / RUNS, at % RUNS);
        if (message == NULL)
            continue;
        const bool in_order = world.coordinators[at / RUNS].runs[at % RUNS].run.options.in_order;
        if (message->wish == TXN__WISH_PREPARE && !in_order && habits.first_gives_way)
            message->call.lock_wait_max_us = (uint64_t)GIVE_WAY_MS * 1000;
        return true;
    }
    return false;
}

static bool move_something(enum message_state state) {
    const size_t from = pick(MESSAGES);
    for (size_t i = 0; i < MESSAGES; i++) {
        struct message *message = &world.messages[(from + i) % MESSAGES];
        if (message->state != state)
            continue;
        if (state == MESSAGE_FLYING)
            message_arrive(&world, message);
        else
            message_answer(&world, message);
        return true;
    }
    return false;
}

/* Polls all calls. Returns true if at least one of them has continued. */
static bool poll_all(void) {
    bool any = false;
    for (size_t i = 0; i < MESSAGES; i++) {
        const enum message_state before = world.messages[i].state;
        message_poll(&world.messages[i]);
        any = any || world.messages[i].state != before;
    }
    return any;
}

static bool let_time_pass(void) {
    world.now_ms += GIVE_WAY_MS + 1;
    return poll_all();
}

/* Handles the attempts that have ended. Returns NULL, or the violation. */
static const char *collect(void) {
    for (size_t i = 0; i < JOBS; i++) {
        struct job *job = &jobs[i];
        if (!job->under_way || !world.txns[job->txn].said_anything)
            continue;
        job->under_way = false;
        const enum ts_txn_outcome said = world.txns[job->txn].said;
        job->committed = said == TS_TXN_COMMITTED;
        if (!job->committed && said != TS_TXN_ABORTED)
            return "an attempt ended neither committed nor aborted";
        if (!job->committed && is_in_order(job, job->attempts))
            return "an attempt in order met a lock that it could not have";
    }
    return NULL;
}

/* Makes one of the possible events happen. Returns false if no event is possible. */
static bool step(size_t among) {
    const size_t first = pick(16);
    for (size_t i = 0; i < 5; i++) {
        bool moved = false;
        switch ((first + i) % 5) {
        case 0:
            moved = begin_something(among);
            break;
        case 1:
            moved = send_something();
            break;
        case 2:
            moved = move_something(MESSAGE_FLYING);
            break;
        case 3:
            moved = move_something(MESSAGE_REPLIED);
            break;
        case 4:
            moved = pick(8) == 0 && let_time_pass();
            break;
        }
        (void)poll_all();
        if (moved)
            return true;
    }
    return let_time_pass();
}

static bool all_committed(size_t among) {
    for (size_t i = 0; i < among; i++) {
        if (!jobs[i].committed)
            return false;
    }
    return true;
}

static void start_world(uint64_t seed, struct habits its_habits) {
    ts_prng_init(&prng, seed);
    habits = its_habits;
    world_init(&world, (struct txn__taken){0});
    for (size_t c = 0; c < COORDINATORS; c++)
        coordinator_start(&world, c);
    make_jobs();
}

static const char *finish(size_t among) {
    const char *what = NULL;
    for (int i = 0; i < STEPS_MAX && what == NULL && !all_committed(among); i++) {
        if (!step(among))
            return "everything stands still: a deadlock";
        what = collect();
    }
    if (what == NULL && !all_committed(among))
        what = "a transaction was never served";
    return what != NULL ? what : world_broken(&world, false);
}

static void end_world(void) {
    for (size_t i = 0; i < MESSAGES; i++) {
        if (world.messages[i].state == MESSAGE_WAITING)
            ts_store_cancel(&world.messages[i].call);
    }
    world_release(&world);
}

static const char *run_seed(uint64_t seed, struct habits its_habits) {
    start_world(seed, its_habits);
    const char *what = finish(JOBS);
    end_world();
    return what;
}

/*
 * The last job takes its locks in order, on all stores. Three other jobs are newcomers that start again
 * whenever they have committed. The last job must succeed before the newcomers have used all room for
 * transactions. Returns NULL, or the violation.
 */
static const char *starve(uint64_t seed) {
    start_world(seed, sound);
    struct job *victim = &jobs[JOBS - 1];
    *victim = (struct job){.places = {0, 1, 2}, .count = 3, .attempts = 1};
    /* Some newcomers begin before the last job. */
    for (int i = 0; i < 20; i++)
        (void)step(3);
    const char *what = collect();
    if (what == NULL && !begin(victim))
        what = "no room for the one that waits";
    while (what == NULL && !victim->committed && world.txn_count < TXNS) {
        if (!step(3))
            what = "everything stands still: a deadlock";
        else
            what = collect();
        for (size_t i = 0; i < 3; i++) {
            if (jobs[i].committed)
                jobs[i] = (struct job){.places = {0, 1, 2}, .count = 3};
        }
    }
    if (what == NULL && !victim->committed)
        what = "newcomers kept one from its locks";
    end_world();
    return what;
}

static bool seeds_hold(uint64_t count) {
    for (uint64_t seed = 0; seed < count; seed++) {
        const char *what = run_seed(seed, sound);
        if (what == NULL)
            what = starve(seed);
        if (what == NULL)
            continue;
        printf("not ok - seed %llu: %s\n", (unsigned long long)seed, what);
        return false;
    }
    return true;
}

/* Returns whether some seed shows a violation without the rule of this name, as it must. */
static bool is_needed(const char *name, struct habits without) {
    for (uint64_t seed = 0; seed < SEEDS_WITHOUT; seed++) {
        if (run_seed(seed, without) != NULL)
            return true;
    }
    printf("not ok - %s: no seed shows what it is for\n", name);
    return false;
}

int main(int argc, char **argv) {
    uint64_t count = SEEDS;
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0 &&
        ts_u64_parse(ts_bytes_of_cstring(argv[2]), &count) != TS_NUMBER_OK) {
        fprintf(stderr, "%s: not a number\n", argv[2]);
        return 2;
    }
    const bool held = seeds_hold(count);
    const bool needed = is_needed("giving way", (struct habits){.second_is_in_order = true}) &&
                        is_needed("order", (struct habits){.first_gives_way = true});
    return held && needed ? 0 : 1;
}
