#include "txn/guard/deadlock.h"

#include "base/assert.h"
#include "base/checked.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void ts_txn_deadlock_init(struct ts_txn_deadlock_detector *detector,
                          const struct ts_txn_deadlock_config *config) {
    *detector = (struct ts_txn_deadlock_detector){.timeout_us = config->timeout_us};
}

static void list_append(struct ts_txn_deadlock_detector *detector, struct ts_txn_deadlock_node *node) {
    node->next = NULL;
    node->previous = detector->newest;
    if (node->previous != NULL)
        node->previous->next = node;
    else
        detector->oldest = node;
    detector->newest = node;
    detector->waiting++;
}

static void list_remove(struct ts_txn_deadlock_detector *detector, struct ts_txn_deadlock_node *node) {
    if (node->previous != NULL)
        node->previous->next = node->next;
    else
        detector->oldest = node->next;
    if (node->next != NULL)
        node->next->previous = node->previous;
    else
        detector->newest = node->previous;
    node->next = node->previous = NULL;
    detector->waiting--;
}

void ts_txn_deadlock_begin(struct ts_txn_deadlock_detector *detector, struct ts_txn_deadlock_node *node,
                           uint64_t now_us) {
    ts_assert(node->state == TS_TXN_DEADLOCK_IDLE);
    node->state = TS_TXN_DEADLOCK_WAITING;
    node->abort_wanted = false;
    /* Keeps the list in the order of times, because a thread may read the clock before another thread, but
     * take the lock after that thread. */
    node->since_us =
        detector->newest != NULL && detector->newest->since_us > now_us ? detector->newest->since_us : now_us;
    list_append(detector, node);
}

void ts_txn_deadlock_end(struct ts_txn_deadlock_detector *detector, struct ts_txn_deadlock_node *node) {
    switch (node->state) {
    case TS_TXN_DEADLOCK_IDLE:
        return;
    case TS_TXN_DEADLOCK_WAITING:
        list_remove(detector, node);
        break;
    case TS_TXN_DEADLOCK_STALLED:
        detector->stalled--;
        break;
    }
    node->state = TS_TXN_DEADLOCK_IDLE;
}

uint64_t ts_txn_deadlock_next_us(const struct ts_txn_deadlock_detector *detector) {
    if (detector->oldest == NULL)
        return UINT64_MAX;
    return ts_saturating_add_u64(detector->oldest->since_us, detector->timeout_us);
}

bool ts_txn_deadlock_next(struct ts_txn_deadlock_detector *detector, uint64_t now_us,
                          struct ts_txn_deadlock_report *ret_report) {
    if (detector->oldest == NULL || now_us < ts_txn_deadlock_next_us(detector))
        return false;
    struct ts_txn_deadlock_node *node = detector->oldest;
    list_remove(detector, node);
    node->state = TS_TXN_DEADLOCK_STALLED;
    node->abort_wanted = node->may_abort;
    detector->stalled++;
    detector->detected++;
    *ret_report = (struct ts_txn_deadlock_report){
        .node = node,
        .txn_id = node->txn_id,
        .involved_stores = node->stores,
        .involved_store_count = node->store_count,
        .wait_reason = node->reason,
        .wait_duration_us = now_us - node->since_us,
        .abort_wanted = node->abort_wanted,
    };
    return true;
}

static const char *kind_name(enum ts_txn_wait_kind kind) {
#define KIND_NAME(suffix, name)                                                                              \
    case TS_TXN_WAIT_##suffix:                                                                               \
        return name;
    switch (kind) { TS_TXN_WAIT_REASONS(KIND_NAME) }
#undef KIND_NAME
    ts_unreachable("no such reason to wait");
}

const char *ts_txn_wait_reason_text(struct ts_txn_wait_reason reason,
                                    char ret_text[static TS_TXN_WAIT_REASON_TEXT_SIZE]) {
    if (reason.kind == TS_TXN_WAIT_SHARD_LOCK_WAIT)
        snprintf(ret_text, TS_TXN_WAIT_REASON_TEXT_SIZE, "%s(%" PRIu32 ")", kind_name(reason.kind),
                 reason.store);
    else
        snprintf(ret_text, TS_TXN_WAIT_REASON_TEXT_SIZE, "%s", kind_name(reason.kind));
    return ret_text;
}

/* Appends to the text at *used, as snprintf does, and adds the length to *used. *used stays below size. */
__attribute__((format(printf, 4, 5))) static void append(char *text, size_t size, size_t *used,
                                                         const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int printed = vsnprintf(text + *used, size - *used, format, arguments);
    va_end(arguments);
    ts_assert(printed >= 0);
    *used = (size_t)printed < size - *used ? *used + (size_t)printed : size - 1;
}

const char *ts_txn_deadlock_describe(const struct ts_txn_deadlock_report *report, char *ret_text,
                                     size_t size) {
    ts_assert(size > 0);
    char reason[TS_TXN_WAIT_REASON_TEXT_SIZE];
    size_t used = 0;
    append(ret_text, size, &used, "transaction %s waited %" PRIu64 " us in %s, stores ",
           report->txn_id[0] != '\0' ? report->txn_id : "without an id yet", report->wait_duration_us,
           ts_txn_wait_reason_text(report->wait_reason, reason));
    for (size_t i = 0; i < report->involved_store_count; i++)
        append(ret_text, size, &used, "%s%" PRIu32, i == 0 ? "" : ",", report->involved_stores[i]);
    append(ret_text, size, &used,
           report->abort_wanted ? ": longer than deadlock.timeout, aborted as deadlocked"
                                : ": longer than deadlock.timeout, past its commit point and not aborted");
    return ret_text;
}
