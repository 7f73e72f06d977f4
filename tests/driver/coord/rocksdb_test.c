/* The suite on RocksDB. The argument is the number of stores. */
#include "moved_time.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int stores;
static char directory[200];

static struct ts_cluster *open_cluster(void) {
    const char *folder = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/coord-XXXXXX", folder != NULL ? folder : "/tmp");
    assert_non_null(mkdtemp(directory));
    char urls[2000] = "";
    for (int i = 0; i < stores; i++) {
        const size_t len = strlen(urls);
        snprintf(urls + len, sizeof urls - len, "%srocksdb:%s/%d", i == 0 ? "" : ",", directory, i);
    }
    struct ts_cluster *cluster = NULL;
    struct ts_store_error error;
    const struct ts_cluster_options options = {.store = {.clock = &time_clock}};
    if (ts_cluster_init(urls, "xxh64", &options, &cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    return cluster;
}

static void clean(void) {
    pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", "--", directory, (char *)NULL);
        _exit(127);
    }
    (void)waitpid(pid, NULL, 0);
}

static const struct suite_fixture fixture = {.name = "coord on rocksdb",
                                             .open = open_cluster,
                                             .lease_ms = 60000,
                                             .pass_ms = time_pass_ms,
                                             .clean = clean};

int main(int argc, char **argv) {
    stores = argc > 1 ? argv[1][0] - (int)'0' : 1;
    return suite_main(&fixture);
}
