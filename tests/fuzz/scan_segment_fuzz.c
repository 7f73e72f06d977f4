/* Damages a file of the state. The first two bytes of the input are the number of bytes to cut off at the end
 * of the file. Every three bytes after that are the position of a byte, and the bits to flip in this byte.
 * Reading must return a prefix of the written pages. */
#include "segment.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const pages[] = {"first page", "second", "the third and last page"};

static int make_file(void) {
    static const struct scan_segment_head head = {.kind = SCAN_SEGMENT_HITS, .repo = {1}};
    struct scan_segment_writer writer;
    int fd = memfd_create("segment", MFD_CLOEXEC);
    if (fd < 0 || scan__segment_begin(&writer, dup(fd), &head) != 0)
        abort();
    for (size_t i = 0; i < 3; i++)
        if (scan__segment_add(&writer, ts_bytes_of_cstring(pages[i])) != 0)
            abort();
    if (scan__segment_end(&writer) != 0)
        abort();
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct scan_segment segment;
    struct ts_bytes page;
    int fd = make_file();
    off_t end = lseek(fd, 0, SEEK_END);
    for (size_t i = 2; i + 3 <= size; i += 3) {
        off_t at = (data[i] | data[i + 1] << 8) % end;
        uint8_t byte;
        if (pread(fd, &byte, 1, at) != 1)
            abort();
        byte ^= data[i + 2];
        if (pwrite(fd, &byte, 1, at) != 1)
            abort();
    }
    if (size >= 2 && ftruncate(fd, end - (data[0] | data[1] << 8) % end) != 0)
        abort();
    size_t count = 0;
    if (scan__segment_open(&segment, fd)) {
        while (scan__segment_next(&segment, &page))
            if (count == 3 || !ts_bytes_equal(page, ts_bytes_of_cstring(pages[count++])))
                abort();
        scan__segment_close(&segment);
    }
    return 0;
}
