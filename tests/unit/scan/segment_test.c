#include "segment.h"
#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct scan_segment_head head = {.kind = SCAN_SEGMENT_KNOWN,
                                              .repo = {1},
                                              .rules = {2},
                                              .judging = {3},
                                              .salt_mark = {4},
                                              .fingerprint = {5}};
static const char *const texts[] = {"first page", "x", "the third page, which is longer than the others"};

static int make_file(void) {
    int fd = memfd_create("segment", MFD_CLOEXEC);
    assert_true(fd >= 0);
    struct scan_segment_writer writer;
    assert_int_equal(scan__segment_begin(&writer, dup(fd), &head), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(scan__segment_add(&writer, ts_bytes_of_cstring(texts[i])), 0);
    assert_int_equal(scan__segment_end(&writer), 0);
    return fd;
}

/* Reads all readable pages, which must be the first pages of the file. Returns their number. Sets
 * *ret_is_damaged to true if it noticed damage, otherwise to false. */
static size_t read_pages(int fd, bool *ret_is_damaged) {
    struct scan_segment segment;
    struct ts_bytes page;
    size_t count = 0;
    *ret_is_damaged = false;
    if (!scan__segment_open(&segment, dup(fd)))
        return 0;
    while (scan__segment_next(&segment, &page)) {
        assert_true(count < 3 && ts_bytes_equal(page, ts_bytes_of_cstring(texts[count])));
        count++;
    }
    *ret_is_damaged = segment.is_damaged;
    scan__segment_close(&segment);
    return count;
}

static void pages_are_read_as_they_were_written(void **state) {
    (void)state;
    int fd = make_file();
    bool is_damaged;
    assert_int_equal(read_pages(fd, &is_damaged), 3);
    assert_false(is_damaged);
    struct scan_segment segment;
    assert_true(scan__segment_open(&segment, dup(fd)));
    assert_true(segment.head.kind == head.kind && segment.head.repo[0] == 1 && segment.head.rules[0] == 2 &&
                segment.head.judging[0] == 3 && segment.head.salt_mark[0] == 4 &&
                segment.head.fingerprint[0] == 5);
    scan__segment_close(&segment);
    close(fd);
}

static void a_file_that_is_cut_gives_the_pages_before_the_cut(void **state) {
    (void)state;
    int fd = make_file();
    bool is_damaged;
    off_t size = lseek(fd, 0, SEEK_END);
    size_t before = 3;
    for (off_t len = size - 1; len >= 0; len--) {
        assert_int_equal(ftruncate(fd, len), 0);
        size_t count = read_pages(fd, &is_damaged);
        assert_true(count <= before && count < 3);
        assert_false(is_damaged); /* a cut is no damage: a killed process leaves such a file */
        before = count;
    }
    assert_int_equal(before, 0);
    close(fd);
}

static void any_changed_bit_ends_the_file_there(void **state) {
    (void)state;
    int fd = make_file();
    bool is_damaged;
    size_t noticed = 0;
    off_t size = lseek(fd, 0, SEEK_END);
    for (off_t at = 0; at < size; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            uint8_t byte;
            assert_int_equal(pread(fd, &byte, 1, at), 1);
            uint8_t other = (uint8_t)(byte ^ 1u << bit);
            assert_int_equal(pwrite(fd, &other, 1, at), 1);
            assert_true(read_pages(fd, &is_damaged) < 3);
            noticed += is_damaged;
            assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        }
    }
    assert_true(noticed > 8 * (strlen(texts[0]) + strlen(texts[1]) + strlen(texts[2])));
    assert_int_equal(read_pages(fd, &is_damaged), 3);
    close(fd);
}

/* The second page of one file is refused as the first page of another file. */
static void a_page_belongs_to_its_file_and_its_place(void **state) {
    (void)state;
    int fd = make_file();
    bool is_damaged;
    uint8_t page[SCAN_SEGMENT_FRAME_LEN + 1];
    off_t second = (off_t)(SCAN_SEGMENT_HEAD_LEN + SCAN_SEGMENT_FRAME_LEN + strlen(texts[0]));
    assert_int_equal(pread(fd, page, sizeof page, second), (ssize_t)sizeof page);
    int other = memfd_create("segment", MFD_CLOEXEC);
    struct scan_segment_writer writer;
    assert_int_equal(scan__segment_begin(&writer, dup(other), &head), 0);
    assert_int_equal(write(other, page, sizeof page), (ssize_t)sizeof page);
    assert_int_equal(scan__segment_end(&writer), 0);
    assert_int_equal(read_pages(other, &is_damaged), 0);
    assert_true(is_damaged);
    close(other);
    close(fd);
}

static void a_page_that_does_not_fit_is_an_error_and_leaves_whole_pages(void **state) {
    (void)state;
    char path[] = "/tmp/turnstone-test-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    assert_true(fd >= 0 && unlink(path) == 0);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = {.rlim_cur = 4096, .rlim_max = before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    static uint8_t large[8192];
    struct scan_segment_writer writer;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(scan__segment_begin(&writer, dup(fd), &head), 0);
    assert_int_equal(scan__segment_add(&writer, ts_bytes_of_cstring(texts[0])), 0);
    assert_int_equal(scan__segment_add(&writer, ts_bytes_of(large, sizeof large)), EFBIG);
    assert_int_equal(scan__segment_end(&writer), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    bool is_damaged;
    assert_int_equal(read_pages(fd, &is_damaged), 1);
    assert_false(is_damaged);
    assert_int_equal(lseek(fd, 0, SEEK_END),
                     (off_t)(SCAN_SEGMENT_HEAD_LEN + SCAN_SEGMENT_FRAME_LEN + strlen(texts[0])));
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_read_as_they_were_written),
        cmocka_unit_test(a_file_that_is_cut_gives_the_pages_before_the_cut),
        cmocka_unit_test(any_changed_bit_ends_the_file_there),
        cmocka_unit_test(a_page_belongs_to_its_file_and_its_place),
        cmocka_unit_test(a_page_that_does_not_fit_is_an_error_and_leaves_whole_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
