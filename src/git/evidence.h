/*
 * Evidence of what an object was made from, so that a later visit can tell whether it is still the same without inflating it.
 *
 * Ids are not hashed again when objects are read, so the same id may have another content in a repository that somebody forged.
 * Evidence is 64 bits under a secret key over the stored bytes: kind, size and compressed bytes of an entry, and the
 * evidence of the entry that it is a delta of; or the file of a loose object. Equal evidence is an equal content. An object
 * that was packed again in another way has other evidence and the same content.
 *
 * A pack whose file and index are the same files as before, unchanged, needs no look at all: that is what ids of packs are
 * for, over device, inode, size and times of both.
 *
 * The hash is NH (the universal hash of UMAC and VMAC) over blocks of a KiB, then SipHash-2-4 over the results: who does
 * not know the key cannot make two entries of equal evidence but by chance, 2^-64, and it costs little beside
 * inflating (docs/decisions/0014-state-in-files-of-our-own.md).
 */
#ifndef TS_GIT_EVIDENCE_H
#define TS_GIT_EVIDENCE_H

#include "git/visit.h"

#define TS_GIT_EVIDENCE_KEY_LEN 32
#define TS_GIT_PACK_ID_LEN      16
#define TS_GIT_NO_PACK          UINT32_MAX

struct ts_git_evidence;

/* Lists the repository's objects when that was not done before. It must not outlive the repository. */
enum ts_git_error ts_git_evidence_new(struct ts_git_repo *repo,
                                      const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN],
                                      struct ts_git_evidence **ret_evidence, struct ts_git_fault *ret_fault);
void ts_git_evidence_free(struct ts_git_evidence *evidence);

/* Bytes of memory that it takes. */
uint64_t ts_git_evidence_bytes(const struct ts_git_evidence *evidence);

/* Ids of the packs, of TS_GIT_PACK_ID_LEN bytes each. */
const uint8_t *ts_git_evidence_packs(const struct ts_git_evidence *evidence, size_t *ret_count);
/* The number of the pack with this id, or TS_GIT_NO_PACK. */
uint32_t ts_git_evidence_find_pack(const struct ts_git_evidence *evidence, const uint8_t *id);

/* Of an object that is being visited, from any thread; 0 when there is none. ret_pack is the pack that it stands in, or
 * TS_GIT_NO_PACK. */
uint64_t ts_git_evidence_of(struct ts_git_evidence *evidence, const struct ts_git_object *object,
                            uint32_t *ret_pack);

enum ts_git_sameness {
    TS_GIT_OTHER,     /* not there, or not made from the same */
    TS_GIT_SAME_PACK, /* it stands in the same pack as then: nothing was read */
    TS_GIT_SAME_BYTES /* it has the same evidence */
};

/* Whether a visit would find what had this evidence. pack is the number of the pack that it was in, or TS_GIT_NO_PACK when that
 * is not there any more. ret_pack is where it is now. */
enum ts_git_sameness ts_git_evidence_compare(struct ts_git_evidence *evidence, const struct ts_git_oid *oid,
                                             uint64_t then, uint32_t pack, uint32_t *ret_pack);

#endif
