#include "timelines.h"

#include "base/bytes.h"
#include "base/endian.h"
#include "base/hash64.h"

#include <string.h>

static const uint8_t magic[5] = {'T', 'S', 't', 'l', 1};

void store__timeline_key(uint32_t place, uint8_t ret_key[static STORE_TIMELINE_KEY_LEN]) {
    ret_key[0] = 0;
    ret_key[1] = 'l';
    ts_be32_store(place, ret_key + 2);
}

void store__timeline_encode(uint64_t timeline, uint8_t ret_value[static STORE_TIMELINE_LEN]) {
    memcpy(ret_value, magic, sizeof magic);
    ts_le64_store(timeline, ret_value + 5);
    ts_le64_store(ts_xxh64_of_bytes(ts_bytes_of(ret_value, 13)), ret_value + 13);
}

uint64_t store__timeline_decode(struct ts_bytes value) {
    if (value.len != STORE_TIMELINE_LEN || memcmp(value.data, magic, sizeof magic) != 0 ||
        ts_le64_load(value.data + 13) != ts_xxh64_of_bytes(ts_bytes_first(value, 13)))
        return 0;
    return ts_le64_load(value.data + 5);
}

static bool has_timeline(const struct store__timelines *timelines, size_t place) {
    struct ts_store *store = timelines->stores[place];
    return store != NULL && store->engine->timeline != NULL &&
           store->engine->timeline(store) != STORE_NO_TIMELINE;
}

static uint64_t timeline_of(const struct store__timelines *timelines, size_t place) {
    struct ts_store *store = timelines->stores[place];
    return store->engine->timeline(store);
}

/* Reads the note on store `on` about the store at `place`. Returns false if store `on` does not answer.
 * Without a note, the timeline is 0. */
static bool read_note(const struct store__timelines *timelines, size_t on, size_t place,
                      uint64_t *ret_timeline, uint64_t *ret_version) {
    uint8_t bytes[STORE_TIMELINE_KEY_LEN];
    store__timeline_key((uint32_t)place, bytes);
    const struct ts_bytes key = ts_bytes_of(bytes, sizeof bytes);
    struct ts_rows rows = {0};
    struct ts_call call = {.kind = TS_CALL_READ, .keys = &key, .key_count = 1, .rows = &rows};
    const bool is_read = timelines->call(timelines->context, (uint32_t)on, &call) == TS_STORE_OK;
    *ret_version = is_read ? rows.rows[0].version : 0;
    *ret_timeline = is_read && *ret_version != 0 ? store__timeline_decode(rows.rows[0].value) : 0;
    ts_rows_release(&rows);
    return is_read;
}

/* for_each calls such a function for each pair of stores: store `on` may have a note about the store at
 * `place`. */
typedef void note_visit(const struct store__timelines *timelines, size_t on, size_t place, void *context);

static void for_each(const struct store__timelines *timelines, note_visit *visit, void *context) {
    for (size_t place = 0; place < timelines->count; place++)
        for (size_t on = 0; has_timeline(timelines, place) && on < timelines->count; on++)
            if (on != place && timelines->stores[on] != NULL)
                visit(timelines, on, place, context);
}

static void learn(const struct store__timelines *timelines, size_t on, size_t place, void *context) {
    bool *is_higher = context;
    struct ts_store *store = timelines->stores[place];
    uint64_t noted, version;
    if (!read_note(timelines, on, place, &noted, &version) || noted <= timeline_of(timelines, place))
        return;
    store->engine->refuse_below(store, noted);
    *is_higher = true;
}

bool store__timelines_learn(const struct store__timelines *timelines) {
    bool is_higher = false;
    for_each(timelines, learn, &is_higher);
    return is_higher;
}

/* Writes a note if it is missing or outdated. The first timeline needs no note, because no timeline is
 * lower. */
static void note(const struct store__timelines *timelines, size_t on, size_t place, void *context) {
    const bool *replaces = context;
    const uint64_t timeline = timeline_of(timelines, place);
    uint64_t noted = 0, version = 0;
    if ((timeline <= 1 && !*replaces) || !read_note(timelines, on, place, &noted, &version) ||
        noted == timeline || (noted > timeline && !*replaces) || (timeline <= 1 && version == 0))
        return;
    uint8_t key[STORE_TIMELINE_KEY_LEN], value[STORE_TIMELINE_LEN];
    store__timeline_key((uint32_t)place, key);
    store__timeline_encode(timeline, value);
    const struct ts_bytes at = ts_bytes_of(key, sizeof key);
    const struct ts_op ops[] = {{.kind = TS_OP_CHECK, .key = at, .version = version},
                                {.kind = TS_OP_PUT, .key = at, .value = ts_bytes_of(value, sizeof value)}};
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {ops, 2}};
    /* If the write fails, the next call of store__timelines_note repeats it. If another process has changed
     * the note first, the check fails, which is harmless. */
    (void)timelines->call(timelines->context, (uint32_t)on, &call);
}

void store__timelines_note(const struct store__timelines *timelines, bool replaces) {
    for_each(timelines, note, &replaces);
}
