/*
 * One unit of work: what a worker does with a shard that it holds, from the claim to the end of the lease.
 *
 * ts_unit_step takes the state and one event, and returns one wish. The caller carries out the wish, and
 * calls again with an event that answers it. Nothing here reads a clock, allocates, or calls other layers.
 * The diagram of the phases is at the beginning of unit_step.c; no phase is stored.
 *
 *     wish             what the caller does                                          events that answer it
 *     read             reads the unit and its target                                 read
 *     sync             fetches; repairs the mirror (a new clone) if `repair`         synced
 *     scan             scans, or continues the scan if `continues`                   scanned, part due
 *     part             makes durable what the scan knows                             part durable
 *     checkpoint       moves the cursor to T                                         checkpointed
 *     stage_and_flip   stages under attempt n, and flips the target to it            flipped, conflict, unknown
 *     look_up          reads the target after an unknown flip                        looked up
 *     complete         moves the cursor to T ff, and ends the shard                  completed
 *     park             parks the shard                                               parked
 *     release          gives the lease back                                          released
 *     sleep            waits                                                         slept
 *     stop             drops everything; the unit is at its end                      none
 *
 * Further events may answer a wish. All wishes except sleep and stop: failed, own fault. All wishes except
 * stop: lease lost. Wishes that may take long (read, sync, scan, stage_and_flip, sleep): asked to stop; a
 * flip that was sent is not stopped. Every other answer is a mistake of the caller, and stops the process.
 */
#ifndef TS_RUNTIME_CORE_UNIT_STEP_H
#define TS_RUNTIME_CORE_UNIT_STEP_H

#include "runtime/core/reason.h"

#include <stdbool.h>

enum { TS_UNIT_REFS_LEN = 32 };

/* X(SUFFIX, name); the names are used as labels of metrics. */
#define TS_UNIT_PHASES(X)                                                                                    \
    X(CLAIMED, "claimed")                                                                                    \
    X(MIRROR_SYNC, "mirror_sync")                                                                            \
    X(EXECUTING, "executing")                                                                                \
    X(INNER_DURABLE, "inner_durable")                                                                        \
    X(OUTER_CHECKPOINTED, "outer_checkpointed")                                                              \
    X(LEASE_LOST, "lease_lost")                                                                              \
    X(PERMANENT_FAILURE, "permanent_failure")

#define TS_UNIT__PHASE(suffix, name) TS_PHASE_##suffix,
enum ts_unit_phase { TS_UNIT_PHASES(TS_UNIT__PHASE) TS_PHASE_COUNT };
#undef TS_UNIT__PHASE

#define TS_UNIT_WISHES(X)                                                                                    \
    X(READ, "read")                                                                                          \
    X(SYNC, "sync")                                                                                          \
    X(SCAN, "scan")                                                                                          \
    X(PART, "part")                                                                                          \
    X(CHECKPOINT, "checkpoint")                                                                              \
    X(STAGE_AND_FLIP, "stage_and_flip")                                                                      \
    X(LOOK_UP, "look_up")                                                                                    \
    X(COMPLETE, "complete")                                                                                  \
    X(PARK, "park")                                                                                          \
    X(RELEASE, "release")                                                                                    \
    X(SLEEP, "sleep")                                                                                        \
    X(STOP, "stop")

#define TS_UNIT__WISH(suffix, name) TS_WISH_##suffix,
enum ts_wish_kind { TS_UNIT_WISHES(TS_UNIT__WISH) TS_WISH_COUNT };
#undef TS_UNIT__WISH

/* How a unit ends for its worker. */
enum ts_unit_end {
    TS_UNIT_END_DONE,
    TS_UNIT_END_PARKED,
    TS_UNIT_END_RELEASED, /* the next owner begins at once */
    TS_UNIT_END_LOST,     /* the next owner begins when the lease has expired */
};

struct ts_unit_wish {
    enum ts_wish_kind kind;
    bool repair;                /* for sync */
    bool continues;             /* for scan: continues after a part, with the same mirror and progress */
    bool is_new;                /* stage_and_flip: false if only the run number changes */
    bool with_faults;           /* stage_and_flip: some objects could not be read, even after a repair */
    uint32_t n;                 /* stage_and_flip: number of the attempt */
    struct ts_unit_error error; /* for park */
    enum ts_blame blame;        /* for release */
    uint64_t wait_ms;           /* for sleep */
    enum ts_unit_end end;       /* for stop */
};

#define TS_UNIT_EVENTS(X)                                                                                    \
    X(CLAIMED, "claimed") /* the first event, after ts_unit_init */                                          \
    X(READ, "read")                                                                                          \
    X(SYNCED, "synced")                                                                                      \
    X(SCANNED, "scanned")                                                                                    \
    X(PART_DUE, "part_due")                                                                                  \
    X(PART_DURABLE, "part_durable")                                                                          \
    X(CHECKPOINTED, "checkpointed")                                                                          \
    X(FLIPPED, "flipped")                                                                                    \
    X(CONFLICT, "conflict")                                                                                  \
    X(UNKNOWN, "unknown")                                                                                    \
    X(LOOKED_UP, "looked_up")                                                                                \
    X(COMPLETED, "completed")                                                                                \
    X(PARKED, "parked")                                                                                      \
    X(RELEASED, "released")                                                                                  \
    X(SLEPT, "slept")                                                                                        \
    X(FAILED, "failed")                                                                                      \
    X(OWN_FAULT, "own_fault")                                                                                \
    X(LEASE_LOST, "lease_lost")                                                                              \
    X(ASKED_TO_STOP, "asked_to_stop")

#define TS_UNIT__EVENT(suffix, name) TS_UNIT_EVENT_##suffix,
enum ts_unit_event_kind { TS_UNIT_EVENTS(TS_UNIT__EVENT) TS_UNIT_EVENT_COUNT };
#undef TS_UNIT__EVENT

/* The fields of the target's record that a unit needs. All zero: the target has no record yet. */
struct ts_unit_target {
    bool exists;
    bool is_complete;      /* the last scan had no faults */
    bool has_rules_of_run; /* rules and judging are the same as those of this unit's run */
    uint64_t run_number;
    uint8_t refs[TS_UNIT_REFS_LEN]; /* digest of the refs */
};

enum ts_unit_found {
    TS_UNIT_FOUND_OWN,     /* the target's current attempt is the unit's own */
    TS_UNIT_FOUND_SAME,    /* the target has not changed since it was read */
    TS_UNIT_FOUND_COVERED, /* this run or a later one has flipped the target */
    TS_UNIT_FOUND_OTHER,   /* an earlier run has flipped the target */
};

/* Each kind of event sets only its own field; do not read the fields of other kinds. */
struct ts_unit_event {
    enum ts_unit_event_kind kind;
    union {
        struct ts_unit_target target;       /* for read */
        uint8_t refs[TS_UNIT_REFS_LEN];     /* for synced */
        bool has_faults;                    /* scanned: some objects could not be read */
        enum ts_unit_found found;           /* for looked up */
        struct ts_unit_error error;         /* for failed */
        struct ts_fleet_worker_fault fault; /* for own fault */
    };
    uint64_t took_ms; /* failed: how long the wish took */
};

/* Limits for consecutive failed tries. Each wait is twice as long as the wait before it, from first_wait_ms
 * to longest_wait_ms, unless the host asks for another wait. */
struct ts_unit_limits {
    uint32_t tries_max;
    uint64_t slow_ms; /* a failed sync counts as one more try for each slow_ms that it took */
    uint64_t first_wait_ms;
    uint64_t longest_wait_ms; /* a unit that must wait longer is released */
};

struct ts_unit_limits ts_unit_limits_default(void);

/* The fields are private; callers may read `phase` and `n`. */
struct ts_unit {
    enum ts_unit_phase phase;
    uint32_t n; /* number of the attempt: how many conflicts this lease has had */
    struct ts_unit_limits limits;
    uint64_t run_number;
    struct ts_unit_wish wish;  /* the wish in progress */
    struct ts_unit_wish later; /* the wish that follows the sleep */
    struct ts_unit_wish flip;  /* the last wish to flip */
    struct ts_unit_target target;
    uint64_t tries; /* tries that failed since the last success */
    bool is_begun;
    bool is_repaired; /* the last sync was a repair */
    bool is_stopping;
};

/* Initialises a unit of the run with this number, for a shard that was just claimed. */
void ts_unit_init(struct ts_unit *unit, uint64_t run_number, struct ts_unit_limits limits);

struct ts_unit_wish ts_unit_step(struct ts_unit *unit, const struct ts_unit_event *event);

const char *ts_unit_phase_name(enum ts_unit_phase phase);

#endif
