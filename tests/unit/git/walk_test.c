/* Compares reachable objects with those that git rev-list prints. Compares first commits with those that a
 * search through the whole trees of all commits finds. */
#include "git/walk.h"

#include "graph.h"
#include "objects.h"

/* ---- reachability ---- */

static struct ts_git_graph *read_graph(struct ts_git_repo *repo, unsigned threads,
                                       struct fault_list *faults) {
    struct ts_git_graph_options options = {.threads = threads};
    if (faults != NULL)
        options.faults = (struct ts_git_fault_sink){fault_take, faults};
    struct ts_git_graph *graph = NULL;
    assert_int_equal(ts_git_graph_new(repo, &options, &graph, NULL), TS_GIT_OK);
    return graph;
}

/* Checks that the set has exactly the ids with which the lines of a command's output begin. */
static void assert_set_is(struct ts_git_repo *repo, const struct ts_git_set *set, const char *command) {
    char *text = output_of(NULL, "%s", command);
    size_t hex = 2 * ts_git_hash_len(ts_git_repo_hash(repo));
    struct ts_git_set *expected = NULL;
    assert_int_equal(ts_git_set_new(repo, &expected, NULL), TS_GIT_OK);
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        struct ts_git_oid oid;
        if (line[0] == '\0')
            continue;
        assert_true(ts_git_oid_parse(ts_git_repo_hash(repo), ts_bytes_of(line, hex), &oid));
        assert_true(ts_git_set_add(expected, &oid));
        if (!ts_git_set_has(set, &oid))
            fail_msg("not reached: %s", line);
    }
    assert_int_equal(ts_git_set_count(expected), ts_git_set_count(set));
    ts_git_set_free(expected);
    free(text);
}

static struct ts_git_oid oid_of(struct ts_git_repo *repo, const char *name) {
    struct ts_git_oid oid;
    assert_int_equal(ts_git_repo_resolve(repo, name, &oid, NULL), TS_GIT_OK);
    return oid;
}

static void check_reach(const char *folder, unsigned threads) {
    struct ts_git_repo *repo = open_repo(folder);
    struct ts_git_graph *graph = read_graph(repo, threads, NULL);
    struct ts_git_set *set = NULL;
    struct ts_git_reach_stats stats;
    char command[256];

    struct ts_git_selection all = {.all_refs = true};
    assert_int_equal(ts_git_graph_reach(graph, &all, &set, &stats, NULL), TS_GIT_OK);
    snprintf(command, sizeof command, "git -C %s rev-list --objects --all --no-object-names", folder);
    assert_set_is(repo, set, command);
    assert_int_equal(stats.missing, 0);
    assert_int_equal(stats.commits + stats.trees + stats.blobs + stats.tags, ts_git_set_count(set));
    ts_git_set_free(set);

    struct ts_git_oid main_ = oid_of(repo, "main");
    struct ts_git_oid side = oid_of(repo, "side");
    struct ts_git_oid old = {{0}};
    char *text = output_of(NULL, "git -C %s rev-parse main~8", folder);
    assert_true(ts_git_oid_parse(ts_git_repo_hash(repo),
                                 ts_bytes_of(text, 2 * ts_git_hash_len(ts_git_repo_hash(repo))), &old));
    free(text);

    struct ts_git_selection one = {.from = &side, .from_count = 1};
    assert_int_equal(ts_git_graph_reach(graph, &one, &set, NULL, NULL), TS_GIT_OK);
    snprintf(command, sizeof command, "git -C %s rev-list --objects side --no-object-names", folder);
    assert_set_is(repo, set, command);
    ts_git_set_free(set);

    struct ts_git_selection without = {.from = &main_, .from_count = 1, .exclude = &old, .exclude_count = 1};
    assert_int_equal(ts_git_graph_reach(graph, &without, &set, NULL, NULL), TS_GIT_OK);
    /* Plain rev-list excludes only the boundary. The expected result excludes everything that main~8
     * reaches. */
    snprintf(command, sizeof command,
             "cd %s && git rev-list --objects main~8 --no-object-names | sort >../old && git rev-list "
             "--objects main "
             "--no-object-names | sort | comm -23 - ../old",
             folder);
    assert_set_is(repo, set, command);
    ts_git_set_free(set);

    /* An excluded tag is left out with everything that it reaches, even if a ref names the tag. */
    text = output_of(NULL, "git -C %s rev-parse v1", folder);
    struct ts_git_oid tag;
    assert_true(ts_git_oid_parse(ts_git_repo_hash(repo),
                                 ts_bytes_of(text, 2 * ts_git_hash_len(ts_git_repo_hash(repo))), &tag));
    free(text);
    struct ts_git_selection after = {.all_refs = true, .exclude = &tag, .exclude_count = 1};
    assert_int_equal(ts_git_graph_reach(graph, &after, &set, &stats, NULL), TS_GIT_OK);
    assert_int_equal(stats.tags, 0);
    snprintf(
        command, sizeof command,
        "cd %s && git rev-list --objects v1 --no-object-names | sort >../old && git rev-list --objects --all "
        "--no-object-names | sort | comm -23 - ../old",
        folder);
    assert_set_is(repo, set, command);
    ts_git_set_free(set);

    struct ts_git_selection tip = {.from = &main_, .from_count = 1, .tips_only = true};
    assert_int_equal(ts_git_graph_reach(graph, &tip, &set, NULL, NULL), TS_GIT_OK);
    snprintf(command, sizeof command, "git -C %s rev-list --objects --no-walk main --no-object-names",
             folder);
    assert_set_is(repo, set, command);
    ts_git_set_free(set);

    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
}

static void reachable_objects_are_those_that_git_lists(void **state) {
    (void)state;
    sh("git init -q r");
    maker_history("r", 150, 21);
    sh("cd r && git notes --ref=review add -m 'a note' main && git branch -f loose main~20 && echo x | git "
       "hash-object "
       "-w --stdin >/dev/null");
    check_reach("r", 1);
    sh("git -C r repack -q -adf --depth=60 --window=40");
    check_reach("r", 1);
    check_reach("r", 3);
}

static void sha256_histories_are_walked(void **state) {
    (void)state;
    sh("git init -q --object-format=sha256 r");
    maker_history("r", 60, 22);
    sh("git -C r repack -q -adf");
    check_reach("r", 2);
}

static void unreachable_objects_are_all_others(void **state) {
    (void)state;
    sh("git init -q r");
    maker_history("r", 30, 23);
    sh("cd r && git repack -q -adf && git update-ref -d refs/heads/side && echo x | git hash-object -w "
       "--stdin "
       ">/dev/null");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_graph *graph = read_graph(repo, 2, NULL);
    struct ts_git_set *set = NULL;
    struct ts_git_selection all = {.all_refs = true};
    assert_int_equal(ts_git_graph_reach(graph, &all, &set, NULL, NULL), TS_GIT_OK);
    ts_git_set_invert(set);
    assert_set_is(repo, set, "git -C r fsck --unreachable --no-reflogs 2>/dev/null | awk '{ print $3 }'");
    ts_git_set_free(set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
}

static void commits_since_a_time_bring_what_their_parents_had_not(void **state) {
    (void)state;
    sh("git init -q r && cd r && for i in 1 2 3 4; do echo $i >f$i; git add .; GIT_COMMITTER_DATE=\"@${i}000 "
       "+0000\" git "
       "commit -qm $i; done");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_graph *graph = read_graph(repo, 1, NULL);
    struct ts_git_selection since = {.all_refs = true, .has_since = true, .since_s = 3000, .new_only = true};
    struct ts_git_set *set = NULL;
    struct ts_git_reach_stats stats;
    assert_int_equal(ts_git_graph_reach(graph, &since, &set, &stats, NULL), TS_GIT_OK);
    assert_int_equal(stats.commits, 2);
    assert_int_equal(stats.blobs, 2);
    assert_set_is(repo, set,
                  "cd r && git rev-parse main main~1 'main^{tree}' 'main~1^{tree}' main:f3 main:f4");
    ts_git_set_free(set);
    since.new_only = false;
    assert_int_equal(ts_git_graph_reach(graph, &since, &set, &stats, NULL), TS_GIT_OK);
    assert_int_equal(stats.blobs, 4);
    ts_git_set_free(set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
}

/* The missing objects are blobs of two commits, a tree, and the parent of a commit. */
static void missing_objects_are_named_and_the_rest_is_reached(void **state) {
    (void)state;
    sh("git init -q r && cd r && mkdir d && for i in 1 2 3 4 5 6; do echo $i >f$i; done && echo d >d/b && git add . "
       "&& git commit -qm 1 && echo more >g && git add g && git commit -qm 2 && echo last >g && git add g && git commit "
       "-qm 3 && git rev-parse main:f1 main:f2 main:f3 main:f4 main:f5 main:d main~2 | sort >../gone && for f in $(cat "
       "../gone); do rm -f .git/objects/$(echo $f | cut -c1-2)/$(echo $f | cut -c3-); done");
    struct ts_git_repo *repo = open_repo("r");
    struct fault_list *faults = calloc(1, sizeof *faults);
    struct ts_git_graph *graph = read_graph(repo, 1, faults);
    struct ts_git_selection all = {.all_refs = true};
    struct ts_git_set *set = NULL;
    struct ts_git_reach_stats stats;
    assert_int_equal(ts_git_graph_reach(graph, &all, &set, &stats, NULL), TS_GIT_OK);
    assert_int_equal(stats.missing, 7);
    assert_int_equal(stats.commits, 2);
    assert_int_equal(stats.trees, 2);
    assert_int_equal(stats.blobs, 3);
    char *gone = output_of(NULL, "cat gone");
    assert_int_equal(faults->count, 7);
    for (size_t i = 0; i < 7; i++) { /* faults are in the order of ids */
        char text[512];
        gone[i * 41 + 40] = '\0';
        assert_non_null(strstr(ts_git_fault_describe(&faults->items[i], text, sizeof text), gone + i * 41));
    }
    free(gone);
    free(faults);
    ts_git_set_free(set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
}

static void objects_that_shallow_and_partial_clones_lack_are_counted(void **state) {
    (void)state;
    sh("git init -q r");
    maker_history("r", 20, 24);
    sh("cd r && git config uploadpack.allowFilter true && git checkout -q main && cd .. && git clone -q "
       "--depth 2 "
       "--no-single-branch file://$PWD/r shallow && git clone -q --bare --filter=blob:none file://$PWD/r "
       "partial.git");
    struct ts_git_selection all = {.all_refs = true};
    struct ts_git_set *set = NULL;
    struct ts_git_reach_stats stats;

    struct fault_list *faults = calloc(1, sizeof *faults);
    struct ts_git_repo *repo = open_repo("shallow");
    assert_true(ts_git_repo_is_shallow(repo));
    struct ts_git_graph *graph = read_graph(repo, 1, faults);
    assert_int_equal(ts_git_graph_reach(graph, &all, &set, &stats, NULL), TS_GIT_OK);
    char *cut = output_of(NULL, "wc -l <shallow/.git/shallow");
    assert_int_equal(stats.cut_commits, strtol(cut, NULL, 10));
    assert_true(stats.cut_commits > 0 && stats.cut_commits < stats.commits);
    free(cut);
    assert_int_equal(stats.missing, 0);
    assert_int_equal(faults->count, 0);
    assert_set_is(repo, set, "git -C shallow rev-list --objects --all --no-object-names");
    ts_git_set_free(set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);

    repo = open_repo("partial.git");
    assert_true(ts_git_repo_keeps_promises(repo));
    graph = read_graph(repo, 1, faults);
    assert_int_equal(ts_git_graph_reach(graph, &all, &set, &stats, NULL), TS_GIT_OK);
    assert_int_equal(stats.missing, 0);
    assert_int_equal(stats.blobs, 0);
    assert_true(stats.missing_by_design > 20);
    assert_int_equal(faults->count, 0);
    ts_git_set_free(set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
    free(faults);
}

/* Makes a tree of 1200 files. If is_there is true, the files are equal and have names of 200 characters and
 * more. If it is false, the files are missing and have short names. */
static void make_wide(const char *folder, bool is_there) {
    sh("git init -q %s && cd %s && o=$(echo x | git hash-object -w --stdin) && n=$(printf '%%0%dd' 0) && seq 1 1200 "
       "| awk -v o=$o -v n=$n -v there=%d '{ printf(\"100644 blob %%s\\t%%s%%d\\n\", there ? o : "
       "sprintf(\"%%040d\", $1), n, $1) }' | git mktree --missing >../tree && git update-ref refs/heads/main $(echo m "
       "| git commit-tree $(cat ../tree))",
       folder, folder, is_there ? 200 : 1, is_there);
}

static enum ts_git_error try_graph(struct ts_git_repo *repo, struct ts_git_graph_options options) {
    struct ts_git_graph *graph = NULL;
    struct ts_git_fault fault;
    enum ts_git_error error = ts_git_graph_new(repo, &options, &graph, &fault);
    ts_git_graph_free(graph);
    return error;
}

static void the_memory_of_a_graph_is_limited(void **state) {
    (void)state;
    make_wide("r", true);
    struct ts_git_repo *repo = open_repo("r");
    /* The expected memory is the sum of three objects, of twice the numbers (for 1200 files, their names, and
     * a commit's tree and time), and of the names (200 characters and the digits of their number). */
    const uint64_t needed = 3 * sizeof(struct git__edges) + UINT64_C(2) * 4 * (2 * 1200 + 3) +
                            UINT64_C(1200) * (GIT__NAME_BYTES + 200) + 3693;
    assert_int_equal(try_graph(repo, (struct ts_git_graph_options){.table_bytes_max = needed}), TS_GIT_OK);
    assert_int_equal(try_graph(repo, (struct ts_git_graph_options){.table_bytes_max = needed - 1}),
                     TS_GIT_NO_MEMORY);
    ts_git_repo_free(repo);
    make_wide("missing", false);
    repo = open_repo("missing");
    /* A third of the limit is for missing objects. */
    const uint64_t ids = UINT64_C(3) * 1200 * (sizeof(struct ts_git_oid) + 16);
    assert_int_equal(try_graph(repo, (struct ts_git_graph_options){.table_bytes_max = ids}), TS_GIT_OK);
    assert_int_equal(try_graph(repo, (struct ts_git_graph_options){.table_bytes_max = ids / 2}),
                     TS_GIT_NO_MEMORY);
    ts_git_repo_free(repo);
}

/* A tree that is too large to be held whole is not read. It is a fault, and all other objects are reached. */
static void a_tree_too_large_to_be_held_is_named(void **state) {
    (void)state;
    make_wide("r", true);
    struct ts_git_repo *repo = open_repo("r");
    struct fault_list *faults = calloc(1, sizeof *faults);
    struct ts_git_graph_options options = {.memory_bytes = 4 << 20, .faults = {fault_take, faults}};
    struct ts_git_graph *graph = NULL;
    struct ts_git_set *set = NULL;
    struct ts_git_reach_stats stats;
    struct ts_git_selection all = {.all_refs = true};
    assert_int_equal(ts_git_graph_new(repo, &options, &graph, NULL), TS_GIT_OK);
    assert_int_equal(faults->count, 1);
    assert_int_equal(faults->items[0].error, TS_GIT_NO_ROOM);
    assert_int_equal(ts_git_graph_reach(graph, &all, &set, &stats, NULL), TS_GIT_OK);
    assert_int_equal(stats.commits, 1);
    free(faults);
    ts_git_set_free(set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
}

/* The reader uses those entries of a bad tree that are before the damage. */
static void a_bad_tree_leads_to_its_entries_before_the_damage(void **state) {
    (void)state;
    sh("git init -q r && cd r && o=$(echo x | git hash-object -w --stdin) && t=$(printf '100644 blob %%s\\tf\\n' $o | "
       "git mktree) && (git cat-file tree $t; echo no entry) | git hash-object -t tree -w --stdin --literally >../tree "
       "&& git update-ref refs/heads/main $(printf 'tree %%s\\nauthor A <a> 1 +0000\\ncommitter A <a> 1 +0000\\n\\nm\\n' "
       "$(cat ../tree) | git hash-object -t commit -w --stdin --literally)");
    struct ts_git_repo *repo = open_repo("r");
    struct fault_list *faults = calloc(1, sizeof *faults);
    struct ts_git_graph *graph = read_graph(repo, 1, faults);
    struct ts_git_set *set = NULL;
    struct ts_git_reach_stats stats;
    struct ts_git_selection all = {.all_refs = true};
    assert_int_equal(faults->count, 1);
    assert_int_equal(faults->items[0].error, TS_GIT_BAD_OBJECT);
    assert_int_equal(ts_git_graph_reach(graph, &all, &set, &stats, NULL), TS_GIT_OK);
    assert_int_equal(stats.trees, 1);
    assert_int_equal(stats.blobs, 1);
    free(faults);
    ts_git_set_free(set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
}

/* A submodule's commit is in another repository, even if this repository has an object with the same id. */
static void a_submodule_is_neither_missing_nor_a_place_of_a_blob(void **state) {
    (void)state;
    sh("git init -q r && cd r && o=$(echo x | git hash-object -w --stdin) && t=$(printf '100644 blob %%s\\tf\\n' $o | "
       "git mktree) && s=$(git cat-file tree $t | LC_ALL=C sed 's/100644 f/160000 s/' | git hash-object -t tree -w "
       "--stdin --literally) && printf '040000 tree %%s\\ta\\n040000 tree %%s\\tb\\n160000 commit %%040d\\tc\\n' $t $s 7 "
       "| git mktree >../tree && git update-ref refs/heads/main $(echo m | git commit-tree $(cat ../tree))");
    struct ts_git_repo *repo = open_repo("r");
    struct fault_list *faults = calloc(1, sizeof *faults);
    struct ts_git_graph *graph = read_graph(repo, 1, faults);
    struct ts_git_set *set = NULL;
    struct ts_git_reach_stats stats;
    struct ts_git_selection all = {.all_refs = true};
    assert_int_equal(ts_git_graph_reach(graph, &all, &set, &stats, NULL), TS_GIT_OK);
    assert_int_equal(stats.missing, 0);
    assert_int_equal(faults->count, 0);
    struct ts_git_occurrences occurrences;
    assert_int_equal(ts_git_graph_attribute(graph, &all, set, 0, &occurrences, NULL), TS_GIT_OK);
    assert_int_equal(occurrences.count, 1);
    assert_string_equal(occurrences.items[0].path, "a/f");
    assert_int_equal(occurrences.commits[0].author_zone_minutes, 90);
    ts_git_occurrences_release(&occurrences);
    free(faults);
    ts_git_set_free(set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
}

/* ---- first commits ---- */

struct place {
    char line[200]; /* "blob path" */
};

struct old_commit {
    char hex[80];
    long long time_s;
    char parents[8][80];
    size_t parent_count;
    struct place *places; /* sorted by line */
    size_t place_count;
};

static int compare_places(const void *a, const void *b) {
    return strcmp(((const struct place *)a)->line, ((const struct place *)b)->line);
}

static int compare_old(const void *a, const void *b) {
    const struct old_commit *x = a;
    const struct old_commit *y = b;
    if (x->time_s != y->time_s)
        return x->time_s > y->time_s ? 1 : -1;
    return strcmp(x->hex, y->hex);
}

static bool has_place(const struct old_commit *commit, const struct place *place) {
    return commit->place_count > 0 &&
           bsearch(place, commit->places, commit->place_count, sizeof *place, compare_places) != NULL;
}

static void read_places(const char *folder, struct old_commit *commit) {
    char *text =
        output_of(NULL, "git -C %s -c core.quotePath=false ls-tree -r --full-tree %s", folder, commit->hex);
    char *rest = text;
    commit->places = calloc(MAKER_FILES + 1, sizeof *commit->places);
    for (char *line; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0';) {
        const char *blob = line + strlen("100644 blob ");
        const char *path = strchr(line, '\t') + 1;
        snprintf(commit->places[commit->place_count++].line, sizeof commit->places[0].line, "%.40s %s", blob,
                 path);
    }
    free(text);
    qsort(commit->places, commit->place_count, sizeof *commit->places, compare_places);
}

/* Returns all commits, sorted by time and id, each with its whole tree. */
static struct old_commit *read_commits(const char *folder, size_t *ret_count) {
    char *text = output_of(NULL, "git -C %s log --all --format='%%H %%ct %%P'", folder);
    struct old_commit *commits = calloc(1000, sizeof *commits);
    size_t count = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0';) {
        struct old_commit *commit = &commits[count++];
        snprintf(commit->hex, sizeof commit->hex, "%s", strsep(&line, " "));
        commit->time_s = strtoll(strsep(&line, " "), NULL, 10);
        for (char *parent; line != NULL && (parent = strsep(&line, " ")) != NULL && parent[0] != '\0';)
            snprintf(commit->parents[commit->parent_count++], sizeof commit->parents[0], "%s", parent);
        read_places(folder, commit);
    }
    free(text);
    qsort(commits, count, sizeof *commits, compare_old);
    *ret_count = count;
    return commits;
}

static bool a_parent_has(const struct old_commit *commits, size_t count, const struct old_commit *commit,
                         const struct place *place) {
    for (size_t p = 0; p < commit->parent_count; p++)
        for (size_t i = 0; i < count; i++)
            if (strcmp(commits[i].hex, commit->parents[p]) == 0 && has_place(&commits[i], place))
                return true;
    return false;
}

struct first {
    struct place place;
    const struct old_commit *commit;
};

static size_t find_firsts(const struct old_commit *commits, size_t count, struct first *firsts) {
    size_t found = 0;
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < commits[c].place_count; i++) {
            const struct place *place = &commits[c].places[i];
            bool is_known = false;
            for (size_t k = 0; k < found && !is_known; k++)
                is_known = strcmp(firsts[k].place.line, place->line) == 0;
            if (!is_known && !a_parent_has(commits, count, &commits[c], place))
                firsts[found++] = (struct first){*place, &commits[c]};
        }
    return found;
}

static void check_firsts(const char *folder, unsigned threads, unsigned every) {
    size_t count;
    struct old_commit *commits = read_commits(folder, &count);
    struct first *firsts = calloc(4000, sizeof *firsts);
    size_t found = find_firsts(commits, count, firsts);
    assert_true(found > count / 2);

    struct ts_git_repo *repo = open_repo(folder);
    struct ts_git_graph *graph = read_graph(repo, threads, NULL);
    struct ts_git_set *blobs = NULL;
    assert_int_equal(ts_git_set_new(repo, &blobs, NULL), TS_GIT_OK);
    size_t expected = 0;
    for (size_t i = 0; i < found; i++) {
        struct ts_git_oid oid;
        assert_true(ts_git_oid_parse(TS_GIT_SHA1, ts_bytes_of(firsts[i].place.line, 40), &oid));
        if (oid.bytes[5] % every == 0)
            assert_true(ts_git_set_add(blobs, &oid));
    }
    for (size_t i = 0; i < found; i++) {
        struct ts_git_oid oid;
        assert_true(ts_git_oid_parse(TS_GIT_SHA1, ts_bytes_of(firsts[i].place.line, 40), &oid));
        expected += ts_git_set_has(blobs, &oid);
    }
    struct ts_git_selection all = {.all_refs = true};
    struct ts_git_occurrences occurrences;
    assert_int_equal(ts_git_graph_attribute(graph, &all, blobs, 0, &occurrences, NULL), TS_GIT_OK);
    assert_int_equal(occurrences.count, expected);
    assert_false(occurrences.is_cut);
    for (size_t i = 0; i < occurrences.count; i++) {
        const struct ts_git_occurrence *o = &occurrences.items[i];
        char hex[TS_GIT_OID_HEX_SIZE];
        char line[300];
        snprintf(line, sizeof line, "%s %s", ts_git_oid_format(TS_GIT_SHA1, &o->blob, hex), o->path);
        const struct first *first = NULL;
        for (size_t k = 0; k < found && first == NULL; k++)
            if (strcmp(firsts[k].place.line, line) == 0)
                first = &firsts[k];
        assert_non_null(first);
        assert_string_equal(ts_git_oid_format(TS_GIT_SHA1, &occurrences.commits[o->commit].oid, hex),
                            first->commit->hex);
        assert_string_equal(occurrences.commits[o->commit].author_name, "A");
        assert_string_equal(occurrences.commits[o->commit].author_mail, "a@x");
        /* If a commit's clock stops or goes back, its time is moved after those of its parents. */
        assert_true(occurrences.commits[o->commit].commit_time_s >= first->commit->time_s);
        assert_int_equal(o->mode, 0100644);
    }
    ts_git_occurrences_release(&occurrences);
    ts_git_set_free(blobs);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
    for (size_t i = 0; i < count; i++)
        free(commits[i].places);
    free(commits);
    free(firsts);
}

static void the_first_commit_of_each_path_is_found(void **state) {
    (void)state;
    sh("git init -q r");
    maker_history("r", 120, 31);
    sh("git -C r repack -q -adf --depth=60 --window=40");
    check_firsts("r", 1, 1);
    check_firsts("r", 3, 1);
    check_firsts("r", 2, 7);
}

/* Checks that the blob at the path has exactly one occurrence, added by this commit. */
static void assert_brought_by(const struct ts_git_occurrences *occurrences, const char *path,
                              const struct ts_git_oid *commit) {
    size_t found = 0;
    for (size_t i = 0; i < occurrences->count; i++) {
        const struct ts_git_occurrence *o = &occurrences->items[i];
        if (strcmp(o->path, path) != 0)
            continue;
        found++;
        assert_true(ts_git_oid_equal(&occurrences->commits[o->commit].oid, commit));
    }
    assert_int_equal(found, 1);
}

/* Ten branches are younger than their merge. By its clock the merge is the first commit, but it adds only one
 * file. */
static void a_merge_brings_nothing_that_any_of_its_parents_had(void **state) {
    (void)state;
    sh("git init -q r && cd r && for i in 0 1 2 3 4 5 6 7 8 9; do git read-tree --empty && o=$(echo $i | git "
       "hash-object -w --stdin) && git update-index --add --cacheinfo 100644,$o,d/f$i && c=$(echo $i | "
       "GIT_COMMITTER_DATE=\"@900$i +0000\" git commit-tree $(git write-tree)) && git tag s$i $c; done");
    sh("cd r && git read-tree --empty && for i in 0 1 2 3 4 5 6 7 8 9; do git update-index --add --cacheinfo "
       "100644,$(git rev-parse s$i:d/f$i),d/f$i; done && git update-index --add --cacheinfo 100644,$(echo own "
       "| git hash-object -w --stdin),d/own && c=$(echo all | GIT_COMMITTER_DATE=\"@1000 +0000\" git "
       "commit-tree $(for i in 0 1 2 3 4 5 6 7 8 9; do echo -p s$i; done) $(git write-tree)) && git "
       "update-ref refs/heads/main $c");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_graph *graph = read_graph(repo, 1, NULL);
    struct ts_git_set *set = NULL;
    struct ts_git_selection all = {.all_refs = true};
    assert_int_equal(ts_git_graph_reach(graph, &all, &set, NULL, NULL), TS_GIT_OK);
    struct ts_git_occurrences occurrences;
    assert_int_equal(ts_git_graph_attribute(graph, &all, set, 0, &occurrences, NULL), TS_GIT_OK);
    assert_int_equal(occurrences.count, 11);
    for (unsigned i = 0; i < 10; i++) {
        char path[16];
        char tag[16];
        snprintf(path, sizeof path, "d/f%u", i);
        snprintf(tag, sizeof tag, "s%u", i);
        struct ts_git_oid commit = oid_of(repo, tag);
        assert_brought_by(&occurrences, path, &commit);
    }
    struct ts_git_oid merge = oid_of(repo, "main");
    assert_brought_by(&occurrences, "d/own", &merge);
    ts_git_occurrences_release(&occurrences);
    ts_git_set_free(set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
}

/* If two commits add the same blob in the same second, the one with the lower id is the first. */
static void equal_times_are_distinguished_by_id(void **state) {
    (void)state;
    sh("git init -q r && cd r && o=$(echo x | git hash-object -w --stdin) && git update-index --add "
       "--cacheinfo 100644,$o,f && for i in 0 1 2 3 4 5 6 7; do c=$(echo $i | git commit-tree $(git "
       "write-tree)) && git tag s$i $c; done && git rev-parse s0 s1 s2 s3 s4 s5 s6 s7 | sort >../sorted");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_graph *graph = read_graph(repo, 1, NULL);
    struct ts_git_set *set = NULL;
    struct ts_git_selection all = {.all_refs = true};
    assert_int_equal(ts_git_graph_reach(graph, &all, &set, NULL, NULL), TS_GIT_OK);
    struct ts_git_occurrences occurrences;
    assert_int_equal(ts_git_graph_attribute(graph, &all, set, 0, &occurrences, NULL), TS_GIT_OK);
    struct ts_git_oid lowest;
    char *sorted = output_of(NULL, "head -1 sorted");
    assert_true(ts_git_oid_parse(TS_GIT_SHA1, ts_bytes_of(sorted, 40), &lowest));
    free(sorted);
    assert_brought_by(&occurrences, "f", &lowest);
    ts_git_occurrences_release(&occurrences);
    ts_git_set_free(set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
}

/* There are many trees with the same names and without deltas. Tracing a tree needs more memory than the tree
 * takes in the graph. */
static void the_memory_of_tracing_is_limited(void **state) {
    (void)state;
    sh("git init -q r && cd r && o=$(echo x | git hash-object -w --stdin) && seq 1000 1999 | sed \"s/^/100644 blob $o\\t/\" "
       ">../files && for i in $(seq 10 59); do t=$( (cat ../files; printf \"100644 blob $o\\tf$i\\n\") | git mktree) && "
       "git update-ref refs/heads/b$i $(echo $i | git commit-tree $t); done");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_oid commit;
    char *id = output_of(NULL, "git -C r rev-parse b10");
    assert_true(ts_git_oid_parse(TS_GIT_SHA1, ts_bytes_of(id, 40), &commit));
    free(id);
    struct ts_git_selection all = {.all_refs = true};
    struct ts_git_selection one = {.from = &commit, .from_count = 1, .tips_only = true};
    /* Tracing needs room for twice the entries of all trees, at 16 bytes per entry. */
    const uint64_t needed = UINT64_C(2) * 50 * 1001 * 16;
    for (int spare = -1; spare <= 0; spare++) {
        struct ts_git_graph_options options = {.threads = 2, .table_bytes_max = needed - (spare < 0)};
        struct ts_git_graph *graph = NULL;
        struct ts_git_set *set = NULL;
        struct ts_git_occurrences occurrences;
        struct ts_git_fault fault;
        assert_int_equal(ts_git_graph_new(repo, &options, &graph, NULL), TS_GIT_OK);
        assert_int_equal(ts_git_graph_reach(graph, &all, &set, NULL, NULL), TS_GIT_OK);
        enum ts_git_error error = ts_git_graph_attribute(graph, &all, set, 0, &occurrences, &fault);
        assert_int_equal(error, spare < 0 ? TS_GIT_NO_MEMORY : TS_GIT_OK);
        if (error == TS_GIT_OK) {
            assert_int_equal(occurrences.count, 1000 + 50);
            ts_git_occurrences_release(&occurrences);
        }
        /* One commit needs only its own tree. */
        assert_int_equal(ts_git_graph_attribute(graph, &one, set, 0, &occurrences, NULL), TS_GIT_OK);
        assert_int_equal(occurrences.count, 1000 + 1);
        ts_git_occurrences_release(&occurrences);
        ts_git_set_free(set);
        ts_git_graph_free(graph);
    }
    ts_git_repo_free(repo);
}

/* Makes ten folders in ten folders and so on, eight levels deep, with one blob at the end: 10^8 paths. */
static void more_paths_than_anyone_can_print_are_cut(void **state) {
    (void)state;
    sh("git init -q r && cd r && o=$(echo x | git hash-object -w --stdin) && t=$(printf '100644 blob "
       "%%s\\tf\\n' $o | git "
       "mktree) && for i in 1 2 3 4 5 6 7 8; do t=$(for k in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree "
       "%%s\\t%%s\\n' $t "
       "$k; done | git mktree); done && c=$(git commit-tree -m bomb $t) && git update-ref refs/heads/main "
       "$c");
    struct ts_git_repo *repo = open_repo("r");
    struct ts_git_graph *graph = read_graph(repo, 1, NULL);
    struct ts_git_set *set = NULL;
    struct ts_git_reach_stats stats;
    struct ts_git_selection all = {.all_refs = true};
    assert_int_equal(ts_git_graph_reach(graph, &all, &set, &stats, NULL), TS_GIT_OK);
    assert_int_equal(stats.blobs, 1);
    assert_int_equal(stats.trees, 9);
    struct ts_git_occurrences occurrences;
    assert_int_equal(ts_git_graph_attribute(graph, &all, set, 1000, &occurrences, NULL), TS_GIT_OK);
    assert_int_equal(occurrences.count, 1000);
    assert_true(occurrences.is_cut);
    ts_git_occurrences_release(&occurrences);
    ts_git_set_free(set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
}

/* ---- stopping ---- */

#define LONG 6000 /* number of commits: more steps than there are between two calls of a watch */

struct patience {
    unsigned calls;
    unsigned max; /* the watch ends the work after this many calls */
};

static bool be_patient(void *ctx, uint64_t bytes) {
    struct patience *patience = ctx;
    (void)bytes;
    return patience->calls++ < patience->max;
}

static void make_long(void) {
    sh("git init -q long");
    FILE *out = popen("git -C long fast-import --quiet", "w"); /* NOLINT(cert-env33-c): a test */
    assert_non_null(out);
    for (unsigned i = 0; i < LONG; i++)
        fprintf(
            out,
            "commit refs/heads/main\ncommitter C <c@x> %u +0000\ndata 0\nM 100644 inline f\ndata 9\n%08u\n\n",
            1600000000 + i, i);
    assert_int_equal(pclose(out), 0);
}

static enum ts_git_error attribute_first(struct ts_git_graph *graph, struct ts_git_repo *repo,
                                         struct ts_git_occurrences *ret_found) {
    struct ts_git_selection all = {.all_refs = true};
    struct ts_git_set *blobs = NULL;
    char *text = output_of(NULL, "git -C long rev-parse $(git -C long rev-list main | tail -n 1):f");
    struct ts_git_oid first;
    assert_true(ts_git_oid_parse(TS_GIT_SHA1, ts_bytes_of(text, 40), &first));
    free(text);
    assert_int_equal(ts_git_set_new(repo, &blobs, NULL), TS_GIT_OK);
    assert_true(ts_git_set_add(blobs, &first));
    enum ts_git_error error = ts_git_graph_attribute(graph, &all, blobs, 0, ret_found, NULL);
    ts_git_set_free(blobs);
    return error;
}

/* Every loop over the history calls the watch. Work that was stopped can be done again. */
static void a_watch_ends_work_on_a_long_history(void **state) {
    (void)state;
    make_long();
    struct ts_git_repo *repo = open_repo("long");
    struct patience patience = {.max = UINT_MAX};
    struct ts_git_graph_options options = {.threads = 1, .watch = {be_patient, &patience}};
    struct ts_git_graph *graph = NULL;
    assert_int_equal(ts_git_graph_new(repo, &options, &graph, NULL), TS_GIT_OK);
    struct ts_git_selection all = {.all_refs = true};
    struct ts_git_set *set = NULL;
    for (unsigned max = 0; max < 2; max++) { /* stops among commits, then among trees */
        patience = (struct patience){.max = max};
        assert_int_equal(ts_git_graph_reach(graph, &all, &set, NULL, NULL), TS_GIT_STOPPED);
    }
    patience = (struct patience){.max = UINT_MAX};
    assert_int_equal(ts_git_graph_reach(graph, &all, &set, NULL, NULL), TS_GIT_OK);
    assert_int_equal(ts_git_set_count(set), 3 * LONG);
    ts_git_set_free(set);

    struct ts_git_occurrences found;
    /* Expected calls of the watch: two by the ordering of times, two by the search for trees, one by the
     * selection, and one for each compared tree. */
    for (unsigned max = 0; max < 6; max++) {
        patience = (struct patience){.max = max};
        graph->has_order = false;
        graph->order.count = 0;
        assert_int_equal(attribute_first(graph, repo, &found), TS_GIT_OK);
        assert_true(found.is_stopped);
        assert_int_equal(found.count, 0);
        ts_git_occurrences_release(&found);
    }
    patience = (struct patience){.max = UINT_MAX};
    assert_int_equal(attribute_first(graph, repo, &found), TS_GIT_OK);
    assert_true(!found.is_stopped && found.count == 1);
    assert_int_equal(found.commits[0].commit_time_s, 1600000000);
    ts_git_occurrences_release(&found);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, maker_setup, maker_teardown)
    const struct CMUnitTest tests[] = {
        TEST(reachable_objects_are_those_that_git_lists),
        TEST(sha256_histories_are_walked),
        TEST(unreachable_objects_are_all_others),
        TEST(commits_since_a_time_bring_what_their_parents_had_not),
        TEST(missing_objects_are_named_and_the_rest_is_reached),
        TEST(objects_that_shallow_and_partial_clones_lack_are_counted),
        TEST(the_memory_of_a_graph_is_limited),
        TEST(a_tree_too_large_to_be_held_is_named),
        TEST(a_bad_tree_leads_to_its_entries_before_the_damage),
        TEST(a_submodule_is_neither_missing_nor_a_place_of_a_blob),
        TEST(the_first_commit_of_each_path_is_found),
        TEST(a_merge_brings_nothing_that_any_of_its_parents_had),
        TEST(equal_times_are_distinguished_by_id),
        TEST(the_memory_of_tracing_is_limited),
        TEST(more_paths_than_anyone_can_print_are_cut),
        TEST(a_watch_ends_work_on_a_long_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
