#include "siphash.h"

#include "assert.h"
#include "endian.h"

#include <string.h>

static uint64_t rotate(uint64_t value, unsigned by) {
    return value << by | value >> (64 - by);
}

static void mix(struct ts_siphash_prefixes *s, int rounds) {
    for (int i = 0; i < rounds; i++) {
        s->a += s->b;
        s->b = rotate(s->b, 13) ^ s->a;
        s->a = rotate(s->a, 32);
        s->c += s->d;
        s->d = rotate(s->d, 16) ^ s->c;
        s->a += s->d;
        s->d = rotate(s->d, 21) ^ s->a;
        s->c += s->b;
        s->b = rotate(s->b, 17) ^ s->c;
        s->c = rotate(s->c, 32);
    }
}

struct ts_siphash_key ts_siphash_key_of(const uint8_t bytes[static TS_SIPHASH_KEY_LEN]) {
    return (struct ts_siphash_key){{ts_le64_load(bytes), ts_le64_load(bytes + 8)}};
}

void ts_siphash_key_store(const struct ts_siphash_key *key, uint8_t ret_bytes[static TS_SIPHASH_KEY_LEN]) {
    ts_le64_store(key->words[0], ret_bytes);
    ts_le64_store(key->words[1], ret_bytes + 8);
}

static void add_word(struct ts_siphash_prefixes *s, uint64_t word) {
    s->d ^= word;
    mix(s, 2);
    s->a ^= word;
}

void ts_siphash_prefixes_init(struct ts_siphash_prefixes *prefixes, const struct ts_siphash_key *key,
                              struct ts_bytes bytes) {
    *prefixes = (struct ts_siphash_prefixes){.a = key->words[0] ^ UINT64_C(0x736f6d6570736575),
                                             .b = key->words[1] ^ UINT64_C(0x646f72616e646f6d),
                                             .c = key->words[0] ^ UINT64_C(0x6c7967656e657261),
                                             .d = key->words[1] ^ UINT64_C(0x7465646279746573),
                                             .bytes = bytes};
}

uint64_t ts_siphash_prefix(struct ts_siphash_prefixes *prefixes, size_t len) {
    ts_assert(len >= prefixes->at && len <= prefixes->bytes.len);
    const uint8_t *data = prefixes->bytes.data;
    for (; len - prefixes->at >= 8; prefixes->at += 8)
        add_word(prefixes, ts_le64_load(data + prefixes->at));
    uint8_t last[8] = {0};
    if (len > prefixes->at)
        memcpy(last, data + prefixes->at, len - prefixes->at);
    last[7] = (uint8_t)len;
    struct ts_siphash_prefixes end = *prefixes;
    add_word(&end, ts_le64_load(last));
    end.c ^= 0xff;
    mix(&end, 4);
    return end.a ^ end.b ^ end.c ^ end.d;
}

uint64_t ts_siphash(const struct ts_siphash_key *key, struct ts_bytes bytes) {
    struct ts_siphash_prefixes prefixes;
    ts_siphash_prefixes_init(&prefixes, key, bytes);
    return ts_siphash_prefix(&prefixes, bytes.len);
}
