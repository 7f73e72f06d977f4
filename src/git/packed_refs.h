/*
 * packed-refs, as git writes it:
 *
 *   # pack-refs with: peeled fully-peeled sorted     perhaps, and only as the first line
 *   ID NAME
 *   ^ID                                              perhaps: what the tag of the line before names in the end
 *
 * Each line ends with a line feed. One that does not, or is none of these, or is out of order although the header says
 * that they are sorted, is a fault: git refuses such a file. The file stays mapped, and names point into it.
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
    struct git__packed_ref *items; /* by name; of equal names, as they stand in the file */
    size_t count;
    size_t capacity;
    bool is_sorted;    /* in the file */
    uint64_t bad_line; /* the first that is not valid, from 1; 0: none */
};

/* Empty when there is no such file, and on failure. A line that is not valid goes to the sink. */
enum ts_git_error git__packed_refs_read(const struct ts_git_repo *repo,
                                        const struct ts_git_fault_sink *faults,
                                        struct git__packed_refs *ret_packed, struct ts_git_fault *ret_fault);
void git__packed_refs_release(struct git__packed_refs *packed);

/* The fault of a file with a bad line. */
enum ts_git_error git__packed_refs_fault(const struct git__packed_refs *packed,
                                         struct ts_git_fault *ret_fault);

/* Whether git would make a ref of this name. */
bool git__ref_name_is_valid(struct ts_bytes name);

/* NULL when there is none of that name. */
const struct git__packed_ref *git__packed_refs_find(const struct git__packed_refs *packed, const char *name);

#endif
