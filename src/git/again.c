/*
 * Searches again for missing objects. Another process may write objects, pack loose ones and remove packs at
 * any time:
 *
 *   git repack   a new pack, then removal of the old packs and loose objects
 *   git commit   objects, then the ref
 *
 * Packs are mapped when a repository is opened and stay readable. A loose object is opened when it is read,
 * and may have moved into a pack that was not listed. So before an object is reported as missing, the
 * repository is opened a second time and searched again; git does the same. Object numbers do not change:
 * they refer to the objects that the first opening listed. An object that no ref reaches any more may have
 * been removed, so the refs are read again, too. If they have changed, the object is not missing, but
 * belonged to earlier refs.
 *
 * Each missing object costs one search. After VAIN_LOOKS_MAX searches without success, a repository is not
 * searched again.
 */
#include "repo_impl.h"

#include <string.h>

#define VAIN_LOOKS_MAX 32

/* Opens the repository again for another search. Returns false if another search is useless. */
static bool look_again(struct ts_git_repo *repo) {
    struct ts_git_open_options options = {.refs_first = repo->refs.is_read,
                                          .no_alternates = repo->no_alternates};
    struct ts_git_repo *again = NULL;
    if (repo->vain_looks >= VAIN_LOOKS_MAX ||
        ts_git_repo_open(repo->git_dir, &options, &again, NULL) != TS_GIT_OK)
        return false;
    if (again->hash != repo->hash) {
        ts_git_repo_free(again);
        return false;
    }
    again->vain_looks = VAIN_LOOKS_MAX; /* the repository opened here must not open a third one */
    ts_git_repo_free(repo->again);
    repo->again = again;
    return true;
}

enum ts_git_error git__object_read_again(struct ts_git_repo *repo, const struct ts_git_oid *oid, size_t max,
                                         struct git__work *work, struct ts_git_content *ret_content) {
    enum ts_git_error error = TS_GIT_MISSING;
    if (repo->again != NULL)
        error = git__object_read(repo->again, oid, max, NULL, work, ret_content);
    if (error != TS_GIT_MISSING || !look_again(repo))
        return error;
    error = git__object_read(repo->again, oid, max, NULL, work, ret_content);
    repo->vain_looks += error == TS_GIT_MISSING;
    return error;
}

/* Returns whether the repository lists the object. Makes no table of all ids: few objects are missing, so the
 * indexes need not be read completely. */
static bool is_listed(const struct ts_git_repo *repo, const struct ts_git_oid *oid) {
    uint32_t unused;
    for (size_t i = 0; i < repo->pack_count; i++)
        if (git__pack_index_find(&repo->packs[i].index, oid->bytes, &unused))
            return true;
    return git__loose_is_listed(repo, oid);
}

void git__are_there_now(struct ts_git_repo *repo, const struct ts_git_oid *oids, size_t count,
                        bool *ret_are_there) {
    bool is_any = false;
    memset(ret_are_there, 0, count * sizeof *ret_are_there);
    if (!look_again(repo) || git__loose_fill(repo->again, NULL) != TS_GIT_OK)
        return;
    for (size_t i = 0; i < count; i++) {
        ret_are_there[i] = is_listed(repo->again, &oids[i]);
        is_any = is_any || ret_are_there[i];
    }
    /* The indexes are mapped a second time. The kernel counts that as more memory, so the pages are released. */
    for (size_t i = 0; i < repo->again->pack_count; i++)
        git__map_forget(&repo->again->packs[i].index_map);
    repo->vain_looks += !is_any;
}

bool git__refs_have_changed(const struct ts_git_repo *repo) {
    if (!repo->refs.is_read || repo->again == NULL)
        return false;
    const struct ts_git_refs *before = &repo->refs.all;
    const struct ts_git_refs *now = &repo->again->refs.all;
    bool are_same = before->count == now->count;
    for (size_t i = 0; are_same && i < now->count; i++)
        are_same = strcmp(before->items[i].name, now->items[i].name) == 0 &&
                   ts_git_oid_equal(&before->items[i].oid, &now->items[i].oid);
    return !are_same;
}
