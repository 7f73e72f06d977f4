/*
 * Lets each allocation fail in turn. Every object of an intact repository is visited once, or there is an
 * error or a fault. The faults of a damaged repository are never lost.
 */
#include "git/walk.h"

#include "objects.h"

/* ---- allocations that fail: the linker replaces the real functions by these (CMakeLists.txt) ---- */

static long allocations_left = -1; /* number of allocations before the one that fails; -1 if none fails */

static bool fails(void) {
    return allocations_left >= 0 && allocations_left-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *at, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t max);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *at, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t max);

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *at, size_t size) {
    return fails() ? NULL : __real_realloc(at, size);
}

char *__wrap_strdup(const char *text) {
    return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t max) {
    return fails() ? NULL : __real_strndup(text, max);
}

/* ---- one look at a repository ---- */

#define VISITS_MAX 256

struct look {
    size_t faults;
    size_t visits;
    struct ts_git_oid seen[VISITS_MAX];
    bool is_failed;
    bool is_twice;
};

static void count_fault(void *ctx, const struct ts_git_fault *fault) {
    (void)fault;
    ((struct look *)ctx)->faults++;
}

static bool visit_one(void *ctx, unsigned worker, const struct ts_git_object *object, void **result) {
    (void)worker;
    (void)result;
    struct look *look = ctx;
    for (size_t i = 0; i < look->visits; i++)
        look->is_twice = look->is_twice || ts_git_oid_equal(&look->seen[i], &object->oid);
    assert_true(look->visits < VISITS_MAX);
    look->seen[look->visits++] = object->oid;
    return true;
}

/* Opens the repository, and visits all objects that its refs reach. */
static void take_look(const char *folder, struct look *look) {
    struct ts_git_fault_sink sink = {count_fault, look};
    struct ts_git_open_options open = {.refs_first = true, .faults = sink};
    struct ts_git_graph_options options = {.threads = 1, .faults = sink};
    struct ts_git_selection all = {.all_refs = true};
    struct ts_git_visitor visitor = {.visit = visit_one, .ctx = look};
    struct ts_git_repo *repo = NULL;
    struct ts_git_graph *graph = NULL;
    struct ts_git_set *wanted = NULL;
    *look = (struct look){.faults = 0};
    look->is_failed = ts_git_repo_open(folder, &open, &repo, NULL) != TS_GIT_OK ||
                      ts_git_graph_new(repo, &options, &graph, NULL) != TS_GIT_OK ||
                      ts_git_graph_reach(graph, &all, &wanted, NULL, NULL) != TS_GIT_OK;
    struct ts_git_visit_options visit = {.threads = 1, .wanted = wanted, .faults = sink};
    look->is_failed = look->is_failed || ts_git_visit(repo, &visit, &visitor, NULL, NULL) != TS_GIT_OK;
    ts_git_set_free(wanted);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
}

/* Makes each allocation of take_look() fail in turn. A look without an error or a fault must have visited all
 * objects. */
static void expect_no_lie(const char *folder) {
    struct look sound;
    struct look look;
    long number = 0;
    take_look(folder, &sound);
    assert_false(sound.is_failed);
    for (bool has_failed = true; has_failed; number++) {
        allocations_left = number;
        take_look(folder, &look);
        has_failed = allocations_left < 0;
        allocations_left = -1;
        bool says_all = !look.is_failed && look.faults == 0;
        if (look.is_twice || (says_all && (sound.faults > 0 || look.visits != sound.visits)))
            fail_msg("allocation %ld of %s: %zu of %zu visits, %zu of %zu faults%s", number, folder,
                     look.visits, sound.visits, look.faults, sound.faults,
                     look.is_twice ? ", one object twice" : "");
    }
    assert_true(number > 100);
}

/* Makes packed deltas, loose objects, and both loose and packed refs. */
#define HISTORY                                                                                                \
    "git init -q r && cd r && for i in 1 2 3; do seq $i 300 >f && git add f && git commit -qm $i; done && "    \
    "git tag -am t t && git repack -adq && git pack-refs --all && echo 4 >g && git add g && git commit -qm 4 " \
    "&& cd .. && "

static void everything_is_visited_once_or_there_is_a_fault(void **state) {
    (void)state;
    sh(HISTORY "true");
    expect_no_lie("r");
}

static void objects_of_another_type_are_not_forgotten(void **state) {
    (void)state;
    sh(HISTORY
       "cd r && id=$(echo odd | git hash-object --stdin) && "
       "t=$(printf '040000 tree %%s\\td\\n' $id | git mktree --missing) && "
       "echo odd | git hash-object -w --stdin >id && git update-ref refs/heads/odd $(git commit-tree -m odd $t)");
    expect_no_lie("r");
}

/* The fan-out of the index counts the first id too early. */
static void a_damaged_index_of_a_pack_is_not_forgotten(void **state) {
    (void)state;
    sh(HISTORY
       "cd r/.git/objects/pack && chmod u+w *.idx && first=$(od -An -tu1 -j1032 -N1 *.idx) && printf '\\001' | "
       "dd of=$(echo *.idx) bs=1 seek=$((8 + 4 * first - 1)) conv=notrunc status=none");
    expect_no_lie("r");
}

static void a_folder_of_objects_that_cannot_be_listed_is_not_forgotten(void **state) {
    (void)state;
    sh(HISTORY
       "cd r/.git/objects && for i in 0 1 2 3 4 5 6 7 8 9; do [ -e 0$i ] || { ln -s 0$i 0$i; break; }; done");
    expect_no_lie("r");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(everything_is_visited_once_or_there_is_a_fault, maker_setup,
                                        maker_teardown),
        cmocka_unit_test_setup_teardown(objects_of_another_type_are_not_forgotten, maker_setup,
                                        maker_teardown),
        cmocka_unit_test_setup_teardown(a_damaged_index_of_a_pack_is_not_forgotten, maker_setup,
                                        maker_teardown),
        cmocka_unit_test_setup_teardown(a_folder_of_objects_that_cannot_be_listed_is_not_forgotten,
                                        maker_setup, maker_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
