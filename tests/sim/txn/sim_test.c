/*
 * Seeded worlds: coordinators, resolvers, fencers, sweepers, crashes and lost messages, in an order that the
 * seed determines. The contents of the stores are checked after every step that may have changed them. At the
 * end everything must be settled.
 *
 *     txn_sim_test                         the seeds that `make check` runs, and each rule disabled in turn
 *     txn_sim_test --seeds N               the first N seeds
 *     txn_sim_test --seed S [--rule NAME] [--trace]   one seed; a failed run prints these options
 */
#include "world.h"

#include "base/number.h"
#include "base/prng.h"

#include <stdio.h>

enum { STEPS = 250, SEEDS = 3000, SEEDS_WITHOUT_A_RULE = 20000, PATIENCE = 2000 };

static struct world world;
static struct ts_prng prng;
static bool tracing;

/* The properties of a seed, which differ so that the seeds reach different corner cases. */
static struct temper {
    uint64_t late_percent; /* chance that a step handles the late message that it has picked */
    uint64_t give_up;      /* steps in 1000 in which an owner gives up */
    uint64_t disturb;      /* steps in 1000 with a disturbance */
    bool slow[2];          /* whether the messages of OWNER_RUN, and of OWNER_RESOLVER, take long */
    bool calm;             /* no crashes, restarts or losses of power before the world is wound down */
} temper;

static bool chance(uint64_t percent) {
    return ts_prng_chance(&prng, (struct ts_ratio){percent, 100});
}

static size_t pick(size_t count) {
    return (size_t)ts_prng_below(&prng, count);
}

#define trace(...) (tracing ? (void)printf("# " __VA_ARGS__) : (void)0)

static const char *const wish_names[] = {"none",   "apply",  "prepare", "decide", "look",  "refuse",
                                         "record", "commit", "abort",   "fence",  "forget"};

/* Returns a message in this state, or NULL if there is none. The search starts at a random place. */
static struct message *any_message(enum message_state state, bool with_late) {
    size_t from = pick(MESSAGES);
    for (size_t i = 0; i < MESSAGES; i++) {
        struct message *message = &world.messages[(from + i) % MESSAGES];
        if (message->state == state && (with_late || !message->late))
            return message;
    }
    return NULL;
}

static void begin_something(void) {
    size_t c = pick(COORDINATORS);
    struct world_coordinator *coordinator = &world.coordinators[c];
    if (!coordinator->used) {
        if (world.uuids < 100)
            coordinator_start(&world, c);
        return;
    }
    bool room = false;
    for (size_t r = 0; r < RUNS; r++)
        room = room || !coordinator->runs[r].used;
    if (!room || world.txn_count == TXNS)
        return;
    uint32_t places[STORES] = {0, 1, 2};
    ts_prng_shuffle(&prng, places, STORES);
    size_t count = 2 + pick(STORES - 1);
    size_t r = coordinator_begin(&world, c, places, count);
    trace("C%zu.%zu begins %zu, decider %u of %zu\n", c, r, world.txn_count - 1, places[0], count);
}

static void send_something(void) {
    size_t c = pick(COORDINATORS);
    size_t from = pick(RUNS);
    for (size_t i = 0; i < RUNS && world.coordinators[c].used; i++) {
        const struct message *message = coordinator_send(&world, c, (from + i) % RUNS);
        if (message != NULL) {
            trace("C%zu.%zu sends %s to %u\n", c, (from + i) % RUNS, wish_names[message->wish],
                  message->place);
            return;
        }
    }
}

static void resolve_something(void) {
    size_t r = pick(RESOLVERS);
    if (!world.resolvers[r].busy) {
        uint32_t place = (uint32_t)pick(STORES);
        if (resolver_begin(&world, r, place, pick(3), chance(3)))
            trace("R%zu sees a promise on %u\n", r, place);
        return;
    }
    const struct message *message = resolver_send(&world, r);
    if (message != NULL)
        trace("R%zu sends %s to %u\n", r, wish_names[message->wish], message->place);
}

static void deliver_something(void) {
    struct message *message = any_message(MESSAGE_FLYING, true);
    if (message == NULL || (message->late && !chance(temper.late_percent)) ||
        (temper.slow[message->owner] && chance(80)))
        return;
    if (message->late && chance(20)) {
        trace("%s to %u is lost\n", wish_names[message->wish], message->place);
        message_drop(message);
        return;
    }
    message_arrive(&world, message);
    trace("%s%s arrives at %u: %s\n", message->late ? "late " : "", wish_names[message->wish], message->place,
          message->call.done ? ts_store_result_text(message->call.error.result) : "waits");
}

static void answer_something(void) {
    struct message *message = any_message(MESSAGE_REPLIED, false);
    if (message == NULL)
        return;
    if (chance(6)) {
        trace("the reply to %s from %u is lost\n", wish_names[message->wish], message->place);
        message_give_up(&world, message);
        return;
    }
    message_answer(&world, message);
}

static void give_up_something(void) {
    struct message *message = any_message(chance(70) ? MESSAGE_FLYING : MESSAGE_WAITING, false);
    if (message == NULL)
        return;
    trace("nobody waits for %s to %u any more\n", wish_names[message->wish], message->place);
    message_give_up(&world, message);
}

/* Closes a coordinator that has nothing in progress. */
static void leave(size_t c) {
    bool busy = !world.coordinators[c].used;
    for (size_t r = 0; r < RUNS; r++)
        busy = busy || world.coordinators[c].runs[r].used;
    if (busy)
        return;
    trace("C%zu leaves\n", c);
    coordinator_leave(&world, c);
}

static void disturb(void) {
    size_t c = pick(COORDINATORS);
    uint64_t what = ts_prng_below(&prng, temper.calm ? 86 : 100);
    if (what < 25) {
        world.now_ms += ts_prng_below(&prng, 4000);
    } else if (what < 45) {
        if (world.coordinators[c].used)
            coordinator_beat(&world, c);
    } else if (what < 60) {
        if (world.coordinators[c].used)
            coordinator_clean(&world, c);
    } else if (what < 70) {
        if (world.coordinators[c].used)
            coordinator_push(&world, c);
    } else if (what < 78) {
        sweep(&world, (uint32_t)pick(STORES));
    } else if (what < 86) {
        if (world.txn_count > 0) {
            const struct txn__gid *gid = &world.txns[pick(world.txn_count)].gid;
            trace("the coordinator of some transaction is fenced on %u\n", gid->decider);
            fence(&world, &gid->coordinator, gid->decider);
        }
    } else if (what < 94) {
        if (world.coordinators[c].used) {
            trace("C%zu crashes\n", c);
            coordinator_crash(&world, c);
        }
    } else if (what < 97) {
        ts_memory_restart(world.memories[pick(STORES)], (struct ts_memory_crash){.lose_unsynced = false});
        trace("a store restarts\n");
    } else if (what < 99) {
        trace("power is lost\n");
        world_lose_power(&world);
    } else {
        leave(c);
    }
}

static void step(void) {
    uint64_t what = ts_prng_below(&prng, 1000);
    if (what < temper.give_up)
        give_up_something();
    else if (what < temper.give_up + temper.disturb)
        disturb();
    else if (chance(6))
        begin_something();
    else if (chance(30))
        send_something();
    else if (chance(16))
        resolve_something();
    else if (chance(50))
        deliver_something();
    else
        answer_something();
    for (size_t i = 0; i < MESSAGES; i++)
        message_poll(&world.messages[i]);
}

static bool is_quiet(void) {
    for (size_t i = 0; i < MESSAGES; i++) {
        if (world.messages[i].state != MESSAGE_FREE)
            return false;
    }
    for (size_t c = 0; c < COORDINATORS; c++) {
        for (size_t r = 0; r < RUNS; r++) {
            if (world.coordinators[c].used && world.coordinators[c].runs[r].used)
                return false;
        }
    }
    return !world.resolvers[0].busy && !world.resolvers[1].busy;
}

/* Winds a world down. No new transactions begin, some coordinators crash, messages are delivered or lost, and
 * resolvers make passes. */
static void wind_down(void) {
    for (size_t c = 0; c < COORDINATORS; c++) {
        if (world.coordinators[c].used && chance(50))
            coordinator_crash(&world, c);
    }
    temper = (struct temper){.late_percent = 50};
    for (int i = 0; i < PATIENCE && !is_quiet(); i++) {
        send_something();
        resolve_something();
        deliver_something();
        answer_something();
        for (size_t m = 0; m < MESSAGES; m++)
            message_poll(&world.messages[m]);
    }
    for (int i = 0; i < 4; i++) {
        world.now_ms += 2 * TXN__DEAD_MS;
        for (size_t m = 0; m < MESSAGES; m++) {
            struct message *message = &world.messages[m];
            if (message->state == MESSAGE_WAITING) {
                ts_store_cancel(&message->call);
                message_poll(message);
            } else if (message->state == MESSAGE_FLYING && message->late) {
                message_drop(message);
            }
        }
        memset(world.resolvers, 0, sizeof world.resolvers);
        resolver_pass(&world, false);
    }
}

/* Runs a seed. Returns NULL, or the violation. */
static const char *run_seed(uint64_t seed, struct txn__taken taken) {
    ts_prng_init(&prng, seed);
    temper = (struct temper){
        .late_percent = chance(50) ? 100 : 4,
        .give_up = ts_prng_below(&prng, 80),
        .disturb = ts_prng_below(&prng, 150),
        .slow = {chance(20), chance(40)},
        .calm = chance(50),
    };
    world_init(&world, taken);
    world.flaky = seed % 2 == 1;
    const char *what = NULL;
    for (int i = 0; i < STEPS && what == NULL; i++) {
        uint64_t touched = world.touched;
        step();
        if (world.touched != touched)
            what = world_broken(&world, false);
    }
    if (what == NULL) {
        wind_down();
        what = world_broken(&world, true);
    }
    world_release(&world);
    return what;
}

static bool seeds_hold(uint64_t count) {
    for (uint64_t seed = 0; seed < count; seed++) {
        const char *what = run_seed(seed, (struct txn__taken){0});
        if (what != NULL) {
            printf(
                "not ok 1 - %llu seeds hold\n# broken: %s\n# to repeat: txn_sim_test --seed %llu --trace\n",
                (unsigned long long)count, what, (unsigned long long)seed);
            return false;
        }
    }
    printf("ok 1 - %llu seeds hold\n", (unsigned long long)count);
    return true;
}

static const char *const rule_names[] = {
#define RULE_NAME(suffix, name, text) name,
    TXN__RULES(RULE_NAME)
#undef RULE_NAME
};

/* For each rule, the seed at which the search for a violation begins: a little before the first seed with a
 * violation. If a change moves this first seed, the test only takes longer. */
static const uint64_t search_from[TXN__RULE_COUNT] = {
    [TXN__RULE_NOLOW] = 8800,        [TXN__RULE_RMABORT] = 200,     [TXN__RULE_RMTOMB] = 2200,
    [TXN__RULE_C_UNCHECKED] = 2950,  [TXN__RULE_R_UNCHECKED] = 300, [TXN__RULE_KEEP_BELOW] = 100,
    [TXN__RULE_NOSYNC] = 9800,       [TXN__RULE_RESEND] = 250,      [TXN__RULE_RMLOW] = 11500,
    [TXN__RULE_HALF_FINISHED] = 350, [TXN__RULE_LEAVE] = 1150,
};

static bool breaks_without(enum txn__rule rule) {
    uint64_t from = search_from[rule];
    for (uint64_t seed = from; seed < from + SEEDS_WITHOUT_A_RULE; seed++) {
        const char *what = run_seed(seed, (struct txn__taken){UINT32_C(1) << rule});
        if (what == NULL)
            continue;
        printf("ok %d - without %s seed %llu breaks: %s\n", (int)rule + 3, rule_names[rule],
               (unsigned long long)seed, what);
        return true;
    }
    printf("not ok %d - without %s none of %d seeds breaks\n", (int)rule + 3, rule_names[rule],
           SEEDS_WITHOUT_A_RULE);
    return false;
}

static bool repeats_exactly(void) {
    uint64_t before = 0;
    uint64_t again = 0;
    for (int i = 0; i < 2; i++) {
        (void)run_seed(7, (struct txn__taken){0});
        *(i == 0 ? &before : &again) = ts_prng_next(&prng) ^ world.now_ms << 20 ^ world.turns;
    }
    printf("%s 2 - a seed repeats exactly\n", before == again ? "ok" : "not ok");
    return before == again;
}

static bool all(void) {
    bool good = seeds_hold(SEEDS);
    good = repeats_exactly() && good;
    for (int rule = 0; rule < TXN__RULE_COUNT; rule++)
        good = breaks_without((enum txn__rule)rule) && good;
    printf("1..%d\n", TXN__RULE_COUNT + 2);
    return good;
}

static uint64_t number_of(const char *text) {
    uint64_t number = 0;
    if (ts_u64_parse(ts_bytes_of_cstring(text), &number) != TS_NUMBER_OK) {
        fprintf(stderr, "%s: not a number\n", text);
        exit(2);
    }
    return number;
}

int main(int argc, char **argv) {
    struct txn__taken taken = {0};
    const char *seed = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0)
            tracing = true;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = argv[++i];
        else if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc)
            return seeds_hold(number_of(argv[i + 1])) ? 0 : 1;
        else if (strcmp(argv[i], "--rule") == 0 && i + 1 < argc) {
            i++;
            for (int rule = 0; rule < TXN__RULE_COUNT; rule++)
                taken.rules |= strcmp(rule_names[rule], argv[i]) == 0 ? UINT32_C(1) << rule : 0;
        }
    }
    if (seed == NULL)
        return all() ? 0 : 1;
    const char *what = run_seed(number_of(seed), taken);
    printf("%s\n", what == NULL ? "holds" : what);
    return what == NULL ? 0 : 1;
}
