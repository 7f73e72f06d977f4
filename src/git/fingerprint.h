/*
 * Detects that a repository is unchanged, without reading its objects.
 */
#ifndef TS_GIT_FINGERPRINT_H
#define TS_GIT_FINGERPRINT_H

#include "git/repo.h"

/* Computes a hash over the refs and their targets (including HEADs of other work trees), the omissions of a
 * shallow or partial clone, the grafts, and names, devices, inodes, sizes, times and owners of packs, loose
 * objects and their folders (including those of alternates). Returns an error if a ref is broken. Two equal
 * fingerprints mean that history and objects are unchanged, because nobody can set back the time of change
 * (ctime). Bytes that the disk corrupts do not change the fingerprint. Repacking changes it. */
enum ts_git_error ts_git_repo_fingerprint(struct ts_git_repo *repo, uint8_t ret_digest[static 32],
                                          struct ts_git_fault *ret_fault);

#endif
