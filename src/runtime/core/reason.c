#include "runtime/core/reason.h"

#include "base/assert.h"

struct row {
    enum runtime__class class;
    enum ts_park_reason park;
    enum ts_blame blame;
    const char *label;
    const char *text;
};

/* The types of the fields reject a blame for a PERMANENT reason, and a park reason for a RETRYABLE reason. */
#define ROW_RETRYABLE(follows)   .class = RUNTIME__RETRYABLE, .blame = TS_##follows
#define ROW_PERMANENT(follows)   .class = RUNTIME__PERMANENT, .park = TS_##follows
#define ROW_STALE_OWNER(follows) .class = RUNTIME__STALE_OWNER
#define ROW(suffix, class, follows, row_label, row_text)                                                     \
    [TS_UNIT_##suffix] = {ROW_##class(follows), .label = (row_label), .text = (row_text)},

static const struct row rows[] = {TS_UNIT_REASONS(ROW)};

#define FAULT_LABEL(suffix, label, text) label,
#define FAULT_TEXT(suffix, label, text)  text,

static const char *const fault_labels[] = {TS_FLEET_WORKER_FAULTS(FAULT_LABEL)};
static const char *const fault_texts[] = {TS_FLEET_WORKER_FAULTS(FAULT_TEXT)};

enum runtime__class runtime__class_of(struct ts_unit_error error) {
    return rows[error.reason].class;
}

enum ts_park_reason ts_unit_error_park_reason(struct ts_unit_error error) {
    ts_assert(rows[error.reason].class == RUNTIME__PERMANENT);
    return rows[error.reason].park;
}

enum ts_blame ts_unit_error_blame(struct ts_unit_error error) {
    ts_assert(rows[error.reason].class == RUNTIME__RETRYABLE);
    return rows[error.reason].blame;
}

const char *ts_unit_reason_label(enum ts_unit_reason reason) {
    return rows[reason].label;
}

const char *ts_unit_reason_text(enum ts_unit_reason reason) {
    return rows[reason].text;
}

const char *ts_unit_label_text(struct ts_bytes label) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (ts_bytes_equal(label, ts_bytes_of_cstring(rows[i].label)))
            return rows[i].text;
    }
    return NULL;
}

const char *ts_fleet_worker_fault_label(struct ts_fleet_worker_fault fault) {
    return fault_labels[fault.kind];
}

const char *ts_fleet_worker_fault_text(struct ts_fleet_worker_fault fault) {
    return fault_texts[fault.kind];
}
