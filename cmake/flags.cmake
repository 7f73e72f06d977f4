# The compiler flags of every C file of the project. Targets get them by linking ts_flags. Headers that are
# compiled alone use ts_flags_alone, because banned.h includes system headers.

add_library(ts_flags_alone INTERFACE)
add_library(ts_flags INTERFACE)
target_link_libraries(ts_flags INTERFACE ts_flags_alone)

# Unsafe library functions do not compile.
target_compile_options(ts_flags INTERFACE -include ${CMAKE_SOURCE_DIR}/src/base/banned.h)

target_compile_definitions(ts_flags_alone INTERFACE _GNU_SOURCE $<$<BOOL:${TS_TEST_BUILD}>:TS_TEST_BUILD=1>)

target_compile_options(ts_flags_alone INTERFACE
    -Wall -Wextra -Wpedantic -Werror -Wconversion -Wsign-conversion -Wshadow -Wswitch-enum -Wenum-conversion
    -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla -Wformat=2 -Wcast-qual -Wwrite-strings
    -fno-common
    # Paths in messages and debug information do not depend on the location of the tree.
    -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)

if(TS_SANITIZE)
    target_compile_options(ts_flags_alone INTERFACE -fsanitize=${TS_SANITIZE} -fno-sanitize-recover=all
                                              -fno-omit-frame-pointer)
    target_link_options(ts_flags_alone INTERFACE -fsanitize=${TS_SANITIZE})
endif()

if(TS_HARDEN)
    include(CheckPIESupported)
    check_pie_supported(LANGUAGES C)
    target_compile_options(ts_flags_alone INTERFACE -fstack-protector-strong -fstack-clash-protection
                                              -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
    target_link_options(ts_flags_alone INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
