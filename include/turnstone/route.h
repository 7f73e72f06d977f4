/*
 * Routing: which store holds an id.
 *
 * Every function here is pure. Nothing allocates, reads a clock or keeps hidden state, so any number of
 * threads may use one router at the same time. Processes with the same configuration get the same answer, on
 * any machine. The store of an id never changes between releases, because data stays where it was put. Pass
 * signed ids as the uint64_t of the same bits.
 *
 * A ret_detail may be NULL. It is written only on failure, and then holds every value that the message needs.
 * Other ret_ outputs are written only on success.
 */
#ifndef TURNSTONE_ROUTE_H
#define TURNSTONE_ROUTE_H

#include "turnstone/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One store of a cluster. */
struct ts_store_id {
    uint32_t v;
};

/*
 * Strategies. X(SUFFIX, number, name): the numbers and names are stable and may be stored.
 *
 *   single  every id is in store 0
 *   xxh64   XXH64 with seed 0 over the 8 little-endian bytes of the id, modulo the count; the default
 *   fnv1a   FNV-1a over the same bytes, cut to its low 16 bits, modulo the count; for compatibility. It never
 *           chooses store 65,536 or a later one, and ids whose bytes share their low bits crowd together
 *   jump    jump consistent hash (Lamping and Veach) of the id itself: growing from n to n + 1 stores moves
 *           1/(n + 1) of the ids, all of them to the new store
 *   range   a list of ranges that the operator chooses
 */
#define TS_ROUTER_STRATEGIES(X)                                                                              \
    X(SINGLE, 0, "single")                                                                                   \
    X(XXH64, 1, "xxh64")                                                                                     \
    X(FNV1A, 2, "fnv1a")                                                                                     \
    X(JUMP, 3, "jump")                                                                                       \
    X(RANGE, 4, "range")

#define TS_ROUTER_STRATEGY_ENUM(suffix, number, name) TS_ROUTER_STRATEGY_##suffix = (number),
enum ts_router_strategy { TS_ROUTER_STRATEGIES(TS_ROUTER_STRATEGY_ENUM) };
#undef TS_ROUTER_STRATEGY_ENUM

#define TS_ROUTER_STRATEGY_DEFAULT                   TS_ROUTER_STRATEGY_XXH64

#define TS_ROUTER_STRATEGY_ONE(suffix, number, name) +1
enum { TS_ROUTER_STRATEGY_COUNT = 0 TS_ROUTER_STRATEGIES(TS_ROUTER_STRATEGY_ONE) };
#undef TS_ROUTER_STRATEGY_ONE

/* Returns the name, as in the table; NULL for a number that is not a strategy. */
TS_API const char *ts_router_strategy_name(enum ts_router_strategy strategy);

/* Sets *ret_strategy to the strategy with this exact name; `hash` means the default hash. Returns false when
 * the name is unknown. */
TS_API bool ts_router_strategy_from_name(const char *name, enum ts_router_strategy *ret_strategy);

/*
 * Why a router cannot be made. X(SUFFIX, text); the comments name the fields of struct ts_router_error_detail
 * that are set.
 */
#define TS_ROUTER_ERRORS(X)                                                                                  \
    X(OK, "ok")                                                                                              \
    /* strategy: a hash without stores */                                                                    \
    X(ZERO_STORES, "zero stores")                                                                            \
    /* strategy: not one of the hashes */                                                                    \
    X(NOT_A_HASH, "not a hash")                                                                              \
    X(EMPTY_LIST, "empty list")                                                                              \
    /* needed, given */                                                                                      \
    X(MEMORY_TOO_SMALL, "memory too small")                                                                  \
    /* position, store, start, end */                                                                        \
    X(EMPTY_RANGE, "empty range")                                                                            \
    /* position (of the second mention), first_position, store */                                            \
    X(DUPLICATE_STORE, "duplicate store")                                                                    \
    /* position, store, expected, found */                                                                   \
    X(GAP, "gap")                                                                                            \
    /* position, store, expected (UINT64_MAX: nothing, all ids are taken), found */                          \
    X(OVERLAP, "overlap")                                                                                    \
    /* position, store, ends_at */                                                                           \
    X(INCOMPLETE_COVERAGE, "incomplete coverage")

#define TS_ROUTER_ERROR_ENUM(suffix, text) TS_ROUTER_##suffix,
enum ts_router_error { TS_ROUTER_ERRORS(TS_ROUTER_ERROR_ENUM) };
#undef TS_ROUTER_ERROR_ENUM

#define TS_ROUTER_ERROR_ONE(suffix, text) +1
enum { TS_ROUTER_ERROR_COUNT = 0 TS_ROUTER_ERRORS(TS_ROUTER_ERROR_ONE) };
#undef TS_ROUTER_ERROR_ONE

/* Fields that the error does not use are 0. Positions are counted from 0 in the list. */
struct ts_router_error_detail {
    enum ts_router_error error;
    enum ts_router_strategy strategy;
    struct ts_store_id store;
    size_t position;
    size_t first_position;
    uint64_t start;
    uint64_t end;
    uint64_t expected;
    uint64_t found;
    uint64_t ends_at;
    size_t needed;
    size_t given;
};

/* Returns the short text of an error, as in the table; NULL for a number that is not an error. */
TS_API const char *ts_router_error_text(enum ts_router_error error);

/*
 * Writes one line without a line end, such as "gap: expected a range that starts at 1000, found 2000".
 * Returns the length of the whole line like snprintf; the written text is cut to size - 1 bytes and ends with
 * a NUL (nothing is written at size 0).
 */
TS_API size_t ts_router_error_describe(const struct ts_router_error_detail *detail, char *ret_text,
                                       size_t size);

/* The ids from start up to end, which is excluded. An end of UINT64_MAX means 2^64: the last id is included.
 */
struct ts_router_range {
    struct ts_store_id store;
    uint64_t start;
    uint64_t end;
};

/*
 * A router is a value: copy it freely; there is nothing to release. A range router borrows memory
 * (ts_router_init_range), which must stay in place and unchanged while any copy is in use. The fields are
 * private.
 */
struct ts_router {
    enum ts_router_strategy strategy;
    uint32_t count;             /* hashes: the number of stores; single: 1 */
    uint64_t reciprocal;        /* xxh64: UINT64_MAX / count */
    size_t range_count;         /* this field and those below: only for range; see src/route/ranges.c */
    const uint64_t *starts;     /* range_count + 1 starts, in search order */
    const uint32_t *stores;     /* the store of each range, in the order of `starts` */
    const uint32_t *all_stores; /* range_count stores, ascending */
};

/* Initialises a router that sends every id to store 0. */
TS_API void ts_router_init_single(struct ts_router *ret_router);

/*
 * Initialises a router with xxh64, fnv1a or jump over the stores 0 .. count - 1. A strategy that is not a
 * hash is TS_ROUTER_NOT_A_HASH, a count of 0 is TS_ROUTER_ZERO_STORES. Every count from 1 to UINT32_MAX is
 * accepted.
 */
TS_API enum ts_router_error ts_router_init_hash(enum ts_router_strategy hash, uint32_t count,
                                                struct ts_router *ret_router,
                                                struct ts_router_error_detail *ret_detail);

/* Returns how many bytes ts_router_init_range needs for this many ranges, at any alignment; SIZE_MAX when no
 * memory is enough. */
TS_API size_t ts_router_range_memory(size_t count);

/*
 * Initialises a router over ranges. The ranges can have any order, must cover every id exactly once, and must
 * all have different stores. The router borrows `memory`: at least ts_router_range_memory(count) bytes, at
 * any alignment, not overlapping `ranges`. The memory may be overwritten even on failure. `ranges` is not
 * modified, and not needed afterwards. Takes O(count log count).
 *
 * The first check that fails decides the error: empty list; memory too small; an empty range, in the given
 * order; a store twice (the lowest such store is reported); then, in the order of their starts, a range that
 * does not begin where the one before ended (gap, overlap); the last range does not reach the end (incomplete
 * coverage).
 */
TS_API enum ts_router_error ts_router_init_range(const struct ts_router_range *ranges, size_t count,
                                                 void *memory, size_t memory_size,
                                                 struct ts_router *ret_router,
                                                 struct ts_router_error_detail *ret_detail);

/*
 * Returns the store that holds this id: always exactly one. Constant time for single, xxh64 and fnv1a;
 * logarithmic in the number of stores for jump and range. The router must have been initialised by one of the
 * functions above.
 */
TS_API struct ts_store_id ts_router_route(const struct ts_router *router, uint64_t id);

/* Returns whether this store holds the id; false for a store that the router does not know. */
TS_API bool ts_router_owns(const struct ts_router *router, struct ts_store_id store, uint64_t id);

/* Returns the strategy with which the router was made. */
TS_API enum ts_router_strategy ts_router_strategy_of(const struct ts_router *router);

/*
 * Return how many stores a router has, and each store by its index. The stores are unique and ascending. An
 * index that is not below the count is the caller's error and stops the process.
 */
TS_API size_t ts_router_store_count(const struct ts_router *router);
TS_API struct ts_store_id ts_router_store_at(const struct ts_router *router, size_t index);

/* Return the store that a hash chooses, without a router. A router with this hash and count returns the same
 * store. A count of 0 or 1 gives store 0, without hashing. */
TS_API struct ts_store_id ts_router_store_for(uint64_t id, uint32_t count); /* by xxh64 */
TS_API struct ts_store_id ts_router_store_for_fnv1a(uint64_t id, uint32_t count);
TS_API struct ts_store_id ts_router_store_for_jump(uint64_t id, uint32_t count);

/*
 * Lists of ranges as text: STORE:START-END[,STORE:START-END]... with unsigned decimal numbers. STORE has 32
 * bits, START and END have 64 bits. END may also be `max`, which is 18446744073709551615. Leading zeros are
 * allowed; blanks, signs and empty items are not. Texts have a length and need no NUL.
 *
 * X(SUFFIX, text)
 */
#define TS_ROUTER_LIST_ERRORS(X)                                                                             \
    X(OK, "ok")                                                                                              \
    X(EMPTY_LIST, "the list is empty")                                                                       \
    X(EMPTY_ITEM, "the item is empty")                                                                       \
    X(NO_COLON, "expected STORE:START-END, found no ':'")                                                    \
    X(NO_DASH, "expected STORE:START-END, found no '-' after the ':'")                                       \
    X(BAD_STORE, "the store must be a decimal number up to 4294967295")                                      \
    X(BAD_START, "the start must be a decimal number up to 18446744073709551615")                            \
    X(BAD_END, "the end must be a decimal number up to 18446744073709551615, or max")                        \
    /* item: the first item without room in the array */                                                     \
    X(TOO_MANY, "the list has more items than there is room for")

#define TS_ROUTER_LIST_ERROR_ENUM(suffix, text) TS_ROUTER_LIST_##suffix,
enum ts_router_list_error { TS_ROUTER_LIST_ERRORS(TS_ROUTER_LIST_ERROR_ENUM) };
#undef TS_ROUTER_LIST_ERROR_ENUM

#define TS_ROUTER_LIST_ERROR_ONE(suffix, text) +1
enum { TS_ROUTER_LIST_ERROR_COUNT = 0 TS_ROUTER_LIST_ERRORS(TS_ROUTER_LIST_ERROR_ONE) };
#undef TS_ROUTER_LIST_ERROR_ONE

/* The position of the wrong item, counted from 0, and the wrong bytes of the text: one number, or the whole
 * item. */
struct ts_router_list_error_detail {
    enum ts_router_list_error error;
    size_t position;
    size_t offset;
    size_t length;
};

/* Returns the text of an error, as in the table; NULL for a number that is not an error. */
TS_API const char *ts_router_list_error_text(enum ts_router_list_error error);

/*
 * Writes one line like ts_router_error_describe, with the item counted from 1 and the bad bytes quoted, such
 * as `item 2 ("x"): the store must be …`. `text` is the parsed text. Bytes that are not printable ASCII are
 * escaped, and long quotes are cut.
 */
TS_API size_t ts_router_list_error_describe(const struct ts_router_list_error_detail *detail,
                                            const char *text, char *ret_text, size_t size);

/* Returns how many items the text has, good or bad; 0 for the empty text. */
TS_API size_t ts_router_list_count(const char *text, size_t length);

/*
 * Reads a list into the caller's array of `capacity` ranges and sets *ret_count to the number of ranges.
 * Checks only the text; ts_router_init_range checks whether the ranges fit together. Reports the first bad
 * item.
 */
TS_API enum ts_router_list_error ts_router_list_parse(const char *text, size_t length,
                                                      struct ts_router_range *ret_ranges, size_t capacity,
                                                      size_t *ret_count,
                                                      struct ts_router_list_error_detail *ret_detail);

/* Ownership: the ids of a process that serves one of `count` equal stores. The ids are routed by xxh64. */
struct ts_ownership {
    struct ts_store_id index;
    uint32_t count;
};

/* X(SUFFIX, text) */
#define TS_OWNERSHIP_ERRORS(X)                                                                               \
    X(OK, "ok")                                                                                              \
    X(ZERO_STORE_COUNT, "zero store count")                                                                  \
    X(INDEX_OUT_OF_RANGE, "index out of range")

#define TS_OWNERSHIP_ERROR_ENUM(suffix, text) TS_OWNERSHIP_##suffix,
enum ts_ownership_error { TS_OWNERSHIP_ERRORS(TS_OWNERSHIP_ERROR_ENUM) };
#undef TS_OWNERSHIP_ERROR_ENUM

#define TS_OWNERSHIP_ERROR_ONE(suffix, text) +1
enum { TS_OWNERSHIP_ERROR_COUNT = 0 TS_OWNERSHIP_ERRORS(TS_OWNERSHIP_ERROR_ONE) };
#undef TS_OWNERSHIP_ERROR_ONE

/* An error, with the index and the count that the caller passed. */
struct ts_ownership_error_detail {
    enum ts_ownership_error error;
    struct ts_store_id index;
    uint32_t count;
};

/* Returns the short text of an error, as in the table; NULL for a number that is not an error. */
TS_API const char *ts_ownership_error_text(enum ts_ownership_error error);

/* Writes one line like ts_router_error_describe. The line names TURNSTONE_STORE_INDEX and
 * TURNSTONE_STORE_COUNT. */
TS_API size_t ts_ownership_error_describe(const struct ts_ownership_error_detail *detail, char *ret_text,
                                          size_t size);

/* Returns the ownership of store 0 of 1, which owns every id. */
TS_API struct ts_ownership ts_ownership_default(void);

/* Makes an ownership. The index must be below the count. Processes of one cluster must agree on the count. */
TS_API enum ts_ownership_error ts_ownership_init(struct ts_store_id index, uint32_t count,
                                                 struct ts_ownership *ret_ownership,
                                                 struct ts_ownership_error_detail *ret_detail);

/* Returns whether ts_router_store_for returns this store for the id. With one store the result is always
 * true, without hashing. */
TS_API bool ts_ownership_owns(const struct ts_ownership *ownership, uint64_t id);

#ifdef __cplusplus
}
#endif

#endif
