#include "state.h"

#include "state_files.h"
#include "usage.h"

#include "base/assert.h"
#include "base/blake3.h"
#include "base/redact.h"
#include "os/entropy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The files of a kind are merged if there are more than FILES_MAX, or if all files together have more than
 * SCATTERED_MIN bytes, and the largest file has less than half of these bytes. */
#define FILES_MAX     16
#define SCATTERED_MIN ((uint64_t)256 << 10)

/* The files of one kind: KNOWN or HITS. */
struct log {
    struct scan_segment_writer writer;
    bool is_damaged;
    bool is_rewritten;
};

struct scan_state {
    struct scan_state_place place;
    struct scan_state_warning *warning;
    struct scan_state_name folder_name;
    int all_fd;  /* descriptor of the folder of all repositories; -1: it is missing */
    int fd;      /* descriptor of the repository's folder; -1: it is missing */
    int lock_fd; /* -1: nothing can be written */
    bool has_salt;
    bool has_noted_use;
    uint8_t salt[SCAN_SALT_LEN];
    uint8_t salt_mark[SCAN_STATE_ID_LEN];
    struct log known;
    struct log hits;
};

/* ---- warnings ---- */

static const char *cure_of(int error) {
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return "make room there";
    case EFBIG:
        return "raise the limit on the size of files (ulimit -f)";
    case EMFILE:
    case ENFILE:
        return "raise the limit on open files (ulimit -n)";
    case ENOMEM:
        return "raise the limit on memory (ulimit -v)";
    case EACCES:
    case EPERM:
    case EROFS:
        return "make it writable";
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
        return "give --state the path of a folder";
    default:
        return "check the disk";
    }
}

/* Sets the warning. Keeps only the first warning, because later warnings follow from it. */
static void warn(const struct scan_state *state, const char *what, const char *reason, const char *cure) {
    char shown[300];
    if (state->warning->text[0] != '\0')
        return;
    snprintf(state->warning->text, sizeof state->warning->text,
             "the state in '%s' %s: %s; the report is not affected; %s, or use --no-state",
             ts_text_escape(ts_bytes_of_cstring(state->place.folder), shown, sizeof shown), what, reason,
             cure);
}

/* Stops writing after an error, with a warning. */
static void give_up(struct scan_state *state, int error) {
    warn(state, "cannot be kept", strerror(error), cure_of(error));
    (void)scan__segment_end(&state->known.writer);
    (void)scan__segment_end(&state->hits.writer);
    if (state->lock_fd >= 0)
        close(state->lock_fd);
    state->lock_fd = -1;
}

/* ---- opening ---- */

#define OWN_FILES 8 /* descriptors that the state needs */

/* Returns whether `count` descriptors are left for the scan, besides those of the state. */
static bool has_files_left(unsigned count) {
    unsigned wanted = count + OWN_FILES;
    unsigned made = 0;
    int *fds = calloc(wanted, sizeof *fds);
    for (; fds != NULL && made < wanted; made++) {
        fds[made] = open("/", O_PATH | O_CLOEXEC);
        if (fds[made] < 0)
            break;
    }
    int error = fds == NULL ? ENOMEM : errno;
    for (unsigned i = 0; i < made; i++)
        close(fds[i]);
    free(fds);
    errno = error;
    return made == wanted;
}

/* Returns false, with a warning, for a folder to which other users may have written. */
static bool is_ours(struct scan_state *state) {
    struct stat status;
    bool is_own = fstat(state->fd, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 022) == 0;
    if (!is_own)
        warn(state, "is not used", "other users can write to it",
             "remove it, or change its owner to "
             "yourself and its mode to 0700");
    return is_own;
}

static void set_salt(struct scan_state *state, const uint8_t salt[static SCAN_SALT_LEN]) {
    uint8_t mark[TS_BLAKE3_OUT_LEN];
    memcpy(state->salt, salt, SCAN_SALT_LEN);
    ts_blake3_keyed_hash(state->salt, TS_BYTES("mark"), mark);
    memcpy(state->salt_mark, mark, sizeof state->salt_mark);
    state->has_salt = true;
}

static void read_about(struct scan_state *state) {
    struct scan_state_about about;
    if (scan__state_about_read(state->fd, &about) &&
        memcmp(about.repo, state->place.use.repo, sizeof about.repo) == 0)
        set_salt(state, about.salt);
}

/* Opens the folder of the repository. Returns true if the folder is open, or if it is missing. Returns false
 * if it exists, but cannot be used. */
static bool open_folder(struct scan_state *state) {
    state->fd =
        openat(state->all_fd, state->folder_name.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (state->fd < 0) {
        if (errno != ENOENT)
            warn(state, "cannot be used", strerror(errno), cure_of(errno));
        return errno == ENOENT;
    }
    if (!is_ours(state)) {
        close(state->fd);
        state->fd = -1;
        return false;
    }
    read_about(state);
    return true;
}

static char *path_of_all(const char *folder) {
    char *path = NULL;
    return asprintf(&path, "%s/scan", folder) < 0 ? NULL : path;
}

struct scan_state *scan__state_open(const struct scan_state_place *place,
                                    struct scan_state_warning *warning) {
    struct scan_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return NULL;
    *state = (struct scan_state){.place = *place,
                                 .warning = warning,
                                 .folder_name = scan__state_folder_name(&place->use),
                                 .all_fd = -1,
                                 .fd = -1,
                                 .lock_fd = -1,
                                 .known.writer.fd = -1,
                                 .hits.writer.fd = -1};
    char *path = path_of_all(place->folder);
    bool is_usable = path != NULL && has_files_left(place->files_left);
    if (is_usable)
        state->all_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!is_usable || (state->all_fd < 0 && errno != ENOENT)) {
        warn(state, "cannot be used", strerror(errno), cure_of(errno));
        is_usable = false;
    }
    free(path);
    is_usable = is_usable && (state->all_fd < 0 || open_folder(state));
    if (is_usable)
        return state;
    scan__state_close(state);
    return NULL;
}

void scan__state_close(struct scan_state *state) {
    if (state == NULL)
        return;
    int errors[] = {scan__segment_end(&state->known.writer), scan__segment_end(&state->hits.writer)};
    for (size_t i = 0; i < 2; i++)
        if (errors[i] != 0)
            warn(state, "cannot be kept", strerror(errors[i]), cure_of(errors[i]));
    int fds[] = {state->lock_fd, state->fd, state->all_fd};
    for (size_t i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(state);
}

/* ---- heads of files ---- */

static struct scan_segment_head head_of(const struct scan_state *state, enum scan_segment_kind kind) {
    struct scan_segment_head head = {.kind = kind};
    memcpy(head.repo, state->place.use.repo, sizeof head.repo);
    if (kind == SCAN_SEGMENT_ABOUT)
        return head;
    memcpy(head.rules, state->place.use.rules, sizeof head.rules);
    memcpy(head.salt_mark, state->salt_mark, sizeof head.salt_mark);
    if (kind != SCAN_SEGMENT_KNOWN)
        memcpy(head.judging, state->place.use.judging, sizeof head.judging);
    return head;
}

static int make_folder(struct scan_state *state) {
    char *path = path_of_all(state->place.folder);
    if (path == NULL)
        return ENOMEM;
    if (state->all_fd < 0)
        state->all_fd = scan__state_make_folders(path);
    int error = state->all_fd < 0 ? errno : 0;
    free(path);
    if (error != 0 || state->fd >= 0)
        return error;
    if (mkdirat(state->all_fd, state->folder_name.text, 0700) != 0 && errno != EEXIST)
        return errno;
    return open_folder(state) ? state->fd >= 0 ? 0 : ENOENT : EACCES;
}

static bool take_lock(struct scan_state *state) {
    int fd = openat(state->fd, SCAN_STATE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0) {
        warn(state, "cannot be kept", strerror(errno), cure_of(errno));
        return false;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        state->lock_fd = fd;
        return true;
    }
    if (errno == EWOULDBLOCK)
        warn(state, "is not updated by this scan", "another scan of this repository is using it",
             "scan again when that scan has ended");
    else
        warn(state, "cannot be kept", strerror(errno), cure_of(errno));
    close(fd);
    return false;
}

static int write_about(const struct scan_state *state, const uint8_t salt[static SCAN_SALT_LEN],
                       const char *path) {
    struct scan_buffer page = {.data = NULL};
    scan__buffer_put(&page, ts_bytes_of(salt, SCAN_SALT_LEN));
    scan__buffer_put(&page, ts_bytes_of_cstring(path));
    struct scan_segment_head head = head_of(state, SCAN_SEGMENT_ABOUT);
    struct ts_bytes only = scan__buffer_bytes(&page);
    int error = page.no_memory ? ENOMEM : scan__state_replace(state->fd, SCAN_STATE_ABOUT, &head, &only, 1);
    scan__buffer_release(&page);
    return error;
}

/* Creates the file "about", unless another scan has created it meanwhile. The path of the repository is added
 * later, when it is known to contain no secret. The caller holds the lock. */
static int make_about(struct scan_state *state) {
    read_about(state);
    if (state->has_salt)
        return 0;
    uint8_t salt[SCAN_SALT_LEN];
    if (!ts_entropy_fill(salt, sizeof salt))
        return EIO;
    int error = write_about(state, salt, "");
    if (error == 0)
        set_salt(state, salt);
    return error;
}

bool scan__state_begin(struct scan_state *state) {
    int error = make_folder(state);
    if (error != 0) {
        warn(state, "cannot be kept", strerror(error), cure_of(error));
        return state->has_salt;
    }
    if (!take_lock(state))
        return state->has_salt;
    error = make_about(state);
    if (error == 0)
        error = scan__state_print_key_keep(state->all_fd, &state->place.print_key);
    if (error != 0)
        give_up(state, error);
    return state->has_salt;
}

const uint8_t *scan__state_salt(const struct scan_state *state) {
    ts_assert(state->has_salt);
    return state->salt;
}

/* ---- reading ---- */

static struct log *log_of(struct scan_state *state, enum scan_segment_kind kind) {
    ts_assert(kind == SCAN_SEGMENT_KNOWN || kind == SCAN_SEGMENT_HITS);
    return kind == SCAN_SEGMENT_KNOWN ? &state->known : &state->hits;
}

static bool is_same_head(const struct scan_segment_head *a, const struct scan_segment_head *b) {
    return a->kind == b->kind && memcmp(a->repo, b->repo, sizeof a->repo) == 0 &&
           memcmp(a->rules, b->rules, sizeof a->rules) == 0 &&
           memcmp(a->judging, b->judging, sizeof a->judging) == 0 &&
           memcmp(a->salt_mark, b->salt_mark, sizeof a->salt_mark) == 0;
}

static void warn_damaged(const struct scan_state *state, const char *name) {
    char what[SCAN_STATE_NAME_SIZE + 40];
    snprintf(what, sizeof what, "has a damaged file (scan/%.8s…/%.10s…)", state->folder_name.text, name);
    warn(state, what, "the damaged part is not used and will be rewritten", "check the disk");
}

static void read_file(struct scan_state *state, enum scan_segment_kind kind, const char *name,
                      scan_state_page *take, void *ctx) {
    struct scan_segment segment;
    struct scan_segment_head head = head_of(state, kind);
    int fd = scan__state_open_file(state->fd, name);
    if (fd < 0) {
        if (errno != ENOENT) /* ENOENT: another scan has replaced the file */
            warn(state, "cannot be read", strerror(errno), cure_of(errno));
        return;
    }
    if (!scan__segment_open(&segment, fd)) {
        log_of(state, kind)->is_damaged = true;
        if (errno != 0)
            warn(state, "cannot be read", strerror(errno), cure_of(errno));
        return;
    }
    bool is_sound = is_same_head(&segment.head, &head);
    struct ts_bytes page;
    while (is_sound && scan__segment_next(&segment, &page))
        is_sound = take(ctx, page);
    if (!is_sound || segment.is_damaged) {
        log_of(state, kind)->is_damaged = true;
        warn_damaged(state, name);
    }
    scan__segment_close(&segment);
}

void scan__state_each(struct scan_state *state, enum scan_segment_kind kind, scan_state_page *take,
                      void *ctx) {
    struct scan_state_names names;
    if (state->fd < 0 || !state->has_salt)
        return;
    scan__state_list(state->fd, scan__state_name((char)kind, &state->place.use).text, &names);
    for (size_t i = names.count; i > 0; i--)
        read_file(state, kind, names.items[i - 1], take, ctx);
    scan__state_names_release(&names);
}

bool scan__state_snapshot(struct scan_state *state, const uint8_t *fingerprint,
                          struct scan_segment *ret_segment, struct ts_bytes *ret_page) {
    struct scan_state_name name = scan__state_name((char)SCAN_SEGMENT_SNAPSHOT, &state->place.use);
    struct scan_segment_head head = head_of(state, SCAN_SEGMENT_SNAPSHOT);
    struct scan_segment segment;
    if (state->fd < 0 || !state->has_salt)
        return false;
    int fd = scan__state_open_file(state->fd, name.text);
    if (fd < 0 || !scan__segment_open(&segment, fd))
        return false;
    bool is_found =
        is_same_head(&segment.head, &head) &&
        (fingerprint == NULL || memcmp(segment.head.fingerprint, fingerprint, SCAN_FINGERPRINT_LEN) == 0) &&
        scan__segment_next(&segment, ret_page);
    if (segment.is_damaged)
        warn_damaged(state, name.text);
    if (is_found)
        *ret_segment = segment;
    else
        scan__segment_close(&segment);
    return is_found;
}

bool scan__state_has(const struct scan_state *state, enum scan_segment_kind kind) {
    struct scan_state_names names;
    if (state->fd < 0)
        return false;
    scan__state_list(state->fd, scan__state_name((char)kind, &state->place.use).text, &names);
    bool has = names.count > 0;
    scan__state_names_release(&names);
    return has;
}

/* ---- writing ---- */

/* Before the first page is written, records the use of the state, and removes old entries and the state of
 * deleted repositories. */
static int note_use(struct scan_state *state) {
    if (state->has_noted_use)
        return 0;
    state->has_noted_use = true;
    int error = scan__use_note(state->fd, &state->place.use);
    if (error == 0) {
        scan__use_prune(state->fd);
        scan__use_prune_targets(state->all_fd, &state->place.use);
    }
    return error;
}

/* Returns the next unused name. */
static struct scan_state_name next_name(const struct scan_state_name *prefix,
                                        const struct scan_state_names *names) {
    struct scan_state_name name;
    unsigned long number = 0;
    if (names->count > 0)
        number = strtoul(names->items[names->count - 1] + strlen(prefix->text), NULL, 16) + 1;
    int len = snprintf(name.text, sizeof name.text, "%s%08lx", prefix->text, number & 0xffffffff);
    ts_assert(len > 0 && (size_t)len < sizeof name.text);
    return name;
}

/* Opens the file that this scan writes. Each scan writes a separate file, because a file of another process
 * may end with an incomplete page. */
static int open_log(struct scan_state *state, enum scan_segment_kind kind, struct log *log) {
    struct scan_state_names names;
    struct scan_state_name prefix = scan__state_name((char)kind, &state->place.use);
    scan__state_list(state->fd, prefix.text, &names);
    int fd = scan__state_open_new(state->fd, next_name(&prefix, &names).text);
    scan__state_names_release(&names);
    if (fd < 0)
        return errno;
    struct scan_segment_head head = head_of(state, kind);
    return scan__segment_begin(&log->writer, fd, &head);
}

void scan__state_add(struct scan_state *state, enum scan_segment_kind kind, struct ts_bytes page) {
    struct log *log = log_of(state, kind);
    if (state->lock_fd < 0 || page.len == 0)
        return;
    int error = note_use(state);
    if (error == 0 && log->writer.fd < 0)
        error = open_log(state, kind, log);
    if (error == 0)
        error = scan__segment_add(&log->writer, page);
    if (error != 0)
        give_up(state, error);
}

void scan__state_put_snapshot(struct scan_state *state,
                              const uint8_t fingerprint[static SCAN_FINGERPRINT_LEN], struct ts_bytes page,
                              struct ts_bytes past) {
    struct ts_bytes pages[] = {page, past};
    if (state->lock_fd < 0)
        return;
    struct scan_segment_head head = head_of(state, SCAN_SEGMENT_SNAPSHOT);
    struct scan_state_name name = scan__state_name((char)SCAN_SEGMENT_SNAPSHOT, &state->place.use);
    memcpy(head.fingerprint, fingerprint, SCAN_FINGERPRINT_LEN);
    int error = note_use(state);
    if (error == 0)
        error = scan__state_replace(state->fd, name.text, &head, pages, 2);
    if (error != 0)
        give_up(state, error);
}

void scan__state_note_path(struct scan_state *state, const char *path) {
    struct scan_state_about about;
    if (state->lock_fd < 0 || strlen(path) >= sizeof about.path)
        return;
    bool is_noted = scan__state_about_read(state->fd, &about) && strcmp(about.path, path) == 0;
    int error = is_noted ? 0 : write_about(state, state->salt, path);
    if (error != 0)
        give_up(state, error);
}

void scan__state_drop_texts(struct scan_state *state) {
    struct scan_state_names names;
    const struct scan_use *use = &state->place.use;
    (void)scan__segment_end(&state->hits.writer);
    scan__state_list(state->fd, scan__state_name((char)SCAN_SEGMENT_HITS, use).text, &names);
    for (size_t i = 0; i < names.count; i++)
        (void)unlinkat(state->fd, names.items[i], 0);
    scan__state_names_release(&names);
    (void)unlinkat(state->fd, scan__state_name((char)SCAN_SEGMENT_SNAPSHOT, use).text, 0);
}

/* ---- merging files ---- */

bool scan__state_is_scattered(struct scan_state *state, enum scan_segment_kind kind) {
    struct scan_state_names names;
    struct stat status;
    uint64_t total = 0;
    uint64_t largest = 0;
    if (state->lock_fd < 0)
        return false;
    scan__state_list(state->fd, scan__state_name((char)kind, &state->place.use).text, &names);
    for (size_t i = 0; i < names.count; i++) {
        uint64_t size = fstatat(state->fd, names.items[i], &status, AT_SYMLINK_NOFOLLOW) == 0
                            ? (uint64_t)status.st_size
                            : 0;
        total += size;
        largest = size > largest ? size : largest;
    }
    bool is_scattered = log_of(state, kind)->is_damaged || names.count > FILES_MAX ||
                        (total - largest > largest && total > SCATTERED_MIN);
    scan__state_names_release(&names);
    return is_scattered;
}

bool scan__state_rewrite_begin(struct scan_state *state, enum scan_segment_kind kind) {
    struct log *log = log_of(state, kind);
    if (state->lock_fd < 0)
        return false;
    int error = scan__segment_end(&log->writer);
    if (error == 0)
        error = note_use(state);
    (void)unlinkat(state->fd, SCAN_STATE_NEW, 0);
    int fd = error == 0 ? scan__state_open_new(state->fd, SCAN_STATE_NEW) : -1;
    if (error == 0 && fd < 0)
        error = errno;
    struct scan_segment_head head = head_of(state, kind);
    if (error == 0)
        error = scan__segment_begin(&log->writer, fd, &head);
    if (error != 0) {
        give_up(state, error);
        (void)unlinkat(state->fd, SCAN_STATE_NEW, 0);
    }
    log->is_rewritten = error == 0;
    return error == 0;
}

/* Puts the merged file in place. It has the next number, so that it is the latest file even if some of the
 * old files remain. */
void scan__state_rewrite_end(struct scan_state *state, enum scan_segment_kind kind) {
    struct log *log = log_of(state, kind);
    struct scan_state_names names;
    if (!log->is_rewritten)
        return;
    log->is_rewritten = false;
    if (state->lock_fd < 0) {
        (void)unlinkat(state->fd, SCAN_STATE_NEW, 0);
        return;
    }
    struct scan_state_name prefix = scan__state_name((char)kind, &state->place.use);
    scan__state_list(state->fd, prefix.text, &names);
    int error = scan__segment_end(&log->writer);
    if (error == 0 && renameat(state->fd, SCAN_STATE_NEW, state->fd, next_name(&prefix, &names).text) != 0)
        error = errno;
    for (size_t i = 0; i < names.count && error == 0; i++)
        (void)unlinkat(state->fd, names.items[i], 0);
    scan__state_names_release(&names);
    if (error != 0)
        give_up(state, error);
}
