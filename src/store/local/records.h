/*
 * The records of the engines memory and rocksdb. Each record has a checksum and is in a space of keys.
 * docs/formats/rocksdb.md has the layouts.
 *
 * Every record has a head of 16 bytes and a body. The head has a checksum over space, key, number and body,
 * and then the number; both are little-endian. The meaning of the number depends on the space.
 */
#ifndef TS_STORE_LOCAL_RECORDS_H
#define TS_STORE_LOCAL_RECORDS_H

#include "turnstone/store.h"

/* The space of a record: the first byte of its stored key. The values of this enum are part of the format and
 * must never change. */
enum store__space {
    STORE_SPACE_COUNTER = 'c', /* the empty key: number is a version above all assigned ones; body empty */
    STORE_SPACE_DATA = 'd',    /* number is the version, body the value */
    STORE_SPACE_FORMAT = 'f',  /* the empty key: number is the format, body names the owner */
    STORE_SPACE_META = 'm',    /* the empty key: number is the version, body from store__meta_encode */
    STORE_SPACE_PAST = 'o',    /* the empty key: number is 0, body from store__past_encode */
    STORE_SPACE_TIME = 't',    /* the empty key: number is the earliest possible time in ms; body empty */
    STORE_SPACE_PROMISE = 'p', /* key is the gid, number the time in ms, body as below */
};

enum { STORE_RECORD_HEAD = 16, STORE_COUNTER_DIGITS = 20 };

/* One record to write or to remove. */
struct store__write {
    enum store__space space;
    bool remove;
    struct ts_bytes key;
    struct ts_bytes body; /* may point to `digits`; then the struct must not be moved */
    uint8_t head[STORE_RECORD_HEAD];
    uint8_t digits[STORE_COUNTER_DIGITS];
};

/* Makes the head of the record from its space, key, number and body. */
void store__record_seal(struct store__write *write, uint64_t number);

struct store__record {
    uint64_t number;
    struct ts_bytes body;
};

/* Splits a stored record. Returns false when it is damaged. */
bool store__record_open(enum store__space space, struct ts_bytes key, struct ts_bytes stored,
                        struct store__record *ret_record);

/*
 * The body of a promise has the version that its writes get, and then entries: first the checks, then the
 * writes, each in the order of the batch.
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

/* These functions append a head or an entry at *at, and move *at to its end. The caller has made enough
 * room. */
void store__promise_put_head(uint8_t **at, uint64_t version, uint32_t count);
void store__promise_put_entry(uint8_t **at, const struct store__entry *entry);

struct store__promise_reader {
    struct ts_bytes rest;
    uint64_t version;
    uint32_t count; /* number of unread entries */
};

/* Both functions return false when the body is damaged. store__promise_next also returns false at the end;
 * `count` is then 0. */
bool store__promise_open(struct ts_bytes body, struct store__promise_reader *ret_reader);
bool store__promise_next(struct store__promise_reader *reader, struct store__entry *ret_entry);

#endif
