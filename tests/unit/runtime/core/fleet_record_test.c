#include "runtime/core/fleet_record.h"

#include "base/endian.h"
#include "base/hash64.h"
#include "base/hex.h"

#include "support/cmocka.h"

#include <string.h>

/* Compares the bytes before the checksum with `golden`, and checks the checksum. */
static void expect_bytes(const uint8_t *bytes, size_t len, const char *golden) {
    char text[2 * TS_FLEET_UNIT_MAX + 1] = "";
    assert_true(len > 8);
    *ts_hex_encode(ts_bytes_of(bytes, len - 8), text) = '\0';
    assert_string_equal(text, golden);
    assert_int_equal(ts_le64_load(bytes + len - 8), ts_xxh64_of_bytes(ts_bytes_of(bytes, len - 8)));
}

/* Checks that every truncated record and every changed byte is refused. */
#define EXPECT_FRAGILE(decode, record, bytes, len)                                                           \
    do {                                                                                                     \
        for (size_t i_ = 0; i_ < (len); i_++) {                                                              \
            assert_int_not_equal(decode(ts_bytes_of(bytes, i_), &(record)), TS_FLEET_OK);                    \
            (bytes)[i_] ^= 1;                                                                                \
            assert_int_not_equal(decode(ts_bytes_of(bytes, len), &(record)), TS_FLEET_OK);                   \
            (bytes)[i_] ^= 1;                                                                                \
        }                                                                                                    \
        assert_int_equal(decode(ts_bytes_of(bytes, len), &(record)), TS_FLEET_OK);                           \
    } while (0)

static void a_unit_is_stored_and_read(void **state) {
    (void)state;
    uint8_t bytes[TS_FLEET_UNIT_MAX];
    struct ts_fleet_unit unit = {.address = TS_BYTES("https://h/a"),
                                 .url = TS_BYTES("https://h/a.git"),
                                 .selection = TS_BYTES("all"),
                                 .is_sha256 = true};
    size_t len = ts_fleet_unit_encode(&unit, bytes);
    expect_bytes(bytes, len,
                 "5453667501"
                 "01"
                 "0b68747470733a2f2f682f61"
                 "0f68747470733a2f2f682f612e676974"
                 "03616c6c");
    struct ts_fleet_unit read = {0};
    EXPECT_FRAGILE(ts_fleet_unit_decode, read, bytes, len);
    assert_true(ts_bytes_equal(read.address, unit.address) && ts_bytes_equal(read.url, unit.url) &&
                ts_bytes_equal(read.selection, unit.selection) && read.is_sha256);
    /* The URL for git is stored only if it differs from the address. */
    unit.url = unit.address;
    len = ts_fleet_unit_encode(&unit, bytes);
    expect_bytes(bytes, len,
                 "5453667501"
                 "01"
                 "0b68747470733a2f2f682f61"
                 "00"
                 "03616c6c");
    assert_int_equal(ts_fleet_unit_decode(ts_bytes_of(bytes, len), &read), TS_FLEET_OK);
    assert_true(ts_bytes_equal(read.url, unit.address));
}

static void a_unit_that_is_too_long_is_not_encoded(void **state) {
    (void)state;
    static const uint8_t text[1024] = {'a'};
    uint8_t bytes[TS_FLEET_UNIT_MAX];
    const struct ts_fleet_unit unit = {.address = ts_bytes_of(text, 1024),
                                       .url = ts_bytes_of(text, 1023),
                                       .selection = ts_bytes_of(text, 896)};
    assert_int_equal(ts_fleet_unit_encode(&unit, bytes), 0);
    const struct ts_fleet_unit same = {
        .address = unit.address, .url = unit.address, .selection = unit.selection};
    assert_int_not_equal(ts_fleet_unit_encode(&same, bytes), 0);
}

static void a_target_is_stored_and_read(void **state) {
    (void)state;
    uint8_t bytes[TS_FLEET_TARGET_MAX];
    const struct ts_fleet_target target = {.run_number = 300,
                                           .run = 9,
                                           .refs = {1, [31] = 2},
                                           .rules = {{3, [15] = 4}, {5, [15] = 6}},
                                           .attempt = {.run = 299, .shard = 8, .fence = 2, .n = 1},
                                           .attempt_run = 11,
                                           .findings = 10,
                                           .occurrences = 20,
                                           .objects = 30,
                                           .bytes = 40,
                                           .has_faults = true,
                                           .scanned_at_ms = 50,
                                           .checked_at_ms = 60};
    const size_t len = ts_fleet_target_encode(&target, bytes);
    expect_bytes(bytes, len,
                 "5453667401"
                 "01"
                 "ac02"
                 "09"
                 "0100000000000000000000000000000000000000000000000000000000000002"
                 "03000000000000000000000000000004"
                 "05000000000000000000000000000006"
                 "000000000000012b"
                 "0000000000000008"
                 "0000000000000002"
                 "00000001"
                 "0b"
                 "0a141e28"
                 "323c");
    struct ts_fleet_target read;
    memset(&read, 0, sizeof read);
    EXPECT_FRAGILE(ts_fleet_target_decode, read, bytes, len);
    uint8_t again[TS_FLEET_TARGET_MAX];
    assert_int_equal(ts_fleet_target_encode(&read, again), len);
    assert_memory_equal(again, bytes, len);
}

static void the_largest_target_fits(void **state) {
    (void)state;
    struct ts_fleet_target target;
    memset(&target, 0xff, sizeof target);
    target.has_faults = target.has_hits = target.is_unsure = true;
    uint8_t bytes[TS_FLEET_TARGET_MAX];
    assert_int_not_equal(ts_fleet_target_encode(&target, bytes), 0);
}

static void a_finding_in_a_target_is_stored_and_read(void **state) {
    (void)state;
    uint8_t bytes[TS_FLEET_SEEN_MAX];
    struct ts_fleet_seen seen = {.count = 200,
                                 .confidence = 2,
                                 .severity = 3,
                                 .knows_head = true,
                                 .is_allowed = true,
                                 .place = 1,
                                 .line = 7,
                                 .column = 9,
                                 .commit = {0xcc, [19] = 0xdd},
                                 .commit_len = 20,
                                 .path = TS_BYTES("a/b")};
    const size_t len = ts_fleet_seen_encode(&seen, bytes);
    expect_bytes(bytes, len,
                 "5453666501"
                 "05"
                 "02"
                 "03"
                 "01"
                 "c801"
                 "07"
                 "09"
                 "14cc000000000000000000000000000000000000dd"
                 "03612f62");
    struct ts_fleet_seen read = {0};
    EXPECT_FRAGILE(ts_fleet_seen_decode, read, bytes, len);
    assert_true(read.count == 200 && read.knows_head && !read.is_in_head && read.is_allowed &&
                !read.path_is_cut && read.line == 7 && read.commit_len == 20);
    assert_true(ts_bytes_equal(read.path, seen.path));
}

static void a_long_path_is_cut_and_the_largest_row_fits(void **state) {
    (void)state;
    static const uint8_t path[5000] = {'p'};
    uint8_t bytes[TS_FLEET_SEEN_MAX];
    const struct ts_fleet_seen seen = {.count = UINT64_MAX,
                                       .confidence = UINT8_MAX,
                                       .severity = UINT8_MAX,
                                       .place = UINT8_MAX,
                                       .line = UINT64_MAX,
                                       .column = UINT64_MAX,
                                       .commit_len = 32,
                                       .path = ts_bytes_of(path, sizeof path)};
    const size_t len = ts_fleet_seen_encode(&seen, bytes);
    assert_in_range(len, 300, TS_FLEET_SEEN_MAX);
    struct ts_fleet_seen read;
    assert_int_equal(ts_fleet_seen_decode(ts_bytes_of(bytes, len), &read), TS_FLEET_OK);
    assert_true(read.path_is_cut && read.path.len < sizeof path && read.count == UINT64_MAX);
}

static void a_finding_is_stored_and_read(void **state) {
    (void)state;
    uint8_t bytes[TS_FLEET_FINDING_MAX];
    const struct ts_fleet_finding_record finding = {
        .rule = TS_BYTES("aws"), .name = TS_BYTES("AWS key"), .severity = 2, .redacted = TS_BYTES("AK..")};
    const size_t len = ts_fleet_finding_encode(&finding, bytes);
    expect_bytes(bytes, len,
                 "5453666601"
                 "02"
                 "03617773"
                 "0741575320"
                 "6b6579"
                 "04414b2e2e");
    struct ts_fleet_finding_record read = {.severity = 0};
    EXPECT_FRAGILE(ts_fleet_finding_decode, read, bytes, len);
    assert_true(ts_bytes_equal(read.name, finding.name) && read.severity == 2);
}

static void a_triage_is_stored_and_read(void **state) {
    (void)state;
    uint8_t bytes[TS_FLEET_TRIAGE_MAX];
    const struct ts_fleet_triage triage = {
        .state = TS_TRIAGE_REVOKED, .at_ms = 1000, .who = TS_BYTES("kim"), .why = TS_BYTES("gone")};
    const size_t len = ts_fleet_triage_encode(&triage, bytes);
    expect_bytes(bytes, len,
                 "5453666701"
                 "02"
                 "e807"
                 "036b696d"
                 "04676f6e65");
    struct ts_fleet_triage read = {.state = TS_TRIAGE_OPEN};
    EXPECT_FRAGILE(ts_fleet_triage_decode, read, bytes, len);
    assert_true(read.state == TS_TRIAGE_REVOKED && ts_bytes_equal(read.why, triage.why));
    enum ts_triage parsed;
    assert_true(ts_triage_parse(TS_BYTES("false-positive"), &parsed));
    assert_int_equal(parsed, TS_TRIAGE_FALSE_POSITIVE);
    assert_string_equal(ts_triage_name(parsed), "false-positive");
    assert_false(ts_triage_parse(TS_BYTES("false"), &parsed));
}

static void a_waste_mark_is_stored_and_read(void **state) {
    (void)state;
    uint8_t bytes[TS_FLEET_WASTE_MAX];
    const struct ts_fleet_waste waste = {.tenant = {"acme"},
                                         .run = 5,
                                         .rules = {{7}, {8}},
                                         .is_sure = true,
                                         .time_count = 2,
                                         .times_ms = {3, 4}};
    const size_t len = ts_fleet_waste_encode(&waste, bytes);
    expect_bytes(bytes, len,
                 "5453667701"
                 "61636d6500000000000000000000000000000000000000000000000000000000"
                 "05"
                 "07000000000000000000000000000000"
                 "08000000000000000000000000000000"
                 "01"
                 "020304");
    struct ts_fleet_waste read = {.run = 0};
    EXPECT_FRAGILE(ts_fleet_waste_decode, read, bytes, len);
    assert_memory_equal(&read.tenant, &waste.tenant, sizeof waste.tenant);
    assert_true(read.is_sure && read.time_count == 2 && read.times_ms[1] == 4);
}

/* Replaces the checksum after a change. */
static void seal(uint8_t *bytes, size_t len) {
    ts_le64_store(ts_xxh64_of_bytes(ts_bytes_of(bytes, len - 8)), bytes + len - 8);
}

static void each_kind_of_damage_has_its_name(void **state) {
    (void)state;
    uint8_t bytes[TS_FLEET_TRIAGE_MAX + 1];
    const struct ts_fleet_triage triage = {.who = TS_BYTES("kim")};
    const size_t len = ts_fleet_triage_encode(&triage, bytes);
    struct ts_fleet_triage read;
    assert_int_equal(ts_fleet_triage_decode(ts_bytes_of(bytes, sizeof bytes), &read), TS_FLEET_TOO_LARGE);
    assert_int_equal(ts_fleet_triage_decode(ts_bytes_of(bytes, 12), &read), TS_FLEET_TRUNCATED);
    bytes[len - 1] ^= 1;
    assert_int_equal(ts_fleet_triage_decode(ts_bytes_of(bytes, len), &read), TS_FLEET_BAD_CHECKSUM);
    bytes[4] = 2;
    assert_int_equal(ts_fleet_triage_decode(ts_bytes_of(bytes, len), &read), TS_FLEET_UNKNOWN_VERSION);
    bytes[4] = 1;
    bytes[5] = TS_TRIAGE_COUNT;
    seal(bytes, len);
    assert_int_equal(ts_fleet_triage_decode(ts_bytes_of(bytes, len), &read), TS_FLEET_BAD_FIELD);
    bytes[0] = 'X';
    assert_int_equal(ts_fleet_triage_decode(ts_bytes_of(bytes, len), &read), TS_FLEET_BAD_MAGIC);
    assert_string_equal(ts_fleet_error_text(TS_FLEET_BAD_MAGIC), "the record is of another kind");
}

static void a_number_has_one_spelling(void **state) {
    (void)state;
    uint8_t bytes[TS_FLEET_TRIAGE_MAX];
    const struct ts_fleet_triage triage = {.at_ms = 0x80};
    const size_t len = ts_fleet_triage_encode(&triage, bytes); /* its numbers are 80 01, 00 and 00 */
    struct ts_fleet_triage read;
    bytes[7] = 0; /* 80 00 is 0, but longer than needed */
    seal(bytes, len);
    assert_int_equal(ts_fleet_triage_decode(ts_bytes_of(bytes, len), &read), TS_FLEET_BAD_FIELD);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_is_stored_and_read),
        cmocka_unit_test(a_unit_that_is_too_long_is_not_encoded),
        cmocka_unit_test(a_target_is_stored_and_read),
        cmocka_unit_test(the_largest_target_fits),
        cmocka_unit_test(a_finding_in_a_target_is_stored_and_read),
        cmocka_unit_test(a_long_path_is_cut_and_the_largest_row_fits),
        cmocka_unit_test(a_finding_is_stored_and_read),
        cmocka_unit_test(a_triage_is_stored_and_read),
        cmocka_unit_test(a_waste_mark_is_stored_and_read),
        cmocka_unit_test(each_kind_of_damage_has_its_name),
        cmocka_unit_test(a_number_has_one_spelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
