/*
 * Refs as files: packed-refs, loose files under refs/, which override it, and HEAD. A linked work tree has
 * its own HEAD, refs/bisect, refs/worktree and refs/rewritten; everything else is in the common folder. HEADs
 * of other work trees are listed under git's names, main-worktree/HEAD and worktrees/ID/HEAD, because nothing
 * else reaches a commit of a detached HEAD. Other refs of other work trees are ignored, as by git with --all
 * (and by git gc, so their objects may be gone).
 *
 * Nothing is skipped silently: a ref without a valid id is a fault, and so is a folder that cannot be listed.
 * A broken loose ref hides the packed ref of the same name, whose value is outdated.
 *
 * Other processes write meanwhile: git moves a ref by a rename, packs refs by writing packed-refs and
 * removing the loose files, and renames a branch by removing one file and making another. One pass over the
 * files could miss both the old and the new place. So passes are made until two in a row see the same files
 * and folders, by inode and times, with the same content. Then each file was unchanged from its reading in
 * the first pass to its reading in the second, so the result is the state of all refs at the moment between
 * the passes. Folders are compared, too, because a ref that moves back and forth can be absent from both
 * passes. Times come from a clock that ticks every few milliseconds, so if something changed just before the
 * first pass, the next pass waits for the clock. Refs are read once for each repository object. Later calls
 * return the refs of that moment.
 */
#include "packed_refs.h"
#include "repo_impl.h"

#include "base/blake3.h"
#include "os/clock.h"
#include "os/grow.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REF_LINE_MAX (8u << 10) /* longer than any path that the system allows */
#define SYMBOLIC_MAX 5
#define PASSES_MAX   64
#define FRESH_MS     20u /* two ticks of the slowest clock of file times */

static const char main_prefix[] = "main-worktree/";
static const char linked_prefix[] = "worktrees/";

struct list {
    struct ts_git_repo *repo;
    const struct ts_git_fault_sink *faults;
    const struct git__packed_refs *packed;
    struct ts_git_ref *items; /* an item with the null id is broken, or its target is missing */
    size_t count;
    size_t capacity;
    /* Hash of what the pass saw: names and ids of loose refs; inodes, sizes and times of files and folders;
     * faults. */
    struct ts_blake3 seen;
    bool is_fresh;  /* something changed so recently that another change could leave the same times */
    char **folders; /* folders of loose refs that are not listed yet */
    size_t folder_count;
    size_t folder_capacity;
    bool no_memory;
};

static void add(struct list *list, const char *name, struct ts_git_oid oid) {
    char *copy = strdup(name);
    if (copy == NULL || !TS_GROW(list->items, list->capacity, list->count + 1)) {
        free(copy);
        list->no_memory = true;
        return;
    }
    list->items[list->count++] = (struct ts_git_ref){.name = copy, .oid = oid};
}

static void send_fault(struct list *list, enum ts_git_error error, const char *name) {
    struct ts_git_fault fault;
    (void)git__fault(error, name, &fault);
    git__fault_send(list->faults, &fault);
}

static bool is_null(const struct ts_git_oid *oid) {
    static const struct ts_git_oid null;
    return ts_git_oid_equal(oid, &null);
}

static bool is_linked(const struct ts_git_repo *repo) {
    return strcmp(repo->common_dir, repo->git_dir) != 0;
}

/* ---- names ---- */

static bool starts_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

/* Returns whether each work tree has its own ref of this name. */
static bool is_own(const char *name) {
    return !starts_with(name, "refs/") || starts_with(name, "refs/bisect/") ||
           starts_with(name, "refs/worktree/") || starts_with(name, "refs/rewritten/");
}

/* Returns the length of the prefix of the name that says which work tree the ref belongs to; 0 if the ref
 * belongs to the opened work tree. */
static size_t worktree_len(const char *name) {
    if (starts_with(name, main_prefix))
        return strlen(main_prefix);
    if (!starts_with(name, linked_prefix))
        return 0;
    const char *id = name + strlen(linked_prefix);
    size_t len = strcspn(id, "/");
    bool is_id = len > 0 && id[len] == '/' && strncmp(id, "./", 2) != 0 && strncmp(id, "../", 3) != 0;
    return is_id ? strlen(linked_prefix) + len + 1 : 0;
}

/* Returns true if the name does not leave the folder of refs. */
static bool name_is_safe(const char *name) {
    name += worktree_len(name);
    size_t len = strlen(name);
    return len > 0 && name[0] != '/' && name[len - 1] != '/' && strstr(name, "..") == NULL &&
           strstr(name, "//") == NULL && strstr(name, "/.") == NULL;
}

/* Returns the path of a ref with a safe name, from malloc. */
static char *path_of(const struct ts_git_repo *repo, const char *name) {
    size_t worktree = worktree_len(name);
    const char *rest = name + worktree;
    if (!is_own(rest) || starts_with(name, main_prefix))
        return git__path_join(repo->common_dir, rest);
    return git__path_join(worktree > 0 ? repo->common_dir : repo->git_dir, name);
}

/* Returns the full name of the target of `name`, from malloc. If each work tree has its own ref with the name
 * of the target, the full name begins with the work-tree prefix of `name`. */
static char *target_of(const char *name, const char *target) {
    size_t worktree = is_own(target) && worktree_len(target) == 0 ? worktree_len(name) : 0;
    size_t size = worktree + strlen(target) + 1;
    char *full = malloc(size);
    if (full != NULL)
        (void)snprintf(full, size, "%.*s%s", (int)worktree, name, target);
    return full;
}

/* ---- one ref ---- */

/* Reads a loose ref that is a symbolic link. A link into refs/ is a symbolic ref. Any other link is followed
 * to its file; a link to a folder is LINKED_FOLDER. */
static enum ts_git_error read_link(const char *path, char **ret_line) {
    char target[PATH_MAX]; /* no link is longer */
    ssize_t len = readlink(path, target, sizeof target - 1);
    target[len > 0 ? len : 0] = '\0';
    if (!starts_with(target, "refs/"))
        return git__is_dir(path) ? TS_GIT_LINKED_FOLDER : TS_GIT_OK;
    *ret_line = malloc((size_t)len + 6);
    if (*ret_line == NULL)
        return TS_GIT_NO_MEMORY;
    (void)snprintf(*ret_line, (size_t)len + 6, "ref: %s", target);
    return TS_GIT_OK;
}

/* Returns whether the name in a symbolic ref may be truncated, because no line end follows. An id needs no
 * line end, because its length is fixed. */
static bool is_cut_name(const char *line) {
    size_t len = strlen(line);
    return starts_with(line, "ref:") && line[len - 1] != '\n';
}

/* Reads the text of a loose ref, without blanks and line ends at its end. Returns MISSING if there is no such
 * ref, or if a link leads nowhere. */
static enum ts_git_error read_loose_ref(const struct ts_git_repo *repo, const char *name, char **ret_line) {
    char *path = path_of(repo, name);
    char *line = NULL;
    struct stat status;
    enum ts_git_error error = TS_GIT_OK;
    if (path == NULL)
        return TS_GIT_NO_MEMORY;
    if (lstat(path, &status) != 0)
        error = errno == ENOENT || errno == ENOTDIR ? TS_GIT_MISSING : TS_GIT_IO;
    else if (S_ISDIR(status.st_mode))
        error = TS_GIT_MISSING;
    else if (S_ISLNK(status.st_mode))
        error = read_link(path, &line);
    if (error == TS_GIT_OK && line == NULL) {
        error = git__file_read_start(path, REF_LINE_MAX, &line, NULL);
        if (error == TS_GIT_OK && is_cut_name(line))
            error = TS_GIT_BAD_REF;
    }
    if (error != TS_GIT_OK) {
        free(line);
    } else {
        size_t len = strlen(line);
        while (len > 0 && isspace((unsigned char)line[len - 1]))
            line[--len] = '\0';
        *ret_line = line;
    }
    int os_error = errno; /* kept for the fault */
    free(path);
    errno = os_error;
    return error;
}

static enum ts_git_error parse_line(const struct ts_git_repo *repo, const char *line,
                                    struct ts_git_oid *ret_oid) {
    size_t hex_len = 2 * ts_git_hash_len(repo->hash);
    struct ts_git_oid oid;
    /* Git ignores everything after a blank. Any other text after an id makes the ref invalid. */
    if (strlen(line) < hex_len || !ts_git_oid_parse(repo->hash, ts_bytes_of(line, hex_len), &oid) ||
        (line[hex_len] != '\0' && !isspace((unsigned char)line[hex_len])) || is_null(&oid))
        return TS_GIT_BAD_REF;
    *ret_oid = oid;
    return TS_GIT_OK;
}

/* Returns whether a symbolic ref may have this target. HEAD must lead into refs/, otherwise git does not
 * accept the folder as a repository. */
static bool target_is_valid(const char *name, const char *target) {
    bool is_head = strcmp(name + worktree_len(name), "HEAD") == 0;
    return git__ref_name_is_valid(ts_bytes_of_cstring(target)) && (!is_head || starts_with(target, "refs/"));
}

/* Follows a ref to its id. Returns MISSING if there is no such ref, or if the target of a symbolic ref is
 * missing. The fault names the broken ref, which may be the last ref of a chain. */
static enum ts_git_error resolve(const struct ts_git_repo *repo, const struct git__packed_refs *packed,
                                 const char *given, struct ts_git_oid *ret_oid,
                                 struct ts_git_fault *ret_fault) {
    char *owned = NULL;
    const char *name = given;
    enum ts_git_error error = TS_GIT_SYMBOLIC_REFS;
    for (int i = 0; i <= SYMBOLIC_MAX; i++) {
        char *line = NULL;
        error = name_is_safe(name) ? read_loose_ref(repo, name, &line) : TS_GIT_BAD_REF;
        const struct git__packed_ref *other =
            error == TS_GIT_MISSING ? git__packed_refs_find(packed, name) : NULL;
        if (other != NULL) {
            *ret_oid = other->oid;
            error = TS_GIT_OK;
        }
        if (line == NULL)
            break;
        if (!starts_with(line, "ref:")) {
            error = parse_line(repo, line, ret_oid);
            free(line);
            break;
        }
        const char *said = line + 4 + strspn(line + 4, " \t\n\v\f\r");
        bool is_valid = target_is_valid(name, said);
        char *target = is_valid ? target_of(name, said) : NULL;
        free(line);
        if (!is_valid) {
            error = TS_GIT_BAD_REF;
            break;
        }
        free(owned);
        name = owned = target;
        error = target == NULL ? TS_GIT_NO_MEMORY : TS_GIT_SYMBOLIC_REFS;
        if (target == NULL)
            break;
    }
    if (error != TS_GIT_OK) {
        bool is_given = name == NULL || error == TS_GIT_SYMBOLIC_REFS;
        (void)git__fault(error, is_given ? given : name, ret_fault);
    }
    free(owned);
    return error;
}

/* Returns whether a file changed so recently that a further change might not change its time. A time in the
 * future comes from another clock, and is ignored. */
static bool is_fresh(const struct timespec *changed) {
    uint64_t changed_ms = (uint64_t)changed->tv_sec * 1000 + (uint64_t)changed->tv_nsec / 1000000;
    uint64_t now_ms = ts_clock_wall_ms();
    return changed_ms <= now_ms && now_ms - changed_ms <= FRESH_MS;
}

/* Adds inode, size and times of a path to the hash of the pass. They distinguish a file from its replacement,
 * and a folder from its state with other files. */
static void see(struct list *list, const char *path) {
    struct stat status;
    uint64_t seen[6] = {0};
    if (path != NULL && lstat(path, &status) == 0) {
        seen[0] = (uint64_t)status.st_ino;
        seen[1] = (uint64_t)status.st_size;
        seen[2] = (uint64_t)status.st_mtim.tv_sec;
        seen[3] = (uint64_t)status.st_mtim.tv_nsec;
        seen[4] = (uint64_t)status.st_ctim.tv_sec;
        seen[5] = (uint64_t)status.st_ctim.tv_nsec;
        list->is_fresh = list->is_fresh || is_fresh(&status.st_ctim);
    }
    list->no_memory = list->no_memory || path == NULL;
    ts_blake3_update(&list->seen, ts_bytes_of(seen, sizeof seen));
}

/* Adds a loose ref with its id. A broken ref is added with the null id, so that its name is known. */
static void add_resolved(struct list *list, const char *name) {
    struct ts_git_oid oid = {{0}};
    struct ts_git_fault fault;
    char *path = path_of(list->repo, name);
    see(list, path);
    free(path);
    enum ts_git_error error = resolve(list->repo, list->packed, name, &oid, &fault);
    list->no_memory = list->no_memory || error == TS_GIT_NO_MEMORY;
    if (error != TS_GIT_OK && error != TS_GIT_MISSING)
        git__fault_send(list->faults, &fault);
    ts_blake3_update(&list->seen, ts_bytes_of(name, strlen(name) + 1));
    ts_blake3_update(&list->seen, ts_bytes_of(oid.bytes, sizeof oid.bytes));
    add(list, name, oid);
}

/* Checks that HEAD is, as git requires, a file or a link into refs/. */
static bool head_is_there(const struct ts_git_repo *repo, const char *name) {
    char *path = path_of(repo, name);
    char target[8] = "";
    struct stat status;
    bool is = path == NULL || lstat(path, &status) != 0 ? errno != ENOENT && errno != ENOTDIR
                                                        : !S_ISDIR(status.st_mode);
    if (is && path != NULL && readlink(path, target, sizeof target - 1) > 0)
        is = starts_with(target, "refs/");
    free(path);
    return is;
}

/* Adds a HEAD. Without a HEAD, the checked-out commit is unknown, which is a fault. A HEAD whose branch does
 * not exist yet is valid. */
static void add_head(struct list *list, const char *name) {
    if (!head_is_there(list->repo, name))
        send_fault(list, TS_GIT_BAD_REF, name);
    else
        add_resolved(list, name);
}

/* ---- loose refs ---- */

static bool is_folder(const char *root, const char *name) {
    char *path = git__path_join(root, name);
    struct stat status;
    bool is = path != NULL && lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
    free(path);
    return is;
}

/* Adds a folder to the list of folders to read. Takes ownership of the name. */
static void add_folder(struct list *list, char *name) {
    if (TS_GROW(list->folders, list->folder_capacity, list->folder_count + 1)) {
        list->folders[list->folder_count++] = name;
    } else {
        list->no_memory = true;
        free(name);
    }
}

/* Returns whether the entry of a folder may be a ref. Names that begin with a dot, and locks, are other files
 * of git. */
static bool is_ref_name(const char *entry) {
    size_t len = strlen(entry);
    return entry[0] != '.' && (len < 5 || strcmp(entry + len - 5, ".lock") != 0);
}

static void list_folder(struct list *list, const char *root, const char *folder) {
    bool is_own_root = is_linked(list->repo) && strcmp(root, list->repo->git_dir) == 0;
    char *path = git__path_join(root, folder);
    char **names = NULL;
    size_t count = 0;
    struct ts_git_fault fault;
    see(list, path);
    if (path != NULL && git__list_dir(path, "", &names, &count, &fault) != TS_GIT_OK)
        git__fault_send(list->faults, &fault);
    free(path);
    for (size_t i = 0; i < count; i++) {
        char *name = is_ref_name(names[i]) ? git__path_join(folder, names[i]) : NULL;
        list->no_memory = list->no_memory || (name == NULL && is_ref_name(names[i]));
        if (name != NULL && is_folder(root, name)) {
            add_folder(list, name);
            continue;
        }
        if (name != NULL && (!is_linked(list->repo) || is_own(name) == is_own_root)) {
            if (!git__ref_name_is_valid(ts_bytes_of_cstring(name)))
                send_fault(list, TS_GIT_BAD_REF_NAME, name);
            add_resolved(list, name);
        }
        free(name);
    }
    git__free_names(names, count);
}

/* Adds loose refs at any depth that the system allows for paths. Deeper folders are a fault. */
static void add_loose(struct list *list, const char *root) {
    list_folder(list, root, "refs");
    while (list->folder_count > 0) {
        char *folder = list->folders[--list->folder_count];
        if (!list->no_memory)
            list_folder(list, root, folder);
        free(folder);
    }
}

/* ---- other work trees ---- */

static bool is_same_folder(const char *a, const char *b) {
    struct stat x;
    struct stat y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Adds the HEAD of another work tree. A folder without a file gitdir is not a work tree. */
static void add_head_of(struct list *list, const char *folder, const char *id) {
    char name[1024];
    struct stat status;
    char *path = git__path_join(folder, id);
    char *gitdir = path != NULL ? git__path_join(path, "gitdir") : NULL;
    int len = snprintf(name, sizeof name, "%s%s/HEAD", linked_prefix, id);
    list->no_memory = list->no_memory || gitdir == NULL || (size_t)len >= sizeof name;
    if (gitdir != NULL && stat(gitdir, &status) != 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            send_fault(list, TS_GIT_IO, name);
    } else if (gitdir != NULL && !is_same_folder(path, list->repo->git_dir)) {
        add_head(list, name);
    }
    free(gitdir);
    free(path);
}

static void add_other_heads(struct list *list) {
    char *folder = git__path_join(list->repo->common_dir, "worktrees");
    char **ids = NULL;
    size_t count = 0;
    struct ts_git_fault fault;
    see(list, folder);
    if (is_linked(list->repo))
        add_head(list, "main-worktree/HEAD");
    if (folder != NULL && git__list_dir(folder, "", &ids, &count, &fault) != TS_GIT_OK)
        git__fault_send(list->faults, &fault);
    for (size_t i = 0; i < count; i++)
        add_head_of(list, folder, ids[i]);
    git__free_names(ids, count);
    free(folder);
}

/* ---- all refs ---- */

static void add_packed(struct list *list) {
    for (size_t i = 0; i < list->packed->count; i++) {
        const struct git__packed_ref *ref = &list->packed->items[i];
        char *name = strndup((const char *)ref->name.data, ref->name.len);
        if (name == NULL)
            list->no_memory = true;
        else if (is_null(&ref->oid))
            send_fault(list, TS_GIT_BAD_REF, name);
        else if (name_is_safe(name)) /* unsafe names are already reported as bad lines */
            add(list, name, ref->oid);
        free(name);
    }
}

/* Compares refs by name. */
static int compare_refs(const void *a, const void *b) {
    const struct ts_git_ref *x = a;
    const struct ts_git_ref *y = b;
    return strcmp(x->name, y->name);
}

/* Removes the packed refs that a loose ref of the same name hides. The first loose_count items are the loose
 * refs, sorted by name. */
static void drop_hidden(struct list *list, size_t loose_count) {
    size_t kept = loose_count;
    for (size_t i = loose_count; i < list->count; i++) {
        const struct ts_git_ref *hidden = loose_count > 0 ? bsearch(&list->items[i], list->items, loose_count,
                                                                    sizeof *list->items, compare_refs)
                                                          : NULL;
        if (hidden != NULL)
            free(list->items[i].name);
        else
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

/* ---- one moment ---- */

struct pass {
    struct list list; /* loose refs */
    struct git__packed_refs packed;
    struct git__refs refs; /* faults of this pass, which keep_refs moves to the repository */
    struct ts_git_fault_sink sink;
    uint8_t packed_seen[TS_BLAKE3_OUT_LEN];
    uint8_t seen[TS_BLAKE3_OUT_LEN];
    bool is_packed_read; /* packed-refs was read without a fault */
};

static void keep_fault(void *ctx, const struct ts_git_fault *fault) {
    struct pass *pass = ctx;
    struct git__refs *refs = &pass->refs;
    ts_blake3_update(&pass->list.seen, ts_bytes_of(fault->thing, strlen(fault->thing) + 1));
    if (TS_GROW(refs->faults, refs->fault_capacity, refs->fault_count + 1))
        refs->faults[refs->fault_count++] = *fault;
    else
        pass->list.no_memory = true;
}

static void read_packed(struct ts_git_repo *repo, struct pass *pass) {
    struct ts_git_fault fault;
    enum ts_git_error error = git__packed_refs_read(repo, pass->list.faults, &pass->packed, &fault);
    if (error != TS_GIT_OK)
        git__fault_send(pass->list.faults, &fault);
    pass->is_packed_read = error == TS_GIT_OK && pass->packed.bad_line == 0;
}

static void move_packed(struct pass *from, struct pass *to) {
    to->packed = from->packed;
    to->is_packed_read = from->is_packed_read;
    from->packed = (struct git__packed_refs){.items = NULL};
    from->is_packed_read = false;
}

/*
 * Makes one pass over the files. packed-refs is recorded before it is opened: if the file changes in between,
 * the next pass sees the change. If the file is still the one that the previous pass read, it is not read
 * again, and its refs move to this pass.
 */
static void pass_over(struct ts_git_repo *repo, struct pass *before, struct pass *pass) {
    struct list *list = &pass->list;
    *pass = (struct pass){.sink = {.take = keep_fault, .ctx = pass}};
    *list = (struct list){.repo = repo, .faults = &pass->sink};
    ts_blake3_init(&list->seen);
    char *path = git__path_join(repo->common_dir, "packed-refs");
    see(list, path);
    free(path);
    ts_blake3_output(&list->seen, 0, pass->packed_seen, sizeof pass->packed_seen);
    if (before != NULL && before->is_packed_read && !before->list.is_fresh &&
        memcmp(before->packed_seen, pass->packed_seen, sizeof pass->packed_seen) == 0) {
        move_packed(before, pass);
    } else {
        read_packed(repo, pass);
    }
    list->packed = &pass->packed;
    add_head(list, "HEAD");
    add_other_heads(list);
    add_loose(list, repo->common_dir);
    if (is_linked(repo))
        add_loose(list, repo->git_dir);
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, compare_refs);
    ts_blake3_output(&list->seen, 0, pass->seen, sizeof pass->seen);
}

static void pass_release(struct pass *pass) {
    struct ts_git_refs loose = {.items = pass->list.items, .count = pass->list.count};
    ts_git_refs_release(&loose);
    free(pass->list.folders);
    git__packed_refs_release(&pass->packed);
    git__refs_release(&pass->refs);
}

/* Adds the packed refs to the loose refs, and stores all refs in the repository. */
static enum ts_git_error keep_refs(struct ts_git_repo *repo, struct pass *pass,
                                   struct ts_git_fault *ret_fault) {
    struct list *list = &pass->list;
    size_t loose_count = list->count;
    add_packed(list);
    drop_hidden(list, loose_count);
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, compare_refs);
    if (list->no_memory)
        return git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    repo->refs = pass->refs;
    repo->refs.all = (struct ts_git_refs){.items = list->items, .count = list->count};
    repo->refs.is_read = true;
    pass->refs = (struct git__refs){.is_read = false};
    list->items = NULL;
    list->count = 0;
    return TS_GIT_OK;
}

enum ts_git_error git__refs_fill(struct ts_git_repo *repo, struct ts_git_fault *ret_fault) {
    struct pass passes[2];
    struct pass *kept = &passes[0];
    bool is_settled = false;
    if (repo->refs.is_read)
        return TS_GIT_OK;
    pass_over(repo, NULL, kept);
    for (int i = 1; i < PASSES_MAX && !is_settled; i++) {
        struct pass *next = kept == &passes[0] ? &passes[1] : &passes[0];
        if (kept->list.is_fresh)
            (void)usleep(FRESH_MS * 1000);
        pass_over(repo, kept, next);
        is_settled = !kept->list.is_fresh && memcmp(kept->seen, next->seen, sizeof next->seen) == 0;
        if (is_settled && next->is_packed_read && !kept->is_packed_read)
            move_packed(next, kept);
        pass_release(is_settled ? next : kept);
        kept = is_settled ? kept : next;
    }
    if (!is_settled)
        send_fault(&kept->list, TS_GIT_REFS_CHANGE, repo->common_dir);
    enum ts_git_error error = keep_refs(repo, kept, ret_fault);
    pass_release(kept);
    return error;
}

void git__refs_release(struct git__refs *refs) {
    ts_git_refs_release(&refs->all);
    free(refs->faults);
    *refs = (struct git__refs){.is_read = false};
}

enum ts_git_error ts_git_refs_list(struct ts_git_repo *repo, const struct ts_git_fault_sink *faults,
                                   struct ts_git_refs *ret_refs, struct ts_git_fault *ret_fault) {
    enum ts_git_error error = git__refs_fill(repo, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    struct list list = {.repo = repo, .faults = faults};
    for (size_t i = 0; i < repo->refs.fault_count; i++)
        git__fault_send(faults, &repo->refs.faults[i]);
    for (size_t i = 0; i < repo->refs.all.count && !list.no_memory; i++)
        if (!is_null(&repo->refs.all.items[i].oid))
            add(&list, repo->refs.all.items[i].name, repo->refs.all.items[i].oid);
    struct ts_git_refs refs = {.items = list.items, .count = list.count};
    if (list.no_memory) {
        ts_git_refs_release(&refs);
        return git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    }
    *ret_refs = refs;
    return TS_GIT_OK;
}

void ts_git_refs_release(struct ts_git_refs *refs) {
    for (size_t i = 0; i < refs->count; i++)
        free(refs->items[i].name);
    free(refs->items);
    *refs = (struct ts_git_refs){NULL, 0};
}

static bool is_hex(const char *text) {
    return text[0] != '\0' && text[strspn(text, "0123456789abcdefABCDEF")] == '\0';
}

/* Finds the value that the ref had when the refs were read. Returns false if it had none, or if the refs were
 * not read. */
static bool find_read(const struct ts_git_repo *repo, const char *name, struct ts_git_oid *ret_oid) {
    char *key = strdup(name);
    struct ts_git_ref wanted = {.name = key};
    const struct ts_git_ref *found =
        key == NULL || repo->refs.all.count == 0
            ? NULL
            : bsearch(&wanted, repo->refs.all.items, repo->refs.all.count, sizeof wanted, compare_refs);
    free(key);
    if (found == NULL || is_null(&found->oid))
        return false;
    *ret_oid = found->oid;
    return true;
}

static enum ts_git_error read_packed_for(const struct ts_git_repo *repo, struct git__packed_refs *packed,
                                         struct ts_git_fault *ret_fault) {
    enum ts_git_error error = git__packed_refs_read(repo, NULL, packed, ret_fault);
    if (error == TS_GIT_OK && packed->bad_line > 0) /* the missing ref may be in the invalid line */
        error = git__packed_refs_fault(packed, ret_fault);
    return error;
}

/* Tries the names that git tries, in git's order. A broken HEAD, or a broken ref below refs/, is the error
 * only if no other name has an id. A broken file elsewhere is not a ref. */
static enum ts_git_error resolve_forms(const struct ts_git_repo *repo, const char *name,
                                       struct ts_git_oid *ret_oid, struct ts_git_fault *ret_fault) {
    static const char *const forms[] = {
        "%s", "refs/%s", "refs/tags/%s", "refs/heads/%s", "refs/remotes/%s", "refs/remotes/%s/HEAD"};
    struct git__packed_refs packed = {.items = NULL};
    bool has_packed = false;
    struct ts_git_fault fault;
    enum ts_git_error worst = TS_GIT_OK;
    enum ts_git_error error = TS_GIT_MISSING;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && error != TS_GIT_OK; i++) {
        const char *tail = strchr(forms[i], '%');
        char full[1024];
        int len = snprintf(full, sizeof full, "%.*s%s%s", (int)(tail - forms[i]), forms[i], name, tail + 2);
        if (len <= 0 || (size_t)len >= sizeof full || !name_is_safe(full))
            continue;
        if (find_read(repo, full, ret_oid)) {
            error = TS_GIT_OK;
            break;
        }
        if (!has_packed)
            worst = read_packed_for(repo, &packed, ret_fault);
        has_packed = true;
        error = resolve(repo, &packed, full, ret_oid, &fault);
        bool is_ref = starts_with(full, "refs/") || strcmp(full, "HEAD") == 0;
        if (worst == TS_GIT_OK && error != TS_GIT_OK && error != TS_GIT_MISSING && is_ref) {
            worst = error;
            if (ret_fault != NULL)
                *ret_fault = fault;
        }
    }
    git__packed_refs_release(&packed);
    if (error == TS_GIT_OK)
        return error;
    return worst != TS_GIT_OK ? worst : git__fault(TS_GIT_NO_SUCH_REF, name, ret_fault);
}

enum ts_git_error ts_git_repo_resolve(struct ts_git_repo *repo, const char *name, struct ts_git_oid *ret_oid,
                                      struct ts_git_fault *ret_fault) {
    if (ts_git_oid_parse(repo->hash, ts_bytes_of_cstring(name), ret_oid))
        return TS_GIT_OK;
    enum ts_git_error error = resolve_forms(repo, name, ret_oid, ret_fault);
    size_t len = strlen(name);
    if (error != TS_GIT_OK && len >= 4 && len < 2 * ts_git_hash_len(repo->hash) && is_hex(name) &&
        git__find_prefix(repo, name, ret_oid) == 1)
        error = TS_GIT_OK;
    return error;
}
