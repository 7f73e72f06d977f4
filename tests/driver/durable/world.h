/*
 * A cluster of two stores with targets, and workers whose writes can be lost. The argument of the program
 * selects the engine: memory, rocksdb or postgres.
 */
#ifndef TS_TESTS_DRIVER_DURABLE_WORLD_H
#define TS_TESTS_DRIVER_DURABLE_WORLD_H

#include "coord/driver/coord.h"
#include "coord/driver/data.h"
#include "runtime/durable/durable.h"
#include "support/cmocka.h"

/* The fate of the next write of a unit. */
enum fate { ARRIVES, REPLY_LOST, REQUEST_LOST };

struct world {
    const char *engine;
    struct ts_cluster *cluster;
    struct ts_coordinator *coordinator;
    struct ts_coord *coord;
    struct ts_tenant_id tenant; /* tenant of this test */
    uint64_t run;               /* id of the last run that was made */
    bool is_id_used_again;      /* the next run has the same id */
    unsigned reads, writes;     /* number of calls of the coordination */
    unsigned spared;            /* number of writes that succeed before the fault */
    enum fate fate;             /* fate of the write after the spared writes */
    void (*between)(void);      /* called once, after `spared_reads` further reads */
    unsigned spared_reads;
    void (*before_write)(void);
    uint64_t ahead_ms[2];        /* for each store: how far its clock is ahead in the answers of reads */
    struct ts_durable_stop stop; /* stop flag of the next workers */
    size_t ops_most, bytes_most; /* number of operations, and of bytes, in the largest batch */
    /* If true, the ids of targets are those of repositories, not of world_target. Then the census counts
     * marks and pages of all tenants. */
    bool has_real_targets;
};
extern struct world world;

int world_main(int argc, char **argv, const struct CMUnitTest *tests, size_t count);
/* Starts a new tenant. */
int world_fresh(void **state);

/* Makes a run with a shard for each target. Returns the number of the run. */
uint64_t world_make_run(const struct ts_target_id *targets, size_t count);
struct ts_target_id world_target(unsigned number);

/* Advances the stores' time. Returns false if the time of the engine cannot be moved. */
bool world_pass_ms(uint64_t ms);

/* A worker that has claimed a shard, of the last run or of another run. */
struct worker {
    struct ts_coord_session *session;
    struct ts_durable *durable;
    struct ts_durable_unit unit;
    struct ts_durable_detail detail;
    const struct ts_unit_receipt *receipt;
};
void worker_claim(struct worker *worker, uint64_t run_id, const struct ts_durable_run *run);
void worker_free(struct worker *worker);

/* A report of one target: the findings first to first + count - 1, each at `places` places. */
struct made_report {
    struct ts_report report;
    struct ts_report_target target;
    struct ts_rule rule;
    struct ts_report_commit commits[2];
    struct ts_report_occurrence *occurrences;
};
void make_report(struct made_report *made, unsigned first, unsigned count, unsigned places);
void free_report(struct made_report *made);
struct ts_durable_scan scan_of(const struct made_report *made);

struct ts_fleet_finding finding_number(unsigned number);

/* Counts of every row of the fleet on all stores. */
struct census {
    size_t visible;  /* number of seen-in rows of current attempts of this tenant */
    size_t hidden;   /* number of seen-in rows of other attempts */
    size_t findings; /* number of findings' records */
    size_t pages;    /* number of pages of occurrences and summaries */
    size_t marks;
    size_t known;
    size_t hits;
    uint64_t places; /* number of places in the pages of current attempts */
    uint64_t digest; /* digest of the visible rows and pages, independent of their order */
};
struct census world_census(void);

/* Returns the number of rows of coordination on all stores. */
size_t world_coordination_rows(void);

#endif
