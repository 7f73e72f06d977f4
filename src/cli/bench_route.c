/*
 * turnstone bench route: measures the cost of one call of the router, for each strategy, compared with a bare
 * loop that does the same work.
 *
 * Ids are random and drawn before the clock starts. Results are summed, so that the compiler cannot remove
 * the calls. A figure is the best of many short trials: the cost when nothing else runs on the core.
 */
#include "complain.h"
#include "output.h"
#include "verbs.h"

#include "base/assert.h"
#include "base/hash64.h"
#include "base/prng.h"
#include "os/clock.h"
#include "os/out_json.h"
#include "turnstone/route.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { IDS = 1 << 15, TRIALS = 60, STORES = 16 };

enum { BENCH_JSON };

static uint64_t ids[IDS];

/* Receives the sums, so that the compiler must compute them. */
static volatile uint64_t sink;

/* The starts of the ranges in ascending order, which bare_search searches. */
struct sorted_starts {
    const uint64_t *starts;
    size_t count;
};

typedef uint64_t sum_of_answers(const void *context);

static uint64_t route_all(const void *context) {
    const struct ts_router *router = context;
    uint64_t sum = 0;
    for (size_t i = 0; i < IDS; i++)
        sum += ts_router_route(router, ids[i]).v;
    return sum;
}

static uint64_t bare_nothing(const void *context) {
    (void)context;
    uint64_t sum = 0;
    for (size_t i = 0; i < IDS; i++)
        sum += ids[i];
    return sum;
}

static uint64_t bare_xxh64(const void *context) {
    uint32_t count = *(const volatile uint32_t *)context;
    uint64_t sum = 0;
    for (size_t i = 0; i < IDS; i++)
        sum += ts_xxh64_of_id(ids[i]) % count;
    return sum;
}

static uint64_t bare_fnv1a(const void *context) {
    uint32_t count = *(const volatile uint32_t *)context;
    uint64_t sum = 0;
    for (size_t i = 0; i < IDS; i++)
        sum += (uint16_t)ts_fnv1a64_of_id(ids[i]) % count;
    return sum;
}

static uint64_t bare_jump(const void *context) {
    int64_t count = *(const volatile uint32_t *)context;
    uint64_t sum = 0;
    for (size_t i = 0; i < IDS; i++) {
        uint64_t key = ids[i];
        int64_t bucket = -1;
        for (int64_t next = 0; next < count;) {
            bucket = next;
            key = key * 2862933555777941757U + 1;
            next = (int64_t)((double)(bucket + 1) * ((double)(1LL << 31) / (double)((key >> 33) + 1)));
        }
        sum += (uint64_t)bucket;
    }
    return sum;
}

/* Returns the sum of the results of a textbook binary search for each id. */
static uint64_t bare_search(const void *context) {
    const struct sorted_starts *sorted = context;
    uint64_t sum = 0;
    for (size_t i = 0; i < IDS; i++) {
        size_t low = 0;
        size_t high = sorted->count;
        while (high - low > 1) {
            size_t middle = low + (high - low) / 2;
            if (sorted->starts[middle] <= ids[i])
                low = middle;
            else
                high = middle;
        }
        sum += low;
    }
    return sum;
}

static double best_ns(sum_of_answers *run, const void *context) {
    uint64_t best = UINT64_MAX;
    for (int trial = 0; trial < TRIALS; trial++) {
        uint64_t before = ts_clock_monotonic_ns();
        sink = sink + run(context);
        uint64_t took = ts_clock_monotonic_ns() - before;
        if (took < best)
            best = took;
    }
    return (double)best / (double)IDS;
}

struct figure {
    const char *name;
    size_t ranges;
    double aim_ns; /* 0: no aim */
    const char *beside;
    sum_of_answers *bare;
    double ns;
    double bare_ns;
};

static void measure_hash(struct figure *figure, enum ts_router_strategy strategy) {
    struct ts_router router;
    const uint32_t count = STORES;
    enum ts_router_error error = ts_router_init_hash(strategy, count, &router, NULL);
    ts_assert(error == TS_ROUTER_OK);
    ts_assert(route_all(&router) == figure->bare(&count));
    figure->ns = best_ns(route_all, &router);
    figure->bare_ns = best_ns(figure->bare, &count);
}

static void measure_single(struct figure *figure) {
    struct ts_router router;
    ts_router_init_single(&router);
    figure->ns = best_ns(route_all, &router);
    figure->bare_ns = best_ns(figure->bare, NULL);
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Measures ranges of random sizes. Their borders are drawn like ids, which is the hardest case for the branch
 * predictor. */
static bool measure_ranges(struct figure *figure, struct ts_prng *prng) {
    size_t count = figure->ranges;
    size_t memory_size = ts_router_range_memory(count);
    uint64_t *starts = calloc(count, sizeof *starts);
    struct ts_router_range *ranges = calloc(count, sizeof *ranges);
    void *memory = malloc(memory_size);
    bool ok = starts && ranges && memory;
    if (ok) {
        for (size_t i = 1; i < count; i++)
            starts[i] = ts_prng_next(prng);
        qsort(starts, count, sizeof *starts, by_value);
        for (size_t i = 0; i < count; i++) {
            ranges[i].store.v = (uint32_t)i;
            ranges[i].start = starts[i];
            ranges[i].end = i + 1 < count ? starts[i + 1] : UINT64_MAX;
        }
        struct ts_router router;
        enum ts_router_error error = ts_router_init_range(ranges, count, memory, memory_size, &router, NULL);
        ts_assert(error == TS_ROUTER_OK); /* two equal borders are practically impossible */
        struct sorted_starts sorted = {starts, count};
        ts_assert(route_all(&router) == figure->bare(&sorted));
        figure->ns = best_ns(route_all, &router);
        figure->bare_ns = best_ns(figure->bare, &sorted);
    }
    free(memory);
    free(ranges);
    free(starts);
    return ok;
}

static void print_json(const struct figure *figures, size_t count) {
    printf(
        "{\"bench\":\"route\",\"unit\":\"ns per call\",\"stores\":%d,\"ids\":%d,\"trials\":%d,\"results\":[",
        STORES, IDS, TRIALS);
    for (size_t i = 0; i < count; i++) {
        const struct figure *figure = &figures[i];
        printf("%s{\"name\":\"%s\"", ts_json_separator(i, ","), figure->name);
        if (figure->ranges)
            printf(",\"ranges\":%zu", figure->ranges);
        printf(",\"ns\":%.2f", figure->ns);
        if (figure->aim_ns > 0)
            printf(",\"aim_ns\":%.0f", figure->aim_ns);
        printf(",\"beside\":\"%s\",\"beside_ns\":%.2f,\"ratio\":%.2f}", figure->beside, figure->bare_ns,
               figure->ns / figure->bare_ns);
    }
    puts("]}");
}

static void print_text(const struct figure *figures, size_t count) {
    printf("%-14s %8s %8s  %-28s %8s %6s\n", "strategy", "ns", "aim", "compared with", "ns", "ratio");
    for (size_t i = 0; i < count; i++) {
        const struct figure *figure = &figures[i];
        char name[32];
        char aim[16] = "";
        if (figure->ranges)
            snprintf(name, sizeof name, "%s %zu", figure->name, figure->ranges);
        else
            snprintf(name, sizeof name, "%s", figure->name);
        if (figure->aim_ns > 0)
            snprintf(aim, sizeof aim, "%.0f", figure->aim_ns);
        printf("%-14s %8.2f %8s  %-28s %8.2f %6.2f\n", name, figure->ns, aim, figure->beside, figure->bare_ns,
               figure->ns / figure->bare_ns);
    }
}

static enum cli_exit run_bench_route(const struct cli_arguments *arguments) {
    struct figure figures[] = {
        {"single", 0, 0, "a loop that adds the ids", bare_nothing, 0, 0},
        {"xxh64", 0, 6, "XXH64 and %", bare_xxh64, 0, 0},
        {"fnv1a", 0, 0, "FNV-1a and %", bare_fnv1a, 0, 0},
        {"jump", 0, 0, "the published loop", bare_jump, 0, 0},
        {"range", 16, 0, "binary search", bare_search, 0, 0},
        {"range", 1024, 20, "binary search", bare_search, 0, 0},
        {"range", 65536, 60, "binary search", bare_search, 0, 0},
    };
    const size_t count = sizeof figures / sizeof figures[0];

    struct ts_prng prng;
    ts_prng_init(&prng, 1);
    for (size_t i = 0; i < IDS; i++)
        ids[i] = ts_prng_next(&prng);

    measure_single(&figures[0]);
    measure_hash(&figures[1], TS_ROUTER_STRATEGY_XXH64);
    measure_hash(&figures[2], TS_ROUTER_STRATEGY_FNV1A);
    measure_hash(&figures[3], TS_ROUTER_STRATEGY_JUMP);
    for (size_t i = 4; i < count; i++)
        if (!measure_ranges(&figures[i], &prng))
            return cli__complain(CLI_EXIT_INFRASTRUCTURE, "bench route: out of memory");

    if (arguments->values[BENCH_JSON])
        print_json(figures, count);
    else
        print_text(figures, count);
    return cli__finish_stdout(CLI_EXIT_DONE);
}

static const struct cli_option bench_options[] = {
    [BENCH_JSON] = {.name = "json", .help = "print one JSON object"},
};

static const struct cli_example bench_examples[] = {
    {"turnstone bench route --json", "nanoseconds per call, for each strategy"},
};

const struct cli_verb cli__verb_bench_route = {
    .name = "bench route",
    .summary = "measure the cost of routing",
    .description =
        "Measures each strategy on random ids, and in the same run a bare loop that computes the same answers. "
        "To compare machines, compare the ratio of a strategy to the bare loop. Figures are nanoseconds per call, the best of many short "
        "trials. It takes about a second.",
    .options = bench_options,
    .option_count = sizeof bench_options / sizeof bench_options[0],
    .examples = bench_examples,
    .example_count = sizeof bench_examples / sizeof bench_examples[0],
    .run = run_bench_route,
};
