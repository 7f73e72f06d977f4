/*
 * bench/model: measures how long the scoring model takes for one value. Prints JSON.
 *
 * The values have the lengths of passwords and keys. A figure is the best of several passes, in CPU time.
 */
#include "model_score.h"

#include <stdio.h>
#include <time.h>

enum { PASSES = 5, ROUNDS = 200000 };

static volatile int64_t sink;

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static double best_ns(struct ts_bytes secret) {
    struct detect_sight sight = {.secret = secret,
                                 .name = TS_BYTES("spring.datasource.password"),
                                 .before = TS_BYTES("        properties."),
                                 .rule = "generic-secret"};
    double best = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        uint64_t from = now_ns();
        for (int i = 0; i < ROUNDS; i++)
            sink += detect__model_score(&sight, NULL, NULL);
        double each = (double)(now_ns() - from) / ROUNDS;
        best = best == 0 || each < best ? each : best;
    }
    return best;
}

int main(void) {
    static const char value[] = "Tr33-h0use.Kestrel_41b7/9xQ2+mZ8vN0pLk4JhG6fDs3aYt5rEw1uIo7cXvB2n";
    static const size_t lengths[] = {12, 20, 32, 64};
    (void)best_ns(TS_BYTES("warm"));
    printf("{\"results\": [\n");
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        printf("    {\"name\": \"score\", \"bytes\": %zu, \"ns\": %.0f}%s\n", lengths[i],
               best_ns(ts_bytes_of(value, lengths[i])),
               i + 1 < sizeof lengths / sizeof lengths[0] ? "," : "");
    printf("]}\n");
    return 0;
}
