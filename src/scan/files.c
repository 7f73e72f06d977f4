#include "files.h"

#include "look_impl.h"
#include "option_names.h"
#include "os/grow.h"

#include "base/redact.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW_BYTES ((size_t)8 << 20)
/* The memory for a file or folder, not counting its path: its entry in a list that grows by doubling and is
 * then copied, and the overhead of the arena. */
#define ENTRY_BYTES  (3 * sizeof(char *) + 16)

/* ---- the list ---- */

struct listing {
    struct scan_files *files;
    const char *folder;
    bool without_git;
    bool is_full;
    uint64_t memory_left;
    struct scan_faults *faults;
    char **folders; /* folders to list, relative to the scanned folder */
    size_t folder_count;
    size_t folder_capacity;
};

/* Returns below/name, or only the name if `below` is empty. The arena owns the result. */
static char *join(struct ts_arena *arena, const char *below, const char *name) {
    size_t size = strlen(below) + strlen(name) + 2;
    char *path = ts_arena_take(arena, size);
    if (path != NULL)
        snprintf(path, size, "%s%s%s", below, below[0] == '\0' ? "" : "/", name);
    return path;
}

static void cannot_read(struct scan_faults *faults, const char *path, int error) {
    char shown[300];
    (void)ts_text_escape(ts_bytes_of_cstring(path), shown, sizeof shown);
    scan__fault(faults, "'%s': cannot be read: %s", shown, strerror(error));
}

static bool list_entry(struct listing *l, int dir, const char *below, const char *name) {
    struct stat status;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (l->without_git && strcmp(name, ".git") == 0))
        return true;
    size_t taken = strlen(below) + strlen(name) + 2 + ENTRY_BYTES;
    if (taken > l->memory_left) {
        l->is_full = true;
        return true;
    }
    l->memory_left -= taken;
    char *path = join(&l->files->arena, below, name);
    if (path == NULL)
        return false;
    if (fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT) /* ENOENT: the file was removed meanwhile, which is not a fault */
            cannot_read(l->faults, path, errno);
        return true;
    }
    if (S_ISDIR(status.st_mode)) {
        if (!TS_GROW(l->folders, l->folder_capacity, l->folder_count + 1))
            return false;
        l->folders[l->folder_count++] = path;
    } else if (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)) {
        if (!TS_GROW(l->files->paths, l->files->capacity, l->files->count + 1))
            return false;
        l->files->paths[l->files->count++] = path;
    } else {
        l->files->skipped++;
    }
    return true;
}

static int open_folder(int root, const char *below) {
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    return below[0] == '\0' ? fcntl(root, F_DUPFD_CLOEXEC, 0) : openat(root, below, flags | O_NOFOLLOW);
}

static bool list_folder(struct listing *l, int root, const char *below) {
    int fd = open_folder(root, below);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        cannot_read(l->faults, below, errno);
        if (fd >= 0)
            close(fd);
        return true;
    }
    bool done = true;
    const struct dirent *entry;
    while (done && !l->is_full && (errno = 0, entry = readdir(dir)) != NULL)
        done = list_entry(l, fd, below, entry->d_name);
    if (done && !l->is_full && errno != 0)
        cannot_read(l->faults, below, errno);
    closedir(dir);
    return done;
}

static int compare_paths(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool scan__files_list(struct scan_files *files, const char *folder, const struct scan_files_options *options,
                      struct scan_faults *faults) {
    *files = (struct scan_files){.paths = NULL};
    struct listing l = {.files = files,
                        .folder = folder,
                        .without_git = options->without_git,
                        .memory_left = options->memory_max,
                        .faults = faults};
    int root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return false;
    bool done = list_folder(&l, root, "");
    while (done && !l.is_full && l.folder_count > 0)
        done = list_folder(&l, root, l.folders[--l.folder_count]);
    close(root);
    free(l.folders);
    if (l.is_full)
        scan__fault(
            faults,
            "the names of the files exceed the memory limit: files after the first %zu are not scanned; "
            "raise " SCAN_OPTION_MEMORY,
            files->count);
    if (!done) {
        scan__files_release(files);
        errno = ENOMEM;
        return false;
    }
    if (files->count > 0)
        qsort(files->paths, files->count, sizeof *files->paths, compare_paths);
    return true;
}

void scan__files_release(struct scan_files *files) {
    free(files->paths);
    ts_arena_release(&files->arena);
    *files = (struct scan_files){.paths = NULL};
}

/* ---- reading ---- */

/* How long to wait for input before checking the time. */
#define WAIT_MS     100
#define SMALL_BYTES ((size_t)64 << 10)

/* Waits until there is input or the scan ends: a pipe may never send anything. Returns false if the scan ends
 * first. */
static bool wait_for_input(struct scan_pass *pass, int fd) {
    struct pollfd asked = {.fd = fd, .events = POLLIN};
    while (!scan__is_over(pass)) {
        int ready = poll(&asked, 1, WAIT_MS);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return true;
    }
    return false;
}

/* Reads until the buffer is full, the input ends, or the scan ends. */
static bool fill(struct scan_pass *pass, int fd, uint8_t *buffer, size_t size, size_t *ret_len,
                 bool *ret_at_end) {
    size_t len = 0;
    while (len < size && wait_for_input(pass, fd)) {
        ssize_t got = read(fd, buffer + len, size - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0)
            break;
        len += (size_t)got;
    }
    *ret_at_end = len < size;
    *ret_len = len;
    return true;
}

static void note_outcome(struct scan_reader *reader, const struct scan_content *content,
                         enum scan_look_result outcome) {
    char name[SCAN_NAME_SIZE];
    if (outcome != SCAN_LOOK_OK)
        scan__pass_outcome(reader->pass, outcome, scan__content_name(reader->pass, content, name));
}

static void count_bytes(struct scan_reader *reader, size_t len) {
    atomic_fetch_add_explicit(&reader->pass->progress->bytes, len, memory_order_relaxed);
    atomic_store_explicit(&reader->pass->progress->findings,
                          atomic_load_explicit(&reader->pass->hits.finding_count, memory_order_relaxed),
                          memory_order_relaxed);
}

/* Scans a content in windows. The buffer already contains the first window. */
static bool read_windows(struct scan_reader *reader, const struct scan_content *content, int fd,
                         uint64_t *ret_bytes) {
    size_t overlap = scan__look_overlap(reader->look->options.profile);
    struct scan_window window = {.bytes = ts_bytes_of(reader->buffer, reader->size)};
    struct scan_windows *windows = NULL;
    enum scan_look_result outcome = SCAN_LOOK_OK;
    bool done = true;
    for (;;) {
        outcome = scan__look_window(reader->look, content, &window, &windows);
        if (window.is_last || windows == NULL || scan__is_stopped(reader->pass))
            break;
        size_t len;
        window.at += window.bytes.len - overlap;
        memmove(reader->buffer, reader->buffer + window.bytes.len - overlap, overlap);
        done =
            fill(reader->pass, fd, reader->buffer + overlap, reader->size - overlap, &len, &window.is_last);
        if (!done)
            break;
        count_bytes(reader, len);
        *ret_bytes += len;
        window.bytes.len = overlap + len;
    }
    int error = errno;
    scan__windows_free(windows);
    note_outcome(reader, content, outcome);
    errno = error;
    return done;
}

static bool has_buffer(struct scan_reader *reader) {
    if (reader->buffer == NULL) {
        reader->size = WINDOW_BYTES;
        reader->buffer = malloc(reader->size);
    }
    return reader->buffer != NULL;
}

/* Scans a whole content, which is in the buffer. If the scan was stopped while a small content was read, such
 * as the first lines of a pipe, the content is scanned nevertheless: that takes only milliseconds. */
static void look_at_buffer(struct scan_reader *reader, const struct scan_content *content, size_t len) {
    const atomic_bool *stop = reader->look->options.stop;
    if (len <= SMALL_BYTES && scan__is_over(reader->pass))
        reader->look->options.stop = NULL;
    note_outcome(reader, content,
                 scan__look_whole(reader->look, content, ts_bytes_of(reader->buffer, len), NULL, NULL));
    reader->look->options.stop = stop;
}

static void keep_head(struct scan_reader *reader, struct ts_bytes bytes) {
    reader->head_len = bytes.len < sizeof reader->head ? bytes.len : sizeof reader->head;
    if (reader->head_len > 0)
        memcpy(reader->head, bytes.data, reader->head_len);
}

/* Scans bytes that do not fit into one window. */
static enum scan_look_result look_at_windows(struct scan_reader *reader, const struct scan_content *content,
                                             struct ts_bytes bytes) {
    size_t step = WINDOW_BYTES - scan__look_overlap(reader->look->options.profile);
    struct scan_windows *windows = NULL;
    struct scan_window window = {.at = 0};
    enum scan_look_result outcome;
    do {
        struct ts_bytes rest = ts_bytes_skip(bytes, (size_t)window.at);
        window.is_last = rest.len <= WINDOW_BYTES;
        window.bytes = ts_bytes_of(rest.data, window.is_last ? rest.len : WINDOW_BYTES);
        outcome = scan__look_window(reader->look, content, &window, &windows);
        count_bytes(reader, window.is_last ? rest.len : step);
        window.at += step;
    } while (!window.is_last && windows != NULL && !scan__is_stopped(reader->pass));
    scan__windows_free(windows);
    return outcome;
}

void scan__read_bytes(struct scan_reader *reader, const struct scan_content *content, struct ts_bytes bytes) {
    keep_head(reader, bytes);
    if (bytes.len > WINDOW_BYTES) {
        note_outcome(reader, content, look_at_windows(reader, content, bytes));
        return;
    }
    count_bytes(reader, bytes.len);
    note_outcome(reader, content, scan__look_whole(reader->look, content, bytes, NULL, NULL));
}

bool scan__read_fd(struct scan_reader *reader, const struct scan_content *content, int fd,
                   uint64_t *ret_bytes) {
    size_t len;
    bool at_end;
    if (!has_buffer(reader) || !fill(reader->pass, fd, reader->buffer, reader->size, &len, &at_end))
        return false;
    *ret_bytes = len;
    keep_head(reader, ts_bytes_of(reader->buffer, len));
    count_bytes(reader, len);
    if (!at_end)
        return read_windows(reader, content, fd, ret_bytes);
    look_at_buffer(reader, content, len);
    return true;
}

/* Scans the target of a link. The target is at most as long as a path, so it always fits into the buffer. */
bool scan__read_link(struct scan_reader *reader, const struct scan_content *content, int folder,
                     const char *path, uint64_t *ret_bytes) {
    ssize_t len = has_buffer(reader) ? readlinkat(folder, path, (char *)reader->buffer, reader->size) : -1;
    if (len < 0)
        return false;
    *ret_bytes = (uint64_t)len;
    count_bytes(reader, (size_t)len);
    look_at_buffer(reader, content, (size_t)len);
    return true;
}
