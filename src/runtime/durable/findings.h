/*
 * Reads the findings of a fleet, and people's decisions about them.
 *
 * A row counts only while its attempt is its target's current one. A reader takes no locks. If targets change
 * during a read, rows may come from different moments, but each target is shown either as it was before its
 * change or as it is after it.
 *
 * On failure every function returns false and ret_error says why.
 */
#ifndef TS_RUNTIME_DURABLE_FINDINGS_H
#define TS_RUNTIME_DURABLE_FINDINGS_H

#include "coord/core/error.h"
#include "report/report.h"
#include "runtime/core/fleet_record.h"

struct ts_coord;

/* The state of a finding: the decision of a person if there is one, otherwise what marks in the source say.
 * X(SUFFIX, name) */
#define TS_FLEET_FINDING_STATES(X)                                                                           \
    X(OPEN, "open")                                                                                          \
    X(FALSE_POSITIVE, "false-positive")                                                                      \
    X(REVOKED, "revoked")                                                                                    \
    X(ACCEPTED, "accepted")                                                                                  \
    X(ALLOWED, "allowed") /* nobody has decided, and marks in the source allow every occurrence */

enum ts_fleet_finding_state {
#define X(suffix, name) TS_FLEET_FINDING_##suffix,
    TS_FLEET_FINDING_STATES(X)
#undef X
        TS_FLEET_FINDING_STATE_COUNT,
};

const char *ts_fleet_finding_state_name(enum ts_fleet_finding_state state);
bool ts_fleet_finding_state_parse(struct ts_bytes name, enum ts_fleet_finding_state *ret_state);

/* Selects findings. */
struct ts_findings_filter {
    struct ts_bytes rule;          /* id; empty: all */
    enum ts_severity severity;     /* this severity or higher */
    enum ts_confidence confidence; /* this confidence or higher */
    bool has_state;
    enum ts_fleet_finding_state state;
    bool has_target; /* only findings in this target */
    struct ts_target_id target;
};

/* Sets ret_knows to whether a scan of the target was ever complete. */
bool ts_findings_knows_target(struct ts_coord *coord, const struct ts_tenant_id *tenant,
                              const struct ts_target_id *target, bool *ret_knows,
                              struct ts_infra_error *ret_error);

/* ---- list ---- */

/* One finding, summed over all targets. Borrowed until visit returns. */
struct ts_found {
    struct ts_fleet_finding id;
    struct ts_fleet_finding_record record;
    enum ts_severity severity;
    enum ts_confidence confidence; /* highest confidence of all targets */
    enum ts_fleet_finding_state state;
    struct ts_fleet_triage triage; /* if has_triage */
    bool has_triage;
    uint64_t targets;
    uint64_t occurrences;
    bool knows_head; /* HEAD is known for at least one target */
    bool is_in_head;
    struct ts_target_id first_target; /* the target with the smallest id */
    struct ts_fleet_seen first;
    struct ts_bytes first_address; /* address of first_target, if wanted; empty: the target is changing */
};

struct ts_findings_query {
    struct ts_tenant_id tenant;
    struct ts_findings_filter filter;
    bool has_only; /* only this finding */
    struct ts_fleet_finding only;
    bool has_after;
    struct ts_fleet_finding after; /* only findings with a larger id */
    size_t limit;
    bool wants_address;
};

/* Visits matching findings in the order of their ids. Sets ret_more to whether more findings match than
 * `limit`. */
bool ts_findings_list(struct ts_coord *coord, const struct ts_findings_query *query,
                      void (*visit)(void *context, const struct ts_found *found), void *context,
                      bool *ret_more, struct ts_infra_error *ret_error);

/* ---- report ---- */

struct ts_findings_scope {
    struct ts_tenant_id tenant;
    struct ts_findings_filter filter;
    bool has_finding; /* only this finding */
    struct ts_fleet_finding finding;
};

/* Makes a report of all occurrences of the matching findings in all targets, as if one scan had read all
 * these targets. Targets are ordered by address. If the filter has a target, the report has only the
 * occurrences in that target; the state of a finding nevertheless depends on all targets. */
bool ts_findings_report(struct ts_coord *coord, const struct ts_findings_scope *scope,
                        struct ts_report *ret_report, struct ts_infra_error *ret_error);
void ts_findings_report_release(struct ts_report *report);

/* ---- triage ---- */

struct ts_triage_query {
    struct ts_tenant_id tenant;
    struct ts_fleet_finding finding;
};

enum { TS_TRIAGE_BYTES = TS_FLEET_TRIAGE_MAX };

/* Memory for the texts of a triage. */
struct ts_triage_room {
    uint8_t bytes[TS_TRIAGE_BYTES];
};

/* Reads the decision about a finding. Sets ret_exists to whether the fleet has seen the finding. ret_triage
 * is OPEN, without texts, if nobody has decided. */
bool ts_triage_get(struct ts_coord *coord, const struct ts_triage_query *query, struct ts_triage_room *room,
                   bool *ret_exists, struct ts_fleet_triage *ret_triage, struct ts_infra_error *ret_error);

/* Stores a decision with the time of the finding's store. Also returns this time in ret_at_ms. The finding
 * must exist. */
bool ts_triage_set(struct ts_coord *coord, const struct ts_triage_query *query,
                   const struct ts_fleet_triage *triage, uint64_t *ret_at_ms,
                   struct ts_infra_error *ret_error);

#endif
