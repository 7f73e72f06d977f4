/*
 * Scans targets that are not repositories: the files of a folder, one file, standard input, bytes in memory.
 * The files of a work tree are scanned as a folder.
 */
#include "files.h"

#include "base/redact.h"
#include "option_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The list of files may take 1/LIST_SHARE of the memory. */
#define LIST_SHARE 4

/* State that the threads of a folder share. */
struct folder {
    struct scan_pass *pass;
    uint32_t target_index;
    enum ts_place place;
    int root;
    struct scan_files files;
    atomic_size_t next;
    atomic_uint_fast64_t blobs;
    atomic_uint_fast64_t bytes;
};

struct folder_worker {
    struct folder *folder;
    struct scan_reader reader;
    pthread_t thread;
    bool has_thread;
};

static void cannot_read(struct scan_pass *pass, const char *path) {
    char shown[300];
    int error = errno;
    (void)ts_text_escape(ts_bytes_of_cstring(path), shown, sizeof shown);
    scan__fault(&pass->faults, "'%s': cannot be read: %s", shown, strerror(error));
}

static void look_at_file(struct folder_worker *worker, const char *path) {
    struct folder *folder = worker->folder;
    struct scan_content content = {.target = folder->target_index,
                                   .kind = folder->place == TS_PLACE_WORKING_TREE ? SCAN_CONTENT_WORKING_TREE
                                                                                  : SCAN_CONTENT_FILE,
                                   .name = ts_bytes_of_cstring(path)};
    uint64_t bytes = 0;
    int fd = openat(folder->root, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    bool is_link = fd < 0 && errno == ELOOP;
    if (fd < 0 && errno == ENOENT)
        return; /* the file was removed meanwhile */
    bool done = is_link ? scan__read_link(&worker->reader, &content, folder->root, path, &bytes)
                        : fd >= 0 && scan__read_fd(&worker->reader, &content, fd, &bytes);
    if (!done)
        cannot_read(folder->pass, path);
    if (fd >= 0)
        close(fd);
    atomic_fetch_add(&folder->blobs, 1);
    atomic_fetch_add(&folder->bytes, bytes);
    atomic_fetch_add_explicit(&folder->pass->progress->objects, 1, memory_order_relaxed);
}

static void *work(void *argument) {
    struct folder_worker *worker = argument;
    struct folder *folder = worker->folder;
    while (!scan__is_stopped(folder->pass)) {
        size_t index = atomic_fetch_add(&folder->next, 1);
        if (index >= folder->files.count)
            break;
        look_at_file(worker, folder->files.paths[index]);
    }
    free(worker->reader.buffer);
    worker->reader.buffer = NULL;
    return NULL;
}

static bool look_at_all(struct folder *folder, struct scan_looks *looks) {
    unsigned count = looks->count;
    if (count > folder->files.count)
        count = folder->files.count > 0 ? (unsigned)folder->files.count : 1;
    struct folder_worker *workers = calloc(count, sizeof *workers);
    if (workers == NULL)
        return false;
    for (unsigned i = 0; i < count; i++) {
        workers[i].folder = folder;
        workers[i].reader = (struct scan_reader){.pass = folder->pass, .look = &looks->items[i]};
        workers[i].has_thread = i > 0 && pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    }
    (void)work(&workers[0]);
    for (unsigned i = 1; i < count; i++)
        if (workers[i].has_thread)
            pthread_join(workers[i].thread, NULL);
    free(workers);
    return true;
}

/* Adds a location for each content of this target: the path of the content. */
static void place_contents(struct scan_pass *pass, uint32_t target_index, enum ts_place place) {
    size_t count;
    const struct scan_content *contents = scan__hits_contents(&pass->hits, &count);
    for (size_t i = 0; i < count; i++) {
        struct scan_location location = {
            .content = (uint32_t)i, .commit = TS_REPORT_NONE, .path = contents[i].path, .place = place};
        if (contents[i].target == target_index)
            scan__pass_location(pass, &location);
    }
}

enum ts_scan_outcome scan__folder(struct scan_pass *pass, struct scan_target *target, const char *path,
                                  enum ts_place place, struct ts_scan_error *ret_error) {
    struct folder folder = {.pass = pass, .target_index = (uint32_t)(target - pass->targets), .place = place};
    struct scan_looks looks = {.items = NULL};
    char shown[300];
    (void)ts_text_escape(ts_bytes_of_cstring(path), shown, sizeof shown);
    struct scan_files_options list = {.without_git = place == TS_PLACE_WORKING_TREE,
                                      .memory_max = pass->memory_bytes / LIST_SHARE};
    if (!scan__files_list(&folder.files, path, &list, &pass->faults))
        return scan__fail(ret_error, TS_SCAN_BAD_TARGET, "'%s': cannot be read as a folder: %s", shown,
                          strerror(errno));
    atomic_store(&pass->progress->objects_total, folder.files.count);
    atomic_store(&pass->progress->stage, TS_SCAN_STAGE_CONTENT);
    folder.root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done =
        folder.root >= 0 && scan__looks_init(&looks, pass, target->profile) && look_at_all(&folder, &looks);
    if (done)
        place_contents(pass, folder.target_index, place);
    target->row.blobs = atomic_load(&folder.blobs);
    target->row.bytes = atomic_load(&folder.bytes);
    target->row.skipped = folder.files.skipped;
    scan__looks_finish(&looks, pass, &target->row);
    scan__files_release(&folder.files);
    if (folder.root >= 0)
        close(folder.root);
    return done ? TS_SCAN_DONE : scan__fail(ret_error, TS_SCAN_FAILED, "'%s': out of memory", shown);
}

/* Reports a file of git that contains a whole compressed history, such as a pack. To report such a file as
 * clean would be wrong. In folders such files are scanned as ordinary files, because their repository is
 * there, too. */
static void tell_closed(const struct scan_reader *reader, const char *name) {
    struct ts_bytes head = ts_bytes_of(reader->head, reader->head_len);
    static const char *const bundles[] = {"# v2 git bundle\n", "# v3 git bundle\n"};
    char shown[300];
    (void)ts_text_escape(ts_bytes_of_cstring(name), shown, sizeof shown);
    for (size_t i = 0; i < sizeof bundles / sizeof bundles[0]; i++)
        if (ts_bytes_equal(head, ts_bytes_of_cstring(bundles[i])))
            scan__fault(
                &reader->pass->faults,
                "'%s': a git bundle, which is compressed and was not scanned; make a repository of it "
                "with 'git clone' and scan that",
                shown);
    if (head.len >= 8 && memcmp(head.data, "PACK\0\0\0", 7) == 0 && (head.data[7] == 2 || head.data[7] == 3))
        scan__fault(
            &reader->pass->faults,
            "'%s': a git pack, which is compressed and was not scanned; scan its repository, or unpack it "
            "with 'git unpack-objects' into a new one and scan that with " SCAN_OPTION_UNREACHABLE,
            shown);
}

/* A target of one content, in memory or from a descriptor. */
struct single {
    struct scan_content content;
    int fd; /* -1: use the bytes */
    struct ts_bytes bytes;
};

static void look_at_single(struct scan_reader *reader, struct scan_target *target,
                           const struct single *single) {
    if (single->fd < 0) {
        scan__read_bytes(reader, &single->content, single->bytes);
        target->row.bytes = single->bytes.len;
    } else if (!scan__read_fd(reader, &single->content, single->fd, &target->row.bytes)) {
        cannot_read(reader->pass, (const char *)target->row.name.data);
    }
}

static enum ts_scan_outcome scan_single(struct scan_pass *pass, struct scan_target *target,
                                        const struct single *single, struct ts_scan_error *ret_error) {
    struct scan_looks looks = {.items = NULL};
    bool is_input = single->content.kind == SCAN_CONTENT_INPUT;
    unsigned jobs = pass->jobs;
    pass->jobs = 1;
    bool done = scan__looks_init(&looks, pass, target->profile);
    pass->jobs = jobs;
    if (done) {
        struct scan_reader reader = {.pass = pass, .look = &looks.items[0]};
        atomic_store(&pass->progress->stage, TS_SCAN_STAGE_CONTENT);
        look_at_single(&reader, target, single);
        tell_closed(&reader, is_input ? "standard input" : (const char *)target->row.name.data);
        free(reader.buffer);
        target->row.blobs = 1;
        atomic_fetch_add_explicit(&pass->progress->objects, 1, memory_order_relaxed);
        place_contents(pass, single->content.target, is_input ? TS_PLACE_INPUT : TS_PLACE_FILE);
    }
    scan__looks_finish(&looks, pass, &target->row);
    return done ? TS_SCAN_DONE : scan__fail(ret_error, TS_SCAN_FAILED, "out of memory");
}

static struct single single_of(struct scan_pass *pass, struct scan_target *target) {
    return (struct single){
        .content = {.target = (uint32_t)(target - pass->targets), .kind = SCAN_CONTENT_FILE}, .fd = -1};
}

enum ts_scan_outcome scan__file(struct scan_pass *pass, struct scan_target *target, const char *path,
                                struct ts_scan_error *ret_error) {
    struct single single = single_of(pass, target);
    single.content.name = ts_bytes_of_cstring(path);
    single.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (single.fd < 0) {
        char shown[300];
        int error = errno;
        (void)ts_text_escape(single.content.name, shown, sizeof shown);
        return scan__fail(ret_error, TS_SCAN_BAD_TARGET, "'%s': cannot be read: %s", shown, strerror(error));
    }
    enum ts_scan_outcome outcome = scan_single(pass, target, &single, ret_error);
    close(single.fd);
    return outcome;
}

enum ts_scan_outcome scan__bytes(struct scan_pass *pass, struct scan_target *target,
                                 const struct ts_scan_target *given, struct ts_scan_error *ret_error) {
    struct single single = single_of(pass, target);
    single.content.name = ts_bytes_of_cstring(given->path);
    single.bytes = given->bytes;
    return scan_single(pass, target, &single, ret_error);
}

enum ts_scan_outcome scan__input(struct scan_pass *pass, struct scan_target *target, int fd,
                                 struct ts_scan_error *ret_error) {
    struct single single = single_of(pass, target);
    single.content.kind = SCAN_CONTENT_INPUT;
    single.fd = fd;
    return scan_single(pass, target, &single, ret_error);
}
