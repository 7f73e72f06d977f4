#include "base/base64.h"

char *ts_base64_encode(struct ts_bytes bytes, char *ret_text) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
    enum { PADDING = 64 };
    for (size_t i = 0; i < bytes.len; i += 3) {
        const size_t left = bytes.len - i;
        uint32_t bits = (uint32_t)bytes.data[i] << 16;
        if (left > 1)
            bits |= (uint32_t)bytes.data[i + 1] << 8;
        if (left > 2)
            bits |= bytes.data[i + 2];
        *ret_text++ = alphabet[bits >> 18];
        *ret_text++ = alphabet[bits >> 12 & 63];
        *ret_text++ = alphabet[left > 1 ? bits >> 6 & 63 : PADDING];
        *ret_text++ = alphabet[left > 2 ? bits & 63 : PADDING];
    }
    return ret_text;
}
