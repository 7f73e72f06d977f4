/*
 * Simulated worlds of coordination.
 *
 *     coord_sim_test seeds LEVEL N     N seeds with this level of faults have no violation
 *     coord_sim_test shapes N          N seeds with other numbers of stores, workers and shards
 *     coord_sim_test found-once        seeds that once had a violation have none now
 *     coord_sim_test traces            the same seed gives the same trace, here and on every machine
 *     coord_sim_test plants            each rule that is broken on purpose is found within 200 seeds
 */
#include "worlds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS_FOR_PLANTS = 200 };

static bool test_shapes(uint64_t seeds) {
    /* Each shape runs seeds / part worlds at each level of faults. If its worlds are slow, `part` is larger. */
    static const struct {
        uint32_t stores, workers, shards;
        uint64_t steps, part;
    } shapes[] = {{1, 3, 3, 1500, 18},  {2, 4, 6, 1500, 18},   {5, 10, 4, 1500, 18},  {3, 1, 2, 1500, 18},
                  {2, 2, 60, 1500, 18}, {1, 1, 1, 300, 3},     {16, 8, 40, 3000, 36}, {16, 2, 30, 800, 12},
                  {1, 64, 8, 2000, 60}, {2, 16, 16, 4000, 36}, {2, 3, 2, 4000, 18},   {4, 16, 3, 20000, 180},
                  {3, 5, 8, 120, 2},    {1, 4, 200, 1500, 60}};
    const size_t count = sizeof shapes / sizeof shapes[0];
    bool good = true;
    printf("1..%zu\n", count);
    for (size_t i = 0; i < count; i++) {
        struct ts_sim_options options = ts_sim_options_default();
        options.seed = 20000 + 1000 * i;
        options.stores = shapes[i].stores;
        options.workers = shapes[i].workers;
        options.shards = shapes[i].shards;
        options.steps = shapes[i].steps;
        bool held = true;
        for (int faults = 0; held && faults < TS_SIM_FAULT_LEVELS; faults++, options.seed += 100) {
            options.faults = (enum ts_sim_faults)((i + (size_t)faults) % TS_SIM_FAULT_LEVELS);
            held = holds(options, (seeds + shapes[i].part - 1) / shapes[i].part);
        }
        printf("%s %zu - %u stores, %u workers, %u shards, %llu steps\n", held ? "ok" : "not ok", i + 1,
               (unsigned)shapes[i].stores, (unsigned)shapes[i].workers, (unsigned)shapes[i].shards,
               (unsigned long long)shapes[i].steps);
        good = good && held;
    }
    return good;
}

/* Worlds that once had a violation. */
static const struct {
    struct ts_sim_options options;
    const char *what;
} found_once[] = {
    {{.seed = 1172, .steps = 1500, .workers = 5, .shards = 8, .stores = 3, .faults = TS_SIM_STORMY},
     "a cooldown that is written late does not shorten a later one"},
    {{.seed = 20101, .steps = 4000, .workers = 3, .shards = 2, .stores = 2, .faults = TS_SIM_RADIOACTIVE},
     "leases of shards with one id in two runs are distinguished"},
};

static bool test_found_once(void) {
    const size_t count = sizeof found_once / sizeof found_once[0];
    bool good = true;
    printf("1..%zu\n", count);
    for (size_t i = 0; i < count; i++) {
        const bool held = holds(found_once[i].options, 1);
        printf("%s %zu - %s\n", held ? "ok" : "not ok", i + 1, found_once[i].what);
        good = good && held;
    }
    return good;
}

/*
 * Traces of some seeds. A change of the driver, the protocol or the simulation changes these traces. If the
 * change is on purpose, replace the traces by the output of `turnstone sim --seed N --faults LEVEL`.
 */
static const struct {
    enum ts_sim_faults faults;
    uint64_t seed;
    uint64_t trace_hash;
} golden[] = {
    {TS_SIM_SUNNY, 1, UINT64_C(0x8ca9187fd185805c)},
    {TS_SIM_STORMY, 2, UINT64_C(0x224e4036262bb5fc)},
    {TS_SIM_STORMY, 3, UINT64_C(0xf2aa69bb21924028)},
    {TS_SIM_RADIOACTIVE, 4, UINT64_C(0xfe97a9528b1979a8)},
    {TS_SIM_RADIOACTIVE, 5, UINT64_C(0xf4f4d51ec270884f)},
};

static bool test_traces(void) {
    const size_t count = sizeof golden / sizeof golden[0];
    bool good = true;
    printf("1..%zu\n", count + 1);
    for (size_t i = 0; i < count; i++) {
        struct ts_sim_options options = ts_sim_options_default();
        options.seed = golden[i].seed;
        options.faults = golden[i].faults;
        struct ts_sim_result result;
        run(&options, &result);
        const bool same = !result.broken && result.trace_hash == golden[i].trace_hash;
        printf("%s %zu - the trace of seed %llu, %s, is what it was\n", same ? "ok" : "not ok", i + 1,
               (unsigned long long)golden[i].seed, fault_names[golden[i].faults]);
        if (!same)
            printf("# it is 0x%016llx\n", (unsigned long long)result.trace_hash);
        good = good && same;
    }
    struct ts_sim_options options = ts_sim_options_default();
    options.faults = TS_SIM_RADIOACTIVE;
    struct ts_sim_result first, again, other;
    run(&options, &first);
    run(&options, &again);
    options.seed++;
    run(&options, &other);
    const bool repeats = first.trace_hash == again.trace_hash && first.trace_hash != other.trace_hash &&
                         memcmp(&first.counts, &again.counts, sizeof first.counts) == 0;
    printf("%s %zu - a seed repeats exactly, and another one does not\n", repeats ? "ok" : "not ok",
           count + 1);
    return good && repeats;
}

static const struct {
    enum ts_coord_plant plant;
    const char *name;
    const char *property; /* the violated property that reveals the broken rule */
    const char *also;     /* another property that may be violated first; NULL: none */
} plants[] = {
    {TS_COORD_PLANT_FENCE, "fence", "fence", "lease-check"},
    {TS_COORD_PLANT_EXPIRY, "expiry", "lease", NULL},
    {TS_COORD_PLANT_OPLOG, "oplog", "op-log", NULL},
    {TS_COORD_PLANT_CURSOR, "cursor", "cursor", NULL},
    {TS_COORD_PLANT_SPLIT, "split", "split", NULL},
    {TS_COORD_PLANT_TENANT, "tenant", "tenant", NULL},
    {TS_COORD_PLANT_COUNTER, "counter", "counters", NULL},
    {TS_COORD_PLANT_RELEASE, "release", "fence", NULL},
    {TS_COORD_PLANT_BLAME, "blame", "record", NULL},
    {TS_COORD_PLANT_LEASE_CHECK, "lease-check", "lease-check", NULL},
    {TS_COORD_PLANT_NUMBER, "number", "number", NULL},
    {TS_COORD_PLANT_PIN, "pin", "pin", NULL},
    {TS_COORD_PLANT_EARLY, "early", "announced", NULL},
    {TS_COORD_PLANT_ANNOUNCED, "announced", "announced", "shards"},
};

static bool shows(const struct ts_sim_result *result, size_t plant) {
    return strcmp(result->property, plants[plant].property) == 0 ||
           (plants[plant].also != NULL && strcmp(result->property, plants[plant].also) == 0);
}

static bool is_found(size_t plant, enum ts_sim_faults faults, struct ts_sim_result *ret_result) {
    struct ts_sim_options options = ts_sim_options_default();
    options.plant = plants[plant].plant;
    options.faults = faults;
    for (uint64_t i = 0; i < SEEDS_FOR_PLANTS; i++, options.seed++) {
        run(&options, ret_result);
        if (ret_result->broken) {
            printf("# %s, seed %llu, step %llu: %s: %s\n", fault_names[faults],
                   (unsigned long long)options.seed, (unsigned long long)ret_result->step,
                   ret_result->property, ret_result->text);
            return true;
        }
    }
    return false;
}

static bool test_plants(void) {
    const size_t count = sizeof plants / sizeof plants[0];
    bool good = true;
    printf("1..%zu\n", count);
    for (size_t i = 0; i < count; i++) {
        bool found = true;
        for (int faults = 0; faults < TS_SIM_FAULT_LEVELS; faults++) {
            struct ts_sim_result result;
            found = is_found(i, (enum ts_sim_faults)faults, &result) && shows(&result, i) && found;
        }
        printf("%s %zu - a broken rule of %s is found in every weather\n", found ? "ok" : "not ok", i + 1,
               plants[i].name);
        good = good && found;
    }
    return good;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    bool good = false;
    if (strcmp(what, "seeds") == 0 && argc == 4)
        good = test_seeds(ts_sim_options_default(), argv[2], number_of(argv[3]));
    else if (strcmp(what, "shapes") == 0 && argc == 3)
        good = test_shapes(number_of(argv[2]));
    else if (strcmp(what, "found-once") == 0)
        good = test_found_once();
    else if (strcmp(what, "traces") == 0)
        good = test_traces();
    else if (strcmp(what, "plants") == 0)
        good = test_plants();
    else
        fprintf(stderr, "usage: coord_sim_test seeds LEVEL N | shapes N | found-once | traces | plants\n");
    return good ? 0 : 1;
}
