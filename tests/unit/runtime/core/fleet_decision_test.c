#include "runtime/core/fleet_decision.h"

#include "base/hex.h"

#include "support/cmocka.h"

static void decisions_are_stored_and_read(void **state) {
    (void)state;
    static const char golden[] = "5453666e01"
                                 "09"
                                 "02"
                                 "01ac02040567"
                                 "6f6e6520"
                                 "0477312d31"
                                 "00000100"
                                 "00";
    uint8_t bytes[TS_FLEET_DECISIONS_MAX];
    const struct ts_fleet_decisions decisions = {.total = 9,
                                                 .count = 2,
                                                 .list = {{.is_parked = true,
                                                           .at_ms = 300,
                                                           .fence = 4,
                                                           .reason = TS_BYTES("gone "),
                                                           .worker = TS_BYTES("w1-1")},
                                                          {.fence = 1}}};
    const size_t len = ts_fleet_decisions_encode(&decisions, bytes);
    char text[200] = "";
    *ts_hex_encode(ts_bytes_of(bytes, len - 8), text) = '\0';
    assert_string_equal(text, golden);
    struct ts_fleet_decisions read = {0};
    for (size_t i = 0; i < len; i++) {
        assert_int_not_equal(ts_fleet_decisions_decode(ts_bytes_of(bytes, i), &read), TS_FLEET_OK);
        bytes[i] ^= 1;
        assert_int_not_equal(ts_fleet_decisions_decode(ts_bytes_of(bytes, len), &read), TS_FLEET_OK);
        bytes[i] ^= 1;
    }
    assert_int_equal(ts_fleet_decisions_decode(ts_bytes_of(bytes, len), &read), TS_FLEET_OK);
    assert_true(read.total == 9 && read.count == 2 && read.list[0].is_parked && read.list[0].at_ms == 300);
    assert_true(ts_bytes_equal(read.list[0].reason, TS_BYTES("gone ")));
}

static void the_newest_is_first_the_oldest_goes_and_a_repetition_counts_once(void **state) {
    (void)state;
    struct ts_fleet_decisions decisions = {0};
    for (uint64_t fence = 1; fence <= TS_FLEET_DECISIONS + 3; fence++) {
        const struct ts_fleet_decision decision = {.fence = fence, .at_ms = fence};
        ts_fleet_decisions_add(&decisions, &decision);
        ts_fleet_decisions_add(&decisions, &decision);
    }
    assert_int_equal(decisions.total, TS_FLEET_DECISIONS + 3);
    assert_int_equal(decisions.count, TS_FLEET_DECISIONS);
    for (size_t i = 0; i < decisions.count; i++)
        assert_int_equal(decisions.list[i].fence, TS_FLEET_DECISIONS + 3 - i);
}

static void the_largest_record_fits(void **state) {
    (void)state;
    static const uint8_t text[64] = {'a'};
    uint8_t bytes[TS_FLEET_DECISIONS_MAX];
    struct ts_fleet_decisions decisions = {.total = UINT64_MAX, .count = TS_FLEET_DECISIONS};
    for (size_t i = 0; i < TS_FLEET_DECISIONS; i++)
        decisions.list[i] = (struct ts_fleet_decision){.at_ms = UINT64_MAX,
                                                       .fence = UINT64_MAX,
                                                       .reason = ts_bytes_of(text, 64),
                                                       .worker = ts_bytes_of(text, TS_NAME_ID_LEN)};
    assert_int_not_equal(ts_fleet_decisions_encode(&decisions, bytes), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_are_stored_and_read),
        cmocka_unit_test(the_newest_is_first_the_oldest_goes_and_a_repetition_counts_once),
        cmocka_unit_test(the_largest_record_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
