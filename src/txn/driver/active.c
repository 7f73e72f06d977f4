/*
 * The memory of one running transaction, which the next transaction reuses. No memory is allocated any more
 * once the largest transaction has run.
 */
#include "driver.h"

#include "base/checked.h"

#include <stdlib.h>

struct txn__active *txn__active_new(struct ts_coordinator *coordinator) {
    size_t places = coordinator->place_count;
    struct txn__active *active = calloc(1, sizeof *active);
    if (active == NULL)
        return NULL;
    active->request.stores = calloc(places, sizeof *active->request.stores);
    active->request.permits = calloc(places, sizeof *active->request.permits);
    active->attempt.part_of_place = calloc(places, sizeof *active->attempt.part_of_place);
    active->attempt.part_from = calloc(places, sizeof *active->attempt.part_from);
    active->attempt.members = calloc(places, sizeof *active->attempt.members);
    active->attempt.calls = calloc(places, sizeof *active->attempt.calls);
    active->attempt.waiting = calloc(places, sizeof(struct ts_call *));
    active->timing.flights = calloc(places, sizeof *active->timing.flights);
    active->timing.rpc_us = calloc(places, sizeof *active->timing.rpc_us);
    active->timing.lock_wait_us = calloc(places, sizeof *active->timing.lock_wait_us);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&active->wait.wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (active->request.stores == NULL || active->request.permits == NULL ||
        active->attempt.part_of_place == NULL || active->attempt.part_from == NULL ||
        active->attempt.members == NULL || active->attempt.calls == NULL || active->attempt.waiting == NULL ||
        active->timing.flights == NULL || active->timing.rpc_us == NULL ||
        active->timing.lock_wait_us == NULL || !txn__active_reserve(active, 16)) {
        txn__active_free(active);
        return NULL;
    }
    return active;
}

void txn__active_free(struct txn__active *active) {
    if (active == NULL)
        return;
    pthread_cond_destroy(&active->wait.wake);
    ts_rows_release(&active->attempt.rows);
    free(active->request.flat);
    free(active->request.op_places);
    free(active->attempt.arranged);
    free(active->attempt.origins);
    free(active->request.stores);
    free(active->request.permits);
    free(active->attempt.part_of_place);
    free(active->attempt.part_from);
    free(active->attempt.members);
    free(active->attempt.calls);
    free(active->attempt.waiting); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion) */
    free(active->timing.flights);
    free(active->timing.rpc_us);
    free(active->timing.lock_wait_us);
    free(active);
}

/* Makes room for `count` elements in two arrays that have the same length. If the arrays must grow, their
 * contents are lost. */
static bool grow(struct ts_op **ops, uint32_t **numbers, size_t *capacity, size_t count) {
    if (count <= *capacity)
        return true;
    size_t wanted = count + count / 2;
    struct ts_op *new_ops = malloc(wanted * sizeof *new_ops);
    uint32_t *new_numbers = malloc(wanted * sizeof *new_numbers);
    if (new_ops == NULL || new_numbers == NULL) {
        free(new_ops);
        free(new_numbers);
        return false;
    }
    free(*ops);
    free(*numbers);
    *ops = new_ops;
    *numbers = new_numbers;
    *capacity = wanted;
    return true;
}

bool txn__active_reserve(struct txn__active *active, size_t op_count) {
    return grow(&active->request.flat, &active->request.op_places, &active->request.capacity, op_count);
}

/* Copies the operation with index `op` of the request to the end of a part. */
static void lay(struct txn__active *active, size_t part, size_t op) {
    size_t at = active->attempt.part_from[part]++;
    active->attempt.arranged[at] = active->request.ops[op];
    active->attempt.origins[at] = (uint32_t)op;
}

bool txn__active_arrange(struct txn__active *active, size_t decider) {
    const struct txn__plan *plan = &active->request.plan;
    active->attempt.arranged_in_place = plan->part_count == 1 && !active->request.record;
    if (active->attempt.arranged_in_place)
        return true;
    if (!grow(&active->attempt.arranged, &active->attempt.origins, &active->attempt.arranged_capacity,
              plan->op_count + TXN__OWN_OPS_MAX))
        return false;
    size_t from = 0;
    for (size_t i = 0; i < plan->part_count; i++) {
        active->attempt.part_of_place[plan->parts[i].place] = (uint32_t)i;
        if (i != decider) {
            active->attempt.part_from[i] = from;
            from += plan->parts[i].count;
        }
    }
    active->attempt.part_from[decider] = from;
    for (size_t op = 0; op < active->request.op_count; op++) {
        if (active->request.op_places[op] != TXN__EVERYWHERE) {
            lay(active, active->attempt.part_of_place[active->request.op_places[op]], op);
            continue;
        }
        for (size_t i = 0; i < plan->part_count; i++)
            lay(active, i, op);
    }
    for (size_t i = 0; i < plan->part_count; i++)
        active->attempt.part_from[i] -= plan->parts[i].count;
    return true;
}

struct ts_batch txn__active_part(const struct txn__active *active, size_t part, const struct txn__own *own) {
    if (active->attempt.arranged_in_place)
        return (struct ts_batch){.ops = active->request.ops, .count = active->request.op_count};
    struct ts_op *ops = active->attempt.arranged + active->attempt.part_from[part];
    size_t count = active->request.plan.parts[part].count;
    if (own != NULL) {
        memcpy(ops + count, own->ops, own->count * sizeof ops[0]);
        count += own->count;
    }
    return (struct ts_batch){.ops = ops, .count = count};
}
