#include "rocksdb_late.h"

struct store__rocksdb store__rocksdb;

static const struct store__library_function functions[] = {STORE_ROCKSDB_FUNCTIONS(STORE_LIBRARY_FUNCTION)};

struct store__library store__rocksdb_library = {
    .what = "RocksDB's library",
    .soname = STORE_LIBRARY_SONAME,
    .package = STORE_LIBRARY_PACKAGE,
    .functions = functions,
    .function_count = sizeof functions / sizeof functions[0],
};
