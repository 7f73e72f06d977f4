#include "lfs.h"

#include "base/hex.h"
#include "base/number.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define POINTER_MAX 1024 /* limit from the specification */
#define HEX_LEN     64

static const char version[] = "version https://git-lfs.github.com/spec/v1\n";
static const char oid_key[] = "\noid sha256:";
static const char size_key[] = "\nsize ";

/* Reads the size from the line that begins with "size ". */
static bool size_of(struct ts_bytes blob, uint64_t *ret_size) {
    const uint8_t *found = memmem(blob.data, blob.len, size_key, sizeof size_key - 1);
    if (found == NULL)
        return false;
    struct ts_bytes rest = ts_bytes_skip(blob, (size_t)(found - blob.data) + sizeof size_key - 1);
    const uint8_t *end = memchr(rest.data, '\n', rest.len);
    rest.len = end != NULL ? (size_t)(end - rest.data) : rest.len;
    return ts_u64_parse(rest, ret_size) == TS_NUMBER_OK;
}

bool scan__lfs_pointer(struct ts_bytes blob, struct scan_lfs_pointer *ret_pointer) {
    if (blob.len >= POINTER_MAX || blob.len < sizeof version ||
        memcmp(blob.data, version, sizeof version - 1) != 0)
        return false;
    /* Lines of extensions may come before the oid. */
    const uint8_t *found = memmem(blob.data, blob.len, oid_key, sizeof oid_key - 1);
    const uint8_t *end = blob.data + blob.len;
    if (found == NULL || (size_t)(end - found) < sizeof oid_key - 1 + HEX_LEN)
        return false;
    const char *hex = (const char *)found + sizeof oid_key - 1;
    for (size_t i = 0; i < HEX_LEN; i++)
        if (ts_hex_digit_lower((uint8_t)hex[i]) < 0)
            return false;
    snprintf(ret_pointer->path, sizeof ret_pointer->path, "%.2s/%.2s/%.64s", hex, hex + 2, hex);
    return size_of(blob, &ret_pointer->size);
}

int scan__lfs_open(const char *folder, const struct scan_lfs_pointer *pointer) {
    struct stat status;
    int root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = root >= 0
                 ? openat(root, pointer->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
                 : -1;
    if (root >= 0)
        close(root);
    if (fd >= 0 &&
        (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || (uint64_t)status.st_size != pointer->size)) {
        close(fd);
        return -1;
    }
    return fd;
}
