#include "state.h"

#include "store/open.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORE_NAME      "scan"
#define LOCK_NAME       "scan.lock"
#define STORE_LOCK_NAME "turnstone.lock" /* the store's own, in its folder */
/* Rows that are asked for at once: pages of about a MiB. */
#define ROWS_MAX        8
#define PREFIX_MAX      128

struct scan_state {
    struct scan_faults *faults;
    struct ts_store *store; /* NULL: it cannot be used any more */
    int lock_fd;
    char folder[2048]; /* of the store */
};

/* ---- folders ---- */

static bool make_folders(char *path) {
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        bool is_there = mkdir(path, 0700) == 0 || errno == EEXIST;
        *at = '/';
        if (!is_there)
            return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static bool is_of_store(const char *name) {
    static const char *const begins[] = {"CURRENT",   "IDENTITY", "LOCK",         "LOG",
                                         "MANIFEST-", "OPTIONS-", STORE_LOCK_NAME};
    static const char *const ends[] = {".sst", ".log", ".blob", ".dbtmp"};
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (len > strlen(ends[i]) && strcmp(name + len - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

/* Only what a store makes: the user may have given any folder. */
static void remove_store(const char *folder) {
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return;
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        if (is_of_store(entry->d_name))
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    (void)closedir(dir);
    (void)rmdir(folder);
}

/* Whether there is a store of ours that nobody has open: *ret_has_lock tells one that is open from none. */
static bool is_ours_alone(const char *folder, bool *ret_has_lock) {
    char path[2048 + 32];
    snprintf(path, sizeof path, "%s/" STORE_LOCK_NAME, folder);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool is_alone = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    *ret_has_lock = fd >= 0 || errno != ENOENT;
    if (fd >= 0)
        close(fd);
    return is_alone;
}

/* What opening left in a folder that is not ours, and by which the next scan would take it for ours. */
static void remove_lock(const char *folder) {
    char path[2048 + 32];
    snprintf(path, sizeof path, "%s/" STORE_LOCK_NAME, folder);
    (void)unlink(path);
}

/* ---- opening ---- */

static bool url_of(const char *folder, char *ret_url, size_t size) {
    static const char scheme[] = "rocksdb:";
    size_t len = sizeof scheme - 1;
    memcpy(ret_url, scheme, sizeof scheme);
    for (const char *at = folder; *at != '\0'; at++) {
        if (len + 4 > size)
            return false;
        if (*at == '%' || *at == ',' || *at == '?' || *at == '#')
            len += (size_t)snprintf(ret_url + len, 4, "%%%02X", (unsigned)*at);
        else
            ret_url[len++] = *at;
    }
    ret_url[len] = '\0';
    return true;
}

static enum ts_store_result open_store(struct scan_state *state, struct ts_store_error *ret_error) {
    char url[3 * sizeof state->folder + 16];
    struct ts_store_options options = {.wait_ms = 0};
    if (!url_of(state->folder, url, sizeof url)) {
        *ret_error = (struct ts_store_error){.result = TS_STORE_BAD_CONFIGURATION,
                                             .text = "the path of the folder is too long"};
        return ret_error->result;
    }
    return ts_store_open(url, &options, &state->store, ret_error);
}

/* Damage is no reason to do without it. */
static void remake(struct scan_state *state) {
    struct ts_store_error error;
    ts_store_close(state->store);
    state->store = NULL;
    remove_store(state->folder);
    if (open_store(state, &error) == TS_STORE_OK)
        scan__note(state->faults, "state: it was damaged, and is made anew");
    else
        scan__note(state->faults, "state: it is damaged: %s; everything is read, and nothing kept",
                   error.text);
}

static void give_up(struct scan_state *state, const char *what, const char *reason) {
    scan__note(state->faults, "state: %s: %s; what this scan learns is not kept", what, reason);
    ts_store_close(state->store);
    state->store = NULL;
}

static bool lock_folder(struct scan_state *state, const char *folder) {
    char path[sizeof state->folder + 32];
    snprintf(path, sizeof path, "%s/" LOCK_NAME, folder);
    state->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (state->lock_fd < 0) {
        scan__note(state->faults, "state: cannot be used: %s; everything is read, and nothing kept",
                   strerror(errno));
        return false;
    }
    if (flock(state->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    scan__note(state->faults, "state: another scan is using it; everything is read, and nothing kept");
    return false;
}

struct scan_state *scan__state_open(const char *folder, struct scan_faults *faults) {
    struct scan_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return NULL;
    *state = (struct scan_state){.faults = faults, .lock_fd = -1};
    char own[sizeof state->folder];
    int len = snprintf(own, sizeof own, "%s", folder);
    int all = snprintf(state->folder, sizeof state->folder, "%s/" STORE_NAME, folder);
    errno = len > 0 ? ENAMETOOLONG : ENOENT;
    bool is_made = len > 0 && all > 0 && (size_t)all < sizeof state->folder && make_folders(own);
    if (!is_made)
        scan__note(faults, "state: cannot make its folder: %s; everything is read, and nothing kept",
                   strerror(errno));
    if (!is_made || !lock_folder(state, folder)) {
        scan__state_close(state);
        return NULL;
    }
    struct ts_store_error error;
    bool had_lock;
    bool was_ours = is_ours_alone(state->folder, &had_lock);
    enum ts_store_result result = open_store(state, &error);
    /* RocksDB has many words for files of its own that do not fit together. */
    if (was_ours && (result == TS_STORE_DAMAGED || result == TS_STORE_BAD_CONFIGURATION))
        remake(state);
    else if (result != TS_STORE_OK) {
        scan__note(faults, "state: %s; everything is read, and nothing kept", error.text);
        if (!had_lock)
            remove_lock(state->folder);
    }
    if (state->store == NULL) {
        scan__state_close(state);
        return NULL;
    }
    return state;
}

void scan__state_close(struct scan_state *state) {
    if (state == NULL)
        return;
    ts_store_close(state->store);
    if (state->lock_fd >= 0)
        close(state->lock_fd);
    free(state);
}

/* ---- rows ---- */

/* The first key behind all that begin with prefix, which does not consist of 0xff alone. */
static struct ts_bytes behind(struct ts_bytes prefix, uint8_t ret_key[static PREFIX_MAX]) {
    memcpy(ret_key, prefix.data, prefix.len);
    size_t len = prefix.len;
    while (ret_key[len - 1] == 0xff)
        len--;
    ret_key[len - 1]++;
    return ts_bytes_of(ret_key, len);
}

/* Where to go on behind a key: the key and a zero. */
static struct ts_bytes next_of(struct ts_bytes key, uint8_t ret_key[static TS_STORE_KEY_MAX + 1]) {
    memcpy(ret_key, key.data, key.len);
    ret_key[key.len] = 0;
    return ts_bytes_of(ret_key, key.len + 1);
}

bool scan__state_each(struct scan_state *state, struct ts_bytes prefix, scan_state_row *row, void *ctx) {
    uint8_t end[PREFIX_MAX];
    uint8_t next[TS_STORE_KEY_MAX + 1];
    struct ts_rows rows = {.count = 0};
    struct ts_call call = {
        .kind = TS_CALL_SCAN, .from = prefix, .to = behind(prefix, end), .limit = ROWS_MAX, .rows = &rows};
    bool is_sound = true;
    bool has_more = state->store != NULL;
    while (has_more && is_sound) {
        is_sound = ts_store_run(state->store, &call) == TS_STORE_OK;
        for (size_t i = 0; i < rows.count && is_sound; i++)
            is_sound = row(ctx, rows.rows[i].key, rows.rows[i].value);
        has_more = is_sound && rows.more && rows.count > 0 && state->store != NULL;
        if (has_more)
            call.from = next_of(rows.rows[rows.count - 1].key, next);
    }
    ts_rows_release(&rows);
    if (!is_sound)
        remake(state);
    return is_sound;
}

bool scan__state_apply(struct scan_state *state, const struct ts_op *ops, size_t count) {
    if (state->store == NULL)
        return false;
    struct ts_call call = {.kind = TS_CALL_APPLY, .batch = {ops, count}};
    if (ts_store_run(state->store, &call) == TS_STORE_OK)
        return true;
    give_up(state, "cannot be written", call.error.text);
    return false;
}

static bool drop_row(void *ctx, struct ts_bytes key, struct ts_bytes value) {
    struct scan_state *state = ctx;
    struct ts_op op = {.kind = TS_OP_DEL, .key = key};
    (void)value;
    (void)scan__state_apply(state, &op, 1);
    return true;
}

void scan__state_drop(struct scan_state *state, struct ts_bytes prefix) {
    (void)scan__state_each(state, prefix, drop_row, state);
}
