#include "token_runs.h"

#include "base/prng.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static void every_way_to_classify_gives_the_same_masks(void **state) {
    (void)state;
    static uint8_t bytes[64 * 64];
    struct ts_prng prng;
    ts_prng_init(&prng, 3);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i < 256 ? i : ts_prng_next(&prng) >> (i % 3 * 20) & (i % 2 ? 0x7f : 0xff));
    static struct detect_masks expected[64];
    static struct detect_masks found[64];
    detect__classify_way(DETECT_CLASSIFY_PORTABLE)(bytes, 64, expected);
    for (size_t c = 0; c < 256; c++) {
        bool token =
            c != 0 && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/=.-", (int)c);
        assert_int_equal(expected[c / 64].token >> (c % 64) & 1, token);
        assert_int_equal(expected[c / 64].digit >> (c % 64) & 1, c >= '0' && c <= '9');
        assert_int_equal(expected[c / 64].zero >> (c % 64) & 1, c == 0);
    }
    for (int way = 0; way < DETECT_CLASSIFY_WAYS; way++) {
        detect_classify *classify = detect__classify_way((enum detect_classify_way)way);
        if (!classify)
            continue;
        memset(found, 0x55, sizeof found);
        classify(bytes, 64, found);
        assert_memory_equal(found, expected, sizeof expected);
    }
    assert_non_null(detect__classify_choose());
}

struct runs {
    struct ts_span runs[4096];
    size_t count;
};

static void add_run(void *context, struct ts_span run) {
    struct runs *runs = context;
    assert_true(runs->count < 4096);
    runs->runs[runs->count++] = run;
}

/* Finds the runs byte by byte, as their definition says. */
static void find_slowly(struct ts_bytes bytes, struct runs *ret_runs) {
    ret_runs->count = 0;
    size_t from = 0;
    size_t digits = 0;
    for (size_t i = 0; i <= bytes.len; i++) {
        uint8_t kind = i < bytes.len ? detect__is_token[bytes.data[i]] : 0;
        digits += kind >> 1;
        if (kind)
            continue;
        if (i - from >= 16 && digits >= 2)
            add_run(ret_runs, (struct ts_span){from, i - from});
        from = i + 1;
        digits = 0;
    }
}

static void runs_are_found_whatever_their_place_and_length(void **state) {
    (void)state;
    static uint8_t bytes[6000];
    static struct runs expected;
    static struct runs found;
    struct ts_prng prng;
    ts_prng_init(&prng, 4);
    for (int round = 0; round < 400; round++) {
        size_t len = ts_prng_below(&prng, sizeof bytes);
        for (size_t at = 0; at < len;) {
            size_t run = ts_prng_below(&prng, 10) == 0 ? ts_prng_below(&prng, 300) : ts_prng_below(&prng, 24);
            bool digits = ts_prng_below(&prng, 2) == 0;
            for (; run > 0 && at < len; run--)
                bytes[at++] =
                    (uint8_t)(digits && ts_prng_below(&prng, 6) == 0 ? '7'
                                                                     : "abcXYZ_=/"[ts_prng_below(&prng, 9)]);
            if (at < len)
                bytes[at++] = ' ';
        }
        find_slowly(ts_bytes_of(bytes, len), &expected);
        for (int way = 0; way < DETECT_CLASSIFY_WAYS; way++) {
            detect_classify *classify = detect__classify_way((enum detect_classify_way)way);
            struct detect_run_visitor visitor = {.context = &found, .run = add_run};
            found.count = 0;
            if (!classify)
                continue;
            detect__token_runs(classify, ts_bytes_of(bytes, len), (struct ts_span){0, len}, 0, &visitor);
            assert_int_equal(found.count, expected.count);
            for (size_t i = 0; i < found.count; i++)
                if (found.runs[i].from != expected.runs[i].from || found.runs[i].len != expected.runs[i].len)
                    fail_msg("run %zu is at %zu, %zu long; expected at %zu, %zu long", i, found.runs[i].from,
                             found.runs[i].len, expected.runs[i].from, expected.runs[i].len);
        }
    }
}

static void a_run_is_followed_out_of_the_part_that_is_looked_at(void **state) {
    (void)state;
    static struct runs found;
    uint8_t bytes[300];
    memset(bytes, 'a', sizeof bytes);
    memset(bytes, '7', 2);
    struct detect_run_visitor visitor = {.context = &found, .run = add_run};
    struct ts_bytes all = ts_bytes_of(bytes, sizeof bytes);
    found.count = 0;
    detect__token_runs(detect__classify_choose(), all, (struct ts_span){100, 50}, 300, &visitor);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.runs[0].from, 0);
    assert_int_equal(found.runs[0].len, 300);
    /* With a stretch of 20 bytes, the digits are too far away. */
    found.count = 0;
    detect__token_runs(detect__classify_choose(), all, (struct ts_span){100, 50}, 20, &visitor);
    assert_int_equal(found.count, 0);
    visitor.any_digits = true;
    detect__token_runs(detect__classify_choose(), all, (struct ts_span){100, 50}, 20, &visitor);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.runs[0].from, 80);
    assert_int_equal(found.runs[0].len, 90);
}

static void token_shape_needs_sixteen_and_two_digits(void **state) {
    (void)state;
    assert_true(detect__has_token_shape(TS_BYTES("x abcdefghijklmn12")));
    assert_false(detect__has_token_shape(TS_BYTES("abcdefghijklm12")));
    assert_false(detect__has_token_shape(TS_BYTES("abcdefghijklmno1")));
    assert_false(detect__has_token_shape(TS_BYTES("abcdefgh1 jklmno1")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_classify_gives_the_same_masks),
        cmocka_unit_test(runs_are_found_whatever_their_place_and_length),
        cmocka_unit_test(a_run_is_followed_out_of_the_part_that_is_looked_at),
        cmocka_unit_test(token_shape_needs_sixteen_and_two_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
