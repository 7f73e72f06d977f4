#include "txn/core/marks.h"

#include "base/assert.h"

void txn__marks_init(struct txn__marks *marks, struct txn__mark_list *deciders, uint32_t place_count) {
    *marks = (struct txn__marks){.next_sequence = 1, .deciders = deciders, .place_count = place_count};
}

uint64_t txn__marks_next_sequence(struct txn__marks *marks, bool recorded_global) {
    marks->next_sequence += (marks->next_sequence & 1) != (recorded_global ? 1 : 0);
    return marks->next_sequence++;
}

void txn__marks_begin(struct txn__marks *marks, struct txn__entry *entry, uint64_t sequence,
                      uint32_t decider) {
    ts_assert(decider < marks->place_count);
    struct txn__mark_list *list = &marks->deciders[decider];
    ts_assert(list->last == NULL || list->last->sequence < sequence);
    *entry = (struct txn__entry){
        .sequence = sequence, .decider = decider, .state = TXN__ENTRY_OPEN, .previous = list->last};
    if (list->last != NULL)
        list->last->next = entry;
    else
        list->first = entry;
    list->last = entry;
    marks->open_count++;
}

void txn__marks_end(struct txn__marks *marks, struct txn__entry *entry) {
    ts_assert(entry->state != TXN__ENTRY_IDLE);
    struct txn__mark_list *list = &marks->deciders[entry->decider];
    if (entry->previous != NULL)
        entry->previous->next = entry->next;
    else
        list->first = entry->next;
    if (entry->next != NULL)
        entry->next->previous = entry->previous;
    else
        list->last = entry->previous;
    entry->next = entry->previous = NULL;
    entry->state = TXN__ENTRY_IDLE;
    marks->open_count--;
}

void txn__marks_committed(struct txn__marks *marks, struct txn__entry *entry,
                          const struct txn__places *pending) {
    (void)marks;
    ts_assert(entry->state == TXN__ENTRY_OPEN || entry->state == TXN__ENTRY_UNSETTLED);
    entry->places = *pending;
    entry->state = txn__places_are_empty(pending) ? TXN__ENTRY_APPLIED : TXN__ENTRY_PENDING;
}

void txn__marks_applied(struct txn__entry *entry, uint32_t place) {
    ts_assert(entry->state == TXN__ENTRY_PENDING);
    txn__places_remove(&entry->places, place);
    if (txn__places_are_empty(&entry->places))
        entry->state = TXN__ENTRY_APPLIED;
}

void txn__marks_unsettled(struct txn__entry *entry) {
    ts_assert(entry->state == TXN__ENTRY_OPEN);
    entry->state = TXN__ENTRY_UNSETTLED;
}

void txn__marks_take_applied(struct txn__marks *marks, struct txn__places *ret_places) {
    struct txn__places places = {{0}};
    for (uint32_t decider = 0; decider < marks->place_count; decider++) {
        for (struct txn__entry *entry = marks->deciders[decider].first; entry != NULL; entry = entry->next) {
            if (entry->state != TXN__ENTRY_APPLIED)
                continue;
            entry->state = TXN__ENTRY_SYNCING;
            txn__places_unite(&places, &entry->participants);
        }
    }
    *ret_places = places;
}

void txn__marks_synced(struct txn__marks *marks, const struct txn__places *synced,
                       struct txn__entry **ret_gone) {
    struct txn__entry *gone = NULL;
    for (uint32_t decider = 0; decider < marks->place_count; decider++) {
        for (struct txn__entry *entry = marks->deciders[decider].first, *next; entry != NULL; entry = next) {
            next = entry->next;
            if (entry->state != TXN__ENTRY_SYNCING)
                continue;
            if (!txn__places_contain(synced, &entry->participants)) {
                entry->state = TXN__ENTRY_APPLIED;
                continue;
            }
            txn__marks_end(marks, entry);
            entry->next = gone;
            gone = entry;
        }
    }
    *ret_gone = gone;
}

uint64_t txn__marks_low(const struct txn__marks *marks, uint32_t decider) {
    ts_assert(decider < marks->place_count);
    const struct txn__entry *first = marks->deciders[decider].first;
    return first != NULL ? first->sequence : marks->next_sequence;
}

struct txn__entry *txn__marks_find(const struct txn__marks *marks, uint32_t decider,
                                   enum txn__entry_state state, const struct txn__entry *after) {
    struct txn__entry *entry = after != NULL ? after->next : marks->deciders[decider].first;
    while (entry != NULL && entry->state != state)
        entry = entry->next;
    return entry;
}
