#include "files.h"
#include "folder_maker.h"
#include "kit.h"

#include <errno.h>
#include <fcntl.h>

static struct folder_maker folder;

static int begin(void **state) {
    (void)state;
    folder_make(&folder);
    return 0;
}

static int end(void **state) {
    (void)state;
    folder_remove(&folder);
    return 0;
}

static void files_are_listed_in_order_without_following_links(void **state) {
    (void)state;
    struct scan_files files;
    struct scan_faults faults;
    struct scan_files_options with_git = {.memory_max = UINT64_MAX};
    struct scan_files_options without_git = {.without_git = true, .memory_max = UINT64_MAX};
    scan__faults_init(&faults);
    folder_mkdir(&folder, "b");
    folder_mkdir(&folder, "b/.git");
    folder_mkdir(&folder, ".git");
    folder_write(&folder, "b/z", "1");
    folder_write(&folder, "b.txt", "2");
    folder_write(&folder, "a", "3");
    folder_write(&folder, "b/.git/config", "4");
    assert_int_equal(symlink("/", folder_path(&folder, "all")), 0);
    assert_int_equal(mkfifo(folder_path(&folder, "pipe"), 0600), 0);
    assert_true(scan__files_list(&files, folder.path, &with_git, &faults));
    assert_int_equal(files.count, 5);
    assert_int_equal(files.skipped, 1);
    assert_string_equal(files.paths[0], "a");
    assert_string_equal(files.paths[1], "all");
    assert_string_equal(files.paths[2], "b.txt");
    assert_string_equal(files.paths[3], "b/.git/config");
    assert_string_equal(files.paths[4], "b/z");
    scan__files_release(&files);
    assert_true(scan__files_list(&files, folder.path, &without_git, &faults));
    assert_int_equal(files.count, 4);
    scan__files_release(&files);
    assert_int_equal(faults.total, 0);
    assert_false(scan__files_list(&files, folder_path(&folder, "nowhere"), &with_git, &faults));
    assert_int_equal(errno, ENOENT);
    scan__faults_release(&faults);
}

static void a_descriptor_that_cannot_be_read_is_a_failure(void **state) {
    (void)state;
    static struct kit kit;
    static struct scan_pass pass;
    kit_init(&kit, NULL);
    pass.progress = &pass.own_progress;
    pass.hits.findings_max = 1;
    struct scan_reader reader = {.pass = &pass, .look = &kit.look};
    struct scan_content content = {.kind = SCAN_CONTENT_FILE};
    uint64_t bytes = 7;
    int fd = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_false(scan__read_fd(&reader, &content, fd, &bytes));
    assert_int_equal(errno, EISDIR);
    assert_int_equal(bytes, 7);
    close(fd);
    free(reader.buffer);
    kit_release(&kit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_are_listed_in_order_without_following_links, begin, end),
        cmocka_unit_test_setup_teardown(a_descriptor_that_cannot_be_read_is_a_failure, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
