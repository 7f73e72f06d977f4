/* Reads files of a folder by path. tests/system/scan_test.py reads files of HEAD's tree. */
#include "folder_maker.h"
#include "tree_file.h"

static struct folder_maker folder;

static int begin(void **state) {
    (void)state;
    folder_make(&folder);
    folder_mkdir(&folder, "in");
    folder_write(&folder, "in/file", "content");
    folder_write(&folder, "empty", "");
    assert_int_equal(symlink("in/file", folder_path(&folder, "link")), 0);
    assert_int_equal(symlink("in", folder_path(&folder, "linked")), 0);
    return 0;
}

static int end(void **state) {
    (void)state;
    folder_remove(&folder);
    return 0;
}

static enum scan_profile_read read_file(const char *path, size_t max, struct scan_profile_file *ret) {
    struct scan_tree tree = {.folder = folder.path};
    return scan__tree_read(&tree, path, max, ret);
}

static void files_are_read_by_their_path(void **state) {
    (void)state;
    struct scan_profile_file file;
    assert_int_equal(read_file("in/file", 100, &file), SCAN_PROFILE_READ);
    assert_true(ts_bytes_equal(ts_bytes_of(file.bytes, file.len), TS_BYTES("content")));
    free(file.bytes);
    assert_int_equal(read_file("./in//file", 7, &file), SCAN_PROFILE_READ);
    free(file.bytes);
    assert_int_equal(read_file("empty", 100, &file), SCAN_PROFILE_READ);
    assert_int_equal(file.len, 0);
    free(file.bytes);
    struct scan_tree tree = {.folder = folder.path};
    assert_int_equal(scan__tree_has(&tree, "in/file", NULL), SCAN_TREE_HAS);
    assert_int_equal(scan__tree_has(&tree, "in/other", NULL), SCAN_TREE_HAS_NOT);
}

static void only_small_regular_files_of_the_folder_are_read(void **state) {
    (void)state;
    struct scan_profile_file file;
    assert_int_equal(read_file("nothing", 100, &file), SCAN_PROFILE_ABSENT);
    assert_int_equal(read_file("empty/below", 100, &file), SCAN_PROFILE_ABSENT);
    assert_int_equal(read_file("", 100, &file), SCAN_PROFILE_ABSENT);
    assert_int_equal(read_file("in/file", 6, &file), SCAN_PROFILE_UNREADABLE);
    assert_int_equal(read_file("in", 100, &file), SCAN_PROFILE_UNREADABLE);
    assert_int_equal(read_file("link", 100, &file), SCAN_PROFILE_UNREADABLE);
    assert_int_not_equal(read_file("linked/file", 100, &file), SCAN_PROFILE_READ);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_are_read_by_their_path, begin, end),
        cmocka_unit_test_setup_teardown(only_small_regular_files_of_the_folder_are_read, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
