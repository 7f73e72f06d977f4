#include "txn/guard/cause.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct ts_txn_cause store_cause(enum ts_store_result result, const char *sqlstate,
                                       enum ts_call_kind kind) {
    struct ts_call call = {.kind = kind, .error = {.result = result}};
    snprintf(call.error.sqlstate, sizeof call.error.sqlstate, "%s", sqlstate);
    return ts_txn_cause_of_store(&call);
}

enum { REPEAT = 1, INFRA = 2, ANSWERED = 4 };

/* The table has one row for each result, and one for each SQLSTATE that decides the class. */
static const struct row {
    enum ts_store_result result;
    const char *sqlstate;
    enum ts_call_kind call;
    enum ts_txn_error_class error_class;
    int flags;
    const char *client;
} rows[] = {
    {TS_STORE_CHECK_FAILED, "40001", TS_CALL_APPLY, TS_TXN_CLASS_CONFLICT, ANSWERED, "40001"},
    {TS_STORE_LATE, "", TS_CALL_PREPARE, TS_TXN_CLASS_CONFLICT, ANSWERED, "40001"},
    {TS_STORE_LIMIT, "", TS_CALL_APPLY, TS_TXN_CLASS_PERMANENT, ANSWERED, "54000"},
    {TS_STORE_NOT_A_COUNTER, "", TS_CALL_APPLY, TS_TXN_CLASS_PERMANENT, ANSWERED, "22P02"},
    {TS_STORE_LOCK_CONFLICT, "40P01", TS_CALL_PREPARE, TS_TXN_CLASS_CONFLICT, REPEAT | ANSWERED, "40001"},
    {TS_STORE_BUSY, "53300", TS_CALL_APPLY, TS_TXN_CLASS_TRANSIENT, REPEAT, "53300"},
    {TS_STORE_UNAVAILABLE, "08001", TS_CALL_APPLY, TS_TXN_CLASS_TRANSIENT, REPEAT | INFRA, "40000"},
    {TS_STORE_TIMED_OUT, "", TS_CALL_PREPARE, TS_TXN_CLASS_TIMEOUT, 0, "40000"},
    {TS_STORE_TIMED_OUT, "57014", TS_CALL_APPLY, TS_TXN_CLASS_TIMEOUT, 0, "40000"},
    {TS_STORE_TIMED_OUT, "55P03", TS_CALL_PREPARE, TS_TXN_CLASS_CONFLICT, REPEAT | ANSWERED, "40001"},
    {TS_STORE_TIMED_OUT, "08001", TS_CALL_PREPARE, TS_TXN_CLASS_TIMEOUT, INFRA, "40000"},
    {TS_STORE_TIMED_OUT, "", TS_CALL_READ, TS_TXN_CLASS_TIMEOUT, INFRA, "40000"},
    {TS_STORE_UNKNOWN, "08006", TS_CALL_PREPARE, TS_TXN_CLASS_TIMEOUT, INFRA, "40000"},
    {TS_STORE_UNKNOWN, "57014", TS_CALL_APPLY, TS_TXN_CLASS_TIMEOUT, INFRA, "40000"},
    {TS_STORE_UNKNOWN, "08006", TS_CALL_READ, TS_TXN_CLASS_TRANSIENT, REPEAT | INFRA, "40000"},
    {TS_STORE_NO_SUCH_PROMISE, "42704", TS_CALL_COMMIT, TS_TXN_CLASS_PERMANENT, ANSWERED, "42704"},
    {TS_STORE_PROMISE_EXISTS, "", TS_CALL_PREPARE, TS_TXN_CLASS_PERMANENT, ANSWERED, "42710"},
    {TS_STORE_BAD_BATCH, "", TS_CALL_APPLY, TS_TXN_CLASS_PERMANENT, ANSWERED, "22023"},
    {TS_STORE_TOO_LARGE, "", TS_CALL_APPLY, TS_TXN_CLASS_PERMANENT, ANSWERED, "54000"},
    {TS_STORE_FULL, "", TS_CALL_APPLY, TS_TXN_CLASS_PERMANENT, INFRA, "53100"},
    {TS_STORE_FOREIGN, "", TS_CALL_APPLY, TS_TXN_CLASS_PERMANENT, ANSWERED, "58000"},
    {TS_STORE_CLOSING, "", TS_CALL_PREPARE, TS_TXN_CLASS_PERMANENT, ANSWERED, "58000"},
    {TS_STORE_BAD_USAGE, "F0000", TS_CALL_PREPARE, TS_TXN_CLASS_PERMANENT, ANSWERED, "F0000"},
    {TS_STORE_BAD_CONFIGURATION, "55000", TS_CALL_PREPARE, TS_TXN_CLASS_PERMANENT, ANSWERED, "55000"},
    {TS_STORE_DAMAGED, "", TS_CALL_READ, TS_TXN_CLASS_PERMANENT, INFRA, "XX001"},
    {TS_STORE_FAILED, "40001", TS_CALL_APPLY, TS_TXN_CLASS_CONFLICT, REPEAT | ANSWERED, "40001"},
    {TS_STORE_FAILED, "40P01", TS_CALL_APPLY, TS_TXN_CLASS_CONFLICT, REPEAT | ANSWERED, "40001"},
    {TS_STORE_FAILED, "55P03", TS_CALL_APPLY, TS_TXN_CLASS_CONFLICT, REPEAT | ANSWERED, "40001"},
    {TS_STORE_FAILED, "53300", TS_CALL_APPLY, TS_TXN_CLASS_TRANSIENT, REPEAT, "53300"},
    {TS_STORE_FAILED, "53200", TS_CALL_APPLY, TS_TXN_CLASS_TRANSIENT, REPEAT, "53300"},
    {TS_STORE_FAILED, "57P03", TS_CALL_APPLY, TS_TXN_CLASS_TRANSIENT, REPEAT | INFRA, "40000"},
    {TS_STORE_FAILED, "53100", TS_CALL_APPLY, TS_TXN_CLASS_PERMANENT, INFRA, "53100"},
    {TS_STORE_FAILED, "57014", TS_CALL_APPLY, TS_TXN_CLASS_TIMEOUT, 0, "40000"},
    {TS_STORE_FAILED, "22001", TS_CALL_APPLY, TS_TXN_CLASS_PERMANENT, ANSWERED, "22001"},
    {TS_STORE_FAILED, "23505", TS_CALL_APPLY, TS_TXN_CLASS_PERMANENT, ANSWERED, "23505"},
    {TS_STORE_FAILED, "42P01", TS_CALL_APPLY, TS_TXN_CLASS_PERMANENT, ANSWERED, "42P01"},
    {TS_STORE_FAILED, "0A000", TS_CALL_APPLY, TS_TXN_CLASS_PERMANENT, ANSWERED, "0A000"},
    {TS_STORE_FAILED, "25006", TS_CALL_APPLY, TS_TXN_CLASS_PERMANENT, ANSWERED, "25006"},
    {TS_STORE_FAILED, "58030", TS_CALL_APPLY, TS_TXN_CLASS_PERMANENT, INFRA, "58030"},
    {TS_STORE_FAILED, "", TS_CALL_APPLY, TS_TXN_CLASS_PERMANENT, ANSWERED, "XX000"},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void every_store_result_has_its_class_and_flags(void **state) {
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        struct ts_txn_cause cause = store_cause(row->result, row->sqlstate, row->call);
        struct ts_txn_error_verdict verdict = ts_txn_error_classify(&cause);
        if (verdict.error_class != row->error_class || verdict.repeatable != !!(row->flags & REPEAT) ||
            verdict.infrastructure != !!(row->flags & INFRA) || verdict.answered != !!(row->flags & ANSWERED))
            fail_msg("row %zu (%d, %s): class %d, repeatable %d, infrastructure %d, answered %d", i,
                     (int)row->result, row->sqlstate, (int)verdict.error_class, verdict.repeatable,
                     verdict.infrastructure, verdict.answered);
    }
}

static void no_result_is_left_out_of_the_table(void **state) {
    (void)state;
#define EXPECT_ROW(suffix, text, ...)                                                                        \
    {                                                                                                        \
        bool found = TS_STORE_##suffix == TS_STORE_OK;                                                       \
        for (size_t i = 0; i < ROWS; i++)                                                                    \
            found |= rows[i].result == TS_STORE_##suffix;                                                    \
        if (!found)                                                                                          \
            fail_msg("no row for %s", text);                                                                 \
    }
    TS_STORE_RESULTS(EXPECT_ROW)
#undef EXPECT_ROW
}

static void an_abort_gives_the_client_the_code_of_its_cause(void **state) {
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        struct ts_txn_cause cause = store_cause(rows[i].result, rows[i].sqlstate, rows[i].call);
        assert_string_equal(ts_txn_sqlstate(TS_TXN_END_ABORTED, &cause).text, rows[i].client);
    }
}

/* 08006 asks the client to look up the transaction, so it must never stand for a known abort. */
static void a_known_abort_is_never_reported_as_unknown(void **state) {
    (void)state;
    static const char *const codes[] = {"", "08000", "08001", "08003", "08006", "57P01"};
#define EXPECT_NOT_UNKNOWN(suffix, ...)                                                                      \
    for (size_t i = 0; TS_STORE_##suffix != TS_STORE_OK && i < sizeof codes / sizeof codes[0]; i++) {        \
        struct ts_txn_cause cause = store_cause(TS_STORE_##suffix, codes[i], TS_CALL_APPLY);                 \
        assert_int_not_equal(strncmp(ts_txn_sqlstate(TS_TXN_END_ABORTED, &cause).text, "08", 2), 0);         \
    }
    TS_STORE_RESULTS(EXPECT_NOT_UNKNOWN)
#undef EXPECT_NOT_UNKNOWN
}

static void expect_guard(struct ts_txn_cause cause, const char *client, bool repeatable, const char *reason) {
    assert_string_equal(ts_txn_sqlstate(TS_TXN_END_ABORTED, &cause).text, client);
    assert_int_equal(ts_txn_error_classify(&cause).repeatable, repeatable);
    assert_string_equal(ts_txn_abort_reason_name(ts_txn_cause_reason(&cause)), reason);
}

static void decisions_of_guards_have_the_codes_of_the_specification(void **state) {
    (void)state;
    expect_guard((struct ts_txn_cause){.kind = TS_TXN_CAUSE_ADMISSION}, "53300", true, "admission");
    expect_guard((struct ts_txn_cause){.kind = TS_TXN_CAUSE_BREAKER}, "53300", true, "circuit_breaker");
    expect_guard((struct ts_txn_cause){.kind = TS_TXN_CAUSE_REPLICATION_LAG}, "53301", true,
                 "replication_lag");
    expect_guard((struct ts_txn_cause){.kind = TS_TXN_CAUSE_DEADLOCK}, "40000", false, "deadlock");
    expect_guard((struct ts_txn_cause){.kind = TS_TXN_CAUSE_RESOLVER}, "40000", false, "resolver");
    expect_guard((struct ts_txn_cause){.kind = TS_TXN_CAUSE_FENCED}, "40000", false, "fenced");
    expect_guard(ts_txn_cause_of_timeout(TS_TXN_TIMEOUT_COORD_QUEUE), "53300", true, "timeout");
    expect_guard(ts_txn_cause_of_timeout(TS_TXN_TIMEOUT_PREPARE), "40000", false, "timeout");
    expect_guard(ts_txn_cause_of_timeout(TS_TXN_TIMEOUT_TOTAL), "40000", false, "timeout");
    expect_guard(store_cause(TS_STORE_UNKNOWN, "08006", TS_CALL_PREPARE), "40000", false, "lost_reply");
    expect_guard(store_cause(TS_STORE_CHECK_FAILED, "", TS_CALL_APPLY), "40001", false, "conflict");
    expect_guard(store_cause(TS_STORE_BUSY, "", TS_CALL_APPLY), "53300", true, "transient");
    expect_guard(store_cause(TS_STORE_LIMIT, "", TS_CALL_APPLY), "54000", false, "permanent");
}

static void the_end_decides_before_the_cause(void **state) {
    (void)state;
    struct ts_txn_cause cause = store_cause(TS_STORE_UNKNOWN, "08006", TS_CALL_APPLY);
    assert_string_equal(ts_txn_sqlstate(TS_TXN_END_COMMITTED, &cause).text, "00000");
    assert_string_equal(ts_txn_sqlstate(TS_TXN_END_COMMITTED_PENDING, &cause).text, "00000");
    assert_string_equal(ts_txn_sqlstate(TS_TXN_END_UNKNOWN, &cause).text, "08006");
}

/* If nothing was sent before the connection was lost, the client may try again. If something was sent, the
 * client must look up the outcome. */
static void a_lost_connection_is_transient_only_before_it_could_have_been_done(void **state) {
    (void)state;
    static const char *const codes[] = {"08000", "08003", "08006", "57P01", "57P02"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        assert_int_equal(ts_txn_error_class_of_sqlstate(codes[i], false), TS_TXN_CLASS_TRANSIENT);
        assert_int_equal(ts_txn_error_class_of_sqlstate(codes[i], true), TS_TXN_CLASS_TIMEOUT);
    }
    assert_int_equal(ts_txn_error_class_of_sqlstate("57014", true), TS_TXN_CLASS_TIMEOUT);
    assert_int_equal(ts_txn_error_class_of_sqlstate("40001", true), TS_TXN_CLASS_CONFLICT);
}

static void timeouts_and_permanent_errors_are_never_repeatable(void **state) {
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        struct ts_txn_cause cause = store_cause(rows[i].result, rows[i].sqlstate, rows[i].call);
        struct ts_txn_error_verdict verdict = ts_txn_error_classify(&cause);
        if (verdict.error_class == TS_TXN_CLASS_TIMEOUT || verdict.error_class == TS_TXN_CLASS_PERMANENT)
            assert_false(verdict.repeatable);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_store_result_has_its_class_and_flags),
        cmocka_unit_test(no_result_is_left_out_of_the_table),
        cmocka_unit_test(an_abort_gives_the_client_the_code_of_its_cause),
        cmocka_unit_test(a_known_abort_is_never_reported_as_unknown),
        cmocka_unit_test(decisions_of_guards_have_the_codes_of_the_specification),
        cmocka_unit_test(the_end_decides_before_the_cause),
        cmocka_unit_test(a_lost_connection_is_transient_only_before_it_could_have_been_done),
        cmocka_unit_test(timeouts_and_permanent_errors_are_never_repeatable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
