#include "runtime/core/unit_step.h"

#include "base/prng.h"

#include "support/cmocka.h"
#include "support/stops.h"

#include <string.h>

enum { RUN_NUMBER = 7 };

#define GETS(unit, suffix) ts_unit_step((unit), &(struct ts_unit_event){.kind = TS_UNIT_EVENT_##suffix})
#define TOLD(unit, suffix, ...)                                                                              \
    ts_unit_step((unit), &(struct ts_unit_event){.kind = TS_UNIT_EVENT_##suffix, __VA_ARGS__})
#define FAILS(unit, suffix) TOLD(unit, FAILED, .error = {.reason = TS_UNIT_##suffix})

static const struct ts_unit_target no_target = {0};
static const struct ts_unit_target earlier = {
    .exists = true, .is_complete = true, .has_rules_of_run = true, .run_number = RUN_NUMBER - 1, .refs = {1}};

static void expect(const struct ts_unit *unit, struct ts_unit_wish wish, enum ts_wish_kind kind,
                   enum ts_unit_phase phase) {
    assert_int_equal(wish.kind, kind);
    assert_int_equal(unit->phase, phase);
}

/* ---- units in each phase ---- */

static struct ts_unit claimed(void) {
    struct ts_unit unit;
    ts_unit_init(&unit, RUN_NUMBER, ts_unit_limits_default());
    expect(&unit, GETS(&unit, CLAIMED), TS_WISH_READ, TS_PHASE_CLAIMED);
    return unit;
}

static struct ts_unit syncing(void) {
    struct ts_unit unit = claimed();
    expect(&unit, TOLD(&unit, READ, .target = no_target), TS_WISH_SYNC, TS_PHASE_MIRROR_SYNC);
    return unit;
}

static struct ts_unit scanning(void) {
    struct ts_unit unit = syncing();
    expect(&unit, TOLD(&unit, SYNCED, .refs = {2}), TS_WISH_SCAN, TS_PHASE_EXECUTING);
    return unit;
}

static struct ts_unit flipping(void) {
    struct ts_unit unit = scanning();
    expect(&unit, TOLD(&unit, SCANNED, .has_faults = false), TS_WISH_STAGE_AND_FLIP, TS_PHASE_EXECUTING);
    return unit;
}

static struct ts_unit completing(void) {
    struct ts_unit unit = flipping();
    expect(&unit, GETS(&unit, FLIPPED), TS_WISH_COMPLETE, TS_PHASE_INNER_DURABLE);
    return unit;
}

static struct ts_unit parking(void) {
    struct ts_unit unit = syncing();
    expect(&unit, FAILS(&unit, NOT_FOUND), TS_WISH_PARK, TS_PHASE_PERMANENT_FAILURE);
    return unit;
}

typedef struct ts_unit made(void);
static made *const living[] = {claimed, syncing, scanning, flipping, completing};
enum { LIVING = sizeof living / sizeof living[0] };

/* ---- the path of a unit ---- */

static void a_claimed_unit_reads_its_target_then_syncs(void **state) {
    (void)state;
    const struct ts_unit unit = syncing();
    assert_false(unit.wish.repair);
}

static void a_target_that_this_run_or_a_later_one_has_flipped_is_done(void **state) {
    (void)state;
    for (uint64_t number = RUN_NUMBER; number <= RUN_NUMBER + 1; number++) {
        struct ts_unit unit = claimed();
        expect(&unit, TOLD(&unit, READ, .target = {.exists = true, .run_number = number}), TS_WISH_COMPLETE,
               TS_PHASE_INNER_DURABLE);
    }
}

static void a_target_without_a_record_is_never_done(void **state) {
    (void)state;
    struct ts_unit unit;
    ts_unit_init(&unit, 0, ts_unit_limits_default());
    (void)GETS(&unit, CLAIMED);
    expect(&unit, TOLD(&unit, READ, .target = no_target), TS_WISH_SYNC, TS_PHASE_MIRROR_SYNC);
}

static void a_mirror_that_is_ready_is_scanned(void **state) {
    (void)state;
    const struct ts_unit unit = scanning();
    assert_false(unit.wish.continues);
}

static void nothing_new_is_a_flip_without_a_scan(void **state) {
    (void)state;
    struct ts_unit unit = claimed();
    (void)TOLD(&unit, READ, .target = earlier);
    const struct ts_unit_wish wish = TOLD(&unit, SYNCED, .refs = {1});
    expect(&unit, wish, TS_WISH_STAGE_AND_FLIP, TS_PHASE_EXECUTING);
    assert_false(wish.is_new);
}

static void other_refs_other_rules_and_faults_of_the_last_scan_are_something_new(void **state) {
    (void)state;
    struct ts_unit_target targets[4] = {earlier, earlier, earlier, no_target};
    targets[0].refs[31] = 1;
    targets[1].has_rules_of_run = false;
    targets[2].is_complete = false;
    for (size_t i = 0; i < 4; i++) {
        struct ts_unit unit = claimed();
        (void)TOLD(&unit, READ, .target = targets[i]);
        uint8_t refs[TS_UNIT_REFS_LEN] = {1};
        struct ts_unit_event synced = {.kind = TS_UNIT_EVENT_SYNCED};
        memcpy(synced.refs, i == 3 ? no_target.refs : refs, sizeof refs);
        expect(&unit, ts_unit_step(&unit, &synced), TS_WISH_SCAN, TS_PHASE_EXECUTING);
    }
}

static void a_part_is_made_durable_then_checkpointed_and_the_scan_continues(void **state) {
    (void)state;
    struct ts_unit unit = scanning();
    expect(&unit, GETS(&unit, PART_DUE), TS_WISH_PART, TS_PHASE_EXECUTING);
    expect(&unit, GETS(&unit, PART_DURABLE), TS_WISH_CHECKPOINT, TS_PHASE_EXECUTING);
    const struct ts_unit_wish wish = GETS(&unit, CHECKPOINTED);
    expect(&unit, wish, TS_WISH_SCAN, TS_PHASE_EXECUTING);
    assert_true(wish.continues);
}

static void a_scan_without_faults_is_staged_and_flipped(void **state) {
    (void)state;
    const struct ts_unit unit = flipping();
    assert_true(unit.wish.is_new);
    assert_false(unit.wish.with_faults);
    assert_int_equal(unit.wish.n, 0);
}

static void a_flip_is_followed_by_completing_and_the_end(void **state) {
    (void)state;
    struct ts_unit unit = completing();
    const struct ts_unit_wish wish = GETS(&unit, COMPLETED);
    expect(&unit, wish, TS_WISH_STOP, TS_PHASE_OUTER_CHECKPOINTED);
    assert_int_equal(wish.end, TS_UNIT_END_DONE);
}

/* ---- objects that cannot be read ---- */

static void objects_that_cannot_be_read_lead_to_a_repair_then_to_complete_with_faults(void **state) {
    (void)state;
    struct ts_unit unit = scanning();
    struct ts_unit_wish wish = TOLD(&unit, SCANNED, .has_faults = true);
    expect(&unit, wish, TS_WISH_SYNC, TS_PHASE_MIRROR_SYNC);
    assert_true(wish.repair);
    (void)TOLD(&unit, SYNCED, .refs = {2});
    wish = TOLD(&unit, SCANNED, .has_faults = true);
    expect(&unit, wish, TS_WISH_STAGE_AND_FLIP, TS_PHASE_EXECUTING);
    assert_true(wish.with_faults);
}

static void a_repair_that_helps_is_complete_without_faults(void **state) {
    (void)state;
    struct ts_unit unit = scanning();
    (void)TOLD(&unit, SCANNED, .has_faults = true);
    (void)TOLD(&unit, SYNCED, .refs = {2});
    assert_false(TOLD(&unit, SCANNED, .has_faults = false).with_faults);
}

static void a_mirror_that_was_synced_since_its_repair_is_repaired_again(void **state) {
    (void)state;
    struct ts_unit unit = scanning();
    (void)TOLD(&unit, SCANNED, .has_faults = true);
    (void)TOLD(&unit, SYNCED, .refs = {2});
    (void)TOLD(&unit, SCANNED, .has_faults = true);
    (void)GETS(&unit, CONFLICT);
    (void)TOLD(&unit, READ, .target = earlier);
    (void)TOLD(&unit, SYNCED, .refs = {3});
    const struct ts_unit_wish wish = TOLD(&unit, SCANNED, .has_faults = true);
    expect(&unit, wish, TS_WISH_SYNC, TS_PHASE_MIRROR_SYNC);
    assert_true(wish.repair);
}

static void a_damaged_mirror_is_repaired_once_and_then_tried_like_other_errors(void **state) {
    (void)state;
    struct ts_unit unit = syncing();
    const struct ts_unit_wish wish = FAILS(&unit, MIRROR_DAMAGED);
    expect(&unit, wish, TS_WISH_SYNC, TS_PHASE_MIRROR_SYNC);
    assert_true(wish.repair);
    expect(&unit, FAILS(&unit, MIRROR_DAMAGED), TS_WISH_SLEEP, TS_PHASE_MIRROR_SYNC);
}

/* ---- conflict, unknown ---- */

static void a_conflict_reads_and_syncs_again_under_another_attempt(void **state) {
    (void)state;
    struct ts_unit unit = flipping();
    expect(&unit, GETS(&unit, CONFLICT), TS_WISH_READ, TS_PHASE_MIRROR_SYNC);
    expect(&unit, TOLD(&unit, READ, .target = earlier), TS_WISH_SYNC, TS_PHASE_MIRROR_SYNC);
    expect(&unit, TOLD(&unit, SYNCED, .refs = {3}), TS_WISH_SCAN, TS_PHASE_EXECUTING);
    assert_int_equal(TOLD(&unit, SCANNED, .has_faults = false).n, 1);
}

static void a_conflict_with_a_later_run_is_done(void **state) {
    (void)state;
    struct ts_unit unit = flipping();
    (void)GETS(&unit, CONFLICT);
    expect(&unit, TOLD(&unit, READ, .target = {.exists = true, .run_number = RUN_NUMBER + 1}),
           TS_WISH_COMPLETE, TS_PHASE_INNER_DURABLE);
}

static void an_unknown_flip_is_looked_up(void **state) {
    (void)state;
    static const struct {
        enum ts_unit_found found;
        enum ts_wish_kind wish;
        enum ts_unit_phase phase;
    } cases[] = {{TS_UNIT_FOUND_OWN, TS_WISH_COMPLETE, TS_PHASE_INNER_DURABLE},
                 {TS_UNIT_FOUND_COVERED, TS_WISH_COMPLETE, TS_PHASE_INNER_DURABLE},
                 {TS_UNIT_FOUND_SAME, TS_WISH_SLEEP, TS_PHASE_EXECUTING},
                 {TS_UNIT_FOUND_OTHER, TS_WISH_READ, TS_PHASE_MIRROR_SYNC}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ts_unit unit = flipping();
        expect(&unit, GETS(&unit, UNKNOWN), TS_WISH_LOOK_UP, TS_PHASE_EXECUTING);
        expect(&unit, TOLD(&unit, LOOKED_UP, .found = cases[i].found), cases[i].wish, cases[i].phase);
    }
}

static void a_flip_that_was_not_done_is_sent_again_as_it_was(void **state) {
    (void)state;
    struct ts_unit unit = flipping();
    (void)GETS(&unit, UNKNOWN);
    (void)FAILS(&unit, STORE_UNAVAILABLE);
    expect(&unit, GETS(&unit, SLEPT), TS_WISH_LOOK_UP, TS_PHASE_EXECUTING);
    (void)TOLD(&unit, LOOKED_UP, .found = TS_UNIT_FOUND_SAME);
    const struct ts_unit_wish wish = GETS(&unit, SLEPT);
    expect(&unit, wish, TS_WISH_STAGE_AND_FLIP, TS_PHASE_EXECUTING);
    assert_true(wish.is_new);
    assert_int_equal(wish.n, 0);
}

/* ---- errors ---- */

static void a_retryable_error_is_tried_again_after_waits_that_double(void **state) {
    (void)state;
    struct ts_unit unit = syncing();
    uint64_t wait_ms = ts_unit_limits_default().first_wait_ms;
    for (uint32_t i = 0; i < ts_unit_limits_default().tries_max; i++, wait_ms *= 2) {
        const struct ts_unit_wish wish = FAILS(&unit, TIMED_OUT);
        expect(&unit, wish, TS_WISH_SLEEP, TS_PHASE_MIRROR_SYNC);
        assert_int_equal(wish.wait_ms, wait_ms);
        expect(&unit, GETS(&unit, SLEPT), TS_WISH_SYNC, TS_PHASE_MIRROR_SYNC);
    }
}

static void tries_that_are_used_up_release_the_shard_with_the_blame_of_the_error(void **state) {
    (void)state;
    static const struct {
        enum ts_unit_reason reason;
        enum ts_blame blame;
    } cases[] = {{TS_UNIT_TIMED_OUT, TS_BLAME_SHARD}, {TS_UNIT_STORE_UNAVAILABLE, TS_BLAME_NOBODY}};
    for (size_t c = 0; c < 2; c++) {
        struct ts_unit unit = scanning();
        struct ts_unit_wish wish = unit.wish;
        for (uint32_t i = 0; i <= ts_unit_limits_default().tries_max; i++) {
            assert_int_equal(wish.kind, TS_WISH_SCAN);
            wish = TOLD(&unit, FAILED, .error = {.reason = cases[c].reason});
            if (wish.kind == TS_WISH_SLEEP)
                wish = GETS(&unit, SLEPT);
        }
        expect(&unit, wish, TS_WISH_RELEASE, TS_PHASE_EXECUTING);
        assert_int_equal(wish.blame, cases[c].blame);
        expect(&unit, GETS(&unit, RELEASED), TS_WISH_STOP, TS_PHASE_LEASE_LOST);
    }
}

static void a_sync_that_fails_slowly_counts_as_several_tries(void **state) {
    (void)state;
    struct ts_unit unit = syncing();
    for (uint32_t i = 0; i < 2; i++) { /* each failure counts as two tries */
        expect(&unit, TOLD(&unit, FAILED, .error = {.reason = TS_UNIT_TIMED_OUT}, .took_ms = 9999),
               TS_WISH_SLEEP, TS_PHASE_MIRROR_SYNC);
        (void)GETS(&unit, SLEPT);
    }
    expect(&unit, FAILS(&unit, TIMED_OUT), TS_WISH_SLEEP, TS_PHASE_MIRROR_SYNC);
    (void)GETS(&unit, SLEPT);
    expect(&unit, FAILS(&unit, TIMED_OUT), TS_WISH_RELEASE, TS_PHASE_MIRROR_SYNC);
    unit = syncing();
    expect(&unit, TOLD(&unit, FAILED, .error = {.reason = TS_UNIT_TIMED_OUT}, .took_ms = 60000),
           TS_WISH_RELEASE, TS_PHASE_MIRROR_SYNC);
    /* A slow flip counts as one try, because a flip or a scan may take long for other reasons than a failing
     * server. */
    unit = flipping();
    expect(&unit, TOLD(&unit, FAILED, .error = {.reason = TS_UNIT_STORE_UNAVAILABLE}, .took_ms = 60000),
           TS_WISH_SLEEP, TS_PHASE_EXECUTING);
}

static void progress_gives_all_tries_back(void **state) {
    (void)state;
    struct ts_unit unit = syncing();
    for (uint32_t i = 0; i < ts_unit_limits_default().tries_max; i++) {
        (void)FAILS(&unit, TIMED_OUT);
        (void)GETS(&unit, SLEPT);
    }
    (void)TOLD(&unit, SYNCED, .refs = {2});
    expect(&unit, FAILS(&unit, MIRROR_BUSY), TS_WISH_SLEEP, TS_PHASE_EXECUTING);
}

static void the_host_decides_how_long_to_wait_and_a_long_wait_gives_the_shard_back(void **state) {
    (void)state;
    struct ts_unit unit = syncing();
    struct ts_unit_wish wish =
        TOLD(&unit, FAILED, .error = {.reason = TS_UNIT_RATE_LIMITED, .retry_after_ms = 12345});
    assert_int_equal(wish.kind, TS_WISH_SLEEP);
    assert_int_equal(wish.wait_ms, 12345);
    (void)GETS(&unit, SLEPT);
    wish = TOLD(&unit, FAILED, .error = {.reason = TS_UNIT_RATE_LIMITED, .retry_after_ms = 3600000});
    assert_int_equal(wish.kind, TS_WISH_RELEASE);
    assert_int_equal(wish.blame, TS_BLAME_NOBODY);
}

static void a_permanent_error_in_any_phase_asks_for_parking(void **state) {
    (void)state;
    for (size_t i = 0; i < LIVING; i++) {
        struct ts_unit unit = living[i]();
        const struct ts_unit_wish wish = FAILS(&unit, PERMISSION_DENIED);
        expect(&unit, wish, TS_WISH_PARK, TS_PHASE_PERMANENT_FAILURE);
        assert_int_equal(wish.error.reason, TS_UNIT_PERMISSION_DENIED);
        expect(&unit, GETS(&unit, PARKED), TS_WISH_STOP, TS_PHASE_PERMANENT_FAILURE);
    }
}

static void a_shard_that_cannot_be_parked_is_released(void **state) {
    (void)state;
    struct ts_unit unit = parking();
    expect(&unit, FAILS(&unit, STORE_BUSY), TS_WISH_SLEEP, TS_PHASE_PERMANENT_FAILURE);
    expect(&unit, GETS(&unit, SLEPT), TS_WISH_PARK, TS_PHASE_PERMANENT_FAILURE);
    expect(&unit, FAILS(&unit, DAMAGED_RECORD), TS_WISH_RELEASE, TS_PHASE_PERMANENT_FAILURE);
}

static void a_fault_of_the_worker_releases_without_blame_and_never_parks(void **state) {
    (void)state;
    for (size_t i = 0; i < LIVING; i++) {
        struct ts_unit unit = living[i]();
        const enum ts_unit_phase phase = unit.phase;
        const struct ts_unit_wish wish = TOLD(&unit, OWN_FAULT, .fault = {TS_FLEET_WORKER_FAULT_DISK_FULL});
        expect(&unit, wish, TS_WISH_RELEASE, phase);
        assert_int_equal(wish.blame, TS_BLAME_NOBODY);
    }
}

static void a_release_that_fails_is_left_to_the_end_of_the_lease(void **state) {
    (void)state;
    static const enum ts_unit_reason reasons[] = {TS_UNIT_STORE_BUSY, TS_UNIT_DAMAGED_RECORD,
                                                  TS_UNIT_FENCE_STALE};
    for (size_t i = 0; i < 3; i++) {
        struct ts_unit unit = syncing();
        (void)GETS(&unit, ASKED_TO_STOP);
        const struct ts_unit_wish wish = TOLD(&unit, FAILED, .error = {.reason = reasons[i]});
        expect(&unit, wish, TS_WISH_STOP, TS_PHASE_LEASE_LOST);
        assert_int_equal(wish.end, TS_UNIT_END_LOST);
    }
}

/* ---- asked to stop ---- */

/* Expects a release that blames nobody, as if the worker had never claimed the shard. */
static void expect_given_back(const struct ts_unit *unit, struct ts_unit_wish wish,
                              enum ts_unit_phase phase) {
    expect(unit, wish, TS_WISH_RELEASE, phase);
    assert_int_equal(wish.blame, TS_BLAME_NOBODY);
}

static void a_scan_that_is_asked_to_stop_makes_a_part_durable_and_releases(void **state) {
    (void)state;
    struct ts_unit unit = scanning();
    expect(&unit, GETS(&unit, ASKED_TO_STOP), TS_WISH_PART, TS_PHASE_EXECUTING);
    const struct ts_unit_wish wish = GETS(&unit, PART_DURABLE);
    expect(&unit, wish, TS_WISH_RELEASE, TS_PHASE_EXECUTING);
    assert_int_equal(wish.blame, TS_BLAME_NOBODY);
    assert_int_equal(GETS(&unit, RELEASED).end, TS_UNIT_END_RELEASED);
}

static void a_stage_that_is_asked_to_stop_makes_a_part_durable_and_releases(void **state) {
    (void)state;
    struct ts_unit unit = flipping();
    expect(&unit, GETS(&unit, ASKED_TO_STOP), TS_WISH_PART, TS_PHASE_EXECUTING);
    expect(&unit, GETS(&unit, PART_DURABLE), TS_WISH_RELEASE, TS_PHASE_EXECUTING);
    unit = flipping();
    unit.wish.is_new = false; /* the stage has nothing new to keep */
    expect_given_back(&unit, GETS(&unit, ASKED_TO_STOP), TS_PHASE_EXECUTING);
}

static void a_fetch_and_a_sleep_that_are_asked_to_stop_release_at_once(void **state) {
    (void)state;
    struct ts_unit unit = syncing();
    expect_given_back(&unit, GETS(&unit, ASKED_TO_STOP), TS_PHASE_MIRROR_SYNC);
    unit = completing();
    (void)FAILS(&unit, STORE_BUSY);
    expect_given_back(&unit, GETS(&unit, ASKED_TO_STOP), TS_PHASE_INNER_DURABLE);
}

/* ---- what must be impossible ---- */

static void answers_that_do_not_fit_the_wish_stop_the_process(void **state) {
    (void)state;
    struct ts_unit unit = scanning();
    assert_stops("answers", GETS(&unit, COMPLETED));
    assert_stops("answers", GETS(&unit, FLIPPED));
    assert_stops("answers", GETS(&unit, CLAIMED));
    unit = flipping();
    assert_stops("answers", GETS(&unit, PART_DUE));
    (void)GETS(&unit, LEASE_LOST);
    assert_stops("answers", GETS(&unit, FLIPPED));
    assert_stops("answers", GETS(&unit, LEASE_LOST));
    ts_unit_init(&unit, RUN_NUMBER, ts_unit_limits_default());
    assert_stops("answers", TOLD(&unit, READ, .target = no_target));
}

static void invariant_2_a_lost_lease_stops_every_phase_at_once(void **state) {
    (void)state;
    for (size_t i = 0; i < LIVING; i++) {
        struct ts_unit unit = living[i]();
        const struct ts_unit_wish wish = GETS(&unit, LEASE_LOST);
        expect(&unit, wish, TS_WISH_STOP, TS_PHASE_LEASE_LOST);
        assert_int_equal(wish.end, TS_UNIT_END_LOST);
        unit = living[i]();
        expect(&unit, FAILS(&unit, LEASE_EXPIRED), TS_WISH_STOP, TS_PHASE_LEASE_LOST);
    }
    struct ts_unit unit = parking();
    expect(&unit, GETS(&unit, LEASE_LOST), TS_WISH_STOP, TS_PHASE_LEASE_LOST);
}

/* Returns one of the events that may answer a wish. */
static struct ts_unit_event any_answer(struct ts_prng *prng, const struct ts_unit_wish *wish) {
    static const enum ts_unit_event_kind own[TS_WISH_COUNT][3] = {
        [TS_WISH_READ] = {TS_UNIT_EVENT_READ, TS_UNIT_EVENT_READ, TS_UNIT_EVENT_ASKED_TO_STOP},
        [TS_WISH_SYNC] = {TS_UNIT_EVENT_SYNCED, TS_UNIT_EVENT_SYNCED, TS_UNIT_EVENT_ASKED_TO_STOP},
        [TS_WISH_SCAN] = {TS_UNIT_EVENT_SCANNED, TS_UNIT_EVENT_PART_DUE, TS_UNIT_EVENT_ASKED_TO_STOP},
        [TS_WISH_PART] = {TS_UNIT_EVENT_PART_DURABLE, TS_UNIT_EVENT_PART_DURABLE, TS_UNIT_EVENT_PART_DURABLE},
        [TS_WISH_CHECKPOINT] = {TS_UNIT_EVENT_CHECKPOINTED, TS_UNIT_EVENT_CHECKPOINTED,
                                TS_UNIT_EVENT_CHECKPOINTED},
        [TS_WISH_STAGE_AND_FLIP] = {TS_UNIT_EVENT_FLIPPED, TS_UNIT_EVENT_CONFLICT, TS_UNIT_EVENT_UNKNOWN},
        [TS_WISH_LOOK_UP] = {TS_UNIT_EVENT_LOOKED_UP, TS_UNIT_EVENT_LOOKED_UP, TS_UNIT_EVENT_LOOKED_UP},
        [TS_WISH_COMPLETE] = {TS_UNIT_EVENT_COMPLETED, TS_UNIT_EVENT_COMPLETED, TS_UNIT_EVENT_COMPLETED},
        [TS_WISH_PARK] = {TS_UNIT_EVENT_PARKED, TS_UNIT_EVENT_PARKED, TS_UNIT_EVENT_PARKED},
        [TS_WISH_RELEASE] = {TS_UNIT_EVENT_RELEASED, TS_UNIT_EVENT_RELEASED, TS_UNIT_EVENT_RELEASED},
        [TS_WISH_SLEEP] = {TS_UNIT_EVENT_SLEPT, TS_UNIT_EVENT_SLEPT, TS_UNIT_EVENT_ASKED_TO_STOP},
    };
    struct ts_unit_event event = {.kind = own[wish->kind][ts_prng_below(prng, 3)]};
    if (wish->kind != TS_WISH_SLEEP && ts_prng_below(prng, 3) == 0) {
        event.kind = TS_UNIT_EVENT_FAILED;
        event.error.reason = (enum ts_unit_reason)ts_prng_below(prng, TS_UNIT_RUN_ENDED + 1);
    } else if (event.kind == TS_UNIT_EVENT_READ) {
        event.target = (struct ts_unit_target){.exists = ts_prng_below(prng, 2) != 0,
                                               .is_complete = true,
                                               .has_rules_of_run = true,
                                               .run_number = RUN_NUMBER - 2 + ts_prng_below(prng, 4)};
    } else if (event.kind == TS_UNIT_EVENT_SYNCED) {
        event.refs[0] = (uint8_t)ts_prng_below(prng, 2);
    } else if (event.kind == TS_UNIT_EVENT_SCANNED) {
        event.has_faults = ts_prng_below(prng, 3) == 0;
    } else if (event.kind == TS_UNIT_EVENT_LOOKED_UP) {
        event.found = (enum ts_unit_found)ts_prng_below(prng, 4);
    }
    return event;
}

/* The facts that the events of a history have shown so far. They follow from the rules of the table, not from
 * the code under test. */
struct history {
    bool is_durable; /* the target was flipped to this run or a later one */
    bool is_read, is_synced, is_scanned;
    bool is_over; /* the lease is lost, or the shard has ended */
};

static void remember(struct history *history, const struct ts_unit_event *event) {
    const enum ts_unit_event_kind kind = event->kind;
    if (kind == TS_UNIT_EVENT_READ) {
        *history = (struct history){
            .is_read = true, .is_durable = event->target.exists && event->target.run_number >= RUN_NUMBER};
    } else if (kind == TS_UNIT_EVENT_SYNCED) {
        history->is_synced = history->is_read;
        history->is_scanned = false;
    } else if (kind == TS_UNIT_EVENT_SCANNED) {
        history->is_scanned = history->is_synced;
    } else if (kind == TS_UNIT_EVENT_CONFLICT ||
               (kind == TS_UNIT_EVENT_LOOKED_UP && event->found == TS_UNIT_FOUND_OTHER)) {
        *history = (struct history){0};
    } else if (kind == TS_UNIT_EVENT_FLIPPED ||
               (kind == TS_UNIT_EVENT_LOOKED_UP &&
                (event->found == TS_UNIT_FOUND_OWN || event->found == TS_UNIT_FOUND_COVERED))) {
        history->is_durable = true;
    } else if (kind == TS_UNIT_EVENT_RELEASED || kind == TS_UNIT_EVENT_COMPLETED ||
               kind == TS_UNIT_EVENT_PARKED ||
               (kind == TS_UNIT_EVENT_FAILED && TS_UNIT_ERROR_MATCH(event->error, false, false, true))) {
        history->is_over = true;
    }
}

static void check(const struct history *history, const struct ts_unit_wish *wish) {
    if (history->is_over)
        assert_int_equal(wish->kind, TS_WISH_STOP);
    if (wish->kind == TS_WISH_COMPLETE)
        assert_true(history->is_durable);
    if (wish->kind == TS_WISH_STAGE_AND_FLIP)
        assert_true(wish->is_new ? history->is_scanned : history->is_synced);
    if (wish->kind == TS_WISH_SCAN)
        assert_true(history->is_synced);
}

static void invariant_3_the_frontier_never_moves_before_the_flip_is_durable(void **state) {
    (void)state;
    struct ts_prng prng;
    ts_prng_init(&prng, 3);
    size_t completed = 0;
    for (int walk = 0; walk < 20000; walk++) {
        struct ts_unit unit;
        struct history history = {0};
        ts_unit_init(&unit, RUN_NUMBER, ts_unit_limits_default());
        struct ts_unit_wish wish = GETS(&unit, CLAIMED);
        for (int i = 0; wish.kind != TS_WISH_STOP; i++) {
            assert_true(i < 1000);
            const struct ts_unit_event event = any_answer(&prng, &wish);
            remember(&history, &event);
            wish = ts_unit_step(&unit, &event);
            check(&history, &wish);
        }
        completed += wish.end == TS_UNIT_END_DONE;
        if (wish.end == TS_UNIT_END_DONE)
            assert_true(history.is_durable);
    }
    assert_true(completed > 1000);
}

static void every_phase_has_a_name(void **state) {
    (void)state;
    assert_string_equal(ts_unit_phase_name(TS_PHASE_CLAIMED), "claimed");
    assert_string_equal(ts_unit_phase_name(TS_PHASE_PERMANENT_FAILURE), "permanent_failure");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claimed_unit_reads_its_target_then_syncs),
        cmocka_unit_test(a_target_that_this_run_or_a_later_one_has_flipped_is_done),
        cmocka_unit_test(a_target_without_a_record_is_never_done),
        cmocka_unit_test(a_mirror_that_is_ready_is_scanned),
        cmocka_unit_test(nothing_new_is_a_flip_without_a_scan),
        cmocka_unit_test(other_refs_other_rules_and_faults_of_the_last_scan_are_something_new),
        cmocka_unit_test(a_part_is_made_durable_then_checkpointed_and_the_scan_continues),
        cmocka_unit_test(a_scan_without_faults_is_staged_and_flipped),
        cmocka_unit_test(a_flip_is_followed_by_completing_and_the_end),
        cmocka_unit_test(objects_that_cannot_be_read_lead_to_a_repair_then_to_complete_with_faults),
        cmocka_unit_test(a_repair_that_helps_is_complete_without_faults),
        cmocka_unit_test(a_mirror_that_was_synced_since_its_repair_is_repaired_again),
        cmocka_unit_test(a_damaged_mirror_is_repaired_once_and_then_tried_like_other_errors),
        cmocka_unit_test(a_conflict_reads_and_syncs_again_under_another_attempt),
        cmocka_unit_test(a_conflict_with_a_later_run_is_done),
        cmocka_unit_test(an_unknown_flip_is_looked_up),
        cmocka_unit_test(a_flip_that_was_not_done_is_sent_again_as_it_was),
        cmocka_unit_test(a_retryable_error_is_tried_again_after_waits_that_double),
        cmocka_unit_test(tries_that_are_used_up_release_the_shard_with_the_blame_of_the_error),
        cmocka_unit_test(a_sync_that_fails_slowly_counts_as_several_tries),
        cmocka_unit_test(progress_gives_all_tries_back),
        cmocka_unit_test(the_host_decides_how_long_to_wait_and_a_long_wait_gives_the_shard_back),
        cmocka_unit_test(a_permanent_error_in_any_phase_asks_for_parking),
        cmocka_unit_test(a_shard_that_cannot_be_parked_is_released),
        cmocka_unit_test(a_fault_of_the_worker_releases_without_blame_and_never_parks),
        cmocka_unit_test(a_release_that_fails_is_left_to_the_end_of_the_lease),
        cmocka_unit_test(a_scan_that_is_asked_to_stop_makes_a_part_durable_and_releases),
        cmocka_unit_test(a_stage_that_is_asked_to_stop_makes_a_part_durable_and_releases),
        cmocka_unit_test(a_fetch_and_a_sleep_that_are_asked_to_stop_release_at_once),
        cmocka_unit_test(answers_that_do_not_fit_the_wish_stop_the_process),
        cmocka_unit_test(invariant_2_a_lost_lease_stops_every_phase_at_once),
        cmocka_unit_test(invariant_3_the_frontier_never_moves_before_the_flip_is_durable),
        cmocka_unit_test(every_phase_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
