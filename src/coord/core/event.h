/*
 * Events as plain data: numbers, lengths and our own names. An event never contains key bytes, tokens,
 * owners, hashes or tenants, so it may go to any log.
 */
#ifndef TS_COORD_CORE_EVENT_H
#define TS_COORD_CORE_EVENT_H

#include "coord/core/error.h"
#include "coord/core/lease.h"

/* X(SUFFIX, name). Each comment in the table applies to the events up to the next comment. It names the
 * fields that they set in addition to kind, shard and at. */
#define TS_EVENTS(X)                                                                                         \
    /* fence, deadline */                                                                                    \
    X(ACQUIRED, "acquired")                                                                                  \
    X(RENEWED, "renewed")                                                                                    \
    /* fence, key_len */                                                                                     \
    X(CHECKPOINTED, "checkpointed")                                                                          \
    X(COMPLETED, "completed")                                                                                \
    /* fence, reason */                                                                                      \
    X(PARKED, "parked")                                                                                      \
    /* fence */                                                                                              \
    X(UNPARKED, "unparked")                                                                                  \
    /* fence, blame */                                                                                       \
    X(RELEASED, "released")                                                                                  \
    /* fence, count: new shards */                                                                           \
    X(SPLIT, "split")                                                                                        \
    /* fence (presented by the worker), cause */                                                             \
    X(LEASE_LOST, "lease-lost")                                                                              \
    /* the shard is 0 */                                                                                     \
    X(RUN_CREATED, "run-created")                                                                            \
    /* count; the shard is 0 */                                                                              \
    X(SHARDS_REGISTERED, "shards-registered")                                                                \
    /* run_status; the shard is 0 */                                                                         \
    X(RUN_ENDED, "run-ended")

#define TS_EVENT__MEMBER(suffix, name) TS_EVENT_##suffix,
enum ts_event_kind { TS_EVENTS(TS_EVENT__MEMBER) };
#undef TS_EVENT__MEMBER
_Static_assert(TS_EVENT_RUN_ENDED + 1 == 12, "as many as the specification has, and released");

struct ts_event {
    enum ts_event_kind kind;
    struct ts_shard_key shard;
    struct ts_logical_time at;
    struct ts_fence_epoch fence;
    struct ts_logical_time deadline;
    size_t key_len;
    uint64_t count;
    enum ts_park_reason reason;
    enum ts_blame blame;
    enum ts_run_status run_status;
    enum ts_error_variant cause;
};

const char *ts_event_name(enum ts_event_kind kind);

/* Writes one line, like snprintf: "checkpointed run=7 shard=3 at=1000 fence=2 key=[5 bytes]". Returns the
 * length of the whole text. */
size_t ts_event_text(const struct ts_event *event, char *ret_text, size_t size);

/* Returns true if this error means that the lease is lost (stale fence, expired, terminal shard). Then
 * ret_event is the event for the loss. */
bool ts_event_of_lost_lease(const struct ts_lease *lease, enum ts_error_variant cause,
                            struct ts_logical_time now, struct ts_event *ret_event);

#endif
