/*
 * Threads that do the same thing over and over for a given time, for the loops that Turnstone is compared
 * with. They share nothing with what they are compared with but the keys' and values' sizes.
 */
#ifndef TS_BENCH_LOOP_H
#define TS_BENCH_LOOP_H

#include <stdbool.h>
#include <stdint.h>

enum { LOOP_KEY_LEN = 14, LOOP_VALUE_LEN = 64, LOOP_KEYS = 10000 };

struct loop_options {
    const char *name; /* what the JSON calls it */
    uint32_t threads;
    double seconds;
    void *shared;
    /* Makes what one thread needs; NULL ends the program with status 6, after saying why. */
    void *(*begin)(void *shared, uint32_t thread);
    /* One transaction; false ends the program with status 6, after saying why. */
    bool (*step)(void *mine, uint64_t turn);
    void (*end)(void *mine);
};

/* Runs it and prints one JSON line: loop, threads, seconds, transactions, per_second, p50_us, p99_us. */
int loop_run(const struct loop_options *options);

/* "bench/" and eight hexadecimal digits. */
void loop_key(uint64_t number, char ret_key[LOOP_KEY_LEN + 1]);

/* Numbers of the command line: false, after saying which is wrong. */
bool loop_numbers(const char *threads, const char *seconds, struct loop_options *ret_options);

#endif
