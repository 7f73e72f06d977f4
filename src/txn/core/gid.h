/*
 * Names of transactions: ts.<cluster>.<coordinator>.<sequence>.<decider>.
 *
 * The cluster and the coordinator's uuid are 32 lower-case hexadecimal digits each. The sequence and the
 * decider's place are decimal without leading zeros. A name is never used twice: a coordinator's uuid is
 * random, and a coordinator never uses a sequence twice. The name is the id that users see and the gid of
 * every promise. It also names the store that has the decision.
 *
 * A name also shows whether the outcome is kept: a recorded global transaction has an odd sequence, every
 * other transaction an even one. The commit of an odd sequence puts the outcome into the batch that checks
 * the registration. So if a reader finds that the transaction can no longer commit, and then finds no
 * outcome, the transaction is aborted. A recorded local transaction has an even sequence, because its only
 * write checks no registration and may reach the store late.
 */
#ifndef TS_TXN_CORE_GID_H
#define TS_TXN_CORE_GID_H

#include "base/bytes.h"
#include "turnstone/txn.h"

#include <stdbool.h>
#include <stdint.h>

enum { TXN__UUID_LEN = 16 };

struct txn__uuid {
    uint8_t bytes[TXN__UUID_LEN];
};

struct txn__gid {
    uint8_t cluster[16];
    struct txn__uuid coordinator;
    uint64_t sequence; /* sequence of the transaction, from 1 */
    uint32_t decider;  /* place of the decider */
};

static inline bool txn__gid_is_recorded(const struct txn__gid *gid) {
    return (gid->sequence & 1) != 0;
}

/* Writes the name as text. Returns the length of the text without its terminator. */
size_t txn__gid_format(const struct txn__gid *gid, char ret_text[static TS_TXN_ID_SIZE]);

/* Returns false, with *ret_gid unchanged, for any text that txn__gid_format does not write. */
bool txn__gid_parse(struct ts_bytes text, struct txn__gid *ret_gid);

/* Writes 32 digits and a terminator. */
void txn__uuid_format(const struct txn__uuid *uuid, char ret_text[static 33]);

#endif
