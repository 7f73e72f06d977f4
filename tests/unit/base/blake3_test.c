#include "base/blake3.h"

#include "data/blake3_vectors.h"
#include "support/cmocka.h"

#include <stdlib.h>

/* The functions of one BLAKE3 implementation. Tests that loop over `backends` run with both implementations. */
struct backend {
    void (*init)(struct ts_blake3 *hasher);
    void (*init_keyed)(struct ts_blake3 *hasher, const uint8_t *key);
    void (*init_derive_key)(struct ts_blake3 *hasher, struct ts_bytes context);
    void (*update)(struct ts_blake3 *hasher, struct ts_bytes input);
    void (*output)(const struct ts_blake3 *hasher, uint64_t from, uint8_t *ret_output, size_t len);
};

static void chosen_init_keyed(struct ts_blake3 *hasher, const uint8_t *key) {
    ts_blake3_init_keyed(hasher, key);
}

static void portable_init(struct ts_blake3 *hasher) {
    ts_blake3_portable_init(&hasher->u.portable);
}

static void portable_init_keyed(struct ts_blake3 *hasher, const uint8_t *key) {
    ts_blake3_portable_init_keyed(&hasher->u.portable, key);
}

static void portable_init_derive_key(struct ts_blake3 *hasher, struct ts_bytes context) {
    ts_blake3_portable_init_derive_key(&hasher->u.portable, context);
}

static void portable_update(struct ts_blake3 *hasher, struct ts_bytes input) {
    ts_blake3_portable_update(&hasher->u.portable, input);
}

static void portable_output(const struct ts_blake3 *hasher, uint64_t from, uint8_t *ret_output, size_t len) {
    ts_blake3_portable_output(&hasher->u.portable, from, ret_output, len);
}

static const struct backend backends[] = {
    {ts_blake3_init, chosen_init_keyed, ts_blake3_init_derive_key, ts_blake3_update, ts_blake3_output},
    {portable_init, portable_init_keyed, portable_init_derive_key, portable_update, portable_output},
};
enum { BACKENDS = sizeof backends / sizeof backends[0] };

static const uint8_t *const key = (const uint8_t *)BLAKE3_VECTORS_KEY;

enum { INPUT_MAX = 102400 };
static uint8_t input[INPUT_MAX];

static int count_the_input(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof input; i++)
        input[i] = (uint8_t)(i % 251);
    return 0;
}

static uint8_t hex_digit(char c) {
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void expect_hex(const uint8_t *bytes, size_t len, const char *hex) {
    for (size_t i = 0; i < len; i++)
        assert_int_equal(bytes[i], hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
}

/* Compares the extended output and the output of the usual length with `hex`. */
static void expect_output(const struct backend *backend, const struct ts_blake3 *hasher, const char *hex) {
    uint8_t output[BLAKE3_VECTORS_OUT_LEN];
    assert_int_equal(strlen(hex), 2 * sizeof output);
    backend->output(hasher, 0, output, sizeof output);
    expect_hex(output, sizeof output, hex);
    memset(output, 0, sizeof output);
    backend->output(hasher, 0, output, TS_BLAKE3_OUT_LEN);
    expect_hex(output, TS_BLAKE3_OUT_LEN, hex);
    assert_int_equal(output[TS_BLAKE3_OUT_LEN], 0);
}

static void the_official_vectors_hold_for_hash(void **state) {
    (void)state;
    for (size_t b = 0; b < BACKENDS; b++) {
        for (size_t i = 0; i < BLAKE3_VECTORS_COUNT; i++) {
            struct ts_blake3 hasher;
            backends[b].init(&hasher);
            backends[b].update(&hasher, ts_bytes_of(input, blake3_vectors[i].input_len));
            expect_output(&backends[b], &hasher, blake3_vectors[i].hash);
        }
    }
}

static void the_official_vectors_hold_for_keyed_hash(void **state) {
    (void)state;
    for (size_t b = 0; b < BACKENDS; b++) {
        for (size_t i = 0; i < BLAKE3_VECTORS_COUNT; i++) {
            struct ts_blake3 hasher;
            backends[b].init_keyed(&hasher, key);
            backends[b].update(&hasher, ts_bytes_of(input, blake3_vectors[i].input_len));
            expect_output(&backends[b], &hasher, blake3_vectors[i].keyed_hash);
        }
    }
}

static void the_official_vectors_hold_for_derive_key(void **state) {
    (void)state;
    for (size_t b = 0; b < BACKENDS; b++) {
        for (size_t i = 0; i < BLAKE3_VECTORS_COUNT; i++) {
            struct ts_blake3 hasher;
            backends[b].init_derive_key(&hasher, TS_BYTES(BLAKE3_VECTORS_CONTEXT));
            backends[b].update(&hasher, ts_bytes_of(input, blake3_vectors[i].input_len));
            expect_output(&backends[b], &hasher, blake3_vectors[i].derive_key);
        }
    }
}

static void the_one_shot_helpers_agree_with_the_vectors(void **state) {
    (void)state;
    for (size_t i = 0; i < BLAKE3_VECTORS_COUNT; i++) {
        struct ts_bytes bytes = ts_bytes_of(input, blake3_vectors[i].input_len);
        uint8_t out[TS_BLAKE3_OUT_LEN];
        ts_blake3_hash(bytes, out);
        expect_hex(out, sizeof out, blake3_vectors[i].hash);
        ts_blake3_keyed_hash(key, bytes, out);
        expect_hex(out, sizeof out, blake3_vectors[i].keyed_hash);
        ts_blake3_derive_key(TS_BYTES(BLAKE3_VECTORS_CONTEXT), bytes, out);
        expect_hex(out, sizeof out, blake3_vectors[i].derive_key);
    }
}

static void one_chunk_is_hashed_without_a_hasher(void **state) {
    (void)state;
    struct ts_blake3_portable hasher;
    ts_blake3_portable_init_derive_key(&hasher, TS_BYTES(BLAKE3_VECTORS_CONTEXT));
    size_t compared = 0;
    for (size_t i = 0; i < BLAKE3_VECTORS_COUNT; i++) {
        if (blake3_vectors[i].input_len > TS_BLAKE3_CHUNK_LEN)
            continue;
        uint8_t out[TS_BLAKE3_BLOCK_LEN];
        ts_blake3_portable_derived(hasher.key, ts_bytes_of(input, blake3_vectors[i].input_len), out);
        expect_hex(out, sizeof out, blake3_vectors[i].derive_key);
        compared++;
    }
    assert_true(compared >= 8);
}

static void how_the_input_is_cut_does_not_matter(void **state) {
    (void)state;
    static const size_t pieces[] = {1, 3, 31, 63, 64, 65, 127, 1000, 1023, 1024, 1025, 2049, 65537};
    for (size_t b = 0; b < BACKENDS; b++) {
        for (size_t i = 0; i < BLAKE3_VECTORS_COUNT; i++) {
            for (size_t p = 0; p < sizeof pieces / sizeof pieces[0]; p++) {
                struct ts_blake3 hasher;
                backends[b].init(&hasher);
                struct ts_bytes rest = ts_bytes_of(input, blake3_vectors[i].input_len);
                while (rest.len > 0) {
                    size_t part = rest.len < pieces[p] ? rest.len : pieces[p];
                    backends[b].update(&hasher, ts_bytes_first(rest, part));
                    rest = ts_bytes_skip(rest, part);
                }
                expect_output(&backends[b], &hasher, blake3_vectors[i].hash);
            }
        }
    }
}

static void empty_pieces_change_nothing(void **state) {
    (void)state;
    for (size_t b = 0; b < BACKENDS; b++) {
        struct ts_blake3 hasher;
        backends[b].init(&hasher);
        struct ts_bytes none = {NULL, 0};
        backends[b].update(&hasher, none);
        expect_output(&backends[b], &hasher, blake3_vectors[0].hash);
        backends[b].update(&hasher, ts_bytes_of(input, 1024));
        backends[b].update(&hasher, none);
        backends[b].update(&hasher, ts_bytes_of(input + 1024, 1));
        for (size_t i = 0; i < BLAKE3_VECTORS_COUNT; i++) {
            if (blake3_vectors[i].input_len == 1025)
                expect_output(&backends[b], &hasher, blake3_vectors[i].hash);
        }
    }
}

static void output_may_be_taken_between_pieces_of_input(void **state) {
    (void)state;
    for (size_t b = 0; b < BACKENDS; b++) {
        struct ts_blake3 hasher;
        backends[b].init(&hasher);
        size_t done = 0;
        for (size_t i = 0; i < BLAKE3_VECTORS_COUNT; i++) {
            backends[b].update(&hasher, ts_bytes_of(input + done, blake3_vectors[i].input_len - done));
            done = blake3_vectors[i].input_len;
            expect_output(&backends[b], &hasher, blake3_vectors[i].hash);
        }
    }
}

static void output_may_be_read_from_any_place(void **state) {
    (void)state;
    for (size_t b = 0; b < BACKENDS; b++) {
        struct ts_blake3 hasher;
        backends[b].init(&hasher);
        backends[b].update(&hasher, ts_bytes_of(input, 3073));
        uint8_t whole[300];
        backends[b].output(&hasher, 0, whole, sizeof whole);
        for (size_t from = 0; from <= sizeof whole; from++) {
            for (size_t len = 0; len <= sizeof whole - from; len += 13) {
                uint8_t part[sizeof whole + 1];
                memset(part, 0xee, sizeof part);
                backends[b].output(&hasher, from, part, len);
                if (len > 0)
                    assert_memory_equal(part, whole + from, len);
                assert_int_equal(part[len], 0xee);
            }
        }
    }
}

static void both_implementations_agree_far_into_the_output(void **state) {
    (void)state;
    const uint64_t from = (UINT64_C(1) << 40) + 7;
    uint8_t out[BACKENDS][100];
    for (size_t b = 0; b < BACKENDS; b++) {
        struct ts_blake3 hasher;
        backends[b].init_keyed(&hasher, key);
        backends[b].update(&hasher, TS_BYTES("far"));
        backends[b].output(&hasher, from, out[b], sizeof out[b]);
    }
    assert_memory_equal(out[0], out[1], sizeof out[0]);
    uint8_t start[100];
    struct ts_blake3 hasher;
    ts_blake3_init_keyed(&hasher, key);
    ts_blake3_update(&hasher, TS_BYTES("far"));
    ts_blake3_output(&hasher, 7, start, sizeof start);
    assert_memory_not_equal(out[0], start, sizeof start);
}

static void a_copied_hasher_is_independent(void **state) {
    (void)state;
    struct ts_blake3 hasher;
    ts_blake3_init(&hasher);
    ts_blake3_update(&hasher, TS_BYTES("a"));
    struct ts_blake3 copy = hasher;
    ts_blake3_update(&copy, TS_BYTES("b"));
    uint8_t a[32], ab[32], expected[32];
    ts_blake3_output(&hasher, 0, a, sizeof a);
    ts_blake3_output(&copy, 0, ab, sizeof ab);
    ts_blake3_hash(TS_BYTES("a"), expected);
    assert_memory_equal(a, expected, 32);
    ts_blake3_hash(TS_BYTES("ab"), expected);
    assert_memory_equal(ab, expected, 32);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_official_vectors_hold_for_hash),
        cmocka_unit_test(the_official_vectors_hold_for_keyed_hash),
        cmocka_unit_test(the_official_vectors_hold_for_derive_key),
        cmocka_unit_test(the_one_shot_helpers_agree_with_the_vectors),
        cmocka_unit_test(one_chunk_is_hashed_without_a_hasher),
        cmocka_unit_test(how_the_input_is_cut_does_not_matter),
        cmocka_unit_test(empty_pieces_change_nothing),
        cmocka_unit_test(output_may_be_taken_between_pieces_of_input),
        cmocka_unit_test(output_may_be_read_from_any_place),
        cmocka_unit_test(both_implementations_agree_far_into_the_output),
        cmocka_unit_test(a_copied_hasher_is_independent),
    };
    return cmocka_run_group_tests(tests, count_the_input, NULL);
}
