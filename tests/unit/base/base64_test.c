#include "base/base64.h"
#include "support/cmocka.h"

#include <string.h>

/* Tests the vectors of RFC 4648, and a text whose encoding has '+' and '/'. */
static void bytes_are_written_with_padding(void **state) {
    (void)state;
    static const char *const vectors[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xfb\xff\xbf", "+/+/"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        char text[16];
        const char *end = ts_base64_encode(ts_bytes_of_cstring(vectors[i][0]), text);
        assert_int_equal(end - text, strlen(vectors[i][1]));
        assert_memory_equal(text, vectors[i][1], strlen(vectors[i][1]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_written_with_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
