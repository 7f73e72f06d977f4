#include "archive_late.h"

struct scan__archive_calls scan__archive;

static const struct ts_late_function functions[] = {SCAN_ARCHIVE_FUNCTIONS(TS_LATE_FUNCTION)};

struct ts_late_library scan__archive_library = {
    .what = "the library for archives",
    .soname = TS_LATE_SONAME,
    .package = TS_LATE_PACKAGE,
    .functions = functions,
    .function_count = sizeof functions / sizeof functions[0],
};
