/*
 * Truncates, at each byte, the small files that say where a repository's history is. Everything that git
 * still reaches must be reached, or there must be a fault.
 */
#include "git/walk.h"

#include "objects.h"

struct text_file {
    const char *name;
    const char *make; /* shell commands that make the repository */
    const char *file;
    const char *at; /* folder of the repository to read */
    /* Git refuses bad values even of settings that reading does not need. If git refuses the file, everything
     * that git reached before must be reached. */
    bool is_config;
};

/* Returns the ids that git reaches, or NULL if git fails. The caller frees the text. */
static char *reached_by_git(const char *folder) {
    char command[256];
    snprintf(command, sizeof command, "git -C %s rev-list --objects --all --no-object-names 2>err", folder);
    FILE *out = popen(command, "r"); /* NOLINT(cert-env33-c): a test */
    assert_non_null(out);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    size_t len = fread(text, 1, (1 << 16) - 1, out);
    text[len] = '\0';
    if (pclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Returns all objects that refs reach. Returns NULL, without a fault, if opening fails. */
static struct ts_git_set *reach_all(const char *folder, struct fault_list *faults,
                                    struct ts_git_repo **ret_repo, struct ts_git_graph **ret_graph) {
    struct ts_git_fault_sink sink = {fault_take, faults};
    struct ts_git_open_options open = {.faults = sink};
    struct ts_git_graph_options options = {.threads = 1, .faults = sink};
    struct ts_git_selection all = {.all_refs = true};
    struct ts_git_set *set = NULL;
    if (ts_git_repo_open(folder, &open, ret_repo, NULL) != TS_GIT_OK)
        return NULL;
    assert_int_equal(ts_git_graph_new(*ret_repo, &options, ret_graph, NULL), TS_GIT_OK);
    assert_int_equal(ts_git_graph_reach(*ret_graph, &all, &set, NULL, NULL), TS_GIT_OK);
    return set;
}

/* Returns false if git reaches an object that reach_all does not reach, and there is no fault. If git fails,
 * `sound` has the ids that must be reached. Without `sound`, git must not fail. */
static bool is_honest(const char *folder, const char *sound, char *why, size_t size) {
    struct fault_list *faults = calloc(1, sizeof *faults);
    struct ts_git_repo *repo = NULL;
    struct ts_git_graph *graph = NULL;
    assert_non_null(faults);
    struct ts_git_set *set = reach_all(folder, faults, &repo, &graph);
    bool is = set == NULL || faults->count > 0;
    if (!is) {
        char *text = reached_by_git(folder);
        if (text == NULL && sound != NULL)
            text = strdup(sound);
        char *rest = text;
        is = text != NULL;
        snprintf(why, size, "git fails");
        for (char *line; is && (line = strsep(&rest, "\n")) != NULL && line[0] != '\0';) {
            struct ts_git_oid oid;
            assert_true(ts_git_oid_parse(ts_git_repo_hash(repo), ts_bytes_of_cstring(line), &oid));
            is = ts_git_set_has(set, &oid);
            snprintf(why, size, "%s is not reached", line);
        }
        free(text);
    }
    ts_git_set_free(set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
    free(faults);
    return is;
}

static void put_file(const char *path, const char *bytes, size_t len) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

/* Makes two branches and an annotated tag. Each of them reaches an object that the others do not reach. */
#define HISTORY                                                                                                                                         \
    "git init -q r && cd r && git config advice.graftFileDeprecated false && for i in 1 2 3; do echo $i >f && git add f && git commit -qm $i; done && " \
    "git checkout -q --orphan side && git commit -qm side && git tag -am t t main~1 && git checkout -q main && cd .. && "

static const struct text_file files[] = {
    {"HEAD", HISTORY "true", "r/.git/HEAD", "r", false},
    {"a detached HEAD", HISTORY "git -C r checkout -q --detach side && git -C r branch -qD side",
     "r/.git/HEAD", "r", false},
    {"a loose ref", HISTORY "true", "r/.git/refs/heads/side", "r", false},
    {"a symbolic ref", HISTORY "git -C r symbolic-ref refs/heads/link refs/heads/side",
     "r/.git/refs/heads/link", "r", false},
    {"packed-refs", HISTORY "git -C r pack-refs --all && git -C r checkout -q --orphan new",
     "r/.git/packed-refs", "r", false},
    {"alternates", HISTORY "git clone -q --bare --shared r b", "b/objects/info/alternates", "b", false},
    {"shallow", HISTORY "git clone -q --bare --no-single-branch --depth 1 \"file://$PWD/r\" b", "b/shallow",
     "b", false},
    {"config", HISTORY "git -C r config extensions.partialClone none", "r/.git/config", "r", true},
    {"config of SHA-256",
     "git init -q --object-format=sha256 r && cd r && echo 1 >f && git add f && git commit -qm 1 && git pack-refs --all",
     "r/.git/config", "r", true},
    {"grafts",
     HISTORY
     "{ git -C r rev-parse main~2 side; echo; } | tr '\\n' ' ' >g && { tr -d '\\n' <g; echo; echo '# and'; git -C r "
     "rev-parse main; } >r/.git/info/grafts && git -C r branch -qD side",
     "r/.git/info/grafts", "r", false},
    {"refs/replace",
     HISTORY "git -C r replace main~1 side && git -C r branch -qD side && mv r/.git/refs/replace/* x && cp x "
             "r/.git/refs/replace/$(git -C r rev-parse main~1)",
     "r/.git/refs/replace/*", "r", false},
    {"commondir", HISTORY "git -C r worktree add -q --detach ../w side", "r/.git/worktrees/w/commondir", "w",
     false},
    {"gitdir", HISTORY "git -C r worktree add -q --detach ../w side && git -C w commit -q --allow-empty -m w",
     "r/.git/worktrees/w/gitdir", "r", false},
    {".git", HISTORY "git -C r worktree add -q --detach ../w side && git -C w commit -q --allow-empty -m w",
     "w/.git", "w", false},
    {"HEAD of a work tree",
     HISTORY "git -C r worktree add -q --detach ../w side && git -C w commit -q --allow-empty -m w",
     "r/.git/worktrees/w/HEAD", "r", false},
};

static void files_that_are_cut_off_are_faults_or_read_as_git_reads_them(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const struct text_file *f = &files[i];
        sh("rm -rf r b w && %s", f->make);
        size_t len;
        char why[200];
        char *text = output_of(&len, "cat %s", f->file);
        char *sound = f->is_config ? reached_by_git(f->at) : NULL;
        sh("chmod u+w %s", f->file);
        assert_true(len > 0);
        for (size_t cut = 0; cut <= len; cut++) {
            put_file(f->file, text, cut);
            if (!is_honest(f->at, sound, why, sizeof why))
                fail_msg("%s, %zu of %zu bytes: %s", f->name, cut, len, why);
        }
        free(text);
        free(sound);
    }
}

/* ---- lines ---- */

/* Names and ids in these files are literal. Git refuses each file, or ignores a part of it. */
static void lines_that_git_does_not_write_are_faults(void **state) {
    (void)state;
    static const struct {
        const char *file;
        const char *format; /* %1$s is the id of main */
    } cases[] = {
        {"packed-refs", "# pack-refs with: peeled fully-peeled sorted "},
        {"packed-refs", "# pack-refs wit\n%1$s refs/heads/a\n"},
        {"packed-refs", "%1$s refs/heads/a\n# pack-refs with: sorted \n"},
        {"packed-refs", "%1$s refs/heads/a\n\n%1$s refs/heads/b\n"},
        {"packed-refs", "%1$s refs/heads/a\n^%1$s"},
        {"packed-refs", "%1$s refs/heads/a\n^%1$s0\n"},
        {"packed-refs", "^%1$s\n%1$s refs/heads/a\n"},
        {"packed-refs", "%1$s refs/heads/a\n^%1$s\n^%1$s\n"},
        {"packed-refs", "%1$s\trefs/heads/a\n"},
        {"packed-refs", "%1$s \n"},
        {"packed-refs", "%1$s refs/heads/a b\n"},
        {"packed-refs", "%1$s refs/heads/a..b\n"},
        {"packed-refs", "%1$s refs/heads/a.lock\n"},
        {"packed-refs", "# pack-refs with: sorted \n%1$s refs/heads/b\n%1$s refs/heads/a\n"},
        {"packed-refs", "# pack-refs with: sorted \n%1$s refs/heads/a\n%1$s refs/heads/a\n"},
        {"refs/heads/x", "%1$s0\n"},
        {"refs/heads/x", "%1$s,\n"},
        {"refs/heads/x", " %1$s\n"},
        {"refs/heads/x", "ref: refs/heads/ma in\n"},
        {"refs/heads/x", "ref: refs/heads/main\nref: refs/heads/main\n"},
        {"refs/heads/x", "ref: refs/heads/main~1\n"},
        {"refs/heads/x", ""},
        {"refs/heads/x", "ref: refs/heads/mai"},
        {"refs/heads/x", "ref: refs/heads/main"},
        {"HEAD", "ref: refs/heads/mai"},
        {"HEAD", "ref: heads/main\n"},
        {"HEAD", "ref: refs\n"},
        {"HEAD", "%1$s.\n"},
        {"objects/info/alternates", "../../../sound/.git/objects\r\n"},
        {"objects/info/alternates", "../../../sound/.git/objec"},
        {"shallow", "%1$s\n\n"},
        {"shallow", "%1$s %1$s\n"},
    };
    sh(HISTORY "mv r sound");
    char *id = output_of(NULL, "git -C sound rev-parse main");
    id[strcspn(id, "\n")] = '\0';
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[64];
        char text[400];
        struct fault_list *faults = calloc(1, sizeof *faults);
        struct ts_git_repo *repo = NULL;
        struct ts_git_graph *graph = NULL;
        assert_non_null(faults);
        size_t len = 0;
        for (const char *at = cases[i].format; *at != '\0'; at++)
            if (strncmp(at, "%1$s", 4) == 0) {
                memcpy(text + len, id, 40);
                len += 40;
                at += 3;
            } else {
                text[len++] = *at;
            }
        sh("rm -rf r && cp -r sound r");
        snprintf(path, sizeof path, "r/.git/%s", cases[i].file);
        put_file(path, text, len);
        ts_git_set_free(reach_all("r", faults, &repo, &graph));
        if (faults->count == 0)
            fail_msg("no fault: %s: %s", cases[i].file, cases[i].format);
        ts_git_graph_free(graph);
        ts_git_repo_free(repo);
        free(faults);
    }
    free(id);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_that_are_cut_off_are_faults_or_read_as_git_reads_them,
                                        maker_setup, maker_teardown),
        cmocka_unit_test_setup_teardown(lines_that_git_does_not_write_are_faults, maker_setup,
                                        maker_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
