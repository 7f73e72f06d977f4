#include "base64.h"

#define BITS(c, n) [c] = (n) + 1
#define TEN(c, n)                                                                                            \
    BITS(c, n), BITS((c) + 1, (n) + 1), BITS((c) + 2, (n) + 2), BITS((c) + 3, (n) + 3),                      \
        BITS((c) + 4, (n) + 4), BITS((c) + 5, (n) + 5), BITS((c) + 6, (n) + 6), BITS((c) + 7, (n) + 7),      \
        BITS((c) + 8, (n) + 8), BITS((c) + 9, (n) + 9)
#define SIX(c, n)                                                                                            \
    BITS(c, n), BITS((c) + 1, (n) + 1), BITS((c) + 2, (n) + 2), BITS((c) + 3, (n) + 3),                      \
        BITS((c) + 4, (n) + 4), BITS((c) + 5, (n) + 5)

/* Maps each character to its six bits plus one, and every byte that is not base64 to 0. */
const uint8_t detect__base64_bits[256] = {
    TEN('A', 0),  TEN('K', 10),  SIX('U', 20),  TEN('a', 26),  TEN('k', 36),  SIX('u', 46),
    TEN('0', 52), BITS('+', 62), BITS('-', 62), BITS('/', 63), BITS('_', 63),
};

size_t detect__base64_decode(struct ts_bytes text, uint8_t *ret_bytes, size_t size) {
    uint32_t bits = 0;
    unsigned held = 0;
    size_t made = 0;
    for (size_t i = 0; i < text.len && made < size; i++) {
        uint8_t c = text.data[i];
        if (c == '\n' || c == '\r' || c == ' ' || c == '\t')
            continue;
        if (c == '\\' && i + 1 < text.len && (text.data[i + 1] == 'n' || text.data[i + 1] == 'r')) {
            i++;
            continue;
        }
        uint8_t value = detect__base64_bits[c];
        if (value == 0)
            break;
        bits = bits << 6 | (uint32_t)(value - 1);
        held += 6;
        if (held >= 8) {
            held -= 8;
            ret_bytes[made++] = (uint8_t)(bits >> held);
        }
    }
    return made;
}
