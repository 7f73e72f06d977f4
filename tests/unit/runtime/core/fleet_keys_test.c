#include "runtime/core/fleet_keys.h"

#include "base/hex.h"

#include "support/cmocka.h"

static const struct ts_tenant_id tenant = {"acme"};
static const struct ts_target_id target = {{0xa0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xaf}};
static const struct ts_fleet_finding finding = {{0xf0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff}};
static const struct ts_fleet_rules rules = {{0xb0, [15] = 0xb1}, {0xc0, [15] = 0xc1}};
static const struct ts_attempt attempt = {.run = 7, .shard = 0x0102030405060708, .fence = 3, .n = 2};

#define TENANT  "61636d6500000000000000000000000000000000000000000000000000000000"
#define NIGHT   "6e69676874000000000000000000000000000000000000000000000000000000"
#define TARGET  "a00102030405060708090a0b0c0d0eaf"
#define FINDING "f00102030405060708090a0b0c0d0eff"
#define RULES   "b00000000000000000000000000000b1"
#define JUDGING "c00000000000000000000000000000c1"
#define LEASE   "000000000000000701020304050607080000000000000003"
#define ATTEMPT LEASE "00000002"

static void expect(struct ts_fleet_key key, const char *golden) {
    char text[2 * TS_FLEET_KEY_MAX + 1] = "";
    *ts_hex_encode(ts_fleet_key_bytes(&key), text) = '\0';
    assert_string_equal(text, golden);
}

static void keys_have_the_bytes_of_the_format(void **state) {
    (void)state;
    expect(ts_fleet_key_target(&tenant, &target), "006674" TENANT TARGET);
    expect(ts_fleet_key_known(&target, &rules, &attempt, 5), "00666b" TARGET RULES LEASE "00000005");
    expect(ts_fleet_key_hits(&target, &rules, &attempt, 5), "006668" TARGET RULES JUDGING LEASE "00000005");
    expect(ts_fleet_key_occurrences(&target, &attempt, 258), "00666f" TARGET ATTEMPT "00000102");
    expect(ts_fleet_key_summary(&target, &attempt, 1), "006673" TARGET ATTEMPT "00000001");
    expect(ts_fleet_key_waste(&target, &attempt, TS_WASTE_OLD), "006677" TARGET ATTEMPT "6f");
    const struct ts_fleet_change_key change = {.run = 7, .target = target, .page = 2};
    expect(ts_fleet_key_change(&tenant, &change), "006664" TENANT "0000000000000007" TARGET "00000002");
    const struct ts_fleet_notice_key notice = {.run = 7, .target = target};
    expect(ts_fleet_key_notice(&tenant, &notice), "006671" TENANT "0000000000000007" TARGET);
    const struct ts_fleet_listing_key listing = {.name = {"night"}, .list = 258, .page = 3};
    expect(ts_fleet_key_schedule(&tenant, &listing.name), "006663" TENANT NIGHT);
    expect(ts_fleet_key_listing(&tenant, &listing), "00666c" TENANT NIGHT "000000000000010200000003");
    expect(ts_fleet_key_seen(&tenant, &finding, &target, &attempt), "006665" TENANT FINDING TARGET ATTEMPT);
    expect(ts_fleet_key_finding(&tenant, &finding), "006669" TENANT FINDING);
    expect(ts_fleet_key_triage(&tenant, &finding), "006667" TENANT FINDING);
}

static void expect_range(struct ts_fleet_range range, const char *from, const char *to) {
    expect(range.from, from);
    expect(range.to, to);
}

static void ranges_have_the_keys_of_their_prefix_and_no_others(void **state) {
    (void)state;
    expect_range(ts_fleet_range_targets(&tenant), "006674" TENANT,
                 "00667461636d6500000000000000000000000000000000000000000000000000000001");
    expect_range(ts_fleet_range_seen(&tenant, &finding), "006665" TENANT FINDING,
                 "006665" TENANT "f00102030405060708090a0b0c0d0f");
    expect_range(ts_fleet_range_known(&target, &rules), "00666b" TARGET RULES,
                 "00666b" TARGET "b00000000000000000000000000000b2");
    expect_range(ts_fleet_range_hits(&target, &rules), "006668" TARGET RULES JUDGING,
                 "006668" TARGET RULES "c00000000000000000000000000000c2");
    expect_range(ts_fleet_range_all_hits(&target, &rules), "006668" TARGET RULES,
                 "006668" TARGET "b00000000000000000000000000000b2");
    expect_range(ts_fleet_range_all_known(&target), "00666b" TARGET,
                 "00666ba00102030405060708090a0b0c0d0eb0");
    expect_range(ts_fleet_range_occurrences(&target, &attempt), "00666f" TARGET ATTEMPT,
                 "00666f" TARGET LEASE "00000003");
    expect_range(ts_fleet_range_summary(&target, &attempt), "006673" TARGET ATTEMPT,
                 "006673" TARGET LEASE "00000003");
    expect_range(ts_fleet_range_waste(), "006677", "006678");
    expect_range(ts_fleet_range_waste_of(&target), "006677" TARGET, "006677a00102030405060708090a0b0c0d0eb0");
    expect_range(ts_fleet_range_changes(&tenant, (struct ts_fleet_runs){7, 255}),
                 "006664" TENANT "0000000000000007", "006664" TENANT "00000000000001");
    expect_range(ts_fleet_range_changes(&tenant, (struct ts_fleet_runs){7, UINT64_MAX}),
                 "006664" TENANT "0000000000000007",
                 "00666461636d6500000000000000000000000000000000000000000000000000000001");
    expect_range(ts_fleet_range_seen_in(&tenant), "006665" TENANT,
                 "00666561636d6500000000000000000000000000000000000000000000000000000001");
    struct ts_fleet_range range = ts_fleet_range_seen_in(&tenant);
    const struct ts_fleet_key after = ts_fleet_range_seen(&tenant, &finding).from;
    ts_fleet_range_skip(&range, &after);
    expect(range.from, "006665" TENANT "f00102030405060708090a0b0c0d0f");
}

static void keys_are_read_back(void **state) {
    (void)state;
    struct ts_fleet_key key = ts_fleet_key_target(&tenant, &target);
    struct ts_target_id read_target;
    assert_true(ts_fleet_key_is_target(ts_fleet_key_bytes(&key), &read_target));
    assert_memory_equal(&read_target, &target, sizeof target);

    key = ts_fleet_key_hits(&target, &rules, &attempt, 5);
    struct ts_fleet_hits_key hits;
    assert_true(ts_fleet_key_is_hits(ts_fleet_key_bytes(&key), &hits));
    assert_memory_equal(&hits.rules, &rules, sizeof rules);
    assert_true(hits.lease.run == 7 && hits.lease.shard == attempt.shard && hits.lease.n == 0);

    key = ts_fleet_key_waste(&target, &attempt, TS_WASTE_KNOWN);
    struct ts_fleet_waste_key waste;
    assert_true(ts_fleet_key_is_waste(ts_fleet_key_bytes(&key), &waste));
    assert_memory_equal(&waste.target, &target, sizeof target);
    assert_true(ts_attempt_equal(&waste.attempt, &attempt));
    assert_int_equal(waste.waste, TS_WASTE_KNOWN);
    key.bytes[key.len - 1] = 'x';
    assert_false(ts_fleet_key_is_waste(ts_fleet_key_bytes(&key), &waste));

    key = ts_fleet_key_seen(&tenant, &finding, &target, &attempt);
    struct ts_fleet_seen_key seen;
    assert_true(ts_fleet_key_is_seen(ts_fleet_key_bytes(&key), &seen));
    assert_memory_equal(&seen.finding, &finding, sizeof finding);
    assert_memory_equal(&seen.target, &target, sizeof target);
    assert_true(ts_attempt_equal(&seen.attempt, &attempt));

    const struct ts_fleet_change_key change = {.run = 7, .target = target, .page = 2};
    struct ts_fleet_change_key read_change;
    key = ts_fleet_key_change(&tenant, &change);
    assert_true(ts_fleet_key_is_change(ts_fleet_key_bytes(&key), &read_change));
    assert_true(read_change.run == 7 && read_change.page == 2);
    assert_memory_equal(&read_change.target, &target, sizeof target);
    const struct ts_fleet_notice_key notice = {.run = 7, .target = target};
    struct ts_fleet_notice_key read_notice;
    key = ts_fleet_key_notice(&tenant, &notice);
    assert_true(ts_fleet_key_is_notice(ts_fleet_key_bytes(&key), &read_notice) && read_notice.run == 7);
    assert_memory_equal(&read_notice.target, &target, sizeof target);
    assert_false(ts_fleet_key_is_change(ts_fleet_key_bytes(&key), &read_change));
    const struct ts_fleet_listing_key listing = {.name = {"night"}, .list = 258, .page = 3};
    struct ts_fleet_listing_key read_listing;
    struct ts_schedule_name name;
    key = ts_fleet_key_listing(&tenant, &listing);
    assert_true(ts_fleet_key_is_listing(ts_fleet_key_bytes(&key), &read_listing));
    assert_true(read_listing.list == 258 && read_listing.page == 3 && read_listing.name.b[4] == 't');
    assert_false(ts_fleet_key_is_schedule(ts_fleet_key_bytes(&key), &name));
    key = ts_fleet_key_schedule(&tenant, &listing.name);
    assert_true(ts_fleet_key_is_schedule(ts_fleet_key_bytes(&key), &name) && name.b[0] == 'n');
    assert_false(ts_fleet_key_is_listing(ts_fleet_key_bytes(&key), &read_listing));
    key = ts_fleet_key_seen(&tenant, &finding, &target, &attempt);

    struct ts_fleet_key copy;
    assert_true(ts_fleet_key_of_bytes(ts_fleet_key_bytes(&key), &copy));
    expect(copy, "006665" TENANT FINDING TARGET ATTEMPT);
}

static void keys_of_another_kind_or_length_are_refused(void **state) {
    (void)state;
    const struct ts_fleet_key key = ts_fleet_key_seen(&tenant, &finding, &target, &attempt);
    const struct ts_bytes whole = ts_fleet_key_bytes(&key);
    struct ts_target_id read_target;
    struct ts_fleet_hits_key hits;
    struct ts_fleet_waste_key waste;
    struct ts_fleet_seen_key seen;
    assert_false(ts_fleet_key_is_target(whole, &read_target));
    assert_false(ts_fleet_key_is_hits(whole, &hits));
    assert_false(ts_fleet_key_is_waste(whole, &waste));
    struct ts_fleet_change_key change;
    assert_false(ts_fleet_key_is_change(whole, &change));
    for (size_t len = 0; len < whole.len; len++)
        assert_false(ts_fleet_key_is_seen(ts_bytes_first(whole, len), &seen));
    struct ts_fleet_key copy;
    uint8_t longer[TS_FLEET_KEY_MAX + 1] = {0};
    assert_false(ts_fleet_key_of_bytes(ts_bytes_of(longer, sizeof longer), &copy));
    assert_false(ts_fleet_key_of_bytes(ts_bytes_first(whole, 2), &copy));
}

/* The expected number is the XXH64 of the bytes that route the finding. It decides on which store the finding
 * is. */
static void findings_stay_on_their_stores(void **state) {
    (void)state;
    assert_int_equal(ts_fleet_route_of_finding(&finding), UINT64_C(0x1c8a6ca0651ab472));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_have_the_bytes_of_the_format),
        cmocka_unit_test(ranges_have_the_keys_of_their_prefix_and_no_others),
        cmocka_unit_test(keys_are_read_back),
        cmocka_unit_test(keys_of_another_kind_or_length_are_refused),
        cmocka_unit_test(findings_stay_on_their_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
