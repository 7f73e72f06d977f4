/* The expected numbers come from other implementations of the two specifications. */
#include "base/hash64.h"

#include "base/endian.h"
#include "base/prng.h"

#include "support/cmocka.h"

static const struct {
    uint64_t id;
    uint64_t xxh64;
    uint64_t fnv1a;
} golden[] = {
    {UINT64_C(0), UINT64_C(0x34c96acdcadb1bbb), UINT64_C(0xa8c7f832281a39c5)},
    {UINT64_C(1), UINT64_C(0x9f29cb17a2a49995), UINT64_C(0x89cd31291d2aefa4)},
    {UINT64_C(42), UINT64_C(0xb556806fb6d14353), UINT64_C(0xff3add6b3789daef)},
    {UINT64_C(320816801799737344), UINT64_C(0x7c38cb2fcd528abe), UINT64_C(0x2d0a894c25bfce98)},
    {UINT64_C(9223372036854775807), UINT64_C(0xff70cc60366e770c), UINT64_C(0x8cf59a8bfca461bd)},
    {UINT64_C(9223372036854775808), UINT64_C(0x3f425eacf01544e0), UINT64_C(0xa8c7783228196045)},
    {UINT64_C(18446744073709551615), UINT64_C(0x85d136adb773c6c9), UINT64_C(0x8cf51a8bfca3883d)},
};

static void an_id_has_the_xxh64_of_its_little_endian_bytes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++)
        assert_true(ts_xxh64_of_id(golden[i].id) == golden[i].xxh64);
}

static void an_id_has_the_fnv1a_of_its_little_endian_bytes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++)
        assert_true(ts_fnv1a64_of_id(golden[i].id) == golden[i].fnv1a);
}

static void the_short_form_for_ids_is_the_librarys_xxh64(void **state) {
    (void)state;
    struct ts_prng prng;
    ts_prng_init(&prng, 64);
    for (int i = 0; i < 100000; i++) {
        uint64_t id = ts_prng_next(&prng) >> ts_prng_below(&prng, 64);
        uint8_t bytes[8];
        ts_le64_store(id, bytes);
        assert_true(ts_xxh64_of_id(id) == ts_xxh64_of_bytes(ts_bytes_of(bytes, sizeof bytes)));
    }
}

static void bytes_have_their_xxh64(void **state) {
    (void)state;
    struct ts_bytes null = {NULL, 0};
    assert_true(ts_xxh64_of_bytes(null) == UINT64_C(0xef46db3751d8e999));
    assert_true(ts_xxh64_of_bytes(TS_BYTES("")) == UINT64_C(0xef46db3751d8e999));
    assert_true(ts_xxh64_of_bytes(TS_BYTES("a")) == UINT64_C(0xd24ec4f1a98c6e5b));
    assert_true(ts_xxh64_of_bytes(TS_BYTES("abc")) == UINT64_C(0x44bc2cf5ad770999));
    assert_true(ts_xxh64_of_bytes(TS_BYTES("Nobody inspects the spammish repetition")) ==
                UINT64_C(0xfbcea83c8a378bf1));
    uint8_t hundred[100];
    for (size_t i = 0; i < sizeof hundred; i++)
        hundred[i] = (uint8_t)i;
    assert_true(ts_xxh64_of_bytes(ts_bytes_of(hundred, sizeof hundred)) == UINT64_C(0x6ac1e58032166597));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_has_the_xxh64_of_its_little_endian_bytes),
        cmocka_unit_test(an_id_has_the_fnv1a_of_its_little_endian_bytes),
        cmocka_unit_test(the_short_form_for_ids_is_the_librarys_xxh64),
        cmocka_unit_test(bytes_have_their_xxh64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
