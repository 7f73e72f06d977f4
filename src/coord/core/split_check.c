#include "coord/core/split_check.h"

#include "base/checked.h"
#include "coord/core/plant.h"

bool ts_shard_limits_allow(const struct ts_shard_limits *limits, uint64_t additional,
                           struct ts_limit_detail *ret_detail) {
    const struct {
        struct ts_shard_limit limit;
        enum ts_limit_scope scope;
    } both[] = {{limits->tenant, TS_LIMIT_PER_TENANT}, {limits->global, TS_LIMIT_GLOBAL}};
    for (size_t i = 0; i < 2; i++) {
        if (ts_saturating_add_u64(both[i].limit.current, additional) > both[i].limit.max) {
            *ret_detail =
                (struct ts_limit_detail){both[i].limit.current, additional, both[i].limit.max, both[i].scope};
            return false;
        }
    }
    return true;
}

static enum ts_split_validation_error fault(enum ts_split_validation_error error, size_t child,
                                            struct ts_split_detail *ret_detail) {
    *ret_detail = (struct ts_split_detail){.error = error, .child = child};
    return error;
}

/* Compares the end of one part with the start of the next. An empty end is after every key; an empty start is
 * before every key. */
static enum ts_split_validation_error check_boundary(struct ts_bytes end, struct ts_bytes next_start) {
    if (end.len == 0 || next_start.len == 0)
        return TS_SPLIT_FAULT_OVERLAPPING_CHILD;
    int order = ts_bytes_compare(end, next_start);
    return order == 0  ? TS_SPLIT_FAULT_OK
           : order > 0 ? TS_SPLIT_FAULT_OVERLAPPING_CHILD
                       : TS_SPLIT_FAULT_BOUNDARY_MISMATCH;
}

static bool is_valid_child(const struct ts_new_shard *child) {
    return !child->has_id && ts_shard_spec_has_valid_sizes(&child->spec) &&
           ts_cursor_has_valid_sizes(&child->cursor) &&
           (!child->cursor.has_key || ts_key_range_contains(child->spec.range, child->cursor.last_key));
}

enum ts_split_validation_error ts_split_coverage_check(struct ts_key_range parent,
                                                       struct ts_new_shards children,
                                                       struct ts_split_detail *ret_detail) {
    const struct ts_new_shard *list = children.list;
    if (children.count == 0)
        return fault(TS_SPLIT_FAULT_NO_CHILDREN, 0, ret_detail);
    if (children.count == 1)
        return fault(TS_SPLIT_FAULT_SINGLE_CHILD, 0, ret_detail);
    const size_t last = children.count - 1;
    if (!ts_bytes_equal(list[0].spec.range.start, parent.start))
        return fault(TS_SPLIT_FAULT_START_MISMATCH, 0, ret_detail);
    if (!ts_bytes_equal(list[last].spec.range.end, parent.end))
        return fault(TS_SPLIT_FAULT_END_MISMATCH, last, ret_detail);
    for (size_t i = 0; i < last; i++) {
        enum ts_split_validation_error error =
            check_boundary(list[i].spec.range.end, list[i + 1].spec.range.start);
        if (error != TS_SPLIT_FAULT_OK && !coord__is_planted(TS_COORD_PLANT_SPLIT))
            return fault(error, i + 1, ret_detail);
    }
    for (size_t i = 0; i <= last; i++) {
        if (ts_key_range_is_inverted(list[i].spec.range))
            return fault(TS_SPLIT_FAULT_INVERTED_CHILD, i, ret_detail);
    }
    for (size_t i = 0; i <= last; i++) {
        if (!is_valid_child(&list[i]))
            return fault(TS_SPLIT_FAULT_INVALID_CHILD_SPEC, i, ret_detail);
    }
    return TS_SPLIT_FAULT_OK;
}

/* In ret_detail, the parent's part counts as child 0, and the residual as child 1. */
enum ts_split_validation_error ts_split_residual_check(struct ts_key_range parent,
                                                       struct ts_residual_ranges ranges,
                                                       const struct ts_new_shard *residual,
                                                       const struct ts_cursor *parent_cursor,
                                                       struct ts_split_detail *ret_detail) {
    struct ts_new_shard parts[2] = {{.spec = {.range = ranges.kept}}, *residual};
    parts[1].spec.range = ranges.residual;
    for (size_t i = 0; i < 2; i++) {
        if (!ts_shard_spec_has_valid_sizes(&parts[i].spec) || !ts_cursor_has_valid_sizes(&parts[i].cursor))
            return fault(TS_SPLIT_FAULT_INVALID_CHILD_SPEC, i, ret_detail);
    }
    enum ts_split_validation_error error =
        ts_split_coverage_check(parent, (struct ts_new_shards){parts, 2}, ret_detail);
    if (error != TS_SPLIT_FAULT_OK)
        return error;
    if (parent_cursor->has_key && !ts_key_range_contains(ranges.kept, parent_cursor->last_key))
        return fault(TS_SPLIT_FAULT_PARENT_CURSOR_OUT_OF_BOUNDS, 0, ret_detail);
    return TS_SPLIT_FAULT_OK;
}
