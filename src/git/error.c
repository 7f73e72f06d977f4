#include "git/error.h"

#include "base/assert.h"
#include "base/redact.h"
#include "fault.h"

#include <errno.h>
#include <stdio.h>

#define REASON(suffix, reason, cure) (reason),
static const char *const reasons[] = {TS_GIT_ERRORS(REASON)};
#undef REASON
#define CURE(suffix, reason, cure) (cure),
static const char *const cures[] = {TS_GIT_ERRORS(CURE)};
#undef CURE

/* Returns the reason of the error, from the table. */
static const char *reason_of(enum ts_git_error error) {
    ts_assert((size_t)error < TS_GIT_ERROR_COUNT);
    return reasons[error];
}

const char *ts_git_fault_describe(const struct ts_git_fault *fault, char *ret_text, size_t size) {
    char oid[TS_GIT_OID_HEX_SIZE] = "";
    if (fault->has_oid)
        (void)ts_git_oid_format(fault->hash, &fault->oid, oid);
    const char *object = fault->has_oid ? "object " : "";
    const char *in = fault->has_oid && fault->thing[0] != '\0' ? " in " : "";
    char os_text[128] = "";
    const char *why = cures[fault->error];
    if (fault->os_error != 0) {
        /* The GNU variant of strerror_r may return a text that is not in the buffer. */
        why = strerror_r(fault->os_error, os_text, sizeof os_text);
    }
    (void)snprintf(ret_text, size, "%s%s%s%s: %s%s%s", object, oid, in, fault->thing, reason_of(fault->error),
                   why[0] != '\0' ? "; " : "", why);
    return ret_text;
}

void git__fault_fill(enum ts_git_error error, const char *thing, struct ts_git_fault *ret_fault) {
    int os_error = error == TS_GIT_IO ? errno : 0;
    if (ret_fault == NULL)
        return;
    *ret_fault = (struct ts_git_fault){.error = error, .os_error = os_error};
    if (thing != NULL)
        (void)ts_text_escape(ts_bytes_of_cstring(thing), ret_fault->thing, sizeof ret_fault->thing);
}

void git__fault_fill_object(enum ts_git_error error, enum ts_git_hash hash, const struct ts_git_oid *oid,
                            const char *thing, struct ts_git_fault *ret_fault) {
    git__fault_fill(error, thing, ret_fault);
    if (ret_fault == NULL)
        return;
    ret_fault->has_oid = true;
    ret_fault->hash = hash;
    ret_fault->oid = *oid;
}

void git__fault_send(const struct ts_git_fault_sink *sink, const struct ts_git_fault *fault) {
    if (sink != NULL && sink->take != NULL)
        sink->take(sink->ctx, fault);
}
