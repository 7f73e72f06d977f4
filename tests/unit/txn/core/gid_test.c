#include "support/cmocka.h"

#include "txn/core/gid.h"

static struct txn__gid sample(void) {
    struct txn__gid gid = {.sequence = 42, .decider = 1};
    for (uint8_t i = 0; i < 16; i++) {
        gid.cluster[i] = (uint8_t)(i * 17);
        gid.coordinator.bytes[i] = (uint8_t)(255 - i * 17);
    }
    return gid;
}

static const char golden[] = "ts.00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100.42.1";

static void a_name_is_written_as_documented(void **state) {
    (void)state;
    struct txn__gid gid = sample();
    char text[TS_TXN_ID_SIZE];
    assert_int_equal(txn__gid_format(&gid, text), sizeof golden - 1);
    assert_string_equal(text, golden);
    char uuid[33];
    txn__uuid_format(&gid.coordinator, uuid);
    assert_string_equal(uuid, "ffeeddccbbaa99887766554433221100");
}

static void a_name_comes_back_as_it_was(void **state) {
    (void)state;
    static const uint64_t sequences[] = {1, 42, UINT64_MAX};
    static const uint32_t deciders[] = {0, 255, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        struct txn__gid gid = sample();
        gid.sequence = sequences[i];
        gid.decider = deciders[i];
        char text[TS_TXN_ID_SIZE];
        txn__gid_format(&gid, text);
        assert_true(strlen(text) < TS_STORE_GID_MAX);
        struct txn__gid back;
        assert_true(txn__gid_parse(ts_bytes_of_cstring(text), &back));
        assert_memory_equal(back.cluster, gid.cluster, 16);
        assert_memory_equal(&back.coordinator, &gid.coordinator, sizeof(struct txn__uuid));
        assert_true(back.sequence == gid.sequence);
        assert_int_equal(back.decider, gid.decider);
    }
}

static void nothing_else_is_taken_for_a_name(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "ts.",
        "tx.00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100.42.1",
        "ts.00112233445566778899AABBCCDDEEFF.ffeeddccbbaa99887766554433221100.42.1",
        "ts.00112233445566778899aabbccddeef.ffeeddccbbaa99887766554433221100.42.1",
        "ts.00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100.0.1",
        "ts.00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100.042.1",
        "ts.00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100.42.01",
        "ts.00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100.42",
        "ts.00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100.42.",
        "ts.00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100.42.1.",
        "ts.00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100.42.1 ",
        "ts.00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100.42.4294967296",
        "ts.00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100.18446744073709551616.1",
        "ts.00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100.-1.1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct txn__gid gid = {.sequence = 7};
        if (txn__gid_parse(ts_bytes_of_cstring(bad[i]), &gid))
            fail_msg("taken: %s", bad[i]);
        assert_int_equal(gid.sequence, 7);
    }
    /* Every shorter prefix of a valid name is refused, too. */
    for (size_t len = 0; len < sizeof golden - 1; len++) {
        struct txn__gid gid;
        bool shorter_number = len > sizeof golden - 2;
        assert_true(shorter_number || !txn__gid_parse(ts_bytes_of(golden, len), &gid));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_written_as_documented),
        cmocka_unit_test(a_name_comes_back_as_it_was),
        cmocka_unit_test(nothing_else_is_taken_for_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
