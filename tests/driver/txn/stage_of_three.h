/* The stage of most tests in this folder: three stores, and one key on each store. Store 0 decides. */
#ifndef TS_TESTS_DRIVER_TXN_STAGE_OF_THREE_H
#define TS_TESTS_DRIVER_TXN_STAGE_OF_THREE_H

#include "stage.h"

static struct stage stage;
static struct ts_txn_result result;
static char key[3][40];

static int set_up(void **state) {
    (void)state;
    stage_init(&stage, 3);
    for (size_t i = 0; i < 3; i++)
        stage_key(stage.cluster, i, "k", key[i]);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    stage_no_faults(&stage);
    stage_release(&stage);
    return 0;
}

#endif
