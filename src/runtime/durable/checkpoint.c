/* Moves the shard's cursor to the frontier. Nothing else moves the cursor. */
#include "durable_impl.h"

#include <stdlib.h>

/* Only this file makes receipts of this kind. */
struct ts_checkpoint_receipt {
    struct ts_coord_outcome outcome;
};

static bool reserve(struct ts_durable *durable) {
    if (durable->checkpoint_receipt == NULL)
        durable->checkpoint_receipt = malloc(sizeof *durable->checkpoint_receipt);
    return durable->checkpoint_receipt != NULL;
}

static enum ts_error_variant try_once(struct ts_durable *durable, const struct ts_frontier_cursor *at,
                                      struct ts_coord_outcome *ret_outcome,
                                      struct ts_coord_detail *ret_detail) {
    struct ts_coord_session *session = durable->options.session;
    const struct ts_cursor cursor = {.has_key = true,
                                     .has_token = true,
                                     .last_key = ts_bytes_of(at->key, at->key_len),
                                     .token = ts_bytes_of(at->token, at->token_len)};
    const struct ts_op_id op_id = {at->op_id};
    if (ts_coord_session_lease(session) == NULL)
        return TS_VARIANT_STALE_FENCE;
    return ts_frontier_is_complete(durable->frontier)
               ? ts_complete_error_variant(
                     ts_coord_session_complete(session, op_id, &cursor, ret_outcome, ret_detail))
               : ts_checkpoint_error_variant(
                     ts_coord_session_checkpoint(session, op_id, &cursor, ret_outcome, ret_detail));
}

/* Moves the cursor to the frontier. The op id makes it safe to repeat the operation if its reply was lost. */
static enum ts_durable_end move(struct ts_durable *durable, const struct ts_checkpoint_receipt **ret_receipt,
                                struct ts_durable_detail *ret_detail) {
    struct ts_frontier_cursor at;
    const bool has_cursor = ts_frontier_cursor(durable->frontier, &at);
    ts_assert(has_cursor);
    for (int tries = 0; tries < DURABLE__TRIES; tries++) {
        struct ts_coord_detail detail = {0};
        const enum ts_error_variant error =
            try_once(durable, &at, &durable->checkpoint_receipt->outcome, &detail);
        if (error == TS_VARIANT_NONE) {
            *ret_receipt = durable->checkpoint_receipt;
            return TS_DURABLE_OK;
        }
        const enum ts_durable_end end = durable__lost(error, &detail, ret_detail);
        if (end != TS_DURABLE_UNKNOWN)
            return end;
    }
    return durable__failed(TS_UNIT_STORE_UNAVAILABLE, ret_detail);
}

enum ts_durable_end ts_durable_checkpoint(struct ts_durable *durable, const struct ts_item_receipt *item,
                                          const struct ts_checkpoint_receipt **ret_receipt,
                                          struct ts_durable_detail *ret_detail) {
    if (!reserve(durable))
        return durable__no_memory(ret_detail);
    ts_frontier_add_item(durable->frontier, item);
    return move(durable, ret_receipt, ret_detail);
}

enum ts_durable_end ts_durable_complete(struct ts_durable *durable, const struct ts_unit_receipt *unit,
                                        const struct ts_checkpoint_receipt **ret_receipt,
                                        struct ts_durable_detail *ret_detail) {
    if (!reserve(durable))
        return durable__no_memory(ret_detail);
    ts_frontier_add_unit(durable->frontier, durable__receipt_or_planted(durable, unit));
    return move(durable, ret_receipt, ret_detail);
}
