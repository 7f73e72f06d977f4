#include "pile.h"
#include "support/cmocka.h"

#include <string.h>

static void fill(struct scan_pile *pile, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        size_t at = pile->len;
        assert_true(scan__pile_grow(pile, sizeof i));
        memcpy(pile->bytes + at, &i, sizeof i);
    }
}

static void holds_numbers(const struct scan_pile *pile, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number;
        memcpy(&number, pile->bytes + i * sizeof number, sizeof number);
        assert_int_equal(number, i);
    }
}

static void it_grows_in_memory_up_to_its_limit(void **state) {
    (void)state;
    struct scan_pile pile;
    scan__pile_init(&pile, 8 << 20, "/tmp");
    fill(&pile, 1 << 20);
    holds_numbers(&pile, 1 << 20);
    assert_int_equal(pile.fd, -1);
    assert_true(pile.capacity >= 4 << 20);
    scan__pile_release(&pile);
}

static void beyond_its_limit_it_goes_to_a_file_and_nothing_is_lost(void **state) {
    (void)state;
    struct scan_pile pile;
    scan__pile_init(&pile, 256 << 10, "/tmp");
    fill(&pile, 1 << 20);
    holds_numbers(&pile, 1 << 20);
    assert_true(pile.fd >= 0);
    scan__pile_release(&pile);
    scan__pile_release(&pile);
}

static void new_room_is_zeroed(void **state) {
    (void)state;
    struct scan_pile pile;
    scan__pile_init(&pile, 64 << 10, "/tmp");
    assert_true(scan__pile_grow(&pile, 300000));
    for (size_t i = 0; i < 300000; i++)
        assert_int_equal(pile.bytes[i], 0);
    scan__pile_release(&pile);
}

static void without_a_place_for_files_it_fails_and_stays_as_it_was(void **state) {
    (void)state;
    struct scan_pile pile;
    scan__pile_init(&pile, 64 << 10, "/nowhere/at/all");
    fill(&pile, 1000);
    assert_false(scan__pile_grow(&pile, 1 << 20));
    assert_int_equal(pile.len, 1000 * sizeof(uint32_t));
    holds_numbers(&pile, 1000);
    assert_false(scan__pile_grow(&pile, SIZE_MAX));
    scan__pile_release(&pile);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_grows_in_memory_up_to_its_limit),
        cmocka_unit_test(beyond_its_limit_it_goes_to_a_file_and_nothing_is_lost),
        cmocka_unit_test(new_room_is_zeroed),
        cmocka_unit_test(without_a_place_for_files_it_fails_and_stays_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
