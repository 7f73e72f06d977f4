/*
 * The keys that coordination keeps in stores. All begin with the reserved byte 0 and 'c'; numbers in keys are
 * big-endian, so that they sort. docs/formats/coord.md has the table.
 */
#ifndef TS_COORD_DRIVER_DRIVER_KEYS_H
#define TS_COORD_DRIVER_DRIVER_KEYS_H

#include "base/bytes.h"
#include "coord/core/ids.h"

enum {
    COORD__KEY_MAX = 3 + 2 * TS_NAME_ID_LEN,
    COORD__STRIPES = 8,
    COORD__COUNTERS = 4 * COORD__STRIPES, /* counters of a run on a store: one for each status and stripe */
};

struct coord__key {
    uint8_t bytes[COORD__KEY_MAX];
    uint8_t len;
};

static inline struct ts_bytes coord__key_bytes(const struct coord__key *key) {
    return ts_bytes_of(key->bytes, key->len);
}

/* Copies a key that a store returned. */
struct coord__key coord__key_of_bytes(struct ts_bytes bytes);

/* Keys of records on the first store. */
struct coord__key coord__key_run(struct ts_run_id run);
struct coord__key coord__key_tenant_run(const struct ts_tenant_id *tenant, struct ts_run_id run);
/* The key of the number of the run's shards that count against the limits. */
struct coord__key coord__key_run_shards(struct ts_run_id run);
struct coord__key coord__key_tenant_limit(const struct ts_tenant_id *tenant);
struct coord__key coord__key_global_limit(void);
/* The key of the number of the tenant's last run. */
struct coord__key coord__key_last_number(const struct ts_tenant_id *tenant);

/* Keys of records on every store. */
struct coord__key coord__key_guard(struct ts_run_id run);

/* Identifies one of the counters that a run has on each store. A shard counts in the counter of its status
 * and stripe. */
struct coord__stripe {
    enum ts_shard_status status;
    uint8_t stripe; /* below COORD__STRIPES */
};
uint8_t coord__stripe_of(struct ts_shard_id shard);

/* Returns the counter with this index, in a fixed order of the counters of a run on a store. index is below
 * COORD__COUNTERS. */
static inline struct coord__stripe coord__stripe_at(size_t index) {
    return (struct coord__stripe){(enum ts_shard_status)(index / COORD__STRIPES),
                                  (uint8_t)(index % COORD__STRIPES)};
}
static inline size_t coord__stripe_index(struct coord__stripe stripe) {
    return (size_t)stripe.status * COORD__STRIPES + stripe.stripe;
}
struct coord__key coord__key_counter(struct ts_run_id run, struct coord__stripe stripe);

/* Keys of records on the shard's store. */
struct coord__key coord__key_shard(struct ts_shard_key shard);
struct coord__key coord__key_free(struct ts_shard_key shard);
struct coord__key coord__key_leased(struct ts_shard_key shard, struct ts_logical_time deadline);

/* The key of a unit. A unit is a record of another layer that is deleted with its run (coord.h). It may be on
 * any store. */
struct coord__key coord__key_unit(struct ts_run_id run, const uint8_t target[static 16]);

/* Keys of records on the worker's own store. */
struct coord__key coord__key_cooldown(const struct ts_tenant_id *tenant, const struct ts_worker_id *worker);

/* The kinds of keys. coord__range_of_run returns the range of a run's keys of one kind.
 * coord__range_of_tenant returns the range of a tenant's list of runs. Ranges are from `from` (included) to
 * `to` (excluded). */
enum coord__kind {
    COORD__KIND_SHARDS = 's',
    COORD__KIND_FREE = 'f',
    COORD__KIND_LEASED = 'l',
    COORD__KIND_UNITS = 'u',
};
struct coord__range {
    struct coord__key from;
    struct coord__key to;
};
struct coord__range coord__range_of_run(enum coord__kind kind, struct ts_run_id run);
struct coord__range coord__range_of_tenant(const struct ts_tenant_id *tenant);

/* These functions return false for a key of another kind. coord__key_shard_of accepts keys of shards and of
 * free shards; coord__key_run_of checks only the length. */
bool coord__key_shard_of(struct ts_bytes key, struct ts_shard_key *ret_shard);
bool coord__key_lease_of(struct ts_bytes key, struct ts_shard_key *ret_shard,
                         struct ts_logical_time *ret_deadline);
bool coord__key_run_of(struct ts_bytes tenant_run_key, struct ts_run_id *ret_run);

/* Writes the name of a counter, for messages: "the counter of active shards (stripe 3) of run 7". The name
 * contains no tenant. */
enum { COORD__COUNTER_NAME = 96 };
void coord__key_counter_name(struct ts_bytes key, char ret_name[static COORD__COUNTER_NAME]);

#endif
