/* Properties of all stores together. They are checked while no store has a prepared transaction, because then
 * every transaction is visible as a whole. */
#include "check.h"

#include <stdlib.h>

/* A shard that was not replaced, and the registered shard that it descends from. */
struct leaf {
    uint32_t run;
    uint64_t root;
    uint32_t from;
    uint32_t to;
};

static int by_place(const void *a, const void *b) {
    const struct leaf *x = a, *y = b;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    if (x->root != y->root)
        return x->root < y->root ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

static const struct sim__shard *root_of(const struct sim__world *world, const struct sim__shard *shard) {
    while (shard != NULL && shard->now.version != 0 && shard->now.record.has_parent)
        shard = sim__shard_find(world->model, shard->run, shard->now.record.parent.v);
    return shard;
}

static void check_children(struct sim__world *world, const struct sim__shard *shard) {
    const struct sim__model *model = world->model;
    const struct ts_shard_record *record = &shard->now.record;
    for (size_t i = 0; i < ts_spawned_count(record->spawned); i++) {
        const struct ts_shard_id id = ts_spawned_at(record->spawned, i);
        const struct sim__shard *child = sim__shard_find(model, shard->run, id.v);
        if (child == NULL || child->now.version == 0)
            sim__broken(world, "shards", "shard %llx, a part of %llx, is missing", (unsigned long long)id.v,
                        (unsigned long long)shard->id);
        else if (child->now.record.parent.v != shard->id)
            sim__broken(world, "shards", "shard %llx says that it is a part of another",
                        (unsigned long long)id.v);
    }
    if (!record->has_parent)
        return;
    const struct sim__shard *parent = sim__shard_find(model, shard->run, record->parent.v);
    bool listed = false;
    for (size_t i = 0; parent != NULL && parent->now.version != 0 &&
                       i < ts_spawned_count(parent->now.record.spawned) && !listed;
         i++)
        listed = ts_spawned_at(parent->now.record.spawned, i).v == shard->id;
    if (!listed)
        sim__broken(world, "shards", "shard %llx exists, but its parent does not list it",
                    (unsigned long long)shard->id);
}

/* Checks that the leaves of each registered shard cover the shard's range, without gaps and overlaps. */
static void check_tiles(struct sim__world *world, const struct leaf *leaves, size_t count) {
    for (size_t i = 0; i < count && !sim__is_broken(world); i++) {
        const bool first =
            i == 0 || leaves[i - 1].root != leaves[i].root || leaves[i - 1].run != leaves[i].run;
        const bool last =
            i + 1 == count || leaves[i + 1].root != leaves[i].root || leaves[i + 1].run != leaves[i].run;
        const struct sim__bounds bounds = sim__registered_bounds(world, leaves[i].run, leaves[i].root);
        const uint32_t should_begin = first ? bounds.from : leaves[i - 1].to;
        if (leaves[i].from != should_begin || (last && leaves[i].to != bounds.to))
            sim__broken(world, "split", "the parts of shard %llx do not cover its range exactly, at %04x",
                        (unsigned long long)leaves[i].root, (unsigned)leaves[i].from);
    }
}

static void check_coverage(struct sim__world *world) {
    const struct sim__model *model = world->model;
    struct leaf *leaves = calloc(model->shard_count + 1, sizeof *leaves);
    if (leaves == NULL) {
        sim__broken(world, "memory", "there is none left");
        return;
    }
    size_t count = 0;
    for (size_t i = 0; i < model->shard_count && !sim__is_broken(world); i++) {
        const struct sim__shard *shard = model->shards[i];
        if (shard->now.version == 0)
            continue;
        check_children(world, shard);
        if (shard->now.record.status == TS_SHARD_SPLIT)
            continue;
        const struct sim__shard *root = root_of(world, shard);
        if (root == NULL || root->now.version == 0) {
            sim__broken(world, "shards", "shard %llx was never registered or split off",
                        (unsigned long long)shard->id);
            break;
        }
        const struct ts_key_range range = shard->now.record.spec.range;
        leaves[count++] = (struct leaf){.run = shard->run,
                                        .root = root->id,
                                        .from = sim__key_number(range.start, 0),
                                        .to = sim__key_number(range.end, SIM_KEYS)};
    }
    qsort(leaves, count, sizeof *leaves, by_place);
    check_tiles(world, leaves, count);
    free(leaves);
}

static void check_run(struct sim__world *world, uint32_t run, uint64_t *ret_counted) {
    const struct sim__run_model *model = &world->model->runs[run];
    uint64_t shards = 0, active = 0;
    for (size_t i = 0; i < world->model->shard_count; i++) {
        const struct sim__shard *shard = world->model->shards[i];
        if (shard->run != run || shard->now.version == 0)
            continue;
        shards++;
        active += shard->now.record.status == TS_SHARD_ACTIVE;
    }
    const bool there = model->version != 0;
    if (!there && shards > 0)
        sim__broken(world, "run", "there are shards of a run that does not exist");
    if (there && model->record.status == TS_RUN_DONE && active > 0)
        sim__broken(world, "run", "a run is Done, and %llu shards are active", (unsigned long long)active);
    for (uint32_t place = 0; place < world->place_count && there; place++) {
        const struct ts_run_guard *guard = &model->guards[place];
        if (model->guard_versions[place] == 0 || guard->status != model->record.status ||
            !ts_run_config_equal(&guard->config, &model->record.config))
            sim__broken(world, "run", "the guard on store %u differs from the run", (unsigned)place);
    }
    *ret_counted = there && !ts_run_status_is_terminal(model->record.status) ? shards : 0;
    if (there && model->limit_count != *ret_counted)
        sim__broken(world, "limits", "a run has %llu shards and counts %llu for its limits",
                    (unsigned long long)*ret_counted, (unsigned long long)model->limit_count);
}

void sim__check_quiet(struct sim__world *world) {
    struct sim__model *model = world->model;
    uint64_t of_tenant[SIM_TENANTS] = {0}, all = 0;
    for (uint32_t run = 0; run < SIM_RUNS; run++) {
        uint64_t counted = 0;
        check_run(world, run, &counted);
        of_tenant[world->runs[run].tenant] += counted;
        all += counted;
    }
    for (uint32_t tenant = 0; tenant < SIM_TENANTS; tenant++) {
        if (model->tenant_limits[tenant] != of_tenant[tenant])
            sim__broken(world, "limits", "a tenant has %llu shards and counts %llu",
                        (unsigned long long)of_tenant[tenant],
                        (unsigned long long)model->tenant_limits[tenant]);
    }
    if (model->global_limit != all)
        sim__broken(world, "limits", "there are %llu shards in all and %llu are counted",
                    (unsigned long long)all, (unsigned long long)model->global_limit);
    if (!model->ranges_changed || sim__is_broken(world))
        return;
    model->ranges_changed = false;
    check_coverage(world);
}
