#include "os/unnamed_file.h"
#include "support/cmocka.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t count_entries(const char *folder) {
    size_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count - 2;
}

static void a_file_can_be_written_and_read_and_has_no_name(void **state) {
    (void)state;
    char folder[] = "/tmp/unnamed-XXXXXX";
    assert_non_null(mkdtemp(folder));
    int fd = ts_unnamed_file_open(folder);
    assert_true(fd >= 0);
    assert_int_equal(count_entries(folder), 0);
    struct stat about;
    assert_int_equal(fstat(fd, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    char back[4] = "";
    assert_int_equal(write(fd, "abc", 3), 3);
    assert_int_equal(pread(fd, back, 3, 0), 3);
    assert_string_equal(back, "abc");
    close(fd);
    assert_int_equal(rmdir(folder), 0);
}

static void a_folder_that_is_not_there_is_a_failure(void **state) {
    (void)state;
    assert_int_equal(ts_unnamed_file_open("/nowhere/at/all"), -1);
    assert_int_equal(errno, ENOENT);
    char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(ts_unnamed_file_open(longest), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

static void a_file_in_memory_is_read_from_its_start(void **state) {
    (void)state;
    static char content[100000];
    static char back[sizeof content + 1];
    memset(content, 'm', sizeof content);
    const int fd = ts_unnamed_memory_of(ts_bytes_of(content, sizeof content));
    assert_true(fd >= 0);
    assert_int_equal(read(fd, back, sizeof back), sizeof content);
    assert_memory_equal(back, content, sizeof content);
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_can_be_written_and_read_and_has_no_name),
        cmocka_unit_test(a_folder_that_is_not_there_is_a_failure),
        cmocka_unit_test(a_file_in_memory_is_read_from_its_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
