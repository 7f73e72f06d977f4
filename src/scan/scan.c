#include "scan/scan.h"

#include "look_impl.h"
#include "session.h"
#include "state.h"
#include "tree_file.h"

#include "base/assert.h"
#include "base/redact.h"
#include "git/repo.h"
#include "os/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the memory: what was found, and what each thread needs beside the visit. */
#define HITS_SHARE    8
#define FIXED_BYTES   (UINT64_C(24) << 20)
#define THREAD_BYTES  (UINT64_C(2) << 20)
#define FINDING_BYTES 1024 /* of memory for each finding that may be kept */

/* What a report lives on. */
struct memory {
    struct scan_arena arena;
    struct scan_session session;
};

/* ---- what targets share ---- */

enum ts_scan_outcome scan__fail(struct ts_scan_error *ret_error, enum ts_scan_outcome outcome,
                                const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(ret_error->text, sizeof ret_error->text, format, arguments);
    va_end(arguments);
    return outcome;
}

uint32_t scan__session_commit(struct scan_session *session, const struct scan_commit *commit) {
    size_t at = session->commits.len;
    if (!scan__pile_grow(&session->commits, sizeof *commit)) {
        session->no_memory = true;
        return TS_REPORT_NONE;
    }
    memcpy(session->commits.bytes + at, commit, sizeof *commit);
    return (uint32_t)(at / sizeof *commit);
}

void scan__session_stand(struct scan_session *session, const struct scan_stand *stand) {
    size_t at = session->stands.len;
    if (!scan__pile_grow(&session->stands, sizeof *stand))
        session->no_memory = true;
    else
        memcpy(session->stands.bytes + at, stand, sizeof *stand);
}

void scan__session_outcome(struct scan_session *session, enum scan_outcome outcome, const char *name) {
    switch (outcome) {
    case SCAN_OK:
        return;
    case SCAN_TOO_MANY:
        scan__fault(&session->faults, "%s: more than %zu matches; what comes after them is not reported",
                    name, SCAN_MATCHES_MAX);
        return;
    case SCAN_NO_MEMORY:
        scan__fault(&session->faults, "%s: out of memory; give it more, or fewer --jobs", name);
        return;
    }
    ts_unreachable("every outcome is told");
}

uint64_t scan__session_visit_memory(const struct scan_session *session, uint64_t taken) {
    uint64_t reserved =
        session->memory_bytes / HITS_SHARE + FIXED_BYTES + session->jobs * THREAD_BYTES + taken;
    uint64_t least = session->memory_bytes / 4;
    return session->memory_bytes > reserved + least ? session->memory_bytes - reserved : least;
}

bool scan__looks_init(struct scan_looks *looks, struct scan_session *session,
                      const struct scan_profile *profile) {
    struct scan_look_options options = {.profile = profile,
                                        .hits = &session->hits,
                                        .ungated = session->options->ungated,
                                        .shows_secrets = session->options->shows_secrets};
    *looks = (struct scan_looks){.items = calloc(session->jobs, sizeof *looks->items)};
    bool done = looks->items != NULL;
    for (unsigned i = 0; done && i < session->jobs; i++) {
        done = scan__look_init(&looks->items[i], &options);
        looks->count += done;
    }
    return done;
}

void scan__looks_finish(struct scan_looks *looks, struct scan_session *session,
                        struct ts_report_target *row) {
    for (unsigned i = 0; i < looks->count; i++) {
        struct ts_scan_counts counts = ts_scanner_counts(looks->items[i].scanner);
        row->bytes_looked_at += counts.bytes;
        session->limits_hit += counts.limits_hit;
        scan__look_release(&looks->items[i]);
    }
    free(looks->items);
    *looks = (struct scan_looks){.items = NULL};
}

struct scan_profile *scan__session_profile(struct scan_session *session,
                                           const struct scan_profile_source *source,
                                           struct ts_scan_error *ret_error) {
    if (session->plain != NULL && source->read == NULL)
        return session->plain;
    struct scan_profile *profile = calloc(1, sizeof *profile);
    if (profile == NULL) {
        (void)scan__fail(ret_error, TS_SCAN_FAILED, "out of memory");
        return NULL;
    }
    if (!scan__profile_init(profile, session->options, source, ret_error)) {
        free(profile);
        return NULL;
    }
    session->profiles[session->profile_count++] = profile;
    if (profile->note[0] != '\0')
        scan__note(&session->faults, "%s", profile->note);
    if (source->read == NULL)
        session->plain = profile;
    return profile;
}

/* ---- targets ---- */

static enum ts_scan_outcome with_profile(struct scan_session *session, struct scan_target *target,
                                         struct scan_tree *tree, struct ts_scan_error *ret_error) {
    struct scan_profile_source source = {.name = (const char *)target->row.name.data};
    if (session->options->config_file == NULL && !session->options->no_repo_config && tree != NULL &&
        scan__tree_has(tree, SCAN_CONFIG_NAME))
        source = (struct scan_profile_source){source.name, scan__tree_read, tree};
    target->profile = scan__session_profile(session, &source, ret_error);
    return target->profile != NULL ? TS_SCAN_DONE : TS_SCAN_BAD_CONFIG;
}

static enum ts_scan_outcome scan_repository(struct scan_session *session, struct scan_target *target,
                                            struct ts_git_repo *repo, struct ts_scan_error *ret_error) {
    struct scan_tree tree = {.folder = ts_git_repo_work_tree(repo), .repo = repo};
    target->row.kind = TS_TARGET_KIND_REPOSITORY;
    target->hash = ts_git_repo_hash(repo);
    enum ts_scan_outcome outcome = with_profile(session, target, &tree, ret_error);
    if (outcome != TS_SCAN_DONE)
        return outcome;
    switch (session->options->extent) {
    case TS_SCAN_HISTORY:
        return scan__repository(session, target, repo, ret_error);
    case TS_SCAN_STAGED:
        return scan__staged(session, target, repo, ret_error);
    case TS_SCAN_WORKING_TREE:
        if (tree.folder == NULL)
            return scan__fail(ret_error, TS_SCAN_BAD_TARGET, "a bare repository has no work tree");
        return scan__folder(session, target, tree.folder, TS_PLACE_WORKING_TREE, ret_error);
    }
    ts_unreachable("every extent is scanned");
}

/* A work tree's own file of that name stands for its repository. */
static bool is_git_file(const char *path) {
    const char *slash = strrchr(path, '/');
    return strcmp(slash != NULL ? slash + 1 : path, ".git") == 0;
}

static enum ts_scan_outcome scan_path(struct scan_session *session, struct scan_target *target,
                                      const struct ts_scan_target *given, struct ts_scan_error *ret_error) {
    char shown[300];
    struct stat status;
    const char *path = given->path;
    (void)ts_text_escape(ts_bytes_of_cstring(path), shown, sizeof shown);
    if (stat(path, &status) != 0)
        return scan__fail(ret_error, TS_SCAN_BAD_TARGET, "'%s': %s", shown, strerror(errno));
    if (!S_ISDIR(status.st_mode) && !is_git_file(path)) {
        target->row.kind = TS_TARGET_KIND_FILE;
        enum ts_scan_outcome outcome = with_profile(session, target, NULL, ret_error);
        return outcome == TS_SCAN_DONE ? scan__file(session, target, path, ret_error) : outcome;
    }
    struct ts_git_open_options open = {.search_upward =
                                           session->options->search_upward && given->git_dir == NULL,
                                       .work_tree = given->git_dir != NULL ? path : NULL,
                                       .faults = scan__faults_sink(&session->faults)};
    struct ts_git_repo *repo = NULL;
    struct ts_git_fault fault;
    enum ts_git_error error =
        ts_git_repo_open(given->git_dir != NULL ? given->git_dir : path, &open, &repo, &fault);
    if (error == TS_GIT_NOT_A_REPOSITORY && given->git_dir != NULL)
        return scan__fail(ret_error, TS_SCAN_BAD_TARGET, "'%s' is not a git repository",
                          ts_text_escape(ts_bytes_of_cstring(given->git_dir), shown, sizeof shown));
    if (error == TS_GIT_NOT_A_REPOSITORY)
        return scan__fail(ret_error, TS_SCAN_BAD_TARGET,
                          "'%s' is not a git repository; --dir scans the files of a folder", shown);
    if (error != TS_GIT_OK) {
        char line[400];
        return scan__fail(ret_error, TS_SCAN_BAD_TARGET, "%s",
                          ts_git_fault_describe(&fault, line, sizeof line));
    }
    enum ts_scan_outcome outcome = scan_repository(session, target, repo, ret_error);
    ts_git_repo_free(repo);
    return outcome;
}

static enum ts_scan_outcome scan_folder(struct scan_session *session, struct scan_target *target,
                                        const char *path, struct ts_scan_error *ret_error) {
    struct scan_tree tree = {.folder = path};
    target->row.kind = TS_TARGET_KIND_DIRECTORY;
    enum ts_scan_outcome outcome = with_profile(session, target, &tree, ret_error);
    return outcome == TS_SCAN_DONE ? scan__folder(session, target, path, TS_PLACE_FILE, ret_error) : outcome;
}

static enum ts_scan_outcome scan_target(struct scan_session *session, const struct ts_scan_target *given,
                                        struct ts_scan_error *ret_error) {
    struct scan_target *target = &session->targets[session->target_count];
    session->faults.target = (uint32_t)session->target_count++;
    target->faults_before = session->faults.total;
    target->row.name = ts_bytes_of_cstring(given->path);
    enum ts_scan_outcome outcome = TS_SCAN_DONE;
    switch (given->kind) {
    case TS_SCAN_TARGET_ANY:
        return scan_path(session, target, given, ret_error);
    case TS_SCAN_TARGET_FOLDER:
        return scan_folder(session, target, given->path, ret_error);
    case TS_SCAN_TARGET_INPUT:
        target->row.kind = TS_TARGET_KIND_INPUT;
        outcome = with_profile(session, target, NULL, ret_error);
        return outcome == TS_SCAN_DONE ? scan__input(session, target, STDIN_FILENO, ret_error) : outcome;
    }
    ts_unreachable("every kind of target is scanned");
}

static enum ts_target_outcome outcome_of(enum ts_scan_outcome outcome) {
    switch (outcome) {
    case TS_SCAN_DONE:
        return TS_TARGET_SCANNED;
    case TS_SCAN_BAD_TARGET:
    case TS_SCAN_BAD_CONFIG:
        return TS_TARGET_REFUSED;
    case TS_SCAN_FAILED:
        return TS_TARGET_FAILED;
    }
    ts_unreachable("every outcome is one of a target");
}

/* One after the other, whatever happens to another: DONE unless none of them could be scanned, and then what was wrong with
 * the first. */
static enum ts_scan_outcome scan_targets(struct scan_session *session, struct ts_scan_error *ret_error) {
    const struct ts_scan_options *options = session->options;
    enum ts_scan_outcome first = TS_SCAN_DONE;
    size_t scanned = 0;
    for (size_t i = 0; i < options->target_count && !scan__is_stopped(session); i++) {
        struct ts_scan_error error;
        enum ts_scan_outcome outcome = scan_target(session, &options->targets[i], &error);
        struct scan_target *target = &session->targets[session->target_count - 1];
        target->row.outcome = outcome_of(outcome);
        scanned += outcome == TS_SCAN_DONE;
        if (outcome == TS_SCAN_DONE)
            continue;
        target->row = (struct ts_report_target){
            .name = target->row.name, .kind = target->row.kind, .outcome = target->row.outcome};
        scan__fault(&session->faults, "%s", error.text);
        if (first == TS_SCAN_DONE)
            *ret_error = error;
        first = first == TS_SCAN_DONE ? outcome : first;
    }
    return scanned > 0 ? TS_SCAN_DONE : first;
}

/* ---- all of it ---- */

/* What of the selection only a repository has; NULL when there is none. */
static const char *find_selection(const struct ts_scan_options *options) {
    switch (options->extent) {
    case TS_SCAN_STAGED:
        return "only one has something staged";
    case TS_SCAN_WORKING_TREE:
        return "only one has a --working-tree";
    case TS_SCAN_HISTORY:
        break;
    }
    return options->ref_count > 0      ? "--ref selects from the history of one"
           : options->branch_count > 0 ? "--branch selects from the history of one"
           : options->commit_count > 0 ? "--commit selects from the history of one"
           : options->has_since        ? "--since selects from the history of one"
           : options->unreachable      ? "--unreachable selects from the history of one"
                                       : NULL;
}

/* Before anything is scanned, which may take long: a selection that a target cannot follow would be ignored. */
static enum ts_scan_outcome check_selection(const struct ts_scan_options *options,
                                            struct ts_scan_error *ret_error) {
    const char *selection = find_selection(options);
    for (size_t i = 0; selection != NULL && i < options->target_count; i++) {
        const struct ts_scan_target *target = &options->targets[i];
        struct stat status;
        char shown[300];
        if (target->kind == TS_SCAN_TARGET_INPUT)
            return scan__fail(ret_error, TS_SCAN_BAD_TARGET,
                              "standard input ('-') is not a repository, and %s", selection);
        if (target->kind == TS_SCAN_TARGET_ANY && stat(target->path, &status) == 0 &&
            !S_ISDIR(status.st_mode) && !is_git_file(target->path))
            return scan__fail(ret_error, TS_SCAN_BAD_TARGET, "'%s' is a file, and not a repository, and %s",
                              ts_text_escape(ts_bytes_of_cstring(target->path), shown, sizeof shown),
                              selection);
    }
    return TS_SCAN_DONE;
}

static bool session_init(struct scan_session *session, const struct ts_scan_options *options) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    const char *dir = options->spill_dir != NULL ? options->spill_dir : getenv("TMPDIR");
    *session = (struct scan_session){.options = options};
    session->jobs = options->jobs != 0 ? options->jobs : online > 0 ? (unsigned)online : 1;
    session->jobs = session->jobs > TS_SCAN_THREADS_MAX ? TS_SCAN_THREADS_MAX : session->jobs;
    session->memory_bytes = options->memory_bytes != 0 ? options->memory_bytes : TS_SCAN_MEMORY_DEFAULT;
    if (session->memory_bytes < TS_SCAN_MEMORY_MIN)
        session->memory_bytes = TS_SCAN_MEMORY_MIN;
    session->spill_dir = dir != NULL && dir[0] != '\0' ? dir : "/tmp";
    session->progress = options->progress != NULL ? options->progress : &session->own_progress;
    size_t held = (size_t)(session->memory_bytes / HITS_SHARE);
    scan__faults_init(&session->faults);
    scan__pile_init(&session->stands, held / 4, session->spill_dir);
    scan__pile_init(&session->commits, held / 8, session->spill_dir);
    struct scan_hits_options hits = {.held_max = held / 2,
                                     .findings_max = (size_t)(session->memory_bytes / FINDING_BYTES),
                                     .spill_dir = session->spill_dir};
    session->targets = calloc(options->target_count + 1, sizeof *session->targets);
    session->profiles = calloc(options->target_count + 1, sizeof(void *)); /* one for each target at most */
    return scan__hits_init(&session->hits, &hits) && session->targets != NULL && session->profiles != NULL;
}

static void session_release(struct scan_session *session) {
    scan__hits_release(&session->hits);
    scan__faults_release(&session->faults);
    scan__pile_release(&session->stands);
    scan__pile_release(&session->commits);
    for (size_t i = 0; i < session->profile_count; i++) {
        scan__profile_release(session->profiles[i]);
        free(session->profiles[i]);
    }
    free(session->old_ids);
    free(session->profiles);
    free(session->targets);
}

static void memory_free(struct memory *memory) {
    if (memory == NULL)
        return;
    scan__arena_release(&memory->arena);
    session_release(&memory->session);
    free(memory);
}

enum ts_scan_outcome ts_scan_run(const struct ts_scan_options *options, struct ts_report *ret_report,
                                 struct ts_scan_error *ret_error) {
    uint64_t begin_ns = ts_clock_monotonic_ns();
    struct memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL)
        return scan__fail(ret_error, TS_SCAN_FAILED, "out of memory");
    struct scan_session *session = &memory->session;
    struct ts_report report;
    enum ts_scan_outcome outcome = session_init(session, options)
                                       ? TS_SCAN_DONE
                                       : scan__fail(ret_error, TS_SCAN_FAILED, "out of memory");
    if (outcome == TS_SCAN_DONE)
        outcome = check_selection(options, ret_error);
    if (outcome == TS_SCAN_DONE)
        outcome = scan_targets(session, ret_error);
    scan__state_close(session->state);
    session->state = NULL;
    if (outcome == TS_SCAN_DONE && !scan__assemble(session, &memory->arena, &report))
        outcome = scan__fail(ret_error, TS_SCAN_FAILED, "out of memory for the report; select less");
    if (outcome != TS_SCAN_DONE) {
        memory_free(memory);
        return outcome;
    }
    report.memory = memory;
    report.took_ns = ts_clock_monotonic_ns() - begin_ns;
    *ret_report = report;
    return TS_SCAN_DONE;
}

void ts_scan_release(struct ts_report *report) {
    memory_free(report->memory);
    *report = (struct ts_report){.memory = NULL};
}
