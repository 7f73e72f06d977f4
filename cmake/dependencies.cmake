# Foreign libraries, each as an imported target. tools/packages.txt says which package brings each of them.

find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(vectorscan REQUIRED IMPORTED_TARGET libhs)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-0.1)

# Debian 12 has no libblake3; src/base/blake3_portable.c stands in.
pkg_check_modules(blake3 QUIET IMPORTED_TARGET libblake3)

if(TS_TESTS)
    pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)
endif()
