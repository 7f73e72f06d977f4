/*
 * turnstone sim: runs coordination and fleets in simulated worlds, one after the other, until a world fails
 * or all worlds have passed.
 */
#include "complain.h"
#include "output.h"
#include "verbs.h"

#include "base/number.h"
#include "coord/core/error.h"
#include "os/clock.h"
#include "os/out_json.h"
#include "sim/sim.h"

#include <stdio.h>
#include <string.h>

enum {
    SIM_WORLD,
    SIM_SEED,
    SIM_COUNT,
    SIM_STEPS,
    SIM_WORKERS,
    SIM_SHARDS,
    SIM_STORES,
    SIM_FAULTS,
    SIM_TRACE,
    SIM_JSON,
#ifdef TS_TEST_BUILD
    SIM_PLANT,
#endif
};

enum { STEPS_MAX = 100000000 };

struct request {
    struct ts_sim_options options; /* the seed in the options is the first seed */
    uint64_t count;
    const char *plant; /* name of the rule to break, or NULL */
    bool json;
};

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

static const char *const wish_names[] = {
#define WISH_NAME(suffix, name) name,
    TS_UNIT_WISHES(WISH_NAME)
#undef WISH_NAME
};

static const char *const unit_event_names[] = {
#define EVENT_NAME(suffix, name) name,
    TS_UNIT_EVENTS(EVENT_NAME)
#undef EVENT_NAME
};

static const char *const operation_names[] = {
#define OPERATION_NAME(suffix, name) name,
    TS_SIM_OPERATIONS(OPERATION_NAME)
#undef OPERATION_NAME
};

static const char *const trouble_names[] = {
#define TROUBLE_NAME(suffix, name) name,
    TS_SIM_TROUBLES(TROUBLE_NAME)
#undef TROUBLE_NAME
};

/* ---- arguments ---- */

struct bounds {
    uint64_t min;
    uint64_t max;
};

static bool read_number(const struct cli_arguments *arguments, size_t option, const char *name,
                        struct bounds bounds, uint64_t *number) {
    const char *text = arguments->values[option];
    if (text == NULL)
        return true;
    uint64_t parsed = 0;
    if (ts_u64_parse(ts_bytes_of_cstring(text), &parsed) == TS_NUMBER_OK && parsed >= bounds.min &&
        parsed <= bounds.max) {
        *number = parsed;
        return true;
    }
    (void)cli__complain(CLI_EXIT_USAGE, "sim: --%s must be a number from %llu to %llu; got '%s'", name,
                        (unsigned long long)bounds.min, (unsigned long long)bounds.max,
                        cli__quote_text(text).text);
    return false;
}

#ifdef TS_TEST_BUILD

/* Returns the index of the rule in `names`, or 0 if `names` does not have the rule. names[0] is empty. */
static size_t plant_number(const char *name, const char *const *names, size_t count) {
    for (size_t i = 1; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    return 0;
}

#define PLANT_NAME(suffix, name, text) name,

static bool read_plant(const struct cli_arguments *arguments, struct request *request) {
    static const char *const coord[] = {"", TS_COORD_PLANTS(PLANT_NAME)};
    static const char *const fleet[] = {"", TS_FLEET_PLANTS(PLANT_NAME)};
    const char *name = request->plant = arguments->values[SIM_PLANT];
    struct ts_sim_options *options = &request->options;
    if (name == NULL)
        return true;
    const bool is_fleet = options->world == TS_SIM_WORLD_FLEET;
    const size_t number = is_fleet ? plant_number(name, fleet, sizeof fleet / sizeof fleet[0])
                                   : plant_number(name, coord, sizeof coord / sizeof coord[0]);
    if (is_fleet)
        options->fleet_plant = (enum ts_fleet_plant)number;
    else
        options->plant = (enum ts_coord_plant)number;
    if (number == 0)
        (void)cli__complain(CLI_EXIT_USAGE, "sim: --plant: unknown rule '%s' for --world %s",
                            cli__quote_text(name).text, world_names[options->world]);
    return number != 0;
}

#else

static bool read_plant(const struct cli_arguments *arguments, struct request *request) {
    (void)arguments;
    (void)request;
    return true;
}

#endif

static bool read_request(const struct cli_arguments *arguments, struct request *ret_request) {
    struct request request = {.options = ts_sim_options_default(), .count = 1};
    struct ts_sim_options *options = &request.options;
    uint64_t workers = options->workers, shards = options->shards, stores = options->stores;
    if (arguments->values[SIM_WORLD] != NULL && strcmp(arguments->values[SIM_WORLD], "fleet") == 0)
        options->world = TS_SIM_WORLD_FLEET;
    const uint64_t shards_max = options->world == TS_SIM_WORLD_FLEET ? TS_SIM_TARGETS_MAX : TS_SIM_SHARDS_MAX;
    if (!read_number(arguments, SIM_SEED, "seed", (struct bounds){0, UINT64_MAX}, &options->seed) ||
        !read_number(arguments, SIM_COUNT, "count", (struct bounds){1, UINT64_MAX}, &request.count) ||
        !read_number(arguments, SIM_STEPS, "steps", (struct bounds){1, STEPS_MAX}, &options->steps) ||
        !read_number(arguments, SIM_WORKERS, "workers", (struct bounds){1, TS_SIM_WORKERS_MAX}, &workers) ||
        !read_number(arguments, SIM_SHARDS, "shards", (struct bounds){1, shards_max}, &shards) ||
        !read_number(arguments, SIM_STORES, "stores", (struct bounds){1, TS_SIM_STORES_MAX}, &stores))
        return false;
    options->workers = (uint32_t)workers;
    options->shards = (uint32_t)shards;
    options->stores = (uint32_t)stores;
    options->faults = TS_SIM_STORMY;
    for (size_t i = 0; arguments->values[SIM_FAULTS] != NULL && i < TS_SIM_FAULT_LEVELS; i++) {
        if (strcmp(arguments->values[SIM_FAULTS], fault_names[i]) == 0)
            options->faults = (enum ts_sim_faults)i;
    }
    if (!read_plant(arguments, &request))
        return false;
    request.json = arguments->values[SIM_JSON] != NULL;
    *ret_request = request;
    return true;
}

/* ---- results ---- */

struct summary {
    uint64_t seeds;      /* number of seeds that were run */
    uint64_t seed;       /* the last seed */
    uint64_t trace_hash; /* hash of the trace of the only seed, or of the traces of all seeds */
    uint64_t took_ns;
    struct ts_sim_counts counts;
    const struct ts_sim_result *broken; /* the world that failed, or NULL */
};

static void format_again(const struct request *request, uint64_t seed, char *ret_text, size_t size) {
    const struct ts_sim_options *options = &request->options;
    snprintf(
        ret_text, size,
        "turnstone sim --world %s --seed %llu --steps %llu --workers %u --shards %u --stores %u --faults %s%s%s",
        world_names[options->world], (unsigned long long)seed, (unsigned long long)options->steps,
        (unsigned)options->workers, (unsigned)options->shards, (unsigned)options->stores,
        fault_names[options->faults], request->plant != NULL ? " --plant " : "",
        request->plant != NULL ? request->plant : "");
}

static uint64_t per_second(uint64_t count, uint64_t took_ns) {
    return (uint64_t)((double)count * 1e9 / (double)(took_ns == 0 ? 1 : took_ns));
}

static void print_json_numbers(const char *name, const char *const *names, const uint64_t *numbers,
                               size_t count) {
    printf(",\"%s\":{", name);
    for (size_t i = 0; i < count; i++)
        printf("%s\"%s\":%llu", ts_json_separator(i, ","), names[i], (unsigned long long)numbers[i]);
    printf("}");
}

static void print_json_operations(const struct ts_sim_counts *counts) {
    printf(",\"operations\":{");
    for (size_t i = 0; i < TS_SIM_OPERATION_COUNT; i++)
        printf("%s\"%s\":{\"executed\":%llu,\"replayed\":%llu,\"refused\":%llu}", ts_json_separator(i, ","),
               operation_names[i], (unsigned long long)counts->executed[i],
               (unsigned long long)counts->replayed[i], (unsigned long long)counts->refused[i]);
    printf("},\"errors\":{");
    size_t errors = 0;
    for (size_t i = 1; i < TS_SIM_ERRORS_MAX; i++) {
        if (counts->errors[i] == 0)
            continue;
        printf("%s\"%s\":%llu", ts_json_separator(errors++, ","),
               ts_error_variant_name((enum ts_error_variant)i), (unsigned long long)counts->errors[i]);
    }
    printf("},\"unknown\":%llu", (unsigned long long)counts->unknown);
}

static void print_json_units(const struct ts_sim_counts *counts) {
    print_json_numbers("wishes", wish_names, counts->wishes, TS_WISH_COUNT);
    print_json_numbers("unit_events", unit_event_names, counts->unit_events, TS_UNIT_EVENT_COUNT);
}

static void print_json_troubles(const struct ts_sim_counts *counts) {
    print_json_numbers("troubles", trouble_names, counts->troubles, TS_SIM_TROUBLE_COUNT);
}

static void print_json(const struct request *request, const struct summary *summary) {
    const struct ts_sim_counts *counts = &summary->counts;
    printf(
        "{\"sim\":\"%s\",\"first_seed\":%llu,\"seeds\":%llu,\"faults\":\"%s\",\"workers\":%u,\"shards\":%u,"
        "\"stores\":%u,\"holds\":%s,\"trace_hash\":\"%016llx\"",
        world_names[request->options.world], (unsigned long long)request->options.seed,
        (unsigned long long)summary->seeds, fault_names[request->options.faults],
        (unsigned)request->options.workers, (unsigned)request->options.shards,
        (unsigned)request->options.stores, summary->broken == NULL ? "true" : "false",
        (unsigned long long)summary->trace_hash);
    if (summary->broken != NULL) {
        char again[240];
        format_again(request, summary->seed, again, sizeof again);
        printf(",\"seed\":%llu,\"step\":%llu,\"property\":\"%s\",\"text\":\"%s\",\"again\":\"%s\"",
               (unsigned long long)summary->seed, (unsigned long long)summary->broken->step,
               summary->broken->property, summary->broken->text, again);
    }
    printf(",\"steps\":%llu,\"calm_steps\":%llu,\"virtual_ms\":%llu,\"calls\":%llu,\"transactions\":%llu,"
           "\"checks\":%llu",
           (unsigned long long)counts->steps, (unsigned long long)counts->calm_steps,
           (unsigned long long)counts->virtual_ms, (unsigned long long)counts->calls,
           (unsigned long long)counts->transactions, (unsigned long long)counts->checks);
    if (request->options.world == TS_SIM_WORLD_FLEET)
        print_json_units(counts);
    else
        print_json_operations(counts);
    print_json_troubles(counts);
    printf(",\"seconds\":%.3f,\"steps_per_second\":%llu}\n", (double)summary->took_ns / 1e9,
           (unsigned long long)per_second(counts->steps + counts->calm_steps, summary->took_ns));
}

/* Prints a title, and on the same line the numbers above 0 with their names. */
static void print_numbers(const char *title, const char *const *names, const uint64_t *numbers,
                          size_t count) {
    printf("%s:", title);
    const char *comma = "";
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] == 0)
            continue;
        printf("%s %s %llu", comma, names[i], (unsigned long long)numbers[i]);
        comma = ",";
    }
    printf("\n");
}

static void print_operations(const struct ts_sim_counts *counts) {
    printf("%-16s %10s %10s %10s\n", "operation", "executed", "replayed", "refused");
    for (size_t i = 0; i < TS_SIM_OPERATION_COUNT; i++)
        printf("%-16s %10llu %10llu %10llu\n", operation_names[i], (unsigned long long)counts->executed[i],
               (unsigned long long)counts->replayed[i], (unsigned long long)counts->refused[i]);
    printf("errors:");
    for (size_t i = 1; i < TS_SIM_ERRORS_MAX; i++) {
        if (counts->errors[i] != 0)
            printf(" %s %llu", ts_error_variant_name((enum ts_error_variant)i),
                   (unsigned long long)counts->errors[i]);
    }
    printf(" (unknown %llu)\n", (unsigned long long)counts->unknown);
}

static void print_counts(const struct request *request, const struct ts_sim_counts *counts) {
    if (request->options.world == TS_SIM_WORLD_FLEET) {
        print_numbers("steps of units", wish_names, counts->wishes, TS_WISH_COUNT);
        print_numbers("answers", unit_event_names, counts->unit_events, TS_UNIT_EVENT_COUNT);
    } else {
        print_operations(counts);
    }
    print_numbers("troubles", trouble_names, counts->troubles, TS_SIM_TROUBLE_COUNT);
}

static void print_text(const struct request *request, const struct summary *summary) {
    const struct ts_sim_counts *counts = &summary->counts;
    const uint64_t steps = counts->steps + counts->calm_steps;
    printf(
        "%llu seed%s from %llu, %s: %llu steps, %llu s of virtual time, %llu calls, %llu transactions, %llu "
        "checks\n",
        (unsigned long long)summary->seeds, summary->seeds == 1 ? "" : "s",
        (unsigned long long)request->options.seed, fault_names[request->options.faults],
        (unsigned long long)steps, (unsigned long long)(counts->virtual_ms / 1000),
        (unsigned long long)counts->calls, (unsigned long long)counts->transactions,
        (unsigned long long)counts->checks);
    print_counts(request, counts);
    printf("%.2f s, %llu steps per second, trace hash %016llx\n", (double)summary->took_ns / 1e9,
           (unsigned long long)per_second(steps, summary->took_ns), (unsigned long long)summary->trace_hash);
    if (summary->broken == NULL) {
        printf("holds\n");
        return;
    }
    char again[240];
    format_again(request, summary->seed, again, sizeof again);
    printf("BROKEN: %s: %s\nseed %llu, step %llu; to repeat: %s\n", summary->broken->property,
           summary->broken->text, (unsigned long long)summary->seed,
           (unsigned long long)summary->broken->step, again);
}

/* ---- running ---- */

static void print_trace(void *context, const char *line) {
    (void)context;
    (void)fprintf(stderr, "%s\n", line);
}

static enum cli_exit run_sim(const struct cli_arguments *arguments) {
    struct request request;
    if (!read_request(arguments, &request))
        return CLI_EXIT_USAGE;
    struct summary summary = {0};
    struct ts_sim_result result = {0};
    struct ts_sim_options options = request.options;
    if (arguments->values[SIM_TRACE] != NULL)
        options.trace = print_trace;
    const uint64_t begun = ts_clock_monotonic_ns();
    for (uint64_t i = 0; i < request.count && summary.broken == NULL; i++) {
        options.seed = request.options.seed + i;
        if (!ts_sim_run(&options, &result))
            return cli__complain(CLI_EXIT_INFRASTRUCTURE, "sim: out of memory");
        summary.seeds++;
        summary.seed = options.seed;
        summary.trace_hash = summary.trace_hash * UINT64_C(0x9e3779b97f4a7c15) + result.trace_hash;
        ts_sim_counts_add(&summary.counts, &result.counts);
        if (result.broken)
            summary.broken = &result;
    }
    summary.took_ns = ts_clock_monotonic_ns() - begun;
    if (request.json)
        print_json(&request, &summary);
    else
        print_text(&request, &summary);
    return cli__finish_stdout(summary.broken == NULL ? CLI_EXIT_DONE : CLI_EXIT_FINDINGS);
}

static const struct cli_option sim_options[] = {
    [SIM_WORLD] = {.name = "world",
                   .argument = "KIND",
                   .choices = CLI_CHOICES(TS_SIM_WORLDS),
                   .help =
                       "what to simulate: coordination, or fleets that scan repositories (default: coord)"},
    [SIM_SEED] = {.name = "seed", .argument = "N", .help = "the first seed (default: 1)"},
    [SIM_COUNT] = {.name = "count",
                   .argument = "N",
                   .help = "number of seeds, one after the other (default: 1)"},
    [SIM_STEPS] = {.name = "steps",
                   .argument = "N",
                   .help = "number of steps with faults, before the faults stop (default: 1500)"},
    [SIM_WORKERS] = {.name = "workers",
                     .argument = "N",
                     .help = "number of workers, 1 to 64 "
                             "(default: 5)"},
    [SIM_SHARDS] = {.name = "shards",
                    .argument = "N",
                    .help = "number of shards of each run, 1 to 1000; with --world fleet: number of "
                            "repositories, 1 to 64 (default: 8)"},
    [SIM_STORES] = {.name = "stores", .argument = "N", .help = "number of stores, 1 to 16 (default: 3)"},
    [SIM_FAULTS] = {.name = "faults",
                    .argument = "LEVEL",
                    .choices = CLI_CHOICES(TS_SIM_FAULTS),
                    .help = "how many faults there are (default: stormy)"},
    [SIM_TRACE] = {.name = "trace", .help = "print every event on standard error"},
    [SIM_JSON] = {.name = "json", .help = "print one JSON object"},
#ifdef TS_TEST_BUILD
    [SIM_PLANT] = {.name = "plant",
                   .argument = "RULE",
                   .help = "break this rule of the simulated world on purpose; only in test builds"},
#endif
};

static const struct cli_example sim_examples[] = {
    {"turnstone sim --seed 1 --count 20", "twenty worlds with many faults"},
    {"turnstone sim --world fleet --seed 1 --count 20", "twenty worlds of a fleet that scans repositories"},
    {"turnstone sim --seed 42 --faults radioactive --json", "one world, with its trace hash"},
};

const struct cli_verb cli__verb_sim = {
    .name = "sim",
    .summary = "test coordination and fleets in simulated worlds",
    .description =
        "Simulates workers, stores in memory, clocks and a network in one thread. A seed determines "
        "everything: workers pause, crash in the middle of transactions, use expired leases and repeat "
        "operations; replies are lost, calls arrive late, clocks jump, stores restart. After every step the "
        "contents of the stores are checked: mutual exclusion, fences, cursors, splits, op-logs, runs, "
        "counters and limits. Then the faults stop, and every shard and every run must end.\n\n"
        "In worlds of "
        "a fleet, several runs scan the same repositories at the same time. Repositories change, and mirrors "
        "are damaged. After every step the visible findings of a repository must be exactly its "
        "secrets.\n\n"
        "The same seed and options give the same trace hash on every machine. If a check fails, "
        "it prints what is wrong, the seed and the step, and the command that repeats it, and ends with "
        "status 1.",
    .options = sim_options,
    .option_count = sizeof sim_options / sizeof sim_options[0],
    .examples = sim_examples,
    .example_count = sizeof sim_examples / sizeof sim_examples[0],
    .run = run_sim,
};
