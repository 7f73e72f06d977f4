/*
 * Detects that a repository is unchanged, without reading its objects.
 */
#ifndef TS_GIT_FINGERPRINT_H
#define TS_GIT_FINGERPRINT_H

#include "git/repo.h"

/* A hash over the refs and their targets (including HEADs of other work trees), the omissions of a shallow or
 * partial clone, and names, devices, inodes, sizes, times and owners of packs, loose objects and their
 * folders (including those of alternates). Returns an error if a ref is broken. As long as the fingerprint is
 * the same, history and objects are the same, because the time of change (ctime) cannot be set back. It does
 * not detect bytes that the disk corrupts. A repacked repository has another fingerprint. */
enum ts_git_error ts_git_repo_fingerprint(struct ts_git_repo *repo, uint8_t ret_digest[static 32],
                                          struct ts_git_fault *ret_fault);

#endif
