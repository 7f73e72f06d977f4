/*
 * Finding ids: the same for the same rule and secret, wherever the secret is and whoever scans.
 *
 * An id is BLAKE3 over the rule's id and the secret, keyed by the project's salt, as 32 hexadecimal digits.
 * Line ends of a secret of several lines count as LF, so that a key is the same finding in a checkout with
 * CRLF. Without the salt nobody can try passwords against the ids of a committed baseline. Projects without
 * their own salt use the public one. It does not protect weak passwords, but makes ids comparable everywhere.
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

/* An empty salt means the public one. */
struct ts_finding_key ts_finding_key_of(struct ts_bytes salt);

struct ts_finding_id ts_finding_id_of(const struct ts_finding_key *key, const char *rule,
                                      struct ts_bytes secret);

#endif
