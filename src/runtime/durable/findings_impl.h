#ifndef TS_RUNTIME_DURABLE_FINDINGS_IMPL_H
#define TS_RUNTIME_DURABLE_FINDINGS_IMPL_H

#include "durable_impl.h"
#include "os/arena.h"
#include "runtime/durable/findings.h"

/* The maximum number of keys in one READ. */
enum { DURABLE__KEYS_AT_ONCE = 500 };

enum ts_fleet_finding_state durable__state_of(enum ts_triage triage, bool is_allowed);

/* Each function sets the error and returns false. */
bool durable__say(struct ts_infra_error *ret_error, enum ts_infra_kind kind, const char *text);
bool durable__say_damaged(struct ts_infra_error *ret_error, const char *what, enum ts_fleet_error error);
bool durable__no_room(struct ts_infra_error *ret_error);

/* A key and the place of its store. durable__read_all reads any number of keys, in as few calls as possible.
 * It calls visit for each key that exists, in any order. If visit returns false, the read fails, and visit
 * must have set the error. */
struct durable__key_at {
    struct ts_fleet_key key;
    uint32_t place;
};
bool durable__read_all(struct ts_coord *coord, const struct durable__key_at *keys, size_t count,
                       bool (*visit)(void *context, size_t index, const struct ts_row *row), void *context,
                       struct ts_infra_error *ret_error);

/* The current attempts of targets. {0} is empty. */
struct durable__current {
    struct durable__current_entry {
        struct ts_target_id id;
        bool is_used;
        bool is_known; /* read, or known to be absent */
        bool exists;
        struct ts_attempt attempt;
    } * entries;
    size_t count;
    size_t capacity; /* a power of 2 */
};
void durable__current_release(struct durable__current *current);
/* Adds a target whose record is to be read. Returns false when memory runs out. */
bool durable__current_want(struct durable__current *current, const struct ts_target_id *id);
/* Marks a target to be read again, because it may have changed. */
void durable__current_forget(struct durable__current *current, const struct ts_target_id *id);
/* Reads the records of the wanted targets that are not known yet. */
bool durable__current_read(struct durable__current *current, struct ts_coord *coord,
                           const struct ts_tenant_id *tenant, struct ts_infra_error *ret_error);
/* Returns the current attempt of a wanted target; zeros if the target has no record. */
struct ts_attempt durable__current_attempt(const struct durable__current *current,
                                           const struct ts_target_id *id);
/* Returns whether the attempt is the current one of a known target. */
bool durable__current_has(const struct durable__current *current, const struct ts_target_id *id,
                          const struct ts_attempt *attempt);

#endif
