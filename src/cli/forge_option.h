/*
 * The options of verbs that send requests: to forges, which list repositories, or to issuers of secrets.
 */
#ifndef TS_CLI_FORGE_OPTION_H
#define TS_CLI_FORGE_OPTION_H

#include "verb.h"

#include "discover/discover.h"

#include <stdint.h>

enum { CLI_TIMEOUT_MAX_S = 300, CLI_RATE_MAX = 100 };

/* Reads a count from 1 to max. If the text is NULL, *count is unchanged. Prints an error when the text is
 * wrong. */
enum cli_exit cli__count_read(const char *verb, const char *name, const char *text, uint32_t max,
                              uint32_t *count);

/* Prints an error if the file of --ca is not readable. */
enum cli_exit cli__ca_check(const char *verb, const char *file);

/* These options are consecutive in a verb's option table; the first has the index `first`. */
enum {
    FORGE_TOKENS,
    FORGE_CA,
    FORGE_TIMEOUT,
    FORGE_RATE,
    FORGE_NO_ARCHIVED,
    FORGE_NO_FORKS,
    FORGE_SSH,
    FORGE_OPTIONS,
};

#define CLI_FORGE_OPTIONS(first)                                                                             \
    [(first) +                                                                                               \
        FORGE_TOKENS] = {.name = "tokens",                                                                   \
                         .argument = "FILE",                                                                 \
                         .help =                                                                             \
                             "tokens for forges: a file that only its owner can read, with a line 'HOST "    \
                             "TOKEN' for each host (default: none)"},                                        \
        [(first) + FORGE_CA] = {.name = "ca",                                                                \
                                .argument = "FILE",                                                          \
                                .help =                                                                      \
                                    "for forges, trust the certificates of this PEM file instead of the "    \
                                    "system's"},                                                             \
        [(first) + FORGE_TIMEOUT] = {.name = "timeout",                                                      \
                                     .argument = "SECONDS",                                                  \
                                     .help =                                                                 \
                                         "wait at most this long for an answer of a forge, from 1 to 300 "   \
                                         "seconds (default: 30)"},                                           \
        [(first) + FORGE_RATE] =                                                                             \
            {.name = "rate",                                                                                 \
             .argument = "COUNT",                                                                            \
             .help = "send at most COUNT requests a second to a forge, from 1 to 100 (default: 10)"},        \
        [(first) + FORGE_NO_ARCHIVED] = {.name = "no-archived",                                              \
                                         .help = "leave out repositories that the forge has archived"},      \
        [(first) + FORGE_NO_FORKS] = {.name = "no-forks",                                                    \
                                      .help = "leave out repositories that the forge lists as forks"},       \
        [(first) + FORGE_SSH] = {                                                                            \
            .name = "ssh",                                                                                   \
            .help = "fetch the repositories of forges by ssh as the user git (default: by https)"}

#define CLI_FORGE_VARIABLES                                                                                  \
    {"GITHUB_TOKEN", "the token for github.com, if --tokens has none"},                                      \
        {"GITLAB_TOKEN", "the token for gitlab.com, if --tokens has none"},                                  \
        {"BITBUCKET_TOKEN", "the token for bitbucket.org, if --tokens has none"}, {                          \
        "HTTPS_PROXY", "the proxy for requests to forges (default: none)"                                    \
    }

/* Reads the options, or prints what is wrong. ret_options points into the arguments. */
enum cli_exit cli__forge_options_read(const char *verb, const struct cli_arguments *arguments, size_t first,
                                      struct ts_discover_options *ret_options);

/* Returns whether the command line has one of these options. */
bool cli__forge_options_are_given(const struct cli_arguments *arguments, size_t first);

#endif
