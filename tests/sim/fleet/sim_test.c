/*
 * Simulated worlds of fleets.
 *
 *     fleet_sim_test seeds LEVEL N     N seeds with this level of faults have no violation
 *     fleet_sim_test shapes N          N seeds with other numbers of stores, workers and repositories
 *     fleet_sim_test traces            the same seed gives the same trace
 *     fleet_sim_test plants            each broken rule violates its property within 200 seeds
 */
#include "worlds.h"

enum { SEEDS_FOR_PLANTS = 200 };

static struct ts_sim_options fleet_options(void) {
    struct ts_sim_options options = ts_sim_options_default();
    options.world = TS_SIM_WORLD_FLEET;
    options.shards = 3;
    return options;
}

static bool test_shapes(uint64_t seeds) {
    static const struct {
        uint32_t stores, workers, shards;
        uint64_t steps;
    } shapes[] = {{1, 2, 1, 1500}, {1, 3, 4, 1500}, {2, 4, 2, 1500},  {5, 8, 3, 1500},
                  {3, 1, 2, 1000}, {2, 6, 1, 1500}, {3, 10, 12, 2500}};
    const size_t count = sizeof shapes / sizeof shapes[0];
    bool good = true;
    printf("1..%zu\n", count);
    for (size_t i = 0; i < count; i++) {
        struct ts_sim_options options = fleet_options();
        options.seed = 20000 + 1000 * i;
        options.stores = shapes[i].stores;
        options.workers = shapes[i].workers;
        options.shards = shapes[i].shards;
        options.steps = shapes[i].steps;
        bool held = true;
        for (int faults = 0; held && faults < TS_SIM_FAULT_LEVELS; faults++, options.seed += 100) {
            options.faults = (enum ts_sim_faults)faults;
            held = holds(options, (seeds + 3 * count - 1) / (3 * count));
        }
        printf("%s %zu - %u stores, %u workers, %u repositories\n", held ? "ok" : "not ok", i + 1,
               (unsigned)shapes[i].stores, (unsigned)shapes[i].workers, (unsigned)shapes[i].shards);
        good = good && held;
    }
    return good;
}

static bool test_traces(void) {
    bool good = true;
    printf("1..%d\n", TS_SIM_FAULT_LEVELS);
    for (int faults = 0; faults < TS_SIM_FAULT_LEVELS; faults++) {
        struct ts_sim_options options = fleet_options();
        options.faults = (enum ts_sim_faults)faults;
        struct ts_sim_result first, again, other;
        run(&options, &first);
        run(&options, &again);
        options.seed++;
        run(&options, &other);
        const bool repeats = first.trace_hash == again.trace_hash && first.trace_hash != other.trace_hash &&
                             memcmp(&first.counts, &again.counts, sizeof first.counts) == 0;
        printf("%s %d - a seed repeats exactly in %s weather, and another one does not\n",
               repeats ? "ok" : "not ok", faults + 1, fault_names[faults]);
        good = good && repeats;
    }
    return good;
}

static const char *const plant_names[] = {"",
#define PLANT_NAME(suffix, name, text) name,
                                          TS_FLEET_PLANTS(PLANT_NAME)
#undef PLANT_NAME
};

/* For each rule, the property that fails without the rule, as the model of the protocol shows. Another
 * property may be violated in an earlier step, but shows less, such as only that rows look unusual. */
static const char *const broken_properties[] = {
    [TS_FLEET_PLANT_UNCHECKED] = "stale owner", [TS_FLEET_PLANT_PRECHECK] = "stale owner",
    [TS_FLEET_PLANT_NOBEFORE] = "stale owner",  [TS_FLEET_PLANT_NOLOCK] = "stale owner",
    [TS_FLEET_PLANT_NOCAS] = "changes",         [TS_FLEET_PLANT_NORESYNC] = "watermark",
    [TS_FLEET_PLANT_OLDRUN] = "run number",     [TS_FLEET_PLANT_PARTMARK] = "lost finding",
    [TS_FLEET_PLANT_SPLIT] = "lost finding",    [TS_FLEET_PLANT_EARLY] = "frontier",
    [TS_FLEET_PLANT_UNKNOWNOK] = "frontier",    [TS_FLEET_PLANT_SHAREDSTAGE] = "extra finding",
    [TS_FLEET_PLANT_APPEND] = "extra finding",  [TS_FLEET_PLANT_EAGERGC] = "lost finding",
    [TS_FLEET_PLANT_UNKEYED] = "lost finding",  [TS_FLEET_PLANT_FAULTY] = "faults",
    [TS_FLEET_PLANT_FREECURSOR] = "cursor",
};
_Static_assert(sizeof broken_properties / sizeof broken_properties[0] ==
                   sizeof plant_names / sizeof plant_names[0],
               "a property for each rule");

/* Returns whether the broken rule is found. Each level with faults gets half of the seeds. */
static bool is_found(size_t plant) {
    struct ts_sim_options options = fleet_options();
    options.fleet_plant = (enum ts_fleet_plant)plant;
    for (uint64_t i = 0; i < SEEDS_FOR_PLANTS; i++, options.seed++) {
        options.faults = i % 2 == 0 ? TS_SIM_STORMY : TS_SIM_RADIOACTIVE;
        struct ts_sim_result result;
        run(&options, &result);
        if (result.broken && strcmp(result.property, broken_properties[plant]) == 0) {
            printf("# %s: seed %llu, step %llu: %s: %s\n", plant_names[plant],
                   (unsigned long long)options.seed, (unsigned long long)result.step, result.property,
                   result.text);
            return true;
        }
    }
    return false;
}

static bool test_plants(void) {
    const size_t count = sizeof plant_names / sizeof plant_names[0] - 1;
    bool good = true;
    printf("1..%zu\n", count);
    for (size_t i = 1; i <= count; i++) {
        const bool found = is_found(i);
        printf("%s %zu - without the rule '%s' a world breaks: %s\n", found ? "ok" : "not ok", i,
               plant_names[i], broken_properties[i]);
        good = good && found;
    }
    return good;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    bool good = false;
    if (strcmp(what, "seeds") == 0 && argc == 4)
        good = test_seeds(fleet_options(), argv[2], number_of(argv[3]));
    else if (strcmp(what, "shapes") == 0 && argc == 3)
        good = test_shapes(number_of(argv[2]));
    else if (strcmp(what, "traces") == 0)
        good = test_traces();
    else if (strcmp(what, "plants") == 0)
        good = test_plants();
    else
        fprintf(stderr, "usage: fleet_sim_test seeds LEVEL N | shapes N | traces | plants\n");
    return good ? 0 : 1;
}
