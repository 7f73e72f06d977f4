#include "base/assert.h"
#include "base/hash64.h"
#include "base/hex.h"
#include "check.h"
#include "os/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Op ids start at this number, so that no index is accidentally a valid op id. */
#define OP_ID_BASE UINT64_C(1000000)

struct sim__model *sim__model_new(uint32_t worker_count) {
    struct sim__model *model = calloc(1, sizeof *model);
    if (model == NULL)
        return NULL;
    model->cooldowns = calloc(worker_count, sizeof *model->cooldowns);
    if (model->cooldowns == NULL) {
        free(model);
        return NULL;
    }
    return model;
}

void sim__model_free(struct sim__model *model) {
    if (model == NULL)
        return;
    for (size_t i = 0; i < model->op_count; i++)
        free(model->ops[i]);
    for (size_t i = 0; i < model->shard_count; i++) {
        free(model->shards[i]->now.bytes);
        free(model->shards[i]->before.bytes);
        free(model->shards[i]->grants);
        free(model->shards[i]);
    }
    for (size_t i = 0; i < TS_SIM_STORES_MAX; i++)
        free(model->promises[i]);
    free(model->ops);    /* NOLINT(bugprone-multi-level-implicit-pointer-conversion) */
    free(model->shards); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion) */
    free(model->slots);
    free(model->cooldowns);
    ts_rows_release(&model->rows);
    free(model);
}

struct sim__op *sim__op_new(struct sim__world *world, const struct sim__op *wanted) {
    struct sim__model *model = world->model;
    struct sim__op *op =
        TS_GROW(model->ops, model->op_capacity, model->op_count + 1) ? malloc(sizeof *op) : NULL;
    if (op == NULL)
        return NULL;
    *op = *wanted;
    op->id = OP_ID_BASE + model->op_count;
    model->ops[model->op_count++] = op;
    return op;
}

struct sim__op *sim__op_find(const struct sim__model *model, uint64_t id) {
    return id >= OP_ID_BASE && id - OP_ID_BASE < model->op_count ? model->ops[id - OP_ID_BASE] : NULL;
}

/* ---- shards, by run and id ---- */

static size_t slot_of(const struct sim__model *model, uint32_t run, uint64_t id) {
    size_t at = (size_t)(ts_xxh64_of_id(id ^ (uint64_t)run << 32) % model->slot_count);
    while (model->slots[at] != 0) {
        const struct sim__shard *shard = model->shards[model->slots[at] - 1];
        if (shard->run == run && shard->id == id)
            break;
        at = (at + 1) % model->slot_count;
    }
    return at;
}

struct sim__shard *sim__shard_find(const struct sim__model *model, uint32_t run, uint64_t id) {
    if (model->slot_count == 0)
        return NULL;
    const uint32_t index = model->slots[slot_of(model, run, id)];
    return index == 0 ? NULL : model->shards[index - 1];
}

static bool grow_shards(struct sim__model *model) {
    if (!TS_GROW(model->shards, model->shard_capacity, model->shard_count + 1))
        return false;
    const size_t slot_count = 2 * model->shard_capacity;
    if (slot_count == model->slot_count)
        return true;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL)
        return false;
    free(model->slots);
    model->slots = slots;
    model->slot_count = slot_count;
    for (size_t i = 0; i < model->shard_count; i++)
        slots[slot_of(model, model->shards[i]->run, model->shards[i]->id)] = (uint32_t)i + 1;
    return true;
}

struct sim__shard *sim__shard_add(struct sim__model *model, uint32_t run, uint64_t id) {
    struct sim__shard *shard = calloc(1, sizeof *shard);
    if (shard == NULL || !grow_shards(model)) {
        free(shard);
        return NULL;
    }
    shard->run = run;
    shard->id = id;
    model->slots[slot_of(model, run, id)] = (uint32_t)model->shard_count + 1;
    model->shards[model->shard_count++] = shard;
    return shard;
}

struct sim__grant *sim__grant_find(struct sim__shard *shard, uint64_t fence) {
    for (size_t i = shard->grant_count; i-- > 0;) {
        if (shard->grants[i].fence == fence)
            return &shard->grants[i];
    }
    return NULL;
}

struct sim__key sim__key_of(uint32_t number) {
    struct sim__key key;
    snprintf(key.text, sizeof key.text, "%04x", (unsigned)(number & (SIM_KEYS - 1)));
    return key;
}

uint32_t sim__key_number(struct ts_bytes key, uint32_t empty) {
    if (key.len != SIM_KEY_LEN)
        return empty;
    uint32_t number = 0;
    for (size_t i = 0; i < key.len; i++)
        number = number * 16 + (uint32_t)ts_hex_digit(key.data[i]);
    return number;
}

/* The first registration of a run numbers its shards from 1; later registrations use other ids. */
#define LATER_ID_BASE   UINT64_C(0x100000000)
#define LATER_IDS_OF_OP 16

uint64_t sim__registered_id(const struct sim__op *op, size_t index) {
    return op->kind == TS_SIM_OP_CREATE_RUN ? index + 1
                                            : LATER_ID_BASE + (op->id - OP_ID_BASE) * LATER_IDS_OF_OP + index;
}

struct sim__bounds sim__registered_bounds(const struct sim__world *world, uint32_t run, uint64_t id) {
    const uint64_t shards = world->options.shards;
    if (id >= 1 && id <= shards)
        return (struct sim__bounds){(uint32_t)((id - 1) * SIM_KEYS / shards),
                                    (uint32_t)(id * SIM_KEYS / shards)};
    if (id < LATER_ID_BASE || id >= UINT64_C(1) << 63)
        return (struct sim__bounds){0};
    const struct sim__op *op =
        sim__op_find(world->model, OP_ID_BASE + (id - LATER_ID_BASE) / LATER_IDS_OF_OP);
    const size_t index = (size_t)((id - LATER_ID_BASE) % LATER_IDS_OF_OP);
    if (op == NULL || op->kind != TS_SIM_OP_REGISTER || op->run != run || index + 1 >= op->cut_count)
        return (struct sim__bounds){0};
    return (struct sim__bounds){op->cuts[index], op->cuts[index + 1]};
}
