#include "libpq_late.h"

struct store__pq store__pq;

static const struct store__library_function functions[] = {STORE_PQ_FUNCTIONS(STORE_LIBRARY_FUNCTION)};

struct store__library store__pq_library = {
    .what = "PostgreSQL's client library",
    .soname = STORE_LIBRARY_SONAME,
    .package = STORE_LIBRARY_PACKAGE,
    .functions = functions,
    .function_count = sizeof functions / sizeof functions[0],
};
