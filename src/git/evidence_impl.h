/* The identity of a pack. */
#ifndef TS_GIT_EVIDENCE_IMPL_H
#define TS_GIT_EVIDENCE_IMPL_H

#include "git/evidence.h"
#include "repo_impl.h"

/* Computes the id of a pack. No other pack has this id, and a change of either file of the pack
 * changes it. */
void git__pack_identify(const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN], const struct git__pack *pack,
                        uint8_t ret_id[static TS_GIT_PACK_ID_LEN]);

#endif
