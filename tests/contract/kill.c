/* Processes that are killed while they work. */
#include "contract.h"

#include "base/number.h"
#include "store/cluster/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Prints a line. A child prints one line for each acknowledged call. */

static void say(const char *line) {
    char text[64];
    int len = snprintf(text, sizeof text, "%s\n", line);
    if (write(STDOUT_FILENO, text, (size_t)len) != len)
        _exit(1);
}

static void must(const struct ts_call *call) {
    if (call->error.result == TS_STORE_OK)
        return;
    fprintf(stderr, "child: %s\n", call->error.text);
    _exit(1);
}

static _Noreturn void wait_for_the_end(void) {
    for (;;)
        pause();
}

static void make_promises(struct ts_store *store) {
    const struct ts_op seen = contract_put("seen", "1");
    struct ts_call call = contract_run_apply(store, &seen, 1, 0);
    must(&call);
    struct ts_rows rows = {0};
    const struct ts_bytes key = B("seen");
    struct ts_call read = {.kind = TS_CALL_READ, .keys = &key, .key_count = 1, .rows = &rows};
    (void)ts_store_run(store, &read);
    must(&read);
    const struct ts_op ops[] = {contract_check("seen", rows.rows[0].version), contract_put("a", "1"),
                                contract_add("n", 3, 10)};
    call = contract_run_prepare(store, "g", ops, 3);
    must(&call);
    const struct ts_op other = contract_put("b", "1");
    call = contract_run_prepare(store, "h", &other, 1);
    must(&call);
    ts_rows_release(&rows);
    say("promised");
    wait_for_the_end();
}

/* A job. Each round applies a batch, and makes a promise that is committed without sync. The next write makes
 * this commit durable. */
static _Noreturn void write_on(struct ts_store *store) {
    for (unsigned i = 0;; i++) {
        char key[16], promised[16], gid[16], line[16];
        snprintf(key, sizeof key, "k%06u", i);
        snprintf(promised, sizeof promised, "p%06u", i);
        snprintf(gid, sizeof gid, "gid%06u", i);
        snprintf(line, sizeof line, "%u", i);
        const struct ts_op promise = contract_put(promised, line), op = contract_put(key, line);
        struct ts_call call = contract_run_prepare(store, gid, &promise, 1);
        must(&call);
        call = contract_run_gid(store, TS_CALL_COMMIT, gid);
        must(&call);
        call = contract_run_apply(store, &op, 1, 0);
        must(&call);
        say(line);
    }
}

void contract_child_main(const char *url, const char *job) {
    struct ts_store *store = NULL;
    struct ts_store_error error;
    const struct ts_store_options options = {0};
    if (ts_store_open(url, &options, &store, &error) != TS_STORE_OK) {
        fprintf(stderr, "child: %s\n", error.text);
        _exit(1);
    }
    if (strcmp(job, "promises") == 0)
        make_promises(store);
    if (strcmp(job, "writes") == 0)
        write_on(store);
    say("open");
    wait_for_the_end();
}

/* Closes the store, and starts a child that opens the place instead. */
static struct contract_child hand_over(struct contract_world *world, const char *job) {
    ts_store_close(world->store);
    world->store = NULL;
    return contract_child_start(world, job);
}

static void take_back(struct contract_world *world, struct contract_child *child) {
    contract_child_kill(child);
    world->store = contract_fixture->open(world->place);
}

static void promises_of_a_killed_process_keep_their_locks(void **state) {
    struct contract_world *world = *state;
    struct contract_child child = hand_over(world, "promises");
    char line[16];
    assert_true(contract_child_line(&child, line, sizeof line));
    assert_string_equal(line, "promised");
    take_back(world, &child);
    assert_int_equal(contract_promises(world), 2);
    assert_true(ts_bytes_equal(world->rows.rows[0].key, B("g")));
    assert_true(world->rows.rows[0].version > 0);
    expect_content(world, "a", NULL);
    expect_blocked(world->store, contract_put("a", "2"));
    expect_blocked(world->store, contract_put("seen", "2"));
    expect_blocked(world->store, contract_add("n", 1, 10));
    expect_blocked(world->store, contract_put("b", "2"));
    expect_commit(world->store, TS_STORE_OK, "g");
    expect_abort(world->store, TS_STORE_OK, "h");
    expect_content(world, "a", "1");
    expect_content(world, "n", "3");
    expect_content(world, "b", NULL);
    expect_apply(world->store, TS_STORE_OK, contract_put("seen", "2"), contract_put("b", "2"));
}

static void nothing_acknowledged_is_lost_with_a_killed_process(void **state) {
    struct contract_world *world = *state;
    struct contract_child child = hand_over(world, "writes");
    char line[16];
    uint32_t last = 0;
    for (int i = 0; i < 60; i++) {
        assert_true(contract_child_line(&child, line, sizeof line));
        assert_int_equal(ts_u32_parse(contract_text(line), &last), TS_NUMBER_OK);
    }
    contract_child_kill(&child);
    world->store = contract_fixture->open(world->place);
    for (uint32_t i = 0; i <= last; i++) {
        char key[16], value[16];
        snprintf(value, sizeof value, "%u", i);
        snprintf(key, sizeof key, "k%06u", i);
        expect_content(world, key, value);
        snprintf(key, sizeof key, "p%06u", i);
        expect_content(world, key, value);
    }
    /* The call in progress may have left one promise or the effect of the promise, but never both. */
    size_t promises = contract_promises(world);
    assert_true(promises <= 1);
    if (promises == 1) {
        char gid[32], promised[32];
        snprintf(gid, sizeof gid, "%.*s", (int)world->rows.rows[0].key.len,
                 (const char *)world->rows.rows[0].key.data);
        snprintf(promised, sizeof promised, "p%s", gid + 3);
        expect_content(world, promised, NULL);
        expect_abort(world->store, TS_STORE_OK, gid);
    }
}

static void versions_continue_after_a_killed_process(void **state) {
    struct contract_world *world = *state;
    struct contract_child child = hand_over(world, "writes");
    char line[16];
    for (int i = 0; i < 5; i++)
        assert_true(contract_child_line(&child, line, sizeof line));
    take_back(world, &child);
    uint64_t before = contract_version(world, "k000004");
    assert_int_not_equal(before, 0);
    expect_apply(world->store, TS_STORE_OK, contract_put("k000004", "new"));
    assert_true(contract_version(world, "k000004") > before);
}

const struct CMUnitTest contract_kill_tests[] = {
    contract_test(promises_of_a_killed_process_keep_their_locks),
    contract_test(nothing_acknowledged_is_lost_with_a_killed_process),
    contract_test(versions_continue_after_a_killed_process),
    {0},
};
