#include "usage.h"

#include "look_impl.h"
#include "os/grow.h"
#include "state_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Either the state of a repository, or a pair of rules and judging in such a state; with the time of the last
 * use. */
struct entry {
    struct scan_use use;
    char name[SCAN_STATE_NAME_SIZE];
    int64_t time_s;
    long time_ns;
    bool is_gone; /* the repository no longer exists */
};

struct entries {
    struct entry *items;
    size_t count;
    size_t capacity;
};

/* Compares entries for sorting, the latest use first. */
static int compare(const void *a, const void *b) {
    const struct entry *x = a;
    const struct entry *y = b;
    if (x->time_s != y->time_s)
        return x->time_s < y->time_s ? 1 : -1;
    return (x->time_ns < y->time_ns) - (x->time_ns > y->time_ns);
}

static bool add_entry(struct entries *entries, int folder, const char *file, const char *name) {
    struct stat status;
    if (fstatat(folder, file, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !TS_GROW(entries->items, entries->capacity, entries->count + 1))
        return false;
    struct entry *entry = &entries->items[entries->count++];
    *entry = (struct entry){.time_s = status.st_mtim.tv_sec, .time_ns = status.st_mtim.tv_nsec};
    memcpy(entry->name, name, strlen(name) + 1);
    return true;
}

static void sort(struct entries *entries) {
    if (entries->count > 1)
        qsort(entries->items, entries->count, sizeof *entries->items, compare);
}

int scan__use_note(int folder, const struct scan_use *use) {
    struct scan_state_name name = scan__state_name('u', use);
    int fd = openat(folder, name.text, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return errno;
    int error = futimens(fd, NULL) == 0 ? 0 : errno;
    close(fd);
    if (error == 0 && utimensat(folder, SCAN_STATE_ABOUT, NULL, AT_SYMLINK_NOFOLLOW) != 0)
        error = errno;
    return error;
}

/* ---- uses of one repository ---- */

static bool is_kept(const struct entries *kept, char letter, const struct scan_use *use) {
    for (size_t i = 0; i < kept->count; i++)
        if (memcmp(kept->items[i].use.rules, use->rules, sizeof use->rules) == 0 &&
            (letter == 'k' || memcmp(kept->items[i].use.judging, use->judging, sizeof use->judging) == 0))
            return true;
    return false;
}

void scan__use_prune(int folder) {
    struct scan_state_names names;
    struct entries uses = {.items = NULL};
    scan__state_list(folder, "", &names);
    for (size_t i = 0; i < names.count; i++) {
        char letter;
        struct scan_use use;
        if (!scan__state_name_parse(names.items[i], &letter, &use) || letter != 'u')
            continue;
        if (add_entry(&uses, folder, names.items[i], names.items[i]))
            uses.items[uses.count - 1].use = use;
    }
    sort(&uses);
    bool is_over = uses.count > SCAN_USES_MAX;
    uses.count = is_over ? SCAN_USES_MAX : uses.count;
    for (size_t i = 0; i < names.count && is_over; i++) {
        char letter;
        struct scan_use use;
        if (scan__state_name_parse(names.items[i], &letter, &use) && !is_kept(&uses, letter, &use))
            (void)unlinkat(folder, names.items[i], 0);
    }
    free(uses.items);
    scan__state_names_release(&names);
}

/* ---- repositories ---- */

/* Removes the state of a repository. Removes only our own files, because the user may have put other files
 * into the folder. */
static void remove_target(int all, const char *name) {
    int folder = openat(all, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    int lock = folder < 0 ? -1
                          : openat(folder, SCAN_STATE_LOCK,
                                   O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0) {
        struct scan_state_names names;
        scan__state_list(folder, "", &names);
        for (size_t i = 0; i < names.count; i++) {
            char letter;
            struct scan_use use;
            if (scan__state_name_parse(names.items[i], &letter, &use) ||
                strcmp(names.items[i], SCAN_STATE_NEW) == 0)
                (void)unlinkat(folder, names.items[i], 0);
        }
        scan__state_names_release(&names);
        /* "about" marks the folder as ours, so it is removed after the files of the state. */
        (void)unlinkat(folder, SCAN_STATE_ABOUT, 0);
        (void)unlinkat(folder, SCAN_STATE_LOCK, 0);
        (void)unlinkat(all, name, AT_REMOVEDIR);
    }
    if (lock >= 0)
        close(lock);
    if (folder >= 0)
        close(folder);
}

static void add_target(struct entries *targets, int all, const char *name) {
    struct scan_state_about about;
    int folder = openat(all, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0)
        return;
    struct scan_use use = {.repo = {0}};
    bool is_ours = scan__state_about_read(folder, &about);
    if (is_ours)
        memcpy(use.repo, about.repo, sizeof use.repo);
    is_ours = is_ours && strcmp(scan__state_folder_name(&use).text, name) == 0;
    if (is_ours && add_entry(targets, folder, SCAN_STATE_ABOUT, name))
        targets->items[targets->count - 1].is_gone =
            about.path[0] != '\0' && access(about.path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
    close(folder);
}

void scan__use_prune_targets(int all, const struct scan_use *own) {
    struct scan_state_names names;
    struct entries targets = {.items = NULL};
    struct scan_state_name own_name = scan__state_folder_name(own);
    scan__state_list(all, "", &names);
    for (size_t i = 0; i < names.count; i++)
        if (strlen(names.items[i]) == 2 * (size_t)SCAN_STATE_ID_LEN &&
            strcmp(names.items[i], own_name.text) != 0)
            add_target(&targets, all, names.items[i]);
    sort(&targets);
    size_t kept = 1;
    for (size_t i = 0; i < targets.count; i++) {
        if (!targets.items[i].is_gone && kept < SCAN_TARGETS_MAX)
            kept++;
        else
            remove_target(all, targets.items[i].name);
    }
    free(targets.items);
    scan__state_names_release(&names);
}
