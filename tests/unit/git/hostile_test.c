/* Reads repositories that were built or damaged to make a reader fail. */
#include "git/walk.h"

#include "objects.h"
#include "pack_writer.h"

static struct seen_list visit_with_faults(const char *folder, struct ts_git_visit_options options,
                                          struct fault_list *faults, struct ts_git_visit_stats *ret_stats) {
    struct ts_git_repo *repo = NULL;
    struct ts_git_open_options open = {.faults = {fault_take, faults}};
    assert_int_equal(ts_git_repo_open(folder, &open, &repo, NULL), TS_GIT_OK);
    options.faults = open.faults;
    struct seen_list found = seen_by_visit(repo, &options, ret_stats);
    ts_git_repo_free(repo);
    return found;
}

static struct fault_list *new_faults(void) {
    struct fault_list *faults = calloc(1, sizeof *faults);
    assert_non_null(faults);
    return faults;
}

static const struct seen *find_seen(const struct seen_list *list, struct ts_git_oid oid) {
    struct seen key = {.oid = oid};
    return list->count == 0 ? NULL : bsearch(&key, list->items, list->count, sizeof key, seen_compare);
}

static void deltas_that_go_round_are_named_and_the_rest_is_read(void **state) {
    (void)state;
    struct pack_writer w;
    uint8_t delta[64];
    writer_init(&w);
    writer_blob(&w, "sound", 5);                                              /* entry 0 */
    writer_ref_delta(&w, writer_oid(2), delta, delta_append(delta, 5, 'x'));  /* entry 1 */
    writer_ref_delta(&w, writer_oid(1), delta, delta_append(delta, 5, 'x'));  /* entry 2 */
    writer_ref_delta(&w, writer_oid(3), delta, delta_append(delta, 5, 'x'));  /* 3: its base is itself */
    writer_ref_delta(&w, writer_oid(99), delta, delta_append(delta, 5, 'x')); /* 4: its base is missing */
    writer_ref_delta(&w, writer_oid(4), delta, delta_append(delta, 6, 'x'));  /* 5: its base is 4 */
    writer_ref_delta(&w, writer_oid(0), delta, delta_append(delta, 5, 'x'));  /* entry 6 */
    writer_finish(&w, "r");
    struct fault_list *faults = new_faults();
    struct seen_list found =
        visit_with_faults("r", (struct ts_git_visit_options){.threads = 2}, faults, NULL);
    assert_int_equal(found.count, 2);
    assert_non_null(find_seen(&found, writer_oid(0)));
    assert_int_equal(find_seen(&found, writer_oid(6))->size, 6);
    assert_int_equal(faults->count, 5);
    for (uint32_t i = 1; i <= 5; i++) {
        struct ts_git_oid oid = writer_oid(i);
        assert_true(fault_names(faults, &oid));
    }
    /* Reading these objects one at a time fails, too. */
    struct ts_git_repo *repo = open_repo("r");
    for (uint32_t i = 1; i <= 5; i++) {
        struct ts_git_oid oid = writer_oid(i);
        struct ts_git_content content;
        assert_int_not_equal(ts_git_object_read(repo, &oid, 1000, &content, NULL), TS_GIT_OK);
    }
    ts_git_repo_free(repo);
    free(found.items);
    free(faults);
}

static void chains_of_twenty_thousand_deltas_are_rebuilt(void **state) {
    (void)state;
    struct pack_writer w;
    writer_init(&w);
    uint64_t base = writer_blob(&w, "start", 5);
    for (uint32_t i = 0; i < 20000; i++) {
        uint8_t delta[64];
        base = writer_offset_delta(&w, base, delta, delta_append(delta, 5 + i, (uint8_t)('a' + i % 26)));
    }
    writer_finish(&w, "r");
    struct fault_list *faults = new_faults();
    struct ts_git_visit_stats stats;
    struct seen_list found =
        visit_with_faults("r", (struct ts_git_visit_options){.threads = 2}, faults, &stats);
    assert_int_equal(found.count, 20001);
    assert_int_equal(found.with_base, 20000);
    assert_int_equal(faults->count, 0);
    assert_int_equal(find_seen(&found, writer_oid(20000))->size, 20005);
    assert_true(stats.held_bytes_max < 4 << 20);
    free(found.items);
    free(faults);
}

/* Each object except the last ones is the base of two deltas, so bases must be kept while other objects are
 * built. */
static void a_bush_of_deltas_stays_in_its_budget(void **state) {
    (void)state;
    enum { NODES = 127, SIZE = 200000 };
    struct pack_writer w;
    uint64_t offsets[NODES];
    struct ts_prng prng;
    uint8_t *content = malloc(SIZE);
    ts_prng_init(&prng, 5);
    ts_prng_fill(&prng, content, SIZE);
    writer_init(&w);
    offsets[0] = writer_blob(&w, content, SIZE);
    unsigned depth_of[NODES] = {0};
    for (uint32_t i = 1; i < NODES; i++) {
        uint8_t delta[64];
        uint32_t parent = (i - 1) / 2;
        depth_of[i] = depth_of[parent] + 1;
        offsets[i] = writer_offset_delta(&w, offsets[parent], delta,
                                         delta_append(delta, SIZE + depth_of[parent], (uint8_t)i));
    }
    writer_finish(&w, "r");
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct fault_list *faults = new_faults();
        struct ts_git_visit_stats stats;
        struct seen_list found = visit_with_faults(
            "r", (struct ts_git_visit_options){.threads = threads, .memory_bytes = 4 << 20}, faults, &stats);
        assert_int_equal(found.count, NODES);
        assert_int_equal(found.with_base, NODES - 1);
        assert_int_equal(faults->count, 0);
        assert_true(threads > 1 || stats.rebuilt > 0);
        assert_true(stats.held_bytes_max <= 4 << 20);
        free(found.items);
        free(faults);
    }
    free(content);
}

static void sizes_that_lie_are_faults(void **state) {
    (void)state;
    struct pack_writer w;
    uint8_t delta[64];
    writer_init(&w);
    uint64_t base = writer_blob(&w, "sound", 5);                  /* entry 0 */
    writer_entry(&w, 3, 4, NULL, 0, "longer", 6);                 /* entry 1 */
    writer_entry(&w, 3, 7, NULL, 0, "longer", 6);                 /* entry 2 */
    writer_entry(&w, 3, UINT64_C(1) << 62, NULL, 0, "longer", 6); /* entry 3 */
    size_t len = delta_number(delta, 5);
    len += delta_number(delta + len, UINT64_C(1) << 60);
    len += delta_copy(delta + len, 0, 5);
    writer_offset_delta(&w, base, delta, len);                         /* 4: states a result of 2^60 bytes */
    writer_offset_delta(&w, base, delta, delta_append(delta, 6, 'x')); /* 5: states a wrong base size */
    len = delta_number(delta, 5);
    len += delta_number(delta + len, 4);
    len += delta_copy(delta + len, 3, 4);
    writer_offset_delta(&w, base, delta, len);                          /* 6: copies beyond the base */
    writer_offset_delta(&w, base, "\5\1\0", 3);                         /* 7: reserved instruction */
    writer_entry(&w, 5, 6, NULL, 0, "longer", 6);                       /* 8: no such type */
    writer_entry(&w, 6, 6, "\377\377\377\377\377\177", 6, "longer", 6); /* 9: far before the pack */
    writer_offset_delta(&w, base, delta, delta_append(delta, 5, 'x'));  /* 10: sound */
    writer_finish(&w, "r");
    struct fault_list *faults = new_faults();
    struct seen_list found =
        visit_with_faults("r", (struct ts_git_visit_options){.threads = 1}, faults, NULL);
    assert_int_equal(found.count, 2);
    assert_non_null(find_seen(&found, writer_oid(0)));
    assert_non_null(find_seen(&found, writer_oid(10)));
    for (uint32_t i = 1; i <= 9; i++) {
        struct ts_git_oid oid = writer_oid(i);
        assert_true(fault_names(faults, &oid));
    }
    assert_int_equal(faults->count, 9);
    free(found.items);
    free(faults);
}

/* Visits a small delta that makes 64 MiB, and a delta of its result, with a budget of 4 MiB. */
static void bombs_come_in_windows_within_the_budget(void **state) {
    (void)state;
    struct pack_writer w;
    uint8_t *delta = malloc(1 << 16);
    uint8_t zeros[0x10000] = {0};
    writer_init(&w);
    uint64_t base = writer_blob(&w, zeros, sizeof zeros);
    size_t len = delta_number(delta, sizeof zeros);
    len += delta_number(delta + len, UINT64_C(64) << 20);
    for (unsigned i = 0; i < 1024; i++)
        len += delta_copy(delta + len, 0, 0x10000);
    uint64_t bomb = writer_offset_delta(&w, base, delta, len);
    writer_offset_delta(&w, bomb, delta, delta_append(delta, UINT64_C(64) << 20, '!'));
    uint8_t *large = calloc(1, 32 << 20);
    writer_blob(&w, large, 32 << 20);
    free(large);
    free(delta);
    writer_finish(&w, "r");
    struct fault_list *faults = new_faults();
    struct ts_git_visit_stats stats;
    struct seen_list found = visit_with_faults(
        "r", (struct ts_git_visit_options){.threads = 2, .memory_bytes = 4 << 20}, faults, &stats);
    assert_int_equal(found.count, 4);
    assert_int_equal(faults->count, 0);
    assert_int_equal(find_seen(&found, writer_oid(2))->size, (64 << 20) + 1);
    assert_true(stats.held_bytes_max <= 4 << 20);
    assert_true(stats.spilled_bytes >= 64 << 20);
    free(found.items);
    found = visit_with_faults("r", (struct ts_git_visit_options){.threads = 2, .object_bytes_max = 1 << 20},
                              faults, &stats);
    assert_int_equal(found.count, 1);
    assert_int_equal(faults->count, 3);
    free(found.items);
    free(faults);
}

/* ---- trees that git would not make ---- */

static uint32_t write_tree(struct pack_writer *w, const char *entry, uint32_t child) {
    uint8_t content[64];
    size_t len = strlen(entry) + 1;
    memcpy(content, entry, len);
    struct ts_git_oid oid = writer_oid(child);
    memcpy(content + len, oid.bytes, 20);
    writer_entry(w, 2, len + 20, NULL, 0, content, len + 20);
    return w->count - 1;
}

/* Writes a commit of the tree, and returns its id. refs/heads/main of the repository will point to this
 * commit. */
static struct ts_git_oid write_commit(struct pack_writer *w, uint32_t tree) {
    char content[256];
    char hex[TS_GIT_OID_HEX_SIZE];
    struct ts_git_oid oid = writer_oid(tree);
    int len =
        snprintf(content, sizeof content, "tree %s\nauthor A <a@x> 1 +0000\ncommitter C <c@x> 1 +0000\n\nm\n",
                 ts_git_oid_format(TS_GIT_SHA1, &oid, hex));
    return writer_true_entry(w, TS_GIT_COMMIT, ts_bytes_of(content, (size_t)len));
}

static struct ts_git_graph *finish_graph(struct pack_writer *w, struct ts_git_oid tip,
                                         struct ts_git_repo **ret_repo) {
    char hex[TS_GIT_OID_HEX_SIZE];
    struct ts_git_graph *graph = NULL;
    writer_finish(w, "r");
    sh("mkdir -p r/refs/heads && echo %s >r/refs/heads/main", ts_git_oid_format(TS_GIT_SHA1, &tip, hex));
    *ret_repo = open_repo("r");
    assert_int_equal(ts_git_graph_new(*ret_repo, NULL, &graph, NULL), TS_GIT_OK);
    return graph;
}

static void folders_nested_without_end_are_cut(void **state) {
    (void)state;
    struct pack_writer w;
    writer_init(&w);
    writer_blob(&w, "deep", 4);
    uint32_t tree = write_tree(&w, "100644 f", 0);
    for (int i = 1; i < 20000; i++)
        tree = write_tree(&w, "40000 d", tree);
    struct ts_git_repo *repo;
    struct ts_git_graph *graph = finish_graph(&w, write_commit(&w, tree), &repo);
    struct ts_git_selection all = {.all_refs = true};
    struct ts_git_set *set = NULL;
    struct ts_git_reach_stats stats;
    struct ts_git_occurrences occurrences;
    assert_int_equal(ts_git_graph_reach(graph, &all, &set, &stats, NULL), TS_GIT_OK);
    assert_int_equal(stats.trees, 20000);
    assert_int_equal(stats.blobs, 1);
    assert_int_equal(ts_git_graph_attribute(graph, &all, set, 0, &occurrences, NULL), TS_GIT_OK);
    assert_int_equal(occurrences.count, 0);
    ts_git_occurrences_release(&occurrences);
    ts_git_set_free(set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
}

/* Makes a chain of trees. Each tree is a delta of the previous tree, and has another blob. Only the last tree
 * is reachable. */
static void check_chain_of_trees(uint32_t length, bool is_exact) {
    struct pack_writer w;
    writer_init(&w);
    for (uint32_t i = 0; i < length; i++)
        writer_blob(&w, &i, sizeof i);
    uint64_t base = w.len;
    write_tree(&w, "100644 f", 0);
    for (uint32_t i = 1; i < length; i++) {
        uint8_t delta[64];
        struct ts_git_oid oid = writer_oid(i);
        size_t len = delta_number(delta, 29);
        len += delta_number(delta + len, 29);
        len += delta_copy(delta + len, 0, 9);
        delta[len++] = 20;
        memcpy(delta + len, oid.bytes, 20);
        base = writer_offset_delta(&w, base, delta, len + 20);
    }
    struct ts_git_repo *repo;
    struct ts_git_graph *graph = finish_graph(&w, write_commit(&w, w.count - 1), &repo);
    struct ts_git_selection all = {.all_refs = true};
    struct ts_git_set *set = NULL;
    struct ts_git_reach_stats stats;
    assert_int_equal(ts_git_graph_reach(graph, &all, &set, &stats, NULL), TS_GIT_OK);
    struct ts_git_oid last = writer_oid(length - 1);
    assert_true(ts_git_set_has(set, &last));
    assert_int_equal(stats.trees, 1);
    assert_int_equal(stats.blobs, is_exact ? 1 : length);
    ts_git_set_free(set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
    sh("rm -rf r");
}

static void long_chains_of_trees_lose_nothing(void **state) {
    (void)state;
    check_chain_of_trees(300, true);
    check_chain_of_trees(4096, true);
    check_chain_of_trees(5000, false);
}

/* ---- every byte ---- */

struct original {
    char *bytes;
    size_t len;
};

/* Writes the changed file and reads the repository. Each object must be unchanged, or there must be a fault.
 * If must_name is true, a fault must name each object that was not read. */
static void check_changed(const char *file, struct ts_bytes changed, const struct seen_list *expected,
                          bool must_name) {
    static const struct ts_git_visit_options options = {
        .types = ALL_TYPES, .threads = 1, .memory_bytes = 4 << 20};
    write_file(file, changed.data, changed.len);
    struct fault_list *faults = new_faults();
    struct ts_git_repo *repo = NULL;
    struct ts_git_open_options open = {.faults = {fault_take, faults}};
    assert_int_equal(ts_git_repo_open("b", &open, &repo, NULL), TS_GIT_OK);
    struct ts_git_visit_options used = options;
    used.faults = open.faults;
    struct seen_list found = seen_by_visit(repo, &used, NULL);
    for (size_t i = 0; i < expected->count; i++) {
        const struct seen *seen = find_seen(&found, expected->items[i].oid);
        if (seen != NULL) {
            assert_true(seen->hash == expected->items[i].hash);
            assert_int_equal(seen->type, expected->items[i].type);
        } else if (must_name) {
            assert_true(fault_names(faults, &expected->items[i].oid));
        }
    }
    if (found.count < expected->count)
        assert_true(faults->count > 0);
    struct ts_git_graph *graph = NULL;
    struct ts_git_set *set = NULL;
    struct ts_git_selection all = {.all_refs = true};
    assert_int_equal(ts_git_graph_new(repo, NULL, &graph, NULL), TS_GIT_OK);
    if (ts_git_graph_reach(graph, &all, &set, NULL, NULL) == TS_GIT_OK)
        ts_git_set_free(set);
    ts_git_graph_free(graph);
    free(found.items);
    free(faults);
    ts_git_repo_free(repo);
}

static void check_every_byte(const char *pattern, bool must_name, size_t stride) {
    struct seen_list expected = seen_by_git("b", TS_GIT_SHA1);
    char *file = output_of(NULL, "ls %s && chmod u+w %s", pattern, pattern);
    file[strcspn(file, "\n")] = '\0';
    struct original original;
    original.bytes = output_of(&original.len, "cat %s", file);
    uint8_t *changed = malloc(original.len);
    struct ts_prng prng;
    ts_prng_init(&prng, 99);
    for (size_t at = (size_t)ts_prng_below(&prng, stride); at < original.len; at += stride) {
        memcpy(changed, original.bytes, original.len);
        changed[at] ^= (uint8_t)(1u << ts_prng_below(&prng, 8));
        check_changed(file, ts_bytes_of(changed, original.len), &expected, must_name);
        check_changed(file, ts_bytes_of(original.bytes, at), &expected, must_name && at > 0);
    }
    free(changed);
    free(original.bytes);
    free(file);
    free(expected.items);
}

static void make_small(void) {
    sh("git init -q r && cd r && mkdir d && for i in 1 2 3 4; do for k in 1 2 3 4 5 6 7 8 9; do echo \"line "
       "$k of "
       "$((i * k))\"; done >d/f && echo $i >g$((i %% 2)) && git add . && git commit -qm $i; done && git tag "
       "-am t t && "
       "cd .. && git clone -q --bare r b && git -C b repack -q -adf && git -C b pack-refs --all");
}

static void any_changed_byte_of_a_pack_is_noticed(void **state) {
    (void)state;
    make_small();
    check_every_byte("b/objects/pack/pack-*.pack", true, 2);
}

/* A changed id in the index stands for another object, so faults do not name every object that was lost.
 * Objects that refer to a lost object report it as missing. */
static void any_changed_byte_of_an_index_is_survived(void **state) {
    (void)state;
    make_small();
    check_every_byte("b/objects/pack/pack-*.idx", false, 3);
}

static void any_changed_byte_of_a_multi_pack_index_is_survived(void **state) {
    (void)state;
    make_small();
    sh("git -C b multi-pack-index write");
    check_every_byte("b/objects/pack/multi-pack-index", true, 5);
}

static void any_changed_byte_of_a_loose_object_is_noticed(void **state) {
    (void)state;
    make_small();
    sh("rm -rf b && git clone -q --bare --no-hardlinks r b && git -C b pack-refs --all");
    char *files = output_of(NULL, "ls b/objects/[0-9a-f][0-9a-f]/*");
    char *rest = files;
    for (char *file; (file = strsep(&rest, "\n")) != NULL && file[0] != '\0';) {
        struct seen_list expected = seen_by_git("b", TS_GIT_SHA1);
        size_t len;
        char *bytes = output_of(&len, "cat %s", file);
        uint8_t *changed = malloc(len + 1);
        sh("chmod u+w %s", file);
        for (size_t at = 0; at < len; at += 1 + len / 4) {
            memcpy(changed, bytes, len);
            changed[at] ^= 0x10;
            check_changed(file, ts_bytes_of(changed, len), &expected, true);
            check_changed(file, ts_bytes_of(bytes, at), &expected, true);
        }
        write_file(file, bytes, len);
        free(changed);
        free(bytes);
        free(expected.items);
    }
    free(files);
}

/* ---- configuration ---- */

static void nothing_that_a_repository_configures_is_executed(void **state) {
    (void)state;
    sh("git init -q r");
    maker_history("r", 10, 3);
    sh("cd r && git config core.fsmonitor \"touch $HOME/executed\" && git config core.hooksPath \"$PWD/h\" "
       "&& git config "
       "filter.x.smudge \"touch $HOME/executed\" && git config filter.x.clean \"touch $HOME/executed\" && "
       "git config "
       "diff.external \"touch $HOME/executed\" && git config core.pager \"touch $HOME/executed\" && git "
       "config "
       "core.sshCommand \"touch $HOME/executed\" && git config include.path \"$HOME/fifo\" && mkfifo "
       "\"$HOME/fifo\" && "
       "mkdir h && for k in post-checkout post-index-change reference-transaction; do printf "
       "'#!/bin/sh\\ntouch "
       "$HOME/executed\\n' >h/$k && chmod +x h/$k; done && echo '* filter=x diff=x' >.git/info/attributes");
    struct ts_git_repo *repo = open_repo("r");
    struct seen_list found = seen_by_visit(repo, &(struct ts_git_visit_options){.types = ALL_TYPES}, NULL);
    assert_true(found.count > 20);
    struct ts_git_refs refs;
    assert_int_equal(ts_git_refs_list(repo, NULL, &refs, NULL), TS_GIT_OK);
    ts_git_refs_release(&refs);
    free(found.items);
    ts_git_repo_free(repo);
    sh("test ! -e \"$HOME/executed\"");
}

/* A pipe in place of a file must not block the reader. */
static void pipes_in_place_of_files_are_faults(void **state) {
    (void)state;
    sh("git init -q r && mkfifo r/.git/objects/pack/pack-1.idx r/.git/refs/heads/pipe r/.git/packed-refs");
    struct fault_list *faults = new_faults();
    struct ts_git_repo *repo = NULL;
    struct ts_git_open_options open = {.faults = {fault_take, faults}};
    assert_int_equal(ts_git_repo_open("r", &open, &repo, NULL), TS_GIT_OK);
    assert_int_equal(faults->count, 1);
    faults->count = 0;
    struct ts_git_refs refs;
    assert_int_equal(ts_git_refs_list(repo, &open.faults, &refs, NULL), TS_GIT_OK);
    assert_int_equal(faults->count, 2);
    assert_int_equal(faults->items[0].error, TS_GIT_NOT_A_FILE);
    assert_non_null(strstr(faults->items[0].thing, "packed-refs"));
    assert_int_equal(faults->items[1].error, TS_GIT_NOT_A_FILE);
    assert_string_equal(faults->items[1].thing, "refs/heads/pipe");
    ts_git_refs_release(&refs);
    ts_git_repo_free(repo);
    free(faults);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, maker_setup, maker_teardown)
    const struct CMUnitTest tests[] = {
        TEST(deltas_that_go_round_are_named_and_the_rest_is_read),
        TEST(chains_of_twenty_thousand_deltas_are_rebuilt),
        TEST(a_bush_of_deltas_stays_in_its_budget),
        TEST(sizes_that_lie_are_faults),
        TEST(bombs_come_in_windows_within_the_budget),
        TEST(folders_nested_without_end_are_cut),
        TEST(long_chains_of_trees_lose_nothing),
        TEST(any_changed_byte_of_a_pack_is_noticed),
        TEST(any_changed_byte_of_an_index_is_survived),
        TEST(any_changed_byte_of_a_multi_pack_index_is_survived),
        TEST(any_changed_byte_of_a_loose_object_is_noticed),
        TEST(nothing_that_a_repository_configures_is_executed),
        TEST(pipes_in_place_of_files_are_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
