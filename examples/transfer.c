/*
 * transfer LEFT RIGHT: opens the cluster of the two stores in these folders, or creates it. Then the program
 * adds 100 to alice, and moves 5 from alice to eve in one transaction, whichever stores hold the two keys.
 */
#include <stdio.h>
#include <string.h>
#include <turnstone/cluster.h>
#include <turnstone/config.h>
#include <turnstone/txn.h>

/* Returns an operation that adds to a counter. The counter must stay between 0 and 1,000,000. */
static struct ts_op add(const char *key, int64_t delta) {
    struct ts_op op;
    memset(&op, 0, sizeof op);
    op.kind = TS_OP_ADD;
    op.key = ts_bytes_of_cstring(key);
    op.delta = delta;
    op.max = 1000000;
    return op;
}

static int run(struct ts_coordinator *coordinator, const char *what, const struct ts_op *ops, size_t count) {
    static struct ts_txn_result result; /* too large for a small stack */
    ts_txn_run(coordinator, ops, count, NULL, &result);
    printf("%s: %s on %zu store%s\n", what, ts_txn_outcome_text(result.outcome), result.place_count,
           result.place_count == 1 ? "" : "s");
    if (result.text[0] != '\0')
        fprintf(stderr, "transfer: %s: %s\n", result.sqlstate, result.text);
    return result.outcome == TS_TXN_COMMITTED || result.outcome == TS_TXN_COMMITTED_PENDING ? 0 : 1;
}

/* Makes the deposit and the transfer. One coordinator is enough for a process and all its threads. */
static int transfer(struct ts_cluster *cluster, const struct ts_txn_config *config) {
    struct ts_coordinator *coordinator;
    struct ts_txn_error_detail detail;
    if (ts_coordinator_open(cluster, config, &coordinator, &detail) != TS_TXN_ERROR_OK) {
        fprintf(stderr, "transfer: %s\n", detail.text);
        return 1;
    }
    const struct ts_op deposit[] = {add("alice", 100)};
    const struct ts_op move[] = {add("alice", -5), add("eve", 5)};
    int status = run(coordinator, "deposit", deposit, 1);
    if (status == 0)
        status = run(coordinator, "transfer", move, 2);
    ts_coordinator_close(coordinator);
    return status;
}

int main(int argc, char **argv) {
    char urls[1000];
    struct ts_config_error wrong;
    struct ts_cluster *cluster;
    struct ts_store_error error;
    if (argc != 3) {
        fprintf(stderr, "usage: transfer LEFT RIGHT\n");
        return 2;
    }
    struct ts_txn_config *config = ts_txn_config_new();
    if (config == NULL || ts_txn_config_set(config, "timeouts.prepare", "2s", &wrong) != TS_CONFIG_OK) {
        fprintf(stderr, "transfer: %s\n", config != NULL ? wrong.text : "out of memory");
        ts_txn_config_free(config);
        return 1;
    }
    int status = 1;
    snprintf(urls, sizeof urls, "rocksdb:%s,rocksdb:%s", argv[1], argv[2]);
    if (ts_cluster_init(urls, "xxh64", NULL, &cluster, &error) == TS_STORE_OK) {
        status = transfer(cluster, config);
        ts_cluster_close(cluster);
    } else {
        fprintf(stderr, "transfer: %s\n", error.text);
    }
    ts_txn_config_free(config);
    return status;
}
