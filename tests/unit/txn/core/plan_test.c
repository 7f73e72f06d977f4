#include "support/cmocka.h"

#include "txn/core/plan.h"

static void one_store_is_local(void **state) {
    (void)state;
    struct txn__plan plan;
    static const uint32_t places[] = {3, 3, 3};
    txn__plan_init(&plan, places, 3);
    assert_false(txn__plan_is_global(&plan));
    assert_int_equal(plan.parts[0].place, 3);
    assert_int_equal(plan.parts[0].count, 3);
}

static void several_stores_are_global_in_order_and_the_lowest_decides(void **state) {
    (void)state;
    struct txn__plan plan;
    static const uint32_t places[] = {200, 3, 7, 3, 255};
    txn__plan_init(&plan, places, 5);
    assert_true(txn__plan_is_global(&plan));
    assert_int_equal(plan.part_count, 4);
    static const uint32_t expected[] = {3, 7, 200, 255};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(plan.parts[i].place, expected[i]);
    assert_int_equal(plan.parts[0].count, 2);
    assert_int_equal(plan.op_count, 5);
    assert_int_equal(plan.parts[txn__plan_decider(&plan)].place, 3);
}

static void operations_without_a_key_go_to_every_store_of_the_plan(void **state) {
    (void)state;
    struct txn__plan plan;
    static const uint32_t places[] = {TXN__EVERYWHERE, 1, 2, TXN__EVERYWHERE};
    txn__plan_init(&plan, places, 4);
    assert_int_equal(plan.part_count, 2);
    assert_int_equal(plan.parts[0].count, 3);
    assert_int_equal(plan.parts[1].count, 3);
    assert_int_equal(plan.op_count, 6);
    txn__plan_init(&plan, places, 1);
    assert_int_equal(plan.part_count, 1);
    assert_int_equal(plan.parts[0].place, 0);
    txn__plan_init(&plan, NULL, 0);
    assert_int_equal(plan.part_count, 1);
    assert_int_equal(plan.parts[0].count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_store_is_local),
        cmocka_unit_test(several_stores_are_global_in_order_and_the_lowest_decides),
        cmocka_unit_test(operations_without_a_key_go_to_every_store_of_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
