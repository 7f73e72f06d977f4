/*
 * Telling that a repository is as it was, without reading its objects.
 */
#ifndef TS_GIT_FINGERPRINT_H
#define TS_GIT_FINGERPRINT_H

#include "git/repo.h"

/* Over the refs and what they name (HEADs of other work trees, too), what a shallow or partial clone leaves out, and names,
 * devices, inodes, sizes, times and owners of packs, of loose objects and of their folders, those of alternates, too. There is
 * none, but an error, while a ref is broken. While it is the same, history and objects are the same: the time of change (ctime)
 * cannot be set back. Only bytes that a disk loses by itself are not seen. A repository that was packed again has another
 * one. */
enum ts_git_error ts_git_repo_fingerprint(struct ts_git_repo *repo, uint8_t ret_digest[static 32],
                                          struct ts_git_fault *ret_fault);

#endif
