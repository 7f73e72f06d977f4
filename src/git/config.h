/*
 * A repository's configuration, only as far as needed to read it safely: its format, and whether parts of it
 * are elsewhere by design. Includes, hooks, filters, aliases and everything else are ignored.
 */
#ifndef TS_GIT_CONFIG_H
#define TS_GIT_CONFIG_H

#include "fault.h"

struct git__config {
    enum ts_git_hash hash;
    bool is_bare;
    bool is_partial; /* a promisor remote is configured */
};

/* Also OK if there is no such file. */
enum ts_git_error git__config_read(const char *path, struct git__config *ret_config,
                                   struct ts_git_fault *ret_fault);

/* The values of section.subsection.name in a file, in order, each given to take; the subsection is NULL for none. What is not valid
 * ends the reading. Values beyond 1023 bytes are cut. */
void git__config_each(const char *path, const char *section, const char *subsection, const char *name,
                      void (*take)(void *ctx, const char *value), void *ctx);

/* The same on bytes; `path` is for messages. */
enum ts_git_error git__config_parse(struct ts_bytes text, const char *path, struct git__config *ret_config,
                                    struct ts_git_fault *ret_fault);

#endif
