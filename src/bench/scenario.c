#include "bench/scenario.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/endian.h"

#include <string.h>

struct scenario_row {
    const char *name;
    const char *specified;
    uint32_t percent;
};

static const struct scenario_row rows[BENCH_SCENARIO_COUNT] = {
#define ROW(suffix, name, specified, percent) [BENCH_##suffix] = {name, specified, percent},
    BENCH_SCENARIOS(ROW)
#undef ROW
};

const char *bench__scenario_name(enum bench_scenario scenario) {
    return rows[scenario].name;
}

const char *bench__scenario_specified(enum bench_scenario scenario) {
    return rows[scenario].specified;
}

uint32_t bench__scenario_percent(enum bench_scenario scenario) {
    return rows[scenario].percent;
}

bool bench__scenario_from_name(const char *name, enum bench_scenario *ret_scenario) {
    for (size_t i = 0; i < BENCH_SCENARIO_COUNT; i++) {
        if (strcmp(rows[i].name, name) != 0)
            continue;
        *ret_scenario = (enum bench_scenario)i;
        return true;
    }
    return false;
}

static void put(const struct bench_plan *plan, struct bench_key_at at, struct bench_txn *txn) {
    size_t i = txn->count++;
    txn->ops[i] = (struct ts_op){
        .kind = TS_OP_PUT,
        .key = bench__keys_get(&plan->keys, at, &txn->keys[i]),
        .value = ts_bytes_of(txn->value, sizeof txn->value),
    };
}

/* Returns the index of the n-th key in the part of a store's keys that belongs to a thread. */
static size_t own_index(const struct bench_walk *walk, size_t place, uint64_t n) {
    size_t stretch = walk->plan->keys.counts[place] / walk->plan->threads;
    if (stretch == 0)
        stretch = 1;
    return walk->thread * stretch + (size_t)(n % stretch);
}

static void put_any(struct bench_walk *walk, size_t place, struct bench_txn *txn) {
    size_t index = (size_t)ts_prng_below(&walk->prng, walk->plan->keys.counts[place]);
    put(walk->plan, (struct bench_key_at){place, index}, txn);
}

/* Adds a check and a put of the same key. The check gets its version when the key is read. */
static void change(const struct bench_plan *plan, struct bench_key_at at, struct bench_txn *txn) {
    put(plan, at, txn);
    const struct ts_op last = txn->ops[txn->count - 1];
    txn->ops[txn->count - 1] = (struct ts_op){.kind = TS_OP_CHECK, .key = last.key};
    txn->ops[txn->count++] = last;
    txn->reads = true;
}

static void change_hot(struct bench_walk *walk, size_t place, struct bench_txn *txn) {
    size_t index = bench__zipf_draw(&walk->plan->zipf, &walk->prng);
    change(walk->plan, (struct bench_key_at){place, index}, txn);
}

/* Changes the thread's next key. Threads begin at different keys, and meet when one thread is faster than
 * another. */
static void change_next(const struct bench_walk *walk, size_t place, struct bench_txn *txn) {
    size_t shared = (size_t)walk->plan->threads * BENCH_SHARED;
    if (shared > walk->plan->keys.counts[place])
        shared = walk->plan->keys.counts[place];
    /* Counts rounds over all stores, so that every thread reaches every key of a store. */
    uint64_t round = walk->turn / walk->plan->keys.place_count;
    size_t index = (size_t)((round + (uint64_t)walk->thread * BENCH_SHARED) % shared);
    change(walk->plan, (struct bench_key_at){place, index}, txn);
}

static void put_contended(struct bench_walk *walk, size_t place, struct bench_txn *txn) {
    size_t index = (size_t)ts_prng_below(&walk->prng, BENCH_CONTENDED_KEYS);
    put(walk->plan, (struct bench_key_at){place, index}, txn);
}

static void put_own(const struct bench_walk *walk, size_t place, struct bench_txn *txn) {
    put(walk->plan, (struct bench_key_at){place, own_index(walk, place, walk->turn)}, txn);
}

/* Inserts an existing id as if it were new: the check fails on store 0, whatever the other stores answer. */
static void insert_existing(struct bench_walk *walk, struct bench_txn *txn) {
    size_t index = (size_t)ts_prng_below(&walk->prng, BENCH_EXISTING);
    put(walk->plan, (struct bench_key_at){0, index}, txn);
    txn->ops[txn->count] = txn->ops[0];
    txn->ops[0] = (struct ts_op){.kind = TS_OP_CHECK, .key = txn->ops[0].key, .version = 0};
    txn->count++;
    txn->duplicate = true;
}

void bench__scenario_next(struct bench_walk *walk, struct bench_txn *ret_txn) {
    struct bench_txn *txn = ret_txn;
    size_t places = walk->plan->keys.place_count;
    uint64_t n = walk->turn + walk->thread;
    size_t first = (size_t)(n % places), second = (size_t)((n + 1) % places);
    txn->count = 0;
    txn->duplicate = false;
    txn->reads = false;
    ts_le64_store(walk->turn, txn->value);
    switch (walk->plan->scenario) {
    case BENCH_UNIFORM:
        put_any(walk, first, txn);
        if (second != first)
            put_any(walk, second, txn);
        break;
    case BENCH_ZIPFIAN:
        change_hot(walk, 0, txn);
        if (places > 1)
            change_hot(walk, 1, txn);
        break;
    case BENCH_MIXED:
        change_next(walk, first, txn);
        if (walk->turn % 5 == 4 && second != first)
            change_next(walk, second, txn);
        break;
    case BENCH_PURE:
        for (size_t place = 0; place < places; place++)
            put_own(walk, place, txn);
        break;
    case BENCH_FAULTS:
        if (walk->turn % 5 == 4)
            insert_existing(walk, txn);
        else
            put_any(walk, 0, txn);
        if (places > 1)
            put_any(walk, 1, txn);
        break;
    case BENCH_CONCURRENCY:
        first = (size_t)2 * walk->thread % places;
        second = ((size_t)2 * walk->thread + 1) % places;
        put_own(walk, first, txn);
        if (second != first)
            put_own(walk, second, txn);
        break;
    case BENCH_CONTENDED:
        for (size_t place = 0; place < places; place++)
            put_contended(walk, place, txn);
        break;
    case BENCH_BANK:
    case BENCH_SCENARIO_COUNT:
        ts_unreachable("a scenario without keys of its own");
    }
    walk->turn++;
}

void bench__scenario_first(const struct bench_plan *plan, struct bench_first *ret_first) {
    static const uint8_t value[BENCH_VALUE_LEN];
    ret_first->count = 0;
    if (plan->scenario != BENCH_FAULTS)
        return;
    size_t count = plan->keys.counts[0] < BENCH_EXISTING ? plan->keys.counts[0] : BENCH_EXISTING;
    for (size_t i = 0; i < count; i++)
        ret_first->ops[i] = (struct ts_op){
            .kind = TS_OP_PUT,
            .key = bench__keys_get(&plan->keys, (struct bench_key_at){0, i}, &ret_first->keys[i]),
            .value = ts_bytes_of(value, sizeof value),
        };
    ret_first->count = count;
}
