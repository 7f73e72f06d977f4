#include "coord/core/scratch.h"

#include "support/stops.h"
#include "world.h"

static struct ts_acquire_scratch scratch;
static struct world w;

static void a_result_shows_the_shard_from_memory_of_the_worker(void **state) {
    (void)state;
    world_init(&w);
    ts_acquire_scratch_init(&scratch);
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    assert_int_equal(world_checkpoint(&w, 1, "k"), TS_CHECKPOINT_OK);
    assert_int_equal(world_split_residual(&w, 2, "p"), TS_SPLIT_OK);
    struct ts_acquire_result_view view;
    const struct ts_capacity_hint capacity = {.available_count = 5};
    ts_acquire_result(&scratch, &w.record, &w.lease, capacity, &view);
    memset(w.bytes, 0xee, sizeof w.bytes); /* overwrite the bytes that the record borrowed */
    assert_true(ts_bytes_equal(view.snapshot.spec.range.start, TS_BYTES("b")));
    assert_true(ts_bytes_equal(view.snapshot.spec.range.end, TS_BYTES("p")));
    assert_true(ts_bytes_equal(view.snapshot.spec.metadata, TS_BYTES("meta")));
    assert_true(view.snapshot.cursor.has_key);
    assert_false(view.snapshot.cursor.has_token);
    assert_true(ts_bytes_equal(view.snapshot.cursor.last_key, TS_BYTES("k")));
    assert_int_equal(ts_spawned_count(view.snapshot.spawned), 1);
    assert_true(ts_spawned_at(view.snapshot.spawned, 0).v == w.residual.residual.v);
    assert_int_equal(view.snapshot.status, TS_SHARD_ACTIVE);
    assert_int_equal(view.capacity.available_count, 5);
    assert_int_equal(ts_lease_fence(&view.lease).v, 1);
}

static void a_view_ends_with_the_next_acquire(void **state) {
    (void)state;
    world_init(&w);
    ts_acquire_scratch_init(&scratch);
    assert_int_equal(world_acquire(&w, "w1"), TS_ACQUIRE_OK);
    struct ts_acquire_result_view first, second;
    ts_acquire_result(&scratch, &w.record, &w.lease, (struct ts_capacity_hint){0}, &first);
    assert_true(ts_shard_snapshot_view_is_current(&first.snapshot));
    ts_acquire_result(&scratch, &w.record, &w.lease, (struct ts_capacity_hint){0}, &second);
    assert_false(ts_shard_snapshot_view_is_current(&first.snapshot));
    assert_true(ts_shard_snapshot_view_is_current(&second.snapshot));
}

static void nothing_of_an_earlier_shard_remains(void **state) {
    (void)state;
    ts_acquire_scratch_init(&scratch);
    const struct ts_cursor both = {true, true, TS_BYTES("key"), TS_BYTES("token")}, none = {0};
    ts_acquire_scratch_write_cursor(&scratch, &both);
    const struct ts_shard_record record = {.key = the_shard};
    assert_true(ts_acquire_scratch_view(&scratch, &record).cursor.has_token);
    ts_acquire_scratch_reset(&scratch);
    ts_acquire_scratch_write_cursor(&scratch, &none);
    const struct ts_shard_snapshot_view view = ts_acquire_scratch_view(&scratch, &record);
    assert_false(view.cursor.has_key || view.cursor.has_token);
    assert_int_equal(view.cursor.last_key.len, 0);
    assert_int_equal(view.spec.range.start.len, 0);
}

static void a_record_above_a_limit_is_a_mistake(void **state) {
    (void)state;
    static uint8_t large[TS_KEY_MAX + 1];
    const struct ts_shard_spec spec = {.range = {ts_bytes_of(large, sizeof large), {0}}};
    assert_stops("start of a record above its limit", ts_acquire_scratch_write_spec(&scratch, &spec));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_shows_the_shard_from_memory_of_the_worker),
        cmocka_unit_test(a_view_ends_with_the_next_acquire),
        cmocka_unit_test(nothing_of_an_earlier_shard_remains),
        cmocka_unit_test(a_record_above_a_limit_is_a_mistake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
