#include "moved_time.h"
#include "suite.h"

static struct ts_cluster *open_cluster(void) {
    struct ts_cluster *cluster = NULL;
    struct ts_store_error error;
    const struct ts_cluster_options options = {.store = {.clock = &time_clock}};
    if (ts_cluster_init("memory:a,memory:b,memory:c", "xxh64", &options, &cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    return cluster;
}

static const struct suite_fixture fixture = {
    .name = "coord on memory", .open = open_cluster, .lease_ms = 60000, .pass_ms = time_pass_ms};

int main(void) {
    return suite_main(&fixture);
}
