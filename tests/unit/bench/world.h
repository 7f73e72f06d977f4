/* A cluster of memory stores for the tests of this folder. */
#ifndef TS_TESTS_BENCH_WORLD_H
#define TS_TESTS_BENCH_WORLD_H

#include "store/cluster/cluster.h"
#include "support/cmocka.h"

static struct ts_cluster *make_cluster(const char *urls, const char *routing) {
    struct ts_cluster *cluster = NULL;
    struct ts_store_error error = {0};
    const struct ts_cluster_options options = {0};
    if (ts_cluster_init(urls, routing, &options, &cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    return cluster;
}

#endif
