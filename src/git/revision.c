#include "git/revision.h"

#include "config.h"
#include "date.h"
#include "file.h"
#include "message.h"
#include "repo_impl.h"

#include "base/number.h"
#include "os/clock.h"
#include "os/grow.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TEXT_MAX    1024
#define COMMIT_MAX  ((size_t)16 << 20)
#define REFLOG_MAX  ((size_t)64 << 20)
#define NESTED_MAX  8 /* @{-1} may name @{-1} */
#define PARENTS_MAX 4096
#define ENTRIES_MAX 100000000u /* as in git: a larger number in @{…} is a time, in seconds since 1970 */

struct reading {
    struct ts_git_repo *repo;
    const char *whole; /* the whole text, for messages */
    unsigned nested;
    struct ts_git_fault *fault;
};

static enum ts_git_error refuse(const struct reading *r, enum ts_git_error error) {
    return git__fault(error, r->whole, r->fault);
}

static enum ts_git_error resolve(const struct reading *r, const char *text, struct ts_git_oid *ret_oid);

/* ---- commits ---- */

struct parents {
    struct ts_git_oid *items;
    size_t count;
    size_t capacity;
};

static enum ts_git_error peel_commit(const struct reading *r, struct ts_git_oid *oid) {
    struct ts_git_oid peeled;
    enum ts_git_error error = ts_git_object_peel(r->repo, oid, &peeled, r->fault);
    if (error == TS_GIT_OK)
        *oid = peeled;
    return error;
}

/* Reads the parents of a commit. Returns TS_GIT_CUT for a commit whose parents a shallow clone omits. The
 * caller frees the parents. */
static enum ts_git_error read_parents(const struct reading *r, const struct ts_git_oid *oid,
                                      struct parents *ret_parents) {
    struct ts_git_content content;
    struct ts_git_commit commit;
    struct parents parents = {.items = NULL};
    if (git__is_shallow_commit(r->repo, oid))
        return refuse(r, TS_GIT_CUT);
    enum ts_git_error error = ts_git_object_read(r->repo, oid, COMMIT_MAX, &content, r->fault);
    if (error != TS_GIT_OK)
        return error;
    bool is_commit = content.type == TS_GIT_COMMIT &&
                     ts_git_commit_parse(r->repo->hash, ts_bytes_of(content.bytes, content.len), &commit);
    error = is_commit ? TS_GIT_OK : refuse(r, TS_GIT_NO_SUCH_PARENT);
    struct ts_git_oid parent;
    while (error == TS_GIT_OK && parents.count < PARENTS_MAX &&
           ts_git_commit_next_parent(r->repo->hash, &commit.parents, &parent)) {
        if (!TS_GROW(parents.items, parents.capacity, parents.count + 1))
            error = refuse(r, TS_GIT_NO_MEMORY);
        else
            parents.items[parents.count++] = parent;
    }
    free(content.bytes);
    if (error == TS_GIT_OK)
        *ret_parents = parents;
    else
        free(parents.items);
    return error;
}

/* Replaces *oid by the commit's Nth parent, counted from 1; for 0 by the commit itself. */
static enum ts_git_error go_to_parent(const struct reading *r, uint32_t which, struct ts_git_oid *oid) {
    struct parents parents;
    enum ts_git_error error = peel_commit(r, oid);
    if (error != TS_GIT_OK || which == 0)
        return error;
    error = read_parents(r, oid, &parents);
    if (error != TS_GIT_OK)
        return error;
    if (which <= parents.count)
        *oid = parents.items[which - 1];
    else
        error = refuse(r, TS_GIT_NO_SUCH_PARENT);
    free(parents.items);
    return error;
}

/* ---- @{…} ---- */

static bool read_file(const char *folder, const char *name, size_t max, char **ret_text) {
    char *path = git__path_join(folder, name);
    size_t len;
    bool done = path != NULL && git__file_read(path, max, ret_text, &len, NULL) == TS_GIT_OK;
    free(path);
    return done;
}

/* Reads the full name of the current branch. Returns false when HEAD is detached. */
static bool current_branch(const struct ts_git_repo *repo, char ret_name[static TEXT_MAX]) {
    static const char prefix[] = "ref:";
    char *text = NULL;
    if (!read_file(repo->git_dir, "HEAD", TEXT_MAX, &text))
        return false;
    bool is_branch = strncmp(text, prefix, sizeof prefix - 1) == 0;
    if (is_branch) {
        const char *name = text + sizeof prefix - 1;
        name += strspn(name, " \t");
        (void)snprintf(ret_name, TEXT_MAX, "%.*s", (int)strcspn(name, "\r\n"), name);
    }
    free(text);
    return is_branch;
}

/* The last value of a setting in the configuration. */
struct setting {
    char text[TEXT_MAX];
    bool is_set;
};

static void take_setting(void *ctx, const char *value) {
    struct setting *setting = ctx;
    (void)snprintf(setting->text, sizeof setting->text, "%s", value);
    setting->is_set = true;
}

/* A branch of a remote, and the local ref that follows it. */
struct mapping {
    const char *from;
    struct setting to;
};

/* Applies a refspec: [+]refs/heads/PREFIX*:refs/remotes/origin/PREFIX*, or without the asterisks. */
static void take_refspec(void *ctx, const char *value) {
    struct mapping *mapping = ctx;
    value += *value == '+';
    const char *colon = strchr(value, ':');
    if (colon == NULL)
        return;
    const char *star = memchr(value, '*', (size_t)(colon - value));
    const char *to_star = strchr(colon, '*');
    size_t head = (size_t)((star != NULL ? star : colon) - value);
    size_t tail = star != NULL ? (size_t)(colon - star - 1) : 0;
    size_t len = strlen(mapping->from);
    if (len < head + tail || strncmp(mapping->from, value, head) != 0 ||
        strncmp(mapping->from + len - tail, colon - tail, tail) != 0)
        return;
    if (star == NULL && len == head)
        take_setting(&mapping->to, colon + 1);
    if (star == NULL || to_star == NULL)
        return;
    (void)snprintf(mapping->to.text, sizeof mapping->to.text, "%.*s%.*s%s", (int)(to_star - colon - 1),
                   colon + 1, (int)(len - head - tail), mapping->from + head, to_star + 1);
    mapping->to.is_set = true;
}

/* Finds where 'git push' would push the branch: the remote, and the name of the branch there. Sets neither if
 * git would refuse. */
static void find_push(const char *config, const char *branch, struct setting *remote, struct setting *merge) {
    struct setting other = {.is_set = false};
    struct setting manner = {.text = "simple"};
    char same[TEXT_MAX];
    bool has_name = snprintf(same, sizeof same, "refs/heads/%s", branch) < (int)sizeof same;
    git__config_each(config, "remote", NULL, "pushdefault", take_setting, &other);
    git__config_each(config, "branch", branch, "pushremote", take_setting, &other);
    git__config_each(config, "push", NULL, "default", take_setting, &manner);
    if (strcmp(manner.text, "upstream") == 0 || strcmp(manner.text, "tracking") == 0)
        return;
    bool is_central = remote->is_set && (!other.is_set || strcmp(other.text, remote->text) == 0);
    bool is_same = is_central && merge->is_set && strcmp(merge->text, same) == 0;
    if (!remote->is_set)
        take_setting(remote, "origin");
    if (other.is_set)
        *remote = other;
    take_setting(merge, same);
    if (!has_name || strcmp(manner.text, "nothing") == 0 || (strcmp(manner.text, "simple") == 0 && !is_same))
        remote->is_set = merge->is_set = false;
}

/* Finds the id of a branch's upstream or, with is_push, of the branch to which git would push it. The id is
 * that of the local ref that follows the remote branch. */
static enum ts_git_error find_upstream(const struct reading *r, const char *name, bool is_push,
                                       struct ts_git_oid *ret_oid) {
    static const char heads[] = "refs/heads/";
    char branch[TEXT_MAX];
    struct setting remote = {.is_set = false};
    struct setting merge = {.is_set = false};
    if (name[0] != '\0' && strcmp(name, "HEAD") != 0 && strcmp(name, "@") != 0)
        (void)snprintf(branch, sizeof branch, "%s", name);
    else if (!current_branch(r->repo, branch))
        return refuse(r, TS_GIT_NO_UPSTREAM);
    const char *shorter = strncmp(branch, heads, sizeof heads - 1) == 0 ? branch + sizeof heads - 1 : branch;
    char *config = git__path_join(r->repo->common_dir, "config");
    if (config == NULL)
        return refuse(r, TS_GIT_NO_MEMORY);
    git__config_each(config, "branch", shorter, "remote", take_setting, &remote);
    git__config_each(config, "branch", shorter, "merge", take_setting, &merge);
    if (is_push)
        find_push(config, shorter, &remote, &merge);
    struct mapping mapping = {.from = merge.text};
    if (remote.is_set && merge.is_set && strcmp(remote.text, ".") == 0)
        mapping.to = merge;
    else if (remote.is_set && merge.is_set)
        git__config_each(config, "remote", remote.text, "fetch", take_refspec, &mapping);
    free(config);
    if (!mapping.to.is_set)
        return refuse(r, TS_GIT_NO_UPSTREAM);
    return ts_git_repo_resolve(r->repo, mapping.to.text, ret_oid, r->fault);
}

/* Reads the log of a ref by any of its names; NULL: no log. ret_ref is the full name of the ref, and may be
 * NULL. */
static char *read_reflog(const struct ts_git_repo *repo, const char *name, char *ret_ref) {
    static const char *const forms[] = {"logs/", "logs/refs/", "logs/refs/tags/", "logs/refs/heads/",
                                        "logs/refs/remotes/"};
    char branch[TEXT_MAX];
    char path[TEXT_MAX + 32];
    char *text = NULL;
    if (name[0] == '\0')
        name = current_branch(repo, branch) ? branch : "HEAD";
    if (ret_ref != NULL)
        (void)snprintf(ret_ref, TEXT_MAX, "%s", name);
    if (strcmp(name, "HEAD") == 0 || strcmp(name, "@") == 0)
        return read_file(repo->git_dir, "logs/HEAD", REFLOG_MAX, &text) ? text : NULL;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && strstr(name, "..") == NULL; i++) {
        (void)snprintf(path, sizeof path, "%s%s", forms[i], name);
        if (!read_file(repo->common_dir, path, REFLOG_MAX, &text))
            continue;
        if (ret_ref != NULL)
            (void)snprintf(ret_ref, TEXT_MAX, "%.*s", TEXT_MAX - 1, path + strlen(forms[0]));
        return text;
    }
    return NULL;
}

/* Finds the line before `end`, and moves `end` to the start of that line. Returns false if there is no such
 * line. */
static bool previous_line(const char *text, const char **end, const char **ret_line, size_t *ret_len) {
    const char *stop = *end;
    while (stop > text && stop[-1] == '\n')
        stop--;
    const char *start = stop;
    while (start > text && start[-1] != '\n')
        start--;
    *ret_line = start;
    *ret_len = (size_t)(stop - start);
    *end = start;
    return stop > text;
}

/* Finds the value of the ref in entry `which`, from 0 for the newest. A line is "OLD NEW who time
 * zone<tab>message". If `which` is the number of lines, the value is OLD of the oldest line, unless that line
 * created the ref. */
static bool find_logged(const struct ts_git_repo *repo, const char *text, uint32_t which,
                        struct ts_git_oid *ret_oid) {
    static const struct ts_git_oid null;
    size_t hex = 2 * ts_git_hash_len(repo->hash);
    const char *end = text + strlen(text);
    const char *line;
    size_t len;
    for (uint32_t i = 0; previous_line(text, &end, &line, &len); i++) {
        if (len < 2 * hex + 1)
            return false;
        if (i == which)
            return ts_git_oid_parse(repo->hash, ts_bytes_of(line + hex + 1, hex), ret_oid);
        if (i + 1 == which && end == text)
            return ts_git_oid_parse(repo->hash, ts_bytes_of(line, hex), ret_oid) &&
                   !ts_git_oid_equal(ret_oid, &null);
    }
    return false;
}

struct entry {
    struct ts_git_oid before;
    struct ts_git_oid after;
    int64_t time_s;
};

static bool read_entry(const struct ts_git_repo *repo, const char *line, size_t len,
                       struct entry *ret_entry) {
    size_t hex = 2 * ts_git_hash_len(repo->hash);
    const char *mail_end = len > 2 * hex + 1 ? memchr(line + 2 * hex, '>', len - 2 * hex) : NULL;
    if (mail_end == NULL || (size_t)(line + len - mail_end) < 2 || mail_end[1] != ' ')
        return false;
    size_t digits = strspn(mail_end + 2, "0123456789");
    return ts_git_oid_parse(repo->hash, ts_bytes_of(line, hex), &ret_entry->before) &&
           ts_git_oid_parse(repo->hash, ts_bytes_of(line + hex + 1, hex), &ret_entry->after) &&
           ts_i64_parse(ts_bytes_of(mail_end + 2, digits), &ret_entry->time_s) == TS_NUMBER_OK;
}

/* Finds the value of the ref at a time. As in git, a time before the oldest entry means the value before that
 * entry. A time after the newest entry means the present value, because the ref may have been moved without
 * an entry. */
static bool find_at(const struct ts_git_repo *repo, const char *text, int64_t at_s,
                    const struct ts_git_oid *now, struct ts_git_oid *ret_oid) {
    static const struct ts_git_oid null;
    struct entry entry;
    struct entry newer = {.time_s = 0}; /* all zero: there is no newer entry */
    const char *end = text + strlen(text);
    const char *line;
    size_t len;
    bool has_any = false;
    while (previous_line(text, &end, &line, &len)) {
        if (!read_entry(repo, line, len, &entry))
            continue;
        has_any = true;
        if (entry.time_s <= at_s) {
            bool is_newest = ts_git_oid_equal(&newer.before, &null) && entry.time_s < at_s;
            *ret_oid = is_newest ? *now : entry.after;
            return true;
        }
        newer = entry;
    }
    if (has_any)
        *ret_oid = ts_git_oid_equal(&newer.before, &null) ? newer.after : newer.before;
    return has_any;
}

/* Finds the branch or commit that the Nth last checkout left. */
static bool find_left(const char *text, uint32_t which, char ret_name[static TEXT_MAX]) {
    static const char moving[] = "\tcheckout: moving from ";
    const char *end = text + strlen(text);
    const char *line;
    size_t len;
    while (previous_line(text, &end, &line, &len)) {
        const char *found = memmem(line, len, moving, sizeof moving - 1);
        if (found == NULL || --which > 0)
            continue;
        const char *name = found + sizeof moving - 1;
        const char *to = memmem(name, (size_t)(line + len - name), " to ", 4);
        if (to == NULL)
            return false;
        (void)snprintf(ret_name, TEXT_MAX, "%.*s", (int)(to - name), name);
        return true;
    }
    return false;
}

static enum ts_git_error resolve_left(const struct reading *r, uint32_t which, struct ts_git_oid *ret_oid) {
    char name[TEXT_MAX];
    char *text = read_reflog(r->repo, "HEAD", NULL);
    bool is_found = text != NULL && which > 0 && find_left(text, which, name);
    free(text);
    return is_found ? resolve(r, name, ret_oid) : refuse(r, TS_GIT_NO_REFLOG);
}

static enum ts_git_error resolve_time(const struct reading *r, const char *name, int64_t at_s,
                                      struct ts_git_oid *ret_oid) {
    char ref[TEXT_MAX];
    struct ts_git_oid now;
    struct ts_git_oid found;
    char *text = read_reflog(r->repo, name, ref);
    enum ts_git_error error =
        text != NULL ? ts_git_repo_resolve(r->repo, ref, &now, r->fault) : refuse(r, TS_GIT_NO_REFLOG);
    if (error == TS_GIT_OK && !find_at(r->repo, text, at_s, &now, &found))
        error = refuse(r, TS_GIT_NO_REFLOG);
    free(text);
    if (error == TS_GIT_OK)
        *ret_oid = found;
    return error;
}

static enum ts_git_error resolve_at(const struct reading *r, const char *name, const char *what,
                                    struct ts_git_oid *ret_oid) {
    uint32_t number;
    if (strcasecmp(what, "u") == 0 || strcasecmp(what, "upstream") == 0)
        return find_upstream(r, name, false, ret_oid);
    if (strcasecmp(what, "push") == 0)
        return find_upstream(r, name, true, ret_oid);
    if (what[0] == '-' && name[0] == '\0' &&
        ts_u32_parse(ts_bytes_of_cstring(what + 1), &number) == TS_NUMBER_OK)
        return resolve_left(r, number, ret_oid);
    int64_t at_s;
    if (git__date_read(what, (int64_t)(ts_clock_wall_ms() / 1000), &at_s))
        return resolve_time(r, name, at_s, ret_oid);
    if (ts_u32_parse(ts_bytes_of_cstring(what), &number) != TS_NUMBER_OK)
        return refuse(r, TS_GIT_BAD_DATE);
    if (number >= ENTRIES_MAX)
        return resolve_time(r, name, number, ret_oid);
    char *text = read_reflog(r->repo, name, NULL);
    bool is_found = text != NULL && find_logged(r->repo, text, number, ret_oid);
    free(text);
    return is_found ? TS_GIT_OK : refuse(r, TS_GIT_NO_REFLOG);
}

/* ---- revisions ---- */

/* Resolves the digits after the last -g, as in v1.2-3-gabc1234. */
static enum ts_git_error resolve_described(const struct reading *r, const char *name,
                                           struct ts_git_oid *ret_oid) {
    const char *last = NULL;
    for (const char *at = strstr(name, "-g"); at != NULL; at = strstr(at + 1, "-g"))
        last = at;
    size_t digits = last != NULL ? strspn(last + 2, "0123456789abcdef") : 0;
    if (digits < 4 || last[2 + digits] != '\0' || git__find_prefix(r->repo, last + 2, ret_oid) != 1)
        return TS_GIT_NO_SUCH_REF;
    return TS_GIT_OK;
}

static enum ts_git_error resolve_name(const struct reading *r, const char *name, struct ts_git_oid *ret_oid) {
    struct ts_git_fault fault;
    enum ts_git_error error =
        ts_git_repo_resolve(r->repo, strcmp(name, "@") == 0 ? "HEAD" : name, ret_oid, &fault);
    if (error == TS_GIT_NO_SUCH_REF && resolve_described(r, name, ret_oid) == TS_GIT_OK)
        return TS_GIT_OK;
    if (error != TS_GIT_OK && r->fault != NULL)
        *r->fault = fault;
    return error;
}

/* Reads the number after ~ or ^; 1 if there is no number. Returns false when it is too large. */
static bool take_number(const char **at, uint32_t *ret_number) {
    size_t len = strspn(*at, "0123456789");
    *ret_number = 1;
    bool done = len == 0 || ts_u32_parse(ts_bytes_of(*at, len), ret_number) == TS_NUMBER_OK;
    *at += len;
    return done;
}

/* Finds a commit by its message. Only a text from the user may search: names in a reflog come from the
 * repository, and a hostile expression could take any amount of memory. */
static enum ts_git_error search(const struct reading *r, const char *text, const struct ts_git_oid *from,
                                struct ts_git_oid *ret_oid) {
    if (r->nested > 1)
        return refuse(r, TS_GIT_BAD_REVISION);
    enum ts_git_error error = git__message_find(r->repo, text, from, ret_oid, r->fault);
    bool is_about_text = error == TS_GIT_BAD_PATTERN || error == TS_GIT_NO_MATCH;
    return is_about_text ? refuse(r, error) : error;
}

/* Applies ^{/TEXT}, with *at after the slash. The text may contain braces. It ends at the last brace before
 * the next ^{ or the end; only ~N and ^N may follow that brace. */
static enum ts_git_error take_search(const struct reading *r, const char **at, struct ts_git_oid *oid) {
    char text[TEXT_MAX];
    struct ts_git_oid found;
    const char *next = strstr(*at, "^{");
    const char *end = next != NULL ? next : *at + strlen(*at);
    while (end > *at && strchr("~^0123456789", end[-1]) != NULL)
        end--;
    if (end == *at || end[-1] != '}' || end - *at > TEXT_MAX)
        return refuse(r, TS_GIT_BAD_REVISION);
    (void)snprintf(text, sizeof text, "%.*s", (int)(end - *at - 1), *at);
    *at = end;
    enum ts_git_error error = peel_commit(r, oid);
    if (error != TS_GIT_OK || text[0] == '\0')
        return error;
    error = search(r, text, oid, &found);
    if (error == TS_GIT_OK)
        *oid = found;
    return error;
}

/* Applies one suffix at *at: ~N, ^N or ^{…}. */
static enum ts_git_error take_step(const struct reading *r, const char **at, struct ts_git_oid *oid) {
    uint32_t number;
    char sign = *(*at)++;
    if (sign == '^' && strncmp(*at, "{}", 2) == 0) {
        *at += 2;
        return peel_commit(r, oid);
    }
    if (sign == '^' && strncmp(*at, "{commit}", 8) == 0) {
        *at += 8;
        return peel_commit(r, oid);
    }
    if (sign == '^' && strncmp(*at, "{/", 2) == 0) {
        *at += 2;
        return take_search(r, at, oid);
    }
    if ((sign != '^' && sign != '~') || !take_number(at, &number))
        return refuse(r, TS_GIT_BAD_REVISION);
    if (sign == '^')
        return go_to_parent(r, number, oid);
    enum ts_git_error error = peel_commit(r, oid);
    while (number-- > 0 && error == TS_GIT_OK)
        error = go_to_parent(r, 1, oid);
    return error;
}

static enum ts_git_error resolve(const struct reading *r, const char *text, struct ts_git_oid *ret_oid) {
    struct reading inner = *r;
    char name[TEXT_MAX];
    char what[TEXT_MAX];
    struct ts_git_oid oid;
    const char *at = text;
    while (*at != '\0' && *at != '^' && *at != '~' && *at != ':' && strncmp(at, "@{", 2) != 0)
        at++;
    if (strlen(text) >= TEXT_MAX || inner.nested++ >= NESTED_MAX)
        return refuse(r, TS_GIT_BAD_REVISION);
    if (strncmp(text, ":/", 2) == 0 && text[2] != '\0') /* no suffix: all that follows is the text */
        return search(&inner, text + 2, NULL, ret_oid);
    (void)snprintf(name, sizeof name, "%.*s", (int)(at - text), text);
    enum ts_git_error error;
    if (*at == '@') {
        const char *close = strchr(at, '}');
        if (close == NULL)
            return refuse(r, TS_GIT_BAD_REVISION);
        (void)snprintf(what, sizeof what, "%.*s", (int)(close - at - 2), at + 2);
        error = resolve_at(&inner, name, what, &oid);
        at = close + 1;
    } else {
        error = name[0] != '\0' ? resolve_name(&inner, name, &oid) : refuse(r, TS_GIT_BAD_REVISION);
    }
    while (error == TS_GIT_OK && *at != '\0')
        error = take_step(&inner, &at, &oid);
    if (error == TS_GIT_OK)
        *ret_oid = oid;
    return error;
}

enum ts_git_error ts_git_revision_resolve(struct ts_git_repo *repo, const char *text,
                                          struct ts_git_oid *ret_oid, struct ts_git_fault *ret_fault) {
    struct reading r = {.repo = repo, .whole = text, .fault = ret_fault};
    return resolve(&r, text, ret_oid);
}

/* ---- ranges ---- */

/* Finds two dots that are not in braces; NULL: none. */
static const char *find_dots(const char *text) {
    unsigned depth = 0;
    for (; *text != '\0'; text++) {
        depth += *text == '{';
        depth -= *text == '}' && depth > 0;
        if (depth == 0 && strncmp(text, "..", 2) == 0)
            return text;
    }
    return NULL;
}

static enum ts_git_error resolve_side(const struct reading *r, const char *text, size_t len,
                                      struct ts_git_oid *ret_oid) {
    char side[TEXT_MAX];
    if (len >= sizeof side)
        return refuse(r, TS_GIT_BAD_REVISION);
    memcpy(side, text, len);
    side[len] = '\0';
    return resolve(r, len == 0 ? "HEAD" : side, ret_oid);
}

/* Resolves A^! and A^-N. */
static enum ts_git_error resolve_alone(const struct reading *r, const char *text,
                                       struct ts_git_range *range) {
    const char *mark = strrchr(text, '^');
    struct parents parents = {.items = NULL};
    uint32_t number = 0;
    const char *at = mark != NULL ? mark + 2 : NULL;
    bool is_alone = mark != NULL && strcmp(mark, "^!") == 0;
    if (!is_alone && (mark == NULL || mark[1] != '-' || !take_number(&at, &number) || *at != '\0'))
        return refuse(r, TS_GIT_BAD_REVISION);
    range->from_count = 1;
    enum ts_git_error error = resolve_side(r, text, (size_t)(mark - text), &range->from[0]);
    if (error == TS_GIT_OK)
        error = peel_commit(r, &range->from[0]);
    if (error == TS_GIT_OK)
        error = read_parents(r, &range->from[0], &parents);
    if (error == TS_GIT_OK && !is_alone && (number < 1 || number > parents.count))
        error = refuse(r, TS_GIT_NO_SUCH_PARENT);
    if (error == TS_GIT_OK && !is_alone) {
        parents.items[0] = parents.items[number - 1];
        parents.count = 1;
    }
    range->exclude = parents.items;
    range->exclude_count = parents.count;
    return error;
}

enum ts_git_error ts_git_range_resolve(struct ts_git_repo *repo, const char *text,
                                       struct ts_git_range *ret_range, struct ts_git_fault *ret_fault) {
    struct reading r = {.repo = repo, .whole = text, .fault = ret_fault};
    struct ts_git_range range = {.from_count = 0};
    const char *dots = find_dots(text);
    enum ts_git_error error;
    if (dots == NULL) {
        error = resolve_alone(&r, text, &range);
    } else {
        struct ts_git_oid left;
        range.is_symmetric = dots[2] == '.';
        const char *right = dots + (range.is_symmetric ? 3 : 2);
        error = resolve_side(&r, text, (size_t)(dots - text), &left);
        if (error == TS_GIT_OK)
            error = resolve_side(&r, right, strlen(right), &range.from[0]);
        range.from_count = range.is_symmetric ? 2 : 1;
        range.from[1] = left;
        if (error == TS_GIT_OK && !range.is_symmetric) {
            range.exclude = malloc(sizeof left);
            range.exclude_count = 1;
            if (range.exclude != NULL)
                *range.exclude = left;
            else
                error = refuse(&r, TS_GIT_NO_MEMORY);
        }
    }
    if (error == TS_GIT_OK)
        *ret_range = range;
    else
        free(range.exclude);
    return error;
}
