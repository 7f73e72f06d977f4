/* Tests changes of a repository by other processes while the repository is read. */
#include "git/walk.h"

#include "objects.h"
#include "os/clock.h"

#include <dirent.h>

static struct fault_list *faults;

static int begin(void **state) {
    faults = calloc(1, sizeof *faults);
    return faults != NULL ? maker_setup(state) : -1;
}

static int end(void **state) {
    free(faults);
    return maker_teardown(state);
}

static struct ts_git_repo *open_with_refs(const char *path) {
    struct ts_git_repo *repo = NULL;
    struct ts_git_open_options options = {.refs_first = true, .faults = {fault_take, faults}};
    assert_int_equal(ts_git_repo_open(path, &options, &repo, NULL), TS_GIT_OK);
    return repo;
}

static struct ts_git_graph *read_graph(struct ts_git_repo *repo) {
    struct ts_git_graph *graph = NULL;
    struct ts_git_graph_options options = {.threads = 2, .faults = {fault_take, faults}};
    assert_int_equal(ts_git_graph_new(repo, &options, &graph, NULL), TS_GIT_OK);
    return graph;
}

static struct ts_git_reach_stats reach_all(struct ts_git_graph *graph) {
    struct ts_git_selection all = {.all_refs = true};
    struct ts_git_reach_stats stats;
    struct ts_git_set *set = NULL;
    assert_int_equal(ts_git_graph_reach(graph, &all, &set, &stats, NULL), TS_GIT_OK);
    ts_git_set_free(set);
    return stats;
}

static size_t visit_all(struct ts_git_repo *repo) {
    struct ts_git_visit_options options = {.threads = 2,
                                           .types =
                                               TS_GIT_TYPE_BIT(TS_GIT_BLOB) | TS_GIT_TYPE_BIT(TS_GIT_COMMIT) |
                                               TS_GIT_TYPE_BIT(TS_GIT_TREE) | TS_GIT_TYPE_BIT(TS_GIT_TAG),
                                           .faults = {fault_take, faults}};
    struct ts_git_visit_stats stats;
    struct seen_list found = seen_by_visit(repo, &options, &stats);
    free(found.items);
    return found.count;
}

static void make_loose(unsigned commits) {
    sh("git init -q r && cd r && for i in $(seq %u); do echo $i >a && git add a && git commit -qm $i; done && git tag -am "
       "t t",
       commits);
}

static void listed_loose_objects_are_found_in_the_pack_that_they_moved_to(void **state) {
    (void)state;
    make_loose(30);
    struct ts_git_repo *repo = open_with_refs("r");
    size_t before = visit_all(repo);
    assert_int_equal(before, 91);
    sh("git -C r repack -adq && git -C r prune-packed");
    assert_int_equal(visit_all(repo), before);
    struct ts_git_graph *graph = read_graph(repo);
    assert_int_equal(reach_all(graph).commits, 30);
    assert_int_equal(faults->count, 0);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
}

static void objects_that_move_again_and_again_are_found(void **state) {
    (void)state;
    make_loose(5);
    struct ts_git_repo *repo = open_with_refs("r");
    assert_int_equal(visit_all(repo), 16);
    for (int i = 0; i < 6; i++) {
        /* Each round moves all objects into a new pack, and deletes the files that the previous round has
         * read. */
        sh("cd r && echo more%d >a && git add a && git commit -qm more && git repack -adq && git prune-packed",
           i);
        assert_int_equal(visit_all(repo), 16);
    }
    assert_int_equal(faults->count, 0);
    ts_git_repo_free(repo);
}

static void objects_that_came_after_the_listing_have_moved(void **state) {
    (void)state;
    make_loose(3);
    struct ts_git_repo *repo = open_repo("r");
    assert_int_equal(visit_all(repo), 10); /* this visit lists the objects */
    sh("cd r && echo new >a && git add a && git commit -qm new");
    struct ts_git_graph *graph = read_graph(repo); /* refs are read now */
    struct ts_git_reach_stats stats = reach_all(graph);
    assert_int_equal(stats.missing, 1);
    assert_int_equal(faults->count, 1);
    assert_int_equal(faults->items[0].error, TS_GIT_MOVED);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
}

static void objects_of_refs_that_are_gone_have_moved_and_others_are_missing(void **state) {
    (void)state;
    make_loose(3);
    sh("cd r && git branch old && git checkout -q --orphan side && git rm -rqf . && echo side >b && git add b && git commit "
       "-qm side && git checkout -q main");
    struct ts_git_repo *repo = open_with_refs("r");
    sh("cd r && o=$(git rev-parse side) && rm -f .git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-)");
    struct ts_git_graph *graph = read_graph(repo);
    (void)reach_all(graph);
    assert_true(faults->count > 0);
    for (size_t i = 0; i < faults->count; i++)
        assert_int_equal(faults->items[i].error, TS_GIT_MISSING);
    faults->count = 0;
    sh("cd r && rm .git/refs/heads/side");
    assert_int_equal(reach_all(graph).missing, 1);
    assert_int_equal(faults->items[faults->count - 1].error, TS_GIT_MOVED);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
}

static void an_object_that_is_missing_stays_missing(void **state) {
    (void)state;
    make_loose(50);
    struct ts_git_repo *repo = open_with_refs("r");
    assert_int_equal(visit_all(repo), 151);
    sh("cd r && git rev-list --objects --all --no-object-names | tail -40 | while read o; do rm -f .git/objects/$(echo $o | "
       "cut -c1-2)/$(echo $o | cut -c3-); done");
    assert_int_equal(visit_all(repo), 111);
    assert_int_equal(faults->count, 40);
    for (size_t i = 0; i < faults->count; i++)
        assert_int_equal(faults->items[i].error, TS_GIT_MISSING);
    ts_git_repo_free(repo);
}

static void refs_are_those_of_one_moment(void **state) {
    (void)state;
    make_loose(2);
    struct ts_git_repo *repo = open_with_refs("r");
    struct ts_git_refs refs;
    struct ts_git_oid before;
    struct ts_git_oid after;
    assert_int_equal(ts_git_repo_resolve(repo, "main", &before, NULL), TS_GIT_OK);
    sh("cd r && git branch other && echo new >a && git add a && git commit -qm new && git tag -d t >/dev/null && git pack-refs "
       "--all");
    assert_int_equal(ts_git_repo_resolve(repo, "HEAD", &after, NULL), TS_GIT_OK);
    assert_true(ts_git_oid_equal(&before, &after));
    assert_int_equal(ts_git_refs_list(repo, NULL, &refs, NULL), TS_GIT_OK);
    assert_int_equal(refs.count, 3);
    assert_string_equal(refs.items[0].name, "HEAD");
    assert_string_equal(refs.items[1].name, "refs/heads/main");
    assert_true(ts_git_oid_equal(&refs.items[1].oid, &before));
    assert_string_equal(refs.items[2].name, "refs/tags/t");
    ts_git_refs_release(&refs);
    ts_git_repo_free(repo);
}

/* ---- a ref that moves while refs are read ---- */

static unsigned moves_left;

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);

/* The linker replaces opendir by this function (CMakeLists.txt). Just before heads/a or heads/z is listed,
 * the ref in it moves to the other of these two folders. */
DIR *__wrap_opendir(const char *path) {
    size_t len = strlen(path);
    bool is_a = len > 8 && strcmp(path + len - 8, "/heads/a") == 0;
    bool is_z = len > 8 && strcmp(path + len - 8, "/heads/z") == 0;
    if (moves_left > 0 && (is_a || is_z)) {
        moves_left--;
        (void)rename(is_a ? "r/.git/refs/heads/a/x" : "r/.git/refs/heads/z/x",
                     is_a ? "r/.git/refs/heads/z/x" : "r/.git/refs/heads/a/x");
    }
    return __real_opendir(path);
}

/* No pass sees the ref: only the times of the folders show that it exists. */
static void a_ref_that_moves_while_refs_are_read_is_not_missed(void **state) {
    (void)state;
    static const struct {
        unsigned moves;
        bool is_settled;
    } cases[] = {{1, true}, {4, true}, {9, true}, {1000, false}};
    sh("git init -q r && cd r && git commit -q --allow-empty -m 1 && mkdir .git/refs/heads/a .git/refs/heads/z && cp "
       ".git/refs/heads/main .git/refs/heads/z/x");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ts_git_refs refs;
        moves_left = cases[i].moves;
        struct ts_git_repo *repo = open_with_refs("r");
        moves_left = 0;
        faults->count = 0;
        assert_int_equal(ts_git_refs_list(repo, &(struct ts_git_fault_sink){fault_take, faults}, &refs, NULL),
                         TS_GIT_OK);
        if (cases[i].is_settled)
            assert_int_equal(refs.count, 3); /* HEAD, main and the moving ref */
        else
            assert_int_equal(faults->items[0].error, TS_GIT_REFS_CHANGE);
        assert_int_equal(faults->count, !cases[i].is_settled);
        ts_git_refs_release(&refs);
        ts_git_repo_free(repo);
    }
}

/* After two changes within one tick of the clock, a file may have the same time. So the second pass waits for
 * the next tick. */
static void refs_that_were_just_changed_are_read_again_later(void **state) {
    (void)state;
    sh("git init -q r && cd r && git commit -q --allow-empty -m 1 && cp .git/refs/heads/main id");
    for (int i = 0; i < 20; i++) {
        assert_int_equal(rename(i % 2 == 0 ? "r/id" : "r/.git/refs/heads/new",
                                i % 2 == 0 ? "r/.git/refs/heads/new" : "r/id"),
                         0);
        uint64_t from_ns = ts_clock_monotonic_ns();
        ts_git_repo_free(open_with_refs("r"));
        assert_true(ts_clock_monotonic_ns() - from_ns >= 10 * UINT64_C(1000000));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(listed_loose_objects_are_found_in_the_pack_that_they_moved_to, begin,
                                        end),
        cmocka_unit_test_setup_teardown(objects_that_move_again_and_again_are_found, begin, end),
        cmocka_unit_test_setup_teardown(objects_that_came_after_the_listing_have_moved, begin, end),
        cmocka_unit_test_setup_teardown(objects_of_refs_that_are_gone_have_moved_and_others_are_missing,
                                        begin, end),
        cmocka_unit_test_setup_teardown(an_object_that_is_missing_stays_missing, begin, end),
        cmocka_unit_test_setup_teardown(refs_are_those_of_one_moment, begin, end),
        cmocka_unit_test_setup_teardown(a_ref_that_moves_while_refs_are_read_is_not_missed, begin, end),
        cmocka_unit_test_setup_teardown(refs_that_were_just_changed_are_read_again_later, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
