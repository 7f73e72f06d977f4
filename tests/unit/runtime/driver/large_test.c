#include "large.h"

#include "support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[400];

static void make_folder(const char *name) {
    char path[500];
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* Makes a file of this size that uses no space on the disk. */
static void make_file(const char *name, uint64_t size) {
    char path[500];
    snprintf(path, sizeof path, "%s/%s", root, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    assert_int_equal(close(fd), 0);
}

static bool is_large(const char *name) {
    char path[500];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return runtime__is_large(path);
}

static int begin(void **state) {
    (void)state;
    const char *folder = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe) */
    snprintf(root, sizeof root, "%.300s/large-XXXXXX", folder != NULL ? folder : "/tmp");
    return mkdtemp(root) == NULL;
}

static int end(void **state) {
    char command[500];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command); /* NOLINT(cert-env33-c): a test */
}

static void large_packs_are_large(void **state) {
    (void)state;
    make_folder("bare");
    assert_false(is_large("bare"));
    make_folder("bare/objects");
    make_folder("bare/objects/pack");
    make_file("bare/objects/pack/a.pack", RUNTIME__LARGE_BYTES - 1);
    assert_false(is_large("bare"));
    make_file("bare/objects/pack/b.pack", 1);
    assert_true(is_large("bare"));
    make_folder("tree");
    make_folder("tree/.git");
    make_folder("tree/.git/objects");
    make_folder("tree/.git/objects/pack");
    make_file("tree/.git/objects/pack/a.pack", RUNTIME__LARGE_BYTES);
    assert_true(is_large("tree"));
}

static void many_loose_objects_are_large(void **state) {
    (void)state;
    make_folder("loose");
    make_folder("loose/objects");
    for (unsigned i = 0; i < 256; i++) {
        char name[40];
        snprintf(name, sizeof name, "loose/objects/%02x", i);
        make_folder(name);
        snprintf(name, sizeof name, "loose/objects/%02x/object", i);
        make_file(name, RUNTIME__LARGE_BYTES / 256 - 1);
    }
    assert_false(is_large("loose"));
    for (unsigned i = 0; i < 256; i++) {
        char name[40];
        snprintf(name, sizeof name, "loose/objects/%02x/other", i);
        make_file(name, 1);
    }
    assert_true(is_large("loose"));
}

static void write_alternates(const char *text) {
    char path[500];
    snprintf(path, sizeof path, "%s/fork/objects/info/alternates", root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void a_fork_that_shares_a_large_pool_is_large(void **state) {
    (void)state;
    char absolute[500];
    make_folder("pool");
    make_folder("pool/objects");
    make_folder("pool/objects/pack");
    make_file("pool/objects/pack/a.pack", RUNTIME__LARGE_BYTES);
    make_folder("fork");
    make_folder("fork/objects");
    make_folder("fork/objects/info");
    write_alternates("# a comment\n\n../../gone/objects\n");
    assert_false(is_large("fork"));
    write_alternates("../../gone/objects\n../../pool/objects\n");
    assert_true(is_large("fork"));
    snprintf(absolute, sizeof absolute, "%s/pool/objects", root);
    write_alternates(absolute);
    assert_true(is_large("fork"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_packs_are_large),
        cmocka_unit_test(many_loose_objects_are_large),
        cmocka_unit_test(a_fork_that_shares_a_large_pool_is_large),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
