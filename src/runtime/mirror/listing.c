#include "listing.h"

#include "runtime/core/selection.h"

#include "base/hex.h"
#include "git/repo.h"
#include "os/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { HEAD_MAX = 1100 };

static bool add(struct mirror__refs *refs, struct mirror__ref ref) {
    if (!TS_GROW(refs->items, refs->capacity, refs->count + 1))
        return false;
    refs->items[refs->count++] = ref;
    return true;
}

/* ---- parsing ---- */

/* Whether the name is safe for HEAD. git checks the names of refs that git stores, but this code writes HEAD
 * itself. */
static bool is_safe_name(const char *name) {
    if (strncmp(name, "refs/", 5) != 0 || strlen(name) > 1000 || strstr(name, "..") != NULL)
        return false;
    for (; *name != '\0'; name++)
        if ((unsigned char)*name <= ' ' || *name == 0x7f)
            return false;
    return true;
}

static bool ends_with(const char *text, const char *end) {
    const size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static enum mirror__listed take_line(struct mirror__listing *listing, char *line) {
    char *name = strchr(line, '\t');
    struct mirror__ref ref = {.source = NULL};
    if (name == NULL)
        return MIRROR__LISTING_WRONG;
    *name++ = '\0';
    const size_t digits = strlen(line);
    if (strncmp(line, "ref: ", 5) == 0) {
        if (strcmp(name, "HEAD") == 0 && is_safe_name(line + 5))
            listing->head = line + 5;
        return MIRROR__LISTED;
    }
    if (listing->refs.count == 0 && !listing->has_head)
        listing->hash = digits == 64 ? TS_GIT_SHA256 : TS_GIT_SHA1;
    if (!ts_git_oid_parse(listing->hash, ts_bytes_of(line, digits), &ref.oid))
        return MIRROR__LISTING_WRONG;
    if (strcmp(name, "HEAD") == 0) {
        listing->has_head = true;
        listing->head_oid = ref.oid;
        return MIRROR__LISTED;
    }
    if (strncmp(name, "refs/", 5) != 0 || ends_with(name, "^{}"))
        return MIRROR__LISTED;
    ref.source = ref.name = name;
    return add(&listing->refs, ref) ? MIRROR__LISTED : MIRROR__LISTING_NO_MEMORY;
}

static int by_name(const void *one, const void *other) {
    const struct mirror__ref *a = one;
    const struct mirror__ref *b = other;
    return strcmp(a->name, b->name);
}

static void sort(struct mirror__refs *refs) {
    if (refs->count > 1)
        qsort(refs->items, refs->count, sizeof *refs->items, by_name);
}

enum mirror__listed mirror__listing_parse(char *output, size_t len, enum ts_git_hash hash,
                                          struct mirror__listing *ret_listing) {
    *ret_listing = (struct mirror__listing){.hash = hash};
    if (len == 0)
        return MIRROR__LISTED;
    if (output[len - 1] != '\n' || memchr(output, '\0', len) != NULL)
        return MIRROR__LISTING_WRONG;
    for (char *line = output, *line_end; line < output + len; line = line_end + 1) {
        line_end = memchr(line, '\n', (size_t)(output + len - line));
        *line_end = '\0';
        const enum mirror__listed listed = take_line(ret_listing, line);
        if (listed != MIRROR__LISTED)
            return listed;
    }
    sort(&ret_listing->refs);
    return MIRROR__LISTED;
}

void mirror__listing_release(struct mirror__listing *listing) {
    free(listing->output);
    free(listing->refs.items);
    ts_arena_release(&listing->arena);
    *listing = (struct mirror__listing){.has_head = false};
}

/* ---- choosing ---- */

static char *copy(struct mirror__listing *listing, const char *begin, struct ts_bytes text) {
    const size_t begin_len = strlen(begin);
    char *kept = ts_arena_take(&listing->arena, begin_len + text.len + 1);
    if (kept != NULL) {
        memcpy(kept, begin, begin_len);
        memcpy(kept + begin_len, text.data, text.len);
        kept[begin_len + text.len] = '\0';
    }
    return kept;
}

/* Chooses the refs that match a pattern. Patterns match as in a scan: '*' also matches slashes. */
static bool choose_pattern(struct mirror__listing *listing, struct ts_bytes text,
                           struct mirror__refs *wanted) {
    const bool is_full = ts_bytes_starts_with(text, TS_BYTES("refs/"));
    const char *pattern = copy(listing, is_full ? "" : "refs/heads/", text);
    if (pattern == NULL)
        return false;
    for (size_t i = 0; i < listing->refs.count; i++)
        if (fnmatch(pattern, listing->refs.items[i].name, 0) == 0 && !add(wanted, listing->refs.items[i]))
            return false;
    return true;
}

static bool choose_commit(struct mirror__listing *listing, struct ts_bytes id, struct mirror__refs *wanted) {
    struct mirror__ref ref = {.source = copy(listing, "", id),
                              .name = copy(listing, TS_SELECTION_COMMIT_REF, id)};
    if (ref.source == NULL || ref.name == NULL)
        return false;
    /* An id of another length belongs to another object format. This repository cannot contain the commit,
     * and the scan reports that. */
    return !ts_git_oid_parse(listing->hash, id, &ref.oid) || add(wanted, ref);
}

static bool choose_list(struct mirror__listing *listing, struct ts_bytes list, bool are_commits,
                        struct mirror__refs *wanted) {
    while (list.len > 0) {
        const uint8_t *comma = memchr(list.data, ',', list.len);
        const size_t len = comma == NULL ? list.len : (size_t)(comma - list.data);
        const struct ts_bytes one = ts_bytes_first(list, len);
        if (are_commits ? !choose_commit(listing, one, wanted) : !choose_pattern(listing, one, wanted))
            return false;
        list = ts_bytes_skip(list, comma == NULL ? len : len + 1);
    }
    return true;
}

static void drop_duplicates(struct mirror__refs *refs) {
    size_t kept = 0;
    sort(refs);
    for (size_t i = 0; i < refs->count; i++)
        if (i == 0 || strcmp(refs->items[i].name, refs->items[kept - 1].name) != 0)
            refs->items[kept++] = refs->items[i];
    refs->count = kept;
}

bool mirror__listing_choose(struct mirror__listing *listing, struct ts_bytes selection,
                            struct mirror__refs *ret_wanted) {
    const struct ts_bytes refs = TS_BYTES("refs:"), commits = TS_BYTES("commits:");
    const bool is_default = ts_bytes_equal(selection, TS_BYTES("default"));
    bool done = true;
    if (ts_bytes_starts_with(selection, refs))
        done = choose_list(listing, ts_bytes_skip(selection, refs.len), false, ret_wanted);
    else if (ts_bytes_starts_with(selection, commits))
        done = choose_list(listing, ts_bytes_skip(selection, commits.len), true, ret_wanted);
    else if (is_default && listing->has_head && listing->head != NULL)
        done = add(ret_wanted, (struct mirror__ref){listing->head, listing->head, listing->head_oid});
    for (size_t i = 0; ts_bytes_equal(selection, TS_BYTES("all")) && i < listing->refs.count && done; i++)
        done = add(ret_wanted, listing->refs.items[i]);
    const bool needs_head = is_default || ts_bytes_equal(selection, TS_BYTES("all"));
    if (done && needs_head && listing->has_head && listing->head == NULL)
        done = add(ret_wanted, (struct mirror__ref){"HEAD", MIRROR__HEAD_REF, listing->head_oid});
    drop_duplicates(ret_wanted);
    return done;
}

/* ---- comparing ---- */

/* Makes the text that the file HEAD of a mirror must contain. */
static void head_text(const struct mirror__listing *listing, char ret_text[static HEAD_MAX]) {
    char id[TS_GIT_OID_HEX_SIZE];
    if (listing->has_head && listing->head == NULL)
        (void)snprintf(ret_text, HEAD_MAX, "%s\n", ts_git_oid_format(listing->hash, &listing->head_oid, id));
    else
        (void)snprintf(ret_text, HEAD_MAX, "ref: %s\n",
                       listing->has_head ? listing->head : MIRROR__UNBORN_REF);
}

static bool has_head(const struct mirror__listing *listing, const char *path) {
    char file[PATH_MAX];
    char wanted[HEAD_MAX];
    char found[HEAD_MAX] = "";
    head_text(listing, wanted);
    const int len = snprintf(file, sizeof file, "%s/HEAD", path);
    const int fd = len > 0 && (size_t)len < sizeof file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return false;
    const ssize_t count = read(fd, found, sizeof found - 1);
    (void)close(fd);
    return count == (ssize_t)strlen(wanted) && strcmp(wanted, found) == 0;
}

bool mirror__head_write(const struct mirror__listing *listing, const char *path) {
    char file[PATH_MAX];
    char lock[PATH_MAX];
    char text[HEAD_MAX];
    head_text(listing, text);
    const int file_len = snprintf(file, sizeof file, "%s/HEAD", path);
    const int lock_len = snprintf(lock, sizeof lock, "%s/HEAD.lock", path);
    errno = ENAMETOOLONG;
    if (file_len < 0 || (size_t)file_len >= sizeof file || lock_len < 0 || (size_t)lock_len >= sizeof lock)
        return false;
    const int fd = open(lock, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    const bool is_written = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    return close(fd) == 0 && is_written && rename(lock, file) == 0;
}

/* Compares the mirror's refs with the wanted refs; both lists are sorted. HEAD is compared separately. */
static bool compare_refs(struct mirror__listing *listing, const struct mirror__refs *wanted,
                         const struct ts_git_refs *found, struct mirror__state *state) {
    size_t at = 0;
    for (size_t i = 0; i < found->count; i++) {
        const struct ts_git_ref *ref = &found->items[i];
        if (strncmp(ref->name, "refs/", 5) != 0)
            continue;
        while (at < wanted->count && strcmp(wanted->items[at].name, ref->name) < 0) {
            state->is_same = false;
            at++;
        }
        if (at < wanted->count && strcmp(wanted->items[at].name, ref->name) == 0) {
            state->is_same = state->is_same && ts_git_oid_equal(&wanted->items[at].oid, &ref->oid);
            at++;
            continue;
        }
        const char *name = copy(listing, "", ts_bytes_of_cstring(ref->name));
        if (name == NULL ||
            !add(&state->stale, (struct mirror__ref){.source = name, .name = name, .oid = ref->oid}))
            return false;
        state->is_same = false;
    }
    state->is_same = state->is_same && at == wanted->count;
    return true;
}

bool mirror__listing_compare(struct mirror__listing *listing, const struct mirror__refs *wanted,
                             const char *path, struct mirror__state *ret_state) {
    struct ts_git_repo *repo = NULL;
    struct ts_git_refs refs = {.count = 0};
    struct ts_git_fault fault;
    *ret_state = (struct mirror__state){.is_readable = false};
    enum ts_git_error error = ts_git_repo_open(path, NULL, &repo, &fault);
    if (error == TS_GIT_OK)
        error = ts_git_refs_list(repo, NULL, &refs, &fault);
    bool done = error != TS_GIT_NO_MEMORY;
    if (error == TS_GIT_OK) {
        ret_state->is_readable = true;
        ret_state->hash = ts_git_repo_hash(repo);
        ret_state->is_same = ret_state->hash == listing->hash && has_head(listing, path);
        done = compare_refs(listing, wanted, &refs, ret_state);
    }
    ts_git_refs_release(&refs);
    ts_git_repo_free(repo);
    return done;
}
