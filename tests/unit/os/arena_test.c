#include "os/arena.h"
#include "support/cmocka.h"

#include <stdint.h>
#include <string.h>

static void pieces_of_memory_are_zeroed_aligned_and_separate(void **state) {
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
        uint8_t *bytes = ts_arena_take_bytes(&arena, 3);
        assert_true(bytes + 3 <= taken || taken + size <= bytes);
        memset(bytes, 0xbb, 3);
    }
    assert_non_null(ts_arena_take(&arena, 1 << 20));
    assert_null(ts_arena_take(&arena, SIZE_MAX - 8));
    assert_null(ts_arena_take_bytes(&arena, SIZE_MAX - 8));
    ts_arena_release(&arena);
    ts_arena_release(&arena);
}

static void memory_is_zeroed_again_after_clearing(void **state) {
    (void)state;
    struct ts_arena arena = {NULL};
    char *first = ts_arena_copy(&arena, TS_BYTES("text"));
    assert_string_equal(first, "text");
    ts_arena_clear(&arena);
    char *second = ts_arena_take(&arena, 16);
    assert_ptr_equal(first, second); /* the block is reused */
    assert_int_equal(second[0], 0);
    ts_arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_memory_are_zeroed_aligned_and_separate),
        cmocka_unit_test(memory_is_zeroed_again_after_clearing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
