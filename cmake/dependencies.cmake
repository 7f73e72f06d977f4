# Foreign libraries, each as an imported target. tools/packages.txt says which package brings each of them.

find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(jansson REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(libpq REQUIRED IMPORTED_TARGET libpq)
pkg_check_modules(vectorscan REQUIRED IMPORTED_TARGET libhs)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(zlib REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(libdeflate REQUIRED IMPORTED_TARGET libdeflate)

# Debian 12 has no libblake3; src/base/blake3_portable.c stands in.
pkg_check_modules(blake3 QUIET IMPORTED_TARGET libblake3)

# Debian's librocksdb-dev brings a pkg-config file on some releases only.
find_path(rocksdb_include rocksdb/c.h REQUIRED)
find_library(rocksdb_library rocksdb REQUIRED)
add_library(ts_rocksdb INTERFACE IMPORTED)
target_include_directories(ts_rocksdb SYSTEM INTERFACE ${rocksdb_include})
target_link_libraries(ts_rocksdb INTERFACE ${rocksdb_library})

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

if(TS_TESTS)
    pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)
endif()
