#include "choose.h"

#include "look_impl.h"
#include "option_names.h"

#include "base/redact.h"
#include "git/revision.h"
#include "os/grow.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct choosing {
    struct scan_pass *pass;
    struct scan_target *target;
    struct ts_git_repo *repo;
    struct scan_chosen chosen;
    struct ts_scan_error *error;
};

/* Checks that the object that a ref names exists. A missing object is a fault, unless it is missing from a
 * partial clone, which is only counted. Accepts every id that the user gave: the scan checks it later
 * (repository.c). */
static enum ts_git_error check_tip(struct choosing *c, const char *name, const struct ts_git_oid *oid,
                                   struct ts_git_fault *ret_fault) {
    struct ts_git_oid given;
    struct ts_git_oid peeled;
    if (ts_git_oid_parse(c->target->hash, ts_bytes_of_cstring(name), &given))
        return TS_GIT_OK;
    enum ts_git_error error = ts_git_object_peel(c->repo, oid, &peeled, ret_fault);
    if (error == TS_GIT_MISSING && ts_git_repo_keeps_promises(c->repo))
        c->target->row.missing_by_design++;
    else if (error == TS_GIT_MISSING)
        scan__faults_sink(&c->pass->faults).take(&c->pass->faults, ret_fault);
    return error == TS_GIT_MISSING ? error : TS_GIT_OK;
}

/* Returns whether the error is in the user's text, and not in the repository. */
static bool is_wrong_text(enum ts_git_error error) {
    return error == TS_GIT_NO_SUCH_REF || error == TS_GIT_BAD_REVISION || error == TS_GIT_NO_SUCH_PARENT ||
           error == TS_GIT_NO_UPSTREAM || error == TS_GIT_NO_REFLOG || error == TS_GIT_BAD_DATE ||
           error == TS_GIT_BAD_PATTERN || error == TS_GIT_NO_MATCH;
}

/* Reports an error. If the error is in the repository, it becomes a fault, the rest is still selected, and
 * the function returns DONE. */
static enum ts_scan_outcome complain(struct choosing *c, enum ts_git_error error,
                                     const struct ts_git_fault *fault) {
    char line[400];
    (void)ts_git_fault_describe(fault, line, sizeof line);
    if (!is_wrong_text(error)) {
        scan__fault(&c->pass->faults, "%s", line);
        return TS_SCAN_DONE;
    }
    bool may_be_cut =
        (error == TS_GIT_NO_SUCH_REF || error == TS_GIT_NO_MATCH) && ts_git_repo_is_shallow(c->repo);
    return scan__fail(c->error, TS_SCAN_BAD_TARGET, "%s%s", line,
                      may_be_cut
                          ? "; the clone is shallow and may lack it: fetch the history with 'git fetch "
                            "--unshallow', or in CI with 'fetch-depth: 0'"
                          : "");
}

/* Returns room for another id; NULL when memory runs out. */
static struct ts_git_oid *next_oid(struct choosing *c) {
    struct scan_chosen *chosen = &c->chosen;
    if (!TS_GROW(chosen->oids, chosen->capacity, chosen->count + 1)) {
        (void)scan__fail(c->error, TS_SCAN_FAILED, "out of memory");
        return NULL;
    }
    return &chosen->oids[chosen->count];
}

/* Returns whether the text is a range. Names of refs contain no "..", so such a text can only be meant as a
 * range. */
static bool is_range(const char *text) {
    size_t len = strlen(text);
    return strstr(text, "..") != NULL || strstr(text, "^-") != NULL ||
           (len > 2 && strcmp(text + len - 2, "^!") == 0);
}

static enum ts_scan_outcome choose_revision(struct choosing *c, const char *text) {
    char shown[200];
    struct ts_git_fault fault = {.error = TS_GIT_OK};
    struct ts_git_oid *oid = next_oid(c);
    if (oid == NULL)
        return TS_SCAN_FAILED;
    enum ts_git_error error = ts_git_revision_resolve(c->repo, text, oid, &fault);
    if ((error == TS_GIT_NO_SUCH_REF || error == TS_GIT_BAD_REVISION) && is_range(text))
        return scan__fail(c->error, TS_SCAN_BAD_TARGET,
                          "'%s' is a range of commits; " SCAN_OPTION_RANGE " takes it",
                          ts_text_escape(ts_bytes_of_cstring(text), shown, sizeof shown));
    if (error != TS_GIT_OK)
        return complain(c, error, &fault);
    c->chosen.count += check_tip(c, text, oid, &fault) == TS_GIT_OK;
    return TS_SCAN_DONE;
}

static enum ts_scan_outcome choose_branch(struct choosing *c, const char *name) {
    static const char *const below[] = {"refs/heads/", "refs/remotes/", "refs/remotes/origin/"};
    struct ts_git_fault fault = {.error = TS_GIT_OK};
    struct ts_git_oid *oid = next_oid(c);
    enum ts_git_error error = TS_GIT_NO_SUCH_REF;
    if (oid == NULL)
        return TS_SCAN_FAILED;
    for (size_t i = 0; i < sizeof below / sizeof below[0] && error == TS_GIT_NO_SUCH_REF; i++) {
        char full[1024];
        int len = snprintf(full, sizeof full, "%s%s", below[i], name);
        if (len < 0 || (size_t)len >= sizeof full)
            break;
        error = ts_git_repo_resolve(c->repo, full, oid, &fault);
    }
    if (error == TS_GIT_NO_SUCH_REF) {
        char shown[200];
        ts_text_escape(ts_bytes_of_cstring(name), shown, sizeof shown);
        return scan__fail(c->error, TS_SCAN_BAD_TARGET,
                          "unknown branch '%s'; " SCAN_OPTION_REF " takes tags and full names", shown);
    }
    if (error != TS_GIT_OK)
        return complain(c, error, &fault);
    c->chosen.count += check_tip(c, name, oid, &fault) == TS_GIT_OK;
    return TS_SCAN_DONE;
}

/* Selects nothing if the repository has no refs, because HEAD of a new repository names a branch that does not
 * exist yet. If other refs exist, the default branch is missing, which is an error: a scan of nothing would
 * look like a clean repository. */
static enum ts_scan_outcome choose_missing_head(struct choosing *c) {
    struct ts_git_fault_sink sink = scan__faults_sink(&c->pass->faults);
    struct ts_git_refs refs = {.count = 0};
    struct ts_git_fault fault;
    const enum ts_git_error error = ts_git_refs_list(c->repo, &sink, &refs, &fault);
    if (error != TS_GIT_OK)
        return complain(c, error, &fault);
    const bool is_empty = refs.count == 0;
    ts_git_refs_release(&refs);
    return is_empty ? TS_SCAN_DONE
                    : scan__fail(c->error, TS_SCAN_BAD_TARGET,
                                 "HEAD names a branch that does not exist; select other refs, or set HEAD");
}

static enum ts_scan_outcome choose_head(struct choosing *c) {
    struct ts_git_fault fault = {.error = TS_GIT_OK};
    struct ts_git_oid *oid = next_oid(c);
    if (oid == NULL)
        return TS_SCAN_FAILED;
    enum ts_git_error error = ts_git_repo_resolve(c->repo, "HEAD", oid, &fault);
    if (error == TS_GIT_NO_SUCH_REF)
        return choose_missing_head(c);
    if (error != TS_GIT_OK)
        return complain(c, error, &fault);
    c->chosen.count += check_tip(c, "HEAD", oid, &fault) == TS_GIT_OK;
    return TS_SCAN_DONE;
}

static enum ts_scan_outcome choose_matching(struct choosing *c, const struct ts_git_refs *refs,
                                            const char *pattern) {
    struct ts_git_fault fault = {.error = TS_GIT_OK};
    char full[1024];
    char shown[200];
    bool is_met = strchr(pattern, '*') != NULL;
    int len =
        snprintf(full, sizeof full, "%s%s", strncmp(pattern, "refs/", 5) == 0 ? "" : "refs/heads/", pattern);
    for (size_t i = 0; len < (int)sizeof full && i < refs->count; i++) {
        if (fnmatch(full, refs->items[i].name, 0) != 0)
            continue;
        struct ts_git_oid *oid = next_oid(c);
        if (oid == NULL)
            return TS_SCAN_FAILED;
        *oid = refs->items[i].oid;
        c->chosen.count += check_tip(c, refs->items[i].name, oid, &fault) == TS_GIT_OK;
        is_met = true;
    }
    return is_met ? TS_SCAN_DONE
                  : scan__fail(c->error, TS_SCAN_BAD_TARGET, "unknown ref '%s'",
                               ts_text_escape(ts_bytes_of_cstring(full), shown, sizeof shown));
}

static enum ts_scan_outcome choose_patterns(struct choosing *c) {
    const struct ts_scan_options *options = c->pass->options;
    struct ts_git_fault_sink sink = scan__faults_sink(&c->pass->faults);
    struct ts_git_refs refs = {.count = 0};
    struct ts_git_fault fault;
    enum ts_scan_outcome outcome = TS_SCAN_DONE;
    if (options->pattern_count == 0)
        return TS_SCAN_DONE;
    enum ts_git_error error = ts_git_refs_list(c->repo, &sink, &refs, &fault);
    if (error != TS_GIT_OK)
        return complain(c, error, &fault);
    for (size_t i = 0; i < options->pattern_count && outcome == TS_SCAN_DONE; i++)
        outcome = choose_matching(c, &refs, options->patterns[i]);
    ts_git_refs_release(&refs);
    return outcome;
}

static enum ts_scan_outcome choose_range(struct choosing *c, const char *text) {
    struct ts_git_fault fault;
    struct ts_git_range range;
    struct scan_chosen *chosen = &c->chosen;
    enum ts_git_error error = ts_git_range_resolve(c->repo, text, &range, &fault);
    if (error == TS_GIT_BAD_REVISION) {
        char shown[200];
        ts_text_escape(ts_bytes_of_cstring(text), shown, sizeof shown);
        return scan__fail(c->error, TS_SCAN_BAD_TARGET,
                          "'%s' is not a range of commits; " SCAN_OPTION_RANGE " takes A..B, A...B or A^!",
                          shown);
    }
    if (error != TS_GIT_OK)
        return complain(c, error, &fault);
    chosen->exclude = range.exclude;
    for (size_t i = 0; i < range.from_count; i++) {
        struct ts_git_oid *oid = next_oid(c);
        if (oid == NULL)
            return TS_SCAN_FAILED;
        *oid = range.from[i];
        chosen->count++;
    }
    chosen->selection.exclude = range.exclude;
    chosen->selection.exclude_count = range.exclude_count;
    chosen->selection.symmetric = range.is_symmetric;
    return TS_SCAN_DONE;
}

enum ts_scan_outcome scan__choose(struct scan_pass *pass, struct scan_target *target,
                                  struct ts_git_repo *repo, struct scan_chosen *ret_chosen,
                                  struct ts_scan_error *ret_error) {
    const struct ts_scan_options *options = pass->options;
    struct choosing c = {.pass = pass, .target = target, .repo = repo, .error = ret_error};
    enum ts_scan_outcome outcome = TS_SCAN_DONE;
    for (size_t i = 0; i < options->ref_count && outcome == TS_SCAN_DONE; i++)
        outcome = choose_revision(&c, options->refs[i]);
    for (size_t i = 0; i < options->branch_count && outcome == TS_SCAN_DONE; i++)
        outcome = choose_branch(&c, options->branches[i]);
    for (size_t i = 0; i < options->commit_count && outcome == TS_SCAN_DONE; i++)
        outcome = choose_revision(&c, options->commits[i]);
    if (options->default_branch && outcome == TS_SCAN_DONE)
        outcome = choose_head(&c);
    if (outcome == TS_SCAN_DONE)
        outcome = choose_patterns(&c);
    if (options->range != NULL && outcome == TS_SCAN_DONE)
        outcome = choose_range(&c, options->range);
    if (outcome != TS_SCAN_DONE) {
        scan__chosen_release(&c.chosen);
        return outcome;
    }
    struct ts_git_selection *selection = &c.chosen.selection;
    bool is_change = options->commit_count > 0 || options->range != NULL || options->has_since;
    selection->all_refs =
        options->ref_count + options->branch_count + options->commit_count + options->pattern_count == 0 &&
        options->range == NULL && !options->default_branch;
    selection->from = c.chosen.oids;
    selection->from_count = c.chosen.count;
    selection->tips_only = options->commit_count > 0;
    selection->has_since = options->has_since;
    selection->since_s = options->since_s;
    selection->new_only = is_change;
    c.chosen.is_change = is_change;
    *ret_chosen = c.chosen;
    return TS_SCAN_DONE;
}

void scan__chosen_release(struct scan_chosen *chosen) {
    free(chosen->oids);
    free(chosen->exclude);
    *chosen = (struct scan_chosen){.oids = NULL};
}
