/*
 * A pack and its entries. The file is mapped; nothing in it is trusted.
 *
 *   'PACK' | be32 version 2 or 3 | be32 count | entries | id of all before
 *
 *   entry   c ttt ssss, then bytes of 7 bits while the top bit c is set: type and size after inflating
 *           offset delta (6): distance back to the base, 7 bits per byte, highest first; each further byte adds 1
 *           ref delta (7): id of the base
 *           zlib stream
 */
#ifndef TS_GIT_PACK_H
#define TS_GIT_PACK_H

#include "file.h"
#include "git/object.h"
#include "pack_index.h"

struct git__outline;

struct git__pack {
    char *path; /* path of the .pack file */
    struct git__map index_map;
    struct git__map map;
    struct git__pack_index index;
    uint32_t *by_offset;          /* NULL until needed: odb.c */
    struct git__outline *outline; /* NULL until needed: plan.c */
    uint64_t end;                 /* end of the entries: where the trailer begins */
    bool is_divided;              /* its mapping is divided into windows: resident.c */
    bool is_promised; /* a .promisor file exists: objects that the pack refers to may be missing */
};

/* A range of offsets: from `from` (included) to `to` (excluded). */
struct git__extent {
    uint64_t from;
    uint64_t to;
};

enum git__entry_kind { GIT__ENTRY_WHOLE, GIT__ENTRY_OFFSET_DELTA, GIT__ENTRY_REF_DELTA };

struct git__entry {
    enum git__entry_kind kind;
    enum ts_git_type type; /* type of a whole object */
    uint64_t size;         /* inflated size; for a delta, the size of the delta itself */
    uint64_t base_offset;  /* offset deltas: offset of the base, lower than that of the entry */
    const uint8_t *base_id;
    struct ts_bytes data; /* begins with the zlib stream; bytes after the stream may follow */
};

/*
 * Opens index and pack. A pack with a wrong header or trailer is opened nevertheless, with *ret_is_damaged
 * set, so that its valid entries can be read. Fails if one of the two files cannot be opened, or if the index
 * is not valid.
 */
enum ts_git_error git__pack_open(enum ts_git_hash hash, const char *index_path, struct git__pack *ret_pack,
                                 bool *ret_is_damaged, struct ts_git_fault *ret_fault);
void git__pack_release(struct git__pack *pack);

/* Returns the path with another suffix, from malloc; NULL when memory runs out. */
char *git__with_suffix(const char *path, const char *suffix);

/* Returns the name of the pack's file without folders, for messages. */
const char *git__pack_name(const struct git__pack *pack);

/* Removes a number from the front of *rest. The number has the form of the distance in an offset delta.
 * Returns false if the number is too long or not complete. */
bool git__distance_parse(struct ts_bytes *rest, uint64_t *ret_distance);

/* Parses the entry at extent.from, whose bytes end before extent.to. Returns BAD_ENTRY if the entry is not
 * valid. */
enum ts_git_error git__pack_entry(const struct git__pack *pack, struct git__extent extent,
                                  struct git__entry *ret_entry);

#endif
