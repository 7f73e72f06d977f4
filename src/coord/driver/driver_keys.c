#include "driver_keys.h"

#include "base/assert.h"
#include "base/endian.h"
#include "turnstone/txn.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HEAD   ((size_t)3)
#define NUMBER ((size_t)8)

static struct coord__key begin(char kind) {
    return (struct coord__key){.bytes = {TS_TXN_RESERVED_BYTE, 'c', (uint8_t)kind}, .len = (uint8_t)HEAD};
}

static void add_number(struct coord__key *key, uint64_t number) {
    ts_be64_store(number, key->bytes + key->len);
    key->len = (uint8_t)(key->len + NUMBER);
}

static void add_name(struct coord__key *key, const uint8_t name[static TS_NAME_ID_LEN]) {
    memcpy(key->bytes + key->len, name, TS_NAME_ID_LEN);
    key->len = (uint8_t)(key->len + TS_NAME_ID_LEN);
}

static struct coord__key of_run(char kind, struct ts_run_id run) {
    struct coord__key key = begin(kind);
    add_number(&key, run.v);
    return key;
}

static struct coord__key of_shard(char kind, struct ts_shard_key shard) {
    struct coord__key key = of_run(kind, shard.run);
    add_number(&key, shard.shard.v);
    return key;
}

struct coord__key coord__key_of_bytes(struct ts_bytes bytes) {
    struct coord__key key = {.len = (uint8_t)bytes.len};
    ts_assert(bytes.len <= sizeof key.bytes);
    memcpy(key.bytes, bytes.data, bytes.len);
    return key;
}

struct coord__key coord__key_run(struct ts_run_id run) {
    return of_run('r', run);
}

struct coord__key coord__key_tenant_run(const struct ts_tenant_id *tenant, struct ts_run_id run) {
    struct coord__key key = begin('t');
    add_name(&key, tenant->b);
    add_number(&key, run.v);
    return key;
}

struct coord__key coord__key_run_shards(struct ts_run_id run) {
    return of_run('m', run);
}

struct coord__key coord__key_tenant_limit(const struct ts_tenant_id *tenant) {
    struct coord__key key = begin('q');
    add_name(&key, tenant->b);
    return key;
}

struct coord__key coord__key_global_limit(void) {
    return begin('q');
}

struct coord__key coord__key_last_number(const struct ts_tenant_id *tenant) {
    struct coord__key key = begin('i');
    add_name(&key, tenant->b);
    return key;
}

struct coord__key coord__key_guard(struct ts_run_id run) {
    return of_run('g', run);
}

uint8_t coord__stripe_of(struct ts_shard_id shard) {
    /* Fibonacci hashing. Takes the top three bits, so that the stripe is independent of the routing. */
    return (uint8_t)((shard.v * UINT64_C(0x9E3779B97F4A7C15)) >> 61);
}
_Static_assert(COORD__STRIPES == 1 << 3, "three bits of the hash");

struct coord__key coord__key_counter(struct ts_run_id run, struct coord__stripe stripe) {
    struct coord__key key = of_run('n', run);
    key.bytes[key.len++] = (uint8_t)stripe.status;
    key.bytes[key.len++] = stripe.stripe;
    return key;
}

struct coord__key coord__key_shard(struct ts_shard_key shard) {
    return of_shard(COORD__KIND_SHARDS, shard);
}

struct coord__key coord__key_free(struct ts_shard_key shard) {
    return of_shard(COORD__KIND_FREE, shard);
}

struct coord__key coord__key_leased(struct ts_shard_key shard, struct ts_logical_time deadline) {
    struct coord__key key = of_run(COORD__KIND_LEASED, shard.run);
    add_number(&key, deadline.ms);
    add_number(&key, shard.shard.v);
    return key;
}

struct coord__key coord__key_unit(struct ts_run_id run, const uint8_t target[static 16]) {
    struct coord__key key = of_run(COORD__KIND_UNITS, run);
    memcpy(key.bytes + key.len, target, 16);
    key.len = (uint8_t)(key.len + 16);
    return key;
}

struct coord__key coord__key_cooldown(const struct ts_tenant_id *tenant, const struct ts_worker_id *worker) {
    struct coord__key key = begin('k');
    add_name(&key, tenant->b);
    add_name(&key, worker->b);
    return key;
}

/* Returns the first key after all keys that begin with this key. The first byte is 0, so not all bytes are
 * 0xff. */
static struct coord__key behind(struct coord__key key) {
    while (key.bytes[key.len - 1] == 0xff)
        key.len--;
    key.bytes[key.len - 1]++;
    return key;
}

struct coord__range coord__range_of_run(enum coord__kind kind, struct ts_run_id run) {
    const struct coord__key from = of_run((char)kind, run);
    return (struct coord__range){from, behind(from)};
}

struct coord__range coord__range_of_tenant(const struct ts_tenant_id *tenant) {
    struct coord__key from = begin('t');
    add_name(&from, tenant->b);
    return (struct coord__range){from, behind(from)};
}

bool coord__key_shard_of(struct ts_bytes key, struct ts_shard_key *ret_shard) {
    if (key.len != HEAD + 2 * NUMBER ||
        (key.data[2] != COORD__KIND_SHARDS && key.data[2] != COORD__KIND_FREE))
        return false;
    ret_shard->run.v = ts_be64_load(key.data + HEAD);
    ret_shard->shard.v = ts_be64_load(key.data + HEAD + NUMBER);
    return true;
}

bool coord__key_lease_of(struct ts_bytes key, struct ts_shard_key *ret_shard,
                         struct ts_logical_time *ret_deadline) {
    if (key.len != HEAD + 3 * NUMBER || key.data[2] != COORD__KIND_LEASED)
        return false;
    ret_shard->run.v = ts_be64_load(key.data + HEAD);
    ret_deadline->ms = ts_be64_load(key.data + HEAD + NUMBER);
    ret_shard->shard.v = ts_be64_load(key.data + HEAD + 2 * NUMBER);
    return true;
}

bool coord__key_run_of(struct ts_bytes tenant_run_key, struct ts_run_id *ret_run) {
    if (tenant_run_key.len != HEAD + TS_NAME_ID_LEN + NUMBER)
        return false;
    ret_run->v = ts_be64_load(tenant_run_key.data + HEAD + TS_NAME_ID_LEN);
    return true;
}

void coord__key_counter_name(struct ts_bytes key, char ret_name[static COORD__COUNTER_NAME]) {
    const struct coord__key of_all = coord__key_global_limit();
    const uint64_t run = key.len >= HEAD + NUMBER ? ts_be64_load(key.data + HEAD) : 0;
    enum ts_shard_status status;
    if (key.len == HEAD + NUMBER + 2 && key.data[2] == 'n' &&
        ts_shard_status_from_number(key.data[HEAD + NUMBER], &status))
        snprintf(ret_name, COORD__COUNTER_NAME, "the counter of %s shards (stripe %u) of run %" PRIu64,
                 ts_shard_status_name(status), key.data[HEAD + NUMBER + 1], run);
    else if (key.len == HEAD + NUMBER && key.data[2] == 'm')
        snprintf(ret_name, COORD__COUNTER_NAME, "the counter of shards of run %" PRIu64, run);
    else if (ts_bytes_equal(key, coord__key_bytes(&of_all)))
        snprintf(ret_name, COORD__COUNTER_NAME, "the counter of all shards");
    else if (key.len == HEAD + TS_NAME_ID_LEN && key.data[2] == 'i')
        snprintf(ret_name, COORD__COUNTER_NAME, "the number of the tenant's last run");
    else
        snprintf(ret_name, COORD__COUNTER_NAME, "the counter of the tenant's shards");
}
