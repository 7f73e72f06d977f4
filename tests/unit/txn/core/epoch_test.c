#include "support/cmocka.h"

#include "txn/core/epoch.h"

/* Raises the epoch of three stores. A crash after `crash` steps loses everything that is not stored. Returns
 * the number of steps. */
static int raise_with_crash_after(int crash, struct txn__epoch_store *stores) {
    struct txn__epoch_raise raise = {0};
    bool promises = true;
    for (int steps = 0;; steps++) {
        if (steps == crash)
            raise = (struct txn__epoch_raise){0};
        struct txn__epoch_step step = txn__epoch_next(&raise, stores, 3);
        switch (step.kind) {
        case TXN__EPOCH_CLOSE:
            stores[step.place].closing = true;
            break;
        case TXN__EPOCH_SETTLE:
            for (size_t i = 0; i < 3; i++)
                assert_true(stores[i].closing); /* no new promise is possible */
            promises = false;
            raise.settled = true;
            break;
        case TXN__EPOCH_OPEN:
            assert_false(promises);
            stores[step.place] = (struct txn__epoch_store){step.epoch, false};
            break;
        case TXN__EPOCH_DONE:
            return steps;
        case TXN__EPOCH_MIXED:
            fail();
        }
    }
}

static void a_raise_closes_settles_and_opens(void **state) {
    (void)state;
    struct txn__epoch_store stores[3] = {{5, false}, {5, false}, {5, false}};
    assert_int_equal(raise_with_crash_after(-1, stores), 7);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(stores[i].epoch, 6);
        assert_false(stores[i].closing);
    }
}

static void the_next_process_continues_after_a_crash(void **state) {
    (void)state;
    for (int crash = 1; crash < 7; crash++) {
        struct txn__epoch_store stores[3] = {{5, false}, {5, false}, {5, false}};
        raise_with_crash_after(crash, stores);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(stores[i].epoch, 6);
            assert_false(stores[i].closing);
        }
    }
}

static void stores_that_cannot_belong_together_are_left_alone(void **state) {
    (void)state;
    static const struct txn__epoch_store mixed[][3] = {
        {{5, false}, {7, false}, {5, false}},
        {{5, false}, {6, false}, {5, true}},
        {{6, true}, {5, true}, {5, true}},
    };
    for (size_t i = 0; i < 3; i++) {
        struct txn__epoch_raise raise = {0};
        assert_int_equal(txn__epoch_next(&raise, mixed[i], 3).kind, TXN__EPOCH_MIXED);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_raise_closes_settles_and_opens),
        cmocka_unit_test(the_next_process_continues_after_a_crash),
        cmocka_unit_test(stores_that_cannot_belong_together_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
