/* Finds out which attempts are current, and reads many keys at once. */
#include "findings_impl.h"

#include "base/hash64.h"

#include <stdlib.h>

/* ---- keys ---- */

struct batch_read {
    struct ts_coord_call *calls; /* at most one call for each place */
    struct ts_rows *rows;
    struct ts_bytes *bytes; /* keys of all calls */
    size_t *indexes;        /* for each of these keys: its index in the caller's array */
    size_t *from;           /* for each call: the index of its first key in `bytes` */
    uint32_t places;
};

static bool init_read(struct batch_read *read, uint32_t places, size_t most) {
    *read = (struct batch_read){.places = places};
    read->calls = calloc(places, sizeof *read->calls);
    read->rows = calloc(places, sizeof *read->rows);
    read->from = calloc(places, sizeof *read->from);
    read->bytes = calloc(most, sizeof *read->bytes);
    read->indexes = calloc(most, sizeof *read->indexes);
    return read->calls != NULL && read->rows != NULL && read->from != NULL && read->bytes != NULL &&
           read->indexes != NULL;
}

static void release_read(struct batch_read *read) {
    for (uint32_t place = 0; read->rows != NULL && place < read->places; place++)
        ts_rows_release(&read->rows[place]);
    free(read->calls);
    free(read->rows);
    free(read->from);
    free(read->bytes);
    free(read->indexes);
}

/* Reads the keys of the span, with one call for each store. */
static bool read_some(struct batch_read *read, struct ts_coord *coord, const struct durable__key_at *keys,
                      struct ts_span span, bool (*visit)(void *, size_t, const struct ts_row *),
                      void *context, struct ts_infra_error *ret_error) {
    size_t calls = 0, at = 0;
    for (uint32_t place = 0; place < read->places; place++) {
        const size_t from = at;
        for (size_t i = span.from; i < span.from + span.len; i++) {
            if (keys[i].place != place)
                continue;
            read->bytes[at] = ts_fleet_key_bytes(&keys[i].key);
            read->indexes[at++] = i;
        }
        if (at == from)
            continue;
        read->from[calls] = from;
        read->calls[calls] = (struct ts_coord_call){.place = place,
                                                    .call = {.kind = TS_CALL_READ,
                                                             .keys = read->bytes + from,
                                                             .key_count = at - from,
                                                             .rows = &read->rows[calls]}};
        calls++;
    }
    if (ts_coord_read(coord, read->calls, calls, ret_error) != TS_STORE_OK)
        return false;
    for (size_t i = 0; i < calls; i++) {
        for (size_t j = 0; j < read->rows[i].count; j++) {
            const struct ts_row *row = &read->rows[i].rows[j];
            if (row->version != 0 && !visit(context, read->indexes[read->from[i] + j], row))
                return false;
        }
    }
    return true;
}

bool durable__read_all(struct ts_coord *coord, const struct durable__key_at *keys, size_t count,
                       bool (*visit)(void *context, size_t index, const struct ts_row *row), void *context,
                       struct ts_infra_error *ret_error) {
    struct batch_read read;
    bool good = init_read(&read, ts_coord_place_count(coord), DURABLE__KEYS_AT_ONCE);
    if (!good)
        (void)durable__no_room(ret_error);
    for (size_t from = 0; good && from < count; from += DURABLE__KEYS_AT_ONCE) {
        const size_t left = count - from;
        const struct ts_span span = {from, left < DURABLE__KEYS_AT_ONCE ? left : DURABLE__KEYS_AT_ONCE};
        good = read_some(&read, coord, keys, span, visit, context, ret_error);
    }
    release_read(&read);
    return good;
}

/* ---- targets ---- */

void durable__current_release(struct durable__current *current) {
    free(current->entries);
    *current = (struct durable__current){0};
}

/* Returns the entry of the target, or the free entry to use for the target. */
static struct durable__current_entry *find(const struct durable__current *current,
                                           const struct ts_target_id *id) {
    const uint64_t hash = ts_xxh64_of_bytes(ts_bytes_of(id->bytes, sizeof id->bytes));
    for (size_t i = (size_t)hash & (current->capacity - 1);; i = (i + 1) & (current->capacity - 1)) {
        struct durable__current_entry *entry = &current->entries[i];
        if (!entry->is_used || memcmp(&entry->id, id, sizeof *id) == 0)
            return entry;
    }
}

static bool grow(struct durable__current *current) {
    struct durable__current larger = {.count = current->count,
                                      .capacity = current->capacity == 0 ? 256 : 2 * current->capacity};
    larger.entries = calloc(larger.capacity, sizeof *larger.entries);
    if (larger.entries == NULL)
        return false;
    for (size_t i = 0; i < current->capacity; i++) {
        if (current->entries[i].is_used)
            *find(&larger, &current->entries[i].id) = current->entries[i];
    }
    free(current->entries);
    *current = larger;
    return true;
}

bool durable__current_want(struct durable__current *current, const struct ts_target_id *id) {
    if (2 * current->count >= current->capacity && !grow(current))
        return false;
    struct durable__current_entry *entry = find(current, id);
    if (!entry->is_used) {
        *entry = (struct durable__current_entry){.id = *id, .is_used = true};
        current->count++;
    }
    return true;
}

void durable__current_forget(struct durable__current *current, const struct ts_target_id *id) {
    struct durable__current_entry *entry = find(current, id);
    entry->is_known = entry->exists = false;
}

struct wanted {
    struct durable__current *current;
    struct durable__key_at *keys;
    struct ts_target_id *ids;
    struct ts_infra_error *error;
};

static bool take_target(void *context, size_t index, const struct ts_row *row) {
    const struct wanted *wanted = context;
    struct durable__current_entry *entry = find(wanted->current, &wanted->ids[index]);
    struct ts_fleet_target target;
    const enum ts_fleet_error error = ts_fleet_target_decode(row->value, &target);
    if (error != TS_FLEET_OK)
        return durable__say_damaged(wanted->error, "the record of a target", error);
    entry->exists = true;
    entry->attempt = target.attempt;
    return true;
}

bool durable__current_read(struct durable__current *current, struct ts_coord *coord,
                           const struct ts_tenant_id *tenant, struct ts_infra_error *ret_error) {
    struct wanted wanted = {.current = current, .error = ret_error};
    size_t count = 0;
    wanted.keys = calloc(current->count + 1, sizeof *wanted.keys);
    wanted.ids = calloc(current->count + 1, sizeof *wanted.ids);
    bool good = wanted.keys != NULL && wanted.ids != NULL;
    if (!good)
        (void)durable__no_room(ret_error);
    for (size_t i = 0; good && i < current->capacity; i++) {
        struct durable__current_entry *entry = &current->entries[i];
        if (!entry->is_used || entry->is_known)
            continue;
        wanted.ids[count] = entry->id;
        wanted.keys[count++] =
            (struct durable__key_at){ts_fleet_key_target(tenant, &entry->id),
                                     ts_coord_target_home(ts_coord_router(coord), entry->id.bytes).v};
        entry->is_known = true;
    }
    good = good && durable__read_all(coord, wanted.keys, count, take_target, &wanted, ret_error);
    free(wanted.keys);
    free(wanted.ids);
    return good;
}

bool ts_findings_knows_target(struct ts_coord *coord, const struct ts_tenant_id *tenant,
                              const struct ts_target_id *target, bool *ret_knows,
                              struct ts_infra_error *ret_error) {
    struct durable__current current = {0};
    const bool done = durable__current_want(&current, target)
                          ? durable__current_read(&current, coord, tenant, ret_error)
                          : durable__no_room(ret_error);
    *ret_knows = done && find(&current, target)->exists;
    durable__current_release(&current);
    return done;
}

bool durable__current_has(const struct durable__current *current, const struct ts_target_id *id,
                          const struct ts_attempt *attempt) {
    if (current->capacity == 0)
        return false;
    const struct durable__current_entry *entry = find(current, id);
    return entry->is_used && entry->exists && ts_attempt_equal(&entry->attempt, attempt);
}

struct ts_attempt durable__current_attempt(const struct durable__current *current,
                                           const struct ts_target_id *id) {
    const struct durable__current_entry *entry = find(current, id);
    return entry->exists ? entry->attempt : (struct ts_attempt){0};
}
