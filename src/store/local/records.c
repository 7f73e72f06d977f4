#include "store/local/records.h"

#include "base/bytes.h"
#include "base/endian.h"
#include "base/hash64.h"
#include "store/contract/check.h"

#include <string.h>

/* Returns the checksum of a record. It covers the space and the key, so that a record under another key
 * counts as damaged. */
static uint64_t checksum(enum store__space space, struct ts_bytes key, const struct store__record *record) {
    uint8_t parts[25];
    parts[0] = (uint8_t)space;
    ts_le64_store(ts_xxh64_of_bytes(key), parts + 1);
    ts_le64_store(record->number, parts + 9);
    ts_le64_store(ts_xxh64_of_bytes(record->body), parts + 17);
    return ts_xxh64_of_bytes(ts_bytes_of(parts, sizeof parts));
}

void store__record_seal(struct store__write *write, uint64_t number) {
    const struct store__record record = {.number = number, .body = write->body};
    ts_le64_store(checksum(write->space, write->key, &record), write->head);
    ts_le64_store(number, write->head + 8);
}

bool store__record_open(enum store__space space, struct ts_bytes key, struct ts_bytes stored,
                        struct store__record *ret_record) {
    if (stored.len < STORE_RECORD_HEAD)
        return false;
    const struct store__record record = {.number = ts_le64_load(stored.data + 8),
                                         .body = ts_bytes_skip(stored, STORE_RECORD_HEAD)};
    if (checksum(space, key, &record) != ts_le64_load(stored.data))
        return false;
    *ret_record = record;
    return true;
}

void store__promise_put_head(uint8_t **at, uint64_t version, uint32_t count) {
    ts_le64_store(version, *at);
    ts_le32_store(count, *at + 8);
    *at += STORE_PROMISE_HEAD;
}

static void put_bytes(uint8_t **at, struct ts_bytes bytes) {
    if (bytes.len > 0)
        memcpy(*at, bytes.data, bytes.len);
    *at += bytes.len;
}

void store__promise_put_entry(uint8_t **at, const struct store__entry *entry) {
    (*at)[0] = (uint8_t)entry->kind;
    ts_le16_store((uint16_t)entry->key.len, *at + 1);
    ts_le32_store((uint32_t)entry->value.len, *at + 3);
    *at += STORE_ENTRY_HEAD;
    put_bytes(at, entry->key);
    put_bytes(at, entry->value);
}

bool store__promise_open(struct ts_bytes body, struct store__promise_reader *ret_reader) {
    if (body.len < STORE_PROMISE_HEAD)
        return false;
    uint32_t count = ts_le32_load(body.data + 8);
    if (count > TS_STORE_BATCH_OPS_MAX + STORE_OPS_ON_TOP)
        return false;
    *ret_reader = (struct store__promise_reader){
        .rest = ts_bytes_skip(body, STORE_PROMISE_HEAD), .version = ts_le64_load(body.data), .count = count};
    return true;
}

bool store__promise_next(struct store__promise_reader *reader, struct store__entry *ret_entry) {
    if (reader->count == 0 || reader->rest.len < STORE_ENTRY_HEAD)
        return false;
    const uint8_t *head = reader->rest.data;
    size_t key_len = ts_le16_load(head + 1), value_len = ts_le32_load(head + 3);
    struct ts_bytes rest = ts_bytes_skip(reader->rest, STORE_ENTRY_HEAD);
    if (head[0] > STORE_ENTRY_DEL || key_len == 0 || key_len > TS_STORE_KEY_MAX ||
        key_len + value_len > rest.len)
        return false;
    *ret_entry = (struct store__entry){.kind = (enum store__entry_kind)head[0],
                                       .key = ts_bytes_first(rest, key_len),
                                       .value = ts_bytes_first(ts_bytes_skip(rest, key_len), value_len)};
    reader->rest = ts_bytes_skip(rest, key_len + value_len);
    reader->count--;
    return true;
}
