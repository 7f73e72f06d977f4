#include "base/siphash.h"
#include "support/cmocka.h"

/* Tests the vectors of the reference implementation: inputs of bytes 0, 1, 2 and so on, and a key of bytes 0
 * to 15. */
static void hashes_are_those_of_the_reference(void **state) {
    (void)state;
    static const struct {
        size_t len;
        uint64_t hash;
    } expected[] = {
        {0, UINT64_C(0x726fdb47dd0e0e31)},  {1, UINT64_C(0x74f839c593dc67fd)},
        {7, UINT64_C(0xab0200f58b01d137)},  {8, UINT64_C(0x93f5f5799a932462)},
        {15, UINT64_C(0xa129ca6149be45e5)}, {63, UINT64_C(0x958a324ceb064572)},
    };
    uint8_t bytes[64];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    struct ts_siphash_key key = ts_siphash_key_of(bytes);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_int_equal(ts_siphash(&key, ts_bytes_of(bytes, expected[i].len)), expected[i].hash);
}

static void hashes_of_beginnings_are_those_of_the_bytes_alone(void **state) {
    (void)state;
    struct ts_siphash_key key = {{1, 2}};
    struct ts_bytes bytes = TS_BYTES("a text of more than two words of eight bytes");
    struct ts_siphash_prefixes prefixes;
    ts_siphash_prefixes_init(&prefixes, &key, bytes);
    for (size_t len = 0; len <= bytes.len; len += 1 + len % 3)
        assert_int_equal(ts_siphash_prefix(&prefixes, len), ts_siphash(&key, ts_bytes_first(bytes, len)));
    assert_int_equal(ts_siphash_prefix(&prefixes, bytes.len), ts_siphash(&key, bytes));
}

static void another_key_gives_another_hash(void **state) {
    (void)state;
    struct ts_siphash_key one = {{1, 2}};
    struct ts_siphash_key other = {{1, 3}};
    assert_true(ts_siphash(&one, TS_BYTES("secret")) != ts_siphash(&other, TS_BYTES("secret")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_those_of_the_reference),
        cmocka_unit_test(hashes_of_beginnings_are_those_of_the_bytes_alone),
        cmocka_unit_test(another_key_gives_another_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
