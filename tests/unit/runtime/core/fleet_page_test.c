#include "runtime/core/fleet_page.h"

#include "base/hex.h"

#include "support/cmocka.h"

#include <string.h>

static uint8_t memory[TS_FLEET_PAGE_MAX];
static const uint8_t oid[32] = {0xaa, [19] = 0xbb, [31] = 0xcc};

static struct ts_fleet_commit commit_of(size_t len) {
    return (struct ts_fleet_commit){.oid = ts_bytes_of(oid, len),
                                    .author_name = TS_BYTES("Kim"),
                                    .author_mail = TS_BYTES("k@h"),
                                    .author_time_s = -2,
                                    .author_zone_minutes = -90};
}

static struct ts_fleet_entry entry_of(uint8_t first) {
    return (struct ts_fleet_entry){.finding = {{first}},
                                   .rule = TS_BYTES("aws"),
                                   .severity = 3,
                                   .confidence = 2,
                                   .redacted = TS_BYTES("AK.."),
                                   .excerpt = TS_BYTES("key = ********"),
                                   .depth = 1,
                                   .encodings = {2},
                                   .has_head = true,
                                   .head = {.commit = 0, .path = TS_BYTES("now"), .line = 1, .column = 2},
                                   .head_count = 4,
                                   .refs = {TS_BYTES_INIT("refs/heads/main")},
                                   .ref_listed = 1,
                                   .ref_count = 9,
                                   .count = 2};
}

static struct ts_fleet_place place_of(const char *path) {
    return (struct ts_fleet_place){.commit = TS_FLEET_NO_COMMIT,
                                   .place = 1,
                                   .is_allowed = true,
                                   .object = ts_bytes_of(oid, 20),
                                   .path = ts_bytes_of_cstring(path),
                                   .line = 300,
                                   .column = 2,
                                   .end_line = 301,
                                   .end_column = 4};
}

static struct ts_bytes a_page(void) {
    struct ts_fleet_page page;
    ts_fleet_page_begin(&page, memory);
    const struct ts_fleet_commit commit = commit_of(20);
    const struct ts_fleet_entry entry = entry_of(5);
    const struct ts_fleet_place place = place_of("a/b");
    assert_true(ts_fleet_page_add_commit(&page, &commit));
    assert_true(ts_fleet_page_add_entry(&page, &entry));
    assert_true(ts_fleet_page_add_place(&page, &place));
    return ts_bytes_of(memory, ts_fleet_page_seal(&page));
}

static void a_page_has_the_bytes_of_the_format(void **state) {
    (void)state;
    const struct ts_bytes page = a_page();
    char text[1024] = "";
    assert_true(page.len * 2 < sizeof text);
    *ts_hex_encode(ts_bytes_first(page, page.len - 8), text) = '\0';
    assert_string_equal(text, "5453666f01"
                              "63"
                              "14aa000000000000000000000000000000000000bb"
                              "034b696d"
                              "036b4068"
                              "03"
                              "b301"
                              "66"
                              "05000000000000000000000000000000"
                              "03617773"
                              "03"
                              "02"
                              "04414b2e2e"
                              "0e6b6579203d202a2a2a2a2a2a2a2a"
                              "01"
                              "02"
                              "01"
                              "00"
                              "01"
                              "00"
                              "036e6f77"
                              "01"
                              "02"
                              "00"
                              "00"
                              "04"
                              "01"
                              "0f726566732f68656164732f6d61696e"
                              "09"
                              "02"
                              "00"
                              "70"
                              "81"
                              "00"
                              "14aa000000000000000000000000000000000000bb"
                              "03612f62"
                              "ac02"
                              "02"
                              "ad02"
                              "04");
}

static void a_page_is_read_item_by_item(void **state) {
    (void)state;
    struct ts_fleet_page_reader reader;
    struct ts_fleet_item item;
    assert_int_equal(ts_fleet_page_open(a_page(), &reader), TS_FLEET_OK);
    assert_int_equal(ts_fleet_page_next(&reader, &item), TS_FLEET_ITEM_COMMIT);
    assert_true(item.commit.author_time_s == -2 && item.commit.author_zone_minutes == -90);
    assert_true(ts_bytes_equal(item.commit.author_name, TS_BYTES("Kim")));
    assert_int_equal(ts_fleet_page_next(&reader, &item), TS_FLEET_ITEM_ENTRY);
    assert_true(item.entry.finding.bytes[0] == 5 && item.entry.severity == 3 && item.entry.head_count == 4);
    assert_true(item.entry.has_head && item.entry.head.commit == 0 && item.entry.ref_count == 9);
    assert_true(ts_bytes_equal(item.entry.refs[0], TS_BYTES("refs/heads/main")));
    assert_int_equal(ts_fleet_page_next(&reader, &item), TS_FLEET_ITEM_PLACE);
    assert_true(item.place.is_allowed && item.place.place == 1 && item.place.line == 300 &&
                item.place.commit == TS_FLEET_NO_COMMIT);
    assert_int_equal(ts_fleet_page_next(&reader, &item), TS_FLEET_ITEM_END);
}

static void a_full_page_refuses_an_item_and_stays_correct(void **state) {
    (void)state;
    struct ts_fleet_page page;
    ts_fleet_page_begin(&page, memory);
    struct ts_fleet_entry entry = entry_of(5);
    entry.has_head = false;
    assert_true(ts_fleet_page_add_entry(&page, &entry));
    static char path[10000];
    memset(path, 'p', sizeof path - 1);
    const struct ts_fleet_place place = place_of(path);
    size_t added = 0;
    while (ts_fleet_page_add_place(&page, &place))
        added++;
    assert_in_range(added, 90, 110);
    const size_t len = ts_fleet_page_seal(&page);
    assert_in_range(len, TS_FLEET_PAGE_MAX - 11000, TS_FLEET_PAGE_MAX);
    struct ts_fleet_page_reader reader;
    struct ts_fleet_item item;
    assert_int_equal(ts_fleet_page_open(ts_bytes_of(memory, len), &reader), TS_FLEET_OK);
    assert_int_equal(ts_fleet_page_next(&reader, &item), TS_FLEET_ITEM_ENTRY);
    for (size_t i = 0; i < added; i++)
        assert_int_equal(ts_fleet_page_next(&reader, &item), TS_FLEET_ITEM_PLACE);
    assert_int_equal(ts_fleet_page_next(&reader, &item), TS_FLEET_ITEM_END);
}

/* The largest entry, the largest commit and the largest place fit into one page together. */
static void any_entry_and_place_fit_into_an_empty_page(void **state) {
    (void)state;
    static uint8_t text[TS_FLEET_TEXT_MAX * 2];
    const struct ts_bytes huge = ts_bytes_of(text, sizeof text);
    struct ts_fleet_page page;
    ts_fleet_page_begin(&page, memory);
    struct ts_fleet_commit commit = commit_of(32);
    commit.author_name = commit.author_mail = huge;
    struct ts_fleet_entry entry = entry_of(1);
    entry.excerpt = entry.head.path = huge;
    entry.ref_listed = TS_FLEET_REFS;
    for (size_t i = 0; i < TS_FLEET_REFS; i++)
        entry.refs[i] = huge;
    struct ts_fleet_place place = place_of("");
    place.path = huge;
    place.commit = 1;
    assert_true(ts_fleet_page_add_commit(&page, &commit));
    assert_true(ts_fleet_page_add_entry(&page, &entry));
    assert_true(ts_fleet_page_add_commit(&page, &commit));
    assert_true(ts_fleet_page_add_place(&page, &place));
    struct ts_fleet_page_reader reader;
    struct ts_fleet_item item;
    assert_int_equal(ts_fleet_page_open(ts_bytes_of(memory, ts_fleet_page_seal(&page)), &reader),
                     TS_FLEET_OK);
    assert_int_equal(ts_fleet_page_next(&reader, &item), TS_FLEET_ITEM_COMMIT);
    assert_int_equal(ts_fleet_page_next(&reader, &item), TS_FLEET_ITEM_ENTRY);
    assert_int_equal(item.entry.excerpt.len, TS_FLEET_TEXT_MAX);
}

static void a_place_without_its_commit_or_entry_is_refused(void **state) {
    (void)state;
    struct ts_fleet_page_reader reader;
    struct ts_fleet_item item;
    /* A place that names commit 1. */
    static const uint8_t place[] = {'p', 1, 1, 0, 0, 1, 1, 1, 1};
    reader = (struct ts_fleet_page_reader){.rest = {place, sizeof place}, .has_entry = true};
    assert_int_equal(ts_fleet_page_next(&reader, &item), TS_FLEET_ITEM_BAD);
    reader = (struct ts_fleet_page_reader){.rest = {place, sizeof place}, .has_entry = true, .commits = 1};
    assert_int_equal(ts_fleet_page_next(&reader, &item), TS_FLEET_ITEM_PLACE);
    reader = (struct ts_fleet_page_reader){.rest = {place, sizeof place}, .commits = 1};
    assert_int_equal(ts_fleet_page_next(&reader, &item), TS_FLEET_ITEM_BAD);
    reader = (struct ts_fleet_page_reader){.rest = TS_BYTES_INIT("x")};
    assert_int_equal(ts_fleet_page_next(&reader, &item), TS_FLEET_ITEM_BAD);
}

static void tips_are_stored_and_read(void **state) {
    (void)state;
    uint8_t two[64] = {1, [32] = 2};
    const struct ts_fleet_tips tips = {.is_again = true, .oid_len = 32, .oids = ts_bytes_of(two, sizeof two)};
    const size_t len = ts_fleet_tips_encode(&tips, memory);
    assert_memory_equal(memory, "TSfp\1\1\x20\x40", 8);
    struct ts_fleet_tips read;
    assert_int_equal(ts_fleet_tips_decode(ts_bytes_of(memory, len), &read), TS_FLEET_OK);
    assert_true(read.is_again && read.oid_len == 32 && ts_bytes_equal(read.oids, tips.oids));
    assert_int_equal(ts_fleet_tips_decode(ts_bytes_of(memory, len - 1), &read), TS_FLEET_BAD_CHECKSUM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_has_the_bytes_of_the_format),
        cmocka_unit_test(a_page_is_read_item_by_item),
        cmocka_unit_test(a_full_page_refuses_an_item_and_stays_correct),
        cmocka_unit_test(any_entry_and_place_fit_into_an_empty_page),
        cmocka_unit_test(a_place_without_its_commit_or_entry_is_refused),
        cmocka_unit_test(tips_are_stored_and_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
