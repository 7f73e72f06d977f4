/*
 * Signatures of webhooks, as Standard Webhooks (standardwebhooks.com) defines them: "v1," and the base64 of
 * HMAC-SHA256 over "ID.TIME.BODY". TIME is in seconds since 1970.
 */
#ifndef TS_NOTIFY_SIGN_H
#define TS_NOTIFY_SIGN_H

#include "base/bytes.h"

enum { NOTIFY__SIGNATURE_SIZE = 3 + 44 + 1, NOTIFY__KEY_MAX = 1024 };

/* Reads the key from the first line of a file. After "whsec_" the key is base64. Returns the length of the
 * key; 0: the key is not valid. */
size_t notify__key_of(struct ts_bytes file, uint8_t ret_key[static NOTIFY__KEY_MAX]);

struct notify__signed {
    const char *id;
    const char *time;
    const char *body;
};
void notify__sign(struct ts_bytes key, const struct notify__signed *parts,
                  char ret_signature[static NOTIFY__SIGNATURE_SIZE]);

#endif
