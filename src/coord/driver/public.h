/*
 * Shared by the files that implement turnstone/coord.h.
 */
#ifndef TS_COORD_DRIVER_PUBLIC_H
#define TS_COORD_DRIVER_PUBLIC_H

#include "coord/driver/coord.h"
#include "coord/driver/session.h"
#include "turnstone/coord.h"

struct ts_coord_answer {
    enum ts_error_variant variant;
    struct ts_coord_detail detail;
    bool is_replay;
    char text[640];
};

struct ts_shard_info {
    const struct ts_coord_shard_view *view;
};

/* Clears and returns the answer that an operation fills: the caller's, or `own` if the caller passed
 * NULL. */
struct ts_coord_answer *coord__answer_begin(struct ts_coord_answer *given, struct ts_coord_answer *own);

/* Sets the answer's variant, replay flag and text. `outcome` may be NULL. */
void coord__answer_end(struct ts_coord_answer *answer, enum ts_error_variant variant,
                       const struct ts_coord_outcome *outcome);

/* Makes an id from a NUL-terminated name; returns false if the name is not valid. */
bool coord__tenant_named(const char *name, struct ts_tenant_id *ret_tenant);

/* Converts the cursor of a public call: empty parts are absent. */
struct ts_cursor coord__cursor_of(struct ts_bytes key, struct ts_bytes token);

#endif
