#include "base/hex.h"
#include "support/cmocka.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void every_byte_is_a_digit_or_not(void **state) {
    (void)state;
    for (int c = 0; c < 256; c++) {
        char text[2] = {(char)c, '\0'};
        int value = isxdigit(c) ? (int)strtol(text, NULL, 16) : -1;
        assert_int_equal(ts_hex_digit((uint8_t)c), value);
        assert_int_equal(ts_hex_digit_lower((uint8_t)c), isupper(c) ? -1 : value);
    }
}

static void every_byte_comes_back(void **state) {
    (void)state;
    uint8_t bytes[256];
    uint8_t read[256];
    char text[512];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    assert_ptr_equal(ts_hex_encode(ts_bytes_of(bytes, sizeof bytes), text), text + sizeof text);
    assert_memory_equal(text, "000102030405060708090a0b0c0d0e0f10", 34);
    assert_true(ts_hex_decode(ts_bytes_of(text, sizeof text), read));
    assert_memory_equal(read, bytes, sizeof bytes);
    memset(read, 0, sizeof read);
    assert_true(ts_hex_decode_lower(ts_bytes_of(text, sizeof text), read));
    assert_memory_equal(read, bytes, sizeof bytes);
}

static void other_text_is_refused(void **state) {
    (void)state;
    uint8_t read[4];
    assert_true(ts_hex_decode(TS_BYTES(""), read));
    assert_true(ts_hex_decode(TS_BYTES("Fe"), read));
    assert_int_equal(read[0], 0xfe);
    assert_false(ts_hex_decode_lower(TS_BYTES("Fe"), read));
    assert_false(ts_hex_decode(TS_BYTES("abc"), read));
    assert_false(ts_hex_decode_lower(TS_BYTES("abc"), read));
    assert_false(ts_hex_decode(TS_BYTES("0g"), read));
    assert_false(ts_hex_decode(TS_BYTES(" 0"), read));
}

static void only_unreserved_bytes_of_urls_stay_as_they_are(void **state) {
    (void)state;
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    for (int c = 0; c < 256; c++) {
        char text[3], escaped[4];
        const size_t len = ts_percent_encode((uint8_t)c, text);
        (void)snprintf(escaped, sizeof escaped, "%%%02X", (unsigned)c);
        const bool is_plain = c != 0 && strchr(plain, c) != NULL;
        assert_int_equal(len, is_plain ? 1 : 3);
        if (is_plain)
            assert_int_equal(text[0], c);
        else
            assert_memory_equal(text, escaped, 3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_is_a_digit_or_not),
        cmocka_unit_test(every_byte_comes_back),
        cmocka_unit_test(other_text_is_refused),
        cmocka_unit_test(only_unreserved_bytes_of_urls_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
