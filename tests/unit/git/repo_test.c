/* Tests how repositories and their objects are found, opened and named. */
#include "git/repo.h"

#include "repo_maker.h"

static void expect_error(const char *path, enum ts_git_error error, const char *says) {
    struct ts_git_repo *repo = NULL;
    struct ts_git_fault fault;
    char text[512];
    assert_int_equal(ts_git_repo_open(path, NULL, &repo, &fault), error);
    assert_int_equal(fault.error, error);
    assert_null(repo);
    if (strstr(ts_git_fault_describe(&fault, text, sizeof text), says) == NULL)
        fail_msg("\"%s\" is not in: %s", says, text);
}

static struct ts_git_oid git_says(const char *folder, const char *name) {
    struct ts_git_oid oid;
    char *text = output_of(NULL, "git -C %s rev-parse '%s'", folder, name);
    assert_true(ts_git_oid_parse(TS_GIT_SHA1, ts_bytes_of(text, 40), &oid));
    free(text);
    return oid;
}

static void assert_has_head(const char *path, struct ts_git_oid expected) {
    struct ts_git_repo *repo = open_repo(path);
    struct ts_git_oid oid;
    struct ts_git_content content;
    assert_int_equal(ts_git_repo_resolve(repo, "HEAD", &oid, NULL), TS_GIT_OK);
    assert_true(ts_git_oid_equal(&oid, &expected));
    assert_int_equal(ts_git_object_read(repo, &oid, 10000, &content, NULL), TS_GIT_OK);
    free(content.bytes);
    ts_git_repo_free(repo);
}

static void work_trees_bare_and_linked_ones_are_opened(void **state) {
    (void)state;
    sh("git init -q r && cd r && echo 1 >a && git add a && git commit -qm 1 && git worktree add -q ../linked -b other && "
       "cd ../linked && echo 2 >b && git add b && git commit -qm 2 && cd .. && git clone -q --bare r bare.git && mkdir "
       "-p r/sub/dir");
    struct ts_git_oid head = git_says("r", "HEAD");
    assert_has_head("r", head);
    assert_has_head("r/.git", head);
    assert_has_head("bare.git", head);
    assert_has_head("linked", git_says("linked", "HEAD"));
    assert_has_head("linked/.git", git_says("linked", "HEAD"));

    struct ts_git_repo *repo = open_repo("linked");
    assert_non_null(strstr(ts_git_repo_work_tree(repo), "/linked"));
    ts_git_repo_free(repo);
    repo = open_repo("bare.git");
    assert_null(ts_git_repo_work_tree(repo));
    ts_git_repo_free(repo);
    struct ts_git_open_options told = {.work_tree = "linked"};
    assert_int_equal(ts_git_repo_open("bare.git", &told, &repo, NULL), TS_GIT_OK);
    assert_non_null(strstr(ts_git_repo_work_tree(repo), "/linked"));
    ts_git_repo_free(repo);
    told.work_tree = "nowhere";
    assert_int_equal(ts_git_repo_open("bare.git", &told, &repo, NULL), TS_GIT_IO);

    expect_error("r/sub/dir", TS_GIT_NOT_A_REPOSITORY, "r/sub/dir: not a git repository");
    struct ts_git_open_options up = {.search_upward = true};
    assert_int_equal(ts_git_repo_open("r/sub/dir", &up, &repo, NULL), TS_GIT_OK);
    assert_non_null(strstr(ts_git_repo_work_tree(repo), "/r"));
    ts_git_repo_free(repo);
}

static void a_target_that_is_not_a_repository_is_reported(void **state) {
    (void)state;
    sh("mkdir empty && echo x >file && mkdir odd && echo 'gitdir: nowhere' >odd/.git");
    expect_error("empty", TS_GIT_NOT_A_REPOSITORY, "empty: not a git repository");
    expect_error("file", TS_GIT_NOT_A_REPOSITORY, "not a git repository");
    expect_error("nothing", TS_GIT_NOT_A_REPOSITORY, "nothing: not a git repository");
    expect_error("odd", TS_GIT_BAD_GIT_FILE,
                 "/odd/.git ('gitdir: nowhere'): points to a repository that "
                 "does not exist");
    sh("echo rubbish >odd/.git");
    expect_error("odd", TS_GIT_BAD_GIT_FILE, "/odd/.git ('no gitdir: PATH')");
    sh("git init -q main && git -C main commit -q --allow-empty -m 1 && git -C main worktree add -q ../linked && echo ../away "
       ">main/.git/worktrees/linked/commondir");
    expect_error("linked", TS_GIT_BAD_GIT_FILE, "/worktrees/linked/commondir ('../away')");
}

static void forms_that_are_not_known_are_refused(void **state) {
    (void)state;
    sh("git init -q r && git -C r config core.repositoryformatversion 1");
    sh("git -C r config extensions.strange true");
    expect_error("r", TS_GIT_BAD_EXTENSION, "extensions.strange in /");
    expect_error("r", TS_GIT_BAD_EXTENSION, "/r/.git/config: unknown repository extension");
    sh("git config --file r/.git/config --unset extensions.strange && git config --file r/.git/config "
       "extensions.refStorage reftable");
    expect_error("r", TS_GIT_REFTABLE, "reftable");
    sh("git config --file r/.git/config --unset extensions.refStorage && git config --file r/.git/config "
       "core.repositoryformatversion 2");
    expect_error("r", TS_GIT_BAD_VERSION, "version");
    sh("git config --file r/.git/config core.repositoryformatversion 1 && git config --file r/.git/config "
       "extensions.noop true");
    struct ts_git_repo *repo = open_repo("r");
    ts_git_repo_free(repo);
    sh("printf '[core\\n' >r/.git/config");
    expect_error("r", TS_GIT_BAD_CONFIG, "config");
}

static const struct ts_git_ref *find_ref(const struct ts_git_refs *refs, const char *name) {
    for (size_t i = 0; i < refs->count; i++)
        if (strcmp(refs->items[i].name, name) == 0)
            return &refs->items[i];
    return NULL;
}

static bool fault_about(const struct fault_list *faults, const char *thing, enum ts_git_error error) {
    for (size_t i = 0; i < faults->count; i++)
        if (faults->items[i].error == error && strcmp(faults->items[i].thing, thing) == 0)
            return true;
    return false;
}

/* Compares the listed refs with the output of git for-each-ref, which has loose and packed refs. */
static void check_refs(const char *folder) {
    struct ts_git_repo *repo = open_repo(folder);
    struct ts_git_refs refs;
    assert_int_equal(ts_git_refs_list(repo, NULL, &refs, NULL), TS_GIT_OK);
    char *text = output_of(NULL, "git -C %s for-each-ref --format='%%(refname) %%(objectname)'", folder);
    char *rest = text;
    size_t count = 1; /* 1 for HEAD, which for-each-ref does not list */
    for (char *line; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0'; count++) {
        const struct ts_git_ref *ref = find_ref(&refs, strsep(&line, " "));
        char hex[TS_GIT_OID_HEX_SIZE];
        assert_non_null(ref);
        assert_string_equal(ts_git_oid_format(TS_GIT_SHA1, &ref->oid, hex), line);
    }
    assert_int_equal(refs.count, count);
    for (size_t i = 1; i < refs.count; i++)
        assert_true(strcmp(refs.items[i - 1].name, refs.items[i].name) < 0);
    free(text);
    ts_git_refs_release(&refs);
    ts_git_repo_free(repo);
}

static void refs_are_those_that_git_lists(void **state) {
    (void)state;
    sh("git init -q r && cd r && for i in 1 2 3; do echo $i >a && git add a && git commit -qm $i && git branch b$i && git "
       "tag -am t$i t$i && git tag l$i; done && git -c advice.nestedTag=false tag -am again again t2 && git notes add -m note && git branch "
       "deep/er/one && git update-ref refs/odd/thing HEAD~1 && git symbolic-ref refs/heads/link refs/heads/b1");
    check_refs("r");
    sh("git -C r pack-refs --all");
    check_refs("r");
    sh("cd r && git branch -f b2 HEAD~2 && git branch fresh && touch .git/refs/heads/x.lock");
    check_refs("r");
    sh("cd r && git checkout -q --detach");
    check_refs("r");
}

static void an_empty_repository_has_no_refs(void **state) {
    (void)state;
    sh("git init -q r");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_refs refs;
    assert_int_equal(ts_git_refs_list(repo, NULL, &refs, NULL), TS_GIT_OK);
    assert_int_equal(refs.count, 0);
    ts_git_refs_release(&refs);
    ts_git_repo_free(repo);
}

static void broken_refs_are_named_and_the_others_listed(void **state) {
    (void)state;
    sh("git init -q r && cd r && echo 1 >a && git add a && git commit -qm 1 && echo rubbish >.git/refs/heads/bad && echo "
       "'ref: refs/heads/round' >.git/refs/heads/round && echo 'ref: ../../../etc/passwd' >.git/refs/heads/out && ln -s "
       "/etc/passwd .git/refs/heads/linked && echo 0123456789012345678901234567890123456789 >.git/refs/heads/gone");
    struct ts_git_repo *repo = open_repo("r");
    struct fault_list *faults = calloc(1, sizeof *faults);
    struct ts_git_fault_sink sink = {fault_take, faults};
    struct ts_git_refs refs;
    assert_int_equal(ts_git_refs_list(repo, &sink, &refs, NULL), TS_GIT_OK);
    assert_int_equal(refs.count, 3); /* HEAD, main, and the ref whose object is missing */
    assert_int_equal(faults->count, 4);
    assert_true(fault_about(faults, "refs/heads/round", TS_GIT_SYMBOLIC_REFS));
    assert_true(fault_about(faults, "refs/heads/linked", TS_GIT_BAD_REF));
    ts_git_refs_release(&refs);
    free(faults);
    ts_git_repo_free(repo);
}

/* Every path that the system accepts can be a ref, at any depth and length. */
static void refs_are_found_however_deep_and_however_long_their_files(void **state) {
    (void)state;
    sh("git init -q r && cd r && git commit -q --allow-empty -m 1 && deep=$(printf 'd/%%.0s' $(seq 100)) && git update-ref "
       "refs/heads/${deep}end HEAD && { git rev-parse HEAD; head -c 70000 /dev/zero | tr '\\0' x; } >.git/refs/heads/long && "
       "ln -s main .git/refs/heads/beside && touch .git/refs/heads/.hidden");
    check_refs("r");
}

/* As in git, the packed value of a broken loose ref is not used, because it is older. A ref that is a link to
 * a folder is broken, too, because the link could lead anywhere. */
static void a_broken_loose_ref_hides_the_packed_one(void **state) {
    (void)state;
    sh("git init -q r && cd r && git commit -q --allow-empty -m 1 && git branch old && git pack-refs --all && echo rubbish "
       ">.git/refs/heads/old && ln -s heads .git/refs/linked && echo 0000000000000000000000000000000000000000 "
       ">.git/refs/heads/null");
    struct ts_git_repo *repo = open_repo("r");
    struct fault_list *faults = calloc(1, sizeof *faults);
    struct ts_git_fault_sink sink = {fault_take, faults};
    struct ts_git_refs refs;
    struct ts_git_fault fault;
    struct ts_git_oid oid;
    assert_int_equal(ts_git_refs_list(repo, &sink, &refs, NULL), TS_GIT_OK);
    assert_int_equal(refs.count, 2); /* HEAD and main */
    assert_int_equal(faults->count, 3);
    assert_true(fault_about(faults, "refs/heads/old", TS_GIT_BAD_REF));
    assert_true(fault_about(faults, "refs/heads/null", TS_GIT_BAD_REF));
    assert_true(fault_about(faults, "refs/linked", TS_GIT_LINKED_FOLDER));
    assert_int_equal(ts_git_repo_resolve(repo, "old", &oid, &fault), TS_GIT_BAD_REF);
    assert_string_equal(fault.thing, "refs/heads/old");
    ts_git_refs_release(&refs);
    free(faults);
    ts_git_repo_free(repo);
}

/* The refs that are listed reach every object that git reaches with --all. */
static void heads_of_all_work_trees_are_listed(void **state) {
    (void)state;
    sh("git init -q r && cd r && git commit -q --allow-empty -m 1 && git worktree add -q --detach ../b && git worktree add -q ../c && "
       "mkdir .git/worktrees/none && cp .git/HEAD .git/worktrees/none && git -C ../b commit -q --allow-empty -m b && git checkout -q --detach && "
       "git commit -q --allow-empty -m r && git -C ../b update-ref refs/bisect/bad HEAD && git update-ref refs/worktree/own HEAD");
    struct ts_git_oid r = git_says("r", "HEAD");
    struct ts_git_oid b = git_says("b", "HEAD");
    static const char *const from_r[] = {"HEAD",
                                         "refs/heads/c",
                                         "refs/heads/main",
                                         "refs/worktree/own",
                                         "worktrees/b/HEAD",
                                         "worktrees/c/HEAD"};
    static const char *const from_b[] = {"HEAD",         "main-worktree/HEAD", "refs/bisect/bad",
                                         "refs/heads/c", "refs/heads/main",    "worktrees/c/HEAD"};
    for (int linked = 0; linked < 2; linked++) {
        struct ts_git_repo *repo = open_repo(linked ? "b" : "r");
        struct ts_git_refs refs;
        struct ts_git_oid oid;
        assert_int_equal(ts_git_refs_list(repo, NULL, &refs, NULL), TS_GIT_OK);
        assert_int_equal(refs.count, 6);
        for (size_t i = 0; i < refs.count; i++)
            assert_string_equal(refs.items[i].name, linked ? from_b[i] : from_r[i]);
        const struct ts_git_ref *other = find_ref(&refs, linked ? "main-worktree/HEAD" : "worktrees/b/HEAD");
        assert_true(ts_git_oid_equal(&other->oid, linked ? &r : &b));
        assert_int_equal(ts_git_repo_resolve(repo, "worktrees/b/HEAD", &oid, NULL), TS_GIT_OK);
        assert_true(ts_git_oid_equal(&oid, &b));
        assert_int_equal(ts_git_repo_resolve(repo, "main-worktree/HEAD", &oid, NULL), TS_GIT_OK);
        assert_true(ts_git_oid_equal(&oid, &r));
        assert_int_equal(ts_git_repo_resolve(repo, "worktrees/../HEAD", &oid, NULL), TS_GIT_NO_SUCH_REF);
        ts_git_refs_release(&refs);
        ts_git_repo_free(repo);
    }
}

static size_t alternate_faults(const char *path) {
    struct fault_list *faults = calloc(1, sizeof *faults);
    struct ts_git_open_options open = {.faults = {fault_take, faults}};
    struct ts_git_repo *repo = NULL;
    assert_int_equal(ts_git_repo_open(path, &open, &repo, NULL), TS_GIT_OK);
    size_t count = faults->count;
    if (count > 0) {
        assert_int_equal(faults->items[0].error, TS_GIT_ALTERNATES);
        assert_non_null(strstr(faults->items[0].thing, "/r1/.git/objects/info/alternates"));
    }
    ts_git_repo_free(repo);
    free(faults);
    return count;
}

/* git reads six levels, and reports that it ignores the rest. */
static void alternates_are_read_as_deep_as_git_does(void **state) {
    (void)state;
    sh("git init -q r0 && git -C r0 commit -q --allow-empty -m 1 && for i in 1 2 3 4 5 6 7; do git clone -q --shared "
       "r$((i-1)) r$i 2>/dev/null || git clone -q --shared r6 r7 2>/dev/null || cp -r r6 r7; done; echo \"$PWD/r6/.git/objects\" "
       ">r7/.git/objects/info/alternates");
    assert_int_equal(alternate_faults("r6"), 0);
    assert_int_equal(alternate_faults("r7"), 1);
    /* A cycle of alternates adds nothing new. */
    sh("echo \"$PWD/r6/.git/objects\" >r0/.git/objects/info/alternates");
    assert_int_equal(alternate_faults("r6"), 0);
}

static void a_folder_of_packs_that_is_a_file_is_a_fault(void **state) {
    (void)state;
    sh("git init -q r && rmdir r/.git/objects/pack && touch r/.git/objects/pack");
    struct fault_list *faults = calloc(1, sizeof *faults);
    struct ts_git_open_options options = {.faults = {fault_take, faults}};
    struct ts_git_repo *repo = NULL;
    assert_non_null(faults);
    assert_int_equal(ts_git_repo_open("r", &options, &repo, NULL), TS_GIT_OK);
    assert_int_equal(faults->count, 1);
    assert_int_equal(faults->items[0].error, TS_GIT_IO);
    ts_git_repo_free(repo);
    free(faults);
}

static void names_are_resolved_as_git_does(void **state) {
    (void)state;
    static const char *const names[] = {
        "HEAD",    "main",    "heads/main",  "refs/heads/main", "v1",
        "tags/v1", "deep/er", "origin/main", "origin",          "refs/notes/commits"};
    sh("git init -q r && cd r && echo 1 >a && git add a && git commit -qm 1 && git tag -am v1 v1 && git branch deep/er && git "
       "update-ref refs/remotes/origin/main HEAD && git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main && "
       "git notes add -m n");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_oid oid;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct ts_git_oid expected = git_says("r", names[i]);
        assert_int_equal(ts_git_repo_resolve(repo, names[i], &oid, NULL), TS_GIT_OK);
        assert_true(ts_git_oid_equal(&oid, &expected));
    }
    struct ts_git_oid head = git_says("r", "HEAD");
    char hex[TS_GIT_OID_HEX_SIZE];
    (void)ts_git_oid_format(TS_GIT_SHA1, &head, hex);
    hex[10] = '\0';
    assert_int_equal(ts_git_repo_resolve(repo, hex, &oid, NULL), TS_GIT_OK);
    assert_true(ts_git_oid_equal(&oid, &head));
    struct ts_git_fault fault;
    assert_int_equal(ts_git_repo_resolve(repo, "nothing", &oid, &fault), TS_GIT_NO_SUCH_REF);
    assert_string_equal(fault.thing, "nothing");
    assert_int_equal(ts_git_repo_resolve(repo, "../../config", &oid, NULL), TS_GIT_NO_SUCH_REF);
    ts_git_repo_free(repo);
}

static void names_with_control_characters_are_shown_safely(void **state) {
    (void)state;
    char text[512];
    struct ts_git_fault fault;
    struct ts_git_repo *repo = NULL;
    assert_int_equal(ts_git_repo_open("\033[31mred\n", NULL, &repo, &fault), TS_GIT_NOT_A_REPOSITORY);
    (void)ts_git_fault_describe(&fault, text, sizeof text);
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\n'));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, maker_setup, maker_teardown)
    const struct CMUnitTest tests[] = {
        TEST(work_trees_bare_and_linked_ones_are_opened),
        TEST(a_target_that_is_not_a_repository_is_reported),
        TEST(forms_that_are_not_known_are_refused),
        TEST(refs_are_those_that_git_lists),
        TEST(an_empty_repository_has_no_refs),
        TEST(broken_refs_are_named_and_the_others_listed),
        TEST(refs_are_found_however_deep_and_however_long_their_files),
        TEST(a_broken_loose_ref_hides_the_packed_one),
        TEST(heads_of_all_work_trees_are_listed),
        TEST(alternates_are_read_as_deep_as_git_does),
        TEST(a_folder_of_packs_that_is_a_file_is_a_fault),
        TEST(names_are_resolved_as_git_does),
        TEST(names_with_control_characters_are_shown_safely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
