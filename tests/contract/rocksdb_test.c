#include "contract.h"
#include "store/cluster/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct directory {
    char path[200];
    char url[220];
};

static void *set_up(void) {
    struct directory *directory = calloc(1, sizeof *directory);
    assert_non_null(directory);
    const char *folder = getenv("TMPDIR");
    snprintf(directory->path, sizeof directory->path, "%s/contract-XXXXXX", folder != NULL ? folder : "/tmp");
    assert_non_null(mkdtemp(directory->path));
    snprintf(directory->url, sizeof directory->url, "rocksdb:%s", directory->path);
    return directory;
}

static void tear_down(void *place) {
    struct directory *directory = place;
    pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", "--", directory->path, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    free(directory);
}

static struct ts_store *open_directory(void *place) {
    struct directory *directory = place;
    struct ts_store *store = NULL;
    struct ts_store_error error;
    const struct ts_store_options options = {0};
    if (ts_store_open(directory->url, &options, &store, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    return store;
}

static const char *url_of(void *place) {
    return ((struct directory *)place)->url;
}

static const struct contract_fixture fixture = {
    .name = "rocksdb", .set_up = set_up, .tear_down = tear_down, .open = open_directory, .url = url_of};

int main(int argc, char **argv) {
    return contract_main(argc, argv, &fixture);
}
