/*
 * Reads all rows of coordination on one store, and calls the checks of shards and runs for every change since
 * the last check. The claim index and the counters change with the records, and must match them at every
 * moment.
 */
#include "base/endian.h"
#include "base/hash64.h"
#include "base/number.h"
#include "check.h"
#include "coord/core/claim.h"
#include "os/grow.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = 3, STATUSES = 4, ROWS_MAX = 1000000 };

/* Counts of one check of one store. */
struct tally {
    uint32_t place;
    uint64_t at_ms;
    bool settled;   /* the last call settled a prepared transaction */
    bool restarted; /* after a restart: changes that were not durable may be lost */
    uint64_t records[SIM_RUNS][STATUSES];
    uint64_t counters[SIM_RUNS][STATUSES];
    uint64_t index_entries;
};

static uint32_t run_of(const struct sim__world *world, uint64_t id) {
    for (uint32_t i = 0; i < SIM_RUNS; i++) {
        if (world->runs[i].id.v == id)
            return i;
    }
    return SIM_RUNS;
}

static bool number_at(struct ts_bytes key, size_t at, uint64_t *ret_number) {
    if (key.len < at + 8)
        return false;
    *ret_number = ts_be64_load(key.data + at);
    return true;
}

static uint64_t counter_value(struct sim__world *world, const struct ts_row *row) {
    uint64_t value = 0;
    if (ts_u64_parse(row->value, &value) != TS_NUMBER_OK)
        sim__broken(world, "counters", "a counter is not a number");
    return value;
}

/* ---- shards ---- */

static void drop_image(struct sim__image *image) {
    free(image->bytes);
    *image = (struct sim__image){0};
}

static bool take_image(struct sim__world *world, const struct ts_row *row, struct sim__image *ret_image) {
    uint8_t *bytes = malloc(row->value.len + 1);
    if (bytes == NULL) {
        sim__broken(world, "memory", "there is none left");
        return false;
    }
    memcpy(bytes, row->value.data, row->value.len);
    struct sim__image image = {.version = row->version, .bytes = bytes};
    const enum ts_record_error error =
        ts_shard_record_decode(ts_bytes_of(bytes, row->value.len), &image.record);
    if (error != TS_RECORD_OK) {
        sim__broken(world, "record", "a shard's record cannot be read: %s", ts_record_error_text(error));
        free(bytes);
        return false;
    }
    *ret_image = image;
    return true;
}

static void changed_shard(struct sim__world *world, struct sim__shard *shard, const struct ts_row *row,
                          const struct tally *tally) {
    struct sim__image image;
    if (!take_image(world, row, &image))
        return;
    if (image.record.key.run.v != world->runs[shard->run].id.v || image.record.key.shard.v != shard->id) {
        sim__broken(world, "record", "a shard's record names another shard");
        free(image.bytes);
        return;
    }
    drop_image(&shard->before);
    shard->before = shard->now;
    shard->now = image;
    shard->by = NULL;
    shard->undoable = tally->settled;
    world->model->ranges_changed = true;
    sim__hash_bytes(world, row->value);
    const struct ts_run_guard *guard = &world->model->runs[shard->run].guards[tally->place];
    if (ts_run_status_is_terminal(guard->status))
        sim__broken(world, "run", "shard %llx changed after its run had ended",
                    (unsigned long long)shard->id);
    else if (shard->before.version == 0)
        sim__check_new(world, shard);
    else if (guard->status == TS_RUN_INITIALIZING && !tally->restarted)
        sim__broken(world, "announced", "shard %llx changed before all announced shards were registered",
                    (unsigned long long)shard->id);
    else
        sim__check_change(world, shard, tally->at_ms);
}

/* Restores the record before the last change. Called when a restart has turned the commit of that change back
 * into a prepared transaction. */
static void undo(struct sim__world *world, struct sim__shard *shard) {
    if (!shard->undoable) {
        sim__broken(world, "shards", "shard %llx lost a durable change", (unsigned long long)shard->id);
        return;
    }
    if (shard->by != NULL && shard->by->applied > 0)
        shard->by->applied--;
    struct sim__grant *grant = sim__grant_find(shard, shard->before.record.fence.v);
    if (shard->before.version != 0 && shard->before.record.has_holder && grant != NULL)
        grant->over = false;
    drop_image(&shard->now);
    shard->now = shard->before;
    shard->before = (struct sim__image){0};
    shard->by = NULL;
    shard->undoable = false;
    world->model->ranges_changed = true;
}

static void look_at_shard(struct sim__world *world, const struct ts_row *row, struct tally *tally) {
    struct sim__model *model = world->model;
    uint64_t run_id = 0, id = 0;
    if (!number_at(row->key, HEAD, &run_id) || !number_at(row->key, HEAD + 8, &id))
        return;
    const uint32_t run = run_of(world, run_id);
    if (run == SIM_RUNS) {
        sim__broken(world, "shards", "a record of a run that nobody made");
        return;
    }
    struct sim__shard *shard = sim__shard_find(model, run, id);
    if (shard == NULL) {
        shard = sim__shard_add(model, run, id);
        if (shard == NULL) {
            sim__broken(world, "memory", "there is none left");
            return;
        }
        shard->place = tally->place;
        if (ts_router_route(&world->router, id).v != tally->place)
            sim__broken(world, "shards", "shard %llx lies on store %u, which it does not route to",
                        (unsigned long long)id, (unsigned)tally->place);
    }
    if (shard->place != tally->place) {
        sim__broken(world, "shards", "shard %llx exists twice", (unsigned long long)id);
        return;
    }
    if (tally->restarted && shard->now.version != row->version && shard->before.version == row->version)
        undo(world, shard);
    if (shard->now.version != row->version)
        changed_shard(world, shard, row, tally);
    shard->seen_in = model->checks;
    if (shard->now.version != 0)
        tally->records[run][shard->now.record.status]++;
}

static void find_lost(struct sim__world *world, const struct tally *tally) {
    for (size_t i = 0; i < world->model->shard_count && !sim__is_broken(world); i++) {
        struct sim__shard *shard = world->model->shards[i];
        if (shard->place != tally->place || shard->now.version == 0 || shard->seen_in == world->model->checks)
            continue;
        if (tally->restarted && shard->before.version == 0)
            undo(world, shard);
        else
            sim__broken(world, "shards", "shard %llx is gone", (unsigned long long)shard->id);
    }
}

/* ---- index and counters ---- */

static void look_at_index(struct sim__world *world, const struct ts_row *row, struct tally *tally) {
    const bool leased = row->key.data[2] == 'l';
    uint64_t run_id = 0, id = 0, deadline = 0;
    if (!number_at(row->key, HEAD, &run_id) || !number_at(row->key, leased ? HEAD + 16 : HEAD + 8, &id) ||
        (leased && !number_at(row->key, HEAD + 8, &deadline)))
        return;
    const uint32_t run = run_of(world, run_id);
    const struct sim__shard *shard = run == SIM_RUNS ? NULL : sim__shard_find(world->model, run, id);
    tally->index_entries++;
    if (shard == NULL || shard->place != tally->place || shard->now.version == 0 ||
        shard->now.record.status != TS_SHARD_ACTIVE || shard->now.record.has_holder != leased ||
        (leased && shard->now.record.holder.deadline.ms != deadline))
        sim__broken(world, "index", "the claim index has an entry for shard %llx that its record denies",
                    (unsigned long long)id);
}

static void look_at_counter(struct sim__world *world, const struct ts_row *row, struct tally *tally) {
    uint64_t run_id = 0;
    if (!number_at(row->key, HEAD, &run_id) || row->key.len != HEAD + 10)
        return;
    const uint32_t run = run_of(world, run_id);
    const uint8_t status = row->key.data[HEAD + 8];
    if (run < SIM_RUNS && status < STATUSES)
        tally->counters[run][status] += counter_value(world, row);
}

static void compare(struct sim__world *world, const struct tally *tally) {
    uint64_t active = 0;
    for (uint32_t run = 0; run < SIM_RUNS; run++) {
        active += tally->records[run][TS_SHARD_ACTIVE];
        for (int status = 0; status < STATUSES; status++) {
            if (tally->records[run][status] != tally->counters[run][status])
                sim__broken(world, "counters", "store %u has %llu shards that are %s and counts %llu",
                            (unsigned)tally->place, (unsigned long long)tally->records[run][status],
                            ts_shard_status_name((enum ts_shard_status)status),
                            (unsigned long long)tally->counters[run][status]);
        }
    }
    if (active != tally->index_entries)
        sim__broken(world, "index", "store %u has %llu active shards and %llu entries in the claim index",
                    (unsigned)tally->place, (unsigned long long)active,
                    (unsigned long long)tally->index_entries);
}

/* ---- runs ---- */

static void look_at_guard(struct sim__world *world, const struct ts_row *row, const struct tally *tally) {
    uint64_t run_id = 0;
    (void)number_at(row->key, HEAD, &run_id);
    const uint32_t run = run_of(world, run_id);
    if (run == SIM_RUNS)
        return;
    struct sim__run_model *model = &world->model->runs[run];
    model->guards_seen_in[tally->place] = world->model->checks;
    if (model->guard_versions[tally->place] == row->version)
        return;
    struct ts_run_guard guard;
    if (ts_run_guard_decode(row->value, &guard) != TS_RECORD_OK) {
        sim__broken(world, "record", "a run's guard cannot be read");
        return;
    }
    const struct ts_run_guard *before = &model->guards[tally->place];
    if (model->guard_versions[tally->place] != 0 && !tally->restarted &&
        (ts_run_status_is_terminal(before->status) || guard.status < before->status))
        sim__broken(world, "run", "a guard went from %s to %s", ts_run_status_name(before->status),
                    ts_run_status_name(guard.status));
    model->guards[tally->place] = guard;
    model->guard_versions[tally->place] = row->version;
    sim__hash_bytes(world, row->value);
}

static void check_run_change(struct sim__world *world, const struct ts_run_record *before,
                             const struct ts_run_record *after) {
    if (ts_run_status_is_terminal(before->status)) {
        sim__broken(world, "run", "a run that was %s has changed", ts_run_status_name(before->status));
        return;
    }
    if (after->number != before->number)
        sim__broken(world, "run", "a run has another number than before");
    if (after->status < before->status || after->registered < before->registered)
        sim__broken(world, "run", "a run went back from %s to %s", ts_run_status_name(before->status),
                    ts_run_status_name(after->status));
}

/* Checks that a new run has a higher number than every other run of its tenant. */
static void check_run_number(struct sim__world *world, uint32_t run, const struct ts_run_record *record) {
    for (uint32_t other = 0; other < SIM_RUNS; other++) {
        const struct sim__run_model *model = &world->model->runs[other];
        if (other != run && model->version != 0 && world->runs[other].tenant == world->runs[run].tenant &&
            model->record.number >= record->number)
            sim__broken(world, "number", "a new run has number %llu, and an earlier one of its tenant %llu",
                        (unsigned long long)record->number, (unsigned long long)model->record.number);
    }
}

/* Checks that the newest entry of the log is the next step of the announced list. After the last step, the
 * operation that created the run counts as applied. */
static void check_step(struct sim__world *world, uint32_t run, const struct ts_run_record *record) {
    const struct ts_run_record *before = &world->model->runs[run].record;
    struct sim__op *op = sim__op_find(world->model, world->runs[run].create_op);
    const struct ts_step_place place = {before->registered, record->registered - before->registered};
    const struct ts_op_id newest = ts_ring_from_newest(&record->op_log, 0)->op_id;
    if (op == NULL || record->registered <= before->registered ||
        ts_step_op_id(world->runs[run].id, (struct ts_op_id){op->id}, place).v != newest.v)
        sim__broken(world, "announced", "a run registered a step that is not the next one of its list");
    else if (record->status == TS_RUN_ACTIVE && op->applied++ > 0)
        sim__broken(world, "op-log", "operation %llu of a run was done twice", (unsigned long long)op->id);
    if ((record->status == TS_RUN_ACTIVE) != (record->registered == record->announced.count))
        sim__broken(world, "announced", "a run is %s with %llu of %llu announced shards",
                    ts_run_status_name(record->status), (unsigned long long)record->registered,
                    (unsigned long long)record->announced.count);
}

/* Checks the operation that has changed the run: the newest entry of the run's log. */
static void check_run_op(struct sim__world *world, uint32_t run, const struct ts_run_record *record) {
    const struct ts_run_record *before = &world->model->runs[run].record;
    if (ts_ring_count(&record->op_log) == 0)
        return;
    const struct ts_run_op_log_entry *newest = ts_ring_from_newest(&record->op_log, 0);
    struct sim__op *op = sim__op_find(world->model, newest->op_id.v);
    if (op == NULL && world->runs[run].in_steps && newest->kind == TS_RUN_OP_REGISTER_SHARDS) {
        check_step(world, run, record);
        return;
    }
    if (op == NULL || op->run != run) {
        sim__broken(world, "op-log", "a run changed by an operation that no worker began");
        return;
    }
    if (op->tenant != world->runs[run].tenant)
        sim__broken(world, "tenant", "a run accepted an operation of another tenant");
    /* A registration can be repeated after the log has dropped its entry. It then adds no shards. */
    const bool again = ts_run_op_log_find(&before->op_log, newest->op_id) == NULL &&
                       newest->kind == TS_RUN_OP_REGISTER_SHARDS && before->registered == record->registered;
    if (op->applied++ > 0 && !again)
        sim__broken(world, "op-log", "operation %llu of a run was done twice", (unsigned long long)op->id);
}

/* Called when the commit of the run's last operation has become a prepared transaction again. */
static void undo_run(struct sim__world *world, struct sim__run_model *model,
                     const struct ts_run_record *record) {
    const struct ts_run_op_log_entry *newest =
        ts_ring_count(&model->record.op_log) == 0 ? NULL : ts_ring_from_newest(&model->record.op_log, 0);
    struct sim__op *op = newest == NULL ? NULL : sim__op_find(world->model, newest->op_id.v);
    if (op != NULL && ts_run_op_log_find(&record->op_log, newest->op_id) == NULL && op->applied > 0)
        op->applied--;
    /* If the last step of a list is undone, the operation of the list is undone as well. */
    const uint32_t run = (uint32_t)(model - world->model->runs);
    struct sim__op *list =
        world->runs[run].in_steps ? sim__op_find(world->model, world->runs[run].create_op) : NULL;
    if (list != NULL && model->record.status != TS_RUN_INITIALIZING &&
        record->status == TS_RUN_INITIALIZING && list->applied > 0)
        list->applied--;
}

static void look_at_run(struct sim__world *world, const struct ts_row *row, const struct tally *tally) {
    uint64_t run_id = 0;
    (void)number_at(row->key, HEAD, &run_id);
    const uint32_t run = run_of(world, run_id);
    if (run == SIM_RUNS)
        return;
    struct sim__run_model *model = &world->model->runs[run];
    model->seen_in = world->model->checks;
    if (model->version == row->version)
        return;
    struct ts_run_record record;
    if (ts_run_record_decode(row->value, &record) != TS_RECORD_OK) {
        sim__broken(world, "record", "a run's record cannot be read");
        return;
    }
    if (tally->restarted) {
        undo_run(world, model, &record);
    } else {
        if (model->version != 0)
            check_run_change(world, &model->record, &record);
        else
            check_run_number(world, run, &record);
        check_run_op(world, run, &record);
    }
    model->record = record;
    model->version = row->version;
    sim__hash_bytes(world, row->value);
}

/* Finds runs that have disappeared. Only a restart that loses the commit of a run's creation may remove the
 * run. */
static void find_lost_runs(struct sim__world *world, const struct tally *tally) {
    const uint64_t check = world->model->checks;
    for (uint32_t run = 0; run < SIM_RUNS; run++) {
        struct sim__run_model *model = &world->model->runs[run];
        const bool guard_gone =
            model->guard_versions[tally->place] != 0 && model->guards_seen_in[tally->place] != check;
        const bool run_gone = tally->place == 0 && model->version != 0 && model->seen_in != check;
        if ((guard_gone || run_gone) && !tally->restarted)
            sim__broken(world, "run", "a run is gone");
        if (guard_gone) {
            model->guard_versions[tally->place] = 0;
            model->guards[tally->place] = (struct ts_run_guard){0};
        }
        if (run_gone) {
            undo_run(world, model, &(struct ts_run_record){0});
            model->version = 0;
            model->record = (struct ts_run_record){0};
        }
    }
}

static void look_at_limit(struct sim__world *world, const struct ts_row *row) {
    const uint64_t value = counter_value(world, row);
    if (row->key.len == HEAD) {
        world->model->global_limit = value;
        return;
    }
    for (uint32_t tenant = 0; tenant < SIM_TENANTS; tenant++) {
        if (row->key.len == HEAD + TS_NAME_ID_LEN &&
            memcmp(row->key.data + HEAD, world->tenants[tenant].b, TS_NAME_ID_LEN) == 0)
            world->model->tenant_limits[tenant] = value;
    }
}

static void look_at_run_limit(struct sim__world *world, const struct ts_row *row) {
    uint64_t run_id = 0;
    (void)number_at(row->key, HEAD, &run_id);
    const uint32_t run = run_of(world, run_id);
    if (run < SIM_RUNS)
        world->model->runs[run].limit_count = counter_value(world, row);
}

static void look_at_cooldown(struct sim__world *world, const struct ts_row *row, const struct tally *tally) {
    struct ts_cooldown entry;
    if (ts_cooldown_decode(row->value, &entry) != TS_RECORD_OK) {
        sim__broken(world, "record", "a cooldown cannot be read");
        return;
    }
    for (uint32_t i = 0; i < world->worker_count; i++) {
        if (!ts_worker_id_equal(&entry.worker, sim__worker_id(world, i)))
            continue;
        struct sim__cooldown *cooldown = &world->model->cooldowns[i];
        if (cooldown->was_there && cooldown->place == tally->place && entry.until.ms < cooldown->until_ms &&
            sim__place_now(&world->places[tally->place]) < cooldown->until_ms)
            sim__broken(world, "cooldown", "the cooldown of worker %u was shortened", (unsigned)i);
        *cooldown = (struct sim__cooldown){true, cooldown->was_there, entry.until.ms, tally->place};
    }
}

/* Checks a row that the holder of a shard has written. Shards are read before these rows, so their records
 * are current. */
static void look_at_written(struct sim__world *world, const struct ts_row *row, const struct tally *tally) {
    uint64_t run_id = 0, id = 0, op_id = 0;
    (void)number_at(row->key, HEAD, &run_id);
    (void)number_at(row->key, HEAD + 8, &id);
    const uint32_t run = run_of(world, run_id);
    struct sim__shard *shard = run == SIM_RUNS ? NULL : sim__shard_find(world->model, run, id);
    if (shard == NULL || !number_at(row->value, 0, &op_id)) {
        sim__broken(world, "lease-check", "a row of a shard that nobody made");
        return;
    }
    if (shard->written == row->version)
        return;
    shard->written = row->version;
    sim__hash_bytes(world, row->value);
    if (tally->restarted)
        return;
    if (ts_run_status_is_terminal(world->model->runs[run].guards[tally->place].status))
        sim__broken(world, "lease-check", "a worker wrote for shard %llx after its run had ended",
                    (unsigned long long)id);
    else
        sim__check_written(world, shard, op_id, tally->at_ms);
}

/* ---- the whole check ---- */

static void look_at_row(struct sim__world *world, const struct ts_row *row, struct tally *tally) {
    switch (row->key.len < HEAD ? 0 : row->key.data[2]) {
    case 's':
        look_at_shard(world, row, tally);
        return;
    case 'n':
        look_at_counter(world, row, tally);
        return;
    case 'g':
        look_at_guard(world, row, tally);
        return;
    case 'r':
        look_at_run(world, row, tally);
        return;
    case 'q':
        look_at_limit(world, row);
        return;
    case 'm':
        look_at_run_limit(world, row);
        return;
    case 'k':
        look_at_cooldown(world, row, tally);
        return;
    case 'u':
        look_at_written(world, row, tally);
        return;
    default:
        return;
    }
}

/* Returns the time at which the changes on the store count. If a prepared transaction no longer exists, the
 * last call settled it. Its changes count at the time when it was prepared, because its locks have kept out
 * all other writers since then. */
static uint64_t look_at_promises(struct sim__world *world, uint32_t place, bool *ret_settled) {
    struct sim__model *model = world->model;
    struct ts_call call = {.kind = TS_CALL_PREPARED, .rows = &model->rows};
    sim__direct(world, place, &call);
    uint64_t at_ms = sim__place_now(&world->places[place]);
    *ret_settled = false;
    for (size_t i = 0; i < model->promise_count[place]; i++) {
        bool there = false;
        for (size_t k = 0; k < model->rows.count && !there; k++)
            there = ts_xxh64_of_bytes(model->rows.rows[k].key) == model->promises[place][i].name;
        if (!there) {
            at_ms = model->promises[place][i].time_ms;
            *ret_settled = true;
        }
    }
    if (!TS_GROW(model->promises[place], model->promise_capacity[place], model->rows.count)) {
        sim__broken(world, "memory", "there is none left");
        return at_ms;
    }
    model->promise_count[place] = model->rows.count;
    for (size_t i = 0; i < model->rows.count; i++)
        model->promises[place][i] =
            (struct sim__promise){ts_xxh64_of_bytes(model->rows.rows[i].key), model->rows.rows[i].version};
    return at_ms;
}

static void read_rows(struct sim__world *world, uint32_t place) {
    static const uint8_t from[] = {0, 'c'};
    static const uint8_t to[] = {0, 'd'};
    struct ts_call call = {.kind = TS_CALL_SCAN,
                           .from = {.data = from, .len = sizeof from},
                           .to = {.data = to, .len = sizeof to},
                           .limit = ROWS_MAX,
                           .rows = &world->model->rows};
    sim__direct(world, place, &call);
    if (call.error.result != TS_STORE_OK)
        sim__broken(world, "store", "store %u cannot be read", (unsigned)place);
}

bool sim__is_quiet(const struct sim__world *world) {
    for (uint32_t i = 0; i < world->place_count; i++) {
        if (world->model->promise_count[i] > 0)
            return false;
    }
    return true;
}

static void forget_cooldowns(struct sim__world *world, uint32_t place) {
    for (uint32_t i = 0; i < world->worker_count; i++) {
        struct sim__cooldown *cooldown = &world->model->cooldowns[i];
        if (cooldown->place != place)
            continue;
        cooldown->was_there = cooldown->there;
        cooldown->there = false;
    }
}

static void forget_limits(struct sim__model *model) {
    model->global_limit = 0;
    for (uint32_t i = 0; i < SIM_TENANTS; i++)
        model->tenant_limits[i] = 0;
    for (uint32_t i = 0; i < SIM_RUNS; i++)
        model->runs[i].limit_count = 0;
}

static void look(struct sim__world *world, struct tally *tally) {
    struct sim__model *model = world->model;
    read_rows(world, tally->place);
    forget_cooldowns(world, tally->place);
    if (tally->place == 0)
        forget_limits(model);
    for (size_t i = 0; i < model->rows.count && !sim__is_broken(world); i++)
        look_at_row(world, &model->rows.rows[i], tally);
    if (!sim__is_broken(world)) {
        find_lost(world, tally);
        find_lost_runs(world, tally);
    }
    for (size_t i = 0; i < model->rows.count && !sim__is_broken(world); i++) {
        const struct ts_bytes key = model->rows.rows[i].key;
        if (key.len >= HEAD && (key.data[2] == 'f' || key.data[2] == 'l'))
            look_at_index(world, &model->rows.rows[i], tally);
    }
    if (!sim__is_broken(world))
        compare(world, tally);
    if (!sim__is_broken(world) && sim__is_quiet(world))
        sim__check_quiet(world);
}

static void begin_look(struct sim__world *world, uint32_t place, struct tally *ret_tally) {
    world->model->checks++;
    world->result->counts.checks++;
    *ret_tally = (struct tally){.place = place};
    ret_tally->at_ms = look_at_promises(world, place, &ret_tally->settled);
}

void sim__check_place(struct sim__world *world, uint32_t place) {
    if (sim__is_broken(world))
        return;
    struct tally tally;
    begin_look(world, place, &tally);
    look(world, &tally);
}

void sim__check_restarted(struct sim__world *world, uint32_t place) {
    if (sim__is_broken(world))
        return;
    struct tally tally;
    begin_look(world, place, &tally);
    tally.restarted = true;
    look(world, &tally);
}
