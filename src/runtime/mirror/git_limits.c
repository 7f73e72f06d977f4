#include "git_limits.h"

#include "slot.h"

#include "base/number.h"
#include "os/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_MS UINT64_C(1000000)
#define EVERY_NS  (UINT64_C(1000) * NS_PER_MS)

/* Measuring a folder with many files may take at most 1/FOLDER_SHARE of the time. */
enum { FOLDER_SHARE = 20 };

static bool is_within_size(const struct mirror__limits *limits, struct mirror__watch *watch,
                           uint64_t now_ns) {
    if (limits->folder == NULL || now_ns < watch->folder_next_ns)
        return true;
    const bool is_within = mirror__tree_size(limits->folder) <= limits->folder_max;
    const uint64_t took_ns = ts_clock_monotonic_ns() - now_ns;
    watch->folder_next_ns = now_ns + (took_ns * FOLDER_SHARE > EVERY_NS ? took_ns * FOLDER_SHARE : EVERY_NS);
    return is_within;
}

/* ---- ssh ---- */

static bool read_text(int folder, const char *name, const char *file, char *ret_text, size_t size) {
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", name, file);
    const int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    const ssize_t len = fd < 0 ? -1 : read(fd, ret_text, size - 1);
    if (fd >= 0)
        (void)close(fd);
    if (len > 0)
        ret_text[len] = '\0';
    return len > 0;
}

/* Reads the number directly after the first occurrence of the text. Returns false if there is no such
 * number. */
static bool number_after(const char *text, const char *what, uint64_t *ret_number) {
    const char *at = strstr(text, what);
    if (at == NULL)
        return false;
    at += strlen(what);
    return ts_u64_parse(ts_bytes_of(at, strspn(at, "0123456789")), ret_number) == TS_NUMBER_OK;
}

/* Returns whether a line of /proc/N/stat, "N (ssh) STATE PARENT GROUP …", describes a running ssh of the
 * group. An ssh that has ended has the state Z until git reaps it. */
static bool is_ssh_of(const char *stat, pid_t group) {
    static const char name[] = "(ssh) ";
    const char *state = strstr(stat, name);
    if (state == NULL || state[strlen(name)] == 'Z')
        return false;
    const char *parent = strchr(state + strlen(name), ' ');
    const char *after = parent == NULL ? NULL : strchr(parent + 1, ' ');
    uint64_t found = 0;
    return after != NULL && number_after(after, " ", &found) && found == (uint64_t)group;
}

/* Counts the bytes that the ssh of the group has read, from the server and from git. Returns false if no
 * running ssh can be read. */
static bool read_ssh(pid_t group, uint64_t *ret_bytes) {
    char text[2000];
    bool is_found = false;
    DIR *processes = opendir("/proc");
    *ret_bytes = 0;
    for (struct dirent *entry; processes != NULL && (entry = readdir(processes)) != NULL;) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' ||
            !read_text(dirfd(processes), entry->d_name, "stat", text, sizeof text) ||
            !is_ssh_of(text, group) || !read_text(dirfd(processes), entry->d_name, "io", text, sizeof text))
            continue;
        uint64_t bytes = 0;
        is_found = number_after(text, "rchar: ", &bytes) || is_found;
        *ret_bytes += bytes;
    }
    if (processes != NULL)
        (void)closedir(processes);
    return is_found;
}

static bool is_fast_enough(const struct mirror__limits *limits, struct mirror__watch *watch, uint64_t now_ns,
                           pid_t group) {
    uint64_t bytes;
    if (limits->ssh_stall_ms == 0 || now_ns < watch->ssh_next_ns)
        return true;
    watch->ssh_next_ns = now_ns + EVERY_NS;
    if (!read_ssh(group, &bytes)) {
        watch->ssh_since_ns = 0;
        return true;
    }
    const uint64_t passed_ms = (now_ns - watch->ssh_since_ns) / NS_PER_MS;
    const bool is_first = watch->ssh_since_ns == 0 || bytes < watch->ssh_bytes;
    if (!is_first && (bytes - watch->ssh_bytes) * 1000 < passed_ms * MIRROR__PACE_MIN)
        return passed_ms < limits->ssh_stall_ms;
    watch->ssh_since_ns = now_ns;
    watch->ssh_bytes = bytes;
    return true;
}

enum mirror__limit mirror__limits_check(const struct mirror__limits *limits, struct mirror__watch *watch,
                                        pid_t group) {
    const uint64_t now_ns = ts_clock_monotonic_ns();
    if (watch->folder_next_ns == 0) /* most calls end before the first measurement */
        watch->folder_next_ns = watch->ssh_next_ns = now_ns + EVERY_NS;
    if (!is_within_size(limits, watch, now_ns))
        return MIRROR__LIMIT_SIZE;
    return is_fast_enough(limits, watch, now_ns, group) ? MIRROR__LIMITS_KEPT : MIRROR__LIMIT_PACE;
}
