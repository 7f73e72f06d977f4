#include "os/private_file.h"

#include "support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "/tmp/turnstone-private-XXXXXX";

static void write_bytes(const char *bytes, size_t size) {
    const int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

static void assert_refused(const char *name, const struct ts_private_file_options *options, const char *why) {
    struct ts_private_file file = {.line = 77};
    struct ts_private_error error;
    assert_false(ts_private_file_read(name, options, &file, &error));
    assert_string_equal(error.text, why);
    assert_null(file.text);
    assert_int_equal(file.line, 77);
}

static void the_whole_file_is_read_and_released(void **state) {
    (void)state;
    struct ts_private_file file;
    struct ts_private_error error;
    write_bytes("a\0b\n", 4);
    assert_true(ts_private_file_read(path, &(struct ts_private_file_options){.max = 1024}, &file, &error));
    assert_int_equal(file.size, 4);
    assert_memory_equal(file.text, "a\0b\n", 5);
    ts_private_file_release(&file);
    assert_null(file.text);
    ts_private_file_release(&file);
}

static void lines_are_numbered_and_trimmed_without_comments(void **state) {
    (void)state;
    static const char text[] = "# comment\n\n  one\t\r\n\t# comment\n \r\ntwo words # no comment\nlast";
    struct ts_private_file file;
    struct ts_private_error error;
    write_bytes(text, sizeof text - 1);
    assert_true(ts_private_file_read(path, &(struct ts_private_file_options){.max = 1024, .is_text = true},
                                     &file, &error));
    assert_string_equal(ts_private_file_line(&file), "one");
    assert_int_equal(file.line, 3);
    assert_string_equal(ts_private_file_line(&file), "two words # no comment");
    assert_int_equal(file.line, 6);
    assert_string_equal(ts_private_file_line(&file), "last");
    assert_null(ts_private_file_line(&file));
    assert_null(ts_private_file_line(&file));
    ts_private_file_release(&file);
}

static void a_file_that_others_can_use_is_refused(void **state) {
    (void)state;
    static const mode_t modes[] = {0640, 0620, 0604, 0602, 0610, 0601};
    const struct ts_private_file_options options = {.max = 1024, .allow_other = true};
    write_bytes("hidden", 6);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_refused(path, &options, "can be used by others; run 'chmod 600' on it");
    }
    assert_int_equal(chmod(path, 0600), 0);
}

static void a_file_of_another_user_is_refused(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can give a file away */
    assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
    assert_refused(path, &(struct ts_private_file_options){.max = 1024},
                   "belongs to another user; it must be yours, or root's");
    assert_int_equal(chown(path, 0, (gid_t)-1), 0);
}

static void the_limit_is_the_largest_size(void **state) {
    (void)state;
    static char bytes[1025];
    const struct ts_private_file_options options = {.max = 1024, .allow_other = true};
    struct ts_private_file file;
    struct ts_private_error error;
    memset(bytes, 'x', sizeof bytes);
    write_bytes(bytes, 1024);
    assert_true(ts_private_file_read(path, &options, &file, &error));
    assert_int_equal(file.size, 1024);
    ts_private_file_release(&file);
    write_bytes(bytes, 1025);
    assert_refused(path, &options, "is too large; use a file of at most 1 KiB");
    assert_refused("/dev/zero", &options, "is too large; use a file of at most 1 KiB");
}

static void a_zero_byte_is_refused_in_a_text(void **state) {
    (void)state;
    write_bytes("hidden\0", 7);
    assert_refused(path, &(struct ts_private_file_options){.max = 1024, .is_text = true},
                   "has a zero byte; remove it");
}

static void a_pipe_is_read_only_where_it_is_allowed(void **state) {
    (void)state;
    struct ts_private_file file;
    struct ts_private_error error;
    char name[64];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "one\n", 4), 4);
    close(ends[1]);
    assert_true(snprintf(name, sizeof name, "/dev/fd/%d", ends[0]) > 0);
    assert_refused(name, &(struct ts_private_file_options){.max = 1024},
                   "is not a regular file; use a file of at most 1 KiB");
    assert_true(ts_private_file_read(
        name, &(struct ts_private_file_options){.max = 1024, .allow_other = true}, &file, &error));
    assert_string_equal(file.text, "one\n");
    ts_private_file_release(&file);
    close(ends[0]);
}

static void a_pipe_without_a_writer_does_not_block(void **state) {
    (void)state;
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(path, &(struct ts_private_file_options){.max = 4096},
                   "is not a regular file; use a file of at most 4 KiB");
}

static void a_missing_file_and_a_folder_are_errors_of_the_system(void **state) {
    (void)state;
    const struct ts_private_file_options options = {.max = 1024, .allow_other = true};
    assert_refused("/nowhere", &options, "cannot be read: No such file or directory");
    assert_refused("/tmp", &options, "cannot be read: Is a directory");
}

static int make_file(void **state) {
    (void)state;
    const int fd = mkstemp(path);
    close(fd);
    return fd < 0;
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_file_is_read_and_released),
        cmocka_unit_test(lines_are_numbered_and_trimmed_without_comments),
        cmocka_unit_test(a_file_that_others_can_use_is_refused),
        cmocka_unit_test(a_file_of_another_user_is_refused),
        cmocka_unit_test(the_limit_is_the_largest_size),
        cmocka_unit_test(a_zero_byte_is_refused_in_a_text),
        cmocka_unit_test(a_pipe_is_read_only_where_it_is_allowed),
        cmocka_unit_test(a_missing_file_and_a_folder_are_errors_of_the_system),
        cmocka_unit_test(a_pipe_without_a_writer_does_not_block), /* must be the last: it replaces the file */
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
