/* Reads findings, and stores decisions about them. Runs on each engine, with two stores. */
#include "world.h"

#include "report/write.h"
#include "runtime/durable/findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct ts_fleet_rules rules = {{1}, {2}};

/* Runs a whole unit of a new run, on one target. */
static void scan_target(unsigned number, const struct made_report *made) {
    const struct ts_target_id target = world_target(number);
    const struct ts_durable_run run = {.number = world_make_run(&target, 1), .rules = rules};
    struct worker worker;
    const struct ts_checkpoint_receipt *checkpoint;
    struct ts_durable_swept swept;
    struct ts_infra_error error;
    const struct ts_durable_scan scan = scan_of(made);
    worker_claim(&worker, world.run, &run);
    assert_int_equal(ts_durable_read(worker.durable, &worker.unit, &worker.detail), TS_DURABLE_OK);
    assert_int_equal(ts_durable_stage(worker.durable, &scan, &worker.detail), TS_DURABLE_OK);
    assert_int_equal(ts_durable_flip(worker.durable, &worker.receipt, &worker.detail), TS_DURABLE_OK);
    assert_int_equal(ts_durable_complete(worker.durable, worker.receipt, &checkpoint, &worker.detail),
                     TS_DURABLE_OK);
    assert_true(ts_durable_tidy(worker.durable, &swept, &error));
    worker_free(&worker);
}

static void scan_numbers(unsigned target, unsigned first, unsigned count, unsigned places) {
    struct made_report made;
    make_report(&made, first, count, places);
    scan_target(target, &made);
    free_report(&made);
}

/* ---- lists ---- */

struct listed {
    struct ts_found found[2000]; /* the findings without their texts, except the address */
    uint8_t addresses[2000][64];
    size_t count;
    bool more;
};

static void note(void *context, const struct ts_found *found) {
    struct listed *listed = context;
    assert_true(listed->count < 2000);
    if (listed->count > 0)
        assert_true(memcmp(&listed->found[listed->count - 1].id, &found->id, sizeof found->id) < 0);
    struct ts_found *kept = &listed->found[listed->count];
    uint8_t *address = listed->addresses[listed->count++];
    *kept = *found;
    assert_true(found->first_address.len <= sizeof listed->addresses[0]);
    if (found->first_address.len > 0)
        memcpy(address, found->first_address.data, found->first_address.len);
    kept->first_address = ts_bytes_of(address, found->first_address.len);
}

static const struct listed *list(struct ts_findings_query query) {
    static struct listed listed;
    struct ts_infra_error error = {.text = ""};
    listed.count = 0;
    query.tenant = world.tenant;
    if (query.limit == 0)
        query.limit = 1999;
    if (!ts_findings_list(world.coord, &query, note, &listed, &listed.more, &error))
        fail_msg("%s", error.text);
    return &listed;
}

static void findings_are_listed_in_the_order_of_their_ids_in_pages_of_any_size(void **state) {
    (void)state;
    scan_numbers(1, 0, 300, 2);
    scan_numbers(2, 200, 200, 1);
    const struct listed *all = list((struct ts_findings_query){0});
    assert_int_equal(all->count, 400);
    assert_false(all->more);
    static struct ts_fleet_finding ids[400];
    size_t shared = 0, occurrences = 0;
    for (size_t i = 0; i < 400; i++) {
        ids[i] = all->found[i].id;
        shared += all->found[i].targets == 2;
        occurrences += all->found[i].occurrences;
    }
    assert_int_equal(shared, 100);
    assert_int_equal(occurrences, 800);
    for (size_t limit = 1; limit <= 400; limit = limit * 3 + 1) {
        struct ts_findings_query query = {.limit = limit};
        for (size_t at = 0; at < 400;) {
            const struct listed *page = list(query);
            assert_int_equal(page->count, 400 - at < limit ? 400 - at : limit);
            for (size_t i = 0; i < page->count; i++)
                assert_memory_equal(&page->found[i].id, &ids[at + i], sizeof ids[0]);
            at += page->count;
            assert_int_equal(page->more, at < 400);
            query.has_after = true;
            query.after = page->found[page->count - 1].id;
        }
    }
}

/* The address is in the summary of the target's attempt. The summary is read once for all findings that have
 * this target as their first target. */
static void findings_are_listed_with_the_address_of_their_first_target(void **state) {
    (void)state;
    scan_numbers(1, 0, 30, 1);
    scan_numbers(2, 20, 30, 1);
    const struct listed *listed = list((struct ts_findings_query){.wants_address = true});
    assert_int_equal(listed->count, 50);
    for (size_t i = 0; i < 50; i++)
        assert_true(ts_bytes_equal(listed->found[i].first_address, TS_BYTES("https://host/repository")));
    listed = list((struct ts_findings_query){.wants_address = true, .limit = 7});
    assert_int_equal(listed->count, 7);
    assert_true(listed->more);
    assert_true(listed->found[6].first_address.len > 0);
    assert_int_equal(list((struct ts_findings_query){0})->found[0].first_address.len, 0);
}

static void a_finding_that_is_gone_from_its_last_target_is_not_listed(void **state) {
    (void)state;
    scan_numbers(1, 0, 10, 1);
    scan_numbers(2, 5, 10, 1);
    assert_int_equal(list((struct ts_findings_query){0})->count, 15);
    scan_numbers(1, 0, 2, 1);
    assert_int_equal(list((struct ts_findings_query){0})->count, 12);
    scan_numbers(2, 0, 0, 0);
    const struct listed *listed = list((struct ts_findings_query){0});
    assert_int_equal(listed->count, 2);
    assert_int_equal(listed->found[0].targets, 1);
}

static void staged_rows_of_a_living_unit_are_not_listed(void **state) {
    (void)state;
    scan_numbers(1, 0, 10, 1);
    const struct ts_target_id target = world_target(1);
    const struct ts_durable_run run = {.number = world_make_run(&target, 1), .rules = rules};
    struct made_report made;
    struct worker worker;
    make_report(&made, 5, 30, 1);
    const struct ts_durable_scan scan = scan_of(&made);
    worker_claim(&worker, world.run, &run);
    assert_int_equal(ts_durable_read(worker.durable, &worker.unit, &worker.detail), TS_DURABLE_OK);
    assert_int_equal(ts_durable_stage(worker.durable, &scan, &worker.detail), TS_DURABLE_OK);
    assert_true(world_census().hidden > 0);
    const struct listed *listed = list((struct ts_findings_query){0});
    assert_int_equal(listed->count, 10);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(listed->found[i].targets, 1);
    worker_free(&worker);
    free_report(&made);
}

static void change_both_targets(void) {
    scan_numbers(1, 0, 3, 2);
    scan_numbers(2, 0, 3, 2);
}

static void a_target_that_changes_while_it_is_listed_is_not_missing(void **state) {
    (void)state;
    scan_numbers(1, 0, 3, 1);
    scan_numbers(2, 0, 3, 1);
    /* The change happens after the read of the rows, and before the read of the targets' records. */
    world.spared_reads = 1;
    world.between = change_both_targets;
    const struct listed *listed = list((struct ts_findings_query){0});
    assert_null(world.between);
    assert_int_equal(listed->count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(listed->found[i].targets, 2);
        assert_int_equal(listed->found[i].occurrences, 4);
    }
}

static void filters_choose_among_findings(void **state) {
    (void)state;
    struct made_report made;
    make_report(&made, 0, 4, 1);
    struct ts_rule other = made.rule;
    other.id = "rule-b";
    other.severity = TS_SEVERITY_LOW;
    made.report.findings[0].rule = &other;
    made.report.findings[1].confidence = TS_CONFIDENCE_LOW;
    made.occurrences[2].is_allowed = true;
    scan_target(1, &made);
    free_report(&made);
    scan_numbers(2, 10, 1, 1);
    const struct listed *listed =
        list((struct ts_findings_query){.filter = {.rule = TS_BYTES_INIT("rule-b")}});
    assert_int_equal(listed->count, 1);
    assert_int_equal(listed->found[0].severity, TS_SEVERITY_LOW);
    assert_int_equal(list((struct ts_findings_query){.filter = {.rule = TS_BYTES_INIT("rule-c")}})->count, 0);
    assert_int_equal(list((struct ts_findings_query){.filter = {.severity = TS_SEVERITY_MEDIUM}})->count, 4);
    assert_int_equal(list((struct ts_findings_query){.filter = {.confidence = TS_CONFIDENCE_MEDIUM}})->count,
                     4);
    assert_int_equal(
        list((struct ts_findings_query){.filter = {.has_target = true, .target = world_target(2)}})->count,
        1);
    listed =
        list((struct ts_findings_query){.filter = {.has_state = true, .state = TS_FLEET_FINDING_ALLOWED}});
    assert_int_equal(listed->count, 1);
    const struct ts_fleet_finding allowed = finding_number(2);
    assert_memory_equal(&listed->found[0].id, &allowed, sizeof allowed);
    assert_int_equal(
        list((struct ts_findings_query){.filter = {.has_state = true, .state = TS_FLEET_FINDING_OPEN}})
            ->count,
        4);
}

static void a_finding_is_allowed_only_while_every_target_allows_it(void **state) {
    (void)state;
    struct made_report made;
    make_report(&made, 0, 1, 2);
    made.occurrences[0].is_allowed = made.occurrences[1].is_allowed = true;
    scan_target(1, &made);
    assert_int_equal(list((struct ts_findings_query){0})->found[0].state, TS_FLEET_FINDING_ALLOWED);
    made.occurrences[1].is_allowed = false;
    scan_target(2, &made);
    assert_int_equal(list((struct ts_findings_query){0})->found[0].state, TS_FLEET_FINDING_OPEN);
    free_report(&made);
}

/* ---- triage ---- */

static void decide(unsigned number, enum ts_triage to, struct ts_bytes why) {
    const struct ts_triage_query query = {world.tenant, finding_number(number)};
    const struct ts_fleet_triage triage = {.state = to, .who = TS_BYTES("kim"), .why = why};
    struct ts_infra_error error;
    uint64_t at_ms = 0;
    assert_true(ts_triage_set(world.coord, &query, &triage, &at_ms, &error));
    assert_true(at_ms > 0);
}

static void a_decision_survives_rescans_and_holds_in_all_repositories_of_the_tenant(void **state) {
    (void)state;
    scan_numbers(1, 0, 3, 1);
    decide(1, TS_TRIAGE_FALSE_POSITIVE, TS_BYTES("an example"));
    scan_numbers(1, 0, 0, 0);
    scan_numbers(2, 1, 1, 1);
    const struct listed *listed = list((struct ts_findings_query){0});
    assert_int_equal(listed->count, 1);
    assert_int_equal(listed->found[0].state, TS_FLEET_FINDING_FALSE_POSITIVE);
    assert_true(listed->found[0].has_triage);
    struct ts_triage_room room;
    struct ts_fleet_triage triage;
    struct ts_infra_error error;
    bool exists;
    const struct ts_triage_query query = {world.tenant, finding_number(1)};
    assert_true(ts_triage_get(world.coord, &query, &room, &exists, &triage, &error));
    assert_true(exists && triage.state == TS_TRIAGE_FALSE_POSITIVE && triage.at_ms > 0);
    assert_true(ts_bytes_equal(triage.why, TS_BYTES("an example")));
    assert_true(ts_bytes_equal(triage.who, TS_BYTES("kim")));
    decide(1, TS_TRIAGE_OPEN, TS_BYTES("it is real"));
    assert_int_equal(list((struct ts_findings_query){0})->found[0].state, TS_FLEET_FINDING_OPEN);
    /* Another tenant has the same finding. */
    decide(1, TS_TRIAGE_REVOKED, TS_BYTES("revoked"));
    const struct ts_tenant_id before = world.tenant;
    (void)world_fresh(NULL);
    scan_numbers(1, 1, 1, 1);
    listed = list((struct ts_findings_query){0});
    assert_int_equal(listed->count, 1);
    assert_int_equal(listed->found[0].state, TS_FLEET_FINDING_OPEN);
    world.tenant = before;
    assert_int_equal(list((struct ts_findings_query){0})->found[0].state, TS_FLEET_FINDING_REVOKED);
}

static void a_finding_that_was_never_seen_does_not_exist(void **state) {
    (void)state;
    const struct ts_triage_query query = {world.tenant, finding_number(99)};
    struct ts_triage_room room;
    struct ts_fleet_triage triage;
    struct ts_infra_error error;
    bool exists = true;
    assert_true(ts_triage_get(world.coord, &query, &room, &exists, &triage, &error));
    assert_false(exists);
    assert_int_equal(triage.state, TS_TRIAGE_OPEN);
}

/* ---- reports ---- */

/* Returns the report in this format, as text that the caller frees. */
static char *written(const struct ts_report *report, enum ts_report_format format) {
    const struct ts_report_options options = {.format = format, .version = "1"};
    FILE *file = tmpfile();
    assert_non_null(file);
    struct ts_out out;
    ts_out_init(&out, fileno(file));
    ts_report_write(report, &options, &out);
    assert_true(ts_out_flush(&out));
    const long len = lseek(fileno(file), 0, SEEK_END);
    char *text = calloc((size_t)len + 1, 1);
    assert_int_equal(pread(fileno(file), text, (size_t)len, 0), len);
    fclose(file);
    return text;
}

static struct ts_report read_report(struct ts_findings_scope scope) {
    struct ts_report report;
    struct ts_infra_error error = {.text = ""};
    scope.tenant = world.tenant;
    if (!ts_findings_report(world.coord, &scope, &report, &error))
        fail_msg("%s", error.text);
    return report;
}

static void a_report_from_the_stores_is_that_of_the_scan_in_every_format(void **state) {
    (void)state;
    struct made_report made;
    make_report(&made, 0, 40, 3);
    const char *refs[] = {"refs/heads/main"};
    struct ts_report_suppression suppression = {"turnstone:allow", "", 2, 3};
    struct ts_report_fault fault = {0, "a blob could not be read"};
    const char *notes[] = {"a note"};
    made.target.name = TS_BYTES("https://host/repository");
    made.target.forge = "https://github.com/a/b";
    for (size_t i = 0; i < 40; i++) {
        made.report.findings[i].is_new = true;
        made.report.findings[i].refs[0] = refs[0];
        made.report.findings[i].ref_listed = made.report.findings[i].ref_count = 1;
        made.report.findings[i].depth = 1;
        made.report.findings[i].encodings[0] = TS_ENCODING_BASE64;
    }
    made.report.suppressions = &suppression;
    made.report.suppression_count = 1;
    made.report.faults = &fault;
    made.report.fault_count = made.report.fault_total = 1;
    made.report.notes = notes;
    made.report.note_count = 1;
    scan_target(1, &made);
    ts_report_sort(&made.report);
    struct ts_report report = read_report((struct ts_findings_scope){0});
    for (enum ts_report_format format = TS_REPORT_FORMAT_TEXT; format <= TS_REPORT_FORMAT_HTML; format++) {
        char *expected = written(&made.report, format), *found = written(&report, format);
        assert_string_equal(found, expected);
        free(expected);
        free(found);
    }
    ts_findings_report_release(&report);
    free_report(&made);
}

static void one_finding_has_all_its_places_in_all_repositories(void **state) {
    (void)state;
    scan_numbers(1, 0, 20, 2);
    scan_numbers(2, 7, 1, 30000);
    scan_numbers(3, 8, 5, 1);
    struct ts_report report =
        read_report((struct ts_findings_scope){.has_finding = true, .finding = finding_number(7)});
    assert_int_equal(report.finding_count, 1);
    assert_int_equal(report.findings[0].listed_count, 30002);
    assert_int_equal(report.findings[0].occurrence_count, 30002);
    assert_int_equal(report.target_count, 2);
    size_t in_target[2] = {0};
    for (size_t i = 0; i < 30002; i++)
        in_target[report.findings[0].occurrences[i].target]++;
    assert_int_equal(in_target[0] + in_target[1], 30002);
    assert_true(in_target[0] == 2 || in_target[1] == 2);
    ts_findings_report_release(&report);
}

/* Places are large. So the end of a page may have room for a finding without places, but not for the finding
 * with its first place. */
static void a_finding_begins_in_one_page_only(void **state) {
    (void)state;
    static uint8_t path[30000];
    struct made_report made;
    memset(path, 'p', sizeof path);
    make_report(&made, 0, 100, 1);
    for (size_t i = 0; i < 100; i++) {
        made.occurrences[i].path = ts_bytes_of(path, sizeof path);
        made.report.findings[i].head = NULL;
    }
    scan_target(1, &made);
    free_report(&made);
    struct ts_report report = read_report((struct ts_findings_scope){0});
    assert_int_equal(report.finding_count, 100);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(report.findings[i].occurrence_count, 1);
        assert_int_equal(report.findings[i].listed_count, 1);
    }
    ts_findings_report_release(&report);
    scan_numbers(1, 0, 0, 0);
    assert_int_equal(world_census().hidden, 0);
    assert_int_equal(world_census().marks, 0);
}

static void a_report_has_what_the_filter_chooses(void **state) {
    (void)state;
    scan_numbers(1, 0, 6, 1);
    scan_numbers(2, 4, 6, 1);
    decide(5, TS_TRIAGE_ACCEPTED, TS_BYTES("known"));
    struct ts_report report = read_report(
        (struct ts_findings_scope){.filter = {.has_state = true, .state = TS_FLEET_FINDING_OPEN}});
    assert_int_equal(report.finding_count, 9);
    assert_int_equal(report.target_count, 2);
    ts_findings_report_release(&report);
    report =
        read_report((struct ts_findings_scope){.filter = {.has_target = true, .target = world_target(2)}});
    assert_int_equal(report.finding_count, 6);
    assert_int_equal(report.target_count, 1);
    ts_findings_report_release(&report);
    report = read_report((struct ts_findings_scope){.filter = {.severity = TS_SEVERITY_CRITICAL}});
    assert_int_equal(report.finding_count, 0);
    ts_findings_report_release(&report);
}

static size_t count_in_report(struct ts_findings_filter filter) {
    struct ts_report report = read_report((struct ts_findings_scope){.filter = filter});
    const size_t count = report.finding_count;
    ts_findings_report_release(&report);
    return count;
}

/* Marks in target 1 allow findings 0, 1 and 2. Target 2 has finding 1 without a mark. Target 3 has finding 2
 * with a mark. */
static void the_state_in_a_report_of_one_target_depends_on_all_targets(void **state) {
    (void)state;
    struct made_report made;
    make_report(&made, 0, 3, 1);
    made.occurrences[0].is_allowed = made.occurrences[1].is_allowed = made.occurrences[2].is_allowed = true;
    scan_target(1, &made);
    free_report(&made);
    scan_numbers(2, 1, 1, 1);
    make_report(&made, 2, 1, 1);
    made.occurrences[0].is_allowed = true;
    scan_target(3, &made);
    free_report(&made);
    for (enum ts_fleet_finding_state i = TS_FLEET_FINDING_OPEN; i < TS_FLEET_FINDING_STATE_COUNT; i++) {
        const struct ts_findings_filter filter = {
            .has_target = true, .target = world_target(1), .has_state = true, .state = i};
        assert_int_equal(count_in_report(filter), list((struct ts_findings_query){.filter = filter})->count);
        assert_int_equal(count_in_report(filter), i == TS_FLEET_FINDING_ALLOWED ? 2
                                                  : i == TS_FLEET_FINDING_OPEN  ? 1
                                                                                : 0);
    }
    decide(1, TS_TRIAGE_REVOKED, TS_BYTES("rotated"));
    scan_numbers(3, 2, 1, 1);
    const struct ts_findings_filter open = {
        .has_target = true, .target = world_target(1), .has_state = true, .state = TS_FLEET_FINDING_OPEN};
    const struct ts_findings_filter revoked = {
        .has_target = true, .target = world_target(1), .has_state = true, .state = TS_FLEET_FINDING_REVOKED};
    assert_int_equal(count_in_report(open), 1);
    assert_int_equal(count_in_report(revoked), 1);
}

static bool is_known(const struct ts_target_id *target) {
    struct ts_infra_error error;
    bool known;
    assert_true(ts_findings_knows_target(world.coord, &world.tenant, target, &known, &error));
    return known;
}

static void a_target_is_known_after_its_first_complete_scan(void **state) {
    (void)state;
    const struct ts_target_id target = world_target(1);
    assert_false(is_known(&target));
    (void)world_make_run(&target, 1);
    assert_false(is_known(&target));
    scan_numbers(1, 0, 0, 0);
    assert_true(is_known(&target));
}

int main(int argc, char **argv) {
#define TEST(function) cmocka_unit_test_setup(function, world_fresh)
    const struct CMUnitTest tests[] = {
        TEST(findings_are_listed_in_the_order_of_their_ids_in_pages_of_any_size),
        TEST(findings_are_listed_with_the_address_of_their_first_target),
        TEST(a_finding_that_is_gone_from_its_last_target_is_not_listed),
        TEST(staged_rows_of_a_living_unit_are_not_listed),
        TEST(a_target_that_changes_while_it_is_listed_is_not_missing),
        TEST(filters_choose_among_findings),
        TEST(a_finding_is_allowed_only_while_every_target_allows_it),
        TEST(a_decision_survives_rescans_and_holds_in_all_repositories_of_the_tenant),
        TEST(a_finding_that_was_never_seen_does_not_exist),
        TEST(a_report_from_the_stores_is_that_of_the_scan_in_every_format),
        TEST(one_finding_has_all_its_places_in_all_repositories),
        TEST(a_finding_begins_in_one_page_only),
        TEST(a_report_has_what_the_filter_chooses),
        TEST(the_state_in_a_report_of_one_target_depends_on_all_targets),
        TEST(a_target_is_known_after_its_first_complete_scan),
    };
    return world_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
