/*
 * The prefix aggregator: computes, only from receipts, up to which key a shard is done without a gap.
 *
 * A shard has one target T. The frontier is T once a part of the target is durable, and T ff when the unit is
 * done. Only receipts of durable.h (items and units) move the frontier.
 */
#ifndef TS_RUNTIME_DURABLE_FRONTIER_H
#define TS_RUNTIME_DURABLE_FRONTIER_H

#include "runtime/core/fleet_keys.h"

struct ts_item_receipt;
struct ts_unit_receipt;
struct ts_frontier;

enum { TS_FRONTIER_KEY_MAX = TS_TARGET_ID_LEN + 1, TS_FRONTIER_TOKEN_MAX = 64 };

/* A cursor, and the op id of the operation that moves it. The same cursor has the same op id, so that a
 * repetition is recognised as a replay. */
struct ts_frontier_cursor {
    uint8_t key[TS_FRONTIER_KEY_MAX];
    size_t key_len;
    uint8_t token[TS_FRONTIER_TOKEN_MAX]; /* attempt, parts, objects */
    size_t token_len;
    uint64_t op_id;
};

/* Returns NULL when memory runs out. */
struct ts_frontier *ts_frontier_new(void);
void ts_frontier_free(struct ts_frontier *frontier); /* accepts NULL */
void ts_frontier_clear(struct ts_frontier *frontier);

void ts_frontier_add_item(struct ts_frontier *frontier, const struct ts_item_receipt *item);
void ts_frontier_add_unit(struct ts_frontier *frontier, const struct ts_unit_receipt *unit);

/* Computes the cursor for the frontier. Returns false if nothing is durable. */
bool ts_frontier_cursor(const struct ts_frontier *frontier, struct ts_frontier_cursor *ret_cursor);

/* Returns whether the whole range is done. */
bool ts_frontier_is_complete(const struct ts_frontier *frontier);

#endif
