/*
 * What one running transaction needs, kept for the next, so that running one allocates nothing once the
 * largest has been seen.
 */
#include "driver.h"

#include "base/checked.h"

#include <stdlib.h>

struct txn__session *txn__session_new(struct ts_coordinator *coordinator) {
    size_t places = coordinator->place_count;
    struct txn__session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return NULL;
    session->stores = calloc(places, sizeof *session->stores);
    session->part_of_place = calloc(places, sizeof *session->part_of_place);
    session->part_from = calloc(places, sizeof *session->part_from);
    session->members = calloc(places, sizeof *session->members);
    session->calls = calloc(places, sizeof *session->calls);
    session->waiting = calloc(places, sizeof(struct ts_call *));
    session->flights = calloc(places, sizeof *session->flights);
    session->rpc_us = calloc(places, sizeof *session->rpc_us);
    session->lock_wait_us = calloc(places, sizeof *session->lock_wait_us);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&session->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (session->stores == NULL || session->part_of_place == NULL || session->part_from == NULL ||
        session->members == NULL || session->calls == NULL || session->waiting == NULL ||
        session->flights == NULL || session->rpc_us == NULL || session->lock_wait_us == NULL ||
        !txn__session_reserve(session, 16)) {
        txn__session_free(session);
        return NULL;
    }
    return session;
}

void txn__session_free(struct txn__session *session) {
    if (session == NULL)
        return;
    pthread_cond_destroy(&session->wake);
    ts_rows_release(&session->rows);
    free(session->flat);
    free(session->op_places);
    free(session->arranged);
    free(session->origins);
    free(session->stores);
    free(session->part_of_place);
    free(session->part_from);
    free(session->members);
    free(session->calls);
    free(session->waiting); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion) */
    free(session->flights);
    free(session->rpc_us);
    free(session->lock_wait_us);
    free(session);
}

/* Two arrays of the same length that grow together; what they held is not kept. */
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
    return grow(&session->flat, &session->op_places, &session->capacity, op_count);
}

/* Copies one operation to the end of a part. */
static void lay(struct txn__session *session, size_t part, size_t op) {
    size_t at = session->part_from[part]++;
    session->arranged[at] = session->ops[op];
    session->origins[at] = (uint32_t)op;
}

bool txn__session_arrange(struct txn__session *session, size_t decider) {
    const struct txn__plan *plan = &session->plan;
    session->arranged_in_place = plan->part_count == 1 && !session->record;
    if (session->arranged_in_place)
        return true;
    if (!grow(&session->arranged, &session->origins, &session->arranged_capacity,
              plan->op_count + TXN__OWN_OPS_MAX))
        return false;
    size_t from = 0;
    for (size_t i = 0; i < plan->part_count; i++) {
        session->part_of_place[plan->parts[i].place] = (uint32_t)i;
        if (i != decider) {
            session->part_from[i] = from;
            from += plan->parts[i].count;
        }
    }
    session->part_from[decider] = from;
    for (size_t op = 0; op < session->op_count; op++) {
        if (session->op_places[op] != TXN__EVERYWHERE) {
            lay(session, session->part_of_place[session->op_places[op]], op);
            continue;
        }
        for (size_t i = 0; i < plan->part_count; i++)
            lay(session, i, op);
    }
    for (size_t i = 0; i < plan->part_count; i++)
        session->part_from[i] -= plan->parts[i].count;
    return true;
}

struct ts_batch txn__session_part(const struct txn__session *session, size_t part,
                                  const struct txn__own *own) {
    if (session->arranged_in_place)
        return (struct ts_batch){.ops = session->ops, .count = session->op_count};
    struct ts_op *ops = session->arranged + session->part_from[part];
    size_t count = session->plan.parts[part].count;
    if (own != NULL) {
        memcpy(ops + count, own->ops, own->count * sizeof ops[0]);
        count += own->count;
    }
    return (struct ts_batch){.ops = ops, .count = count};
}
