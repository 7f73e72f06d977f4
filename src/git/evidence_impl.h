/* The identity of a pack. */
#ifndef TS_GIT_EVIDENCE_IMPL_H
#define TS_GIT_EVIDENCE_IMPL_H

#include "git/evidence.h"
#include "repo_impl.h"

/* Another pack, and the same one after a change of either of its files, has another id. */
void git__pack_identify(const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN], const struct git__pack *pack,
                        uint8_t ret_id[static TS_GIT_PACK_ID_LEN]);

#endif
