/* Tests of claims: any worker gets any free shard. */
#include "coord/core/claim.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

static void claims_take_each_shard_once(void **state) {
    (void)state;
    EXPECT(claim, suite_claim("a", NULL), TS_CLAIM_RUN_NOT_FOUND);
    suite_make_run();
    bool taken[4] = {false};
    uint64_t earliest_ms = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        char worker[8];
        snprintf(worker, sizeof worker, "w%d", i);
        struct ts_lease lease;
        EXPECT(claim, suite_claim(worker, &lease), TS_CLAIM_OK);
        const uint64_t shard = ts_lease_shard(&lease).shard.v;
        assert_true(shard >= 1 && shard <= 3 && !taken[shard]);
        taken[shard] = true;
        assert_int_equal(suite.view.capacity.available_count, 2 - i);
        /* The reported deadline is the earliest deadline of the other leases. The new lease does not
         * count. */
        assert_int_equal(suite.view.capacity.has_earliest_deadline, i > 0);
        if (i > 0)
            assert_int_equal(suite.view.capacity.earliest_deadline.ms, earliest_ms);
        if (ts_lease_deadline(&lease).ms < earliest_ms)
            earliest_ms = ts_lease_deadline(&lease).ms;
    }
    EXPECT(claim, suite_claim("w9", NULL), TS_CLAIM_NONE_AVAILABLE);
    assert_true(suite.detail.has_deadline);
    assert_int_equal(suite.detail.deadline.ms, earliest_ms);
    suite_audit();
}

static void claims_find_leases_that_have_expired(void **state) {
    (void)state;
    suite_make_short_run();
    for (int i = 0; i < 3; i++)
        EXPECT(claim, suite_claim("a", NULL), TS_CLAIM_OK);
    EXPECT(claim, suite_claim("b", NULL), TS_CLAIM_NONE_AVAILABLE);
    suite.fixture->pass_ms(suite.fixture->lease_ms);
    for (int i = 0; i < 3; i++) {
        struct ts_lease lease;
        EXPECT(claim, suite_claim("b", &lease), TS_CLAIM_OK);
        assert_int_equal(ts_lease_fence(&lease).v, 2);
    }
    EXPECT(claim, suite_claim("b", NULL), TS_CLAIM_NONE_AVAILABLE);
    suite_audit();
}

static void finished_shards_are_not_claimed(void **state) {
    (void)state;
    suite_make_run();
    for (int i = 0; i < 3; i++) {
        struct ts_lease lease;
        EXPECT(claim, suite_claim("a", &lease), TS_CLAIM_OK);
        EXPECT(park, suite_park(&lease, suite_op(), TS_PARK_OTHER), TS_PARK_OK);
    }
    EXPECT(claim, suite_claim("a", NULL), TS_CLAIM_NONE_AVAILABLE);
    assert_false(suite.detail.has_deadline);
    EXPECT(unpark, suite_unpark(2, suite_op()), TS_UNPARK_OK);
    struct ts_lease lease;
    EXPECT(claim, suite_claim("a", &lease), TS_CLAIM_OK);
    assert_int_equal(ts_lease_shard(&lease).shard.v, 2);
    suite_audit();
}

static void a_worker_in_its_cooldown_is_throttled(void **state) {
    (void)state;
    struct ts_run_config config = suite_short_config();
    config.cooldown_ms = suite.fixture->lease_ms;
    suite_make_run_with(&config);
    EXPECT(claim, suite_claim("cool", NULL), TS_CLAIM_OK);
    EXPECT(claim, suite_claim("cool", NULL), TS_CLAIM_THROTTLED);
    assert_true(suite.detail.retry_after.ms > 0);
    EXPECT(claim, suite_claim("other", NULL), TS_CLAIM_OK);
    suite.fixture->pass_ms(suite.fixture->lease_ms + 100);
    EXPECT(claim, suite_claim("cool", NULL), TS_CLAIM_OK);
    suite_audit();
}

enum { MANY = 64 };

struct placed {
    struct ts_shard_id id;
    uint32_t place;
    bool taken;
};

/* Returns the first free shard on this store that is not before `start`; UINT64_MAX if there is none. */
static uint64_t first_from(const struct placed placed[static MANY], uint32_t place,
                           struct ts_shard_id start) {
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < MANY; i++)
        if (placed[i].place == place && !placed[i].taken && placed[i].id.v >= start.v &&
            placed[i].id.v < first)
            first = placed[i].id.v;
    return first;
}

/* On one store, a worker gets the first free shard that is not before its starting point. If all free shards
 * of the store are before the starting point, the worker gets any of them. */
static void workers_begin_at_different_points(void **state) {
    (void)state;
    static struct ts_new_shard shards[MANY];
    static char keys[MANY + 1][12];
    for (size_t i = 0; i <= MANY; i++)
        snprintf(keys[i], sizeof keys[i], "kEy-%06zu", i);
    for (size_t i = 0; i < MANY; i++)
        shards[i].spec.range =
            (struct ts_key_range){ts_bytes_of_cstring(keys[i]), ts_bytes_of_cstring(keys[i + 1])};
    const struct ts_run_config config = suite_config();
    EXPECT(create_run, suite_create_with(&config, suite_op(), shards, MANY), TS_CREATE_RUN_OK);
    struct placed placed[MANY] = {0};
    for (size_t i = 0; i < MANY; i++) {
        placed[i].id = suite.memory.ids[i];
        (void)suite_record(suite_shard(placed[i].id.v));
        placed[i].place = suite_shard_seen.place;
    }
    for (size_t i = 0; i < MANY; i++) {
        char worker[8];
        snprintf(worker, sizeof worker, "w%zu", i);
        struct ts_lease lease;
        EXPECT(claim, suite_claim(worker, &lease), TS_CLAIM_OK);
        assert_int_equal(suite.view.capacity.available_count, MANY - 1 - i);
        struct placed *got = placed;
        while (got < placed + MANY && got->id.v != ts_lease_shard(&lease).shard.v)
            got++;
        assert_true(got < placed + MANY && !got->taken);
        const struct ts_worker_id id = suite_worker(worker);
        const uint64_t first = first_from(placed, got->place, ts_claim_start(suite.run, &id));
        assert_true(first == UINT64_MAX || first == got->id.v);
        got->taken = true;
    }
    EXPECT(claim, suite_claim("last", NULL), TS_CLAIM_NONE_AVAILABLE);
    suite_audit();
}

const struct CMUnitTest suite_claim_tests[] = {
    suite_test(claims_take_each_shard_once),       suite_test(claims_find_leases_that_have_expired),
    suite_test(finished_shards_are_not_claimed),   suite_test(a_worker_in_its_cooldown_is_throttled),
    suite_test(workers_begin_at_different_points), {0},
};
