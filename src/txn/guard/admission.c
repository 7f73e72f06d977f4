#include "txn/guard/admission.h"

#include "base/assert.h"
#include "base/checked.h"

#include <string.h>

/* A set of stores by their places. */
struct store_set {
    uint64_t words[TS_TXN_STORES_MAX / 64];
};

static void set_add_all(struct store_set *set, const struct ts_txn_admission_waiter *waiter) {
    for (size_t i = 0; i < waiter->store_count; i++)
        set->words[waiter->stores[i] / 64] |= UINT64_C(1) << waiter->stores[i] % 64;
}

static bool set_has_any(const struct store_set *set, const struct ts_txn_admission_waiter *waiter) {
    for (size_t i = 0; i < waiter->store_count; i++)
        if (set->words[waiter->stores[i] / 64] >> waiter->stores[i] % 64 & 1)
            return true;
    return false;
}

/* Inserts the waiter before `place`, or at the end for NULL. */
static void list_insert(struct ts_txn_admission_list *list, struct ts_txn_admission_waiter *waiter,
                        struct ts_txn_admission_waiter *place) {
    waiter->next = place;
    waiter->previous = place != NULL ? place->previous : list->last;
    if (waiter->previous != NULL)
        waiter->previous->next = waiter;
    else
        list->first = waiter;
    if (place != NULL)
        place->previous = waiter;
    else
        list->last = waiter;
}

static void list_remove(struct ts_txn_admission_list *list, struct ts_txn_admission_waiter *waiter) {
    if (waiter->previous != NULL)
        waiter->previous->next = waiter->next;
    else
        list->first = waiter->next;
    if (waiter->next != NULL)
        waiter->next->previous = waiter->previous;
    else
        list->last = waiter->previous;
    waiter->next = waiter->previous = NULL;
}

void ts_txn_admission_init(struct ts_txn_admission *admission, const struct ts_txn_admission_config *config) {
    ts_assert(config->soft_limit > 0 && config->soft_limit <= config->hard_limit);
    memset(admission, 0, sizeof *admission);
    admission->config = *config;
    for (size_t i = 0; i < TS_TXN_STORES_MAX; i++)
        admission->stores[i].limit = config->hard_limit;
}

static bool stores_have_room(const struct ts_txn_admission *admission,
                             const struct ts_txn_admission_waiter *waiter) {
    for (size_t i = 0; i < waiter->store_count; i++) {
        uint32_t store = waiter->stores[i];
        if (admission->stores[store].in_flight >= admission->stores[store].limit)
            return false;
    }
    return true;
}

static void admit(struct ts_txn_admission *admission, struct ts_txn_admission_waiter *waiter) {
    waiter->state = TS_TXN_WAITER_ADMITTED;
    admission->gauges.in_flight++;
    admission->gauges.total_admitted++;
    for (size_t i = 0; i < waiter->store_count; i++)
        admission->stores[waiter->stores[i]].in_flight++;
}

static void refuse(struct ts_txn_admission *admission, struct ts_txn_admission_waiter *waiter,
                   enum ts_txn_waiter_state state) {
    waiter->state = state;
    admission->gauges.total_rejected++;
    if (state == TS_TXN_WAITER_SHED)
        admission->gauges.total_shed++;
    if (state == TS_TXN_WAITER_TIMED_OUT)
        admission->gauges.total_timed_out++;
}

/* Returns whether a newcomer is served before a waiter that is already in the queue. */
static bool goes_before(const struct ts_txn_admission *admission,
                        const struct ts_txn_admission_waiter *newcomer,
                        const struct ts_txn_admission_waiter *waiting) {
    switch (admission->config.queue_policy) {
    case TS_TXN_QUEUE_FIFO:
        return false;
    case TS_TXN_QUEUE_SHORT_TXN_PRIORITY:
        return newcomer->store_count < waiting->store_count;
    }
    ts_unreachable("no such queue policy");
}

/* Returns whether a newcomer would overtake: take a place, without queueing, on a store that an earlier
 * transaction waits for. */
static bool would_overtake(const struct ts_txn_admission *admission,
                           const struct ts_txn_admission_waiter *newcomer) {
    struct store_set waited_for = {0};
    for (const struct ts_txn_admission_waiter *w = admission->queue.first; w != NULL; w = w->next)
        if (!goes_before(admission, newcomer, w))
            set_add_all(&waited_for, w);
    return set_has_any(&waited_for, newcomer);
}

static void enqueue(struct ts_txn_admission *admission, struct ts_txn_admission_waiter *waiter) {
    /* Searches from the end; with Fifo the search ends at once. */
    struct ts_txn_admission_waiter *place = NULL;
    struct ts_txn_admission_waiter *before = admission->queue.last;
    while (before != NULL && goes_before(admission, waiter, before)) {
        place = before;
        before = before->previous;
    }
    list_insert(&admission->queue, waiter, place);
    waiter->state = TS_TXN_WAITER_WAITING;
    waiter->arrival = admission->arrivals++;
    admission->gauges.waiting++;
    admission->gauges.total_queued++;
}

static void dequeue(struct ts_txn_admission *admission, struct ts_txn_admission_waiter *waiter,
                    uint64_t now_us) {
    list_remove(&admission->queue, waiter);
    waiter->waited_us = ts_saturating_sub_u64(now_us, waiter->entered_us);
    admission->gauges.waiting--;
}

/* Records that a call of another transaction has changed the state of a waiter. */
static void settle(struct ts_txn_admission *admission, struct ts_txn_admission_waiter *waiter) {
    list_insert(&admission->settled, waiter, NULL);
    waiter->settled = true;
}

/* Returns the first waiter whose stores all have room, and that overtakes no other waiter on any of them;
 * NULL when there is no such waiter. */
static struct ts_txn_admission_waiter *first_that_can_go(const struct ts_txn_admission *admission) {
    struct store_set waited_for = {0};
    for (struct ts_txn_admission_waiter *w = admission->queue.first; w != NULL; w = w->next) {
        if (stores_have_room(admission, w) && !set_has_any(&waited_for, w))
            return w;
        set_add_all(&waited_for, w);
    }
    return NULL;
}

/* Gives free places to waiters in the queue. */
static void advance(struct ts_txn_admission *admission, uint64_t now_us) {
    while (admission->gauges.in_flight < admission->config.soft_limit) {
        struct ts_txn_admission_waiter *waiter = first_that_can_go(admission);
        if (waiter == NULL)
            return;
        dequeue(admission, waiter, now_us);
        admit(admission, waiter);
        settle(admission, waiter);
    }
}

/* Returns the waiter with the most stores. If several have the most, returns the youngest of these. */
static struct ts_txn_admission_waiter *largest_waiter(const struct ts_txn_admission *admission) {
    struct ts_txn_admission_waiter *largest = admission->queue.first;
    for (struct ts_txn_admission_waiter *w = largest; w != NULL; w = w->next)
        if (w->store_count > largest->store_count ||
            (w->store_count == largest->store_count && w->arrival > largest->arrival))
            largest = w;
    return largest;
}

static void shed(struct ts_txn_admission *admission, struct ts_txn_admission_waiter *waiter,
                 uint64_t now_us) {
    struct ts_txn_admission_waiter *largest = largest_waiter(admission);
    if (largest == NULL || largest->store_count <= waiter->store_count) {
        refuse(admission, waiter, TS_TXN_WAITER_SHED);
        return;
    }
    dequeue(admission, largest, now_us);
    refuse(admission, largest, TS_TXN_WAITER_SHED);
    settle(admission, largest);
    enqueue(admission, waiter);
}

/* Puts the newcomer into the queue, and admits the first waiter that can run as degraded. So no transaction
 * overtakes another. */
static void degrade(struct ts_txn_admission *admission, struct ts_txn_admission_waiter *waiter,
                    uint64_t now_us) {
    if (admission->gauges.in_flight >= admission->config.hard_limit) {
        refuse(admission, waiter, TS_TXN_WAITER_REJECTED);
        return;
    }
    enqueue(admission, waiter);
    struct ts_txn_admission_waiter *first = first_that_can_go(admission);
    if (first == NULL) {
        dequeue(admission, waiter, now_us);
        admission->gauges.total_queued--;
        refuse(admission, waiter, TS_TXN_WAITER_REJECTED);
        return;
    }
    dequeue(admission, first, now_us);
    if (first == waiter)
        admission->gauges.total_queued--;
    else
        settle(admission, first);
    first->degraded = true;
    admission->gauges.total_degraded++;
    admit(admission, first);
}

static void overflow(struct ts_txn_admission *admission, struct ts_txn_admission_waiter *waiter,
                     uint64_t now_us) {
    switch (admission->config.overflow) {
    case TS_TXN_OVERFLOW_REJECT:
        refuse(admission, waiter, TS_TXN_WAITER_REJECTED);
        return;
    case TS_TXN_OVERFLOW_SHED_LOAD:
        shed(admission, waiter, now_us);
        return;
    case TS_TXN_OVERFLOW_DEGRADE:
        degrade(admission, waiter, now_us);
        return;
    }
    ts_unreachable("no such overflow action");
}

enum ts_txn_waiter_state ts_txn_admission_enter(struct ts_txn_admission *admission,
                                                struct ts_txn_admission_waiter *waiter, uint64_t now_us) {
    const struct ts_txn_admission_config *config = &admission->config;
    ts_assert(waiter->state != TS_TXN_WAITER_WAITING && waiter->state != TS_TXN_WAITER_ADMITTED &&
              !waiter->settled);
    ts_assert(waiter->store_count > 0);
    for (size_t i = 0; i < waiter->store_count; i++)
        ts_assert(waiter->stores[i] < TS_TXN_STORES_MAX);
    waiter->degraded = false;
    waiter->waited_us = 0;
    waiter->entered_us = now_us;
    ts_txn_admission_tick(admission, now_us);

    if (admission->gauges.in_flight < config->soft_limit && stores_have_room(admission, waiter) &&
        !would_overtake(admission, waiter))
        admit(admission, waiter);
    else if (admission->gauges.waiting < config->hard_limit - config->soft_limit)
        enqueue(admission, waiter);
    else
        overflow(admission, waiter, now_us);
    return waiter->state;
}

void ts_txn_admission_leave(struct ts_txn_admission *admission, struct ts_txn_admission_waiter *waiter,
                            uint64_t now_us) {
    if (waiter->settled) {
        list_remove(&admission->settled, waiter);
        waiter->settled = false;
    }
    switch (waiter->state) {
    case TS_TXN_WAITER_ADMITTED:
        admission->gauges.in_flight--;
        for (size_t i = 0; i < waiter->store_count; i++)
            admission->stores[waiter->stores[i]].in_flight--;
        break;
    case TS_TXN_WAITER_WAITING:
        dequeue(admission, waiter, now_us);
        admission->gauges.total_rejected++;
        break;
    case TS_TXN_WAITER_IDLE:
    case TS_TXN_WAITER_REJECTED:
    case TS_TXN_WAITER_SHED:
    case TS_TXN_WAITER_TIMED_OUT:
        break;
    }
    waiter->state = TS_TXN_WAITER_IDLE;
    ts_txn_admission_tick(admission, now_us);
}

void ts_txn_admission_tick(struct ts_txn_admission *admission, uint64_t now_us) {
    struct ts_txn_admission_waiter *next;
    for (struct ts_txn_admission_waiter *w = admission->queue.first; w != NULL; w = next) {
        next = w->next;
        if (now_us < w->deadline_us)
            continue;
        dequeue(admission, w, now_us);
        refuse(admission, w, TS_TXN_WAITER_TIMED_OUT);
        settle(admission, w);
    }
    /* A waiter that has left may have blocked other waiters on a store. */
    advance(admission, now_us);
}

struct ts_txn_admission_waiter *ts_txn_admission_take_settled(struct ts_txn_admission *admission) {
    struct ts_txn_admission_waiter *waiter = admission->settled.first;
    if (waiter != NULL) {
        list_remove(&admission->settled, waiter);
        waiter->settled = false;
    }
    return waiter;
}

void ts_txn_admission_set_store_limit(struct ts_txn_admission *admission, struct ts_txn_store_limit limit,
                                      uint64_t now_us) {
    ts_assert(limit.store < TS_TXN_STORES_MAX && limit.limit > 0);
    admission->stores[limit.store].limit = limit.limit;
    ts_txn_admission_tick(admission, now_us);
}

uint32_t ts_txn_admission_store_in_flight(const struct ts_txn_admission *admission, uint32_t store) {
    ts_assert(store < TS_TXN_STORES_MAX);
    return admission->stores[store].in_flight;
}
