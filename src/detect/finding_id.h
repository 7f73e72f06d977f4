/*
 * Finding ids. The same rule and secret always have the same id, in any place and in any scan.
 *
 * An id is BLAKE3 over the rule's id and the secret, keyed by the project's salt, as 32 hexadecimal digits.
 * Line ends in a secret are read as LF, so that a key is the same finding in a checkout with CRLF. A secret
 * salt prevents guessing passwords from the ids of a committed baseline. Projects without their own salt use
 * the public salt. The public salt does not protect weak passwords, but makes ids comparable everywhere.
 */
#ifndef TS_DETECT_FINDING_ID_H
#define TS_DETECT_FINDING_ID_H

#include "base/bytes.h"

#include <stdint.h>

#define TS_FINDING_ID_LEN 32

struct ts_finding_key {
    uint8_t key[32];
};

struct ts_finding_id {
    char text[TS_FINDING_ID_LEN + 1];
};

/* Returns the key for a salt. An empty salt means the public salt. */
struct ts_finding_key ts_finding_key_of(struct ts_bytes salt);

struct ts_finding_id ts_finding_id_of(const struct ts_finding_key *key, const char *rule,
                                      struct ts_bytes secret);

#endif
