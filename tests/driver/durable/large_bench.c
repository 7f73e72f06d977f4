/*
 * Measures the cost of large cases. Run by hand: large_bench memory|rocksdb|postgres [CASE] prints one line
 * of JSON for each case. Times are wall clock, in ms; the servers of PostgreSQL do not wait for their disk.
 */
#include "world.h"

#include "os/clock.h"
#include "runtime/core/fleet_summary.h"
#include "runtime/durable/findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MANY = 100000, TARGETS = 10000, PER_TARGET = 10, KNOWN_PAGES = 191, RUNS = 5 };

static const struct ts_fleet_rules rules = {{1}, {2}};

static double ms_since(uint64_t start_ns) {
    return (double)(ts_clock_monotonic_ns() - start_ns) / 1e6;
}

static void begin_line(const char *name) {
    printf("{\"engine\":\"%s\",\"case\":\"%s\"", world.engine, name);
    world.writes = world.reads = 0;
    world.ops_most = world.bytes_most = 0;
}

static void put(const char *name, double value) {
    printf(",\"%s\":%.2f", name, value);
}

static void end_line(void) {
    printf("}\n");
    fflush(stdout);
}

/* ---- units ---- */

static void flip(struct worker *worker, const struct made_report *made) {
    const struct ts_durable_scan scan = scan_of(made);
    assert_int_equal(ts_durable_read(worker->durable, &worker->unit, &worker->detail), TS_DURABLE_OK);
    assert_int_equal(ts_durable_stage(worker->durable, &scan, &worker->detail), TS_DURABLE_OK);
    assert_int_equal(ts_durable_flip(worker->durable, &worker->receipt, &worker->detail), TS_DURABLE_OK);
}

static void complete(struct worker *worker) {
    const struct ts_checkpoint_receipt *checkpoint;
    struct ts_durable_swept swept;
    struct ts_infra_error error;
    assert_int_equal(ts_durable_complete(worker->durable, worker->receipt, &checkpoint, &worker->detail),
                     TS_DURABLE_OK);
    if (!ts_durable_tidy(worker->durable, &swept, &error))
        fail_msg("%s", error.text);
}

static void claim(struct worker *worker, const struct ts_target_id *target) {
    const struct ts_durable_run run = {.number = world_make_run(target, 1), .rules = rules};
    worker_claim(worker, world.run, &run);
}

/* ---- reading ---- */

static void count_found(void *context, const struct ts_found *found) {
    (void)found;
    ++*(size_t *)context;
}

/* Returns the shortest time of several runs of the query. */
static double list_ms(struct ts_findings_query query, size_t *ret_count) {
    double best = 0;
    query.tenant = world.tenant;
    for (int i = 0; i < RUNS; i++) {
        struct ts_infra_error error = {.text = ""};
        bool more;
        *ret_count = 0;
        const uint64_t start_ns = ts_clock_monotonic_ns();
        if (!ts_findings_list(world.coord, &query, count_found, ret_count, &more, &error))
            fail_msg("%s", error.text);
        const double took_ms = ms_since(start_ns);
        best = i == 0 || took_ms < best ? took_ms : best;
    }
    return best;
}

static double report_ms(struct ts_findings_scope scope, uint64_t *ret_places) {
    struct ts_report report;
    struct ts_infra_error error = {.text = ""};
    scope.tenant = world.tenant;
    const uint64_t start_ns = ts_clock_monotonic_ns();
    if (!ts_findings_report(world.coord, &scope, &report, &error))
        fail_msg("%s", error.text);
    const double took_ms = ms_since(start_ns);
    *ret_places = 0;
    for (size_t i = 0; i < report.finding_count; i++)
        *ret_places += report.findings[i].listed_count;
    ts_findings_report_release(&report);
    return took_ms;
}

/* ---- cases ---- */

/* Measures one target with a report of this size, and then the removal of the report's rows. */
static void one_target(const char *name, unsigned findings, unsigned places) {
    const struct ts_target_id target = world_target(1);
    struct made_report made;
    struct worker worker;
    uint64_t listed;
    make_report(&made, 0, findings, places);
    claim(&worker, &target);
    begin_line(name);
    uint64_t start_ns = ts_clock_monotonic_ns();
    flip(&worker, &made);
    put("flip_ms", ms_since(start_ns));
    put("writes", world.writes);
    put("ops_most", (double)world.ops_most);
    put("bytes_most", (double)world.bytes_most);
    complete(&worker);
    worker_free(&worker);
    free_report(&made);
    put("pages", (double)world_census().pages);
    put("report_ms", report_ms((struct ts_findings_scope){0}, &listed));
    assert_int_equal(listed, (uint64_t)findings * places);
    make_report(&made, 0, 0, 0);
    claim(&worker, &target);
    flip(&worker, &made);
    world.writes = 0;
    start_ns = ts_clock_monotonic_ns();
    complete(&worker);
    put("removal_ms", ms_since(start_ns));
    put("removal_writes", world.writes);
    worker_free(&worker);
    free_report(&made);
    end_line();
}

static void one_secret_at_100000_places(void **state) {
    (void)state;
    one_target("one secret at 100,000 places", 1, MANY);
}

static void a_repository_with_100000_findings(void **state) {
    (void)state;
    one_target("100,000 findings in one repository", MANY, 1);
}

static bool count_bytes(void *context, enum ts_durable_recall what, struct ts_bytes bytes) {
    (void)what;
    *(size_t *)context += bytes.len;
    return true;
}

static void ten_million_known_ids(void **state) {
    (void)state;
    const struct ts_target_id target = world_target(1);
    static uint8_t page[TS_FLEET_PAGE_MAX];
    struct worker worker;
    struct made_report made;
    size_t recalled = 0;
    for (size_t i = 0; i < sizeof page; i++)
        page[i] = (uint8_t)(i * 2654435761u >> 13); /* ids do not compress */
    claim(&worker, &target);
    assert_int_equal(ts_durable_read(worker.durable, &worker.unit, &worker.detail), TS_DURABLE_OK);
    begin_line("10,000,000 known ids");
    uint64_t start_ns = ts_clock_monotonic_ns();
    for (size_t i = 0; i < KNOWN_PAGES; i++) {
        const struct ts_bytes bytes = ts_bytes_of(page, sizeof page / 20 * 20);
        const struct ts_durable_part part = {.known = {&bytes, 1}, .objects = i};
        const struct ts_item_receipt *item;
        assert_int_equal(ts_durable_part(worker.durable, &part, &item, &worker.detail), TS_DURABLE_OK);
    }
    put("parts_ms", ms_since(start_ns));
    put("writes", world.writes);
    start_ns = ts_clock_monotonic_ns();
    assert_int_equal(
        ts_durable_recall(worker.durable, TS_DURABLE_KNOWN, count_bytes, &recalled, &worker.detail),
        TS_DURABLE_OK);
    put("recall_ms", ms_since(start_ns));
    put("ids", (double)recalled / 20);
    make_report(&made, 0, 0, 0);
    flip(&worker, &made);
    start_ns = ts_clock_monotonic_ns();
    complete(&worker);
    put("removal_ms", ms_since(start_ns));
    worker_free(&worker);
    free_report(&made);
    end_line();
}

/* ---- many targets: their rows are written in large batches, which is faster than one unit per target ---- */

struct filling {
    struct ts_op ops[4096];
    size_t count[2]; /* for each place: the number of operations in its half of `ops` */
    uint8_t bytes[4096][TS_FLEET_TARGET_MAX + TS_FLEET_KEY_MAX];
};
static struct filling filling;
enum { HALF = 2048, PLACES = 2, FULL = 900 };

static void flush(uint32_t place) {
    struct ts_infra_error error = {.text = ""};
    const struct ts_batch batch = {filling.ops + place * HALF, filling.count[place]};
    if (ts_coord_apply(world.coord, place, batch, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    filling.count[place] = 0;
}

static void fill(uint32_t place, const struct ts_fleet_key *key, const uint8_t *value, size_t len) {
    assert_true(place < PLACES && len <= TS_FLEET_TARGET_MAX);
    const size_t at = place * HALF + filling.count[place]++;
    memcpy(filling.bytes[at], key->bytes, key->len);
    memcpy(filling.bytes[at] + key->len, value, len);
    filling.ops[at] = (struct ts_op){.kind = TS_OP_PUT,
                                     .key = ts_bytes_of(filling.bytes[at], key->len),
                                     .value = ts_bytes_of(filling.bytes[at] + key->len, len)};
    if (filling.count[place] == FULL)
        flush(place);
}

static void fill_finding(unsigned number, const struct ts_target_id *target, const struct ts_attempt *attempt,
                         bool is_new) {
    uint8_t bytes[TS_FLEET_FINDING_MAX];
    const struct ts_fleet_finding finding = finding_number(number);
    const uint32_t place = ts_coord_place_of(world.coord, ts_fleet_route_of_finding(&finding));
    const struct ts_fleet_seen seen = {.count = 1,
                                       .confidence = TS_CONFIDENCE_HIGH,
                                       .severity = TS_SEVERITY_HIGH,
                                       .path = TS_BYTES("a/file")};
    struct ts_fleet_key key = ts_fleet_key_seen(&world.tenant, &finding, target, attempt);
    fill(place, &key, bytes, ts_fleet_seen_encode(&seen, bytes));
    const struct ts_fleet_finding_record record = {
        .rule = TS_BYTES("rule-a"), .name = TS_BYTES("Rule A"), .redacted = TS_BYTES("AK..9")};
    key = ts_fleet_key_finding(&world.tenant, &finding);
    if (is_new)
        fill(place, &key, bytes, ts_fleet_finding_encode(&record, bytes));
}

static void fill_summary(const struct ts_target_id *target, const struct ts_attempt *attempt) {
    static uint8_t page[TS_FLEET_PAGE_MAX];
    struct ts_fleet_summary summary;
    const struct ts_fleet_part origin = {
        .kind = TS_FLEET_PART_ORIGIN,
        .u.origin = {.address = TS_BYTES("https://git.example.org/group/repository"),
                     .selection = TS_BYTES("all")}};
    const struct ts_fleet_key key = ts_fleet_key_summary(target, attempt, 0);
    ts_fleet_summary_begin(&summary, page);
    assert_true(ts_fleet_summary_add(&summary, &origin));
    fill(ts_coord_target_home(ts_coord_router(world.coord), target->bytes).v, &key, page,
         ts_fleet_summary_seal(&summary));
}

/* Makes TARGETS targets with `count` findings each. The first finding of target n is step * n. */
static void many_targets(unsigned count, unsigned step) {
    uint8_t bytes[TS_FLEET_TARGET_MAX];
    for (unsigned i = 0; i < TARGETS; i++) {
        const struct ts_target_id id = world_target(i);
        const struct ts_fleet_target target = {
            .run_number = 1, .attempt = {.run = 1, .shard = i, .fence = 1}, .findings = count};
        const struct ts_fleet_key key = ts_fleet_key_target(&world.tenant, &id);
        fill(ts_coord_target_home(ts_coord_router(world.coord), id.bytes).v, &key, bytes,
             ts_fleet_target_encode(&target, bytes));
        fill_summary(&id, &target.attempt);
        for (unsigned j = 0; j < count; j++)
            fill_finding(i * step + j, &id, &target.attempt, step > 0 || i == 0);
    }
    for (uint32_t place = 0; place < PLACES; place++)
        flush(place);
}

static void findings_in_10000_targets(void **state) {
    (void)state;
    size_t count;
    begin_line("100,000 findings in 10,000 targets");
    many_targets(PER_TARGET, PER_TARGET);
    world.reads = 0;
    put("first_page_ms", list_ms((struct ts_findings_query){.limit = 100, .wants_address = true}, &count));
    assert_int_equal(count, 100);
    put("calls", world.reads / (double)RUNS);
    put("last_page_ms",
        list_ms((struct ts_findings_query){.limit = 100, .has_after = true, .after = {{0xff, 0x80}}},
                &count));
    put("no_match_ms",
        list_ms((struct ts_findings_query){.limit = 100, .filter = {.rule = TS_BYTES_INIT("none")}}, &count));
    end_line();
}

static void one_secret_in_10000_repositories(void **state) {
    (void)state;
    size_t count;
    begin_line("one secret in 10,000 repositories");
    many_targets(1, 0);
    put("list_ms", list_ms((struct ts_findings_query){.limit = 100, .wants_address = true}, &count));
    assert_int_equal(count, 1);
    end_line();
}

int main(int argc, char **argv) {
#define TEST(function) cmocka_unit_test_setup(function, world_fresh)
    const struct CMUnitTest tests[] = {
        TEST(one_secret_at_100000_places),
        TEST(a_repository_with_100000_findings),
        TEST(ten_million_known_ids),
        TEST(findings_in_10000_targets),
        TEST(one_secret_in_10000_repositories),
    };
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    return world_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
