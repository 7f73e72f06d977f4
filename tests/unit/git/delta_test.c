#include "delta.h"

#include "support/cmocka.h"

#include <stdlib.h>

static struct ts_bytes base(void) {
    return TS_BYTES("0123456789abcdefghij");
}

struct made {
    bool is_valid;
    char text[64];
    struct git__copies copies;
};

static struct made apply(struct ts_bytes delta) {
    struct made made = {.copies = {.max = 16}};
    struct git__delta_head head;
    if (!git__delta_head_parse(delta, &head) || head.result_size >= sizeof made.text)
        return made;
    made.is_valid = git__delta_apply(base(), &head, (uint8_t *)made.text, &made.copies);
    return made;
}

static void copies_and_insertions_make_the_result(void **state) {
    (void)state;
    struct made made = apply(TS_BYTES("\24\12"
                                      "\221\12\5"
                                      "\2xy"
                                      "\220\3"));
    assert_true(made.is_valid);
    assert_memory_equal(made.text, "abcdexy012", 10);
    assert_int_equal(made.copies.count, 2);
    assert_int_equal(made.copies.items[0].at, 0);
    assert_int_equal(made.copies.items[0].from, 10);
    assert_int_equal(made.copies.items[0].len, 5);
    assert_int_equal(made.copies.items[1].at, 7);
    assert_int_equal(made.copies.items[1].from, 0);
    assert_int_equal(made.copies.items[1].len, 3);
    free(made.copies.items);
}

static void copies_whose_sources_touch_are_one(void **state) {
    (void)state;
    struct made made = apply(TS_BYTES("\24\14"
                                      "\220\4"
                                      "\221\4\4"
                                      "\220\4"));
    assert_true(made.is_valid);
    assert_memory_equal(made.text, "012345670123", 12);
    assert_int_equal(made.copies.count, 2);
    assert_int_equal(made.copies.items[0].len, 8);
    assert_int_equal(made.copies.items[1].at, 8);
    assert_int_equal(made.copies.items[1].from, 0);
    free(made.copies.items);
}

/* The copied stretches are adjacent in the base, but not in the result. */
static void copies_with_something_between_stay_apart(void **state) {
    (void)state;
    struct made made = apply(TS_BYTES("\24\11"
                                      "\220\4"
                                      "\1x"
                                      "\221\4\4"));
    assert_true(made.is_valid);
    assert_int_equal(made.copies.count, 2);
    free(made.copies.items);
}

static void deltas_that_are_not_valid_are_refused(void **state) {
    (void)state;
    static const struct ts_bytes bad[] = {
        TS_BYTES_INIT(""),                          /* no sizes */
        TS_BYTES_INIT("\24"),                       /* only one of the two sizes */
        TS_BYTES_INIT("\23\1\1x"),                  /* the size of a different base */
        TS_BYTES_INIT("\24\1\0x"),                  /* a reserved instruction */
        TS_BYTES_INIT("\24\2\1x"),                  /* too short a result */
        TS_BYTES_INIT("\24\1\2xy"),                 /* too long a result */
        TS_BYTES_INIT("\24\5\5xy"),                 /* an insertion that is cut off */
        TS_BYTES_INIT("\24\5\221\20"),              /* a copy that is cut off */
        TS_BYTES_INIT("\24\5\221\20\5"),            /* a copy that begins inside and ends outside */
        TS_BYTES_INIT("\24\5\221\25\5"),            /* a copy that begins outside */
        TS_BYTES_INIT("\24\5\217\377\377\377\377"), /* a copy of 0x10000 bytes from far outside */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct made made = apply(bad[i]);
        assert_false(made.is_valid);
        free(made.copies.items);
    }
}

static void sizes_beyond_64_bits_are_refused(void **state) {
    (void)state;
    struct git__delta_head head;
    assert_false(git__delta_head_parse(TS_BYTES("\377\377\377\377\377\377\377\377\377\2\1"), &head));
    assert_false(git__delta_head_parse(TS_BYTES("\377\377\377\377\377\377\377\377\377\377\1\1"), &head));
    assert_true(git__delta_head_parse(TS_BYTES("\377\377\377\377\377\377\377\377\377\1\1"), &head));
    assert_true(head.base_size == UINT64_MAX);
}

static void too_many_copies_give_no_list_and_the_same_result(void **state) {
    (void)state;
    struct git__copies copies = {.max = 1};
    struct git__delta_head head;
    char text[64];
    assert_true(git__delta_head_parse(TS_BYTES("\24\10\220\4\220\4"), &head));
    assert_true(git__delta_apply(base(), &head, (uint8_t *)text, &copies));
    assert_memory_equal(text, "01230123", 8);
    assert_true(copies.too_many);
    free(copies.items);
}

static void a_stream_gives_the_same_in_pieces_of_any_size(void **state) {
    (void)state;
    struct git__delta_head head;
    assert_true(git__delta_head_parse(TS_BYTES("\24\17\221\12\5\2xy\220\10"), &head));
    for (size_t piece = 1; piece <= 15; piece++) {
        struct git__delta_stream stream;
        uint8_t text[16];
        git__delta_stream_init(&stream, base(), &head);
        for (size_t at = 0; at < 15; at += piece)
            assert_true(git__delta_stream_read(&stream, text + at, piece < 15 - at ? piece : 15 - at));
        assert_true(git__delta_stream_is_done(&stream));
        assert_memory_equal(text, "abcdexy01234567", 15);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_and_insertions_make_the_result),
        cmocka_unit_test(copies_whose_sources_touch_are_one),
        cmocka_unit_test(copies_with_something_between_stay_apart),
        cmocka_unit_test(deltas_that_are_not_valid_are_refused),
        cmocka_unit_test(sizes_beyond_64_bits_are_refused),
        cmocka_unit_test(too_many_copies_give_no_list_and_the_same_result),
        cmocka_unit_test(a_stream_gives_the_same_in_pieces_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
