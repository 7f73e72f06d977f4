#include "coord/core/manifest.h"

#include "coord/core/target_shard.h"

#include <string.h>

static enum ts_manifest_validation_error fault(enum ts_manifest_validation_error error, size_t entry,
                                               size_t other, struct ts_manifest_detail *ret_detail) {
    *ret_detail = (struct ts_manifest_detail){.error = error, .entry = entry, .other = other};
    return error;
}

static bool is_unit_valid(const struct ts_new_shard *shard) {
    uint8_t target[TS_COORD_TARGET_LEN];
    return shard->unit.len == 0 ||
           (shard->unit.len <= TS_COORD_UNIT_MAX && ts_coord_target_of_range(shard->spec.range, target));
}

static enum ts_manifest_validation_error check_entry(const struct ts_new_shard *shard) {
    const struct ts_cursor *cursor = &shard->cursor;
    if (!ts_shard_spec_has_valid_sizes(&shard->spec) || ts_key_range_is_inverted(shard->spec.range) ||
        (shard->has_id && ts_shard_id_is_derived(shard->id)) ||
        (cursor->has_token && cursor->token.len > TS_TOKEN_MAX) || !is_unit_valid(shard))
        return TS_MANIFEST_FAULT_INVALID_SPEC;
    if (cursor->has_key && cursor->last_key.len > TS_KEY_MAX)
        return TS_MANIFEST_FAULT_CURSOR_KEY_TOO_LARGE;
    if (cursor->has_key && !ts_key_range_contains(shard->spec.range, cursor->last_key))
        return TS_MANIFEST_FAULT_CURSOR_OUT_OF_BOUNDS;
    return TS_MANIFEST_FAULT_OK;
}

struct sorting {
    const struct ts_new_shard *shards;
    const struct ts_shard_id *ids;
    bool by_id;
};

/* Returns whether entry a is before entry b. Equal entries keep their order, so that the reported entry does
 * not depend on the sorting algorithm. */
static bool comes_before(const struct sorting *sorting, uint32_t a, uint32_t b) {
    int order;
    if (sorting->by_id)
        order = (sorting->ids[a].v > sorting->ids[b].v) - (sorting->ids[a].v < sorting->ids[b].v);
    else
        order = ts_bytes_compare(sorting->shards[a].spec.range.start, sorting->shards[b].spec.range.start);
    return order != 0 ? order < 0 : a < b;
}

static void sift_down(const struct sorting *sorting, uint32_t *heap, size_t at, size_t count) {
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && comes_before(sorting, heap[child], heap[child + 1]))
            child++;
        if (!comes_before(sorting, heap[at], heap[child]))
            return;
        uint32_t moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
    }
}

/* A heap sort: n log n for any input, without additional memory. */
static void sort(const struct sorting *sorting, uint32_t *order, size_t count) {
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t at = count / 2; at-- > 0;)
        sift_down(sorting, order, at, count);
    for (size_t end = count; end-- > 1;) {
        uint32_t largest = order[0];
        order[0] = order[end];
        order[end] = largest;
        sift_down(sorting, order, 0, end);
    }
}

static enum ts_manifest_validation_error check_ids(const struct sorting *sorting, uint32_t *order,
                                                   size_t count, struct ts_manifest_detail *ret_detail) {
    sort(sorting, order, count);
    for (size_t i = 1; i < count; i++) {
        if (sorting->ids[order[i - 1]].v == sorting->ids[order[i]].v)
            return fault(TS_MANIFEST_FAULT_DUPLICATE_IDS, order[i], order[i - 1], ret_detail);
    }
    return TS_MANIFEST_FAULT_OK;
}

static enum ts_manifest_validation_error check_ranges(const struct sorting *sorting, uint32_t *order,
                                                      size_t count, struct ts_manifest_detail *ret_detail) {
    sort(sorting, order, count);
    for (size_t i = 1; i < count; i++) {
        struct ts_key_range before = sorting->shards[order[i - 1]].spec.range;
        struct ts_key_range after = sorting->shards[order[i]].spec.range;
        if (after.start.len == 0)
            return fault(TS_MANIFEST_FAULT_UNBOUNDED_RANGE, order[i], order[i - 1], ret_detail);
        if (before.end.len == 0)
            return fault(TS_MANIFEST_FAULT_UNBOUNDED_RANGE, order[i - 1], order[i], ret_detail);
        if (ts_bytes_compare(before.end, after.start) > 0)
            return fault(TS_MANIFEST_FAULT_OVERLAPPING_RANGES, order[i], order[i - 1], ret_detail);
    }
    return TS_MANIFEST_FAULT_OK;
}

static enum ts_manifest_validation_error check_list(struct ts_run_id run, struct ts_op_id op_id,
                                                    struct ts_new_shards shards, struct ts_manifest_room room,
                                                    struct ts_manifest_detail *ret_detail) {
    for (size_t i = 0; i < shards.count; i++) {
        enum ts_manifest_validation_error error = check_entry(&shards.list[i]);
        if (error != TS_MANIFEST_FAULT_OK)
            return fault(error, i, 0, ret_detail);
        room.ids[i] = shards.list[i].has_id ? shards.list[i].id : ts_drawn_shard_id(run, op_id, (uint32_t)i);
    }
    struct sorting sorting = {.shards = shards.list, .ids = room.ids, .by_id = true};
    enum ts_manifest_validation_error error = check_ids(&sorting, room.order, shards.count, ret_detail);
    if (error != TS_MANIFEST_FAULT_OK)
        return error;
    sorting.by_id = false;
    return check_ranges(&sorting, room.order, shards.count, ret_detail);
}

static enum ts_manifest_validation_error check_count(struct ts_new_shards shards, uint64_t max,
                                                     struct ts_manifest_detail *ret_detail) {
    if (shards.count == 0)
        return fault(TS_MANIFEST_FAULT_EMPTY, 0, 0, ret_detail);
    if (shards.count <= max)
        return TS_MANIFEST_FAULT_OK;
    fault(TS_MANIFEST_FAULT_TOO_MANY_SHARDS, 0, 0, ret_detail);
    ret_detail->limit = (struct ts_limit_detail){.additional = shards.count, .max = max};
    return TS_MANIFEST_FAULT_TOO_MANY_SHARDS;
}

enum ts_manifest_validation_error ts_manifest_check(struct ts_run_id run, struct ts_op_id op_id,
                                                    struct ts_new_shards shards,
                                                    struct ts_manifest_memory *memory,
                                                    struct ts_manifest_detail *ret_detail) {
    const enum ts_manifest_validation_error error = check_count(shards, TS_REGISTER_MAX, ret_detail);
    const struct ts_manifest_room room = {memory->ids, memory->order};
    return error != TS_MANIFEST_FAULT_OK ? error : check_list(run, op_id, shards, room, ret_detail);
}

enum ts_manifest_validation_error ts_manifest_check_announced(struct ts_run_id run, struct ts_op_id op_id,
                                                              struct ts_new_shards shards,
                                                              struct ts_manifest_room room,
                                                              struct ts_manifest_detail *ret_detail) {
    const enum ts_manifest_validation_error error = check_count(shards, TS_GLOBAL_SHARD_MAX, ret_detail);
    return error != TS_MANIFEST_FAULT_OK ? error : check_list(run, op_id, shards, room, ret_detail);
}
