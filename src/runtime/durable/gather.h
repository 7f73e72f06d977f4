/*
 * The data that gather.c collects, and from which assembly.c makes a report.
 */
#ifndef TS_RUNTIME_DURABLE_GATHER_H
#define TS_RUNTIME_DURABLE_GATHER_H

#include "findings_impl.h"

struct gather_target {
    struct ts_target_id id;
    struct ts_attempt attempt;
    struct ts_bytes summary; /* empty: the target has changed meanwhile, and its pieces do not count */
    uint32_t number;         /* number of the target in the report */
};

/* One finding in one page. The places of the piece are a range of the places of the gather. */
struct gather_piece {
    uint32_t target;
    struct ts_fleet_entry entry;
    struct ts_report_occurrence head; /* the first place in HEAD, if the entry has one */
    size_t first;
    size_t count;
};

/* The owner of a report's memory. */
struct gather_memory {
    struct ts_arena arena;
    void *arrays[6];
};

struct gather {
    struct ts_coord *coord;
    const struct ts_findings_scope *scope;
    struct ts_infra_error *error;
    struct gather_memory *arena;
    bool no_memory;
    struct ts_rows rows;
    struct ts_rows *many;
    struct durable__current current;
    size_t summaries_from; /* index of the first target whose summary is being read */
    size_t page_commits;   /* index in `commits` of the first commit of the page */

    struct gather_target *targets;
    size_t target_count, target_capacity;
    struct gather_piece *pieces;
    size_t piece_count, piece_capacity;
    struct ts_report_commit *commits;
    size_t commit_count, commit_capacity;
    struct ts_report_occurrence *places;
    size_t place_count, place_capacity;
};

/* Makes the report from the collected data. On success the report owns arena, commits and places. */
bool durable__gather_assemble(struct gather *gather, struct ts_report *ret_report);
void durable__gather_free_memory(struct gather_memory *memory); /* accepts NULL */

#endif
