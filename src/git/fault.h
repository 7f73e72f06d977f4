/* Functions that fill in a fault. ret_fault may be NULL everywhere. */
#ifndef TS_GIT_FAULT_H
#define TS_GIT_FAULT_H

#include "git/error.h"

void git__fault_fill(enum ts_git_error error, const char *thing, struct ts_git_fault *ret_fault);
void git__fault_fill_object(enum ts_git_error error, enum ts_git_hash hash, const struct ts_git_oid *oid,
                            const char *thing, struct ts_git_fault *ret_fault);

/* Fills in a fault that concerns a file, a ref or a name. With IO, the fault also keeps errno. Returns
 * error. */
static inline enum ts_git_error git__fault(enum ts_git_error error, const char *thing,
                                           struct ts_git_fault *ret_fault) {
    git__fault_fill(error, thing, ret_fault);
    return error;
}

/* Fills in a fault that concerns an object. `thing` is the file of the object, or NULL. Returns error. */
static inline enum ts_git_error git__fault_object(enum ts_git_error error, enum ts_git_hash hash,
                                                  const struct ts_git_oid *oid, const char *thing,
                                                  struct ts_git_fault *ret_fault) {
    git__fault_fill_object(error, hash, oid, thing, ret_fault);
    return error;
}

/* Sends a fault to a sink, which may be NULL or have no function. */
void git__fault_send(const struct ts_git_fault_sink *sink, const struct ts_git_fault *fault);

#endif
