/*
 * Findings that came and went between two runs.
 *
 * Runs are ordered by their numbers. After run N, each target of a tenant has the findings of its last
 * complete scan by a run with a number of at most N. Every change of a target is stored with the number of
 * its run (runtime/core/fleet_change.h), so the result is exact, however long ago the runs were.
 *
 * On failure every function returns false and ret_error says why.
 */
#ifndef TS_RUNTIME_DURABLE_DIFF_H
#define TS_RUNTIME_DURABLE_DIFF_H

#include "coord/core/error.h"
#include "runtime/core/fleet_record.h"

struct ts_coord;

/* Numbers of runs, not ids: `from` is lower than `to`. */
struct ts_diff_query {
    struct ts_tenant_id tenant;
    uint64_t from;
    uint64_t to;
};

/* A finding that was added to a target, or removed from it. Borrowed until visit returns. */
struct ts_diff_entry {
    struct ts_fleet_finding id;
    struct ts_fleet_finding_record record;
    bool came;          /* true: added; false: removed */
    bool is_everywhere; /* added: no target had it before; removed: no target has it after */
    struct ts_target_id target;
    struct ts_bytes address; /* address of the target; empty: unknown */
    struct ts_bytes selection;
};

struct ts_diff_counts {
    uint64_t came, went;      /* numbers of entries */
    uint64_t new_count, gone; /* findings that no target had before; findings that no target has after */
    uint64_t targets;         /* targets with entries */
    uint64_t blind; /* targets whose earlier findings could not be read: all their findings count as new */
    uint64_t cut;   /* targets with more changes than are stored */
};

/* Visits the entries: first the added findings, then the removed findings. Both parts are sorted by severity
 * from the highest, then by finding, then by target. */
bool ts_diff_list(struct ts_coord *coord, const struct ts_diff_query *query,
                  void (*visit)(void *context, const struct ts_diff_entry *entry), void *context,
                  struct ts_diff_counts *ret_counts, struct ts_infra_error *ret_error);

/* The number of changes that one run has made so far. */
struct ts_diff_sums {
    uint64_t came, went;
    uint64_t targets;
};
bool ts_diff_sum(struct ts_coord *coord, const struct ts_tenant_id *tenant, uint64_t run_number,
                 struct ts_diff_sums *ret_sums, struct ts_infra_error *ret_error);

#endif
