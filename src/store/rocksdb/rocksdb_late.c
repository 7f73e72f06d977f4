#include "rocksdb_late.h"

struct store__rocksdb store__rocksdb;

static const struct ts_late_function functions[] = {STORE_ROCKSDB_FUNCTIONS(TS_LATE_FUNCTION)};

struct ts_late_library store__rocksdb_library = {
    .what = "RocksDB's library",
    .soname = TS_LATE_SONAME,
    .package = TS_LATE_PACKAGE,
    .functions = functions,
    .function_count = sizeof functions / sizeof functions[0],
};
