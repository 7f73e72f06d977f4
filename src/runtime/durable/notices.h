/*
 * Notices of findings that came (runtime/core/fleet_notice.h): taking a notice, reading its findings, and
 * ending it.
 *
 * On failure every function returns false, and ret_error says why.
 */
#ifndef TS_RUNTIME_DURABLE_NOTICES_H
#define TS_RUNTIME_DURABLE_NOTICES_H

#include "coord/core/error.h"
#include "runtime/core/fleet_notice.h"
#include "runtime/durable/findings.h"

struct ts_coord;

struct ts_notice_ref {
    struct ts_tenant_id tenant;
    struct ts_fleet_notice_key key;
};

struct ts_notice_refs {
    struct ts_notice_ref *list;
    size_t count, capacity;
    size_t waiting; /* number of notices that were read, including those that nobody may take yet */
};

/* Lists at most `limit` notices that may be taken now: store by store, on each store the oldest runs first.
 * Removes the damaged and very old notices that it reads. A limit of 0 lists no notice, but reads all notices.
 * The caller frees the list. */
bool ts_notices_list(struct ts_coord *coord, const struct ts_tenant_id *tenant, size_t limit,
                     struct ts_notice_refs *refs, struct ts_infra_error *ret_error);

/* A notice that was taken. The struct points into its own bytes, so do not copy it. */
struct ts_notice_taken {
    struct ts_notice_ref ref;
    uint64_t version;
    struct ts_fleet_notice notice;
    uint8_t bytes[TS_FLEET_NOTICE_MAX];
};

/* Takes a notice for hold_ms, by the clock of its store; no other worker can take it meanwhile. ret_is_taken
 * is false if another worker has taken the notice, if the notice may not be taken yet or no longer exists, or
 * if the reply was lost. */
bool ts_notice_take(struct ts_coord *coord, const struct ts_notice_ref *ref, uint64_t hold_ms,
                    struct ts_notice_taken *ret_taken, bool *ret_is_taken, struct ts_infra_error *ret_error);

/* Ends a notice that all sinks have received. */
bool ts_notice_end(struct ts_coord *coord, const struct ts_notice_taken *taken,
                   struct ts_infra_error *ret_error);

/* Returns a taken notice, with the list of the sinks that have received it. After the pause it can be taken
 * again. */
bool ts_notice_return(struct ts_coord *coord, const struct ts_notice_taken *taken,
                      const struct ts_fleet_notice *notice, uint64_t pause_ms,
                      struct ts_infra_error *ret_error);

/* A finding that came, with the facts that are stored now. */
struct ts_noticed {
    struct ts_fleet_finding id;
    struct ts_bytes rule;
    struct ts_bytes name;
    enum ts_fleet_finding_state state;
    uint8_t severity;
    uint8_t confidence;
    uint64_t occurrences; /* 0 if a later scan has replaced the finding's occurrences */
};

/* The most findings that are read for a notice. */
enum { TS_NOTICED_MAX = 1000 };

/* Visits the findings in any order. A finding is borrowed until visit returns. */
bool ts_notice_findings(struct ts_coord *coord, const struct ts_notice_taken *taken,
                        void (*visit)(void *context, const struct ts_noticed *noticed), void *context,
                        struct ts_infra_error *ret_error);

#endif
