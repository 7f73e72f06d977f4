/*
 * Parses .gitleaksignore, a file at the top of a target. It lists fingerprints of findings that gitleaks
 * ignores.
 *
 *     COMMIT:PATH:RULE:LINE       the secret that the commit added there
 *     PATH:RULE:LINE              in any commit, or in a file of a folder
 *     # a comment
 *
 * The rules of gitleaks have other names than ours, so a fingerprint means a place: every secret that is
 * found at this place is ignored, in all versions of the file, because gitleaks reports a secret only where
 * its line was added.
 */
#ifndef TS_SCAN_IGNORED_H
#define TS_SCAN_IGNORED_H

#include "base/bytes.h"
#include "git/oid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCAN_IGNORE_NAME ".gitleaksignore"

struct scan_ignored_entry {
    struct ts_git_oid commit; /* zeros: any commit */
    const char *path;
    const char *rule; /* name of the rule in gitleaks */
    uint64_t line;    /* line of the secret */
    unsigned at;      /* the line of .gitleaksignore */
};

/* {0} is empty. */
struct scan_ignored {
    struct scan_ignored_entry *entries; /* sorted by path */
    size_t count;
    size_t capacity;
    size_t wrong;         /* number of lines that are not fingerprints */
    unsigned first_wrong; /* line number of the first of these lines */
    char *memory;
};

/* Parses a .gitleaksignore. Returns false when memory runs out; then there is nothing to release. */
bool scan__ignored_parse(struct ts_bytes text, struct scan_ignored *ret_ignored);
void scan__ignored_release(struct scan_ignored *ignored);

/* Returns the number of entries for this path. *ret_first is the index of the first of these entries. */
size_t scan__ignored_at(const struct scan_ignored *ignored, const char *path, size_t *ret_first);

#endif
