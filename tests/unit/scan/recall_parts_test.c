/* Scans of a repository whose results a caller keeps in memory as parts. */
#include "repo_maker.h"

#include "base/hex.h"
#include "os/grow.h"
#include "scan/scan.h"

#include <pthread.h>

#define RULES                                                                                                \
    "rules:\n  - {id: team, name: Team, pattern: '\\b(?<secret>team_[a-z0-9]{12})\\b', gate: [team_], "      \
    "severity: low, reach: 20}\n"

/* Every secret of the repository, except those that a test adds. */
static const char *const SECRETS[] = {"team_q7w3e9r1t5y2", "team_k4j8h2g6f1d3", "team_m5n8b2v6c1x3",
                                      "team_p0o9i8u7y6t5", "team_a1s2d3f4g5h6", "team_z9x8c7v6b5n4"};
#define SECRET_COUNT (sizeof SECRETS / sizeof SECRETS[0])

static int begin(void **state) {
    assert_int_equal(maker_setup(state), 0);
    sh("git init -q repo");
    maker_history("repo", 60, 7);
    sh("printf '%%s' \"%s\" > rules.yml", RULES);
    sh("cd repo && git checkout -q main && echo %s > key.txt && git add . && git commit -qm one", SECRETS[0]);
    for (int i = 0; i < 5; i++)
        sh("cd repo && echo 'line %d %s' >> key.txt && git add . && git commit -qm more%d", i, SECRETS[i % 2],
           i);
    sh("cd repo && echo '%s # turnstone:allow' > marked.txt && printf '%s # turnstone:allow\\n\\n%s\\n' > half.txt && "
       "git add . && git commit -qm marked",
       SECRETS[2], SECRETS[1], SECRETS[1]);
    sh("cd repo && mkdir in && echo %s > in/env && tar czf in.tar.gz in && rm -r in && git add . && git commit -qm archive",
       SECRETS[3]);
    sh("cd repo && git commit -q --allow-empty -m 'see %s' && git tag -am 'tag %s' v2 && git tag -am 'tag %s' rel-%s",
       SECRETS[4], SECRETS[5], SECRETS[1], SECRETS[0]);
    sh("cd repo && git gc -q");
    return 0;
}

/* ---- a caller ---- */

struct pages {
    struct ts_bytes *items;
    size_t count;
    size_t capacity;
};

struct book {
    struct pages known;
    struct pages hits;
    struct pages other_hits;
    struct ts_bytes tips;
    struct ts_bytes again;
    struct ts_scan_moment moment;
    struct ts_scan_progress *progress;
    enum ts_scan_parts_answer answer;
    unsigned begins;
    unsigned loads;
    unsigned keeps;
    unsigned rests;
    unsigned keeps_max; /* the scan loses the right to continue after this many parts; 0: never */
    unsigned stop_at;   /* a different thread stops the scan after this many parts; 0: never */
    bool fails_load;
    bool all_valid;
};

static struct ts_bytes copy_of(struct ts_bytes bytes) {
    uint8_t *copy = malloc(bytes.len + 1);
    assert_non_null(copy);
    if (bytes.len > 0)
        memcpy(copy, bytes.data, bytes.len);
    return ts_bytes_of(copy, bytes.len);
}

static void add_page(struct pages *pages, struct ts_bytes bytes) {
    if (bytes.len == 0)
        return;
    assert_true(TS_GROW(pages->items, pages->capacity, pages->count + 1));
    pages->items[pages->count++] = copy_of(bytes);
}

static void clear_pages(struct pages *pages) {
    for (size_t i = 0; i < pages->count; i++)
        free((uint8_t *)(uintptr_t)pages->items[i].data);
    free(pages->items);
    *pages = (struct pages){.count = 0};
}

static void close_book(struct book *book) {
    clear_pages(&book->known);
    clear_pages(&book->hits);
    clear_pages(&book->other_hits);
    free((uint8_t *)(uintptr_t)book->tips.data);
    free((uint8_t *)(uintptr_t)book->again.data);
    *book = (struct book){.begins = 0};
}

static enum ts_scan_parts_answer book_begin(void *ctx, const struct ts_scan_moment *moment) {
    struct book *book = ctx;
    book->begins++;
    book->moment = *moment;
    assert_true(moment->tips.len > 0);
    return book->answer;
}

static bool book_load(void *ctx, struct ts_scan_earlier *earlier) {
    struct book *book = ctx;
    book->loads++;
    book->all_valid = true;
    if (book->tips.data != NULL)
        ts_scan_earlier_tips(earlier, book->tips, book->again);
    for (size_t i = 0; i < book->known.count; i++)
        ts_scan_earlier_known(earlier, book->known.items[i]);
    for (size_t i = 0; i < book->hits.count; i++)
        book->all_valid = ts_scan_earlier_hits(earlier, book->hits.items[i]) && book->all_valid;
    for (size_t i = 0; i < book->other_hits.count; i++)
        book->all_valid = ts_scan_earlier_other_hits(earlier, book->other_hits.items[i]) && book->all_valid;
    return !book->fails_load;
}

static bool book_keep(void *ctx, const struct ts_scan_part *part) {
    struct book *book = ctx;
    book->keeps++;
    assert_true(part->known.len <= TS_SCAN_PART_MAX && part->hits.len <= TS_SCAN_PART_MAX);
    for (size_t i = 20; i < part->known.len; i += 20)
        assert_true(memcmp(part->known.data + i - 20, part->known.data + i, 20) < 0);
    if (book->keeps_max != 0 && book->keeps > book->keeps_max)
        return false;
    add_page(&book->known, part->known);
    add_page(&book->hits, part->hits);
    book->rests += part->is_rest;
    if (book->stop_at != 0 && book->keeps == book->stop_at)
        atomic_store(&book->progress->stop, true);
    return true;
}

static const struct ts_scan_parts_ops OPS = {.begin = book_begin, .load = book_load, .keep = book_keep};

/* ---- a scan ---- */

struct scanned {
    char *text; /* one line for each occurrence, sorted as in reports */
    size_t findings;
    uint64_t looked_at;
    uint64_t known;
    uint64_t blobs;
    bool is_stopped;
    bool is_whole;
    bool is_same;
};

static struct ts_scan_options options_of(const struct ts_scan_target *target, const char *const *rules) {
    return (struct ts_scan_options){.targets = target,
                                    .target_count = 1,
                                    .rule_files = rules,
                                    .rule_file_count = 1,
                                    .no_builtin_rules = true,
                                    .no_repo_config = true,
                                    .cache_folder = "",
                                    .salt = TS_BYTES("key of the tenant"),
                                    .occurrences_max = TS_SCAN_OCCURRENCES_ALL,
                                    .lists_allowed = true,
                                    .jobs = 2};
}

static char *describe(const struct ts_report *report) {
    size_t size = 1 << 20;
    char *text = malloc(size);
    size_t len = 0;
    assert_non_null(text);
    text[0] = '\0';
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct ts_report_finding *f = &report->findings[i];
        assert_int_equal(f->listed_count, f->occurrence_count);
        for (size_t k = 0; k < f->listed_count; k++) {
            const struct ts_report_occurrence *o = &f->occurrences[k];
            len +=
                (size_t)snprintf(text + len, size - len, "%s %s %s %s %s:%llu:%llu %s %d %d %d\n",
                                 f->rule->id, f->id.text, f->redacted, o->object, (const char *)o->path.data,
                                 (unsigned long long)o->line, (unsigned long long)o->column,
                                 o->commit == TS_REPORT_NONE ? "-" : report->commits[o->commit].oid,
                                 (int)f->confidence, (int)o->place, o->is_allowed);
            assert_true(len < size);
        }
    }
    return text;
}

static void scanned_release(struct scanned *scanned) {
    free(scanned->text);
    scanned->text = NULL;
}

static struct scanned scan_with(struct ts_scan_options options, struct book *book,
                                struct ts_scan_parts parts) {
    struct ts_scan_target target = {.path = "repo", .kind = TS_SCAN_TARGET_REPOSITORY};
    const char *const rules[] = {"rules.yml"};
    struct ts_scan_progress progress = {.objects = 0};
    struct ts_scan_options all = options_of(&target, rules);
    struct ts_scan_error error;
    struct ts_report report;
    parts.ops = &OPS;
    parts.ctx = book;
    all.parts = book != NULL ? &parts : NULL;
    all.progress = &progress;
    all.salt = options.salt.len > 0 ? options.salt : all.salt;
    all.profile = options.profile;
    all.refs = options.refs;
    all.ref_count = options.ref_count;
    all.patterns = options.patterns;
    all.pattern_count = options.pattern_count;
    all.default_branch = options.default_branch;
    if (book != NULL)
        book->progress = &progress;
    if (ts_scan_report_make(&all, &report, &error) != TS_SCAN_DONE)
        fail_msg("%s", error.text);
    struct ts_scan_end end =
        book != NULL ? ts_scan_report_end(&report) : (struct ts_scan_end){.is_whole = false};
    if (end.is_whole) {
        free((uint8_t *)(uintptr_t)book->tips.data);
        free((uint8_t *)(uintptr_t)book->again.data);
        book->tips = copy_of(end.moment.tips);
        book->again = copy_of(end.again);
    }
    struct scanned scanned = {.text = describe(&report),
                              .findings = report.finding_count,
                              .looked_at = report.targets[0].bytes_looked_at,
                              .known = report.targets[0].blobs_known,
                              .blobs = report.targets[0].blobs,
                              .is_stopped = report.is_stopped,
                              .is_whole = end.is_whole,
                              .is_same = end.is_same};
    ts_scan_report_release(&report);
    return scanned;
}

static struct scanned scan(struct book *book, size_t part_bytes) {
    return scan_with((struct ts_scan_options){.jobs = 0}, book,
                     (struct ts_scan_parts){.part_bytes = part_bytes});
}

/* Expects the occurrences that a scan without parts finds. */
static void assert_same_findings(const struct scanned *scanned) {
    struct scanned plain = scan(NULL, 0);
    assert_string_equal(scanned->text, plain.text);
    assert_int_equal(scanned->blobs, plain.blobs);
    scanned_release(&plain);
}

/* ---- tests ---- */

static void a_scan_with_parts_finds_the_same(void **state) {
    (void)state;
    struct book book = {.begins = 0};
    struct scanned scanned = scan(&book, 0);
    assert_int_equal(scanned.findings, SECRET_COUNT);
    assert_true(scanned.is_whole);
    assert_int_equal(book.begins, 1);
    assert_int_equal(book.loads, 1);
    assert_true(book.rests > 0);
    assert_non_null(strstr(scanned.text, "marked.txt:1:1"));
    assert_non_null(strstr(scanned.text, "half.txt:3:1")); /* line 1 is missing, because it is marked */
    assert_same_findings(&scanned);
    scanned_release(&scanned);
    close_book(&book);
}

static void marked_lines_are_listed_as_allowed(void **state) {
    (void)state;
    struct scanned plain = scan(NULL, 0);
    unsigned allowed = 0;
    for (const char *line = plain.text; *line != '\0'; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n');
        bool is_marked = memmem(line, (size_t)(end - line), "marked.txt", 10) != NULL;
        assert_int_equal(end[-1] == '1', is_marked);
        allowed += is_marked;
    }
    assert_int_equal(allowed, 1);
    scanned_release(&plain);
}

static void parts_contain_no_secret(void **state) {
    (void)state;
    struct book book = {.begins = 0};
    struct scanned scanned = scan(&book, 20);
    assert_true(book.hits.count > 0);
    for (size_t i = 0; i < book.hits.count; i++)
        for (size_t k = 0; k < SECRET_COUNT; k++)
            assert_null(memmem(book.hits.items[i].data, book.hits.items[i].len, SECRETS[k] + 5, 12));
    scanned_release(&scanned);
    close_book(&book);
}

static void a_scan_that_loses_its_right_is_continued(void **state) {
    (void)state;
    unsigned continued = 0;
    /* The number of calls of a scan depends on its speed. On a busy machine too few scans may end early, so
     * there are up to 50 tries. */
    for (unsigned tries = 0, max = 1; tries < 50 && (continued <= 2 || tries < 10);
         tries++, max = max % 200 + 22) {
        struct book book = {.keeps_max = max};
        struct scanned first = scan(&book, 20);
        unsigned keeps = book.keeps;
        assert_int_equal(first.is_stopped, keeps > max);
        assert_int_equal(first.is_whole, keeps <= max);
        assert_true(keeps <= max + 1); /* the caller is not called again */
        book.keeps_max = 0;
        struct scanned second = scan(&book, 20);
        assert_true(second.is_whole);
        assert_same_findings(&second);
        if (first.is_stopped && second.known > 0) {
            struct scanned all = scan(NULL, 0);
            assert_true(second.looked_at < all.looked_at);
            scanned_release(&all);
            continued++;
        }
        scanned_release(&first);
        scanned_release(&second);
        close_book(&book);
    }
    assert_true(continued > 2);
}

static void a_stopped_scan_passes_on_its_results(void **state) {
    (void)state;
    struct book book = {.stop_at = 1};
    struct scanned first = scan(&book, 20);
    assert_true(first.is_stopped);
    assert_false(first.is_whole);
    assert_int_equal(first.findings, 0);
    book.stop_at = 0;
    struct scanned second = scan(&book, 20);
    assert_same_findings(&second);
    scanned_release(&first);
    scanned_release(&second);
    close_book(&book);
}

static void a_caller_can_end_it_at_its_beginning(void **state) {
    (void)state;
    struct book same = {.answer = TS_SCAN_PARTS_SAME};
    struct scanned scanned = scan(&same, 20);
    assert_true(scanned.is_same && !scanned.is_stopped && !scanned.is_whole);
    assert_int_equal(scanned.findings, 0);
    assert_int_equal(same.loads + same.keeps, 0);
    scanned_release(&scanned);
    struct book stop = {.answer = TS_SCAN_PARTS_STOP};
    scanned = scan(&stop, 20);
    assert_true(scanned.is_stopped && !scanned.is_same);
    assert_int_equal(stop.loads + stop.keeps, 0);
    scanned_release(&scanned);
    struct book lost = {.fails_load = true};
    scanned = scan(&lost, 20);
    assert_true(scanned.is_stopped);
    assert_int_equal(lost.keeps, 0);
    scanned_release(&scanned);
}

static void objects_that_earlier_tips_reach_are_not_read_again(void **state) {
    (void)state;
    struct book book = {.begins = 0};
    struct scanned first = scan(&book, 0);
    assert_true(book.again.len >= 20); /* `again` has the archive, and the tag with a secret in its name */
    clear_pages(&book.known);
    struct scanned second = scan(&book, 0);
    assert_true(second.is_whole);
    assert_true(second.looked_at * 20 < first.looked_at);
    assert_same_findings(&second);
    sh("cd repo && echo 'team_n3w5e7c9r1t2' > new.txt && git add . && git commit -qm new && git checkout -q -B side HEAD~3");
    struct scanned third = scan(&book, 0);
    assert_int_equal(third.findings, SECRET_COUNT + 1);
    assert_true(third.looked_at * 20 < first.looked_at);
    assert_same_findings(&third);
    scanned_release(&first);
    scanned_release(&second);
    scanned_release(&third);
    close_book(&book);
}

static void tips_that_are_gone_are_not_used(void **state) {
    (void)state;
    struct book book = {.begins = 0};
    struct scanned first = scan(&book, 0);
    clear_pages(&book.known);
    sh("cd repo && git commit -q --amend --allow-empty -m other && git tag -d v2 >/dev/null && git reflog expire --expire=now --all && "
       "git gc -q --prune=now");
    struct scanned second = scan(&book, 0);
    assert_true(second.looked_at * 2 > first.looked_at);
    assert_same_findings(&second);
    scanned_release(&first);
    scanned_release(&second);
    close_book(&book);
}

static void tips_are_not_used_with_a_damaged_page_or_a_shallow_history(void **state) {
    (void)state;
    struct book book = {.begins = 0};
    struct scanned first = scan(&book, 0);
    clear_pages(&book.known);
    book.hits.items[0].len--;
    struct scanned second = scan(&book, 0);
    assert_false(book.all_valid);
    assert_true(second.looked_at * 2 > first.looked_at);
    assert_same_findings(&second);
    scanned_release(&first);
    scanned_release(&second);
    close_book(&book);
    sh("git clone -q --depth 3 file://$PWD/repo shallow && mv repo whole && mv shallow repo");
    first = scan(&book, 0);
    assert_false(first.is_whole);
    scanned_release(&first);
    close_book(&book);
}

static void hits_of_another_judging_are_read_again(void **state) {
    (void)state;
    struct book book = {.begins = 0};
    struct scanned first = scan_with((struct ts_scan_options){.salt = TS_BYTES("another key")}, &book,
                                     (struct ts_scan_parts){.part_bytes = 0});
    struct ts_scan_moment moment = book.moment;
    book.other_hits = book.hits;
    book.hits = (struct pages){.count = 0};
    clear_pages(&book.known);
    struct scanned second = scan(&book, 0);
    assert_memory_equal(book.moment.rules, moment.rules, sizeof moment.rules);
    assert_memory_not_equal(book.moment.judging, moment.judging, sizeof moment.judging);
    assert_true(second.looked_at * 10 < first.looked_at);
    assert_same_findings(&second);
    scanned_release(&first);
    scanned_release(&second);
    close_book(&book);
}

static void the_moment_has_the_refs_and_the_rules(void **state) {
    (void)state;
    struct ts_scan_target target = {.path = "repo", .kind = TS_SCAN_TARGET_REPOSITORY};
    const char *const rules[] = {"rules.yml"};
    struct ts_scan_options options = options_of(&target, rules);
    struct ts_scan_error error;
    struct scan_profile *profile = ts_scan_profile_new(&options, &error);
    uint8_t id[TS_SCAN_KEY_LEN], judging[TS_SCAN_KEY_LEN];
    struct book book = {.answer = TS_SCAN_PARTS_SAME};
    assert_non_null(profile);
    ts_scan_profile_ids(profile, &options, id, judging);
    struct scanned scanned = scan(&book, 0);
    struct ts_scan_moment first = book.moment;
    scanned_release(&scanned);
    assert_memory_equal(first.rules, id, sizeof id);
    assert_memory_equal(first.judging, judging, sizeof judging);
    scanned = scan(&book, 0);
    assert_memory_equal(first.refs, book.moment.refs, sizeof first.refs);
    scanned_release(&scanned);
    sh("cd repo && git update-ref refs/notes/x main"); /* the same tips under another name */
    scanned = scan(&book, 0);
    assert_memory_not_equal(first.refs, book.moment.refs, sizeof first.refs);
    scanned_release(&scanned);
    ts_scan_profile_free(profile);
}

/* ---- selections ---- */

static bool has_path(struct ts_scan_options options, const char *path) {
    struct book book = {.begins = 0};
    struct scanned scanned = scan_with(options, &book, (struct ts_scan_parts){.part_bytes = 0});
    bool has = strstr(scanned.text, path) != NULL;
    assert_true(scanned.is_whole);
    scanned_release(&scanned);
    close_book(&book);
    return has;
}

static void selections_are_what_refs_and_commits_reach(void **state) {
    (void)state;
    sh("cd repo && git checkout -q -b rel/1 && echo 'team_r3l5e7a9s1e2' > rel.txt && git add . && git commit -qm rel && "
       "git checkout -q --orphan lone && git rm -rfq . && echo 'team_l3o5n7e9l1y2' > lone.txt && git add . && git commit -qm lone && "
       "git checkout -q main");
    const char *const rel[] = {"rel/*"};
    const char *const full[] = {"refs/heads/lone"};
    char *id = output_of(NULL, "git -C repo rev-parse rel/1 | tr -d '\\n'");
    const char *const commits[] = {id};
    assert_true(has_path((struct ts_scan_options){.default_branch = true}, "key.txt"));
    assert_false(has_path((struct ts_scan_options){.default_branch = true}, "rel.txt"));
    assert_true(has_path((struct ts_scan_options){.patterns = rel, .pattern_count = 1}, "rel.txt"));
    assert_true(has_path((struct ts_scan_options){.patterns = rel, .pattern_count = 1}, "key.txt"));
    assert_false(has_path((struct ts_scan_options){.patterns = rel, .pattern_count = 1}, "lone.txt"));
    assert_true(has_path((struct ts_scan_options){.patterns = full, .pattern_count = 1}, "lone.txt"));
    assert_false(has_path((struct ts_scan_options){.patterns = full, .pattern_count = 1}, "key.txt"));
    assert_true(has_path((struct ts_scan_options){.refs = commits, .ref_count = 1}, "key.txt"));
    free(id);
}

static void a_name_without_a_star_must_exist(void **state) {
    (void)state;
    struct ts_scan_target target = {.path = "repo", .kind = TS_SCAN_TARGET_REPOSITORY};
    const char *const rules[] = {"rules.yml"};
    const char *const none[] = {"nothing*"};
    const char *const wrong[] = {"nothing"};
    struct ts_scan_options options = options_of(&target, rules);
    struct ts_scan_error error;
    struct ts_report report;
    options.pattern_count = 1;
    options.patterns = none;
    assert_int_equal(ts_scan_report_make(&options, &report, &error), TS_SCAN_DONE);
    assert_int_equal(report.targets[0].commits, 0);
    ts_scan_report_release(&report);
    options.patterns = wrong;
    assert_int_equal(ts_scan_report_make(&options, &report, &error), TS_SCAN_BAD_TARGET);
    assert_string_equal(error.text, "unknown ref 'refs/heads/nothing'");
    sh("git init -q empty");
    target.path = "empty";
    options.pattern_count = 0;
    options.default_branch = true;
    assert_int_equal(ts_scan_report_make(&options, &report, &error), TS_SCAN_DONE);
    assert_int_equal(report.fault_total, 0);
    ts_scan_report_release(&report);
}

/* ---- at the same time ---- */

struct runner {
    struct scan_profile *profile;
    char *text;
    bool is_whole;
};

static void *run(void *ctx) {
    struct runner *runner = ctx;
    struct book book = {.begins = 0};
    struct scanned scanned = scan_with((struct ts_scan_options){.profile = &runner->profile}, &book,
                                       (struct ts_scan_parts){.part_bytes = 200});
    runner->text = scanned.text;
    runner->is_whole = scanned.is_whole;
    close_book(&book);
    return NULL;
}

static void several_scans_at_the_same_time_share_rules(void **state) {
    (void)state;
    enum { COUNT = 6 };
    struct ts_scan_target target = {.path = "repo", .kind = TS_SCAN_TARGET_REPOSITORY};
    const char *const rules[] = {"rules.yml"};
    struct ts_scan_options options = options_of(&target, rules);
    struct ts_scan_error error;
    struct scan_profile *profile = ts_scan_profile_new(&options, &error);
    struct runner runners[COUNT];
    pthread_t threads[COUNT];
    struct scanned plain = scan(NULL, 0);
    assert_non_null(profile);
    for (unsigned i = 0; i < COUNT; i++) {
        runners[i] = (struct runner){.profile = profile};
        assert_int_equal(pthread_create(&threads[i], NULL, run, &runners[i]), 0);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(runners[i].is_whole);
        assert_string_equal(runners[i].text, plain.text);
        free(runners[i].text);
    }
    scanned_release(&plain);
    ts_scan_profile_free(profile);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_scan_with_parts_finds_the_same, begin, maker_teardown),
        cmocka_unit_test_setup_teardown(marked_lines_are_listed_as_allowed, begin, maker_teardown),
        cmocka_unit_test_setup_teardown(parts_contain_no_secret, begin, maker_teardown),
        cmocka_unit_test_setup_teardown(a_scan_that_loses_its_right_is_continued, begin, maker_teardown),
        cmocka_unit_test_setup_teardown(a_stopped_scan_passes_on_its_results, begin, maker_teardown),
        cmocka_unit_test_setup_teardown(a_caller_can_end_it_at_its_beginning, begin, maker_teardown),
        cmocka_unit_test_setup_teardown(objects_that_earlier_tips_reach_are_not_read_again, begin,
                                        maker_teardown),
        cmocka_unit_test_setup_teardown(tips_that_are_gone_are_not_used, begin, maker_teardown),
        cmocka_unit_test_setup_teardown(tips_are_not_used_with_a_damaged_page_or_a_shallow_history, begin,
                                        maker_teardown),
        cmocka_unit_test_setup_teardown(hits_of_another_judging_are_read_again, begin, maker_teardown),
        cmocka_unit_test_setup_teardown(the_moment_has_the_refs_and_the_rules, begin, maker_teardown),
        cmocka_unit_test_setup_teardown(selections_are_what_refs_and_commits_reach, begin, maker_teardown),
        cmocka_unit_test_setup_teardown(a_name_without_a_star_must_exist, begin, maker_teardown),
        cmocka_unit_test_setup_teardown(several_scans_at_the_same_time_share_rules, begin, maker_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
