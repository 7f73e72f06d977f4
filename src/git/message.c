#include "message.h"

#include "repo_impl.h"
#include "set_impl.h"

#include "os/grow.h"

#include <locale.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define COMMIT_MAX  ((size_t)16 << 20)
#define MESSAGE_MAX ((size_t)1 << 20) /* the rest of a longer message is not searched */

struct waiting {
    struct ts_git_oid oid;
    int64_t time_s;
    uint64_t order; /* in the same second, the commit that was added first is first */
};

struct search {
    struct ts_git_repo *repo;
    struct ts_git_fault *fault;
    struct ts_git_set *seen;
    struct waiting *heap; /* the youngest is at 0 */
    size_t count;
    size_t capacity;
    uint64_t added;
    regex_t regex;
    bool is_negative;
};

static bool goes_before(const struct waiting *a, const struct waiting *b) {
    return a->time_s != b->time_s ? a->time_s > b->time_s : a->order < b->order;
}

static void swap(struct waiting *a, struct waiting *b) {
    struct waiting kept = *a;
    *a = *b;
    *b = kept;
}

static bool push(struct search *search, const struct ts_git_oid *oid, int64_t time_s) {
    if (!TS_GROW(search->heap, search->capacity, search->count + 1))
        return false;
    size_t at = search->count++;
    search->heap[at] = (struct waiting){*oid, time_s, search->added++};
    for (; at > 0 && goes_before(&search->heap[at], &search->heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&search->heap[at], &search->heap[(at - 1) / 2]);
    return true;
}

static struct ts_git_oid pop(struct search *search) {
    struct ts_git_oid oid = search->heap[0].oid;
    search->heap[0] = search->heap[--search->count];
    for (size_t at = 0;;) {
        size_t first = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < search->count; child++)
            if (goes_before(&search->heap[child], &search->heap[first]))
                first = child;
        if (first == at)
            return oid;
        swap(&search->heap[at], &search->heap[first]);
        at = first;
    }
}

/* Reads and parses a commit. On success, the caller frees the content. Returns WRONG_TYPE if the object is
 * not a commit. */
static enum ts_git_error read_commit(const struct search *search, const struct ts_git_oid *oid,
                                     struct ts_git_content *ret_content, struct ts_git_commit *ret_commit) {
    enum ts_git_hash hash = search->repo->hash;
    enum ts_git_error error = ts_git_object_read(search->repo, oid, COMMIT_MAX, ret_content, search->fault);
    if (error != TS_GIT_OK)
        return error;
    if (ret_content->type != TS_GIT_COMMIT)
        error = TS_GIT_WRONG_TYPE;
    else if (!ts_git_commit_parse(hash, ts_bytes_of(ret_content->bytes, ret_content->len), ret_commit))
        error = TS_GIT_BAD_OBJECT;
    if (error == TS_GIT_OK)
        return TS_GIT_OK;
    free(ret_content->bytes);
    return git__fault_object(error, hash, oid, NULL, search->fault);
}

/* Adds a commit to the heap, unless it was added before. */
static enum ts_git_error add(struct search *search, const struct ts_git_oid *oid) {
    struct ts_git_content content;
    struct ts_git_commit commit;
    uint32_t number = git__number_of(search->repo, oid->bytes);
    if (number != GIT__NONE && git__set_has(search->seen, number))
        return TS_GIT_OK;
    enum ts_git_error error = read_commit(search, oid, &content, &commit);
    if (error != TS_GIT_OK)
        return error;
    int64_t time_s = commit.committer.time_s;
    free(content.bytes);
    if (number == GIT__NONE) /* an unlisted commit cannot be marked as seen, so the search might not end */
        return git__fault_object(TS_GIT_MOVED, search->repo->hash, oid, NULL, search->fault);
    (void)git__set_add(search->seen, number);
    return push(search, oid, time_s) ? TS_GIT_OK : git__fault(TS_GIT_NO_MEMORY, NULL, search->fault);
}

/* Adds the commit that a ref leads to. Ignores refs that lead to other objects, even if such an object is
 * TOO_LARGE to be read. */
static enum ts_git_error add_ref(struct search *search, const struct ts_git_ref *ref) {
    struct ts_git_oid oid;
    enum ts_git_error error = ts_git_object_peel(search->repo, &ref->oid, &oid, search->fault);
    if (error == TS_GIT_OK)
        error = add(search, &oid);
    return error == TS_GIT_WRONG_TYPE || error == TS_GIT_TOO_LARGE ? TS_GIT_OK : error;
}

/* Adds HEAD first, then the refs from the last name to the first, because git examines commits of the same
 * second in this order. HEADs of other work trees do not count. */
static enum ts_git_error add_refs(struct search *search) {
    struct ts_git_refs refs;
    enum ts_git_error error = ts_git_refs_list(search->repo, NULL, &refs, search->fault);
    if (error != TS_GIT_OK)
        return error;
    for (size_t i = 0; i < refs.count && error == TS_GIT_OK; i++)
        if (strcmp(refs.items[i].name, "HEAD") == 0)
            error = add_ref(search, &refs.items[i]);
    for (size_t i = refs.count; i-- > 0 && error == TS_GIT_OK;)
        if (strncmp(refs.items[i].name, "refs/", 5) == 0)
            error = add_ref(search, &refs.items[i]);
    ts_git_refs_release(&refs);
    return error;
}

/* Sets *ret_matches to true if the message of the commit matches. Adds the parents of the commit to the
 * heap. */
static enum ts_git_error ask(struct search *search, const struct ts_git_oid *oid, bool *ret_matches) {
    struct ts_git_content content;
    struct ts_git_commit commit;
    struct ts_git_oid parent;
    enum ts_git_error error = read_commit(search, oid, &content, &commit);
    if (error != TS_GIT_OK)
        return error;
    bool has_parents = !git__is_shallow_commit(search->repo, oid);
    while (has_parents && error == TS_GIT_OK &&
           ts_git_commit_next_parent(search->repo->hash, &commit.parents, &parent))
        error = add(search, &parent);
    size_t len = commit.message.len < MESSAGE_MAX ? commit.message.len : MESSAGE_MAX;
    char *message = strndup(len > 0 ? (const char *)commit.message.data : "", len);
    if (error == TS_GIT_OK && message == NULL)
        error = git__fault(TS_GIT_NO_MEMORY, NULL, search->fault);
    if (error == TS_GIT_OK)
        *ret_matches = (regexec(&search->regex, message, 0, NULL, 0) == 0) != search->is_negative;
    free(message);
    free(content.bytes);
    return error;
}

static enum ts_git_error run(struct search *search, const struct ts_git_oid *from,
                             struct ts_git_oid *ret_oid) {
    enum ts_git_error error = from != NULL ? add(search, from) : add_refs(search);
    while (error == TS_GIT_OK && search->count > 0) {
        struct ts_git_oid oid = pop(search);
        bool matches = false;
        error = ask(search, &oid, &matches);
        if (error == TS_GIT_OK && matches) {
            *ret_oid = oid;
            return TS_GIT_OK;
        }
    }
    return error == TS_GIT_OK ? TS_GIT_NO_MATCH : error;
}

enum ts_git_error git__message_find(struct ts_git_repo *repo, const char *text, const struct ts_git_oid *from,
                                    struct ts_git_oid *ret_oid, struct ts_git_fault *ret_fault) {
    struct search search = {.repo = repo, .fault = ret_fault};
    if (text[0] == '!') {
        search.is_negative = text[1] == '-';
        if (text[1] != '-' && text[1] != '!')
            return TS_GIT_BAD_PATTERN; /* git reserves this form */
        text += search.is_negative ? 2 : 1;
    }
    locale_t of_user = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    locale_t before = of_user != (locale_t)0 ? uselocale(of_user) : (locale_t)0;
    enum ts_git_error error = TS_GIT_BAD_PATTERN;
    if (regcomp(&search.regex, text, REG_EXTENDED | REG_NOSUB) == 0) {
        error = ts_git_set_new(repo, &search.seen, ret_fault);
        if (error == TS_GIT_OK)
            error = run(&search, from, ret_oid);
        regfree(&search.regex);
    }
    if (of_user != (locale_t)0) {
        (void)uselocale(before);
        freelocale(of_user);
    }
    ts_git_set_free(search.seen);
    free(search.heap);
    return error;
}
