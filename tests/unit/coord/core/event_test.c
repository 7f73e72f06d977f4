#include "coord/core/event.h"

#include "world.h"

static char text[256];

static void events_are_one_line_of_numbers_and_names(void **state) {
    (void)state;
    static const char *const expected[] = {
        "acquired run=7 shard=3 at=50 fence=2 deadline=80",
        "renewed run=7 shard=3 at=50 fence=2 deadline=80",
        "checkpointed run=7 shard=3 at=50 fence=2 key=[5 bytes]",
        "completed run=7 shard=3 at=50 fence=2 key=[5 bytes]",
        "parked run=7 shard=3 at=50 fence=2 reason=Poisoned",
        "unparked run=7 shard=3 at=50 fence=2",
        "released run=7 shard=3 at=50 fence=2 blame=Shard",
        "split run=7 shard=3 at=50 fence=2 count=4",
        "lease-lost run=7 shard=3 at=50 fence=2 cause=StaleFence",
        "run-created run=7 at=50",
        "shards-registered run=7 at=50 count=4",
        "run-ended run=7 at=50 status=Cancelled",
    };
    struct ts_event event = {.shard = the_shard,
                             .at = {50},
                             .fence = {2},
                             .deadline = {80},
                             .key_len = 5,
                             .count = 4,
                             .reason = TS_PARK_POISONED,
                             .blame = TS_BLAME_SHARD,
                             .run_status = TS_RUN_CANCELLED,
                             .cause = TS_VARIANT_STALE_FENCE};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        event.kind = (enum ts_event_kind)i;
        assert_int_equal(ts_event_text(&event, text, sizeof text), strlen(expected[i]));
        assert_string_equal(text, expected[i]);
    }
}

/* Only the errors after which a worker must stop show that the lease is lost. */
static void an_error_shows_that_a_lease_is_lost(void **state) {
    (void)state;
    static struct world w;
    world_init(&w);
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    for (int variant = TS_VARIANT_NONE; variant < TS_ERROR__VARIANT_END; variant++) {
        const bool lost = variant == TS_VARIANT_STALE_FENCE || variant == TS_VARIANT_LEASE_EXPIRED ||
                          variant == TS_VARIANT_SHARD_TERMINAL;
        struct ts_event event = {.kind = TS_EVENT_ACQUIRED};
        assert_int_equal(ts_event_of_lost_lease(&w.lease, (enum ts_error_variant)variant, w.now, &event),
                         lost);
        assert_int_equal(event.kind, lost ? TS_EVENT_LEASE_LOST : TS_EVENT_ACQUIRED);
        if (lost) {
            assert_int_equal(event.fence.v, 1);
            assert_int_equal(event.shard.shard.v, 3);
            assert_int_equal(event.cause, variant);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_one_line_of_numbers_and_names),
        cmocka_unit_test(an_error_shows_that_a_lease_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
