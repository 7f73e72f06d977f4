#include "store/contract/meta.h"

#include "base/bytes.h"
#include "store/contract/engine.h"
#include "support/cmocka.h"
#include "support/stops.h"

static struct ts_meta example(void) {
    struct ts_meta meta = {.present = true,
                           .format = TS_META_FORMAT,
                           .place = 2,
                           .place_count = 3,
                           .epoch = 77,
                           .state = TS_META_CLOSING,
                           .routing = "range:0:0-10,1:10-20,2:20-max"};
    for (size_t i = 0; i < sizeof meta.cluster; i++)
        meta.cluster[i] = (uint8_t)(i + 1);
    for (size_t i = 0; i < sizeof meta.secret; i++)
        meta.secret[i] = (uint8_t)(200 - i);
    return meta;
}

static void decoding_returns_the_encoded_meta(void **state) {
    (void)state;
    struct ts_meta meta = example(), back = {.version = 5};
    uint8_t bytes[TS_META_ENCODED_MAX];
    size_t len = store__meta_encode(&meta, bytes);
    assert_int_equal(len, 84 + strlen(meta.routing));
    assert_int_equal(store__meta_decode(ts_bytes_of(bytes, len), &back), TS_STORE_OK);
    assert_int_equal(back.version, 5);
    meta.version = 5;
    assert_memory_equal(back.cluster, meta.cluster, sizeof meta.cluster);
    assert_memory_equal(back.secret, meta.secret, sizeof meta.secret);
    assert_string_equal(back.routing, meta.routing);
    assert_true(back.present && back.place == 2 && back.place_count == 3 && back.epoch == 77);
    assert_int_equal(back.state, TS_META_CLOSING);
}

/* Every later release must read these bytes. */
static void the_layout_is_as_documented(void **state) {
    (void)state;
    struct ts_meta meta = example();
    uint8_t bytes[TS_META_ENCODED_MAX];
    (void)store__meta_encode(&meta, bytes);
    assert_memory_equal(bytes, "TSme\1\0\0\0", 8);
    assert_memory_equal(bytes + 8, meta.cluster, 16);
    assert_memory_equal(bytes + 24, "\2\0\0\0\3\0\0\0\115\0\0\0\0\0\0\0\1\0", 18);
    assert_memory_equal(bytes + 42, meta.secret, 32);
    assert_memory_equal(bytes + 74, "\35\0range:", 8);
}

static void every_damaged_byte_is_noticed(void **state) {
    (void)state;
    struct ts_meta meta = example(), back = {0};
    uint8_t bytes[TS_META_ENCODED_MAX];
    size_t len = store__meta_encode(&meta, bytes);
    for (size_t i = 0; i < len; i++) {
        bytes[i] ^= 0x20;
        assert_int_equal(store__meta_decode(ts_bytes_of(bytes, len), &back), TS_STORE_DAMAGED);
        bytes[i] ^= 0x20;
    }
    for (size_t i = 0; i < len; i++)
        assert_int_equal(store__meta_decode(ts_bytes_of(bytes, i), &back), TS_STORE_DAMAGED);
    assert_false(back.present);
}

static void other_formats_are_refused_by_their_number(void **state) {
    (void)state;
    struct ts_meta meta = example(), back = {0};
    uint8_t bytes[TS_META_ENCODED_MAX];
    meta.format = 9;
    size_t len = store__meta_encode(&meta, bytes);
    assert_int_equal(store__meta_decode(ts_bytes_of(bytes, len), &back), TS_STORE_BAD_CONFIGURATION);
    assert_int_equal(back.format, 9);
    assert_false(back.present);
}

static void numbers_that_make_no_sense_are_damage(void **state) {
    (void)state;
    struct ts_meta back = {0};
    uint8_t bytes[TS_META_ENCODED_MAX];
    for (int i = 0; i < 3; i++) {
        struct ts_meta meta = example();
        if (i == 0)
            meta.place = 3;
        else if (i == 1)
            meta.epoch = 0;
        else
            meta.routing[0] = '\0';
        size_t len = store__meta_encode(&meta, bytes);
        assert_int_equal(store__meta_decode(ts_bytes_of(bytes, len), &back), TS_STORE_DAMAGED);
    }
}

static void differences_are_named(void **state) {
    (void)state;
    struct ts_meta expected = example(), actual = example();
    struct ts_store_error error;
    assert_int_equal(store__meta_compare(&actual, &expected, "s", &error), TS_STORE_OK);
    actual.state = TS_META_OPEN;
    assert_int_equal(store__meta_compare(&actual, &expected, "s", &error), TS_STORE_OK);
    actual.state = TS_META_INITIALISING;
    assert_int_equal(store__meta_compare(&actual, &expected, "s", &error), TS_STORE_FOREIGN);
    assert_non_null(strstr(error.text, "store init"));
    actual = example();
    actual.epoch++;
    assert_int_equal(store__meta_compare(&actual, &expected, "s", &error), TS_STORE_FOREIGN);
    assert_non_null(strstr(error.text, "epoch 78"));
    actual = example();
    actual.place = 0;
    assert_int_equal(store__meta_compare(&actual, &expected, "s", &error), TS_STORE_FOREIGN);
    assert_non_null(strstr(error.text, "order"));
    actual = example();
    actual.cluster[15]++;
    assert_int_equal(store__meta_compare(&actual, &expected, "s", &error), TS_STORE_FOREIGN);
    assert_non_null(strstr(error.text, "another cluster"));
    assert_string_equal(error.sqlstate, "58000");
    actual.present = false;
    assert_int_equal(store__meta_compare(&actual, &expected, "s", &error), TS_STORE_FOREIGN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_returns_the_encoded_meta),
        cmocka_unit_test(the_layout_is_as_documented),
        cmocka_unit_test(every_damaged_byte_is_noticed),
        cmocka_unit_test(other_formats_are_refused_by_their_number),
        cmocka_unit_test(numbers_that_make_no_sense_are_damage),
        cmocka_unit_test(differences_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
