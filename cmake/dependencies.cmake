# Foreign libraries, each as an imported target. tools/packages.txt lists the packages that contain them.

find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(jansson REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(libpq REQUIRED IMPORTED_TARGET libpq)
pkg_check_modules(vectorscan REQUIRED IMPORTED_TARGET libhs)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(zlib REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(libdeflate REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(libcurl REQUIRED IMPORTED_TARGET libcurl)
pkg_check_modules(nettle REQUIRED IMPORTED_TARGET nettle)
pkg_check_modules(libarchive REQUIRED IMPORTED_TARGET libarchive)

# Debian 12 has no libblake3; src/base/blake3_portable.c replaces it.
pkg_check_modules(blake3 QUIET IMPORTED_TARGET libblake3)

# Debian's librocksdb-dev has a pkg-config file only in some releases.
find_path(rocksdb_include rocksdb/c.h REQUIRED)
find_library(rocksdb_library rocksdb REQUIRED)
add_library(ts_rocksdb INTERFACE IMPORTED)
target_include_directories(ts_rocksdb SYSTEM INTERFACE ${rocksdb_include})
target_link_libraries(ts_rocksdb INTERFACE ${rocksdb_library})

# ts_late_library(NAME SHARED-LIBRARY TARGET): ts_NAME_late is the headers of TARGET without its library, which is loaded
# when it is needed (src/os/late_library.h). NAME_late_definitions say which to load: the one that was found here, by its
# SONAME, so that the ABI is that of the headers; and the package that has it, by the way Debian names them.
function(ts_late_library name library target)
    execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${library} OUTPUT_VARIABLE headers ERROR_QUIET)
    if(NOT headers MATCHES "SONAME +(lib[^ \n]+)\\.so\\.([^ \n]+)")
        message(FATAL_ERROR "${library} is no shared library with a SONAME; install the development package of ${name}")
    endif()
    set(${name}_late_definitions TS_LATE_SONAME="${CMAKE_MATCH_1}.so.${CMAKE_MATCH_2}"
        TS_LATE_PACKAGE="${CMAKE_MATCH_1}${CMAKE_MATCH_2}" PARENT_SCOPE)
    add_library(ts_${name}_late INTERFACE IMPORTED)
    target_include_directories(ts_${name}_late SYSTEM INTERFACE
        $<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>)
    set_property(GLOBAL APPEND_STRING PROPERTY TS_LATE_LIBRARIES "${name} ${library}\n")
    # As for a linked library, the program in the build folder searches for the library where CMake found it.
    get_filename_component(folder ${library} DIRECTORY)
    if(NOT folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
        list(APPEND CMAKE_BUILD_RPATH ${folder})
        set(CMAKE_BUILD_RPATH ${CMAKE_BUILD_RPATH} PARENT_SCOPE)
    endif()
endfunction()

list(GET libpq_LINK_LIBRARIES 0 libpq_library)
ts_late_library(libpq ${libpq_library} PkgConfig::libpq)
ts_late_library(rocksdb ${rocksdb_library} ts_rocksdb)
list(GET libcurl_LINK_LIBRARIES 0 libcurl_library)
ts_late_library(curl ${libcurl_library} PkgConfig::libcurl)
list(GET libarchive_LINK_LIBRARIES 0 libarchive_library)
ts_late_library(libarchive ${libarchive_library} PkgConfig::libarchive)
# packaging/libraries.py includes them in packages.
get_property(late_libraries GLOBAL PROPERTY TS_LATE_LIBRARIES)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/late_libraries.txt CONTENT "${late_libraries}" @ONLY)

# dlopen, in a separate library where the C library does not contain it.
add_library(ts_dl INTERFACE IMPORTED)
list(TRANSFORM CMAKE_DL_LIBS PREPEND "-l" OUTPUT_VARIABLE dl_flags)
target_link_libraries(ts_dl INTERFACE ${dl_flags})

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

if(TS_TESTS)
    pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)
endif()
