/*
 * A notice: findings came to a target, and the sinks must be notified. The notice is written together with
 * the target's record. So the notice is written exactly if the change becomes visible. The notice is removed
 * when all sinks have received it, or when it is too old.
 *
 *     flip ──> waiting ──take (not before: until the taker must be done)──> sent to some or all ──> removed, or waiting again
 */
#ifndef TS_RUNTIME_CORE_FLEET_NOTICE_H
#define TS_RUNTIME_CORE_FLEET_NOTICE_H

#include "runtime/core/fleet_record.h"

enum { TS_FLEET_NOTICE_MAX = 3072, TS_NOTICE_SINKS = 8, TS_NOTICE_SINK_MAX = 32, TS_NOTICE_ID_LEN = 16 };

/* The maximum age of a notice. Older notices are removed without being sent. */
#define TS_NOTICE_KEPT_MS (UINT64_C(14) * 24 * 3600 * 1000)

struct ts_fleet_notice {
    struct ts_attempt attempt;
    uint64_t run;   /* the id of the run */
    uint64_t at_ms; /* when the findings came */
    uint64_t came;
    uint64_t went;
    struct ts_bytes address;
    struct ts_bytes selection;
    uint64_t tries;
    uint64_t not_before_ms;                /* no worker tries to send the notice earlier */
    struct ts_bytes done[TS_NOTICE_SINKS]; /* names of the sinks that have received it */
    size_t done_count;
};

size_t ts_fleet_notice_encode(const struct ts_fleet_notice *notice,
                              uint8_t ret_bytes[static TS_FLEET_NOTICE_MAX]);
enum ts_fleet_error ts_fleet_notice_decode(struct ts_bytes bytes, struct ts_fleet_notice *ret_notice);

/* The id of a message. A repeated message has the same id. */
struct ts_notice_id {
    uint8_t bytes[TS_NOTICE_ID_LEN];
};
struct ts_notice_id ts_notice_id_of(const struct ts_tenant_id *tenant, const struct ts_target_id *target,
                                    const struct ts_fleet_notice *notice);

bool ts_notice_is_done(const struct ts_fleet_notice *notice, struct ts_bytes sink);

/* Returns the pause after this number of failed tries. The pause doubles from 1 second to 10 minutes. */
uint64_t ts_notice_pause_ms(uint64_t tries);

#endif
