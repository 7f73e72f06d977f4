/*
 * A decorator that reports every call when it ends, one line each:
 *
 *     prepare ts.7f.3 check [12 bytes #91c4] 17, put [12 bytes #91c4] [40 bytes] -> ok, 312 us
 *
 * Keys and values are shown by their lengths. The number after a key is 16 bits of its hash: enough to follow
 * one key through a trace, too little to guess it.
 */
#ifndef TS_STORE_DECORATORS_TRACE_H
#define TS_STORE_DECORATORS_TRACE_H

#include "store/contract/engine.h"

struct ts_trace_options {
    /* Takes one line without its newline. May be called by several threads at once. */
    void (*line)(void *context, const char *line);
    void *context;
};

/* For options.line, with a FILE * as its context. */
void ts_trace_to_file(void *file, const char *line);

/* Owns the inner store: closing the trace closes it. Returns NULL when memory runs out; the caller then keeps
 * the store. */
struct ts_store *ts_trace_new(struct ts_store *inside, const struct ts_trace_options *options);

#endif
