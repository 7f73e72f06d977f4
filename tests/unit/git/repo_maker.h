/*
 * Repositories that the real git makes in the test's own folder, and git's output about them.
 */
#ifndef TS_TESTS_UNIT_GIT_REPO_MAKER_H
#define TS_TESTS_UNIT_GIT_REPO_MAKER_H

#include "base/hash64.h"
#include "base/prng.h"
#include "git/repo.h"
#include "git/visit.h"
#include "support/cmocka.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Makes a fresh folder, in which the test runs. git sees no configuration of the user or the system. */
static inline int maker_setup(void **state) {
    (void)state;
    static char path[512];
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/git-test-XXXXXX", tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(path));
    assert_int_equal(chdir(path), 0);
    setenv("HOME", path, 1);
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    setenv("GIT_AUTHOR_NAME", "A U Thor", 1);
    setenv("GIT_AUTHOR_EMAIL", "author@example.com", 1);
    setenv("GIT_COMMITTER_NAME", "C O Mitter", 1);
    setenv("GIT_COMMITTER_EMAIL", "committer@example.com", 1);
    setenv("GIT_AUTHOR_DATE", "1700000000 +0130", 1);
    setenv("GIT_COMMITTER_DATE", "1700000100 -0500", 1);
    setenv("GIT_CONFIG_COUNT", "1", 1);
    setenv("GIT_CONFIG_KEY_0", "init.defaultBranch", 1);
    setenv("GIT_CONFIG_VALUE_0", "main", 1);
    unsetenv("GIT_DIR");
    unsetenv("GIT_WORK_TREE");
    unsetenv("GIT_INDEX_FILE");
    return 0;
}

static inline int maker_teardown(void **state) {
    (void)state;
    const char *home = getenv("HOME");
    char command[600];
    if (home == NULL || strstr(home, "/git-test-") == NULL)
        return -1;
    assert_int_equal(chdir("/"), 0);
    snprintf(command, sizeof command, "chmod -R u+w '%s' && rm -rf '%s'", home, home);
    return system(command); /* NOLINT(cert-env33-c): a test */
}

/* Runs a shell command in the current folder. The command must succeed. */
__attribute__((format(printf, 1, 2))) static inline void sh(const char *format, ...) {
    char command[4096];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    assert_true(len > 0 && (size_t)len < sizeof command);
    int status = system(command); /* NOLINT(cert-env33-c): a test */
    if (status != 0)
        fail_msg("failed: %s", command);
}

/* Returns the output of a command, with a terminating zero. The caller frees it. */
__attribute__((format(printf, 2, 3))) static inline char *output_of(size_t *ret_len, const char *format,
                                                                    ...) {
    char command[4096];
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    assert_true(written > 0 && (size_t)written < sizeof command);
    FILE *pipe_ = popen(command, "r"); /* NOLINT(cert-env33-c): a test */
    assert_non_null(pipe_);
    size_t len = 0;
    size_t capacity = 1 << 16;
    char *text = malloc(capacity);
    assert_non_null(text);
    size_t got;
    while ((got = fread(text + len, 1, capacity - len - 1, pipe_)) > 0) {
        len += got;
        if (capacity - len < 4096) {
            capacity *= 2;
            text = realloc(text, capacity);
            assert_non_null(text);
        }
    }
    if (pclose(pipe_) != 0)
        fail_msg("failed: %s", command);
    text[len] = '\0';
    if (ret_len != NULL)
        *ret_len = len;
    return text;
}

/* ---- a history by git fast-import ---- */

#define MAKER_FILES 12

struct maker {
    FILE *out;
    struct ts_prng prng;
    char *files[MAKER_FILES]; /* content of each file, or NULL for a deleted file */
    uint64_t time_s;
    unsigned mark;
};

static inline const char *maker_path(unsigned file) {
    static const char *const paths[MAKER_FILES] = {
        "README",       "src/main.c",  "src/util.c",       "src/deep/er/one.txt", "src/deep/er/two.txt",
        "src/deep.txt", "docs/a b.md", "docs/\xc3\xa9.md", "docs/list",           "zeta",
        "src/deep-er",  "docs/copy"};
    return paths[file];
}

static inline char *maker_text(struct ts_prng *prng, size_t lines) {
    char *text = malloc(lines * 40 + 1);
    assert_non_null(text);
    size_t len = 0;
    for (size_t i = 0; i < lines; i++)
        len += (size_t)snprintf(text + len, 40, "line %08x of some %04x text\n",
                                (unsigned)ts_prng_below(prng, 0xffffffff),
                                (unsigned)ts_prng_below(prng, 0xffff));
    return text;
}

/* Returns the text with some bytes in the middle replaced by lines, which makes small deltas. */
static inline char *maker_edit(struct ts_prng *prng, const char *old) {
    size_t old_len = strlen(old);
    size_t from = old_len == 0 ? 0 : (size_t)ts_prng_below(prng, old_len);
    size_t cut = (size_t)ts_prng_below(prng, 200);
    cut = from + cut > old_len ? old_len - from : cut;
    char *insert = maker_text(prng, 1 + (size_t)ts_prng_below(prng, 6));
    char *text = malloc(old_len + strlen(insert) + 1);
    assert_non_null(text);
    snprintf(text, old_len + strlen(insert) + 1, "%.*s%s%s", (int)from, old, insert, old + from + cut);
    free(insert);
    return text;
}

static inline void maker_commit(struct maker *m, const char *branch, unsigned from, unsigned merge) {
    m->time_s += ts_prng_below(&m->prng, 3); /* two commits may have the same time */
    fprintf(m->out, "commit refs/heads/%s\nmark :%u\n", branch, ++m->mark);
    fprintf(m->out, "author A <a@x> %llu +0000\n", (unsigned long long)m->time_s);
    fprintf(m->out, "committer C <c@x> %llu +0000\n", (unsigned long long)m->time_s);
    char message[64];
    int len = snprintf(message, sizeof message, "commit %u\n", m->mark);
    fprintf(m->out, "data %d\n%s", len, message);
    if (from != 0)
        fprintf(m->out, "from :%u\n", from);
    if (merge != 0)
        fprintf(m->out, "merge :%u\n", merge);
}

static inline void maker_put(struct maker *m, unsigned file, const char *text) {
    fprintf(m->out, "M 100644 inline \"%s\"\ndata %zu\n%s\n", maker_path(file), strlen(text), text);
}

/* Writes some changes, including copies, deletions and files that are restored unchanged. */
static inline void maker_change(struct maker *m) {
    unsigned changes = 1 + (unsigned)ts_prng_below(&m->prng, 3);
    for (unsigned i = 0; i < changes; i++) {
        unsigned file = (unsigned)ts_prng_below(&m->prng, MAKER_FILES);
        unsigned other = (unsigned)ts_prng_below(&m->prng, MAKER_FILES);
        char *text;
        if (m->files[file] != NULL && ts_prng_chance(&m->prng, (struct ts_ratio){1, 12})) {
            fprintf(m->out, "D \"%s\"\n", maker_path(file));
            free(m->files[file]);
            m->files[file] = NULL;
            continue;
        }
        if (m->files[other] != NULL && ts_prng_chance(&m->prng, (struct ts_ratio){1, 6}))
            text = strdup(m->files[other]);
        else if (m->files[file] != NULL)
            text = maker_edit(&m->prng, m->files[file]);
        else
            text = maker_text(&m->prng, 20 + (size_t)ts_prng_below(&m->prng, 200));
        free(m->files[file]);
        m->files[file] = text;
        maker_put(m, file, text);
    }
}

/* Writes a branch main, with side branches that are merged again, and a tag. The folder must be a
 * repository. */
static inline void maker_history(const char *folder, unsigned commits, uint64_t seed) {
    char command[600];
    snprintf(command, sizeof command, "git -C '%s' fast-import --quiet --done", folder);
    struct maker m = {.out = popen(command, "w"), .time_s = 1600000000}; /* NOLINT(cert-env33-c): a test */
    assert_non_null(m.out);
    ts_prng_init(&m.prng, seed);
    unsigned main_mark = 0;
    unsigned side_mark = 0;
    for (unsigned i = 0; i < commits; i++) {
        bool on_side = i > 3 && ts_prng_chance(&m.prng, (struct ts_ratio){1, 4});
        if (on_side) {
            maker_commit(&m, "side", side_mark != 0 ? side_mark : main_mark, 0);
            side_mark = m.mark;
        } else {
            bool merges = side_mark != 0 && ts_prng_chance(&m.prng, (struct ts_ratio){1, 3});
            maker_commit(&m, "main", main_mark, merges ? side_mark : 0);
            main_mark = m.mark;
            side_mark = merges ? 0 : side_mark;
        }
        maker_change(&m);
    }
    fprintf(m.out, "tag v1\nfrom :%u\ntagger T <t@x> 1600000500 +0000\ndata 9\nthe notes\n", main_mark);
    fprintf(m.out, "done\n");
    assert_int_equal(pclose(m.out), 0);
    for (unsigned i = 0; i < MAKER_FILES; i++)
        free(m.files[i]);
}

/* ---- faults ---- */

struct fault_list {
    size_t count;
    struct ts_git_fault items[4096];
};

static inline void fault_take(void *ctx, const struct ts_git_fault *fault) {
    struct fault_list *list = ctx;
    if (list->count < sizeof list->items / sizeof list->items[0])
        list->items[list->count] = *fault;
    list->count++;
}

static inline bool fault_names(const struct fault_list *list, const struct ts_git_oid *oid) {
    for (size_t i = 0; i < list->count && i < sizeof list->items / sizeof list->items[0]; i++)
        if (list->items[i].has_oid && ts_git_oid_equal(&list->items[i].oid, oid))
            return true;
    return false;
}

static inline struct ts_git_repo *open_repo(const char *path) {
    struct ts_git_repo *repo = NULL;
    struct ts_git_fault fault;
    char text[512];
    if (ts_git_repo_open(path, NULL, &repo, &fault) != TS_GIT_OK)
        fail_msg("%s", ts_git_fault_describe(&fault, text, sizeof text));
    return repo;
}

#endif
