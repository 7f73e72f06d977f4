#include "steps.h"

#include <stdlib.h>

const struct ts_fleet_rules rules = {{1}, {2}}, other_rules = {{3}, {2}}, other_judging = {{1}, {9}};

void must(enum ts_durable_end end, const struct worker *worker) {
    if (end == TS_DURABLE_FAILED)
        fail_msg("%s", ts_unit_reason_text(worker->detail.error.reason));
    assert_int_equal(end, TS_DURABLE_OK);
}

void begin(struct worker *worker, uint64_t run_id, uint64_t number, const struct ts_fleet_rules *with) {
    const struct ts_durable_run run = {.number = number, .rules = *with};
    worker_claim(worker, run_id, &run);
    must(ts_durable_read(worker->durable, &worker->unit, &worker->detail), worker);
}

void complete(struct worker *worker) {
    const struct ts_checkpoint_receipt *checkpoint;
    struct ts_durable_swept swept;
    struct ts_infra_error error;
    assert_non_null(worker->receipt);
    must(ts_durable_complete(worker->durable, worker->receipt, &checkpoint, &worker->detail), worker);
    assert_true(ts_durable_tidy(worker->durable, &swept, &error));
}

void finish(struct worker *worker, struct ts_durable_scan scan) {
    worker->receipt = ts_durable_covered(worker->durable);
    while (worker->receipt == NULL) {
        must(ts_durable_stage(worker->durable, &scan, &worker->detail), worker);
        const enum ts_durable_end end = ts_durable_flip(worker->durable, &worker->receipt, &worker->detail);
        if (end == TS_DURABLE_UNKNOWN) {
            enum ts_unit_found found;
            must(ts_durable_look_up(worker->durable, &found, &worker->receipt, &worker->detail), worker);
            assert_int_not_equal(found, TS_UNIT_FOUND_OTHER);
        } else {
            must(end, worker);
        }
    }
    complete(worker);
}

void scan_target(unsigned number, const struct made_report *made, const struct ts_fleet_rules *with) {
    const struct ts_target_id target = world_target(number);
    const uint64_t run = world_make_run(&target, 1);
    struct worker worker;
    begin(&worker, world.run, run, with);
    finish(&worker, scan_of(made));
    worker_free(&worker);
}

void expect_garbage_free(size_t visible, uint64_t places) {
    const struct census census = world_census();
    assert_int_equal(census.visible, visible);
    assert_int_equal(census.hidden, 0);
    assert_int_equal(census.marks, 0);
    assert_int_equal(census.known, 0);
    assert_int_equal(census.places, places);
}

static bool note(void *context, enum ts_durable_recall what, struct ts_bytes bytes) {
    struct recalled *recalled = context;
    recalled->pages[what]++;
    recalled->bytes[what] += bytes.len;
    return true;
}

struct recalled recall(struct worker *worker) {
    struct recalled recalled = {0};
    must(ts_durable_recall(worker->durable, TS_DURABLE_KNOWN, note, &recalled, &worker->detail), worker);
    must(ts_durable_recall(worker->durable, TS_DURABLE_HITS, note, &recalled, &worker->detail), worker);
    must(ts_durable_recall(worker->durable, TS_DURABLE_TIPS, note, &recalled, &worker->detail), worker);
    return recalled;
}

void lose_lease(struct worker *worker) {
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    assert_int_equal(
        ts_coord_session_release(worker->session, (struct ts_op_id){77}, TS_BLAME_NOBODY, &outcome, &detail),
        TS_RELEASE_OK);
}

void part(struct worker *worker, size_t known, size_t hits) {
    static uint8_t page[1000];
    struct ts_bytes pages[40];
    const struct ts_item_receipt *item;
    const struct ts_checkpoint_receipt *checkpoint;
    for (size_t i = 0; i < 40; i++)
        pages[i] = ts_bytes_of(page, sizeof page - i);
    const struct ts_durable_part facts = {.known = {pages, known}, .hits = {pages, hits}, .objects = 5};
    must(ts_durable_part(worker->durable, &facts, &item, &worker->detail), worker);
    must(ts_durable_checkpoint(worker->durable, item, &checkpoint, &worker->detail), worker);
}
