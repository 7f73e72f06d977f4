/*
 * Evidence of the stored bytes of an object, so that a later visit can check, without inflating them, whether
 * the bytes are unchanged.
 *
 * Ids are not verified when objects are read, so in a forged repository the same id may have another content.
 * Evidence is a hash of 64 bits, with a secret key, over the stored bytes: kind, size and compressed bytes of
 * an entry, and the evidence of its delta base; or the file of a loose object. Equal evidence means equal
 * content. An object that was repacked in another way has other evidence and the same content.
 *
 * If a pack and its index are the same unchanged files as before, nothing is read at all: the id of a pack
 * covers device, inode, size and times of the two files.
 *
 * The hash is NH (the universal hash of UMAC and VMAC) over blocks of a KiB, then SipHash-2-4 over the
 * results. Someone without the key can make two entries with equal evidence only by chance (2^-64). The hash
 * costs little compared with inflating (docs/decisions/0014-state-in-files-of-our-own.md).
 */
#ifndef TS_GIT_EVIDENCE_H
#define TS_GIT_EVIDENCE_H

#include "git/visit.h"

#define TS_GIT_EVIDENCE_KEY_LEN 32
#define TS_GIT_PACK_ID_LEN      16
#define TS_GIT_NO_PACK          UINT32_MAX

struct ts_git_evidence;

/* Makes the evidence of a repository. Lists the repository's objects, unless they are already listed. Free
 * the evidence before the repository. Packs that contain no object of `only` are omitted, and their objects
 * have no evidence. If `only` is NULL, no pack is omitted. */
enum ts_git_error ts_git_evidence_new(struct ts_git_repo *repo,
                                      const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN],
                                      const struct ts_git_set *only, struct ts_git_evidence **ret_evidence,
                                      struct ts_git_fault *ret_fault);
void ts_git_evidence_free(struct ts_git_evidence *evidence);

/* Returns the size of the evidence in memory, in bytes. */
uint64_t ts_git_evidence_bytes(const struct ts_git_evidence *evidence);

/* Returns the ids of the packs, each of TS_GIT_PACK_ID_LEN bytes. They belong to the evidence. */
const uint8_t *ts_git_evidence_packs(const struct ts_git_evidence *evidence, size_t *ret_count);
/* Returns the number of the pack with this id, or TS_GIT_NO_PACK. */
uint32_t ts_git_evidence_find_pack(const struct ts_git_evidence *evidence, const uint8_t *id);

/* Returns the evidence of an object during its visit, or 0 if the object has no evidence. Any thread may call
 * it. Sets *ret_pack to the pack of the object, or TS_GIT_NO_PACK. */
uint64_t ts_git_evidence_of(struct ts_git_evidence *evidence, const struct ts_git_object *object,
                            uint32_t *ret_pack);

enum ts_git_sameness {
    TS_GIT_OTHER,     /* missing, without evidence, or made from other bytes */
    TS_GIT_SAME_PACK, /* in the same pack as before: nothing was read */
    TS_GIT_SAME_BYTES /* in another pack or file, but with the same evidence */
};

/* Compares the present evidence of the object with the evidence `then`. `pack` is the number of the object's
 * former pack, or TS_GIT_NO_PACK if that pack no longer exists. If the object exists, sets *ret_pack to its
 * current pack, or to TS_GIT_NO_PACK if it is loose. */
enum ts_git_sameness ts_git_evidence_compare(struct ts_git_evidence *evidence, const struct ts_git_oid *oid,
                                             uint64_t then, uint32_t pack, uint32_t *ret_pack);

#endif
