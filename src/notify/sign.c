#include "sign.h"

#include <nettle/base64.h>
#include <nettle/hmac.h>

#include <string.h>

size_t notify__key_of(struct ts_bytes file, uint8_t ret_key[static NOTIFY__KEY_MAX]) {
    static const char prefix[] = "whsec_";
    size_t len = 0;
    while (len < file.len && file.data[len] != '\n' && file.data[len] != '\r')
        len++;
    const size_t skipped =
        len >= sizeof prefix - 1 && memcmp(file.data, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
    if (len == skipped || len > NOTIFY__KEY_MAX)
        return 0;
    if (skipped == 0) {
        memcpy(ret_key, file.data, len);
        return len;
    }
    struct base64_decode_ctx context;
    size_t decoded = NOTIFY__KEY_MAX;
    base64_decode_init(&context);
    return base64_decode_update(&context, &decoded, ret_key, len - skipped,
                                (const char *)file.data + skipped) != 0 &&
                   base64_decode_final(&context) != 0
               ? decoded
               : 0;
}

void notify__sign(struct ts_bytes key, const struct notify__signed *parts,
                  char ret_signature[static NOTIFY__SIGNATURE_SIZE]) {
    const char *const texts[] = {parts->id, ".", parts->time, ".", parts->body};
    uint8_t digest[SHA256_DIGEST_SIZE];
    struct hmac_sha256_ctx context;
    hmac_sha256_set_key(&context, key.len, key.data);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        hmac_sha256_update(&context, strlen(texts[i]), (const uint8_t *)texts[i]);
    hmac_sha256_digest(&context, sizeof digest, digest);
    memcpy(ret_signature, "v1,", 3);
    base64_encode_raw(ret_signature + 3, sizeof digest, digest);
    ret_signature[NOTIFY__SIGNATURE_SIZE - 1] = '\0';
    explicit_bzero(&context, sizeof context);
}
