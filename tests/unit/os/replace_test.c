#include "os/replace.h"

#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static const char *in_folder(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/replace_test.XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where) {
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static int remove_folder(void **state) {
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static const char *get(const char *path) {
    static char text[100];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return NULL;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static int count;
static int count_one(const char *path, const struct stat *status, int kind, struct FTW *where) {
    (void)path;
    (void)status;
    (void)where;
    count += kind == FTW_F || kind == FTW_SL;
    return 0;
}

static int files(void) {
    count = 0;
    assert_int_equal(nftw(folder, count_one, 8, FTW_PHYS), 0);
    return count;
}

static void a_file_appears_when_it_is_complete(void **state) {
    (void)state;
    struct ts_replace file;
    assert_true(ts_replace_open(&file, in_folder("new"), 0600));
    assert_int_equal(write(file.fd, "text", 4), 4);
    assert_null(get(in_folder("new")));
    assert_true(ts_replace_commit(&file));
    assert_string_equal(get(in_folder("new")), "text");
    struct stat status;
    assert_int_equal(stat(in_folder("new"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(files(), 1);
}

static void an_old_file_stays_until_then_and_keeps_its_permissions(void **state) {
    (void)state;
    put(in_folder("old"), "old");
    assert_int_equal(chmod(in_folder("old"), 0640), 0);
    struct ts_replace file;
    assert_true(ts_replace_open(&file, in_folder("old"), 0600));
    assert_int_equal(write(file.fd, "new", 3), 3);
    assert_string_equal(get(in_folder("old")), "old");
    assert_true(ts_replace_commit(&file));
    assert_string_equal(get(in_folder("old")), "new");
    struct stat status;
    assert_int_equal(stat(in_folder("old"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
}

static void an_abandoned_file_leaves_nothing(void **state) {
    (void)state;
    put(in_folder("old"), "old");
    struct ts_replace file;
    assert_true(ts_replace_open(&file, in_folder("old"), 0600));
    assert_int_equal(write(file.fd, "new", 3), 3);
    ts_replace_abandon(&file);
    assert_string_equal(get(in_folder("old")), "old");
    assert_int_equal(files(), 1);
}

static void a_link_stays_a_link(void **state) {
    (void)state;
    put(in_folder("old"), "old");
    assert_int_equal(symlink("old", in_folder("link")), 0);
    struct ts_replace file;
    assert_true(ts_replace_open(&file, in_folder("link"), 0600));
    assert_int_equal(write(file.fd, "new", 3), 3);
    assert_true(ts_replace_commit(&file));
    struct stat status;
    assert_int_equal(lstat(in_folder("link"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_string_equal(get(in_folder("old")), "new");
}

static void a_pipe_is_written_into(void **state) {
    (void)state;
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    int reader = open(in_folder("pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    struct ts_replace file;
    assert_true(ts_replace_open(&file, in_folder("pipe"), 0600));
    assert_int_equal(write(file.fd, "new", 3), 3);
    assert_true(ts_replace_commit(&file));
    char text[4] = {0};
    assert_int_equal(read(reader, text, 3), 3);
    assert_string_equal(text, "new");
    close(reader);
}

static void failures_say_why(void **state) {
    (void)state;
    struct ts_replace file;
    assert_false(ts_replace_open(&file, in_folder("no/where"), 0600));
    assert_int_equal(errno, ENOENT);
    assert_false(ts_replace_open(&file, folder, 0600));
    assert_int_equal(errno, EISDIR);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_appears_when_it_is_complete, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(an_old_file_stays_until_then_and_keeps_its_permissions, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(an_abandoned_file_leaves_nothing, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_link_stays_a_link, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_pipe_is_written_into, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(failures_say_why, make_folder, remove_folder),
    };
    return cmocka_run_group_tests_name("replace", tests, NULL, NULL);
}
