#include "curl_late.h"

struct verify__curl_calls verify__curl;

static const struct ts_late_function functions[] = {VERIFY_CURL_FUNCTIONS(TS_LATE_FUNCTION)};

struct ts_late_library verify__curl_library = {
    .what = "the HTTP library",
    .soname = TS_LATE_SONAME,
    .package = TS_LATE_PACKAGE,
    .functions = functions,
    .function_count = sizeof functions / sizeof functions[0],
};
