/*
 * packed-refs, as git writes it:
 *
 *   # pack-refs with: peeled fully-peeled sorted     optional, and only as the first line
 *   ID NAME
 *   ^ID                                              optional: the peeled target of the tag in the line before
 *
 * Each line ends with a line feed. These lines are faults, because git refuses such a file: a line without a
 * line feed, a line of another form, and, if the header says that lines are sorted, a line out of order. The
 * file stays mapped, and names point into the mapping.
 */
#ifndef TS_GIT_PACKED_REFS_H
#define TS_GIT_PACKED_REFS_H

#include "file.h"
#include "git/oid.h"

struct ts_git_repo;

struct git__packed_ref {
    struct ts_bytes name;
    struct ts_git_oid oid;
};

struct git__packed_refs {
    struct git__map map;
    struct git__packed_ref *items; /* sorted by name; equal names in the order of the file */
    size_t count;
    size_t capacity;
    bool is_sorted;    /* the lines of the file are sorted by name */
    uint64_t bad_line; /* number of the first invalid line, from 1; 0: none */
};

/* Reads packed-refs. The result is empty if the file does not exist, and on failure. The first invalid line
 * is reported to the sink. */
enum ts_git_error git__packed_refs_read(const struct ts_git_repo *repo,
                                        const struct ts_git_fault_sink *faults,
                                        struct git__packed_refs *ret_packed, struct ts_git_fault *ret_fault);
void git__packed_refs_release(struct git__packed_refs *packed);

/* Fills in the fault of a file with a bad line. */
enum ts_git_error git__packed_refs_fault(const struct git__packed_refs *packed,
                                         struct ts_git_fault *ret_fault);

/* Returns true if git would create a ref of this name. */
bool git__ref_name_is_valid(struct ts_bytes name);

/* Finds a ref by its full name. Returns NULL if the ref is unknown. */
const struct git__packed_ref *git__packed_refs_find(const struct git__packed_refs *packed, const char *name);

#endif
