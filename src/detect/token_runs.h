/*
 * Token-shaped runs: 16 or more of A-Za-z0-9_+/=.- with two digits or more among them. Also places where
 * zeros alternate with other bytes, as in UTF-16.
 */
#ifndef TS_DETECT_TOKEN_RUNS_H
#define TS_DETECT_TOKEN_RUNS_H

#include "classify.h"

#include "base/bytes.h"

#include <stdbool.h>

#define DETECT_RUN_MIN    16
#define DETECT_DIGITS_MIN 2

struct detect_run_visitor {
    void *context;
    void (*run)(void *context, struct ts_span run);
    void (*zeros)(void *context, size_t at); /* called for a zero byte that begins four alternating pairs */
    bool any_digits;                         /* also visit runs with fewer than two digits */
};

/*
 * Visits, in order, the runs that have at least 16 bytes inside `within`. A run includes its bytes outside of
 * `within`, up to `stretch` bytes on each side.
 */
void detect__token_runs(detect_classify *classify, struct ts_bytes bytes, struct ts_span within,
                        size_t stretch, const struct detect_run_visitor *visitor);

/* Returns true if the bytes contain a token-shaped run. */
bool detect__has_token_shape(struct ts_bytes bytes);

#endif
