#include "runtime/core/fleet_notice.h"

#include "base/hex.h"

#include "support/cmocka.h"

static const struct ts_fleet_notice notice = {.attempt = {.run = 7, .shard = 8, .fence = 9, .n = 1},
                                              .run = 42,
                                              .at_ms = 300,
                                              .came = 2,
                                              .went = 1,
                                              .address = TS_BYTES_INIT("https://h/a"),
                                              .selection = TS_BYTES_INIT("all"),
                                              .tries = 3,
                                              .not_before_ms = 400,
                                              .done = {TS_BYTES_INIT("x"), TS_BYTES_INIT("yz")},
                                              .done_count = 2};

static void notices_are_stored_and_read(void **state) {
    (void)state;
    static const char golden[] = "5453667101"
                                 "00000000000000070000000000000008000000000000000900000001"
                                 "2aac020201"
                                 "0b68747470733a2f2f682f61"
                                 "03616c6c"
                                 "039003"
                                 "02017802797a";
    uint8_t bytes[TS_FLEET_NOTICE_MAX];
    const size_t len = ts_fleet_notice_encode(&notice, bytes);
    char text[400] = "";
    *ts_hex_encode(ts_bytes_of(bytes, len - 8), text) = '\0';
    assert_string_equal(text, golden);
    struct ts_fleet_notice read = {0};
    for (size_t i = 0; i < len; i++) {
        assert_int_not_equal(ts_fleet_notice_decode(ts_bytes_of(bytes, i), &read), TS_FLEET_OK);
        bytes[i] ^= 1;
        assert_int_not_equal(ts_fleet_notice_decode(ts_bytes_of(bytes, len), &read), TS_FLEET_OK);
        bytes[i] ^= 1;
    }
    assert_int_equal(ts_fleet_notice_decode(ts_bytes_of(bytes, len), &read), TS_FLEET_OK);
    assert_true(ts_attempt_equal(&read.attempt, &notice.attempt) && read.run == 42 && read.came == 2);
    assert_true(ts_notice_is_done(&read, TS_BYTES("yz")) && !ts_notice_is_done(&read, TS_BYTES("y")));
}

static void the_largest_record_fits(void **state) {
    (void)state;
    static const uint8_t text[TS_FLEET_UNIT_MAX];
    uint8_t bytes[TS_FLEET_NOTICE_MAX];
    struct ts_fleet_notice largest = {.run = UINT64_MAX,
                                      .at_ms = UINT64_MAX,
                                      .came = UINT64_MAX,
                                      .went = UINT64_MAX,
                                      .address = ts_bytes_of(text, TS_FLEET_UNIT_MAX - 100),
                                      .selection = ts_bytes_of(text, 100),
                                      .tries = UINT64_MAX,
                                      .not_before_ms = UINT64_MAX,
                                      .done_count = TS_NOTICE_SINKS};
    for (size_t i = 0; i < TS_NOTICE_SINKS; i++)
        largest.done[i] = ts_bytes_of(text, TS_NOTICE_SINK_MAX);
    assert_int_not_equal(ts_fleet_notice_encode(&largest, bytes), 0);
}

static void the_id_is_that_of_the_flip_and_not_of_the_try(void **state) {
    (void)state;
    const struct ts_tenant_id tenant = {"acme"};
    const struct ts_target_id target = {{1}};
    const struct ts_notice_id id = ts_notice_id_of(&tenant, &target, &notice);
    struct ts_fleet_notice other = notice;
    other.tries = 9;
    other.not_before_ms = 0;
    other.done_count = 0;
    struct ts_notice_id again = ts_notice_id_of(&tenant, &target, &other);
    assert_memory_equal(&again, &id, sizeof id);
    other.at_ms++;
    again = ts_notice_id_of(&tenant, &target, &other);
    assert_memory_not_equal(&again, &id, sizeof id);
    other = notice;
    other.attempt.fence++;
    again = ts_notice_id_of(&tenant, &target, &other);
    assert_memory_not_equal(&again, &id, sizeof id);
}

static void the_pause_doubles_up_to_ten_minutes(void **state) {
    (void)state;
    assert_int_equal(ts_notice_pause_ms(1), 1000);
    assert_int_equal(ts_notice_pause_ms(2), 2000);
    assert_int_equal(ts_notice_pause_ms(10), 512000);
    assert_int_equal(ts_notice_pause_ms(11), 600000);
    assert_int_equal(ts_notice_pause_ms(UINT64_MAX), 600000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notices_are_stored_and_read),
        cmocka_unit_test(the_largest_record_fits),
        cmocka_unit_test(the_id_is_that_of_the_flip_and_not_of_the_try),
        cmocka_unit_test(the_pause_doubles_up_to_ten_minutes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
