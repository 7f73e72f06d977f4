/*
 * One sync; mirror.h has the diagram.
 *
 * Lock order: first the lock of the slot, then the lock of the quota. The holder of the quota's lock only
 * tries the locks of other slots. No thread waits for a slot while it holds another slot.
 */
#include "classify.h"
#include "command.h"
#include "listing.h"
#include "pause.h"
#include "quota.h"
#include "resolve.h"
#include "slot.h"

#include "runtime/core/address.h"

#include "os/clock.h"
#include "os/unnamed_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS   UINT64_C(1000000)
#define LISTING_MAX ((size_t)128 << 20)
#define LISTING_S   UINT64_C(300) /* the longest time for a list of refs */

enum {
    POLL_MS = 20,
    LOCK_MS = 300, /* how long to wait for a slot */
    SHARE_TRIES = 3,
    PACKS_MAX = 50,  /* if a mirror has more packs, they are joined into one */
    LOOSE_MAX = 500, /* if a mirror has more refs, they are written into one file */
};

struct ts_mirrors {
    struct ts_mirrors_options options;
    struct mirror__quota quota;
    struct mirror__pauses pauses;
};

struct sync {
    struct ts_mirrors *mirrors;
    const struct ts_mirror_request *request;
    struct mirror__command command;
    struct mirror__slot slot;
    struct mirror__listing listing;
    struct mirror__refs wanted;
    struct mirror__state state;
    struct ts_mirror_failure failure;
    bool is_stopped;
    uint64_t size;      /* bytes of the mirror before the sync; after refresh: bytes by which it has grown */
    const char *folder; /* the folder that git writes to, which may grow up to folder_max; NULL: none */
    uint64_t folder_max;
    struct mirror__git_result result;
};

struct ts_mirrors *ts_mirrors_new(const struct ts_mirrors_options *options) {
    struct ts_mirrors *mirrors = calloc(1, sizeof *mirrors);
    if (mirrors == NULL || pthread_mutex_init(&mirrors->quota.lock, NULL) != 0 ||
        pthread_mutex_init(&mirrors->pauses.lock, NULL) != 0) {
        free(mirrors);
        return NULL;
    }
    mirrors->options = *options;
    return mirrors;
}

void ts_mirrors_free(struct ts_mirrors *mirrors) {
    if (mirrors == NULL)
        return;
    pthread_mutex_destroy(&mirrors->quota.lock);
    pthread_mutex_destroy(&mirrors->pauses.lock);
    free(mirrors);
}

/* ---- failures ---- */

static bool fail(struct sync *sync, enum ts_unit_reason reason) {
    sync->failure = mirror__failure_of(reason);
    return false;
}

static bool fail_here(struct sync *sync, enum ts_fleet_worker_fault_kind kind) {
    sync->failure = mirror__own_fault(kind);
    return false;
}

static bool fail_file(struct sync *sync, int error) {
    return fail_here(sync, error == ENOSPC || error == EDQUOT   ? TS_FLEET_WORKER_FAULT_DISK_FULL
                           : error == EMFILE || error == ENFILE ? TS_FLEET_WORKER_FAULT_NO_DESCRIPTORS
                           : error == ENOMEM                    ? TS_FLEET_WORKER_FAULT_NO_MEMORY
                                                                : TS_FLEET_WORKER_FAULT_MIRROR_FOLDER);
}

/* Whether a file can be written in the root. Over ssh, a message about a full disk may come from the
 * server. */
static bool has_room(const struct sync *sync) {
    static const char block[1 << 16];
    const int fd = ts_unnamed_file_open(sync->mirrors->options.root);
    bool done = fd >= 0;
    for (size_t i = 0; i < 16 && done; i++)
        done = write(fd, block, sizeof block) == (ssize_t)sizeof block;
    if (fd >= 0)
        (void)close(fd);
    return done;
}

/* Finds the reason for a failed call in its messages. */
static void classify(struct sync *sync) {
    const struct mirror__address address = mirror__address_split(sync->request->address);
    const struct ts_bytes messages = ts_bytes_of(sync->result.messages, sync->result.messages_len);
    struct mirror__verdict verdict = mirror__classify(messages, true);
    if (verdict.failure.is_own && ts_bytes_equal(address.scheme, TS_BYTES("ssh")) && has_room(sync))
        verdict = mirror__classify(messages, false);
    sync->failure = verdict.failure;
    if (verdict.is_name && !mirror__is_no_host(address.name, sync->request->stop))
        sync->failure = mirror__own_fault(TS_FLEET_WORKER_FAULT_NO_DNS);
    if (!sync->failure.is_own && sync->failure.error.reason == TS_UNIT_AUTHENTICATION_FAILED &&
        !sync->command.has_key)
        sync->failure = mirror__failure_of(TS_UNIT_CREDENTIALS_MISSING);
    if (!sync->failure.is_own && sync->failure.error.retry_after_ms > 0)
        mirror__pause_begin(&sync->mirrors->pauses, address.host, sync->failure.error.retry_after_ms);
}

static bool judge(struct sync *sync) {
    switch (sync->result.end) {
    case MIRROR__GIT_EXITED:
        if (sync->result.status == 0)
            return true;
        classify(sync);
        return false;
    case MIRROR__GIT_STOPPED:
        sync->is_stopped = true;
        return false;
    case MIRROR__GIT_TIMED_OUT:
        return fail(sync, TS_UNIT_TIMED_OUT);
    case MIRROR__GIT_TOO_LARGE:
        return fail(sync, TS_UNIT_TOO_LARGE);
    case MIRROR__GIT_NO_PROCESS:
        return fail_here(sync, TS_FLEET_WORKER_FAULT_NO_PROCESS);
    case MIRROR__GIT_NO_MEMORY:
        return fail_here(sync, TS_FLEET_WORKER_FAULT_NO_MEMORY);
    case MIRROR__GIT_NO_GIT:
        break;
    }
    return fail_here(sync, TS_FLEET_WORKER_FAULT_NO_GIT);
}

/* ---- calls of git ---- */

static bool is_over_ssh(const struct sync *sync) {
    return ts_bytes_equal(mirror__address_split(sync->request->address).scheme, TS_BYTES("ssh"));
}

static bool call(struct sync *sync, struct mirror__git git) {
    const struct ts_mirrors_options *options = &sync->mirrors->options;
    if (sync->command.no_memory)
        return fail_here(sync, TS_FLEET_WORKER_FAULT_NO_MEMORY);
    git.lock_fd = sync->slot.fd;
    git.file_max = options->mirror_bytes;
    git.memory_max = options->memory_bytes;
    git.limits = (struct mirror__limits){.folder = sync->folder,
                                         .folder_max = sync->folder_max,
                                         .ssh_stall_ms = is_over_ssh(sync) ? options->stall_s * 1000 : 0};
    git.stop = sync->request->stop;
    if (git.time_max_ms == 0)
        git.time_max_ms = options->timeout_s * 1000;
    mirror__git_run(&git, &sync->result);
    return judge(sync);
}

/* Returns whether an empty list of refs may come from an empty repository. A wrong empty list would remove
 * everything in the mirror. */
static bool may_be_empty(const struct sync *sync) {
    const struct ts_bytes scheme = mirror__address_split(sync->request->address).scheme;
    const bool is_http =
        ts_bytes_equal(scheme, TS_BYTES("https")) || ts_bytes_equal(scheme, TS_BYTES("http"));
    return !is_http ||
           mirror__is_answer_of_git(ts_bytes_of(sync->result.messages, sync->result.messages_len));
}

/* Lists all refs, or only HEAD, with one request. */
static bool ask_for_refs(struct sync *sync, bool only_head) {
    static const char *const words[] = {"ls-remote", "--symref", "--", NULL};
    const uint64_t timeout_s = sync->mirrors->options.timeout_s;
    mirror__command_begin(&sync->command, NULL, words);
    mirror__command_word(&sync->command, sync->command.url);
    if (only_head)
        mirror__command_word(&sync->command, "HEAD");
    struct mirror__git git = mirror__command_git(&sync->command);
    git.output_max = LISTING_MAX;
    git.time_max_ms = (timeout_s < LISTING_S ? timeout_s : LISTING_S) * 1000;
    if (!call(sync, git))
        return false;
    if (sync->result.output_len == 0 && !may_be_empty(sync))
        return fail(sync, TS_UNIT_NOT_FOUND);
    mirror__listing_release(&sync->listing);
    switch (mirror__listing_parse(sync->result.output, sync->result.output_len,
                                  sync->request->is_sha256 ? TS_GIT_SHA256 : TS_GIT_SHA1, &sync->listing)) {
    case MIRROR__LISTED:
        break;
    case MIRROR__LISTING_WRONG:
        return fail(sync, TS_UNIT_UNCLASSIFIED);
    case MIRROR__LISTING_NO_MEMORY:
        return fail_here(sync, TS_FLEET_WORKER_FAULT_NO_MEMORY);
    }
    /* The listing borrows from the output, so later calls must write to other memory. */
    sync->listing.output = sync->result.output;
    sync->result.output = NULL;
    sync->result.output_capacity = 0;
    return true;
}

/* Lists the refs, and chooses those of the selection. Asks only for HEAD if the selection needs no other ref.
 * A repository that has refs, but not the branch that its HEAD names, is not empty: its default branch is
 * missing. */
static bool list_refs(struct sync *sync) {
    const struct ts_bytes selection = sync->request->selection;
    const bool is_default = ts_bytes_equal(selection, TS_BYTES("default"));
    if (!ask_for_refs(sync, is_default || ts_bytes_starts_with(selection, TS_BYTES("commits:"))))
        return false;
    if (is_default && !sync->listing.has_head) {
        if (!ask_for_refs(sync, false))
            return false;
        if (!sync->listing.has_head && sync->listing.refs.count > 0)
            return fail(sync, TS_UNIT_SELECTION_NOT_FOUND);
    }
    return mirror__listing_choose(&sync->listing, selection, &sync->wanted) ||
           fail_here(sync, TS_FLEET_WORKER_FAULT_NO_MEMORY);
}

/* Makes a file with one line per ref, for git's standard input. Returns -1 when memory runs out. */
static int open_input(const struct mirror__refs *refs, const char *format) {
    char *text = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&text, &len);
    bool done = file != NULL;
    for (size_t i = 0; i < refs->count && done; i++) {
        const struct mirror__ref *ref = &refs->items[i];
        done = strcmp(format, "delete") == 0 ? fprintf(file, "delete %s\n", ref->name) > 0
                                             : fprintf(file, "+%s:%s\n", ref->source, ref->name) > 0;
    }
    done = file != NULL && fclose(file) == 0 && done;
    const int fd = done ? ts_unnamed_memory_of(ts_bytes_of(text, len)) : -1;
    free(text);
    return fd;
}

static bool call_with_refs(struct sync *sync, const struct mirror__refs *refs, const char *format) {
    struct mirror__git git = mirror__command_git(&sync->command);
    git.input_fd = open_input(refs, format);
    if (git.input_fd < 0)
        return fail_here(sync, TS_FLEET_WORKER_FAULT_NO_MEMORY);
    const bool done = call(sync, git);
    (void)close(git.input_fd);
    return done;
}

static bool is_all(const struct sync *sync) {
    return ts_bytes_equal(sync->request->selection, TS_BYTES("all"));
}

/* Removes refs that are no longer wanted, because their names may conflict with new refs. */
static bool remove_stale(struct sync *sync, const char *path) {
    static const char *const words[] = {"update-ref", "--stdin", NULL};
    if (sync->state.stale.count == 0)
        return true;
    mirror__command_begin(&sync->command, path, words);
    return call_with_refs(sync, &sync->state.stale, "delete");
}

/* Writes all refs into one file, because a fetch makes a file for each ref. If this fails, the refs remain in
 * their files. */
static void pack_refs(struct sync *sync, const char *path) {
    static const char *const words[] = {"pack-refs", "--all", NULL};
    mirror__command_begin(&sync->command, path, words);
    (void)call(sync, mirror__command_git(&sync->command));
}

static bool fetch(struct sync *sync, const char *path) {
    static const char *const words[] = {"fetch",
                                        "--quiet",
                                        "--no-tags",
                                        "--no-write-fetch-head",
                                        "--no-recurse-submodules",
                                        "--no-auto-maintenance",
                                        "--update-shallow",
                                        "--force",
                                        NULL};
    const bool takes_all = is_all(sync) && sync->listing.head != NULL;
    if (!takes_all && !remove_stale(sync, path))
        return false;
    if (sync->wanted.count == 0)
        return true;
    mirror__command_begin(&sync->command, path, words);
    mirror__command_word(&sync->command, takes_all ? "--prune" : "--stdin");
    mirror__command_word(&sync->command, "--");
    mirror__command_word(&sync->command, sync->command.url);
    if (takes_all)
        mirror__command_word(&sync->command, "+refs/*:refs/*");
    const bool done = takes_all ? call(sync, mirror__command_git(&sync->command))
                                : call_with_refs(sync, &sync->wanted, "refspec");
    if (done && sync->wanted.count > LOOSE_MAX)
        pack_refs(sync, path);
    return done && !sync->is_stopped;
}

/* Clones all refs. A clone writes all refs into one file, but a fetch makes a file for each ref. */
static bool clone_all(struct sync *sync) {
    static const char *const words[] = {"clone", "--mirror", "--quiet", "--template=", "--", NULL};
    mirror__command_begin(&sync->command, NULL, words);
    mirror__command_word(&sync->command, sync->command.url);
    mirror__command_word(&sync->command, sync->slot.new_path);
    return call(sync, mirror__command_git(&sync->command));
}

static void repack(struct sync *sync) {
    static const char *const words[] = {"repack", "-a", "-d", "-q", NULL};
    mirror__command_begin(&sync->command, sync->slot.path, words);
    if (call(sync, mirror__command_git(&sync->command)))
        pack_refs(sync, sync->slot.path);
}

/* ---- the mirror ---- */

static bool write_file(const char *folder, const char *name, const char *text) {
    char path[PATH_MAX + 16];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    const bool is_written = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    return close(fd) == 0 && is_written;
}

/* Makes an empty bare repository with the object format of the origin. */
static bool make_empty(const struct sync *sync) {
    static const char *const folders[] = {"", "objects", "refs"};
    char path[PATH_MAX + 16];
    const bool is_sha256 = sync->listing.hash == TS_GIT_SHA256;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", sync->slot.new_path, folders[i]);
        if (mkdir(path, 0700) != 0)
            return false;
    }
    /* The address has no quotes and no backslashes. A scan reads it for links to the forge. */
    char config[TS_ADDRESS_MAX + 200];
    const struct ts_bytes address = sync->request->address;
    (void)snprintf(
        config, sizeof config,
        "[core]\n\trepositoryformatversion = %d\n\tbare = true\n%s[remote \"origin\"]\n\turl = \"%.*s\"\n",
        is_sha256, is_sha256 ? "[extensions]\n\tobjectformat = sha256\n" : "", (int)address.len,
        (const char *)address.data);
    return write_file(sync->slot.new_path, "config", config) &&
           write_file(sync->slot.new_path, "HEAD", "ref: " MIRROR__UNBORN_REF "\n");
}

/* Makes a new mirror. On failure removes everything that was made. */
static bool make_new(struct sync *sync) {
    struct mirror__slot *slot = &sync->slot;
    const uint64_t max = sync->mirrors->options.mirror_bytes;
    (void)mirror__tree_remove(slot->new_path);
    (void)mirror__tree_remove(slot->old_path);
    sync->state.stale.count = 0;
    bool done = false;
    sync->folder = slot->new_path;
    sync->folder_max = max;
    if (is_all(sync) && sync->wanted.count > 0 && sync->listing.head != NULL)
        done = clone_all(sync);
    else
        done = (make_empty(sync) || fail_file(sync, errno)) && fetch(sync, slot->new_path);
    done = done && (mirror__head_write(&sync->listing, slot->new_path) || fail_file(sync, errno));
    if (done && mirror__tree_size(slot->new_path) > max)
        done = fail(sync, TS_UNIT_TOO_LARGE);
    if (done && rename(slot->path, slot->old_path) != 0 && errno != ENOENT)
        done = fail_file(sync, errno);
    if (done && rename(slot->new_path, slot->path) != 0)
        done = fail_file(sync, errno);
    (void)mirror__tree_remove(slot->old_path);
    (void)mirror__tree_remove(slot->new_path);
    return done;
}

static size_t count_packs(const char *path) {
    char folder_path[PATH_MAX + 16];
    size_t count = 0;
    (void)snprintf(folder_path, sizeof folder_path, "%s/objects/pack", path);
    DIR *folder = opendir(folder_path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        count += strstr(entry->d_name, ".pack") != NULL;
    if (folder != NULL)
        (void)closedir(folder);
    return count;
}

/* Fetches into the existing mirror. If the fetch fails for an unknown reason, or the origin seems damaged, the
 * mirror may be damaged. So the failure is MIRROR_DAMAGED, and the core asks for a repair. */
static bool update(struct sync *sync) {
    const char *path = sync->slot.path;
    sync->folder = path;
    sync->folder_max = sync->size + sync->mirrors->options.mirror_bytes; /* refresh checks the final size */
    bool done = fetch(sync, path) && (mirror__head_write(&sync->listing, path) || fail_file(sync, errno));
    if (!done && !sync->is_stopped && !sync->failure.is_own &&
        (sync->failure.error.reason == TS_UNIT_UNCLASSIFIED ||
         sync->failure.error.reason == TS_UNIT_DAMAGED_ORIGIN))
        sync->failure = mirror__failure_of(TS_UNIT_MIRROR_DAMAGED);
    sync->folder = NULL;
    if (done && count_packs(path) > PACKS_MAX)
        repack(sync);
    mirror__tree_tidy(path);
    return done && !sync->is_stopped;
}

/* Refreshes the mirror, or makes it. The slot must be locked. */
static bool refresh(struct sync *sync) {
    const struct mirror__slot *slot = &sync->slot;
    const uint64_t max = sync->mirrors->options.mirror_bytes;
    if (slot->is_interrupted)
        mirror__tree_tidy(slot->path);
    if (!list_refs(sync))
        return false;
    if (!mirror__listing_compare(&sync->listing, &sync->wanted, slot->path, &sync->state))
        return fail_here(sync, TS_FLEET_WORKER_FAULT_NO_MEMORY);
    bool is_kept =
        sync->state.is_readable && sync->state.hash == sync->listing.hash && !sync->request->repair;
    if (is_kept && sync->state.is_same && !slot->is_interrupted)
        return true;
    sync->size = mirror__tree_size(slot->path);
    if (!mirror__slot_mark(slot, MIRROR__BUSY))
        return fail_file(sync, errno);
    if (is_kept && !update(sync))
        return false;
    uint64_t size = is_kept ? mirror__tree_size(slot->path) : 0;
    is_kept = is_kept && size <= max;
    if (!is_kept && !make_new(sync))
        return false;
    size = is_kept ? size : mirror__tree_size(slot->path);
    if (!mirror__slot_mark(slot, size))
        return fail_file(sync, errno);
    sync->size = size > sync->size ? size - sync->size : 0;
    return true;
}

/* ---- the lock ---- */

static bool lock_slot(struct sync *sync, unsigned number) {
    const char *root = sync->mirrors->options.root;
    const uint64_t end_ns = ts_clock_monotonic_ns() + LOCK_MS * NS_PER_MS;
    if (!mirror__slot_init(&sync->slot, root, sync->request, number) ||
        !mirror__slot_make_folders(root, &sync->slot))
        return fail_file(sync, errno);
    for (;;) {
        switch (mirror__slot_try_lock(&sync->slot)) {
        case MIRROR__LOCKED:
            return true;
        case MIRROR__LOCK_FAILED:
            return fail_file(sync, errno);
        case MIRROR__LOCK_BUSY:
            break;
        }
        sync->is_stopped = atomic_load(sync->request->stop);
        if (sync->is_stopped || ts_clock_monotonic_ns() >= end_ns)
            return fail(sync, TS_UNIT_MIRROR_BUSY);
        (void)nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
    }
}

static bool lock_any(struct sync *sync) {
    for (unsigned number = 0; number < MIRROR__SLOTS; number++) {
        if (lock_slot(sync, number))
            return true;
        if (sync->is_stopped || sync->failure.is_own)
            return false;
    }
    return false;
}

/* Unlocks the slot after a failed sync. Stores the size of the mirror or, if there is no mirror, removes the
 * lock file. */
static void leave(struct sync *sync) {
    if (access(sync->slot.path, F_OK) != 0)
        mirror__slot_remove(&sync->slot);
    else
        (void)mirror__slot_mark(&sync->slot, mirror__tree_size(sync->slot.path));
    mirror__slot_unlock(&sync->slot);
}

static void forget(struct sync *sync) {
    free(sync->wanted.items);
    free(sync->state.stale.items);
    sync->wanted = sync->state.stale = (struct mirror__refs){.count = 0};
    mirror__listing_release(&sync->listing);
}

/* Makes the mirror current, and takes a shared lock. Another process may evict the mirror before the lock is
 * shared; then the mirror is made again. */
static bool sync_and_share(struct sync *sync) {
    for (unsigned try = 0; try < SHARE_TRIES; try++) {
        sync->size = 0;
        if (!lock_any(sync))
            return false;
        const bool done = refresh(sync);
        forget(sync);
        if (!done) {
            leave(sync);
            return false;
        }
        if (mirror__slot_share(&sync->slot))
            return true;
        mirror__slot_unlock(&sync->slot);
    }
    return fail(sync, TS_UNIT_MIRROR_BUSY);
}

/* Returns true if the host has asked for a pause, for this or any other target. */
static bool is_paused(struct sync *sync) {
    sync->failure = mirror__failure_of(TS_UNIT_RATE_LIMITED);
    sync->failure.error.retry_after_ms =
        mirror__pause_left(&sync->mirrors->pauses, mirror__address_split(sync->request->address).host);
    return sync->failure.error.retry_after_ms > 0;
}

enum ts_mirror_end ts_mirror_sync(struct ts_mirrors *mirrors, const struct ts_mirror_request *request,
                                  struct ts_mirror *ret_mirror, struct ts_mirror_failure *ret_failure) {
    struct sync *sync = calloc(1, sizeof *sync);
    if (sync == NULL) {
        *ret_failure = mirror__own_fault(TS_FLEET_WORKER_FAULT_NO_MEMORY);
        return TS_MIRROR_FAILED;
    }
    sync->mirrors = mirrors;
    sync->request = request;
    sync->command.secret_fd = -1;
    const bool done = !is_paused(sync) &&
                      mirror__command_init(&sync->command, &mirrors->options, request, &sync->failure) &&
                      sync_and_share(sync);
    if (done) {
        ret_mirror->lock_fd = sync->slot.fd;
        memcpy(ret_mirror->path, sync->slot.path, sizeof ret_mirror->path);
        mirror__quota_grow(&mirrors->quota, mirrors->options.root, mirrors->options.quota_bytes, sync->size);
    } else {
        *ret_failure = sync->failure;
    }
    const bool is_stopped = sync->is_stopped;
    mirror__command_release(&sync->command);
    mirror__git_result_release(&sync->result);
    free(sync);
    return done ? TS_MIRROR_OK : is_stopped ? TS_MIRROR_STOPPED : TS_MIRROR_FAILED;
}

void ts_mirror_release(struct ts_mirror *mirror) {
    struct mirror__slot slot = {.fd = mirror->lock_fd};
    mirror__slot_unlock(&slot);
    mirror->lock_fd = -1;
}
