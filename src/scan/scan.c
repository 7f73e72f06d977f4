#include "scan/scan.h"

#include "attempt.h"
#include "forge.h"
#include "look_impl.h"
#include "masking.h"
#include "option_names.h"
#include "pass.h"
#include "recall.h"
#include "state_files.h"
#include "tree_file.h"
#include "work_tree.h"

#include "base/assert.h"
#include "base/blake3.h"
#include "base/redact.h"
#include "git/repo.h"
#include "os/clock.h"
#include "os/entropy.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Findings may take 1/HITS_SHARE of the memory. FIXED_BYTES, and THREAD_BYTES for each thread, are needed in
 * addition to the memory of a visit. */
#define HITS_SHARE    8
#define FIXED_BYTES   (UINT64_C(24) << 20)
#define THREAD_BYTES  (UINT64_C(2) << 20)
#define FINDING_BYTES 1024                 /* the limit on findings is the memory divided by this */
#define THREAD_SHARE  (UINT64_C(16) << 20) /* the limit on threads is the memory divided by this */
#define OBJECT_SHARE  16
#define OBJECT_MAX    ((size_t)64 << 20)
/* Completes a partial clone, also with objects that only tags reach. */
#define FETCH_MISSING "'git fetch --refetch --no-filter --tags'"

/* The memory that a report needs. */
struct memory {
    struct ts_arena arena;
    struct scan_pass pass;
};

/* ---- what targets share ---- */

enum ts_scan_outcome scan__fail(struct ts_scan_error *ret_error, enum ts_scan_outcome outcome,
                                const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(ret_error->text, sizeof ret_error->text, format, arguments);
    va_end(arguments);
    ret_error->git = TS_GIT_OK;
    ret_error->os_error = 0;
    return outcome;
}

uint32_t scan__pass_commit(struct scan_pass *pass, const struct scan_commit *commit) {
    size_t at = pass->commits.len;
    if (!scan__pile_grow(&pass->commits, sizeof *commit)) {
        pass->no_memory = true;
        return TS_REPORT_NONE;
    }
    memcpy(pass->commits.bytes + at, commit, sizeof *commit);
    return (uint32_t)(at / sizeof *commit);
}

void scan__pass_location(struct scan_pass *pass, const struct scan_location *location) {
    struct scan_location kept = *location;
    size_t at = pass->locations.len;
    kept.real_path = location->path;
    if (!scan__pile_grow(&pass->locations, sizeof kept))
        pass->no_memory = true;
    else
        memcpy(pass->locations.bytes + at, &kept, sizeof kept);
}

void scan__pass_outcome(struct scan_pass *pass, enum scan_look_result outcome, const char *name) {
    switch (outcome) {
    case SCAN_LOOK_OK:
        return;
    case SCAN_LOOK_TOO_MANY:
        scan__fault(&pass->faults, "%s: more than %zu matches; the rest is not reported", name,
                    SCAN_MATCHES_MAX);
        return;
    case SCAN_LOOK_NO_MEMORY:
        scan__fault(&pass->faults,
                    "%s: out of memory; raise " SCAN_OPTION_MEMORY ", or lower " SCAN_OPTION_JOBS, name);
        return;
    }
    ts_unreachable("every outcome is reported");
}

size_t scan__pass_object_max(const struct scan_pass *pass) {
    uint64_t share = pass->memory_bytes / OBJECT_SHARE;
    return share < OBJECT_MAX ? (size_t)share : OBJECT_MAX;
}

uint64_t scan__pass_visit_memory(const struct scan_pass *pass, uint64_t taken) {
    uint64_t reserved = pass->memory_bytes / HITS_SHARE + FIXED_BYTES + pass->jobs * THREAD_BYTES + taken;
    uint64_t least = pass->memory_bytes / 4;
    return pass->memory_bytes > reserved + least ? pass->memory_bytes - reserved : least;
}

bool scan__looks_init(struct scan_looks *looks, struct scan_pass *pass, const struct scan_profile *profile) {
    struct scan_look_options options = {.profile = profile,
                                        .hits = &pass->hits,
                                        .print_key = pass->print_key,
                                        .inside = &pass->inside,
                                        .stop = &pass->progress->stop,
                                        .ungated = pass->options->ungated,
                                        .shows_secrets = pass->options->shows_secrets,
                                        .keeps_secrets = scan__keeps_secrets(pass->options),
                                        .omits_lines = pass->options->parts != NULL};
    *looks = (struct scan_looks){.items = calloc(pass->jobs, sizeof *looks->items)};
    bool done = looks->items != NULL;
    for (unsigned i = 0; done && i < pass->jobs; i++) {
        done = scan__look_init(&looks->items[i], &options);
        looks->count += done;
    }
    return done;
}

static void tell_spent(struct scan_pass *pass, const struct scan_profile *profile, uint32_t rule,
                       uint64_t contents) {
    const struct ts_rule *own = &profile->rules->set.rules[rule];
    char id[100];
    char file[200];
    scan__fault(
        &pass->faults,
        "rules of the target, such as '%s' of %s, take too many steps and were abandoned in %llu contents; "
        "fix them, or ignore them with " SCAN_OPTION_NO_REPO_CONFIG,
        ts_text_escape(ts_bytes_of_cstring(own->id), id, sizeof id),
        ts_text_escape(ts_bytes_of_cstring(own->file), file, sizeof file), (unsigned long long)contents);
}

void scan__looks_finish(struct scan_looks *looks, struct scan_pass *pass, struct ts_report_target *row) {
    uint64_t spent = 0;
    uint32_t own_rule = UINT32_MAX;
    const struct scan_profile *profile = looks->count > 0 ? looks->items[0].options.profile : NULL;
    for (unsigned i = 0; i < looks->count; i++) {
        struct ts_scanner_work counts = ts_scanner_counts(looks->items[i].scanner);
        const struct ts_scanner_work *forgotten = &looks->items[i].forgotten;
        row->bytes_looked_at += counts.bytes - forgotten->bytes;
        pass->limits_hit += counts.limits_hit - forgotten->limits_hit;
        spent += counts.own_spent - forgotten->own_spent;
        own_rule = counts.own_rule < own_rule ? counts.own_rule : own_rule;
        scan__look_release(&looks->items[i]);
    }
    if (spent > 0)
        tell_spent(pass, profile, own_rule, spent);
    scan__inside_count(&pass->inside, row);
    free(looks->items);
    *looks = (struct scan_looks){.items = NULL};
}

void ts_scan_profile_free(struct scan_profile *profile) {
    if (profile == NULL)
        return;
    scan__profile_release(profile);
    free(profile);
}

static struct scan_profile *new_profile(const struct scan_profile_context *context,
                                        struct ts_scan_error *ret_error) {
    struct scan_profile *profile = calloc(1, sizeof *profile);
    if (profile == NULL) {
        (void)scan__fail(ret_error, TS_SCAN_FAILED, "out of memory");
        return NULL;
    }
    if (!scan__profile_init(profile, context, ret_error)) {
        free(profile);
        return NULL;
    }
    return profile;
}

struct scan_profile *ts_scan_profile_new(const struct ts_scan_options *options,
                                         struct ts_scan_error *ret_error) {
    struct scan_profile_context context = {.options = options};
    struct scan_profile *profile = new_profile(&context, ret_error);
    if (profile != NULL)
        profile->is_kept = true;
    return profile;
}

static struct ts_siphash_key print_key_of_parts(const struct ts_scan_options *options) {
    uint8_t derived[TS_BLAKE3_OUT_LEN];
    ts_blake3_derive_key(TS_BYTES("turnstone 2026 parts of scans: key of prints"), options->salt, derived);
    return ts_siphash_key_of(derived);
}

void ts_scan_profile_ids(const struct scan_profile *profile, const struct ts_scan_options *options,
                         uint8_t ret_rules[static TS_SCAN_KEY_LEN],
                         uint8_t ret_judging[static TS_SCAN_KEY_LEN]) {
    const struct ts_siphash_key print_key = print_key_of_parts(options);
    scan__recall_rules(profile, scan__inside_depth(options), ret_rules);
    scan__recall_judging(profile, &print_key, ret_judging);
}

void scan__pass_drop_profile(struct scan_profile *profile) {
    if (!profile->is_kept)
        ts_scan_profile_free(profile);
}

/* Returns where the caller keeps the profile of targets without a configuration; NULL: the caller does not
 * keep this profile. */
static struct scan_profile **kept_profile(struct scan_pass *pass, const struct scan_profile_source *source) {
    return source->read == NULL ? pass->options->profile : NULL;
}

static struct scan_profile *make_profile(struct scan_pass *pass, const struct scan_profile_source *source,
                                         struct ts_scan_error *ret_error) {
    struct scan_profile **kept = kept_profile(pass, source);
    struct scan_profile_context context = {.options = pass->options,
                                           .source = *source,
                                           .known = pass->profiles,
                                           .known_count = pass->profile_count};
    struct scan_profile *profile = new_profile(&context, ret_error);
    if (profile == NULL)
        return NULL;
    profile->is_kept = kept != NULL;
    if (kept != NULL)
        *kept = profile;
    return profile;
}

/* Returns the profile for a target; pass_release drops the profile. On failure returns NULL with one line of
 * text. */
static struct scan_profile *pass_profile(struct scan_pass *pass, const struct scan_profile_source *source,
                                         struct ts_scan_error *ret_error) {
    if (pass->plain != NULL && source->read == NULL)
        return pass->plain;
    struct scan_profile **kept = kept_profile(pass, source);
    struct scan_profile *profile =
        kept != NULL && *kept != NULL ? *kept : make_profile(pass, source, ret_error);
    if (profile == NULL)
        return NULL;
    pass->profiles[pass->profile_count++] = profile;
    if (profile->note[0] != '\0')
        scan__note(&pass->faults, "%s", profile->note);
    if (profile->ignored_note[0] != '\0')
        scan__note(&pass->faults, "%s", profile->ignored_note);
    if (source->read == NULL)
        pass->plain = profile;
    return profile;
}

/* ---- targets ---- */

/* Reports that the configuration of HEAD cannot be read. */
static void report_unread_config(struct scan_pass *pass, struct scan_tree *tree,
                                 const struct ts_git_fault *fault) {
    static const char names[] = SCAN_CONFIG_NAME " and " SCAN_IGNORE_NAME;
    char line[400];
    (void)ts_git_fault_describe(fault, line, sizeof line);
    bool is_promised = fault->error == TS_GIT_MISSING && ts_git_repo_keeps_promises(tree->repo);
    if (fault->error == TS_GIT_MOVED)
        scan__faults_sink(&pass->faults).take(&pass->faults, fault);
    else if (is_promised && pass->options->allow_missing)
        scan__note(&pass->faults, "%s of HEAD are not used: the partial clone does not have HEAD's files",
                   names);
    else if (is_promised)
        scan__fault(&pass->faults,
                    "%s of HEAD are not used: the partial clone does not have HEAD's files; fetch them "
                    "with " FETCH_MISSING,
                    names);
    else
        scan__fault(&pass->faults, "%s of HEAD are not used: %s", names, line);
}

/* Returns whether the target has a configuration of its own. A damaged configuration is a fault, which is
 * reported once. The target is then scanned without a configuration. */
static bool has_config(struct scan_pass *pass, struct scan_tree *tree, const char *name, bool *is_reported) {
    struct ts_git_fault fault;
    switch (scan__tree_has(tree, name, &fault)) {
    case SCAN_TREE_HAS:
        return true;
    case SCAN_TREE_HAS_NOT:
        return false;
    case SCAN_TREE_DAMAGED:
        if (!*is_reported)
            report_unread_config(pass, tree, &fault);
        *is_reported = true;
        return false;
    }
    ts_unreachable("every answer is one of these");
}

static enum ts_scan_outcome with_profile(struct scan_pass *pass, struct scan_target *target,
                                         struct scan_tree *tree, struct ts_scan_error *ret_error) {
    struct scan_profile_source source = {.name = (const char *)target->row.name.data};
    bool is_asked = pass->options->config_file == NULL && !pass->options->no_repo_config && tree != NULL;
    bool is_reported = false;
    bool has_name = is_asked && has_config(pass, tree, SCAN_CONFIG_NAME, &is_reported);
    bool has_other = is_asked && has_config(pass, tree, SCAN_CONFIG_OTHER, &is_reported);
    if (has_name && has_other) {
        char shown[200];
        (void)ts_text_escape(ts_bytes_of_cstring(source.name), shown, sizeof shown);
        return scan__fail(ret_error, TS_SCAN_BAD_CONFIG,
                          "%s: both " SCAN_CONFIG_NAME " and " SCAN_CONFIG_OTHER " exist; remove one of them",
                          shown);
    }
    source.file = has_name ? SCAN_CONFIG_NAME : has_other ? SCAN_CONFIG_OTHER : NULL;
    source.has_ignored = is_asked && has_config(pass, tree, SCAN_IGNORE_NAME, &is_reported);
    if (source.file != NULL || source.has_ignored) {
        source.read = scan__tree_read;
        source.ctx = tree;
    }
    ret_error->os_error = 0;
    target->profile = pass_profile(pass, &source, ret_error);
    if (target->profile != NULL)
        return TS_SCAN_DONE;
    return ret_error->os_error == ENOMEM ? TS_SCAN_FAILED : TS_SCAN_BAD_CONFIG;
}

/* Reports objects that a partial clone omits, because they should have been scanned, too. Reports them in one
 * line, because there may be millions. */
static void judge_missing(struct scan_pass *pass, const struct scan_target *target) {
    uint64_t missing = target->row.missing_by_design;
    if (missing > 0 && !pass->options->allow_missing)
        scan__fault(&pass->faults,
                    "%llu object%s missing from the partial clone; fetch %s with " FETCH_MISSING
                    ", or scan without %s with " SCAN_OPTION_ALLOW_MISSING,
                    (unsigned long long)missing, missing == 1 ? "" : "s", missing == 1 ? "it" : "them",
                    missing == 1 ? "it" : "them");
}

/* Finds the web page of the repository. Stores only the page, because the URL may contain a password. */
static void find_forge(struct scan_target *target, struct ts_git_repo *repo) {
    char url[1024];
    if (ts_git_repo_remote_url(repo, "origin", url, sizeof url) &&
        scan__forge_of(url, target->forge, &target->row.forge_kind))
        target->row.forge = target->forge;
}

/* Returns the first option that selects a part of a repository; NULL: none. */
static const char *find_history_selection(const struct ts_scan_options *options) {
    return options->ref_count + options->pattern_count > 0 || options->default_branch ? SCAN_OPTION_REF
           : options->branch_count > 0                                                ? SCAN_OPTION_BRANCH
           : options->has_since                                                       ? SCAN_OPTION_SINCE
           : options->commit_count > 0                                                ? SCAN_OPTION_COMMIT
           : options->range != NULL                                                   ? SCAN_OPTION_RANGE
           : options->unreachable ? SCAN_OPTION_UNREACHABLE
                                  : NULL;
}

static const char *find_selection(const struct ts_scan_options *options) {
    switch (options->extent) {
    case TS_SCAN_STAGED:
        return SCAN_OPTION_STAGED;
    case TS_SCAN_WORKING_TREE:
        return SCAN_OPTION_WORKING_TREE;
    case TS_SCAN_HISTORY:
        break;
    }
    return find_history_selection(options);
}

static void judge_one(struct scan_pass *pass, uint64_t count, const char *one, const char *many,
                      const char *what) {
    if (count > 0)
        scan__fault(&pass->faults, "%llu %s not scanned: %s", (unsigned long long)count,
                    count == 1 ? one : many, what);
}

/* With --strict, reports faults for submodules, encrypted archives and missing LFS objects, which are
 * otherwise only counted. */
static void judge_closed(struct scan_pass *pass, const struct scan_target *target) {
    const struct ts_report_target *row = &target->row;
    if (!pass->options->strict)
        return;
    judge_one(pass, row->submodules, "submodule is", "submodules are",
              "scan the repository of each, or leave out " SCAN_OPTION_STRICT);
    judge_one(pass, row->lfs_missing, "LFS object is", "LFS objects are",
              "fetch them with 'git lfs fetch --all', or leave out " SCAN_OPTION_STRICT);
    judge_one(pass, row->encrypted_archives, "encrypted archive is", "encrypted archives are",
              "scan the files that they were made from, or leave out " SCAN_OPTION_STRICT);
}

static enum ts_scan_outcome scan_repository(struct scan_pass *pass, struct scan_target *target,
                                            struct ts_git_repo *repo, struct ts_scan_error *ret_error) {
    struct scan_tree tree = {
        .folder = ts_git_repo_work_tree(repo), .repo = repo, .object_max = scan__pass_object_max(pass)};
    scan__limits_begin(pass, repo);
    if (!scan__inside_begin(&pass->inside, ts_git_repo_common_dir(repo)))
        return scan__fail(ret_error, TS_SCAN_FAILED, "out of memory");
    target->row.kind = TS_REPORT_TARGET_KIND_REPOSITORY;
    target->hash = ts_git_repo_hash(repo);
    find_forge(target, repo);
    enum ts_scan_outcome outcome = with_profile(pass, target, &tree, ret_error);
    if (outcome != TS_SCAN_DONE)
        return outcome;
    switch (pass->options->extent) {
    case TS_SCAN_HISTORY:
        outcome = scan__repository(pass, target, repo, ret_error);
        if (outcome == TS_SCAN_DONE && find_selection(pass->options) == NULL && pass->options->parts == NULL)
            scan__note_work_tree(pass, target, repo);
        break;
    case TS_SCAN_STAGED:
        outcome = scan__staged(pass, target, repo, ret_error);
        break;
    case TS_SCAN_WORKING_TREE:
        if (tree.folder == NULL)
            return scan__fail(ret_error, TS_SCAN_BAD_TARGET,
                              "a bare repository has no work tree; leave out " SCAN_OPTION_WORKING_TREE);
        return scan__folder(pass, target, tree.folder, TS_PLACE_WORKING_TREE, ret_error);
    }
    if (outcome == TS_SCAN_DONE)
        judge_missing(pass, target);
    return outcome;
}

/* Returns whether the path is the .git file of a work tree, which stands for its repository. */
static bool is_git_file(const char *path) {
    const char *slash = strrchr(path, '/');
    return strcmp(slash != NULL ? slash + 1 : path, ".git") == 0;
}

static enum ts_scan_outcome open_and_scan(struct scan_pass *pass, struct scan_target *target,
                                          const struct ts_scan_target *given,
                                          struct ts_scan_error *ret_error) {
    char shown[300];
    const char *path = given->path;
    (void)ts_text_escape(ts_bytes_of_cstring(path), shown, sizeof shown);
    struct ts_git_open_options open = {.search_upward =
                                           pass->options->search_upward && given->git_dir == NULL,
                                       .ceilings = pass->options->ceilings,
                                       .refs_first = pass->options->extent == TS_SCAN_HISTORY,
                                       .work_tree = given->git_dir != NULL ? path : NULL,
                                       .faults = scan__faults_sink(&pass->faults)};
    struct ts_git_repo *repo = NULL;
    struct ts_git_fault fault;
    enum ts_git_error error =
        ts_git_repo_open(given->git_dir != NULL ? given->git_dir : path, &open, &repo, &fault);
    if (error == TS_GIT_NOT_A_REPOSITORY && given->git_dir != NULL)
        return scan__fail(ret_error, TS_SCAN_BAD_TARGET, "'%s' is not a git repository",
                          ts_text_escape(ts_bytes_of_cstring(given->git_dir), shown, sizeof shown));
    if (error == TS_GIT_NOT_A_REPOSITORY)
        return scan__fail(ret_error, TS_SCAN_BAD_TARGET,
                          "'%s' is not a git repository; " SCAN_OPTION_DIR " scans the files of a folder",
                          shown);
    if (error != TS_GIT_OK) {
        char line[400];
        return scan__fail(ret_error, TS_SCAN_BAD_TARGET, "%s",
                          ts_git_fault_describe(&fault, line, sizeof line));
    }
    enum ts_scan_outcome outcome = scan_repository(pass, target, repo, ret_error);
    ts_git_repo_free(repo);
    return outcome;
}

static enum ts_scan_outcome scan_path(struct scan_pass *pass, struct scan_target *target,
                                      const struct ts_scan_target *given, struct ts_scan_error *ret_error) {
    char shown[300];
    struct stat status;
    const char *path = given->path;
    (void)ts_text_escape(ts_bytes_of_cstring(path), shown, sizeof shown);
    if (stat(path, &status) != 0)
        return scan__fail(ret_error, TS_SCAN_BAD_TARGET, "'%s': %s", shown, strerror(errno));
    if (given->kind == TS_SCAN_TARGET_ANY && !S_ISDIR(status.st_mode) && !is_git_file(path)) {
        target->row.kind = TS_REPORT_TARGET_KIND_FILE;
        enum ts_scan_outcome outcome = with_profile(pass, target, NULL, ret_error);
        return outcome == TS_SCAN_DONE ? scan__file(pass, target, path, ret_error) : outcome;
    }
    for (pass->attempts_left = SCAN_ATTEMPTS_MAX - 1;; pass->attempts_left--) {
        struct scan_attempt attempt = scan__attempt_begin(pass);
        enum ts_scan_outcome outcome = open_and_scan(pass, target, given, ret_error);
        if (!scan__attempt_is_stale(pass))
            return outcome;
        scan__attempt_undo(pass, target, &attempt);
    }
}

static enum ts_scan_outcome scan_folder(struct scan_pass *pass, struct scan_target *target, const char *path,
                                        struct ts_scan_error *ret_error) {
    struct scan_tree tree = {.folder = path};
    target->row.kind = TS_REPORT_TARGET_KIND_DIRECTORY;
    enum ts_scan_outcome outcome = with_profile(pass, target, &tree, ret_error);
    return outcome == TS_SCAN_DONE ? scan__folder(pass, target, path, TS_PLACE_FILE, ret_error) : outcome;
}

static enum ts_scan_outcome scan_target(struct scan_pass *pass, const struct ts_scan_target *given,
                                        struct ts_scan_error *ret_error) {
    struct scan_target *target = &pass->targets[pass->target_count];
    scan__limits_begin(pass, NULL);
    (void)scan__inside_begin(&pass->inside, NULL);
    scan__faults_settle(&pass->faults);
    pass->faults.target = (uint32_t)pass->target_count++;
    target->faults_before = pass->faults.total;
    target->lasting_before = pass->faults.lasting;
    target->row.name = ts_bytes_of_cstring(given->path);
    enum ts_scan_outcome outcome = TS_SCAN_DONE;
    switch (given->kind) {
    case TS_SCAN_TARGET_ANY:
    case TS_SCAN_TARGET_REPOSITORY:
        return scan_path(pass, target, given, ret_error);
    case TS_SCAN_TARGET_FOLDER:
        return scan_folder(pass, target, given->path, ret_error);
    case TS_SCAN_TARGET_INPUT:
        target->row.kind = TS_REPORT_TARGET_KIND_INPUT;
        outcome = with_profile(pass, target, NULL, ret_error);
        return outcome == TS_SCAN_DONE ? scan__input(pass, target, STDIN_FILENO, ret_error) : outcome;
    case TS_SCAN_TARGET_BYTES:
        target->row.kind = TS_REPORT_TARGET_KIND_FILE;
        outcome = with_profile(pass, target, NULL, ret_error);
        return outcome == TS_SCAN_DONE ? scan__bytes(pass, target, given, ret_error) : outcome;
    }
    ts_unreachable("every kind of target is scanned");
}

static enum ts_report_target_outcome outcome_of(enum ts_scan_outcome outcome) {
    switch (outcome) {
    case TS_SCAN_DONE:
        return TS_REPORT_TARGET_SCANNED;
    case TS_SCAN_BAD_TARGET:
    case TS_SCAN_BAD_CONFIG:
    case TS_SCAN_BAD_OPTIONS:
        return TS_REPORT_TARGET_REFUSED;
    case TS_SCAN_FAILED:
        return TS_REPORT_TARGET_FAILED;
    }
    ts_unreachable("every outcome is one of a target");
}

/* Scans the targets one after the other, independently. If no target could be scanned, returns the error of
 * the first target; otherwise DONE. */
static enum ts_scan_outcome scan_targets(struct scan_pass *pass, struct ts_scan_error *ret_error) {
    const struct ts_scan_options *options = pass->options;
    enum ts_scan_outcome first = TS_SCAN_DONE;
    size_t scanned = 0;
    for (size_t i = 0; i < options->target_count && !scan__is_over(pass); i++) {
        struct ts_scan_error error;
        enum ts_scan_outcome outcome = scan_target(pass, &options->targets[i], &error);
        scan__limits_tell(pass);
        scan__faults_note_accepted(&pass->faults);
        struct scan_target *target = &pass->targets[pass->target_count - 1];
        target->row.outcome = outcome_of(outcome);
        scanned += outcome == TS_SCAN_DONE;
        if (outcome == TS_SCAN_DONE) {
            judge_closed(pass, target);
            continue;
        }
        target->row = (struct ts_report_target){
            .name = target->row.name, .kind = target->row.kind, .outcome = target->row.outcome};
        scan__fault(&pass->faults, "%s", error.text);
        if (first == TS_SCAN_DONE)
            *ret_error = error;
        first = first == TS_SCAN_DONE ? outcome : first;
    }
    return scanned > 0 ? TS_SCAN_DONE : first;
}

/* ---- the whole scan ---- */

/* Refuses options that contradict each other. Otherwise one option would be ignored, and secrets would be
 * missed. */
static enum ts_scan_outcome check_options(const struct ts_scan_options *options,
                                          struct ts_scan_error *ret_error) {
    const char *selection = find_history_selection(options);
    if (options->extent != TS_SCAN_HISTORY && selection != NULL)
        return scan__fail(ret_error, TS_SCAN_BAD_OPTIONS,
                          "%s selects from the history, and %s does not scan it", selection,
                          find_selection(options));
    const char *change = options->range != NULL      ? SCAN_OPTION_RANGE
                         : options->commit_count > 0 ? SCAN_OPTION_COMMIT
                                                     : NULL;
    if (change != NULL && selection != NULL && strcmp(selection, change) != 0)
        return scan__fail(ret_error, TS_SCAN_BAD_OPTIONS, "%s and %s cannot be combined", change, selection);
    return TS_SCAN_DONE;
}

/* Refuses a selection that does not apply to a target, because the selection would otherwise be ignored.
 * Called before anything is scanned, because scanning may take long. */
static enum ts_scan_outcome check_selection(const struct ts_scan_options *options,
                                            struct ts_scan_error *ret_error) {
    const char *selection = find_selection(options);
    for (size_t i = 0; selection != NULL && i < options->target_count; i++) {
        const struct ts_scan_target *target = &options->targets[i];
        struct stat status;
        char shown[300];
        if (target->kind == TS_SCAN_TARGET_INPUT)
            return scan__fail(ret_error, TS_SCAN_BAD_TARGET,
                              "standard input ('-') is not a repository, and %s needs one", selection);
        if (target->kind == TS_SCAN_TARGET_BYTES)
            return scan__fail(ret_error, TS_SCAN_BAD_TARGET,
                              "bytes in memory are not a repository, and %s needs one", selection);
        if (target->kind == TS_SCAN_TARGET_ANY && stat(target->path, &status) == 0 &&
            !S_ISDIR(status.st_mode) && !is_git_file(target->path))
            return scan__fail(ret_error, TS_SCAN_BAD_TARGET,
                              "'%s' is a file and not a repository, and %s "
                              "needs one",
                              ts_text_escape(ts_bytes_of_cstring(target->path), shown, sizeof shown),
                              selection);
    }
    return TS_SCAN_DONE;
}

/* Chooses the key of prints. The state keeps prints, so prints use the key of the state folder. If the folder
 * has no key yet, a random key is made. Parts keep prints for scans on any machine, so their key is derived
 * from the salt. */
static void choose_print_key(struct scan_pass *pass) {
    const char *folder = pass->options->state_folder;
    uint8_t drawn[TS_SIPHASH_KEY_LEN];
    if (pass->options->parts != NULL) {
        pass->print_key = print_key_of_parts(pass->options);
        return;
    }
    if (folder != NULL && scan__state_print_key_read(folder, &pass->print_key))
        return;
    if (!ts_entropy_fill(drawn, sizeof drawn))
        memset(drawn, 0, sizeof drawn); /* a fixed key: prints are easier to guess, as with a known salt */
    pass->print_key = ts_siphash_key_of(drawn);
}

static bool pass_init(struct scan_pass *pass, const struct ts_scan_options *options, uint64_t begin_ns) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    const char *dir = options->spill_dir != NULL ? options->spill_dir : getenv("TMPDIR");
    *pass = (struct scan_pass){.options = options};
    pass->jobs = options->jobs != 0 ? options->jobs : online > 0 ? (unsigned)online : 1;
    pass->jobs = pass->jobs > TS_SCAN_THREADS_MAX ? TS_SCAN_THREADS_MAX : pass->jobs;
    pass->memory_bytes = options->memory_bytes != 0 ? options->memory_bytes : TS_SCAN_MEMORY_DEFAULT;
    if (pass->memory_bytes < TS_SCAN_MEMORY_MIN)
        pass->memory_bytes = TS_SCAN_MEMORY_MIN;
    if (pass->jobs > pass->memory_bytes / THREAD_SHARE)
        pass->jobs = (unsigned)(pass->memory_bytes / THREAD_SHARE);
    pass->spill_dir = dir != NULL && dir[0] != '\0' ? dir : "/tmp";
    choose_print_key(pass);
    pass->progress = options->progress != NULL ? options->progress : &pass->own_progress;
    size_t held = (size_t)(pass->memory_bytes / HITS_SHARE);
    scan__faults_init(&pass->faults);
    pass->faults.for_library = options->for_library;
    scan__limits_init(pass, begin_ns);
    scan__inside_init(&pass->inside, pass);
    scan__pile_init(&pass->locations, held / 4, pass->spill_dir);
    scan__pile_init(&pass->commits, held / 8, pass->spill_dir);
    struct scan_hits_options hits = {.held_max = held / 2,
                                     .findings_max = (size_t)(pass->memory_bytes / FINDING_BYTES),
                                     .spill_dir = pass->spill_dir};
    pass->targets = calloc(options->target_count + 1, sizeof *pass->targets);
    pass->profiles = calloc(options->target_count + 1, sizeof(void *)); /* at most one for each target */
    return scan__hits_init(&pass->hits, &hits) && pass->targets != NULL && pass->profiles != NULL;
}

static void pass_release(struct scan_pass *pass) {
    scan__hits_release(&pass->hits);
    scan__limits_release(&pass->limits);
    scan__inside_release(&pass->inside);
    scan__faults_release(&pass->faults);
    scan__pile_release(&pass->locations);
    scan__pile_release(&pass->commits);
    for (size_t i = 0; i < pass->profile_count; i++)
        scan__pass_drop_profile(pass->profiles[i]);
    scan__masks_release(&pass->masks);
    free(pass->parts_end.tips);
    free(pass->parts_end.again);
    free(pass->profiles);
    free(pass->targets);
}

static void memory_free(struct memory *memory) {
    if (memory == NULL)
        return;
    ts_arena_release(&memory->arena);
    pass_release(&memory->pass);
    free(memory);
}

static void name_options(const struct ts_scan_options *options, struct ts_scan_error *error) {
    struct ts_scan_error named = *error;
    (void)scan__name_options(error->text, options->for_library, named.text, sizeof named.text);
    *error = named;
}

/* Masks the text of an error, because it may contain a secret that was found before the failure. If memory
 * for the masks runs out, the error says so. */
static void mask_error(struct scan_pass *pass, struct ts_arena *arena, struct ts_scan_error *error) {
    struct scan_masks masks = {.capacity = 0};
    struct ts_bytes text =
        TS_BYTES("out of memory; scan less at once, or raise the limit of the process (ulimit -v)");
    if (scan__masks_of(pass, 0, &masks)) {
        struct ts_bytes masked = scan__masks_apply(&masks, arena, ts_bytes_of_cstring(error->text));
        bool has_memory = !ts_bytes_equal(masked, TS_BYTES(TS_REPORT_MASK));
        text = has_memory ? masked : text;
    }
    if (text.data != (const uint8_t *)error->text)
        snprintf(error->text, sizeof error->text, "%.*s", (int)text.len, (const char *)text.data);
    scan__masks_release(&masks);
}

/* Returns true if nobody needs the findings in the report, because a scan with parts was stopped. The report
 * is then made without findings, which is fast. */
static bool is_useless(const struct scan_pass *pass) {
    return pass->options->parts != NULL && atomic_load(&pass->progress->stop);
}

/* Returns whether the options are allowed with parts: exactly one repository, a salt, no selection of a
 * change, and no option that needs secrets or all objects. */
static bool has_usual_parts(const struct ts_scan_options *options) {
    return options->target_count == 1 && options->targets[0].kind == TS_SCAN_TARGET_REPOSITORY &&
           options->extent == TS_SCAN_HISTORY && options->commit_count == 0 && options->range == NULL &&
           !options->has_since && !options->unreachable && !options->full && !options->ungated &&
           !scan__keeps_secrets(options) && options->salt.len > 0;
}

enum ts_scan_outcome ts_scan_report_make(const struct ts_scan_options *options, struct ts_report *ret_report,
                                         struct ts_scan_error *ret_error) {
    uint64_t begin_ns = ts_clock_monotonic_ns();
    ts_assert(options->parts == NULL || has_usual_parts(options));
    struct memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL)
        return scan__fail(ret_error, TS_SCAN_FAILED, "out of memory");
    struct scan_pass *pass = &memory->pass;
    struct ts_report report;
    enum ts_scan_outcome outcome = pass_init(pass, options, begin_ns)
                                       ? TS_SCAN_DONE
                                       : scan__fail(ret_error, TS_SCAN_FAILED, "out of memory");
    if (outcome == TS_SCAN_DONE)
        outcome = check_options(options, ret_error);
    if (outcome == TS_SCAN_DONE)
        outcome = check_selection(options, ret_error);
    if (outcome == TS_SCAN_DONE)
        outcome = scan_targets(pass, ret_error);
    if (is_useless(pass))
        scan__pile_cut(&pass->locations, 0);
    if (outcome == TS_SCAN_DONE && !scan__assemble(pass, &memory->arena, &report))
        outcome = scan__fail(
            ret_error, TS_SCAN_FAILED,
            "out of memory for the report; scan less at once, or raise the limit of the process (ulimit -v)");
    if (outcome != TS_SCAN_DONE) {
        name_options(options, ret_error);
        mask_error(pass, &memory->arena, ret_error);
        memory_free(memory);
        return outcome;
    }
    report.memory = memory;
    report.state_warning =
        pass->state_warning.text[0] != '\0' ? ts_scan_report_mask(&report, pass->state_warning.text) : NULL;
    report.took_ns = ts_clock_monotonic_ns() - begin_ns;
    *ret_report = report;
    return TS_SCAN_DONE;
}

void ts_scan_report_release(struct ts_report *report) {
    memory_free(report->memory);
    *report = (struct ts_report){.memory = NULL};
}

struct ts_scan_end ts_scan_report_end(const struct ts_report *report) {
    const struct memory *memory = report->memory;
    struct ts_scan_end end = memory->pass.parts_end.end;
    end.is_whole = end.is_whole && !ts_report_is_incomplete(report) && !report->is_stopped;
    return end;
}

const char *ts_scan_report_mask(const struct ts_report *report, const char *text) {
    struct memory *memory = report->memory;
    return (const char *)scan__masks_apply(&memory->pass.masks, &memory->arena, ts_bytes_of_cstring(text))
        .data;
}
