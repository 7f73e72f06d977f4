/* Tests grafted parents and replaced objects. Everything that git reaches with or without them must be
 * reached. */
#include "git/walk.h"

#include "objects.h"

#define COMMIT(name) "echo " name " >" name " && git add . && git commit -qm " name " && git tag " name " && "

/* Makes a branch main with the commits a, b and c. The commits x and y are on another branch, which is
 * deleted before the commands `end` run. */
static void make_history(const char *end) {
    sh("rm -rf r && git init -q r && cd r && git config advice.graftFileDeprecated false && " COMMIT("a")
           COMMIT("b") COMMIT("c") "git checkout -q --orphan other && git rm -rfq . && " COMMIT("x") COMMIT(
               "y") "git checkout -q main && git branch -qD other && %s && git tag -d a b c x y >../out",
       end);
}

static struct ts_git_set *reach(struct ts_git_graph *graph, struct ts_git_repo *repo, const char *ref) {
    struct ts_git_set *set = NULL;
    struct ts_git_oid tip;
    struct ts_git_selection selection = {.all_refs = ref == NULL, .from = &tip, .from_count = ref != NULL};
    if (ref != NULL)
        assert_int_equal(ts_git_repo_resolve(repo, ref, &tip, NULL), TS_GIT_OK);
    assert_int_equal(ts_git_graph_reach(graph, &selection, &set, NULL, NULL), TS_GIT_OK);
    return set;
}

static void assert_reached(const struct ts_git_set *set, const char *command) {
    char *text = output_of(NULL, "%s", command);
    char *rest = text;
    size_t count = 0;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0'; count++) {
        struct ts_git_oid oid;
        assert_true(ts_git_oid_parse(TS_GIT_SHA1, ts_bytes_of_cstring(line), &oid));
        if (!ts_git_set_has(set, &oid))
            fail_msg("%s is not reached: %s", line, command);
    }
    assert_true(count > 0);
    free(text);
}

/* Makes a history. Everything that git reaches, with or without replacements, must be reached: from all refs,
 * and from main alone. */
static void check_union(const char *end) {
    struct fault_list *faults = calloc(1, sizeof *faults);
    assert_non_null(faults);
    make_history(end);
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_graph_options options = {.threads = 2, .faults = {fault_take, faults}};
    struct ts_git_graph *graph = NULL;
    assert_int_equal(ts_git_graph_new(repo, &options, &graph, NULL), TS_GIT_OK);
    struct ts_git_set *all = reach(graph, repo, NULL);
    struct ts_git_set *main_ = reach(graph, repo, "main");
    assert_reached(all, "git -C r rev-list --objects --all --no-object-names 2>err");
    assert_reached(main_, "git -C r rev-list --objects main --no-object-names 2>err");
    assert_reached(
        all,
        "cd r && GIT_GRAFT_FILE=none git --no-replace-objects rev-list --objects --all --no-object-names");
    assert_reached(
        main_,
        "cd r && GIT_GRAFT_FILE=none git --no-replace-objects rev-list --objects main --no-object-names");
    assert_int_equal(faults->count, 0);
    ts_git_set_free(all);
    ts_git_set_free(main_);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
    free(faults);
}

static void what_git_shows_and_what_is_kept_are_both_reached(void **state) {
    (void)state;
    check_union("true");
    /* parents that are added, exchanged, and removed */
    check_union("{ echo '# join'; echo $(git rev-parse a y); } >.git/info/grafts");
    check_union("echo $(git rev-parse c x a) >.git/info/grafts");
    check_union("echo $(git rev-parse b) >.git/info/grafts");
    check_union("{ echo $(git rev-parse b y); echo $(git rev-parse y a); } >.git/info/grafts");
    /* a commit, a tree and a blob, and a chain of two replacements */
    check_union("git replace b y");
    check_union("git replace a^{tree} y^{tree}");
    check_union("git replace a:a y:y");
    check_union("git replace c x && git replace x y");
    check_union("git replace --graft a y");
    check_union(
        "git replace c x && echo $(git rev-parse x a) >.git/info/grafts && git pack-refs --all && git gc -q");
}

#define IN_A_ROW(numbers)                                                                                    \
    "c=$(git rev-parse b) && mkdir -p .git/refs/replace && for i in " numbers "; do "                        \
    "n=$(git commit-tree -m $i b^{tree}) && echo $n >.git/refs/replace/$c && c=$n; done"

/* Tests cycles of replacements, chains that are too long, and replacements by missing objects. */
static void replacements_that_go_round_or_nowhere_end(void **state) {
    (void)state;
    static const struct {
        const char *maker;
        enum ts_git_error error; /* error of the first fault; OK: there is no fault */
    } cases[] = {
        {"b=$(git rev-parse b) x=$(git rev-parse x) && mkdir -p .git/refs/replace && echo $x >.git/refs/replace/$b && "
         "echo $b >.git/refs/replace/$x",
         TS_GIT_REPLACED},
        {"t=$(git rev-parse b^{tree}) && mkdir -p .git/refs/replace && echo $t >.git/refs/replace/$t",
         TS_GIT_REPLACED},
        {IN_A_ROW("1 2 3 4"), TS_GIT_OK},
        {IN_A_ROW("1 2 3 4 5"), TS_GIT_REPLACED},
        {"b=$(git rev-parse b) && mkdir -p .git/refs/replace && echo 1234567890123456789012345678901234567890 "
         ">.git/refs/replace/$b",
         TS_GIT_MISSING},
        {"git update-ref refs/replace/noid main", TS_GIT_BAD_REF},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fault_list *faults = calloc(1, sizeof *faults);
        assert_non_null(faults);
        make_history(cases[i].maker);
        struct ts_git_repo *repo = open_repo("r");
        struct ts_git_graph_options options = {.faults = {fault_take, faults}};
        struct ts_git_graph *graph = NULL;
        struct ts_git_selection selection = {.all_refs = true};
        struct ts_git_occurrences occurrences;
        assert_int_equal(ts_git_graph_new(repo, &options, &graph, NULL), TS_GIT_OK);
        struct ts_git_set *set = reach(graph, repo, NULL);
        assert_int_equal(ts_git_graph_attribute(graph, &selection, set, 0, &occurrences, NULL), TS_GIT_OK);
        assert_true(occurrences.count >= 3);
        assert_int_equal(faults->count > 0 ? faults->items[0].error : TS_GIT_OK, cases[i].error);
        ts_git_occurrences_release(&occurrences);
        ts_git_set_free(set);
        ts_git_graph_free(graph);
        ts_git_repo_free(repo);
        free(faults);
    }
}

static void graft_lines_that_are_not_valid_are_faults(void **state) {
    (void)state;
    static const char *const lines[] = {"$a 123", "$a,$y", "$a  $y", "x$a", "$a $y $(echo $y | cut -c1-39)"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct fault_list *faults = calloc(1, sizeof *faults);
        struct ts_git_repo *repo = NULL;
        char command[256];
        assert_non_null(faults);
        snprintf(command, sizeof command,
                 "a=$(git rev-parse a) y=$(git rev-parse y) && echo \"%s\" >.git/info/grafts", lines[i]);
        make_history(command);
        struct ts_git_open_options open = {.faults = {fault_take, faults}};
        assert_int_equal(ts_git_repo_open("r", &open, &repo, NULL), TS_GIT_OK);
        assert_int_equal(faults->count, 1);
        assert_int_equal(faults->items[0].error, TS_GIT_BAD_LINE);
        ts_git_repo_free(repo);
        free(faults);
    }
}

/* Git assumes that grafts and 'shallow' name commits, and that a replacement has the type of its object. */
static void what_grafts_shallow_and_replace_refs_name_has_its_type(void **state) {
    (void)state;
    static const char *const lines[] = {"$t >.git/info/grafts",     "$t $a >.git/info/grafts",
                                        "$a $t >.git/info/grafts",  "$t >.git/shallow",
                                        "$t >.git/refs/replace/$a", "$a >.git/refs/replace/$t"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct fault_list *faults = calloc(1, sizeof *faults);
        struct ts_git_graph_options options = {.faults = {fault_take, faults}};
        struct ts_git_graph *graph = NULL;
        char command[256];
        assert_non_null(faults);
        snprintf(command, sizeof command,
                 "a=$(git rev-parse a) t=$(git rev-parse b^{tree}) && mkdir .git/refs/replace && echo %s",
                 lines[i]);
        make_history(command);
        sh("cd r && ! git rev-list --objects --all >out 2>err");
        struct ts_git_repo *repo = open_repo("r");
        assert_int_equal(ts_git_graph_new(repo, &options, &graph, NULL), TS_GIT_OK);
        assert_int_equal(faults->count, 1);
        assert_int_equal(faults->items[0].error, TS_GIT_WRONG_TYPE);
        ts_git_graph_free(graph);
        ts_git_repo_free(repo);
        free(faults);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_git_shows_and_what_is_kept_are_both_reached, maker_setup,
                                        maker_teardown),
        cmocka_unit_test_setup_teardown(replacements_that_go_round_or_nowhere_end, maker_setup,
                                        maker_teardown),
        cmocka_unit_test_setup_teardown(graft_lines_that_are_not_valid_are_faults, maker_setup,
                                        maker_teardown),
        cmocka_unit_test_setup_teardown(what_grafts_shallow_and_replace_refs_name_has_its_type, maker_setup,
                                        maker_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
