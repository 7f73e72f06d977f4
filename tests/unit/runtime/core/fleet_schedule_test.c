#include "runtime/core/fleet_schedule.h"

#include "base/hex.h"

#include "support/cmocka.h"

static const struct ts_tenant_id tenant = {"acme"};

static struct ts_schedule_name name_of(const char *text) {
    struct ts_schedule_name name;
    assert_true(ts_schedule_name_from_text(ts_bytes_of_cstring(text), &name));
    return name;
}

static void schedules_are_stored_and_read(void **state) {
    (void)state;
    uint8_t bytes[TS_FLEET_SCHEDULE_MAX];
    struct ts_fleet_schedule schedule = {.is_daily = true,
                                         .no_forks = true,
                                         .is_sha256 = true,
                                         .has_begun = true,
                                         .made_at_ms = 300,
                                         .first_ms = 400,
                                         .every_ms = 2000,
                                         .last_due_ms = 2400,
                                         .list = {7, 1, 3},
                                         .requests = {TS_BYTES("github://h/o")},
                                         .request_count = 1,
                                         .selection = TS_BYTES("all"),
                                         .lease_ms = 30000,
                                         .attempts = 5,
                                         .keep = 2,
                                         .runs = {2400, 400},
                                         .run_count = 2,
                                         .begun_due_ms = 4400,
                                         .begun = {9, 2, 4},
                                         .pin = {{1}},
                                         .failures = 1,
                                         .failed_at_ms = 5,
                                         .again_at_ms = 6,
                                         .why = TS_BYTES("no")};
    static const char golden[] = "5453666301"
                                 "6a"
                                 "ac029003d00fe012"
                                 "070103"
                                 "010c6769746875623a2f2f682f6f"
                                 "03616c6c"
                                 "b0ea010502"
                                 "02e0129003"
                                 "b022"
                                 "090204"
                                 "0100000000000000000000000000000000000000000000000000000000000000"
                                 "010506026e6f";
    const size_t len = ts_fleet_schedule_encode(&schedule, bytes);
    char text[400] = "";
    *ts_hex_encode(ts_bytes_of(bytes, len - 8), text) = '\0';
    assert_string_equal(text, golden);
    struct ts_fleet_schedule read = {0};
    for (size_t i = 0; i < len; i++) {
        assert_int_not_equal(ts_fleet_schedule_decode(ts_bytes_of(bytes, i), &read), TS_FLEET_OK);
        bytes[i] ^= 1;
        assert_int_not_equal(ts_fleet_schedule_decode(ts_bytes_of(bytes, len), &read), TS_FLEET_OK);
        bytes[i] ^= 1;
    }
    assert_int_equal(ts_fleet_schedule_decode(ts_bytes_of(bytes, len), &read), TS_FLEET_OK);
    assert_true(read.is_daily && !read.is_paused && read.no_forks && read.has_begun && read.is_sha256);
    assert_true(read.begun.id == 9 && read.begun.pages == 2 && read.list.targets == 3 && read.pin.b[0] == 1);
    assert_true(read.run_count == 2 && read.runs[1] == 400 && read.keep == 2 && read.again_at_ms == 6);
    assert_true(ts_bytes_equal(read.requests[0], TS_BYTES("github://h/o")));
    schedule.every_ms = 10;
    assert_int_equal(
        ts_fleet_schedule_decode(ts_bytes_of(bytes, ts_fleet_schedule_encode(&schedule, bytes)), &read),
        TS_FLEET_BAD_FIELD);
}

static void the_largest_record_fits(void **state) {
    (void)state;
    static const uint8_t text[TS_SCHEDULE_SELECTION_MAX];
    uint8_t bytes[TS_FLEET_SCHEDULE_MAX];
    struct ts_fleet_schedule schedule = {.has_begun = true,
                                         .every_ms = TS_SCHEDULE_EVERY_MAX_MS,
                                         .made_at_ms = UINT64_MAX,
                                         .first_ms = UINT64_MAX,
                                         .last_due_ms = UINT64_MAX,
                                         .list = {UINT64_MAX, TS_SCHEDULE_PAGES_MAX, UINT64_MAX},
                                         .begun = {UINT64_MAX, TS_SCHEDULE_PAGES_MAX, UINT64_MAX},
                                         .request_count = TS_SCHEDULE_REQUESTS,
                                         .selection = ts_bytes_of(text, TS_SCHEDULE_SELECTION_MAX),
                                         .run_count = TS_SCHEDULE_RUNS,
                                         .why = ts_bytes_of(text, TS_SCHEDULE_WHY_MAX),
                                         .failures = UINT64_MAX,
                                         .lease_ms = UINT64_MAX,
                                         .attempts = UINT32_MAX};
    for (size_t i = 0; i < TS_SCHEDULE_REQUESTS; i++)
        schedule.requests[i] = ts_bytes_of(text, TS_SCHEDULE_REQUEST_MAX);
    for (size_t i = 0; i < TS_SCHEDULE_RUNS; i++)
        schedule.runs[i] = UINT64_MAX;
    assert_int_not_equal(ts_fleet_schedule_encode(&schedule, bytes), 0);
}

static void names_are_printable_and_short(void **state) {
    (void)state;
    struct ts_schedule_name name;
    const char *const wrong[] = {"", "a b", "a/b", "\x7f", "a\n", "012345678901234567890123456789012"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(ts_schedule_name_from_text(ts_bytes_of_cstring(wrong[i]), &name));
    name = name_of("01234567890123456789012345678901");
    assert_int_equal(ts_schedule_name_text(&name).len, 32);
    name = name_of("nightly");
    assert_true(ts_bytes_equal(ts_schedule_name_text(&name), TS_BYTES("nightly")));
}

static void a_due_time_counts_once_and_covers_earlier_ones(void **state) {
    (void)state;
    struct ts_fleet_schedule schedule = {.first_ms = 10000, .every_ms = 2000};
    assert_int_equal(ts_schedule_due(&schedule, 9999), 0);
    assert_int_equal(ts_schedule_next(&schedule, 9999), 10000);
    assert_int_equal(ts_schedule_due(&schedule, 10000), 10000);
    assert_int_equal(ts_schedule_next(&schedule, 10000), 12000);
    schedule.last_due_ms = 10000;
    assert_int_equal(ts_schedule_due(&schedule, 11999), 0);
    assert_int_equal(ts_schedule_due(&schedule, 17500), 16000);
    schedule.is_paused = true;
    assert_int_equal(ts_schedule_due(&schedule, 17500), 0);
}

static void a_day_begins_at_midnight_utc(void **state) {
    (void)state;
    const uint64_t day = TS_SCHEDULE_DAY_MS;
    assert_int_equal(ts_schedule_first_daily(5 * day + 100, 200), 5 * day + 200);
    assert_int_equal(ts_schedule_first_daily(5 * day + 200, 200), 5 * day + 200);
    assert_int_equal(ts_schedule_first_daily(5 * day + 201, 200), 6 * day + 200);
}

static void the_run_depends_on_tenant_name_and_due_time_only(void **state) {
    (void)state;
    const struct ts_tenant_id other = {"other"};
    const struct ts_schedule_name nightly = name_of("nightly"), weekly = name_of("weekly");
    const uint64_t run = ts_schedule_run(&tenant, &nightly, 1700000000000).v;
    assert_true(run == UINT64_C(0x1360f2719a8150));
    assert_true(run != ts_schedule_run(&tenant, &nightly, 1700000000001).v);
    assert_true(run != ts_schedule_run(&tenant, &weekly, 1700000000000).v);
    assert_true(run != ts_schedule_run(&other, &nightly, 1700000000000).v);
    const struct ts_schedule_name longest = name_of("01234567890123456789012345678901");
    assert_true(ts_schedule_run(&tenant, &longest, UINT64_MAX).v != 0);
}

static void the_pause_after_failures_doubles_up_to_half_an_hour_and_a_start_ends_it(void **state) {
    (void)state;
    struct ts_fleet_schedule schedule = {.has_begun = true, .begun_due_ms = 5};
    uint64_t before = 0;
    for (unsigned i = 0; i < 80; i++) {
        ts_schedule_failed(&schedule, 1000, TS_BYTES("why"));
        const uint64_t pause = schedule.again_at_ms - 1000;
        assert_true(i == 0 ? pause == 5000 : pause == 2 * before || pause == 1800000);
        before = pause;
    }
    assert_int_equal(before, 1800000);
    ts_schedule_started(&schedule);
    assert_true(schedule.failures == 0 && schedule.again_at_ms == 0 && schedule.why.len == 0);
    assert_true(!schedule.has_begun && schedule.last_due_ms == 5 && schedule.runs[0] == 5);
    for (uint64_t due = 6; due < 300; due++) {
        schedule.has_begun = true;
        schedule.begun_due_ms = due;
        ts_schedule_started(&schedule);
    }
    assert_true(schedule.run_count == TS_SCHEDULE_RUNS && schedule.runs[0] == 299 &&
                schedule.runs[99] == 200);
}

static bool count_units(void *context, const struct ts_fleet_unit *unit) {
    size_t *count = context;
    assert_true(ts_bytes_equal(unit->selection, TS_BYTES("all")) && unit->is_sha256 == (*count % 2 == 1));
    return ++*count < 5;
}

static void a_page_has_its_units_in_their_order(void **state) {
    (void)state;
    static uint8_t memory[TS_FLEET_PAGE_MAX];
    static const uint8_t text[1000];
    struct ts_fleet_listing page;
    size_t added = 0, count = 0;
    struct ts_fleet_unit unit = {.address = ts_bytes_of(text, sizeof text), .selection = TS_BYTES("all")};
    ts_fleet_listing_begin(&page, memory);
    for (; ts_fleet_listing_add(&page, &unit); added++)
        unit.is_sha256 = !unit.is_sha256;
    assert_true(added > 1000);
    const size_t len = ts_fleet_listing_seal(&page);
    assert_true(len > TS_FLEET_PAGE_MAX - 2000 && len <= TS_FLEET_PAGE_MAX);
    assert_int_equal(ts_fleet_listing_read(ts_bytes_of(memory, len), count_units, &count), TS_FLEET_OK);
    assert_int_equal(count, 5);
    memory[len / 2] ^= 1;
    assert_int_equal(ts_fleet_listing_read(ts_bytes_of(memory, len), count_units, &count),
                     TS_FLEET_BAD_CHECKSUM);
    assert_int_equal(ts_fleet_listing_read(ts_bytes_of(memory, 3), count_units, &count), TS_FLEET_TRUNCATED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_are_stored_and_read),
        cmocka_unit_test(the_largest_record_fits),
        cmocka_unit_test(names_are_printable_and_short),
        cmocka_unit_test(a_due_time_counts_once_and_covers_earlier_ones),
        cmocka_unit_test(a_day_begins_at_midnight_utc),
        cmocka_unit_test(the_run_depends_on_tenant_name_and_due_time_only),
        cmocka_unit_test(the_pause_after_failures_doubles_up_to_half_an_hour_and_a_start_ends_it),
        cmocka_unit_test(a_page_has_its_units_in_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
