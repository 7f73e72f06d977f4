#include "store/local/locks.h"

#include "base/prng.h"
#include "support/cmocka.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>

static struct store__locks *locks;

static int fresh(void **state) {
    (void)state;
    locks = store__locks_new();
    return locks == NULL;
}

static int clean(void **state) {
    (void)state;
    store__locks_free(locks);
    return 0;
}

enum { MOST = 4 };

/* A claim with its wants: "aBc" wants a and c shared and b exclusive. */
struct claimant {
    struct store__claim claim;
    struct store__want wants[MOST];
    uint8_t keys[MOST];
};

static void init(struct claimant *claimant, const char *text) {
    size_t count = strlen(text);
    for (size_t i = 0; i < count; i++) {
        bool exclusive = text[i] >= 'A' && text[i] <= 'Z';
        claimant->keys[i] = (uint8_t)(text[i] | 0x20);
        claimant->wants[i] = (struct store__want){.key = {&claimant->keys[i], 1}, .exclusive = exclusive};
    }
    store__claim_init(&claimant->claim, claimant->wants, count);
}

static bool has_all(struct claimant *claimant) {
    enum store__claim_state state = store__claim_step(locks, &claimant->claim);
    assert_int_not_equal(state, STORE_CLAIM_NO_MEMORY);
    return state == STORE_CLAIM_COMPLETE;
}

static bool takes(struct claimant *claimant, const char *text) {
    init(claimant, text);
    return has_all(claimant);
}

static void let_go(struct claimant *claimant) {
    store__claim_release(locks, &claimant->claim);
}

static void shared_locks_are_compatible_and_exclusive_ones_are_not(void **state) {
    (void)state;
    struct claimant a, b, c;
    assert_true(takes(&a, "x"));
    assert_true(takes(&b, "x"));
    assert_false(takes(&c, "X"));
    let_go(&a);
    assert_false(has_all(&c));
    let_go(&b);
    assert_true(has_all(&c));
    assert_false(takes(&a, "x"));
    assert_false(takes(&b, "X"));
    let_go(&c);
    assert_true(has_all(&a));
    assert_false(has_all(&b));
    let_go(&a);
    assert_true(has_all(&b));
    let_go(&b);
}

static void a_reader_waits_for_a_waiting_writer(void **state) {
    (void)state;
    struct claimant reader, writer, late;
    assert_true(takes(&reader, "x"));
    assert_false(takes(&writer, "X"));
    assert_false(takes(&late, "x"));
    let_go(&reader);
    assert_true(has_all(&writer));
    assert_false(has_all(&late));
    let_go(&writer);
    assert_true(has_all(&late));
    let_go(&late);
}

static void readers_behind_a_writer_get_in_together(void **state) {
    (void)state;
    struct claimant writer, readers[3], second;
    assert_true(takes(&writer, "X"));
    for (int i = 0; i < 3; i++)
        assert_false(takes(&readers[i], "x"));
    assert_false(takes(&second, "X"));
    let_go(&writer);
    for (int i = 0; i < 3; i++)
        assert_true(has_all(&readers[i]));
    assert_false(has_all(&second));
    for (int i = 0; i < 3; i++)
        let_go(&readers[i]);
    assert_true(has_all(&second));
    let_go(&second);
}

static void giving_up_admits_later_waiters(void **state) {
    (void)state;
    struct claimant reader, writer, late;
    assert_true(takes(&reader, "x"));
    assert_false(takes(&writer, "X"));
    assert_false(takes(&late, "x"));
    let_go(&writer);
    assert_true(has_all(&late));
    let_go(&late);
    let_go(&reader);
    assert_int_equal(store__locks_count(locks), 0);
}

static void giving_up_in_the_middle_of_a_queue_keeps_the_rest(void **state) {
    (void)state;
    struct claimant holder, first, middle, last;
    assert_true(takes(&holder, "X"));
    assert_false(takes(&first, "X"));
    assert_false(takes(&middle, "X"));
    assert_false(takes(&last, "X"));
    let_go(&middle);
    let_go(&holder);
    assert_true(has_all(&first));
    assert_false(has_all(&last));
    let_go(&first);
    assert_true(has_all(&last));
    let_go(&last);
}

static void a_claim_that_gives_up_returns_its_locks(void **state) {
    (void)state;
    struct claimant holder, waiter, other;
    assert_true(takes(&holder, "M"));
    assert_false(takes(&waiter, "AMZ"));
    assert_false(takes(&other, "A"));
    let_go(&waiter);
    assert_true(has_all(&other));
    let_go(&other);
    let_go(&holder);
    assert_int_equal(store__locks_count(locks), 0);
}

static void locks_behind_the_one_waited_for_are_not_taken_yet(void **state) {
    (void)state;
    struct claimant holder, waiter, other;
    assert_true(takes(&holder, "M"));
    assert_false(takes(&waiter, "ZMA"));
    assert_true(takes(&other, "Z"));
    let_go(&other);
    let_go(&holder);
    assert_true(has_all(&waiter));
    let_go(&waiter);
}

static void a_key_wanted_twice_is_wanted_once_and_exclusively(void **state) {
    (void)state;
    struct claimant both, other;
    assert_true(takes(&both, "xX"));
    assert_int_equal(both.claim.count, 1);
    assert_false(takes(&other, "x"));
    let_go(&both);
    assert_true(has_all(&other));
    let_go(&other);
}

static bool is_readable(int fd) {
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    return poll(&ready, 1, 0) == 1;
}

static void the_descriptor_shows_when_to_continue(void **state) {
    (void)state;
    struct claimant first, second, waiter;
    int fd = -2, again = -2;
    assert_true(takes(&first, "A"));
    assert_true(takes(&second, "B"));
    assert_false(takes(&waiter, "AB"));
    assert_true(store__claim_wait_fd(locks, &waiter.claim, &fd));
    assert_true(fd >= 0);
    assert_false(is_readable(fd));
    let_go(&first);
    assert_true(is_readable(fd));
    assert_false(has_all(&waiter));
    /* The signal for the first lock does not count for the second lock. */
    assert_true(store__claim_wait_fd(locks, &waiter.claim, &again));
    assert_false(is_readable(again));
    let_go(&second);
    assert_true(is_readable(again));
    assert_true(store__claim_wait_fd(locks, &waiter.claim, &fd));
    assert_int_equal(fd, -1);
    assert_true(has_all(&waiter));
    let_go(&waiter);
}

static void a_descriptor_that_is_used_again_holds_no_old_signal(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct claimant holder, waiter;
        int fd = -1;
        assert_true(takes(&holder, "A"));
        assert_false(takes(&waiter, "A"));
        assert_true(store__claim_wait_fd(locks, &waiter.claim, &fd));
        assert_false(is_readable(fd));
        let_go(&holder);
        assert_true(is_readable(fd));
        let_go(&waiter);
    }
}

static void without_descriptors_it_says_so(void **state) {
    (void)state;
    struct claimant holder, waiter;
    assert_true(takes(&holder, "A"));
    assert_false(takes(&waiter, "A"));
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int fd = -2;
    bool possible = store__claim_wait_fd(locks, &waiter.claim, &fd);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_false(possible);
    assert_int_equal(fd, -2);
    let_go(&holder);
    assert_true(has_all(&waiter));
    let_go(&waiter);
}

/* Compares random claims with a simple table of holders. */
static void random_claims_never_hold_conflicting_locks(void **state) {
    (void)state;
    enum { CLAIMANTS = 12, KEYS = 5 };
    struct claimant claimants[CLAIMANTS];
    bool active[CLAIMANTS] = {0};
    struct ts_prng prng;
    ts_prng_init(&prng, 7);
    uint64_t completed = 0;
    for (int round = 0; round < 20000; round++) {
        size_t at = ts_prng_below(&prng, CLAIMANTS);
        struct claimant *claimant = &claimants[at];
        if (!active[at]) {
            char text[MOST + 1] = {0};
            size_t count = 1 + ts_prng_below(&prng, MOST - 1);
            for (size_t i = 0; i < count; i++)
                text[i] =
                    (char)((ts_prng_below(&prng, 2) == 0 ? 'a' : 'A') + (int)ts_prng_below(&prng, KEYS));
            init(claimant, text);
            active[at] = true;
        }
        if (has_all(claimant)) {
            completed++;
            let_go(claimant);
            active[at] = false;
        } else if (ts_prng_below(&prng, 10) == 0) {
            let_go(claimant);
            active[at] = false;
        }
        for (int key = 0; key < KEYS; key++) {
            int shared = 0, exclusive = 0;
            for (size_t i = 0; i < CLAIMANTS; i++)
                for (size_t j = 0; active[i] && j < claimants[i].claim.held; j++)
                    if (claimants[i].wants[j].key.data[0] == 'a' + key)
                        *(claimants[i].wants[j].exclusive ? &exclusive : &shared) += 1;
            assert_true(exclusive == 0 || (exclusive == 1 && shared == 0));
        }
    }
    for (size_t i = 0; i < CLAIMANTS; i++)
        if (active[i])
            let_go(&claimants[i]);
    assert_true(completed > 5000);
    assert_int_equal(store__locks_count(locks), 0);
}

static void many_keys_are_held_at_once(void **state) {
    (void)state;
    enum { MANY = 5000 };
    struct store__want *wants = calloc(MANY, sizeof *wants);
    uint32_t *keys = calloc(MANY, sizeof *keys);
    assert_non_null(wants);
    assert_non_null(keys);
    for (uint32_t i = 0; i < MANY; i++) {
        keys[i] = i * 2654435761u;
        wants[i] =
            (struct store__want){.key = {(const uint8_t *)&keys[i], sizeof keys[i]}, .exclusive = true};
    }
    struct store__claim claim;
    store__claim_init(&claim, wants, MANY);
    assert_int_equal(store__claim_step(locks, &claim), STORE_CLAIM_COMPLETE);
    assert_int_equal(store__locks_count(locks), MANY);
    store__claim_release(locks, &claim);
    assert_int_equal(store__locks_count(locks), 0);
    free(wants);
    free(keys);
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, fresh, clean)
    const struct CMUnitTest tests[] = {
        TEST(shared_locks_are_compatible_and_exclusive_ones_are_not),
        TEST(a_reader_waits_for_a_waiting_writer),
        TEST(readers_behind_a_writer_get_in_together),
        TEST(giving_up_admits_later_waiters),
        TEST(giving_up_in_the_middle_of_a_queue_keeps_the_rest),
        TEST(a_claim_that_gives_up_returns_its_locks),
        TEST(locks_behind_the_one_waited_for_are_not_taken_yet),
        TEST(a_key_wanted_twice_is_wanted_once_and_exclusively),
        TEST(the_descriptor_shows_when_to_continue),
        TEST(a_descriptor_that_is_used_again_holds_no_old_signal),
        TEST(without_descriptors_it_says_so),
        TEST(random_claims_never_hold_conflicting_locks),
        TEST(many_keys_are_held_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
