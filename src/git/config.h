/*
 * Reads only the needed parts of a repository's configuration: its format, whether it is bare, whether it is
 * a partial clone (which may lack objects), and the values that git__config_each searches for. Includes,
 * hooks, filters, aliases and everything else are ignored.
 */
#ifndef TS_GIT_CONFIG_H
#define TS_GIT_CONFIG_H

#include "fault.h"

struct git__config {
    enum ts_git_hash hash;
    bool is_bare;
    bool is_partial; /* a promisor remote is configured */
};

/* Reads the configuration. Returns OK even if the file does not exist. */
enum ts_git_error git__config_read(const char *path, struct git__config *ret_config,
                                   struct ts_git_fault *ret_fault);

/* Passes the values of section.subsection.name in a file to `take`, in order; subsection may be NULL. An
 * invalid line ends the reading. Values are truncated to 1023 bytes. */
void git__config_each(const char *path, const char *section, const char *subsection, const char *name,
                      void (*take)(void *ctx, const char *value), void *ctx);

/* Like git__config_read, but parses `text`. `path` is for messages. */
enum ts_git_error git__config_parse(struct ts_bytes text, const char *path, struct git__config *ret_config,
                                    struct ts_git_fault *ret_fault);

#endif
