/*
 * Classifies git's messages. The messages come from git, curl, ssh and unknown servers, so no message is ever
 * shown. A message that is not in the table is *unclassified*.
 *
 * A server must not be able to make this machine look faulty, because that would end the worker. So lines
 * that a server can write never count as a fault of the worker. Over ssh a server can write every line, so
 * the caller confirms a fault (sync.c).
 */
#ifndef TS_RUNTIME_MIRROR_CLASSIFY_H
#define TS_RUNTIME_MIRROR_CLASSIFY_H

#include "runtime/mirror/mirror.h"

#include "base/bytes.h"

#include <stdbool.h>

static inline struct ts_mirror_failure mirror__failure_of(enum ts_unit_reason reason) {
    return (struct ts_mirror_failure){.error = ts_unit_error_of(reason)};
}

static inline struct ts_mirror_failure mirror__own_fault(enum ts_fleet_worker_fault_kind kind) {
    return (struct ts_mirror_failure){.is_own = true, .fault = {kind}};
}

struct mirror__verdict {
    struct ts_mirror_failure failure;
    bool is_name; /* a host name was not resolved; resolve.h finds out why */
};

/* Classifies a failed call. `text` is the end of git's standard error, with the HTTP headers
 * (GIT_TRACE_CURL). Lines about a fault of this machine count only if `may_be_own`. */
struct mirror__verdict mirror__classify(struct ts_bytes text, bool may_be_own);

/* Whether the last response over HTTP was made by git on the server. Any other response without lines, such
 * as an empty one, looks to git like an empty repository on a plain file server. */
bool mirror__is_answer_of_git(struct ts_bytes text);

#endif
