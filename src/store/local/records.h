/*
 * What memory and rocksdb keep: records with a checksum in spaces of keys. docs/formats/rocksdb.md has the
 * layouts.
 *
 * Every record is a head of 16 bytes and a body. The head is a checksum over space, key, number and body, and
 * the number, both little-endian. What the number is depends on the space.
 */
#ifndef TS_STORE_LOCAL_RECORDS_H
#define TS_STORE_LOCAL_RECORDS_H

#include "turnstone/store.h"

/* The first byte of a stored key. Part of the format: never change a value. */
enum store__space {
    STORE_SPACE_COUNTER =
        'c',                /* the empty key: number is a version above all that were given out; body empty */
    STORE_SPACE_DATA = 'd', /* number is the version, body the value */
    STORE_SPACE_FORMAT = 'f', /* the empty key: number is the format, body says whose it is */
    STORE_SPACE_META = 'm',   /* the empty key: number is the version, body as store__meta_encode has it */
    STORE_SPACE_PAST = 'o',   /* the empty key: number is 0, body as store__past_encode has it */
    STORE_SPACE_TIME = 't',   /* the empty key: number is a time in ms before which it never is; body empty */
    STORE_SPACE_PROMISE = 'p', /* key is the gid, number the time in ms, body as below */
};

enum { STORE_RECORD_HEAD = 16, STORE_COUNTER_DIGITS = 20 };

/* One record to be written or removed. */
struct store__write {
    enum store__space space;
    bool remove;
    struct ts_bytes key;
    struct ts_bytes body; /* may point to digits; a write must then not be moved */
    uint8_t head[STORE_RECORD_HEAD];
    uint8_t digits[STORE_COUNTER_DIGITS];
};

/* Makes the head. space, key and body are set. */
void store__record_seal(struct store__write *write, uint64_t number);

struct store__record {
    uint64_t number;
    struct ts_bytes body;
};

/* Takes a stored record apart. False when it is damaged. */
bool store__record_open(enum store__space space, struct ts_bytes key, struct ts_bytes stored,
                        struct store__record *ret_record);

/*
 * The body of a promise: the version that its writes get, and entries in the order of the batch.
 *
 *   u64 version, u32 entry count, then for each entry: u8 kind, u16 key length, u32 value length, key, value
 */
enum store__entry_kind { STORE_ENTRY_CHECK = 0, STORE_ENTRY_PUT = 1, STORE_ENTRY_DEL = 2 };

struct store__entry {
    enum store__entry_kind kind;
    struct ts_bytes key;
    struct ts_bytes value;
};

enum { STORE_PROMISE_HEAD = 12, STORE_ENTRY_HEAD = 7 };

/* Appends to *at and moves it; the caller has counted the bytes before. */
void store__promise_put_head(uint8_t **at, uint64_t version, uint32_t count);
void store__promise_put_entry(uint8_t **at, const struct store__entry *entry);

struct store__promise_reader {
    struct ts_bytes rest;
    uint64_t version;
    uint32_t count; /* entries that have not been read yet */
};

/* Both return false when the body is damaged; next also when there is no more, with count 0 then. */
bool store__promise_open(struct ts_bytes body, struct store__promise_reader *ret_reader);
bool store__promise_next(struct store__promise_reader *reader, struct store__entry *ret_entry);

#endif
