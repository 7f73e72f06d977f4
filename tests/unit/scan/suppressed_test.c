#include "kit.h"
#include "suppressed.h"

static struct kit kit;
static struct scan_suppressed suppressed;
static struct scan_profile *profiles[] = {&kit.profile};

static int begin(void **state) {
    (void)state;
    kit_init(&kit, "allow:\n  - {paths: ['a/**'], reason: first}\n  - {paths: [b], reason: second}\n");
    return scan__suppressed_init(&suppressed, &kit.hits, profiles, 1) ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    scan__suppressed_release(&suppressed);
    kit_release(&kit);
    return 0;
}

static struct scan_hit hit_of(uint32_t finding, bool with_entries, const char *mark) {
    uint32_t entries[] = {0, 1};
    struct scan_hit hit = {.finding = finding};
    if (with_entries)
        hit.allows = scan__hits_text(&kit.hits, ts_bytes_of(entries, sizeof entries));
    if (mark != NULL)
        hit.pragma = scan__hits_text(&kit.hits, ts_bytes_of_cstring(mark));
    return hit;
}

static uint32_t text(const char *of) {
    return scan__hits_text(&kit.hits, ts_bytes_of_cstring(of));
}

static bool take(struct scan_hit hit, const char *path) {
    return scan__suppressed_take(&suppressed, &kit.profile, &hit, text(path));
}

static void the_path_decides_and_then_the_mark(void **state) {
    (void)state;
    assert_false(take(hit_of(0, false, NULL), "a/x"));
    assert_false(take(hit_of(0, true, NULL), "c"));
    assert_true(take(hit_of(0, true, NULL), "a/x"));
    assert_true(take(hit_of(0, true, NULL), "b"));
    assert_true(take(hit_of(0, true, "nosec"), "c"));
}

static void each_source_has_a_row_in_order(void **state) {
    (void)state;
    struct ts_arena arena = {NULL};
    struct ts_report_suppression *rows;
    size_t count;
    for (uint32_t round = 0; round < 70000; round++) { /* adds so many records that records are merged */
        assert_true(take(hit_of(round % 3, true, NULL), "b"));
        assert_true(take(hit_of(round % 2, false, "turnstone:allow"), "x"));
    }
    assert_true(take(hit_of(9, true, "nosec"), "a/1"));
    assert_true(take(hit_of(9, false, "nosec"), "x"));
    assert_true(scan__suppressed_rows(&suppressed, &arena, &rows, &count));
    assert_int_equal(count, 4);
    assert_string_equal(rows[0].source, "kit:2");
    assert_string_equal(rows[0].reason, "first");
    assert_string_equal(rows[1].source, "kit:3");
    assert_int_equal(rows[1].findings, 3);
    assert_int_equal(rows[1].occurrences, 70000);
    assert_string_equal(rows[2].source, "nosec");
    assert_string_equal(rows[3].source, "turnstone:allow");
    assert_int_equal(rows[3].findings, 2);
    ts_arena_release(&arena);
}

/* Each of two targets has its own configuration. */
static void entries_are_those_of_the_targets_own_configuration(void **state) {
    (void)state;
    struct kit other;
    struct ts_arena arena = {NULL};
    struct ts_report_suppression *rows;
    size_t count;
    kit_init(&other, "allow:\n\n\n  - {paths: [c], reason: third}\n  - {paths: [d], reason: fourth}\n");
    struct scan_profile *both[] = {&kit.profile, &other.profile};
    scan__suppressed_release(&suppressed);
    assert_true(scan__suppressed_init(&suppressed, &kit.hits, both, 2));
    struct scan_hit hit = hit_of(0, true, NULL);
    assert_true(scan__suppressed_take(&suppressed, &other.profile, &hit, text("c")));
    assert_false(scan__suppressed_take(&suppressed, &other.profile, &hit, text("b")));
    assert_true(scan__suppressed_take(&suppressed, &kit.profile, &hit, text("b")));
    assert_true(scan__suppressed_rows(&suppressed, &arena, &rows, &count));
    assert_int_equal(count, 2);
    assert_string_equal(rows[0].reason, "second");
    assert_string_equal(rows[1].reason, "third");
    assert_string_equal(rows[1].source, "kit:4");
    ts_arena_release(&arena);
    kit_release(&other);
}

/* The number of records is as small as that of the results, because equal records are stored once. */
static void repetitions_take_no_room(void **state) {
    (void)state;
    size_t capacity = suppressed.capacity;
    struct scan_hit entry = hit_of(0, true, NULL);
    struct scan_hit mark = hit_of(0, false, "nosec");
    for (uint32_t i = 0; i < 3 * capacity; i++) {
        entry.finding = i % 500;
        mark.finding = i % 700;
        assert_true(take(i % 2 == 0 ? entry : mark, "b"));
    }
    assert_int_equal(suppressed.capacity, capacity);
    struct ts_arena arena = {NULL};
    struct ts_report_suppression *rows;
    size_t count;
    assert_true(scan__suppressed_rows(&suppressed, &arena, &rows, &count));
    assert_int_equal(count, 2);
    assert_int_equal(rows[0].findings, 250);
    assert_int_equal(rows[0].occurrences, 3 * capacity / 2);
    assert_int_equal(rows[1].findings, 350);
    assert_int_equal(rows[1].occurrences, 3 * capacity / 2);
    ts_arena_release(&arena);
}

/* If no two records are equal, no record is lost. Records are not merged again for each new record. */
static void different_entries_have_room(void **state) {
    (void)state;
    uint32_t first = (uint32_t)suppressed.capacity;
    struct scan_hit hit = hit_of(0, true, NULL);
    for (uint32_t i = 0; i < 2 * first; i++) {
        hit.finding = i % (first / 2 + 9);
        assert_true(take(hit, "b"));
    }
    assert_true(suppressed.capacity >= first + (size_t)first / 2);
    struct ts_arena arena = {NULL};
    struct ts_report_suppression *rows;
    size_t count;
    assert_true(scan__suppressed_rows(&suppressed, &arena, &rows, &count));
    assert_int_equal(count, 1);
    assert_int_equal(rows[0].findings, first / 2 + 9);
    assert_int_equal(rows[0].occurrences, 2 * (size_t)first);
    ts_arena_release(&arena);
}

/* The second entry matches a finding that is not on the entry's path. The third entry matches no finding. */
static void entries_by_finding_id_that_meet_nothing_are_counted(void **state) {
    (void)state;
    (void)end(NULL);
    kit_init(&kit, "allow:\n  - {paths: ['a/**']}\n"
                   "  - {paths: [b], findings: [0123456789abcdef0123456789abcdef]}\n"
                   "  - {findings: [fedcba98765432100123456789abcdef]}\n");
    assert_true(scan__suppressed_init(&suppressed, &kit.hits, profiles, 1));
    unsigned line = 0;
    assert_int_equal(scan__suppressed_unmet(&suppressed, &kit.profile, &line), 2);
    assert_int_equal(line, 3);
    assert_true(take(hit_of(0, true, NULL), "a/x"));
    assert_int_equal(scan__suppressed_unmet(&suppressed, &kit.profile, &line), 1);
    assert_int_equal(line, 4);
}

/* A fingerprint names one version of a file, but also applies to the other versions. */
static void a_fingerprint_ignores_what_is_at_its_place(void **state) {
    (void)state;
    struct ts_git_oid commit = {{0xab}};
    struct ts_arena arena = {NULL};
    struct ts_report_suppression *rows;
    size_t count;
    assert_true(scan__ignored_parse(TS_BYTES("ab00000000000000000000000000000000000000:x:some-rule:7\n"
                                             "y:other-rule:8\n"),
                                    &kit.profile.ignored));
    struct scan_content content = {.hit_count = 2, .name = TS_BYTES("x")};
    struct scan_hit hits[] = {{.finding = 0, .line = 6, .end_line = 7},
                              {.finding = 1, .line = 8, .end_line = 8}};
    scan__hits_add(&kit.hits, &content, hits, 2);
    struct scan_suppressed_place place = {.profile = &kit.profile, .content = &content, .path = text("x")};
    scan__suppressed_ignore(&suppressed, &place); /* without a commit, this fingerprint does not apply */
    scan__suppressed_sort(&suppressed);
    assert_false(take(hits[0], "x"));
    place.commit = &commit;
    scan__suppressed_ignore(&suppressed, &place);
    place.path = text("y");
    scan__suppressed_ignore(&suppressed, &place); /* y's fingerprint is for any commit, but only for line 8 */
    scan__suppressed_sort(&suppressed);
    assert_true(take((struct scan_hit){.finding = 0, .line = 99}, "x"));
    assert_false(take(hits[1], "x"));
    assert_false(take(hits[0], "y"));
    assert_true(take(hits[1], "y"));
    assert_true(scan__suppressed_rows(&suppressed, &arena, &rows, &count));
    assert_int_equal(count, 2);
    assert_string_equal(rows[0].source, ".gitleaksignore:1");
    assert_string_equal(rows[0].reason, "gitleaks rule some-rule");
    assert_string_equal(rows[1].source, ".gitleaksignore:2");
    scan__suppressed_clear(&suppressed);
    assert_false(take(hits[1], "y"));
    ts_arena_release(&arena);
    scan__ignored_release(&kit.profile.ignored);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_path_decides_and_then_the_mark, begin, end),
        cmocka_unit_test_setup_teardown(each_source_has_a_row_in_order, begin, end),
        cmocka_unit_test_setup_teardown(entries_are_those_of_the_targets_own_configuration, begin, end),
        cmocka_unit_test_setup_teardown(repetitions_take_no_room, begin, end),
        cmocka_unit_test_setup_teardown(different_entries_have_room, begin, end),
        cmocka_unit_test_setup_teardown(entries_by_finding_id_that_meet_nothing_are_counted, begin, end),
        cmocka_unit_test_setup_teardown(a_fingerprint_ignores_what_is_at_its_place, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
