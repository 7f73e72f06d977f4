#include "curl_late.h"

struct http__curl_calls http__curl;

static const struct ts_late_function functions[] = {HTTP_CURL_FUNCTIONS(TS_LATE_FUNCTION)};

struct ts_late_library http__curl_library = {
    .what = "the HTTP library",
    .soname = TS_LATE_SONAME,
    .package = TS_LATE_PACKAGE,
    .functions = functions,
    .function_count = sizeof functions / sizeof functions[0],
};
