# What every C file of the project is compiled with. Targets take these by linking ts_flags.

add_library(ts_flags INTERFACE)

target_compile_definitions(ts_flags INTERFACE _GNU_SOURCE TS_VERSION="${PROJECT_VERSION}"
    $<$<BOOL:${TS_TEST_BUILD}>:TS_TEST_BUILD=1>)

target_compile_options(ts_flags INTERFACE
    -Wall -Wextra -Wpedantic -Werror -Wconversion -Wsign-conversion -Wshadow -Wswitch-enum -Wenum-conversion
    -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla -Wformat=2 -Wcast-qual -Wwrite-strings
    -fno-common
    # Paths in messages and debug information do not depend on where the tree lies.
    -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=
    # Unsafe library functions do not compile.
    -include ${CMAKE_SOURCE_DIR}/src/base/banned.h)

if(TS_SANITIZE)
    target_compile_options(ts_flags INTERFACE -fsanitize=${TS_SANITIZE} -fno-sanitize-recover=all
                                              -fno-omit-frame-pointer)
    target_link_options(ts_flags INTERFACE -fsanitize=${TS_SANITIZE})
endif()

if(TS_HARDEN)
    include(CheckPIESupported)
    check_pie_supported(LANGUAGES C)
    target_compile_options(ts_flags INTERFACE -fstack-protector-strong -fstack-clash-protection
                                              -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
    target_link_options(ts_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
