/*
 * The options for mirrors of repositories on servers.
 */
#ifndef TS_CLI_MIRROR_OPTIONS_H
#define TS_CLI_MIRROR_OPTIONS_H

#include "exit_status.h"
#include "verb.h"

#include "runtime/mirror/mirror.h"

/* These options are consecutive in a verb's option table; the first has the index `base`. */
enum {
    MIRROR_OPTION_ROOT,
    MIRROR_OPTION_QUOTA,
    MIRROR_OPTION_MAX,
    MIRROR_OPTION_CREDENTIALS,
    MIRROR_OPTION_PROTOCOLS,
    MIRROR_OPTION_TIMEOUT,
    MIRROR_OPTION_STALL,
    MIRROR_OPTION_MEMORY,
    MIRROR_OPTIONS,
};

#define CLI_MIRROR_OPTIONS(base)                                                                             \
    [(base) +                                                                                                \
        MIRROR_OPTION_ROOT] = {.name = "mirrors",                                                            \
                               .argument = "DIR",                                                            \
                               .help = "folder for mirrors of repositories on servers (default: "            \
                                       "turnstone/mirrors in XDG_CACHE_HOME)"},                              \
        [(base) + MIRROR_OPTION_QUOTA] = {.name = "mirror-quota",                                            \
                                          .argument = "SIZE",                                                \
                                          .help =                                                            \
                                              "use at most SIZE for all mirrors; remove those that were "    \
                                              "used longest ago (default: 50G)"},                            \
        [(base) + MIRROR_OPTION_MAX] = {.name = "mirror-max",                                                \
                                        .argument = "SIZE",                                                  \
                                        .help = "park targets whose mirror would be larger (default: 10G)"}, \
        [(base) + MIRROR_OPTION_CREDENTIALS] = {.name = "credentials",                                       \
                                                .argument = "FILE",                                          \
                                                .help =                                                      \
                                                    "passwords, keys, certificates and proxies by host; "    \
                                                    "docs/fleet.md describes the file"},                     \
        [(base) + MIRROR_OPTION_PROTOCOLS] = {.name = "protocols",                                           \
                                              .argument = "LIST",                                            \
                                              .help =                                                        \
                                                  "allowed protocols of addresses, separated by commas: "    \
                                                  "https, ssh, http, git (default: https,ssh)"},             \
        [(base) + MIRROR_OPTION_TIMEOUT] = {.name = "fetch-timeout",                                         \
                                            .argument = "TIME",                                              \
                                            .help = "end a fetch that takes longer (default: 1h)"},          \
        [(base) + MIRROR_OPTION_STALL] =                                                                     \
            {.name = "fetch-stall",                                                                          \
             .argument = "TIME",                                                                             \
             .help = "end a fetch that gets less than 1,000 bytes per second for this long (default: 60s)"}, \
        [(base) + MIRROR_OPTION_MEMORY] = {                                                                  \
            .name = "fetch-memory",                                                                          \
            .argument = "SIZE",                                                                              \
            .help = "park targets for which a process of git needs more memory (default: 4G)"}

struct cli_mirrors {
    struct ts_mirrors_options options;
    char protocols[64];
    char root[4096];
};

/* Reads the options, which begin at the index `base`. Reads the file of credentials once, to report its
 * errors. */
enum cli_exit cli__mirrors_read(const char *verb, const struct cli_arguments *arguments, size_t base,
                                struct cli_mirrors *ret_mirrors);

#endif
