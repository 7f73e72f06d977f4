/* Tests how held memory is counted, and how buffers are reused. */
#include "ledger.h"

#include "support/cmocka.h"

#include <string.h>

#define KIB ((size_t)1024)

static void a_refused_amount_is_not_held(void **state) {
    (void)state;
    struct git__ledger ledger;
    git__ledger_init(&ledger, 100);
    assert_true(git__ledger_try(&ledger, 60));
    assert_false(git__ledger_try(&ledger, 41));
    assert_true(git__ledger_try(&ledger, 40)); /* 60 and 40 together reach the limit */
    assert_int_equal(atomic_load(&ledger.most), 100);
    git__ledger_give(&ledger, 100);
    assert_int_equal(atomic_load(&ledger.used), 0);
    git__ledger_release(&ledger);
}

/* The last thread gets memory above the limit, because no other thread is left that could return memory. */
static void the_last_one_continues_above_the_limit_and_is_counted(void **state) {
    (void)state;
    struct git__ledger ledger;
    git__ledger_init(&ledger, 100);
    git__ledger_enter(&ledger);
    git__ledger_wait(&ledger, 150);
    assert_int_equal(atomic_load(&ledger.used), 150);
    assert_int_equal(atomic_load(&ledger.most), 150);
    assert_int_equal(atomic_load(&ledger.waiting), 0);
    git__ledger_give(&ledger, 150);
    git__ledger_leave(&ledger);
    git__ledger_release(&ledger);
}

static void *wait_for_it(void *ctx) {
    struct git__ledger *ledger = ctx;
    git__ledger_wait(ledger, 50);
    git__ledger_give(ledger, 50);
    git__ledger_leave(ledger);
    return NULL;
}

static void start_waiting(struct git__ledger *ledger, pthread_t *ret_thread) {
    git__ledger_init(ledger, 100);
    git__ledger_enter(ledger);
    git__ledger_enter(ledger);
    assert_true(git__ledger_try(ledger, 100));
    assert_int_equal(pthread_create(ret_thread, NULL, wait_for_it, ledger), 0);
    while (atomic_load(&ledger->waiting) == 0)
        sched_yield();
    /* The waiter holds the lock until it sleeps, so it sleeps when this thread gets the lock. */
    pthread_mutex_lock(&ledger->lock);
    pthread_mutex_unlock(&ledger->lock);
}

static void a_waiter_continues_when_memory_is_returned(void **state) {
    (void)state;
    struct git__ledger ledger;
    pthread_t thread;
    start_waiting(&ledger, &thread);
    git__ledger_give(&ledger, 100);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&ledger.used), 0);
    assert_int_equal(atomic_load(&ledger.most), 100);
    git__ledger_leave(&ledger);
    git__ledger_release(&ledger);
}

static void a_waiter_continues_when_the_others_leave(void **state) {
    (void)state;
    struct git__ledger ledger;
    pthread_t thread;
    start_waiting(&ledger, &thread);
    git__ledger_leave(&ledger);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&ledger.used), 100);
    assert_int_equal(atomic_load(&ledger.most), 150);
    git__ledger_release(&ledger);
}

struct pooled {
    struct git__ledger ledger;
    struct git__pool pool;
};

static void pooled_init(struct pooled *p, uint64_t limit, size_t kept_max) {
    git__ledger_init(&p->ledger, limit);
    git__ledger_enter(&p->ledger);
    git__pool_init(&p->pool, &p->ledger, kept_max);
}

static void pooled_release(struct pooled *p) {
    git__pool_release(&p->pool);
    assert_int_equal(p->pool.kept, 0);
    assert_int_equal(atomic_load(&p->ledger.used), 0);
    git__ledger_leave(&p->ledger);
    git__ledger_release(&p->ledger);
}

static struct git__buffer take(struct pooled *p, size_t size) {
    struct git__buffer buffer;
    assert_true(git__pool_take(&p->pool, size, &buffer));
    assert_true(buffer.capacity >= size);
    memset(buffer.bytes, 1, size);
    return buffer;
}

static void sizes_waste_a_fifth_at_most(void **state) {
    (void)state;
    struct pooled p;
    pooled_init(&p, UINT64_MAX / 2, 0);
    for (size_t size = 1; size < 40 * KIB; size += 97) {
        struct git__buffer buffer = take(&p, size);
        assert_true(buffer.capacity == 4 * KIB || buffer.capacity * 4 <= size * 5 + 4);
        git__pool_give(&p.pool, buffer);
    }
    static const size_t exact[] = {4 * KIB, 5 * KIB, 8 * KIB, 14 * KIB, 1024 * KIB};
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
        struct git__buffer buffer = take(&p, exact[i]);
        assert_int_equal(buffer.capacity, exact[i]);
        git__pool_give(&p.pool, buffer);
    }
    pooled_release(&p);
}

static void a_buffer_that_came_back_is_used_again(void **state) {
    (void)state;
    struct pooled p;
    pooled_init(&p, 1024 * KIB, 100 * KIB);
    struct git__buffer buffer = take(&p, 8 * KIB);
    git__pool_give(&p.pool, buffer);
    assert_int_equal(p.pool.kept, 8 * KIB);
    assert_int_equal(atomic_load(&p.ledger.used), 8 * KIB);
    struct git__buffer again = take(&p, 5 * KIB); /* 5 KiB is three size classes below 8 KiB */
    assert_ptr_equal(again.bytes, buffer.bytes);
    assert_int_equal(p.pool.kept, 0);
    git__pool_give(&p.pool, again);
    struct git__buffer small = take(&p, 4 * KIB); /* 4 KiB is four classes below: too much would be unused */
    assert_int_equal(small.capacity, 4 * KIB);
    git__pool_drop(&p.pool, small);
    assert_int_equal(atomic_load(&p.ledger.used), 8 * KIB);
    pooled_release(&p);
}

static void a_pool_keeps_so_many_and_so_much(void **state) {
    (void)state;
    struct pooled p;
    struct git__buffer buffers[GIT__POOL_DEPTH + 2];
    const size_t count = sizeof buffers / sizeof buffers[0];
    pooled_init(&p, 1024 * KIB, 1024 * KIB);
    for (size_t i = 0; i < count; i++)
        buffers[i] = take(&p, 8 * KIB);
    for (size_t i = 0; i < count; i++)
        git__pool_give(&p.pool, buffers[i]);
    assert_int_equal(p.pool.kept, GIT__POOL_DEPTH * 8 * KIB);
    assert_int_equal(atomic_load(&p.ledger.used), GIT__POOL_DEPTH * 8 * KIB);
    pooled_release(&p);
    pooled_init(&p, 1024 * KIB, 20 * KIB);
    for (size_t i = 0; i < count; i++)
        buffers[i] = take(&p, 8 * KIB);
    for (size_t i = 0; i < count; i++)
        git__pool_give(&p.pool, buffers[i]);
    assert_int_equal(p.pool.kept, 16 * KIB);
    pooled_release(&p);
}

/* Kept buffers are freed if a thread waits for memory, or if more is held than allowed. */
static void kept_buffers_are_freed_when_memory_is_short(void **state) {
    (void)state;
    struct pooled p;
    pooled_init(&p, 24 * KIB, 1024 * KIB);
    struct git__buffer first = take(&p, 8 * KIB);
    git__pool_give(&p.pool, first);
    struct git__buffer large = take(&p, 20 * KIB);
    assert_int_equal(p.pool.kept, 0);
    assert_int_equal(atomic_load(&p.ledger.used), 20 * KIB);
    assert_int_equal(atomic_load(&p.ledger.most), 20 * KIB);
    /* A thread waits, so nothing is kept. */
    atomic_store(&p.ledger.waiting, 1);
    git__pool_give(&p.pool, large);
    atomic_store(&p.ledger.waiting, 0);
    assert_int_equal(p.pool.kept, 0);
    pooled_release(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_amount_is_not_held),
        cmocka_unit_test(the_last_one_continues_above_the_limit_and_is_counted),
        cmocka_unit_test(a_waiter_continues_when_memory_is_returned),
        cmocka_unit_test(a_waiter_continues_when_the_others_leave),
        cmocka_unit_test(sizes_waste_a_fifth_at_most),
        cmocka_unit_test(a_buffer_that_came_back_is_used_again),
        cmocka_unit_test(a_pool_keeps_so_many_and_so_much),
        cmocka_unit_test(kept_buffers_are_freed_when_memory_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
