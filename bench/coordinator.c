/*
 * coordinator SECONDS
 *
 * Measures the cost of the coordinator itself, on memory stores, with one thread. Runs the same transactions
 * through ts_txn_run and as bare calls to the stores (apply; or prepare, apply with a decision, commit),
 * alternating after every thousand transactions. Prints one JSON line with the nanoseconds of both and their
 * difference, for one store and for two.
 */
#include "base/bytes.h"
#include "base/prng.h"
#include "loop.h"
#include "os/clock.h"
#include "store/cluster/cluster.h"
#include "turnstone/txn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STATUS_USAGE = 2, STATUS_INFRASTRUCTURE = 6, TURN = 1000, PLACES = 2, ROUNDS_MAX = 4096 };

struct world {
    struct ts_cluster *cluster;
    struct ts_coordinator *coordinator;
    struct ts_prng prng;
    char (*keys[PLACES])[LOOP_KEY_LEN + 2]; /* keys, grouped by the store that they route to */
    uint8_t value[LOOP_VALUE_LEN];
    uint64_t sequence;
};

static struct ts_op put_any(struct world *world, size_t place) {
    const char *key = world->keys[place][ts_prng_below(&world->prng, LOOP_KEYS)];
    return (struct ts_op){.kind = TS_OP_PUT,
                          .key = ts_bytes_of(key, LOOP_KEY_LEN),
                          .value = ts_bytes_of(world->value, sizeof world->value)};
}

static bool run_call(struct world *world, size_t place, struct ts_call *call) {
    if (ts_store_run(ts_cluster_store(world->cluster, place), call) == TS_STORE_OK)
        return true;
    fprintf(stderr, "coordinator: %s\n", call->error.text);
    return false;
}

static bool bare(struct world *world, size_t places) {
    struct ts_op ops[2] = {put_any(world, 0)};
    if (places == 1) {
        struct ts_call apply = {.kind = TS_CALL_APPLY, .batch = {ops, 1}};
        return run_call(world, 0, &apply);
    }
    char gid[64];
    snprintf(gid, sizeof gid, "bare.%llu", (unsigned long long)world->sequence++);
    struct ts_call prepare = {.kind = TS_CALL_PREPARE, .gid = gid, .batch = {ops, 1}};
    if (!run_call(world, 0, &prepare))
        return false;
    struct ts_op decider[2] = {
        put_any(world, 1),
        {.kind = TS_OP_PUT, .key = TS_BYTES("bench/decision"), .value = ts_bytes_of(world->value, 8)}};
    struct ts_call decide = {.kind = TS_CALL_APPLY, .batch = {decider, 2}};
    if (!run_call(world, 1, &decide))
        return false;
    struct ts_call commit = {.kind = TS_CALL_COMMIT, .gid = gid};
    return run_call(world, 0, &commit);
}

static bool coordinated(struct world *world, size_t places) {
    static struct ts_txn_result result;
    struct ts_op ops[2] = {put_any(world, 0)};
    if (places == 2)
        ops[1] = put_any(world, 1);
    ts_txn_run(world->coordinator, ops, places, NULL, &result);
    if (result.outcome == TS_TXN_COMMITTED)
        return true;
    fprintf(stderr, "coordinator: %s\n", result.text);
    return false;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the CPU time of this thread. Other programs do not affect it, and nothing here waits. */
static uint64_t busy_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Nanoseconds per transaction: the median of all turns. */
struct costs {
    double bare_ns;
    double coordinated_ns;
};

static bool time_turn(struct world *world, size_t places, bool (*run)(struct world *, size_t),
                      double *ret_ns) {
    uint64_t before = busy_ns();
    for (int i = 0; i < TURN; i++)
        if (!run(world, places))
            return false;
    *ret_ns = (double)(busy_ns() - before) / (double)TURN;
    return true;
}

static bool measure(struct world *world, size_t places, double seconds, struct costs *ret_costs) {
    static double bares[ROUNDS_MAX], coordinateds[ROUNDS_MAX];
    uint64_t end_ns = ts_clock_monotonic_ns() + (uint64_t)(seconds * 1e9);
    size_t rounds = 0;
    while (rounds < ROUNDS_MAX && (rounds == 0 || ts_clock_monotonic_ns() < end_ns)) {
        if (!time_turn(world, places, bare, &bares[rounds]) ||
            !time_turn(world, places, coordinated, &coordinateds[rounds]))
            return false;
        rounds++;
    }
    qsort(bares, rounds, sizeof *bares, by_value);
    qsort(coordinateds, rounds, sizeof *coordinateds, by_value);
    *ret_costs = (struct costs){.bare_ns = bares[rounds / 2], .coordinated_ns = coordinateds[rounds / 2]};
    return true;
}

static bool make_world(struct world *world) {
    const struct ts_cluster_options options = {0};
    struct ts_store_error error;
    struct ts_txn_error_detail detail;
    if (ts_cluster_init("memory:a,memory:b", "xxh64", &options, &world->cluster, &error) != TS_STORE_OK) {
        fprintf(stderr, "coordinator: %s\n", error.text);
        return false;
    }
    if (ts_coordinator_open(world->cluster, NULL, &world->coordinator, &detail) != TS_TXN_ERROR_OK) {
        fprintf(stderr, "coordinator: %s\n", detail.text);
        return false;
    }
    size_t counts[PLACES] = {0};
    for (size_t place = 0; place < PLACES; place++) {
        world->keys[place] = calloc(LOOP_KEYS, sizeof *world->keys[place]);
        if (world->keys[place] == NULL)
            return false;
    }
    for (uint64_t number = 0; counts[0] < LOOP_KEYS || counts[1] < LOOP_KEYS; number++) {
        char key[LOOP_KEY_LEN + 1];
        loop_key(number, key);
        size_t place = ts_cluster_place_of_key(world->cluster, ts_bytes_of(key, LOOP_KEY_LEN));
        if (counts[place] < LOOP_KEYS)
            memcpy(world->keys[place][counts[place]++], key, sizeof key);
    }
    ts_prng_init(&world->prng, 1);
    return true;
}

static void release_world(struct world *world) {
    ts_coordinator_close(world->coordinator);
    ts_cluster_close(world->cluster);
    for (size_t place = 0; place < PLACES; place++)
        free(world->keys[place]);
}

int main(int argc, char **argv) {
    struct loop_options numbers = {0};
    struct costs one, two;
    if (argc != 2 || !loop_numbers("1", argv[1], &numbers)) {
        fprintf(stderr, "usage: coordinator SECONDS\n");
        return STATUS_USAGE;
    }
    static struct world world;
    bool good = make_world(&world) && measure(&world, 1, numbers.seconds / 2, &one) &&
                measure(&world, 2, numbers.seconds / 2, &two);
    release_world(&world);
    if (!good)
        return STATUS_INFRASTRUCTURE;
    printf("{\"loop\":\"coordinator\",\"local_bare_ns\":%.0f,\"local_ns\":%.0f,\"local_overhead_ns\":%.0f,"
           "\"global_bare_ns\":%.0f,\"global_ns\":%.0f,\"global_overhead_ns\":%.0f}\n",
           one.bare_ns, one.coordinated_ns, one.coordinated_ns - one.bare_ns, two.bare_ns, two.coordinated_ns,
           two.coordinated_ns - two.bare_ns);
    return 0;
}
