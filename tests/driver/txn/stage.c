#include "stage.h"

#include "store/cluster/open.h"
#include "support/cmocka.h"

#include "base/bytes.h"
#include "base/number.h"
#include "os/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void stage_open(struct stage *stage) {
    struct ts_txn_error_detail detail;
    if (ts_coordinator_open(stage->cluster, &stage->config, &stage->coordinator, &detail) != TS_TXN_ERROR_OK)
        fail_msg("%s", detail.text);
}

void stage_close(struct stage *stage) {
    ts_coordinator_close(stage->coordinator);
    stage->coordinator = NULL;
}

static uint64_t wall_ms(void *context) {
    const struct stage *stage = context;
    return ts_clock_wall_ms() + stage->ahead_ms;
}

static uint64_t monotonic_ns(void *context) {
    (void)context;
    return ts_clock_monotonic_ns();
}

void stage_init(struct stage *stage, size_t count) {
    memset(stage, 0, sizeof *stage);
    stage->count = count;
    stage->clock = (struct ts_store_clock){wall_ms, monotonic_ns, stage};
    ts_txn_config_init(&stage->config);
    for (size_t i = 0; i < count; i++) {
        char name[20];
        snprintf(name, sizeof name, "stage%zu", i);
        stage->memories[i] = ts_memory_new(name, &stage->clock);
        assert_non_null(stage->memories[i]);
        stage->faults[i] = ts_fault_new(ts_memory_open(stage->memories[i]), i);
        assert_non_null(stage->faults[i]);
    }
    struct ts_store_error error;
    const struct ts_cluster_options options = {0};
    if (ts_cluster_init_over(stage->faults, count, "xxh64", &options, &stage->cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
}

struct ts_cluster *stage_other_process(struct stage *stage) {
    struct ts_store *stores[STAGE_STORES_MAX];
    for (size_t i = 0; i < stage->count; i++)
        stores[i] = ts_memory_open(stage->memories[i]);
    struct ts_store_error error;
    struct ts_cluster *cluster = NULL;
    const struct ts_cluster_options options = {.any_step = true};
    if (ts_cluster_open_over(stores, stage->count, &options, &cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    return cluster;
}

static void remove_directory(const char *path) {
    pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", "--", path, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

void stage_release(struct stage *stage) {
    stage_close(stage);
    ts_cluster_close(stage->cluster);
    for (size_t i = 0; i < stage->count; i++)
        ts_memory_free(stage->memories[i]);
    if (stage->directory[0] != '\0')
        remove_directory(stage->directory);
}

void stage_name_rocksdb(struct stage *stage, size_t count) {
    memset(stage, 0, sizeof *stage);
    stage->count = count;
    ts_txn_config_init(&stage->config);
    const char *folder = getenv("TMPDIR");
    snprintf(stage->directory, sizeof stage->directory, "%s/txn-XXXXXX", folder != NULL ? folder : "/tmp");
    assert_non_null(mkdtemp(stage->directory));
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(stage->urls);
        snprintf(stage->urls + len, sizeof stage->urls - len, "%srocksdb:%s/%zu", i == 0 ? "" : ",",
                 stage->directory, i);
    }
}

void stage_init_rocksdb(struct stage *stage, size_t count) {
    stage_name_rocksdb(stage, count);
    struct ts_store_error error;
    struct ts_cluster *cluster = NULL;
    const struct ts_cluster_options options = {0};
    if (ts_cluster_init(stage->urls, "xxh64", &options, &cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    ts_cluster_close(cluster);
}

struct ts_cluster *stage_open_rocksdb(const struct stage *stage, bool any_step) {
    struct ts_store_error error;
    struct ts_cluster *cluster = NULL;
    const struct ts_cluster_options options = {.any_step = any_step, .store = {.wait_ms = 10000}};
    if (ts_cluster_open(stage->urls, &options, &cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    return cluster;
}

void stage_open_rocksdb_with_faults(struct stage *stage) {
    const struct ts_store_options options = {.wait_ms = 10000};
    struct ts_store_error error;
    for (size_t i = 0; i < stage->count; i++) {
        char url[300];
        struct ts_store *store = NULL;
        snprintf(url, sizeof url, "rocksdb:%s/%zu", stage->directory, i);
        if (ts_store_open(url, &options, &store, &error) != TS_STORE_OK)
            fail_msg("%s", error.text);
        stage->faults[i] = ts_fault_new(store, i);
        assert_non_null(stage->faults[i]);
    }
    const struct ts_cluster_options cluster = {0};
    if (ts_cluster_open_over(stage->faults, stage->count, &cluster, &stage->cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
}

void stage_key(const struct ts_cluster *cluster, size_t place, const char *name, char ret_key[40]) {
    for (unsigned i = 0;; i++) {
        snprintf(ret_key, 40, "%s%u", name, i);
        if (ts_cluster_place_of_key(cluster, ts_bytes_of_cstring(ret_key)) == place)
            return;
    }
}

static struct ts_row read_one(struct ts_cluster *cluster, size_t place, const char *key,
                              struct ts_rows *rows) {
    struct ts_bytes bytes = ts_bytes_of_cstring(key);
    struct ts_call call = {.kind = TS_CALL_READ, .keys = &bytes, .key_count = 1, .rows = rows};
    if (ts_store_run(ts_cluster_store(cluster, place), &call) != TS_STORE_OK)
        fail_msg("%s", call.error.text);
    return rows->rows[0];
}

int64_t stage_number(struct ts_cluster *cluster, size_t place, const char *key) {
    struct ts_rows rows = {0};
    struct ts_row row = read_one(cluster, place, key, &rows);
    int64_t number = -1;
    if (row.version != 0)
        assert_int_equal(ts_i64_parse(row.value, &number), TS_NUMBER_OK);
    ts_rows_release(&rows);
    return number;
}

uint64_t stage_version(struct ts_cluster *cluster, size_t place, const char *key) {
    struct ts_rows rows = {0};
    uint64_t version = read_one(cluster, place, key, &rows).version;
    ts_rows_release(&rows);
    return version;
}

size_t stage_promises(struct ts_cluster *cluster) {
    size_t count = 0;
    struct ts_rows rows = {0};
    for (size_t i = 0; i < ts_cluster_count(cluster); i++) {
        struct ts_call call = {.kind = TS_CALL_PREPARED, .rows = &rows};
        assert_int_equal(ts_store_run(ts_cluster_store(cluster, i), &call), TS_STORE_OK);
        count += rows.count;
    }
    ts_rows_release(&rows);
    return count;
}

size_t stage_records(struct ts_cluster *cluster) {
    static const uint8_t from[] = {0, 'x', 'c'};
    static const uint8_t to[] = {0, 'x', 'o'};
    size_t count = 0;
    struct ts_rows rows = {0};
    for (size_t i = 0; i < ts_cluster_count(cluster); i++) {
        struct ts_call call = {
            .kind = TS_CALL_SCAN, .from = {from, 3}, .to = {to, 3}, .limit = 10000, .rows = &rows};
        assert_int_equal(ts_store_run(ts_cluster_store(cluster, i), &call), TS_STORE_OK);
        count += rows.count;
    }
    ts_rows_release(&rows);
    return count;
}

size_t stage_keys(struct ts_cluster *cluster, size_t place, char kind, uint64_t *ret_version) {
    const uint8_t from[] = {0, 'x', (uint8_t)kind};
    const uint8_t to[] = {0, 'x', (uint8_t)(kind + 1)};
    struct ts_rows rows = {0};
    struct ts_call call = {
        .kind = TS_CALL_SCAN, .from = {from, 3}, .to = {to, 3}, .limit = 10000, .rows = &rows};
    if (ts_store_run(ts_cluster_store(cluster, place), &call) != TS_STORE_OK)
        fail_msg("%s", call.error.text);
    size_t count = rows.count;
    if (ret_version != NULL)
        *ret_version = count > 0 ? rows.rows[0].version : 0;
    ts_rows_release(&rows);
    return count;
}

void stage_wait_until(bool (*done)(void)) {
    for (int i = 0; i < 2000 && !done(); i++)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    assert_true(done());
}

void stage_hold(struct stage *stage, size_t place, const char *key) {
    struct ts_op op = stage_add(key, 1);
    struct ts_call promise = {.kind = TS_CALL_PREPARE, .gid = "held", .batch = {&op, 1}};
    assert_int_equal(ts_store_run(ts_cluster_store(stage->cluster, place), &promise), TS_STORE_OK);
}

void stage_let_go(struct stage *stage, size_t place) {
    struct ts_call abort = {.kind = TS_CALL_ABORT, .gid = "held"};
    assert_int_equal(ts_store_run(ts_cluster_store(stage->cluster, place), &abort), TS_STORE_OK);
}

enum { METRICS_MAX = 200000 };

static bool append(void *context, struct ts_bytes text) {
    char *all = context;
    size_t len = strlen(all);
    assert_true(len + text.len < METRICS_MAX);
    memcpy(all + len, text.data, text.len);
    all[len + text.len] = '\0';
    return true;
}

uint64_t stage_metric(const struct stage *stage, const char *text) {
    char *all = calloc(1, METRICS_MAX + 1);
    assert_non_null(all);
    assert_true(ts_coordinator_metrics(stage->coordinator, append, all));
    const char *found = strstr(all, text);
    assert_non_null(found);
    uint64_t number = strtoull(found + strlen(text), NULL, 10);
    free(all);
    return number;
}

bool stage_shows(const struct stage *stage, const char *text) {
    char *all = calloc(1, METRICS_MAX + 1);
    assert_non_null(all);
    assert_true(ts_coordinator_metrics(stage->coordinator, append, all));
    bool found = strstr(all, text) != NULL;
    free(all);
    return found;
}

void stage_fault(struct stage *stage, size_t place, enum ts_call_kind call, enum ts_fault_kind kind,
                 enum ts_store_result result, uint64_t times) {
    struct ts_fault_rule rule = {
        .kind = kind, .calls = TS_FAULT_CALL(call), .times = times, .result = result};
    ts_fault_add(stage->faults[place], &rule);
}

void stage_fault_decision(struct stage *stage, size_t place, enum ts_fault_kind kind) {
    static const uint8_t decision[] = {0, 'x', 'd'};
    struct ts_fault_rule rule = {
        .kind = kind, .calls = TS_FAULT_CALL(TS_CALL_APPLY), .puts = {decision, sizeof decision}, .times = 1};
    ts_fault_add(stage->faults[place], &rule);
}

void stage_no_faults(struct stage *stage) {
    for (size_t i = 0; i < stage->count; i++)
        ts_fault_clear(stage->faults[i]);
}

struct ts_op stage_add(const char *key, int64_t delta) {
    return (struct ts_op){
        .kind = TS_OP_ADD, .key = ts_bytes_of_cstring(key), .delta = delta, .max = INT64_MAX};
}

struct ts_op stage_put(const char *key, const char *value) {
    return (struct ts_op){
        .kind = TS_OP_PUT, .key = ts_bytes_of_cstring(key), .value = ts_bytes_of_cstring(value)};
}
