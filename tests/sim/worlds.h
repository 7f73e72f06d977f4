/* Shared by the tests of all kinds of simulated worlds. Runs seeds. If a seed has a violation, prints how to
 * run this seed again. */
#ifndef TS_TESTS_SIM_WORLDS_H
#define TS_TESTS_SIM_WORLDS_H

#include "base/number.h"
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const fault_names[] = {
#define FAULT_NAME(suffix, name) name,
    TS_SIM_FAULTS(FAULT_NAME)
#undef FAULT_NAME
};

static const char *const world_names[] = {
#define WORLD_NAME(suffix, name) name,
    TS_SIM_WORLDS(WORLD_NAME)
#undef WORLD_NAME
};

static inline void run(const struct ts_sim_options *options, struct ts_sim_result *ret_result) {
    if (!ts_sim_run(options, ret_result)) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
}

static inline uint64_t number_of(const char *text) {
    uint64_t number = 0;
    if (ts_u64_parse(ts_bytes_of_cstring(text), &number) != TS_NUMBER_OK) {
        fprintf(stderr, "%s: not a number\n", text);
        exit(2);
    }
    return number;
}

static inline void say_broken(const struct ts_sim_options *options, const struct ts_sim_result *result) {
    printf(
        "# %s: %s\n# seed %llu, step %llu; to repeat: turnstone sim --world %s --seed %llu --steps %llu --workers %u --shards %u "
        "--stores %u --faults %s\n",
        result->property, result->text, (unsigned long long)options->seed, (unsigned long long)result->step,
        world_names[options->world], (unsigned long long)options->seed, (unsigned long long)options->steps,
        (unsigned)options->workers, (unsigned)options->shards, (unsigned)options->stores,
        fault_names[options->faults]);
}

static inline bool holds(struct ts_sim_options options, uint64_t seeds) {
    for (uint64_t i = 0; i < seeds; i++, options.seed++) {
        struct ts_sim_result result;
        run(&options, &result);
        if (result.broken) {
            say_broken(&options, &result);
            return false;
        }
    }
    return true;
}

static inline bool test_seeds(struct ts_sim_options options, const char *level, uint64_t seeds) {
    for (int i = 0; i < TS_SIM_FAULT_LEVELS; i++) {
        if (strcmp(level, fault_names[i]) == 0)
            options.faults = (enum ts_sim_faults)i;
    }
    const bool good = holds(options, seeds);
    printf("1..1\n%s 1 - %llu seeds hold in %s weather\n", good ? "ok" : "not ok", (unsigned long long)seeds,
           level);
    return good;
}

#endif
