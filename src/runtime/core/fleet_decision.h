/*
 * Why a target of a run was parked or handed back: the last decisions of workers about it, the newest first.
 * The reasons are labels of reason.h. Only people read the decisions; the program does not depend on them.
 */
#ifndef TS_RUNTIME_CORE_FLEET_DECISION_H
#define TS_RUNTIME_CORE_FLEET_DECISION_H

#include "runtime/core/fleet_record.h"

enum { TS_FLEET_DECISIONS_MAX = 1024, TS_FLEET_DECISIONS = 8 };

struct ts_fleet_decision {
    bool is_parked; /* false: the target was handed back, to be tried again */
    uint64_t at_ms;
    uint64_t fence;         /* fence of the lease */
    struct ts_bytes reason; /* a label; at most 64 bytes */
    struct ts_bytes worker; /* name of the worker; at most 32 bytes */
};

struct ts_fleet_decisions {
    uint64_t total; /* includes decisions that are no longer listed */
    size_t count;   /* at most TS_FLEET_DECISIONS */
    struct ts_fleet_decision list[TS_FLEET_DECISIONS];
};

size_t ts_fleet_decisions_encode(const struct ts_fleet_decisions *decisions,
                                 uint8_t ret_bytes[static TS_FLEET_DECISIONS_MAX]);
enum ts_fleet_error ts_fleet_decisions_decode(struct ts_bytes bytes,
                                              struct ts_fleet_decisions *ret_decisions);

/* Adds the newest decision. If the newest stored decision is from the same lease, replaces it, so that a
 * repetition counts once. */
void ts_fleet_decisions_add(struct ts_fleet_decisions *decisions, const struct ts_fleet_decision *decision);

#endif
