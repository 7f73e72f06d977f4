/* Filling in a fault. ret_fault may be NULL everywhere; each of these returns the error. */
#ifndef TS_GIT_FAULT_H
#define TS_GIT_FAULT_H

#include "git/error.h"

/* About a file, a ref or a name; with IO the current errno is kept. */
enum ts_git_error git__fault(enum ts_git_error error, const char *thing, struct ts_git_fault *ret_fault);

/* About an object, in the file `thing` unless that is NULL. */
enum ts_git_error git__fault_object(enum ts_git_error error, enum ts_git_hash hash,
                                    const struct ts_git_oid *oid, const char *thing,
                                    struct ts_git_fault *ret_fault);

/* To a sink that may be NULL or have no function. */
void git__fault_send(const struct ts_git_fault_sink *sink, const struct ts_git_fault *fault);

#endif
