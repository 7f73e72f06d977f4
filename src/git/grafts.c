#include "grafts.h"

#include "os/grow.h"
#include "repo_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define GRAFTS_MAX (256u << 20)

/* Removes an id and the blank after it from the front of *rest. Returns false if there is no valid id, or if
 * another character follows it. */
static bool take_id(enum ts_git_hash hash, struct ts_bytes *rest, struct ts_git_oid *ret_oid) {
    size_t len = 2 * ts_git_hash_len(hash);
    if (rest->len < len || !ts_git_oid_parse(hash, ts_bytes_first(*rest, len), ret_oid))
        return false;
    *rest = ts_bytes_skip(*rest, len);
    if (rest->len == 0)
        return true;
    bool is_blank = isspace(rest->data[0]) != 0 && rest->len > 1;
    *rest = ts_bytes_skip(*rest, 1);
    return is_blank;
}

/* Reads one line. After BAD_LINE, the parents that were read before the error are kept, because an additional
 * parent hides nothing. */
static enum ts_git_error read_line(enum ts_git_hash hash, struct ts_bytes line, struct git__grafts *grafts) {
    struct git__graft graft;
    while (line.len > 0 && isspace(line.data[line.len - 1]))
        line.len--;
    if (line.len == 0 || line.data[0] == '#')
        return TS_GIT_OK;
    if (!take_id(hash, &line, &graft.commit))
        return TS_GIT_BAD_LINE;
    if (!TS_GROW(grafts->commits, grafts->commit_capacity, grafts->commit_count + 1))
        return TS_GIT_NO_MEMORY;
    grafts->commits[grafts->commit_count++] = graft.commit;
    while (line.len > 0) {
        if (!take_id(hash, &line, &graft.parent))
            return TS_GIT_BAD_LINE;
        if (!TS_GROW(grafts->items, grafts->capacity, grafts->count + 1))
            return TS_GIT_NO_MEMORY;
        grafts->items[grafts->count++] = graft;
    }
    return TS_GIT_OK;
}

static int compare_grafts(const void *a, const void *b) {
    const struct git__graft *x = a;
    const struct git__graft *y = b;
    int order = ts_git_oid_compare(&x->commit, &y->commit);
    return order != 0 ? order : ts_git_oid_compare(&x->parent, &y->parent);
}

enum ts_git_error git__grafts_read(struct ts_git_repo *repo, const struct ts_git_fault_sink *faults,
                                   struct ts_git_fault *ret_fault) {
    char *path = git__path_join(repo->common_dir, "info/grafts");
    char *text = NULL;
    size_t len = 0;
    struct ts_git_fault fault;
    if (path == NULL)
        return git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    enum ts_git_error found = git__file_read(path, GRAFTS_MAX, &text, &len, &fault);
    enum ts_git_error error = TS_GIT_OK;
    struct ts_bytes rest = ts_bytes_of(text, len);
    while (rest.len > 0 && error != TS_GIT_NO_MEMORY) {
        const uint8_t *end = memchr(rest.data, '\n', rest.len);
        size_t line = end != NULL ? (size_t)(end - rest.data) : rest.len;
        error = read_line(repo->hash, ts_bytes_first(rest, line), &repo->grafts);
        if (error == TS_GIT_BAD_LINE)
            found = git__fault(error, path, &fault);
        rest = ts_bytes_skip(rest, end != NULL ? line + 1 : line);
    }
    if (found != TS_GIT_OK && found != TS_GIT_MISSING)
        git__fault_send(faults, &fault);
    if (repo->grafts.count > 0)
        qsort(repo->grafts.items, repo->grafts.count, sizeof *repo->grafts.items, compare_grafts);
    error = error == TS_GIT_NO_MEMORY ? git__fault(error, path, ret_fault) : TS_GIT_OK;
    free(text);
    free(path);
    return error;
}

void git__grafts_release(struct git__grafts *grafts) {
    free(grafts->items);
    free(grafts->commits);
    *grafts = (struct git__grafts){.items = NULL};
}

const struct git__graft *git__grafts_find(const struct git__grafts *grafts, const struct ts_git_oid *commit) {
    size_t low = 0;
    size_t high = grafts->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ts_git_oid_compare(&grafts->items[middle].commit, commit) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < grafts->count && ts_git_oid_equal(&grafts->items[low].commit, commit) ? &grafts->items[low]
                                                                                       : NULL;
}

const struct git__graft *git__grafts_next(const struct git__grafts *grafts, const struct git__graft *graft) {
    size_t next = (size_t)(graft - grafts->items) + 1;
    return next < grafts->count && ts_git_oid_equal(&grafts->items[next].commit, &graft->commit)
               ? &grafts->items[next]
               : NULL;
}

bool git__replaced_by(const struct ts_git_repo *repo, const struct ts_git_ref *ref,
                      const struct ts_git_fault_sink *faults, struct ts_git_oid *ret_oid) {
    static const char prefix[] = "refs/replace/";
    if (strncmp(ref->name, prefix, strlen(prefix)) != 0)
        return false;
    if (ts_git_oid_parse(repo->hash, ts_bytes_of_cstring(strrchr(ref->name, '/') + 1), ret_oid))
        return true;
    struct ts_git_fault fault;
    (void)git__fault(TS_GIT_BAD_REF, ref->name, &fault);
    git__fault_send(faults, &fault);
    return false;
}

enum ts_git_error ts_git_repo_substitutes(struct ts_git_repo *repo,
                                          struct ts_git_substitutes *ret_substitutes,
                                          struct ts_git_fault *ret_fault) {
    struct ts_git_refs refs;
    struct ts_git_substitutes found = {.grafts = repo->grafts.commit_count};
    enum ts_git_error error = ts_git_refs_list(repo, NULL, &refs, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    for (size_t i = 0; i < refs.count; i++) {
        struct ts_git_oid oid;
        found.replaced += git__replaced_by(repo, &refs.items[i], NULL, &oid);
    }
    ts_git_refs_release(&refs);
    *ret_substitutes = found;
    return TS_GIT_OK;
}
