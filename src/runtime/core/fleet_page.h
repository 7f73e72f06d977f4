/*
 * A page of occurrences: the findings of one target in the order of their ids, with all their places. A page is
 * a list of items:
 *
 *     commit    places refer to it by its number among the commits of this page
 *     entry     a finding; its places follow. In the next page it continues with an entry of its own.
 *     place     one occurrence
 *
 * A page is written item by item into the caller's memory, and read item by item.
 */
#ifndef TS_RUNTIME_CORE_FLEET_PAGE_H
#define TS_RUNTIME_CORE_FLEET_PAGE_H

#include "runtime/core/fleet_record.h"

#define TS_FLEET_PAGE_MAX  ((size_t)1 << 20)
/* Longer texts (paths, names of refs) are cut. */
#define TS_FLEET_TEXT_MAX  ((size_t)32768)
#define TS_FLEET_NO_COMMIT UINT32_MAX
enum { TS_FLEET_REFS = 5, TS_FLEET_DEPTH = 2 };

struct ts_fleet_commit {
    struct ts_bytes oid; /* binary */
    struct ts_bytes author_name;
    struct ts_bytes author_mail;
    int64_t author_time_s;
    int32_t author_zone_minutes;
};

struct ts_fleet_place {
    uint32_t commit;        /* index among the commits of this page, or TS_FLEET_NO_COMMIT */
    uint8_t place;          /* enum ts_place */
    bool is_allowed;        /* a mark in the source allows the occurrence */
    struct ts_bytes object; /* binary id of the object; empty: none */
    struct ts_bytes path;
    uint64_t line;
    uint64_t column;
    uint64_t end_line;
    uint64_t end_column;
};

struct ts_fleet_entry {
    struct ts_fleet_finding finding;
    struct ts_bytes rule; /* id of the rule */
    uint8_t severity;     /* enum ts_severity */
    uint8_t confidence;   /* enum ts_confidence */
    struct ts_bytes redacted;
    struct ts_bytes excerpt;
    uint8_t depth;
    uint8_t encodings[TS_FLEET_DEPTH]; /* enum ts_encoding */
    bool has_head;                     /* HEAD contains the finding: `head` and `head_count` say where */
    struct ts_fleet_place head;
    uint64_t head_count;
    struct ts_bytes refs[TS_FLEET_REFS];
    uint8_t ref_listed;
    uint64_t ref_count;
    uint64_t count; /* number of the finding's places in all pages */
    uint64_t from;  /* number of the finding's places in earlier pages */
};

/* ---- writing ---- */

struct ts_fleet_page {
    uint8_t *bytes;
    size_t len;
    uint32_t commits;
    bool has_entry;
};

/* Begins a page in the memory, which has TS_FLEET_PAGE_MAX bytes. */
void ts_fleet_page_begin(struct ts_fleet_page *page, uint8_t *memory);

/* Each function returns false if the page has no room for the item; the page is then unchanged. An empty page
 * always has room for an entry with its commit and one place with its commit. */
bool ts_fleet_page_add_commit(struct ts_fleet_page *page, const struct ts_fleet_commit *commit);
bool ts_fleet_page_add_entry(struct ts_fleet_page *page, const struct ts_fleet_entry *entry);
bool ts_fleet_page_add_place(struct ts_fleet_page *page, const struct ts_fleet_place *place);

/* Returns the length of the page. */
size_t ts_fleet_page_seal(struct ts_fleet_page *page);

/* ---- reading ---- */

enum ts_fleet_item_kind {
    TS_FLEET_ITEM_END,
    TS_FLEET_ITEM_BAD,
    TS_FLEET_ITEM_COMMIT,
    TS_FLEET_ITEM_ENTRY,
    TS_FLEET_ITEM_PLACE,
};

struct ts_fleet_item {
    struct ts_fleet_commit commit;
    struct ts_fleet_entry entry;
    struct ts_fleet_place place;
};

struct ts_fleet_page_reader {
    struct ts_bytes rest;
    uint32_t commits;
    bool has_entry;
};

enum ts_fleet_error ts_fleet_page_open(struct ts_bytes bytes, struct ts_fleet_page_reader *ret_reader);

/* Returns the kind of the next item, and fills in the member of ret_item for this kind. The item borrows from
 * the page. After BAD, do not use the page. */
enum ts_fleet_item_kind ts_fleet_page_next(struct ts_fleet_page_reader *reader,
                                           struct ts_fleet_item *ret_item);

/* ---- tips ---- */

/* The watermark of a target: ids of `oid_len` bytes each. The ids are the tips of the scanned refs or, if
 * is_again, objects that every scan must read again although the tips reach them. */
struct ts_fleet_tips {
    bool is_again;
    uint8_t oid_len;
    struct ts_bytes oids;
};

/* The maximum number of bytes of ids in one page. */
#define TS_FLEET_TIPS_MAX (TS_FLEET_PAGE_MAX - 64)

/* Writes to ret_bytes, which has TS_FLEET_PAGE_MAX bytes. Returns the length. */
size_t ts_fleet_tips_encode(const struct ts_fleet_tips *tips, uint8_t *ret_bytes);
enum ts_fleet_error ts_fleet_tips_decode(struct ts_bytes bytes, struct ts_fleet_tips *ret_tips);

#endif
