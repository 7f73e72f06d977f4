/*
 * The contract of stores as tests, for any engine. An engine has a fixture and a main function:
 *
 *     static const struct contract_fixture fixture = {"memory", set_up, open, ...};
 *     int main(int argc, char **argv) {
 *         return contract_main(argc, argv, &fixture);
 *     }
 */
#ifndef TS_TESTS_CONTRACT_CONTRACT_H
#define TS_TESTS_CONTRACT_CONTRACT_H

#include "base/bytes.h"
#include "store/contract/engine.h"
#include "support/cmocka.h"

/* A place is where a store keeps its contents: an object in memory, a directory, or a database. */
struct contract_fixture {
    const char *name;

    /* Makes a new, empty place. tear_down removes the place with its contents. A test may make several
     * places, which are independent. */
    void *(*set_up)(void);
    void (*tear_down)(void *place);

    /* Opens a store over the place; on failure, fails the test. It is not called again before the store is
     * closed. */
    struct ts_store *(*open)(void *place);

    /* Returns the URL with which a child process opens the place. NULL if no other process can open it; then
     * tests that kill a process are skipped. */
    const char *(*url)(void *place);
};

int contract_main(int argc, char **argv, const struct contract_fixture *fixture);

/* The declarations below are for the files of the suite. */

extern const struct contract_fixture *contract_fixture;
extern const char *contract_program; /* the path of this program, for child processes */

/* The state with which every test starts: a fresh place, and a store over this place. */
struct contract_world {
    void *place;
    struct ts_store *store;
    struct ts_rows rows;
};

/* Closes the store and opens it again. */
void contract_reopen(struct contract_world *world);

/* Operations, and calls with them. contract_run_* return the call. The other functions and macros that make
 * calls expect a certain result. If a call has another result, the test fails with the text of the call. */
#define B(literal) TS_BYTES(literal)
struct ts_bytes contract_text(const char *text);

struct ts_op contract_put(const char *key, const char *value);
struct ts_op contract_check(const char *key, uint64_t version);
struct ts_op contract_del(const char *key);
struct ts_op contract_add(const char *key, int64_t delta, uint64_t max);
struct ts_op contract_before(uint64_t time_ms);

/* CONTRACT_LONG_MS is so long that a test fails with its own message before the runner stops the test. */
enum { CONTRACT_LONG_MS = 60000, CONTRACT_SHORT_MS = 150 };
uint64_t contract_deadline_ns(uint64_t ms);

void contract_expect(const struct ts_call *call, enum ts_store_result expected, const char *file, int line);
#define expect_result(call, expected) contract_expect((call), (expected), __FILE__, __LINE__)

struct ts_call contract_run_apply(struct ts_store *store, const struct ts_op *ops, size_t count,
                                  uint64_t deadline_ns);
struct ts_call contract_run_prepare(struct ts_store *store, const char *gid, const struct ts_op *ops,
                                    size_t count);
struct ts_call contract_run_gid(struct ts_store *store, enum ts_call_kind kind, const char *gid);

#define expect_apply(store, expected, ...)                                                                   \
    do {                                                                                                     \
        const struct ts_op ops_[] = {__VA_ARGS__};                                                           \
        const struct ts_call call_ = contract_run_apply((store), ops_, sizeof ops_ / sizeof ops_[0],         \
                                                        contract_deadline_ns(CONTRACT_LONG_MS));             \
        expect_result(&call_, (expected));                                                                   \
    } while (0)

/* Like expect_apply, but for a batch that would wait forever if its deadline did not end it. */
#define expect_blocked(store, ...)                                                                           \
    do {                                                                                                     \
        const struct ts_op ops_[] = {__VA_ARGS__};                                                           \
        const struct ts_call call_ = contract_run_apply((store), ops_, sizeof ops_ / sizeof ops_[0],         \
                                                        contract_deadline_ns(CONTRACT_SHORT_MS));            \
        expect_result(&call_, TS_STORE_TIMED_OUT);                                                           \
    } while (0)

#define expect_prepare(store, expected, gid, ...)                                                            \
    do {                                                                                                     \
        const struct ts_op ops_[] = {__VA_ARGS__};                                                           \
        const struct ts_call call_ =                                                                         \
            contract_run_prepare((store), (gid), ops_, sizeof ops_ / sizeof ops_[0]);                        \
        expect_result(&call_, (expected));                                                                   \
    } while (0)

#define expect_commit(store, expected, gid)                                                                  \
    do {                                                                                                     \
        const struct ts_call call_ = contract_run_gid((store), TS_CALL_COMMIT, (gid));                       \
        expect_result(&call_, (expected));                                                                   \
    } while (0)

#define expect_abort(store, expected, gid)                                                                   \
    do {                                                                                                     \
        const struct ts_call call_ = contract_run_gid((store), TS_CALL_ABORT, (gid));                        \
        expect_result(&call_, (expected));                                                                   \
    } while (0)

/* Returns the version of a key, 0 when the key is absent. The value of the key is in world->rows
 * afterwards. */
uint64_t contract_version(struct contract_world *world, const char *key);
void contract_expect_value(struct contract_world *world, const char *key, const char *value, const char *file,
                           int line);
/* Expects that the key has this value, or is absent if `value` is NULL. */
#define expect_content(world, key, value) contract_expect_value((world), (key), (value), __FILE__, __LINE__)

uint64_t contract_now_ms(struct ts_store *store);
size_t contract_promises(struct contract_world *world);

/* A child process that opens the place and runs `job` until it is killed. `said` is the standard output of
 * the child. */
struct contract_child {
    int pid;
    int said;
};
struct contract_child contract_child_start(struct contract_world *world, const char *job);
/* Reads a line from the child. Returns false at the end of the child's output. */
bool contract_child_line(const struct contract_child *child, char *ret_line, size_t size);
void contract_child_kill(struct contract_child *child);

/* Runs a job in a child process. Never returns. In kill.c. */
_Noreturn void contract_child_main(const char *url, const char *job);

/* The tests of each file; each list ends with {0}. */
extern const struct CMUnitTest contract_batch_tests[], contract_scan_tests[], contract_promise_tests[],
    contract_limit_tests[], contract_thread_tests[], contract_kill_tests[], contract_meta_tests[];

int contract_fresh(void **state);
int contract_clean(void **state);
#define contract_test(function) cmocka_unit_test_setup_teardown(function, contract_fresh, contract_clean)

#endif
