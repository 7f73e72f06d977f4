#include "state_files.h"

#include "base/hex.h"
#include "look_impl.h"
#include "os/grow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEX_LEN (2 * (size_t)SCAN_STATE_ID_LEN)

/* ---- names ---- */

static void put_hex(struct scan_state_name *name, const uint8_t id[static SCAN_STATE_ID_LEN]) {
    *ts_hex_encode(ts_bytes_of(id, SCAN_STATE_ID_LEN), name->text + strlen(name->text)) = '\0';
}

static void put_char(struct scan_state_name *name, char c) {
    size_t at = strlen(name->text);
    name->text[at] = c;
    name->text[at + 1] = '\0';
}

struct scan_state_name scan__state_name(char letter, const struct scan_use *use) {
    struct scan_state_name name = {{letter, '-', '\0'}};
    put_hex(&name, use->rules);
    if (letter != (char)SCAN_SEGMENT_KNOWN) {
        put_char(&name, '-');
        put_hex(&name, use->judging);
    }
    if (letter == (char)SCAN_SEGMENT_KNOWN || letter == (char)SCAN_SEGMENT_HITS)
        put_char(&name, '-');
    return name;
}

struct scan_state_name scan__state_folder_name(const struct scan_use *use) {
    struct scan_state_name name = {{'\0'}};
    put_hex(&name, use->repo);
    return name;
}

static bool take_hex(const char **text, uint8_t ret_id[static SCAN_STATE_ID_LEN]) {
    if (strnlen(*text, HEX_LEN) < HEX_LEN || !ts_hex_decode_lower(ts_bytes_of(*text, HEX_LEN), ret_id))
        return false;
    *text += HEX_LEN;
    return true;
}

static bool is_number(const char *text) {
    return strlen(text) == 8 && strspn(text, "0123456789abcdef") == 8;
}

bool scan__state_name_parse(const char *name, char *ret_letter, struct scan_use *ret_use) {
    struct scan_use use = {.repo = {0}};
    char letter = name[0];
    if ((letter != 'k' && letter != 'h' && letter != 's' && letter != 'u') || name[1] != '-')
        return false;
    const char *rest = name + 2;
    if (!take_hex(&rest, use.rules))
        return false;
    if (letter != 'k' && (*rest++ != '-' || !take_hex(&rest, use.judging)))
        return false;
    bool has_number = letter == 'k' || letter == 'h';
    if (has_number ? *rest != '-' || !is_number(rest + 1) : *rest != '\0')
        return false;
    *ret_letter = letter;
    *ret_use = use;
    return true;
}

/* ---- folders ---- */

static int compare_names(const void *a, const void *b) {
    return strcmp(a, b);
}

void scan__state_list(int folder, const char *prefix, struct scan_state_names *ret_names) {
    *ret_names = (struct scan_state_names){.items = NULL};
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    struct scan_state_names names = {.items = NULL};
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char letter;
        struct scan_use use;
        size_t len = strlen(entry->d_name);
        if (len >= SCAN_STATE_NAME_SIZE || strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
            (prefix[0] != '\0' && !scan__state_name_parse(entry->d_name, &letter, &use)) ||
            !TS_GROW(names.items, names.capacity, names.count + 1))
            continue;
        memcpy(names.items[names.count++], entry->d_name, len + 1);
    }
    (void)closedir(dir);
    if (names.count > 1)
        qsort(names.items, names.count, sizeof names.items[0], compare_names);
    *ret_names = names;
}

void scan__state_names_release(struct scan_state_names *names) {
    free(names->items);
    *names = (struct scan_state_names){.items = NULL};
}

/* O_NONBLOCK: if there is a pipe in place of the file, the open must not wait. */
int scan__state_open_file(int folder, const char *name) {
    return openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

int scan__state_make_folders(const char *path) {
    char *copy = strdup(path);
    if (copy == NULL)
        return -1;
    bool is_there = copy[0] != '\0';
    for (char *at = copy + is_there; is_there && *at != '\0'; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        is_there = mkdir(copy, 0700) == 0 || errno == EEXIST;
        *at = '/';
    }
    is_there = is_there && (mkdir(copy, 0700) == 0 || errno == EEXIST);
    int fd = is_there ? open(copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int error = errno;
    free(copy);
    errno = error;
    return fd;
}

/* ---- replaced files ---- */

int scan__state_open_new(int folder, const char *name) {
    return openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int scan__state_replace(int folder, const char *name, const struct scan_segment_head *head,
                        const struct ts_bytes *pages, size_t count) {
    struct scan_segment_writer writer;
    (void)unlinkat(folder, SCAN_STATE_NEW, 0);
    int fd = scan__state_open_new(folder, SCAN_STATE_NEW);
    if (fd < 0)
        return errno;
    int error = scan__segment_begin(&writer, fd, head);
    for (size_t i = 0; i < count && error == 0; i++)
        error = scan__segment_add(&writer, pages[i]);
    int close_error = scan__segment_end(&writer);
    error = error == 0 ? close_error : error;
    if (error == 0 && renameat(folder, SCAN_STATE_NEW, folder, name) != 0)
        error = errno;
    if (error != 0)
        (void)unlinkat(folder, SCAN_STATE_NEW, 0);
    return error;
}

/* ---- the key of prints ---- */

static bool read_print_key(int fd, struct ts_siphash_key *ret_key) {
    struct scan_segment segment;
    struct ts_bytes page;
    if (fd < 0 || !scan__segment_open(&segment, fd))
        return false;
    bool is_sound = segment.head.kind == SCAN_SEGMENT_PRINT_KEY && scan__segment_next(&segment, &page) &&
                    page.len == TS_SIPHASH_KEY_LEN;
    if (is_sound)
        *ret_key = ts_siphash_key_of(page.data);
    scan__segment_close(&segment);
    return is_sound;
}

bool scan__state_print_key_read(const char *state_folder, struct ts_siphash_key *ret_key) {
    char *path = NULL;
    if (asprintf(&path, "%s/scan/" SCAN_STATE_PRINT_KEY, state_folder) < 0)
        return false;
    bool is_read = read_print_key(scan__state_open_file(AT_FDCWD, path), ret_key);
    free(path);
    return is_read;
}

/* If several scans make the key at the same time, each may use its own key. The last stored key remains, and
 * contents with hits of the other scans are read again. */
int scan__state_print_key_keep(int all, const struct ts_siphash_key *key) {
    struct ts_siphash_key kept;
    uint8_t bytes[TS_SIPHASH_KEY_LEN];
    struct scan_segment_head head = {.kind = SCAN_SEGMENT_PRINT_KEY};
    if (read_print_key(scan__state_open_file(all, SCAN_STATE_PRINT_KEY), &kept))
        return 0;
    ts_siphash_key_store(key, bytes);
    struct ts_bytes page = ts_bytes_of(bytes, sizeof bytes);
    int error = scan__state_replace(all, SCAN_STATE_PRINT_KEY, &head, &page, 1);
    return error == EEXIST || error == ENOENT ? 0 : error; /* another scan is making the key */
}

/* ---- about ---- */

bool scan__state_about_read(int folder, struct scan_state_about *ret_about) {
    struct scan_segment segment;
    struct ts_bytes page;
    int fd = scan__state_open_file(folder, SCAN_STATE_ABOUT);
    if (fd < 0 || !scan__segment_open(&segment, fd))
        return false;
    bool is_sound = segment.head.kind == SCAN_SEGMENT_ABOUT && scan__segment_next(&segment, &page) &&
                    page.len >= SCAN_SALT_LEN && page.len - SCAN_SALT_LEN < sizeof ret_about->path;
    if (is_sound) {
        memcpy(ret_about->repo, segment.head.repo, SCAN_STATE_ID_LEN);
        memcpy(ret_about->salt, page.data, SCAN_SALT_LEN);
        memcpy(ret_about->path, page.data + SCAN_SALT_LEN, page.len - SCAN_SALT_LEN);
        ret_about->path[page.len - SCAN_SALT_LEN] = '\0';
    }
    scan__segment_close(&segment);
    return is_sound;
}
