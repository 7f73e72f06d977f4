/*
 * What scans leave for later ones, in the user's state folder: an embedded store of this project, of which one process at a
 * time has the use.
 *
 *     FOLDER/scan.lock    held while a scan uses the store
 *     FOLDER/scan/        the store: docs/formats/state.md has its keys and values
 *
 * It is a cache. What cannot be opened or written costs time and a note, never a finding; what is damaged is removed and
 * made anew.
 */
#ifndef TS_SCAN_STATE_H
#define TS_SCAN_STATE_H

#include "faults.h"

#include "turnstone/store.h"

struct scan_state;

/* NULL, and a note that says why, when it cannot be used. */
struct scan_state *scan__state_open(const char *folder, struct scan_faults *faults);
void scan__state_close(struct scan_state *state);

/* Every row whose key begins with prefix, in order, until the callback says false: the value is not sound. False when
 * something was damaged: then a note says so, and the store is empty. */
typedef bool scan_state_row(void *ctx, struct ts_bytes key, struct ts_bytes value);
bool scan__state_each(struct scan_state *state, struct ts_bytes prefix, scan_state_row *row, void *ctx);

/* All or nothing, and durable. False when it could not be written: nothing more will be, and a note says so. */
bool scan__state_apply(struct scan_state *state, const struct ts_op *ops, size_t count);

/* Removes every row whose key begins with prefix. */
void scan__state_drop(struct scan_state *state, struct ts_bytes prefix);

#endif
