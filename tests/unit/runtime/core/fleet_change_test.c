#include "runtime/core/fleet_change.h"

#include "base/endian.h"
#include "base/hash64.h"
#include "base/hex.h"

#include "support/cmocka.h"

static uint8_t bytes[TS_FLEET_PAGE_MAX];

static void a_change_is_stored_and_read(void **state) {
    (void)state;
    static const char golden[] = "5453666401"
                                 "03"
                                 "ac02"
                                 "02"
                                 "01"
                                 "2061616161616161616161616161616161"
                                 "62626262626262626262626262626262"
                                 "1063636363636363636363636363636363";
    const struct ts_fleet_change change = {.is_blind = true,
                                           .is_cut = true,
                                           .at_ms = 300,
                                           .came_total = 2,
                                           .went_total = 1,
                                           .came = TS_BYTES("aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbb"),
                                           .went = TS_BYTES("cccccccccccccccc")};
    const size_t len = ts_fleet_change_encode(&change, bytes);
    char text[200] = "";
    *ts_hex_encode(ts_bytes_of(bytes, len - 8), text) = '\0';
    assert_string_equal(text, golden);
    struct ts_fleet_change read = {0};
    for (size_t i = 0; i < len; i++) {
        assert_int_not_equal(ts_fleet_change_decode(ts_bytes_of(bytes, i), &read), TS_FLEET_OK);
        bytes[i] ^= 1;
        assert_int_not_equal(ts_fleet_change_decode(ts_bytes_of(bytes, len), &read), TS_FLEET_OK);
        bytes[i] ^= 1;
    }
    assert_int_equal(ts_fleet_change_decode(ts_bytes_of(bytes, len), &read), TS_FLEET_OK);
    assert_true(read.is_blind && read.is_cut && read.at_ms == 300 && read.came_total == 2 &&
                read.went_total == 1);
    assert_true(ts_bytes_equal(read.came, change.came) && ts_bytes_equal(read.went, change.went));
}

static void a_list_that_ends_within_an_id_is_refused(void **state) {
    (void)state;
    const struct ts_fleet_change change = {.came = TS_BYTES("aaaaaaaaaaaaaaab1")};
    struct ts_fleet_change read;
    const size_t len = ts_fleet_change_encode(&change, bytes);
    assert_int_equal(ts_fleet_change_decode(ts_bytes_of(bytes, len), &read), TS_FLEET_BAD_FIELD);
}

static void the_largest_page_fits(void **state) {
    (void)state;
    static const uint8_t ids[(size_t)TS_FLEET_CHANGE_IDS * TS_FLEET_FINDING_LEN];
    const struct ts_fleet_change change = {.at_ms = UINT64_MAX,
                                           .came_total = UINT64_MAX,
                                           .went_total = UINT64_MAX,
                                           .came = ts_bytes_of(ids, sizeof ids)};
    assert_int_not_equal(ts_fleet_change_encode(&change, bytes), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_stored_and_read),
        cmocka_unit_test(a_list_that_ends_within_an_id_is_refused),
        cmocka_unit_test(the_largest_page_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
