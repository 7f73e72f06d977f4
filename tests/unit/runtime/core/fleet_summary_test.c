#include "runtime/core/fleet_summary.h"

#include "base/hex.h"

#include "support/cmocka.h"

static uint8_t memory[TS_FLEET_PAGE_MAX];

static const struct ts_fleet_part parts[] = {
    {.kind = TS_FLEET_PART_ORIGIN,
     .u.origin = {.address = TS_BYTES_INIT("https://h/a"),
                  .selection = TS_BYTES_INIT("all"),
                  .is_sha256 = true,
                  .forge = TS_BYTES_INIT("f"),
                  .forge_kind = 2}},
    {.kind = TS_FLEET_PART_ROW, .u.row = {.commits = 1, .trees = 2, .rule_count = 200, .knows_head = true}},
    {.kind = TS_FLEET_PART_RULE,
     .u.rule = {.id = TS_BYTES_INIT("aws"),
                .name = TS_BYTES_INIT("n"),
                .description = TS_BYTES_INIT("d"),
                .revoke = TS_BYTES_INIT("r"),
                .url = TS_BYTES_INIT("u"),
                .pattern = TS_BYTES_INIT("p"),
                .severity = 1,
                .confidence = 2,
                .origin = 1}},
    {.kind = TS_FLEET_PART_FAULT, .u.text = TS_BYTES_INIT("x")},
    {.kind = TS_FLEET_PART_NOTE, .u.text = TS_BYTES_INIT("y")},
    {.kind = TS_FLEET_PART_SUPPRESSION,
     .u.suppression = {TS_BYTES_INIT("s"), TS_BYTES_INIT("t"), .findings = 3, .occurrences = 4}},
    {.kind = TS_FLEET_PART_RULE_CHANGE,
     .u.rule_change =
         {.change = 2, .is_of_target = true, .source = TS_BYTES_INIT("v"), .rule = TS_BYTES_INIT("w")}},
};
enum { PARTS = sizeof parts / sizeof parts[0] };

static struct ts_bytes a_summary(void) {
    struct ts_fleet_summary summary;
    ts_fleet_summary_begin(&summary, memory);
    for (size_t i = 0; i < PARTS; i++)
        assert_true(ts_fleet_summary_add(&summary, &parts[i]));
    return ts_bytes_of(memory, ts_fleet_summary_seal(&summary));
}

static void a_summary_has_the_bytes_of_the_format(void **state) {
    (void)state;
    const struct ts_bytes summary = a_summary();
    char text[1024] = "";
    assert_true(summary.len * 2 < sizeof text);
    *ts_hex_encode(ts_bytes_first(summary, summary.len - 8), text) = '\0';
    assert_string_equal(text, "5453667301"
                              "02"
                              "0b68747470733a2f2f682f61"
                              "03616c6c"
                              "01"
                              "0166"
                              "02"
                              "03"
                              "01020000000000000000000000000000"
                              "c801"
                              "01"
                              "04"
                              "03617773"
                              "016e"
                              "0164"
                              "0172"
                              "0175"
                              "0170"
                              "01"
                              "02"
                              "01"
                              "05"
                              "0178"
                              "06"
                              "0179"
                              "07"
                              "0173"
                              "0174"
                              "03"
                              "04"
                              "08"
                              "02"
                              "01"
                              "0176"
                              "0177");
}

static void a_summary_is_read_part_by_part(void **state) {
    (void)state;
    struct ts_fleet_summary_reader reader;
    struct ts_fleet_part part;
    assert_int_equal(ts_fleet_summary_open(a_summary(), &reader), TS_FLEET_OK);
    for (size_t i = 0; i < PARTS; i++)
        assert_int_equal(ts_fleet_summary_next(&reader, &part), parts[i].kind);
    assert_true(part.u.rule_change.change == 2 && part.u.rule_change.is_of_target);
    assert_int_equal(ts_fleet_summary_next(&reader, &part), TS_FLEET_PART_END);
}

static void a_summary_begins_with_its_only_origin(void **state) {
    (void)state;
    struct ts_fleet_summary summary;
    struct ts_fleet_summary_reader reader;
    struct ts_fleet_part part;
    ts_fleet_summary_begin(&summary, memory);
    assert_true(ts_fleet_summary_add(&summary, &parts[3]));
    assert_int_equal(ts_fleet_summary_open(ts_bytes_of(memory, ts_fleet_summary_seal(&summary)), &reader),
                     TS_FLEET_OK);
    assert_int_equal(ts_fleet_summary_next(&reader, &part), TS_FLEET_PART_BAD);
    ts_fleet_summary_begin(&summary, memory);
    assert_true(ts_fleet_summary_add(&summary, &parts[0]));
    assert_true(ts_fleet_summary_add(&summary, &parts[0]));
    assert_int_equal(ts_fleet_summary_open(ts_bytes_of(memory, ts_fleet_summary_seal(&summary)), &reader),
                     TS_FLEET_OK);
    assert_int_equal(ts_fleet_summary_next(&reader, &part), TS_FLEET_PART_ORIGIN);
    assert_int_equal(ts_fleet_summary_next(&reader, &part), TS_FLEET_PART_BAD);
}

static void a_full_summary_refuses_a_part_and_stays_correct(void **state) {
    (void)state;
    static const uint8_t text[30000];
    const struct ts_fleet_part fault = {.kind = TS_FLEET_PART_FAULT, .u.text = {text, sizeof text}};
    struct ts_fleet_summary summary;
    ts_fleet_summary_begin(&summary, memory);
    assert_true(ts_fleet_summary_add(&summary, &parts[0]));
    size_t added = 0;
    while (ts_fleet_summary_add(&summary, &fault))
        added++;
    assert_in_range(added, 30, 36);
    assert_true(ts_fleet_summary_add(&summary, &parts[3]));
    struct ts_fleet_summary_reader reader;
    assert_int_equal(ts_fleet_summary_open(ts_bytes_of(memory, ts_fleet_summary_seal(&summary)), &reader),
                     TS_FLEET_OK);
    struct ts_fleet_part part;
    size_t faults = 0;
    while (ts_fleet_summary_next(&reader, &part) != TS_FLEET_PART_END)
        faults += part.kind == TS_FLEET_PART_FAULT;
    assert_int_equal(faults, added + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_summary_has_the_bytes_of_the_format),
        cmocka_unit_test(a_summary_is_read_part_by_part),
        cmocka_unit_test(a_summary_begins_with_its_only_origin),
        cmocka_unit_test(a_full_summary_refuses_a_part_and_stays_correct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
