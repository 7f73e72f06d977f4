# Foreign libraries, each as an imported target. tools/packages.txt says which package brings each of them.

find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(zlib REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(libdeflate REQUIRED IMPORTED_TARGET libdeflate)

# Debian 12 has no libblake3; src/base/blake3_portable.c stands in.
pkg_check_modules(blake3 QUIET IMPORTED_TARGET libblake3)

if(TS_TESTS)
    pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)
endif()
