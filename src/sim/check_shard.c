/*
 * Every change of a shard's record is exactly one operation:
 *
 *   one new entry in the op-log           the operation of the entry; a worker has begun it, and it was allowed
 *   no new entry, fence + 1, a holder     acquire
 *   no new entry, same fence and holder   renew
 *
 * Anything else is wrong. So is a change of a field that the operation must not touch.
 */
#include "base/assert.h"
#include "check.h"
#include "os/grow.h"

#include <stdlib.h>
#include <string.h>

/* A change under examination. */
struct change {
    struct sim__world *world;
    struct sim__shard *shard;
    const struct ts_shard_record *before;
    const struct ts_shard_record *after;
    uint64_t at_ms;
    struct sim__op *op;
};

static unsigned long long id_of(const struct change *change) {
    return (unsigned long long)change->shard->id;
}

static bool same_holder(const struct ts_shard_record *a, const struct ts_shard_record *b) {
    return a->has_holder == b->has_holder &&
           (!a->has_holder || (ts_worker_id_equal(&a->holder.owner, &b->holder.owner) &&
                               a->holder.deadline.ms == b->holder.deadline.ms));
}

static bool same_cursor(const struct ts_cursor *a, const struct ts_cursor *b) {
    return a->has_key == b->has_key && a->has_token == b->has_token &&
           (!a->has_key || ts_bytes_equal(a->last_key, b->last_key)) &&
           (!a->has_token || ts_bytes_equal(a->token, b->token));
}

static bool same_spec(const struct ts_shard_record *a, const struct ts_shard_record *b) {
    return ts_bytes_equal(a->spec.range.start, b->spec.range.start) &&
           ts_bytes_equal(a->spec.range.end, b->spec.range.end) &&
           ts_bytes_equal(a->spec.metadata, b->spec.metadata);
}

static uint32_t worker_named(const struct sim__world *world, const struct ts_worker_id *id) {
    for (uint32_t i = 0; i < world->worker_count; i++) {
        if (ts_worker_id_equal(id, sim__worker_id(world, i)))
            return i;
    }
    return world->worker_count;
}

/* Checks the fields that no operation changes. */
static void check_identity(const struct change *change) {
    const struct ts_shard_record *before = change->before, *after = change->after;
    if (!ts_tenant_id_equal(&before->tenant, &after->tenant) || before->parent.v != after->parent.v ||
        before->semantics != after->semantics ||
        !ts_bytes_equal(before->spec.range.start, after->spec.range.start) ||
        !ts_bytes_equal(before->spec.metadata, after->spec.metadata))
        sim__broken(change->world, "record", "the identity of shard %llx changed", id_of(change));
    if (after->cursor.has_key && before->cursor.has_key &&
        ts_bytes_compare(after->cursor.last_key, before->cursor.last_key) < 0)
        sim__broken(change->world, "cursor", "the cursor of shard %llx went back", id_of(change));
    if (before->cursor.has_key && !after->cursor.has_key)
        sim__broken(change->world, "cursor", "shard %llx lost its cursor", id_of(change));
    if (after->cursor.has_key && !ts_key_range_contains(after->spec.range, after->cursor.last_key))
        sim__broken(change->world, "cursor", "the cursor of shard %llx lies outside its range",
                    id_of(change));
    if (before->status == TS_SHARD_DONE || before->status == TS_SHARD_SPLIT)
        sim__broken(change->world, "terminal", "shard %llx was %s and has changed", id_of(change),
                    ts_shard_status_name(before->status));
}

/* Returns how many entries were added to the log: 0 or 1; SIZE_MAX if older entries have changed. */
static size_t new_entries(const ts_op_log *before, const ts_op_log *after) {
    const size_t had = ts_ring_count(before), has = ts_ring_count(after);
    for (size_t more = 0; more <= 1; more++) {
        if (has != had + more && !(more == 1 && had == TS_OP_LOG_MAX && has == TS_OP_LOG_MAX))
            continue;
        bool same = true;
        for (size_t i = more; i < has && same; i++) {
            const struct ts_op_log_entry *a = ts_ring_from_newest(after, i);
            const struct ts_op_log_entry *b = ts_ring_from_newest(before, i - more);
            same = a->op_id.v == b->op_id.v && a->payload_hash.v == b->payload_hash.v && a->kind == b->kind &&
                   a->executed_at.ms == b->executed_at.ms;
        }
        if (same)
            return more;
    }
    return SIZE_MAX;
}

/* ---- without an entry: acquire and renew ---- */

static bool remember_grant(struct sim__shard *shard, const struct sim__grant *grant) {
    if (!TS_GROW(shard->grants, shard->grant_capacity, shard->grant_count + 1))
        return false;
    shard->grants[shard->grant_count++] = *grant;
    return true;
}

static void check_acquire(const struct change *change) {
    struct sim__world *world = change->world;
    const struct ts_shard_record *before = change->before, *after = change->after;
    const uint32_t worker = worker_named(world, &after->holder.owner);
    if (worker == world->worker_count) {
        sim__broken(world, "lease", "shard %llx was given to an unknown worker", id_of(change));
        return;
    }
    if (sim__worker_tenant(world, worker) != world->runs[change->shard->run].tenant)
        sim__broken(world, "tenant", "shard %llx was given to a worker of another tenant", id_of(change));
    if (before->has_holder && change->at_ms < before->holder.deadline.ms)
        sim__broken(world, "mutual exclusion", "shard %llx was taken %llu ms before its lease ended",
                    id_of(change), (unsigned long long)(before->holder.deadline.ms - change->at_ms));
    for (size_t i = 0; i < change->shard->grant_count; i++) {
        const struct sim__grant *grant = &change->shard->grants[i];
        if (!grant->over && grant->told_until > change->at_ms)
            sim__broken(world, "mutual exclusion",
                        "shard %llx was taken while worker %u believed that it holds it", id_of(change),
                        (unsigned)grant->worker);
        if (grant->fence >= after->fence.v)
            sim__broken(world, "fence", "shard %llx was given twice under fence %llu", id_of(change),
                        (unsigned long long)after->fence.v);
    }
    const struct ts_run_config *config = &world->runs[change->shard->run].config;
    if (after->holder.deadline.ms > change->at_ms + config->lease_duration_ms)
        sim__broken(world, "lease", "shard %llx was given for longer than its run says", id_of(change));
    if (after->attempts != before->attempts + 1 ||
        (config->attempts != 0 && after->attempts > config->attempts))
        sim__broken(world, "record", "shard %llx was acquired more often than its run allows", id_of(change));
    if (before->status != TS_SHARD_ACTIVE || !same_spec(before, after) ||
        !same_cursor(&before->cursor, &after->cursor))
        sim__broken(world, "record", "an acquire changed shard %llx", id_of(change));
    const struct sim__grant grant = {
        .fence = after->fence.v, .worker = worker, .recorded_until = after->holder.deadline.ms};
    if (!remember_grant(change->shard, &grant))
        sim__broken(world, "memory", "there is none left");
}

static void check_renew(const struct change *change) {
    struct sim__world *world = change->world;
    const struct ts_shard_record *before = change->before, *after = change->after;
    if (after->fence.v != before->fence.v || !before->has_holder || !after->has_holder ||
        !ts_worker_id_equal(&before->holder.owner, &after->holder.owner)) {
        sim__broken(world, "op-log", "shard %llx changed without an operation in its log", id_of(change));
        return;
    }
    if (change->at_ms >= before->holder.deadline.ms)
        sim__broken(world, "lease", "the lease of shard %llx was renewed after its end", id_of(change));
    if (after->holder.deadline.ms < before->holder.deadline.ms)
        sim__broken(world, "lease", "the lease of shard %llx was made shorter", id_of(change));
    if (after->status != before->status || after->attempts != before->attempts || !same_spec(before, after) ||
        !same_cursor(&before->cursor, &after->cursor) ||
        !ts_bytes_equal(before->spawned.bytes, after->spawned.bytes))
        sim__broken(world, "op-log", "shard %llx changed without an operation in its log", id_of(change));
    struct sim__grant *grant = sim__grant_find(change->shard, after->fence.v);
    if (grant == NULL)
        sim__broken(world, "lease", "a lease of shard %llx was renewed that was never given", id_of(change));
    else
        grant->recorded_until = after->holder.deadline.ms;
}

/* ---- with an entry ---- */

static enum ts_shard_op_kind stored_kind(enum ts_sim_operation kind) {
    switch (kind) {
    case TS_SIM_OP_CHECKPOINT:
        return TS_SHARD_OP_CHECKPOINT;
    case TS_SIM_OP_COMPLETE:
        return TS_SHARD_OP_COMPLETE;
    case TS_SIM_OP_PARK:
        return TS_SHARD_OP_PARK;
    case TS_SIM_OP_RELEASE:
        return TS_SHARD_OP_RELEASE;
    case TS_SIM_OP_SPLIT_REPLACE:
        return TS_SHARD_OP_SPLIT_REPLACE;
    case TS_SIM_OP_SPLIT_RESIDUAL:
        return TS_SHARD_OP_SPLIT_RESIDUAL;
    case TS_SIM_OP_UNPARK:
        return TS_SHARD_OP_UNPARK;
    case TS_SIM_OP_CREATE_RUN:
    case TS_SIM_OP_REGISTER:
    case TS_SIM_OP_CLAIM:
    case TS_SIM_OP_ACQUIRE:
    case TS_SIM_OP_RENEW:
    case TS_SIM_OP_WRITE:
    case TS_SIM_OP_END_RUN:
    case TS_SIM_OP_LOOK:
    case TS_SIM_OPERATION_COUNT:
        break;
    }
    ts_unreachable("not an operation that a shard's log holds");
}

static bool is_shard_operation(enum ts_sim_operation kind) {
    return kind == TS_SIM_OP_CHECKPOINT || kind == TS_SIM_OP_COMPLETE || kind == TS_SIM_OP_PARK ||
           kind == TS_SIM_OP_RELEASE || kind == TS_SIM_OP_SPLIT_REPLACE || kind == TS_SIM_OP_SPLIT_RESIDUAL ||
           kind == TS_SIM_OP_UNPARK;
}

/* Checks the worker, the lease and the time of the operation. */
static void check_lease_of(const struct change *change) {
    struct sim__world *world = change->world;
    const struct sim__op *op = change->op;
    const struct ts_shard_record *before = change->before;
    const struct sim__grant *grant = sim__grant_find(change->shard, ts_lease_fence(&op->lease).v);
    if (ts_lease_fence(&op->lease).v != before->fence.v)
        sim__broken(world, "fence", "shard %llx has fence %llu and accepted an operation with fence %llu",
                    id_of(change), (unsigned long long)before->fence.v,
                    (unsigned long long)ts_lease_fence(&op->lease).v);
    if (!before->has_holder || grant == NULL || worker_named(world, &before->holder.owner) != grant->worker)
        sim__broken(world, "lease", "shard %llx accepted an operation of a worker that does not hold it",
                    id_of(change));
    else if (change->at_ms >= before->holder.deadline.ms)
        sim__broken(world, "lease", "shard %llx was changed %llu ms after the lease had ended", id_of(change),
                    (unsigned long long)(change->at_ms - before->holder.deadline.ms));
    if (change->after->fence.v != before->fence.v)
        sim__broken(world, "fence", "the fence of shard %llx rose for no reason", id_of(change));
}

static void check_cursor_op(const struct change *change) {
    const struct sim__key key = sim__key_of(change->op->key);
    if (!change->after->cursor.has_key ||
        !ts_bytes_equal(change->after->cursor.last_key, ts_bytes_of(key.text, SIM_KEY_LEN)))
        sim__broken(change->world, "cursor", "the cursor of shard %llx is not the one that was sent",
                    id_of(change));
}

/* Fields that an operation may change besides status, holder and log. */
enum may_change { MAY_CHANGE_NOTHING, MAY_CHANGE_CURSOR, MAY_CHANGE_RANGE };

static void check_nothing_else(const struct change *change, enum may_change may) {
    const struct ts_shard_record *before = change->before, *after = change->after;
    if ((may != MAY_CHANGE_CURSOR && !same_cursor(&before->cursor, &after->cursor)) ||
        (may != MAY_CHANGE_RANGE &&
         (!same_spec(before, after) || !ts_bytes_equal(before->spawned.bytes, after->spawned.bytes))))
        sim__broken(change->world, "record", "an operation changed more of shard %llx than it should",
                    id_of(change));
}

static void check_status(const struct change *change, enum ts_shard_status expected) {
    if (change->after->status != expected)
        sim__broken(change->world, "record", "shard %llx is %s after an operation that does not lead there",
                    id_of(change), ts_shard_status_name(change->after->status));
}

/* Checks that the list of spawned shards has grown at its end, by the operation's children. */
static void check_spawned(const struct change *change, size_t expected) {
    const struct ts_bytes old = change->before->spawned.bytes, now = change->after->spawned.bytes;
    if (now.len != old.len + 8 * expected || (old.len > 0 && memcmp(old.data, now.data, old.len) != 0)) {
        sim__broken(change->world, "split", "shard %llx has other children than it was split into",
                    id_of(change));
        return;
    }
    const size_t from = ts_spawned_count(change->before->spawned);
    if (change->op->child_count != 0) {
        for (size_t i = 0; i < expected; i++) {
            if (ts_spawned_at(change->after->spawned, from + i).v != change->op->children[i])
                sim__broken(change->world, "split", "a repeated split of shard %llx made other children",
                            id_of(change));
        }
    }
    change->op->child_count = expected;
    for (size_t i = 0; i < expected; i++)
        change->op->children[i] = ts_spawned_at(change->after->spawned, from + i).v;
}

static void end_grants(const struct change *change) {
    for (size_t i = 0; i < change->shard->grant_count; i++)
        change->shard->grants[i].over = true;
    if (change->after->has_holder)
        sim__broken(change->world, "record", "shard %llx is %s and leased", id_of(change),
                    ts_shard_status_name(change->after->status));
}

static void check_holder_stays(const struct change *change) {
    if (!same_holder(change->before, change->after))
        sim__broken(change->world, "lease", "the lease of shard %llx changed", id_of(change));
}

static void check_unpark(const struct change *change) {
    if (change->before->status != TS_SHARD_PARKED || change->after->fence.v != change->before->fence.v + 1 ||
        change->after->has_holder || change->after->attempts != 0)
        sim__broken(change->world, "fence", "an unpark did not make shard %llx free under a new fence",
                    id_of(change));
    check_status(change, TS_SHARD_ACTIVE);
    check_nothing_else(change, MAY_CHANGE_NOTHING);
}

static void check_release(const struct change *change) {
    const uint32_t had = change->before->attempts;
    const bool is_counted = change->op->blame == TS_BLAME_SHARD || had == 0;
    if (change->after->attempts != (is_counted ? had : had - 1))
        sim__broken(change->world, "record", "a release made %u attempts of shard %llx out of %u",
                    (unsigned)change->after->attempts, id_of(change), (unsigned)had);
    check_status(change, TS_SHARD_ACTIVE);
    check_nothing_else(change, MAY_CHANGE_NOTHING);
    end_grants(change);
}

static void check_split(const struct change *change) {
    if (change->op->kind == TS_SIM_OP_SPLIT_REPLACE) {
        check_status(change, TS_SHARD_SPLIT);
        check_spawned(change, change->op->cut_count - 1);
        if (!same_spec(change->before, change->after) || change->op->mistake != SIM_MISTAKE_NONE)
            sim__broken(change->world, "split", "shard %llx was split into parts that do not fit",
                        id_of(change));
        end_grants(change);
        return;
    }
    const struct sim__key cut = sim__key_of(change->op->key);
    check_status(change, TS_SHARD_ACTIVE);
    check_spawned(change, 1);
    check_holder_stays(change);
    if (!ts_bytes_equal(change->after->spec.range.end, ts_bytes_of(cut.text, SIM_KEY_LEN)))
        sim__broken(change->world, "split", "shard %llx was not cut where it should be", id_of(change));
}

static void check_effect(const struct change *change) {
    switch (stored_kind(change->op->kind)) {
    case TS_SHARD_OP_CHECKPOINT:
        check_status(change, TS_SHARD_ACTIVE);
        check_cursor_op(change);
        check_holder_stays(change);
        check_nothing_else(change, MAY_CHANGE_CURSOR);
        return;
    case TS_SHARD_OP_COMPLETE:
        check_status(change, TS_SHARD_DONE);
        check_cursor_op(change);
        check_nothing_else(change, MAY_CHANGE_CURSOR);
        end_grants(change);
        return;
    case TS_SHARD_OP_PARK:
        check_status(change, TS_SHARD_PARKED);
        check_nothing_else(change, MAY_CHANGE_NOTHING);
        end_grants(change);
        return;
    case TS_SHARD_OP_RELEASE:
        check_release(change);
        return;
    case TS_SHARD_OP_SPLIT_REPLACE:
    case TS_SHARD_OP_SPLIT_RESIDUAL:
        check_nothing_else(change, MAY_CHANGE_RANGE);
        check_split(change);
        return;
    case TS_SHARD_OP_UNPARK:
        check_unpark(change);
        return;
    }
}

/* If a shard was acquired too often, acquire parks the shard instead, with an op id that acquire makes
 * itself. */
static void check_parked_by_itself(const struct change *change, const struct ts_op_log_entry *entry) {
    const struct ts_run_config *config = &change->world->runs[change->shard->run].config;
    if (entry->kind != TS_SHARD_OP_PARK || !change->after->has_park_reason ||
        change->after->park_reason != TS_PARK_TOO_MANY_ERRORS || config->attempts == 0 ||
        change->before->attempts < config->attempts) {
        sim__broken(change->world, "op-log", "shard %llx changed by an operation that no worker began",
                    id_of(change));
        return;
    }
    if (change->before->has_holder && change->at_ms < change->before->holder.deadline.ms)
        sim__broken(change->world, "mutual exclusion", "shard %llx was parked while it was held",
                    id_of(change));
    check_status(change, TS_SHARD_PARKED);
    check_nothing_else(change, MAY_CHANGE_NOTHING);
    end_grants(change);
}

/* Returns whether the operation may be applied a second time. Only a checkpoint may, if the log no longer has
 * it and it changes nothing. */
static bool may_be_again(const struct change *change) {
    return change->op->kind == TS_SIM_OP_CHECKPOINT &&
           ts_op_log_find(&change->before->op_log, (struct ts_op_id){change->op->id}) == NULL &&
           same_cursor(&change->before->cursor, &change->after->cursor);
}

static void check_entry(struct change *change) {
    struct sim__world *world = change->world;
    const struct ts_op_log_entry *entry = ts_ring_from_newest(&change->after->op_log, 0);
    struct sim__op *op = sim__op_find(world->model, entry->op_id.v);
    if (op == NULL) {
        check_parked_by_itself(change, entry);
        return;
    }
    change->op = op;
    change->shard->by = op;
    if (!is_shard_operation(op->kind) || op->run != change->shard->run || op->shard != change->shard->id ||
        stored_kind(op->kind) != entry->kind) {
        sim__broken(world, "op-log", "shard %llx changed by an operation on another shard", id_of(change));
        return;
    }
    if (op->tenant != world->runs[op->run].tenant)
        sim__broken(world, "tenant", "shard %llx accepted an operation of another tenant", id_of(change));
    if (op->kind != TS_SIM_OP_UNPARK)
        check_lease_of(change);
    if (op->applied > 0 && !may_be_again(change))
        sim__broken(world, "op-log", "operation %llu on shard %llx was done twice",
                    (unsigned long long)op->id, id_of(change));
    if (op->refused)
        sim__broken(world, "op-log", "operation %llu on shard %llx was refused, and then done",
                    (unsigned long long)op->id, id_of(change));
    op->applied++;
    check_effect(change);
}

void sim__check_change(struct sim__world *world, struct sim__shard *shard, uint64_t at_ms) {
    struct change change = {.world = world,
                            .shard = shard,
                            .before = &shard->before.record,
                            .after = &shard->now.record,
                            .at_ms = at_ms};
    check_identity(&change);
    if (sim__is_broken(world))
        return;
    if (change.after->fence.v < change.before->fence.v || change.after->fence.v > change.before->fence.v + 1)
        sim__broken(world, "fence", "the fence of shard %llx went from %llu to %llu", id_of(&change),
                    (unsigned long long)change.before->fence.v, (unsigned long long)change.after->fence.v);
    switch (new_entries(&change.before->op_log, &change.after->op_log)) {
    case 0:
        if (change.after->fence.v > change.before->fence.v && change.after->has_holder)
            check_acquire(&change);
        else
            check_renew(&change);
        return;
    case 1:
        check_entry(&change);
        return;
    default:
        sim__broken(world, "op-log", "the op-log of shard %llx lost an entry", id_of(&change));
        return;
    }
}

void sim__check_written(struct sim__world *world, struct sim__shard *shard, uint64_t op_id, uint64_t at_ms) {
    const struct ts_shard_record *record = &shard->now.record;
    const struct change change = {.world = world, .shard = shard, .after = record};
    struct sim__op *op = sim__op_find(world->model, op_id);
    if (op == NULL || op->kind != TS_SIM_OP_WRITE || op->run != shard->run || op->shard != shard->id) {
        sim__broken(world, "lease-check", "shard %llx has a row that nobody wrote", id_of(&change));
        return;
    }
    if (op->tenant != world->runs[op->run].tenant)
        sim__broken(world, "tenant", "another tenant wrote for shard %llx", id_of(&change));
    if (shard->now.version == 0 || record->status != TS_SHARD_ACTIVE || !record->has_holder ||
        ts_lease_fence(&op->lease).v != record->fence.v ||
        !ts_worker_id_equal(&record->holder.owner, ts_lease_owner(&op->lease)))
        sim__broken(world, "lease-check", "a worker that does not hold shard %llx wrote for it",
                    id_of(&change));
    else if (at_ms >= record->holder.deadline.ms)
        sim__broken(world, "lease", "a worker wrote for shard %llx %llu ms after its lease had ended",
                    id_of(&change), (unsigned long long)(at_ms - record->holder.deadline.ms));
    if (op->refused)
        sim__broken(world, "lease-check", "write %llu for shard %llx was refused, and then done",
                    (unsigned long long)op->id, id_of(&change));
    op->applied++;
}

void sim__check_new(struct sim__world *world, struct sim__shard *shard) {
    const struct ts_shard_record *record = &shard->now.record;
    const struct change change = {.world = world, .shard = shard, .after = record};
    if (record->status != TS_SHARD_ACTIVE || record->has_holder || record->fence.v != 0 ||
        ts_ring_count(&record->op_log) != 0 || ts_spawned_count(record->spawned) != 0)
        sim__broken(world, "record", "shard %llx was not free when it was created", id_of(&change));
    if (!ts_tenant_id_equal(&record->tenant, &world->tenants[world->runs[shard->run].tenant]))
        sim__broken(world, "tenant", "shard %llx was created for another tenant", id_of(&change));
    if (record->has_parent != ((shard->id >> 63) != 0))
        sim__broken(world, "record", "shard %llx lacks a parent, or has one that it should not have",
                    id_of(&change));
    if (record->has_parent)
        return;
    const struct sim__bounds bounds = sim__registered_bounds(world, shard->run, shard->id);
    if (bounds.to == 0 || sim__key_number(record->spec.range.start, 0) != bounds.from ||
        sim__key_number(record->spec.range.end, SIM_KEYS) != bounds.to)
        sim__broken(world, "shards", "shard %llx is not one that was registered", id_of(&change));
}
