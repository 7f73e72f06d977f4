/*
 * The memory of one running transaction, kept for the next: once the largest has run, transactions allocate
 * nothing.
 */
#include "driver.h"

#include "base/checked.h"

#include <stdlib.h>

struct txn__session *txn__session_new(struct ts_coordinator *coordinator) {
    size_t places = coordinator->place_count;
    struct txn__session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return NULL;
    session->request.stores = calloc(places, sizeof *session->request.stores);
    session->request.permits = calloc(places, sizeof *session->request.permits);
    session->attempt.part_of_place = calloc(places, sizeof *session->attempt.part_of_place);
    session->attempt.part_from = calloc(places, sizeof *session->attempt.part_from);
    session->attempt.members = calloc(places, sizeof *session->attempt.members);
    session->attempt.calls = calloc(places, sizeof *session->attempt.calls);
    session->attempt.waiting = calloc(places, sizeof(struct ts_call *));
    session->timing.flights = calloc(places, sizeof *session->timing.flights);
    session->timing.rpc_us = calloc(places, sizeof *session->timing.rpc_us);
    session->timing.lock_wait_us = calloc(places, sizeof *session->timing.lock_wait_us);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&session->wait.wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (session->request.stores == NULL || session->request.permits == NULL ||
        session->attempt.part_of_place == NULL || session->attempt.part_from == NULL ||
        session->attempt.members == NULL || session->attempt.calls == NULL ||
        session->attempt.waiting == NULL || session->timing.flights == NULL ||
        session->timing.rpc_us == NULL || session->timing.lock_wait_us == NULL ||
        !txn__session_reserve(session, 16)) {
        txn__session_free(session);
        return NULL;
    }
    return session;
}

void txn__session_free(struct txn__session *session) {
    if (session == NULL)
        return;
    pthread_cond_destroy(&session->wait.wake);
    ts_rows_release(&session->attempt.rows);
    free(session->request.flat);
    free(session->request.op_places);
    free(session->attempt.arranged);
    free(session->attempt.origins);
    free(session->request.stores);
    free(session->request.permits);
    free(session->attempt.part_of_place);
    free(session->attempt.part_from);
    free(session->attempt.members);
    free(session->attempt.calls);
    free(session->attempt.waiting); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion) */
    free(session->timing.flights);
    free(session->timing.rpc_us);
    free(session->timing.lock_wait_us);
    free(session);
}

/* Two arrays of the same length that grow together; their contents are lost. */
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

bool txn__session_reserve(struct txn__session *session, size_t op_count) {
    return grow(&session->request.flat, &session->request.op_places, &session->request.capacity, op_count);
}

/* Copies one operation to the end of a part. */
static void lay(struct txn__session *session, size_t part, size_t op) {
    size_t at = session->attempt.part_from[part]++;
    session->attempt.arranged[at] = session->request.ops[op];
    session->attempt.origins[at] = (uint32_t)op;
}

bool txn__session_arrange(struct txn__session *session, size_t decider) {
    const struct txn__plan *plan = &session->request.plan;
    session->attempt.arranged_in_place = plan->part_count == 1 && !session->request.record;
    if (session->attempt.arranged_in_place)
        return true;
    if (!grow(&session->attempt.arranged, &session->attempt.origins, &session->attempt.arranged_capacity,
              plan->op_count + TXN__OWN_OPS_MAX))
        return false;
    size_t from = 0;
    for (size_t i = 0; i < plan->part_count; i++) {
        session->attempt.part_of_place[plan->parts[i].place] = (uint32_t)i;
        if (i != decider) {
            session->attempt.part_from[i] = from;
            from += plan->parts[i].count;
        }
    }
    session->attempt.part_from[decider] = from;
    for (size_t op = 0; op < session->request.op_count; op++) {
        if (session->request.op_places[op] != TXN__EVERYWHERE) {
            lay(session, session->attempt.part_of_place[session->request.op_places[op]], op);
            continue;
        }
        for (size_t i = 0; i < plan->part_count; i++)
            lay(session, i, op);
    }
    for (size_t i = 0; i < plan->part_count; i++)
        session->attempt.part_from[i] -= plan->parts[i].count;
    return true;
}

struct ts_batch txn__session_part(const struct txn__session *session, size_t part,
                                  const struct txn__own *own) {
    if (session->attempt.arranged_in_place)
        return (struct ts_batch){.ops = session->request.ops, .count = session->request.op_count};
    struct ts_op *ops = session->attempt.arranged + session->attempt.part_from[part];
    size_t count = session->request.plan.parts[part].count;
    if (own != NULL) {
        memcpy(ops + count, own->ops, own->count * sizeof ops[0]);
        count += own->count;
    }
    return (struct ts_batch){.ops = ops, .count = count};
}
