/*
 * Which part of a repository a target covers, in a normalised form:
 *
 *     default                          the branch that HEAD of the repository names
 *     all                              all refs
 *     refs:main,refs/tags/v*           refs by name or pattern; a name without refs/ is a branch
 *     commits:ID,ID                    everything that these commits reach; each becomes the ref refs/turnstone/commits/ID
 *
 * Names and commits are sorted, without duplicates, and ids have small letters. So the order of names and
 * commits on the command line makes no difference. `turnstone scan --commit` is different: it scans only what
 * a commit adds.
 */
#ifndef TS_RUNTIME_CORE_SELECTION_H
#define TS_RUNTIME_CORE_SELECTION_H

#include "base/bytes.h"
#include "base/fixed_buf.h"

/* A unit's record of 2 KiB has room for the longest selection and the longest address, if the URL equals the
 * address. */
#define TS_SELECTION_MAX        896

/* The name of a synthetic ref is this text and then the commit's id. */
#define TS_SELECTION_COMMIT_REF "refs/turnstone/commits/"

/* Each text continues a message that begins with "the selection". */
#define TS_SELECTION_ERROR_TABLE(X)                                                                          \
    X(OK, "is correct")                                                                                      \
    X(UNKNOWN, "must be default, all, refs:NAME,... or commits:ID,...")                                      \
    X(TOO_LONG, "is longer than 896 bytes; use a pattern, or several targets")                               \
    X(EMPTY, "names nothing; give a name or an id between the commas")                                       \
    X(NAME, "has a name that git does not allow for a ref")                                                  \
    X(ID, "has a commit that is not an id of 40 or 64 hexadecimal digits")                                   \
    X(MIXED, "has ids of both lengths; a repository has only one of them")

enum ts_selection_error {
#define X(id, text) TS_SELECTION_##id,
    TS_SELECTION_ERROR_TABLE(X)
#undef X
};

struct ts_selection {
    TS_FIXED_BUF(TS_SELECTION_MAX) text;
    size_t commit_digits; /* digits of each commit, 40 or 64; 0: no commits */
};

/* Writes ret_selection on success only. */
enum ts_selection_error ts_selection_parse(struct ts_bytes given, struct ts_selection *ret_selection);

const char *ts_selection_error_text(enum ts_selection_error error);

#endif
