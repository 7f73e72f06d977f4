#include "contract.h"

#include "os/clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const struct contract_fixture *contract_fixture;
const char *contract_program;

static struct contract_world world;

int contract_fresh(void **state) {
    world = (struct contract_world){.place = contract_fixture->set_up()};
    world.store = contract_fixture->open(world.place);
    *state = &world;
    return 0;
}

int contract_clean(void **state) {
    (void)state;
    ts_rows_release(&world.rows);
    ts_store_close(world.store);
    contract_fixture->tear_down(world.place);
    return 0;
}

void contract_reopen(struct contract_world *of) {
    ts_store_close(of->store);
    of->store = NULL;
    of->store = contract_fixture->open(of->place);
}

struct ts_bytes contract_text(const char *text) {
    return ts_bytes_of_cstring(text);
}

struct ts_op contract_put(const char *key, const char *value) {
    return (struct ts_op){.kind = TS_OP_PUT, .key = contract_text(key), .value = contract_text(value)};
}

struct ts_op contract_check(const char *key, uint64_t version) {
    return (struct ts_op){.kind = TS_OP_CHECK, .key = contract_text(key), .version = version};
}

struct ts_op contract_del(const char *key) {
    return (struct ts_op){.kind = TS_OP_DEL, .key = contract_text(key)};
}

struct ts_op contract_add(const char *key, int64_t delta, uint64_t max) {
    return (struct ts_op){.kind = TS_OP_ADD, .key = contract_text(key), .delta = delta, .max = max};
}

struct ts_op contract_before(uint64_t time_ms) {
    return (struct ts_op){.kind = TS_OP_BEFORE, .time_ms = time_ms};
}

uint64_t contract_deadline_ns(uint64_t ms) {
    return ts_clock_monotonic_ns() + ms * 1000000;
}

/* Returns whether the store refused the call because of the contents of the call. */
static bool refuses(enum ts_store_result result) {
    return result == TS_STORE_CHECK_FAILED || result == TS_STORE_LIMIT || result == TS_STORE_NOT_A_COUNTER ||
           result == TS_STORE_LATE;
}

static bool names_a_store(const char *text) {
    return strstr(text, "memory:") != NULL || strstr(text, "rocksdb:") != NULL ||
           strstr(text, "postgresql:") != NULL;
}

void contract_expect(const struct ts_call *call, enum ts_store_result expected, const char *file, int line) {
    if (call->error.result != expected) {
        print_error("%s, not %s: %s\n", ts_store_result_text(call->error.result),
                    ts_store_result_text(expected), call->error.text);
        _fail(file, line);
    }
    if (expected != TS_STORE_OK && (call->error.text[0] == '\0' || strlen(call->error.sqlstate) != 5)) {
        print_error("%s without a text or a SQLSTATE\n", ts_store_result_text(expected));
        _fail(file, line);
    }
    if (refuses(expected) && !names_a_store(call->error.text)) {
        print_error("the text names no store: %s\n", call->error.text);
        _fail(file, line);
    }
}

struct ts_call contract_run_apply(struct ts_store *store, const struct ts_op *ops, size_t count,
                                  uint64_t deadline_ns) {
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {ops, count}, .deadline_ns = deadline_ns};
    (void)ts_store_run(store, &call);
    return call;
}

struct ts_call contract_run_prepare(struct ts_store *store, const char *gid, const struct ts_op *ops,
                                    size_t count) {
    struct ts_call call = {.kind = TS_CALL_PREPARE,
                           .gid = gid,
                           .batch = {ops, count},
                           .deadline_ns = contract_deadline_ns(CONTRACT_LONG_MS)};
    (void)ts_store_run(store, &call);
    return call;
}

struct ts_call contract_run_gid(struct ts_store *store, enum ts_call_kind kind, const char *gid) {
    struct ts_call call = {.kind = kind, .gid = gid, .deadline_ns = contract_deadline_ns(CONTRACT_LONG_MS)};
    (void)ts_store_run(store, &call);
    return call;
}

uint64_t contract_version(struct contract_world *of, const char *key) {
    const struct ts_bytes keys[] = {contract_text(key)};
    struct ts_call call = {.kind = TS_CALL_READ,
                           .keys = keys,
                           .key_count = 1,
                           .rows = &of->rows,
                           .deadline_ns = contract_deadline_ns(CONTRACT_LONG_MS)};
    (void)ts_store_run(of->store, &call);
    expect_result(&call, TS_STORE_OK);
    assert_int_equal(of->rows.count, 1);
    return of->rows.rows[0].version;
}

void contract_expect_value(struct contract_world *of, const char *key, const char *value, const char *file,
                           int line) {
    uint64_t version = contract_version(of, key);
    struct ts_bytes got = of->rows.rows[0].value;
    bool same = value == NULL ? version == 0 : version != 0 && ts_bytes_equal(got, contract_text(value));
    if (!same) {
        print_error("%s is %s \"%.*s\", not \"%s\"\n", key, version == 0 ? "absent" : "there", (int)got.len,
                    (const char *)got.data, value == NULL ? "(absent)" : value);
        _fail(file, line);
    }
}

uint64_t contract_now_ms(struct ts_store *store) {
    struct ts_call call = {.kind = TS_CALL_NOW, .deadline_ns = contract_deadline_ns(CONTRACT_LONG_MS)};
    (void)ts_store_run(store, &call);
    expect_result(&call, TS_STORE_OK);
    return call.time_ms;
}

size_t contract_promises(struct contract_world *of) {
    struct ts_call call = {
        .kind = TS_CALL_PREPARED, .rows = &of->rows, .deadline_ns = contract_deadline_ns(CONTRACT_LONG_MS)};
    (void)ts_store_run(of->store, &call);
    expect_result(&call, TS_STORE_OK);
    return of->rows.count;
}

struct contract_child contract_child_start(struct contract_world *of, const char *job) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const char *url = contract_fixture->url(of->place);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        /* Threads of the database do not survive a fork, so the child executes this program again. */
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(contract_program, contract_program, "--child", url, job, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    return (struct contract_child){.pid = pid, .said = ends[0]};
}

bool contract_child_line(const struct contract_child *child, char *ret_line, size_t size) {
    size_t len = 0;
    char c;
    while (len + 1 < size && read(child->said, &c, 1) == 1) {
        if (c == '\n') {
            ret_line[len] = '\0';
            return true;
        }
        ret_line[len++] = c;
    }
    return false;
}

void contract_child_kill(struct contract_child *child) {
    kill(child->pid, SIGKILL);
    assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
    close(child->said);
}

static size_t count_of(const struct CMUnitTest *tests) {
    size_t count = 0;
    while (tests[count].name != NULL)
        count++;
    return count;
}

int contract_main(int argc, char **argv, const struct contract_fixture *fixture) {
    contract_fixture = fixture;
    if (argc == 4 && strcmp(argv[1], "--child") == 0)
        contract_child_main(argv[2], argv[3]);
    contract_program = "/proc/self/exe";
    static const struct CMUnitTest *const parts[] = {
        contract_batch_tests, contract_scan_tests,   contract_promise_tests, contract_meta_tests,
        contract_limit_tests, contract_thread_tests, contract_kill_tests};
    enum { MOST = 200 };
    static struct CMUnitTest all[MOST];
    size_t count = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        /* Without a URL no child process can open the store. */
        size_t more = parts[i] == contract_kill_tests && fixture->url == NULL ? 0 : count_of(parts[i]);
        if (count + more > MOST)
            return 1;
        memcpy(all + count, parts[i], more * sizeof *all);
        count += more;
    }
    return _cmocka_run_group_tests(fixture->name, all, count, NULL, NULL);
}
