#include "store/contract/check.h"

#include "base/bytes.h"
#include "store/contract/engine.h"

#include <stdlib.h>
#include <string.h>

/* A batch with at most this many keys is checked by comparing every pair. A larger batch is sorted first. */
enum { FEW = 12 };

static bool is_write(const struct ts_op *op) {
    return op->kind == TS_OP_PUT || op->kind == TS_OP_DEL || op->kind == TS_OP_ADD;
}

static enum ts_store_result check_op(const struct ts_op *op, size_t index, struct ts_store_error *ret_error) {
    switch (op->kind) {
    case TS_OP_BEFORE:
        return TS_STORE_OK;
    case TS_OP_CHECK:
    case TS_OP_PUT:
    case TS_OP_DEL:
    case TS_OP_ADD:
        break;
    }
    if (op->kind > TS_OP_ADD)
        return store__error(ret_error, TS_STORE_BAD_BATCH, index, "operation %zu: unknown kind of operation",
                            index);
    if (op->key.len == 0)
        return store__error(ret_error, TS_STORE_BAD_BATCH, index,
                            "operation %zu: the key is empty; keys have 1 to %d bytes", index,
                            TS_STORE_KEY_MAX);
    if (op->key.len > TS_STORE_KEY_MAX)
        return store__error(ret_error, TS_STORE_TOO_LARGE, index,
                            "operation %zu: the key has %zu bytes; keys have at most %d", index, op->key.len,
                            TS_STORE_KEY_MAX);
    if (op->kind == TS_OP_PUT && op->value.len > TS_STORE_VALUE_MAX)
        return store__error(ret_error, TS_STORE_TOO_LARGE, index,
                            "operation %zu: the value has %zu bytes; values have at most %zu", index,
                            op->value.len, TS_STORE_VALUE_MAX);
    if (op->kind == TS_OP_ADD && op->max > INT64_MAX)
        return store__error(ret_error, TS_STORE_BAD_BATCH, index,
                            "operation %zu: the limit of a counter is above INT64_MAX", index);
    return TS_STORE_OK;
}

/* Refuses two writes of one key, and two checks of one key. */
static enum ts_store_result check_pair(const struct ts_op *ops, size_t earlier, size_t later,
                                       struct ts_store_error *ret_error) {
    if (is_write(&ops[earlier]) != is_write(&ops[later]))
        return TS_STORE_OK;
    return store__error(ret_error, TS_STORE_BAD_BATCH, later, "operations %zu and %zu %s the same key",
                        earlier, later, is_write(&ops[later]) ? "write" : "check");
}

/* Refuses a check for absence if the batch does not put the same key. `partner` is another operation on that
 * key, or NULL. */
static enum ts_store_result check_absence(const struct ts_op *ops, size_t index, const struct ts_op *partner,
                                          struct ts_store_error *ret_error) {
    if (ops[index].kind != TS_OP_CHECK || ops[index].version != 0)
        return TS_STORE_OK;
    if (partner != NULL && partner->kind == TS_OP_PUT)
        return TS_STORE_OK;
    return store__error(ret_error, TS_STORE_BAD_BATCH, index,
                        "operation %zu: a check for absence needs a put of the same key in the same batch",
                        index);
}

static enum ts_store_result check_few_keys(const struct ts_batch *batch, struct ts_store_error *ret_error) {
    enum ts_store_result result = TS_STORE_OK;
    for (size_t i = 0; i < batch->count && result == TS_STORE_OK; i++) {
        if (batch->ops[i].kind == TS_OP_BEFORE)
            continue;
        const struct ts_op *partner = NULL;
        for (size_t j = 0; j < batch->count && result == TS_STORE_OK; j++) {
            if (j == i || batch->ops[j].kind == TS_OP_BEFORE ||
                !ts_bytes_equal(batch->ops[i].key, batch->ops[j].key))
                continue;
            partner = &batch->ops[j];
            if (j > i)
                result = check_pair(batch->ops, i, j, ret_error);
        }
        if (result == TS_STORE_OK)
            result = check_absence(batch->ops, i, partner, ret_error);
    }
    return result;
}

/* Compares operations by key, then by position, so that the reported operation does not depend on the
 * sorting. */
static int compare_ops(const void *a, const void *b) {
    const struct ts_op *x = *(const struct ts_op *const *)a, *y = *(const struct ts_op *const *)b;
    int order = ts_bytes_compare(x->key, y->key);
    return order != 0 ? order : (x > y) - (x < y);
}

static enum ts_store_result check_many_keys(const struct ts_batch *batch, struct ts_store_error *ret_error) {
    const struct ts_op **sorted = malloc(batch->count * sizeof(void *));
    if (sorted == NULL)
        return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "no memory to check a batch");
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->ops[i].kind != TS_OP_BEFORE)
            sorted[count++] = &batch->ops[i];
    qsort(sorted, count, sizeof(void *), compare_ops);
    enum ts_store_result result = TS_STORE_OK;
    for (size_t i = 0; i < count && result == TS_STORE_OK; i++) {
        bool same_before = i > 0 && ts_bytes_equal(sorted[i - 1]->key, sorted[i]->key);
        bool same_after = i + 1 < count && ts_bytes_equal(sorted[i + 1]->key, sorted[i]->key);
        const struct ts_op *before = same_before ? sorted[i - 1] : NULL,
                           *after = same_after ? sorted[i + 1] : NULL;
        size_t index = (size_t)(sorted[i] - batch->ops);
        if (after != NULL)
            result = check_pair(batch->ops, index, (size_t)(after - batch->ops), ret_error);
        if (result == TS_STORE_OK && before != NULL && after != NULL)
            result =
                store__error(ret_error, TS_STORE_BAD_BATCH, (size_t)(after - batch->ops),
                             "operation %zu is the third on its key; a key takes one check and one write",
                             (size_t)(after - batch->ops));
        if (result == TS_STORE_OK)
            result = check_absence(batch->ops, index,
                                   same_before  ? before
                                   : same_after ? after
                                                : NULL,
                                   ret_error);
    }
    free(sorted);
    return result;
}

/*
 * Returns whether our own layers have added the operation to a caller's batch, as they do with a decision and
 * its checks. Such operations do not count towards the limits, so that a batch of the documented size can be
 * part of any transaction. They are few, small, and use reserved keys.
 */
static bool is_on_top(const struct ts_op *op, size_t on_top) {
    return on_top < STORE_OPS_ON_TOP && op->kind != TS_OP_BEFORE && op->key.len > 0 && op->key.data[0] == 0 &&
           op->key.len + (op->kind == TS_OP_PUT ? op->value.len : 0) <= STORE_BYTES_ON_TOP;
}

static enum ts_store_result check_batch(const struct ts_batch *batch, struct ts_store_error *ret_error) {
    size_t bytes = 0, on_top = 0;
    for (size_t i = 0; i < batch->count; i++) {
        enum ts_store_result result = check_op(&batch->ops[i], i, ret_error);
        if (result != TS_STORE_OK)
            return result;
        if (is_on_top(&batch->ops[i], on_top)) {
            on_top++;
            continue;
        }
        if (i - on_top >= TS_STORE_BATCH_OPS_MAX)
            return store__error(ret_error, TS_STORE_TOO_LARGE, SIZE_MAX,
                                "the batch has %zu operations; batches have at most %d",
                                batch->count - on_top, TS_STORE_BATCH_OPS_MAX);
        if (batch->ops[i].kind != TS_OP_BEFORE)
            bytes += batch->ops[i].key.len;
        if (batch->ops[i].kind == TS_OP_PUT)
            bytes += batch->ops[i].value.len;
        if (bytes > TS_STORE_BATCH_BYTES_MAX)
            return store__error(ret_error, TS_STORE_TOO_LARGE, i,
                                "the keys and values of the batch exceed %zu bytes",
                                TS_STORE_BATCH_BYTES_MAX);
    }
    return batch->count <= FEW ? check_few_keys(batch, ret_error) : check_many_keys(batch, ret_error);
}

static enum ts_store_result check_gid(const char *gid, struct ts_store_error *ret_error) {
    size_t len = gid == NULL ? 0 : strnlen(gid, TS_STORE_GID_MAX + 1);
    if (len == 0 || len > TS_STORE_GID_MAX)
        return store__error(ret_error, TS_STORE_BAD_BATCH, SIZE_MAX,
                            "the name of a promise must have 1 to %d characters", TS_STORE_GID_MAX);
    for (size_t i = 0; i < len; i++)
        if (gid[i] < ' ' || gid[i] > '~')
            return store__error(ret_error, TS_STORE_BAD_BATCH, SIZE_MAX,
                                "the name of a promise has a character that is not printable ASCII");
    return TS_STORE_OK;
}

static enum ts_store_result check_read(const struct ts_call *call, struct ts_store_error *ret_error) {
    if (call->key_count > TS_STORE_BATCH_OPS_MAX)
        return store__error(ret_error, TS_STORE_TOO_LARGE, SIZE_MAX,
                            "cannot read %zu keys at once; the limit is %d", call->key_count,
                            TS_STORE_BATCH_OPS_MAX);
    for (size_t i = 0; i < call->key_count; i++) {
        if (call->keys[i].len == 0)
            return store__error(ret_error, TS_STORE_BAD_BATCH, i, "key %zu is empty; keys have 1 to %d bytes",
                                i, TS_STORE_KEY_MAX);
        if (call->keys[i].len > TS_STORE_KEY_MAX)
            return store__error(ret_error, TS_STORE_TOO_LARGE, i,
                                "key %zu has %zu bytes; keys have at most %d", i, call->keys[i].len,
                                TS_STORE_KEY_MAX);
    }
    return TS_STORE_OK;
}

enum ts_store_result store__check_call(const struct ts_call *call, struct ts_store_error *ret_error) {
    enum ts_store_result result;
    switch (call->kind) {
    case TS_CALL_READ:
        return check_read(call, ret_error);
    case TS_CALL_APPLY:
        return check_batch(&call->batch, ret_error);
    case TS_CALL_PREPARE:
        result = check_gid(call->gid, ret_error);
        return result != TS_STORE_OK ? result : check_batch(&call->batch, ret_error);
    case TS_CALL_COMMIT:
    case TS_CALL_ABORT:
        return check_gid(call->gid, ret_error);
    case TS_CALL_SCAN:
    case TS_CALL_PREPARED:
    case TS_CALL_NOW:
    case TS_CALL_SYNC:
    case TS_CALL_LAG:
        return TS_STORE_OK;
    }
    return store__error(ret_error, TS_STORE_BAD_BATCH, SIZE_MAX, "no such kind of call");
}
