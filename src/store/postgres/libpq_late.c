#include "libpq_late.h"

struct store__pq store__pq;

static const struct ts_late_function functions[] = {STORE_PQ_FUNCTIONS(TS_LATE_FUNCTION)};

struct ts_late_library store__pq_library = {
    .what = "PostgreSQL's client library",
    .soname = TS_LATE_SONAME,
    .package = TS_LATE_PACKAGE,
    .functions = functions,
    .function_count = sizeof functions / sizeof functions[0],
};
