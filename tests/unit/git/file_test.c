/* Tests how files of a repository are opened: small files that are read once are copied, others are mapped. */
#include "file.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void write_file(const char *path, size_t len, char filling) {
    FILE *file = fopen(path, "r+e");
    if (file == NULL)
        file = fopen(path, "we");
    assert_non_null(file);
    for (size_t i = 0; i < len; i++)
        assert_true(fputc(filling, file) == filling);
    assert_int_equal(fclose(file), 0);
}

static void a_small_file_that_is_read_once_is_copied(void **state) {
    struct git__map map;
    (void)state;
    write_file("small", 100, 'a');
    assert_int_equal(git__map_open_once("small", &map, NULL), TS_GIT_OK);
    /* A mapping would show the change, and end the program after the truncation. */
    write_file("small", 100, 'b');
    assert_int_equal(truncate("small", 0), 0);
    assert_int_equal(map.bytes.len, 100);
    for (size_t i = 0; i < map.bytes.len; i++)
        assert_int_equal(map.bytes.data[i], 'a');
    git__map_release(&map);
    assert_int_equal(map.bytes.len, 0);
}

static void a_large_file_and_one_that_is_read_again_are_mapped(void **state) {
    struct git__map large, small;
    (void)state;
    write_file("large", 100000, 'a');
    write_file("again", 100, 'a');
    assert_int_equal(git__map_open_once("large", &large, NULL), TS_GIT_OK);
    assert_int_equal(git__map_open("again", &small, NULL), TS_GIT_OK);
    write_file("large", 100000, 'b');
    write_file("again", 100, 'b');
    assert_int_equal(large.bytes.len, 100000);
    assert_int_equal(large.bytes.data[99999], 'b');
    assert_int_equal(small.bytes.data[99], 'b');
    git__map_release(&large);
    git__map_release(&small);
}

static void an_empty_file_has_no_bytes_and_a_missing_one_is_an_error(void **state) {
    struct git__map map = {.is_copied = true};
    (void)state;
    write_file("empty", 0, 'a');
    assert_int_equal(git__map_open_once("missing", &map, NULL), TS_GIT_MISSING);
    assert_true(map.is_copied);
    assert_int_equal(git__map_open_once("empty", &map, NULL), TS_GIT_OK);
    assert_int_equal(map.bytes.len, 0);
    git__map_release(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_file_that_is_read_once_is_copied),
        cmocka_unit_test(a_large_file_and_one_that_is_read_again_are_mapped),
        cmocka_unit_test(an_empty_file_has_no_bytes_and_a_missing_one_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
