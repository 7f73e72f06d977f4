/*
 * Lists the repositories of an organisation, group, workspace or user, with the API of the forge.
 *
 *     github://github.com/OWNER       also GitHub Enterprise Server
 *     gitlab://gitlab.com/GROUP/…     with all subgroups
 *     gitea://codeberg.org/OWNER      also Forgejo
 *     bitbucket://bitbucket.org/WORKSPACE
 */
#ifndef TS_DISCOVER_DISCOVER_H
#define TS_DISCOVER_DISCOVER_H

#include "os/arena.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Options for requests to a forge, and the kinds of repositories that are omitted. */
struct ts_discover_options {
    const char *tokens_file; /* file with lines HOST TOKEN; NULL: only tokens from the environment */
    const char *ca_file;     /* certificates to trust instead of the system's; NULL: the system's */
    unsigned timeout_s;      /* timeout of one request, at least 1 */
    unsigned per_second;     /* limit of requests per second, at least 1 */
    bool no_archived;
    bool no_forks;
    bool ssh;                /* addresses begin with ssh:// instead of https:// */
    const atomic_bool *stop; /* when it is set, all requests end soon; NULL: never */
};

#define TS_DISCOVER_TIMEOUT_S  30u
#define TS_DISCOVER_PER_SECOND 10u /* GitHub allows 15 requests per second */

/* The repositories that a forge lists, in the order of the forge. The caller zero-initialises the struct and
 * releases it. */
struct ts_discovered {
    const char **addresses;
    size_t count;
    size_t capacity;
    struct ts_arena arena;
};

enum ts_discover_result {
    TS_DISCOVER_OK,
    TS_DISCOVER_WRONG,  /* the request or an option is wrong; or the forge redirects, or lacks the owner */
    TS_DISCOVER_FAILED, /* the forge cannot be asked, or its answer is unusable */
    TS_DISCOVER_NO_MEMORY,
};

/* One line that is safe to print: it has no part of the request, a token or an answer. */
struct ts_discover_error {
    char text[240];
};

/* Whether the text is a request to a forge: a forge's name, then "://". */
bool ts_discover_is_request(const char *text);

/* Checks a request without sending it. Returns NULL, or the reason why it is wrong, which continues a
 * sentence that begins with "the request". */
const char *ts_discover_check(const char *request);

/* Asks a forge page after page, and appends the addresses. On failure the list may contain some of the
 * addresses. */
enum ts_discover_result ts_discover(const struct ts_discover_options *options, const char *request,
                                    struct ts_discovered *list, struct ts_discover_error *ret_error);
void ts_discovered_release(struct ts_discovered *list);

#endif
