/*
 * Threads that repeat one step for some time: the bare loops that Turnstone is compared with. Their keys and
 * values have the sizes of those in 'turnstone bench'.
 */
#ifndef TS_BENCH_LOOP_H
#define TS_BENCH_LOOP_H

#include <stdbool.h>
#include <stdint.h>

enum { LOOP_KEY_LEN = 14, LOOP_VALUE_LEN = 64, LOOP_KEYS = 10000 };

struct loop_options {
    const char *name; /* name of the loop in the JSON */
    uint32_t threads;
    double seconds;
    void *shared;
    /* Makes the state of one thread. On failure it prints the reason and returns NULL, which ends the program
     * with status 6. */
    void *(*begin)(void *shared, uint32_t thread);
    /* Runs one transaction. On failure it prints the reason and returns false, which ends the program with
     * status 6. */
    bool (*step)(void *mine, uint64_t turn);
    void (*end)(void *mine);
};

/* Runs the loop and prints one JSON line: loop, threads, seconds, transactions, per_second, p50_us, p99_us.
 * Returns the exit status of the program. */
int loop_run(const struct loop_options *options);

/* Writes "bench/" and eight hexadecimal digits. */
void loop_key(uint64_t number, char ret_key[LOOP_KEY_LEN + 1]);

/* Parses the numbers of the command line. On failure prints which numbers are allowed, and returns false. */
bool loop_numbers(const char *threads, const char *seconds, struct loop_options *ret_options);

#endif
