/*
 * Makes targets with ids from addresses, folders and requests to forges. The same input gives the same
 * targets in the same order, on every machine that has the repositories.
 */
#ifndef TS_RUNTIME_DRIVER_TARGET_LIST_H
#define TS_RUNTIME_DRIVER_TARGET_LIST_H

#include "discover/discover.h"
#include "os/arena.h"
#include "runtime/core/target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ts_target {
    struct ts_target_id id;
    const char *address;   /* normalised; for a repository on this machine, its real path */
    const char *url;       /* the URL that git gets */
    const char *selection; /* normalised */
    const char *format;    /* "sha1" or "sha256" */
};

/* Zero-initialise it; release it. */
struct ts_target_list {
    struct ts_target *items;
    size_t count;
    size_t capacity;
    struct ts_arena arena;
};

struct ts_target_defaults {
    struct ts_bytes tenant;
    struct ts_bytes selection; /* the selection for addresses without one */
    const char *format;        /* object format to assume for repositories on servers */
};

enum ts_target_result {
    TS_TARGET_OK,
    TS_TARGET_WRONG, /* the input is not valid */
    TS_TARGET_IO,    /* something cannot be read */
    TS_TARGET_NO_MEMORY,
};

/* Why the last target was refused. The text never contains the address, which may hold a password. */
struct ts_target_error {
    char text[512];
};

/* Adds an address, or the path of a repository. An empty selection means the default. */
enum ts_target_result ts_target_list_add(struct ts_target_list *list,
                                         const struct ts_target_defaults *defaults, struct ts_bytes address,
                                         struct ts_bytes selection, struct ts_target_error *ret_error);

/* Adds all repositories below a folder, except those inside other repositories. Symbolic links are not
 * followed. */
enum ts_target_result ts_target_list_add_folder(struct ts_target_list *list,
                                                const struct ts_target_defaults *defaults, const char *folder,
                                                struct ts_target_error *ret_error);

/* Adds the repositories that a forge lists for a request (discover/discover.h). */
enum ts_target_result ts_target_list_add_forge(struct ts_target_list *list,
                                               const struct ts_target_defaults *defaults,
                                               const struct ts_discover_options *options, const char *request,
                                               struct ts_target_error *ret_error);

/* Sorts by id, and drops duplicates. */
void ts_target_list_settle(struct ts_target_list *list);
void ts_target_list_release(struct ts_target_list *list);

#endif
