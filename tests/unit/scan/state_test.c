#include "folder_maker.h"
#include "state_files.h"
#include "usage.h"

#include <fcntl.h>

static struct folder_maker folder;
static struct scan_state_warning warning;

static int begin(void **state) {
    (void)state;
    folder_make(&folder);
    warning.text[0] = '\0';
    return 0;
}

static int end(void **state) {
    (void)state;
    folder_remove(&folder);
    return 0;
}

static struct scan_use use_number(uint8_t repo, uint8_t rules, uint8_t judging) {
    return (struct scan_use){.repo = {repo}, .rules = {rules}, .judging = {judging}};
}

static struct scan_state *open_use(struct scan_use use) {
    static char path[512];
    snprintf(path, sizeof path, "%s", folder_path(&folder, "deep/down"));
    struct scan_state_place place = {.folder = path, .use = use};
    return scan__state_open(&place, &warning);
}

static struct scan_state *open_state(void) {
    struct scan_state *state = open_use(use_number(1, 2, 3));
    assert_non_null(state);
    return state;
}

static const char *target_path(const char *name) {
    static char path[1024];
    struct scan_use use = use_number(1, 2, 3);
    snprintf(path, sizeof path, "%s/deep/down/scan/%s/%s", folder.path, scan__state_folder_name(&use).text,
             name);
    return path;
}

static bool count_page(void *ctx, struct ts_bytes page) {
    *(size_t *)ctx += page.len;
    return true;
}

static size_t bytes_of(struct scan_state *state, enum scan_segment_kind kind) {
    size_t count = 0;
    scan__state_each(state, kind, count_page, &count);
    return count;
}

static void pages_are_there_when_it_is_opened_again(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct scan_state *opened = open_state();
        assert_true(scan__state_begin(opened));
        assert_int_equal(bytes_of(opened, SCAN_SEGMENT_KNOWN), 10 * i);
        scan__state_add(opened, SCAN_SEGMENT_KNOWN, TS_BYTES("1234567"));
        scan__state_add(opened, SCAN_SEGMENT_HITS, TS_BYTES("x"));
        scan__state_add(opened, SCAN_SEGMENT_KNOWN, TS_BYTES("890"));
        assert_int_equal(bytes_of(opened, SCAN_SEGMENT_HITS), i + 1);
        scan__state_close(opened);
    }
    assert_string_equal(warning.text, "");
}

static void rules_and_ways_of_judging_are_kept_apart(void **state) {
    (void)state;
    struct scan_state *opened = open_state();
    assert_true(scan__state_begin(opened));
    scan__state_add(opened, SCAN_SEGMENT_KNOWN, TS_BYTES("known"));
    scan__state_add(opened, SCAN_SEGMENT_HITS, TS_BYTES("hit"));
    scan__state_close(opened);
    opened = open_use(use_number(1, 2, 9));
    assert_int_equal(bytes_of(opened, SCAN_SEGMENT_KNOWN), 5);
    assert_int_equal(bytes_of(opened, SCAN_SEGMENT_HITS), 0);
    scan__state_close(opened);
    opened = open_use(use_number(1, 9, 3));
    assert_int_equal(bytes_of(opened, SCAN_SEGMENT_KNOWN) + bytes_of(opened, SCAN_SEGMENT_HITS), 0);
    scan__state_close(opened);
    opened = open_use(use_number(9, 2, 3));
    assert_int_equal(bytes_of(opened, SCAN_SEGMENT_KNOWN) + bytes_of(opened, SCAN_SEGMENT_HITS), 0);
    scan__state_close(opened);
}

static void a_snapshot_is_that_of_its_fingerprint(void **state) {
    (void)state;
    static const uint8_t first[SCAN_FINGERPRINT_LEN] = {1};
    static const uint8_t second[SCAN_FINGERPRINT_LEN] = {2};
    struct scan_segment segment;
    struct ts_bytes page;
    struct scan_state *opened = open_state();
    assert_false(scan__state_snapshot(opened, first, &segment, &page));
    assert_true(scan__state_begin(opened));
    scan__state_put_snapshot(opened, first, TS_BYTES("one"), (struct ts_bytes){NULL, 0});
    scan__state_put_snapshot(opened, second, TS_BYTES("two"), TS_BYTES("its past"));
    scan__state_close(opened);
    opened = open_state();
    assert_false(scan__state_snapshot(opened, first, &segment, &page));
    assert_true(scan__state_snapshot(opened, second, &segment, &page));
    assert_true(ts_bytes_equal(page, TS_BYTES("two")));
    scan__segment_close(&segment);
    assert_true(scan__state_snapshot(opened, NULL, &segment, &page));
    assert_true(ts_bytes_equal(page, TS_BYTES("two")));
    assert_true(scan__segment_next(&segment, &page));
    assert_true(ts_bytes_equal(page, TS_BYTES("its past")));
    scan__segment_close(&segment);
    scan__state_close(opened);
}

static void a_second_one_reads_and_does_not_write(void **state) {
    (void)state;
    struct scan_state *opened = open_state();
    assert_true(scan__state_begin(opened));
    scan__state_add(opened, SCAN_SEGMENT_KNOWN, TS_BYTES("1"));
    struct scan_state *other = open_state();
    assert_true(scan__state_begin(other));
    assert_non_null(strstr(warning.text, "another scan of this repository is using it"));
    scan__state_add(other, SCAN_SEGMENT_KNOWN, TS_BYTES("22"));
    scan__state_put_snapshot(other, (const uint8_t[SCAN_FINGERPRINT_LEN]){1}, TS_BYTES("x"),
                             (struct ts_bytes){NULL, 0});
    assert_false(scan__state_rewrite_begin(other, SCAN_SEGMENT_KNOWN));
    assert_int_equal(bytes_of(other, SCAN_SEGMENT_KNOWN), 1);
    scan__state_close(other);
    scan__state_close(opened);
}

static void many_files_become_one(void **state) {
    (void)state;
    struct scan_state *opened;
    size_t scans = 0;
    for (bool is_scattered = false; !is_scattered; scans++) {
        opened = open_state();
        assert_true(scan__state_begin(opened));
        scan__state_add(opened, SCAN_SEGMENT_KNOWN, TS_BYTES("12345"));
        is_scattered = scan__state_is_scattered(opened, SCAN_SEGMENT_KNOWN);
        assert_true(scans < 100);
        if (is_scattered) {
            assert_true(scan__state_rewrite_begin(opened, SCAN_SEGMENT_KNOWN));
            scan__state_add(opened, SCAN_SEGMENT_KNOWN, TS_BYTES("abc"));
            /* The old pages are valid until the rewriting is done. */
            assert_int_equal(bytes_of(opened, SCAN_SEGMENT_KNOWN), 5 * (scans + 1));
            scan__state_rewrite_end(opened, SCAN_SEGMENT_KNOWN);
            assert_int_equal(bytes_of(opened, SCAN_SEGMENT_KNOWN), 3);
            assert_false(scan__state_is_scattered(opened, SCAN_SEGMENT_KNOWN));
        }
        scan__state_close(opened);
    }
    assert_true(scans > 4);
}

/* Refuses each page, like a reader that does not understand it. Then the rest of the file is skipped, and the
 * file must be written again. */
static bool refuse_page(void *ctx, struct ts_bytes page) {
    (void)page;
    ++*(size_t *)ctx;
    return false;
}

static void unreadable_state_is_ignored(void **state) {
    (void)state;
    size_t asked = 0;
    struct scan_state *opened = open_state();
    assert_true(scan__state_begin(opened));
    scan__state_add(opened, SCAN_SEGMENT_KNOWN, TS_BYTES("1"));
    scan__state_add(opened, SCAN_SEGMENT_KNOWN, TS_BYTES("2"));
    assert_false(scan__state_is_scattered(opened, SCAN_SEGMENT_KNOWN));
    scan__state_each(opened, SCAN_SEGMENT_KNOWN, refuse_page, &asked);
    assert_int_equal(asked, 1);
    assert_non_null(strstr(warning.text, "damaged"));
    assert_true(scan__state_is_scattered(opened, SCAN_SEGMENT_KNOWN));
    scan__state_close(opened);
}

static void another_salt_makes_the_kept_state_useless(void **state) {
    (void)state;
    struct scan_state *opened = open_state();
    assert_true(scan__state_begin(opened));
    scan__state_add(opened, SCAN_SEGMENT_KNOWN, TS_BYTES("1"));
    scan__state_close(opened);
    assert_int_equal(unlink(target_path("about")), 0);
    opened = open_state();
    assert_true(scan__state_begin(opened));
    assert_int_equal(bytes_of(opened, SCAN_SEGMENT_KNOWN), 0);
    assert_true(scan__state_is_scattered(opened, SCAN_SEGMENT_KNOWN));
    scan__state_close(opened);
}

/* All repositories share one key, so that all prints of a scan have the same key. */
static void the_first_key_of_prints_stays_that_of_the_folder(void **state) {
    (void)state;
    char path[512];
    struct ts_siphash_key key = {{0, 0}};
    snprintf(path, sizeof path, "%s", folder_path(&folder, "deep/down"));
    assert_false(scan__state_print_key_read(path, &key));
    for (uint8_t i = 1; i <= 2; i++) {
        struct scan_state_place place = {
            .folder = path, .use = use_number(i, 2, 3), .print_key = {{i, UINT64_MAX}}};
        struct scan_state *opened = scan__state_open(&place, &warning);
        assert_non_null(opened);
        assert_true(scan__state_begin(opened));
        scan__state_close(opened);
        assert_true(scan__state_print_key_read(path, &key));
        assert_true(key.words[0] == 1 && key.words[1] == UINT64_MAX);
    }
    assert_string_equal(warning.text, "");
}

static void a_damaged_key_of_prints_is_made_again(void **state) {
    (void)state;
    char path[512];
    char file[600];
    struct ts_siphash_key key = {{0, 0}};
    scan__state_close(open_state());
    snprintf(path, sizeof path, "%s", folder_path(&folder, "deep/down"));
    snprintf(file, sizeof file, "%s/scan/print-key", path);
    struct scan_state *opened = open_state();
    assert_true(scan__state_begin(opened));
    scan__state_close(opened);
    assert_int_equal(truncate(file, 150), 0);
    assert_false(scan__state_print_key_read(path, &key));
    opened = open_state();
    assert_true(scan__state_begin(opened));
    scan__state_close(opened);
    assert_true(scan__state_print_key_read(path, &key));
}

static void a_folder_that_others_can_write_to_is_not_used(void **state) {
    (void)state;
    struct scan_state *opened = open_state();
    assert_true(scan__state_begin(opened));
    scan__state_close(opened);
    assert_int_equal(chmod(target_path(""), 0770), 0);
    assert_null(open_use(use_number(1, 2, 3)));
    assert_non_null(strstr(warning.text, "other users can write to it"));
}

static void names_of_files_are_distinguished_from_others(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "k-", "about", "k-00", "lock", "k-x-0", "mine.txt"};
    char letter;
    struct scan_use use = use_number(1, 2, 3);
    struct scan_use found;
    for (const char *at = "khsu"; *at != '\0'; at++) {
        struct scan_state_name name = scan__state_name(*at, &use);
        bool has_number = *at == 'k' || *at == 'h';
        memcpy(name.text + strlen(name.text), has_number ? "0000000a" : "", has_number ? 9 : 1);
        assert_true(scan__state_name_parse(name.text, &letter, &found));
        assert_true(letter == *at && found.rules[0] == 2 && found.judging[0] == (*at == 'k' ? 0 : 3));
        name.text[strlen(name.text) - 1] = 'g';
        assert_false(scan__state_name_parse(name.text, &letter, &found));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(scan__state_name_parse(wrong[i], &letter, &found));
}

/* ---- making room ---- */

static void put_all(struct scan_use use) {
    struct scan_state *opened = open_use(use);
    assert_non_null(opened);
    assert_true(scan__state_begin(opened));
    scan__state_add(opened, SCAN_SEGMENT_KNOWN, TS_BYTES("x"));
    scan__state_add(opened, SCAN_SEGMENT_HITS, TS_BYTES("x"));
    scan__state_put_snapshot(opened, (const uint8_t[SCAN_FINGERPRINT_LEN]){1}, TS_BYTES("x"),
                             (struct ts_bytes){NULL, 0});
    scan__state_close(opened);
}

/* Returns three digits that say whether known objects, hits and a snapshot were kept: 1 if kept, 0 if not. */
static unsigned kept_of(struct scan_use use) {
    struct scan_segment segment;
    struct ts_bytes page;
    struct scan_state *opened = open_use(use);
    assert_non_null(opened);
    unsigned found = (bytes_of(opened, SCAN_SEGMENT_KNOWN) > 0 ? 100u : 0u) +
                     (bytes_of(opened, SCAN_SEGMENT_HITS) > 0 ? 10u : 0u);
    if (scan__state_snapshot(opened, (const uint8_t[SCAN_FINGERPRINT_LEN]){1}, &segment, &page)) {
        found++;
        scan__segment_close(&segment);
    }
    scan__state_close(opened);
    return found;
}

static void set_time(const char *path, time_t time_s) {
    struct timespec times[2] = {{.tv_sec = time_s}, {.tv_sec = time_s}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void only_the_latest_ways_of_scanning_are_kept(void **state) {
    (void)state;
    for (uint8_t i = 0; i < SCAN_USES_MAX + 2; i++) {
        struct scan_use use = use_number(1, i == 0 ? 1 : 2, i);
        put_all(use);
        set_time(target_path(scan__state_name('u', &use).text), 1000 + i);
    }
    put_all(use_number(1, 2, SCAN_USES_MAX + 1));
    assert_int_equal(kept_of(use_number(1, 1, 0)), 0); /* no other use has these rules */
    /* Other uses with these rules need the known objects. */
    assert_int_equal(kept_of(use_number(1, 2, 1)), 100);
    for (uint8_t i = 2; i < SCAN_USES_MAX + 2; i++)
        assert_int_equal(kept_of(use_number(1, 2, i)), 111);
}

static void state_of_repositories_that_are_gone_is_removed(void **state) {
    (void)state;
    char gone[512];
    char all[512];
    snprintf(gone, sizeof gone, "%s", folder_path(&folder, "gone"));
    snprintf(all, sizeof all, "%s", folder_path(&folder, "deep/down"));
    assert_int_equal(mkdir(gone, 0700), 0);
    struct scan_use lost = use_number(7, 2, 3);
    struct scan_state_place place = {.folder = all, .use = lost};
    struct scan_state *opened = scan__state_open(&place, &warning);
    assert_true(scan__state_begin(opened));
    scan__state_add(opened, SCAN_SEGMENT_KNOWN, TS_BYTES("x"));
    scan__state_note_path(opened, gone);
    scan__state_close(opened);
    put_all(use_number(1, 2, 3));
    assert_int_equal(kept_of(lost), 100);
    assert_int_equal(rmdir(gone), 0);
    /* The state of a removed repository is kept while a scan uses this state. */
    opened = scan__state_open(&place, &warning);
    assert_true(scan__state_begin(opened));
    put_all(use_number(1, 2, 3));
    assert_int_equal(kept_of(lost), 100);
    scan__state_close(opened);
    put_all(use_number(1, 2, 3));
    assert_int_equal(kept_of(lost), 0);
    assert_int_equal(kept_of(use_number(1, 2, 3)), 111);
    assert_string_equal(warning.text, "");
    char path[1024];
    snprintf(path, sizeof path, "%s/scan/%s", all, scan__state_folder_name(&lost).text);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void the_oldest_of_very_many_repositories_are_removed(void **state) {
    (void)state;
    for (uint32_t i = 0; i < SCAN_TARGETS_MAX; i++) {
        struct scan_use use = use_number((uint8_t)i, 2, 3);
        use.repo[1] = (uint8_t)(1 + (i >> 8));
        struct scan_state *opened = open_use(use);
        assert_true(scan__state_begin(opened));
        scan__state_close(opened);
        char path[1024];
        snprintf(path, sizeof path, "%s/deep/down/scan/%s/about", folder.path,
                 scan__state_folder_name(&use).text);
        set_time(path, 1000 + (time_t)i);
    }
    put_all(use_number(1, 2, 3));
    char path[1024];
    for (uint8_t i = 0; i < 2; i++) {
        struct scan_use use = use_number(i, 2, 3);
        use.repo[1] = 1;
        snprintf(path, sizeof path, "%s/deep/down/scan/%s", folder.path, scan__state_folder_name(&use).text);
        assert_int_equal(access(path, F_OK) == 0, i == 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages_are_there_when_it_is_opened_again, begin, end),
        cmocka_unit_test_setup_teardown(rules_and_ways_of_judging_are_kept_apart, begin, end),
        cmocka_unit_test_setup_teardown(a_snapshot_is_that_of_its_fingerprint, begin, end),
        cmocka_unit_test_setup_teardown(a_second_one_reads_and_does_not_write, begin, end),
        cmocka_unit_test_setup_teardown(many_files_become_one, begin, end),
        cmocka_unit_test_setup_teardown(unreadable_state_is_ignored, begin, end),
        cmocka_unit_test_setup_teardown(another_salt_makes_the_kept_state_useless, begin, end),
        cmocka_unit_test_setup_teardown(the_first_key_of_prints_stays_that_of_the_folder, begin, end),
        cmocka_unit_test_setup_teardown(a_damaged_key_of_prints_is_made_again, begin, end),
        cmocka_unit_test_setup_teardown(a_folder_that_others_can_write_to_is_not_used, begin, end),
        cmocka_unit_test_setup_teardown(only_the_latest_ways_of_scanning_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(state_of_repositories_that_are_gone_is_removed, begin, end),
        cmocka_unit_test_setup_teardown(the_oldest_of_very_many_repositories_are_removed, begin, end),
        cmocka_unit_test(names_of_files_are_distinguished_from_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
