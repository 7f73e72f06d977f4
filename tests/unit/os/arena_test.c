#include "os/arena.h"
#include "support/cmocka.h"

#include <stdint.h>
#include <string.h>

static void what_is_taken_is_zeroed_aligned_and_apart(void **state) {
    (void)state;
    struct ts_arena arena = {NULL};
    uint8_t *last = NULL;
    for (size_t size = 1; size < 3000; size += 7) {
        uint8_t *taken = ts_arena_take(&arena, size);
        assert_non_null(taken);
        assert_int_equal((uintptr_t)taken % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(taken[i], 0);
        memset(taken, 0xaa, size);
        assert_true(last != taken);
        last = taken;
    }
    assert_non_null(ts_arena_take(&arena, 1 << 20));
    assert_null(ts_arena_take(&arena, SIZE_MAX - 8));
    ts_arena_release(&arena);
    ts_arena_release(&arena);
}

static void what_is_taken_after_clearing_is_zeroed_again(void **state) {
    (void)state;
    struct ts_arena arena = {NULL};
    char *first = ts_arena_copy(&arena, TS_BYTES("text"));
    assert_string_equal(first, "text");
    ts_arena_clear(&arena);
    char *second = ts_arena_take(&arena, 16);
    assert_ptr_equal(first, second); /* the chunk is used again */
    assert_int_equal(second[0], 0);
    ts_arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_taken_is_zeroed_aligned_and_apart),
        cmocka_unit_test(what_is_taken_after_clearing_is_zeroed_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
