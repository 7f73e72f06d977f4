#include "folder_maker.h"
#include "state.h"
#include "usage.h"

#include "base/endian.h"

static struct folder_maker folder;
static struct scan_faults faults;

static int begin(void **state) {
    (void)state;
    folder_make(&folder);
    scan__faults_init(&faults);
    return 0;
}

static int end(void **state) {
    (void)state;
    scan__faults_release(&faults);
    folder_remove(&folder);
    return 0;
}

static struct scan_state *open_state(void) {
    return scan__state_open(folder_path(&folder, "deep/down"), &faults);
}

static void put(struct scan_state *state, const char *key, const char *value) {
    struct ts_op op = {
        .kind = TS_OP_PUT, .key = ts_bytes_of_cstring(key), .value = ts_bytes_of_cstring(value)};
    assert_true(scan__state_apply(state, &op, 1));
}

static bool count_row(void *ctx, struct ts_bytes key, struct ts_bytes value) {
    size_t *count = ctx;
    (void)key;
    *count += value.len;
    return true;
}

static size_t bytes_below(struct scan_state *state, const char *prefix) {
    size_t count = 0;
    assert_true(scan__state_each(state, ts_bytes_of_cstring(prefix), count_row, &count));
    return count;
}

static void rows_are_there_when_it_is_opened_again(void **state) {
    (void)state;
    struct scan_state *opened = open_state();
    assert_non_null(opened);
    char key[16];
    for (int i = 0; i < 30; i++) {
        snprintf(key, sizeof key, "a%02d", i);
        put(opened, key, "1234567890");
    }
    put(opened, "b", "x");
    assert_int_equal(bytes_below(opened, "a"), 300);
    assert_int_equal(bytes_below(opened, "a0"), 100);
    scan__state_close(opened);
    opened = open_state();
    assert_int_equal(bytes_below(opened, "a"), 300);
    scan__state_drop(opened, TS_BYTES("a"));
    assert_int_equal(bytes_below(opened, "a"), 0);
    assert_int_equal(bytes_below(opened, "b"), 1);
    scan__state_close(opened);
    assert_int_equal(faults.note_count, 0);
}

static void a_second_one_is_refused_with_a_note(void **state) {
    (void)state;
    struct scan_state *opened = open_state();
    assert_non_null(opened);
    assert_null(open_state());
    assert_int_equal(faults.note_count, 1);
    assert_non_null(strstr(faults.notes[0], "another scan is using it"));
    scan__state_close(opened);
}

static bool refuse_row(void *ctx, struct ts_bytes key, struct ts_bytes value) {
    (void)ctx;
    (void)key;
    (void)value;
    return false;
}

static void what_does_not_read_well_is_made_anew(void **state) {
    (void)state;
    struct scan_state *opened = open_state();
    put(opened, "a", "1");
    assert_false(scan__state_each(opened, TS_BYTES("a"), refuse_row, NULL));
    assert_non_null(strstr(faults.notes[0], "made anew"));
    assert_int_equal(bytes_below(opened, "a"), 0);
    put(opened, "a", "12");
    assert_int_equal(bytes_below(opened, "a"), 2);
    scan__state_close(opened);
}

static void a_prefix_may_end_with_the_highest_byte(void **state) {
    (void)state;
    struct scan_state *opened = open_state();
    put(opened, "a\xfe", "1");
    put(opened, "a\xff", "12");
    put(opened, "a\xff\xff", "123");
    put(opened, "b", "1234");
    assert_int_equal(bytes_below(opened, "a\xff"), 5);
    assert_int_equal(bytes_below(opened, "a\xff\xff"), 3);
    scan__state_close(opened);
}

/* What cannot be written ends it, with one note, however often it is tried. */
static void what_cannot_be_written_is_given_up(void **state) {
    (void)state;
    static uint8_t key[TS_STORE_KEY_MAX + 1];
    struct scan_state *opened = open_state();
    put(opened, "a", "1");
    struct ts_op op = {.kind = TS_OP_PUT, .key = ts_bytes_of(key, sizeof key), .value = TS_BYTES("x")};
    for (int i = 0; i < 2; i++)
        assert_false(scan__state_apply(opened, &op, 1));
    assert_int_equal(faults.note_count, 1);
    assert_non_null(strstr(faults.notes[0], "cannot be written"));
    assert_int_equal(bytes_below(opened, "a"), 0);
    scan__state_close(opened);
    opened = open_state();
    assert_int_equal(bytes_below(opened, "a"), 1);
    scan__state_close(opened);
}

static struct scan_use use_number(uint8_t repo, uint8_t rules, uint8_t judging) {
    return (struct scan_use){.repo = {repo}, .rules = {rules}, .judging = {judging}};
}

static void put_all(struct scan_state *state, const struct scan_use *use) {
    static const enum scan_state_kind kinds[] = {SCAN_STATE_KNOWN, SCAN_STATE_HITS, SCAN_STATE_SNAPSHOT};
    for (size_t i = 0; i < 3; i++) {
        struct scan_state_key key = scan__state_key(kinds[i], use);
        struct ts_op op = {.kind = TS_OP_PUT, .key = scan__state_key_bytes(&key), .value = TS_BYTES("x")};
        assert_true(scan__state_apply(state, &op, 1));
    }
}

/* Rows of known objects, hits and snapshots. */
static unsigned rows_of(struct scan_state *state, const struct scan_use *use) {
    static const enum scan_state_kind kinds[] = {SCAN_STATE_KNOWN, SCAN_STATE_HITS, SCAN_STATE_SNAPSHOT};
    unsigned rows = 0;
    for (size_t i = 0; i < 3; i++) {
        size_t bytes = 0;
        struct scan_state_key key = scan__state_key(kinds[i], use);
        assert_true(scan__state_each(state, scan__state_key_bytes(&key), count_row, &bytes));
        rows = rows * 10 + (unsigned)bytes;
    }
    return rows;
}

static void rows_of_what_is_gone_or_long_unused_go(void **state) {
    (void)state;
    struct scan_state *opened = open_state();
    struct scan_use lost = use_number(1, 1, 1);
    put_all(opened, &lost);
    scan__use_note(opened, &lost, folder_path(&folder, "not there"));
    assert_int_equal(rows_of(opened, &lost), 0);
    for (uint8_t i = 0; i < SCAN_USES_MAX + 2; i++) {
        struct scan_use use = use_number(2, i == 0 ? 1 : 2, i);
        put_all(opened, &use);
        usleep(2000); /* the times of two differ */
        scan__use_note(opened, &use, folder.path);
    }
    struct scan_use use = use_number(2, 1, 0);
    assert_int_equal(rows_of(opened, &use), 0); /* nobody else has its rules */
    use = use_number(2, 2, 1);
    assert_int_equal(rows_of(opened, &use), 100); /* what is known is of use to the others */
    use = use_number(2, 2, 2);
    assert_int_equal(rows_of(opened, &use), 111);
    scan__state_close(opened);
}

static struct ts_bytes use_prefix(void) {
    static struct scan_state_key key;
    struct scan_use any = use_number(0, 0, 0);
    key = scan__state_key(SCAN_STATE_USE, &any);
    return ts_bytes_of(key.bytes, 2);
}

static bool count_one(void *ctx, struct ts_bytes key, struct ts_bytes value) {
    (void)key;
    (void)value;
    ++*(size_t *)ctx;
    return true;
}

static size_t use_count(struct scan_state *state) {
    size_t count = 0;
    assert_true(scan__state_each(state, use_prefix(), count_one, &count));
    return count;
}

/* As scan__use_note does it, at a time of the past. */
static void put_use(struct scan_state *state, const struct scan_use *use, uint64_t time_ms,
                    const char *path) {
    uint8_t value[8 + 512];
    struct scan_state_key key = scan__state_key(SCAN_STATE_USE, use);
    ts_be64_store(time_ms, value);
    memcpy(value + 8, path, strlen(path));
    struct ts_op op = {
        .kind = TS_OP_PUT, .key = scan__state_key_bytes(&key), .value = ts_bytes_of(value, 8 + strlen(path))};
    assert_true(scan__state_apply(state, &op, 1));
}

static void only_what_is_gone_goes_wherever_it_stands(void **state) {
    (void)state;
    struct scan_state *opened = open_state();
    struct scan_use uses[5];
    for (uint8_t i = 0; i < 5; i++) {
        uses[i] = use_number((uint8_t)(i + 1), 1, 1);
        put_all(opened, &uses[i]);
        put_use(opened, &uses[i], 100u - i, i % 2 == 1 ? folder_path(&folder, "gone") : folder.path);
    }
    struct scan_use now = use_number(9, 1, 1);
    scan__use_note(opened, &now, folder.path);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(rows_of(opened, &uses[i]), i % 2 == 1 ? 0 : 111);
    assert_int_equal(use_count(opened), 4);
    scan__state_close(opened);
}

static void the_oldest_of_very_many_go(void **state) {
    (void)state;
    struct scan_state *opened = open_state();
    for (uint32_t i = 0; i < SCAN_USES_TOTAL_MAX; i++) {
        struct scan_use use = use_number((uint8_t)i, 1, 1);
        use.repo[1] = (uint8_t)(i >> 8);
        put_use(opened, &use, 1000 + i, folder.path);
    }
    struct scan_use oldest = use_number(0, 1, 1);
    struct scan_use next = use_number(1, 1, 1);
    put_all(opened, &oldest);
    put_all(opened, &next);
    struct scan_use now = use_number(9, 9, 9);
    scan__use_note(opened, &now, folder.path);
    assert_int_equal(rows_of(opened, &oldest), 0);
    assert_int_equal(rows_of(opened, &next), 111);
    assert_int_equal(use_count(opened), SCAN_USES_TOTAL_MAX);
    scan__state_close(opened);
}

static void a_row_of_use_that_is_none_is_damage(void **state) {
    (void)state;
    struct scan_use use = use_number(1, 1, 1);
    for (int i = 0; i < 2; i++) {
        struct scan_state *opened = open_state();
        struct scan_state_key key = scan__state_key(SCAN_STATE_USE, &use);
        key.len -= i == 0; /* of the key, then of the value, a byte less than the least */
        struct ts_op op = {.kind = TS_OP_PUT,
                           .key = scan__state_key_bytes(&key),
                           .value = ts_bytes_of_cstring(i == 0 ? "12345678/" : "1234567")};
        assert_true(scan__state_apply(opened, &op, 1));
        struct scan_use other = use_number(2, 1, 1);
        scan__use_note(opened, &other, folder.path);
        assert_int_equal(faults.note_count, i + 1);
        assert_int_equal(use_count(opened), 0);
        scan__state_close(opened);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_there_when_it_is_opened_again, begin, end),
        cmocka_unit_test_setup_teardown(a_second_one_is_refused_with_a_note, begin, end),
        cmocka_unit_test_setup_teardown(what_does_not_read_well_is_made_anew, begin, end),
        cmocka_unit_test_setup_teardown(rows_of_what_is_gone_or_long_unused_go, begin, end),
        cmocka_unit_test_setup_teardown(a_prefix_may_end_with_the_highest_byte, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_is_given_up, begin, end),
        cmocka_unit_test_setup_teardown(only_what_is_gone_goes_wherever_it_stands, begin, end),
        cmocka_unit_test_setup_teardown(the_oldest_of_very_many_go, begin, end),
        cmocka_unit_test_setup_teardown(a_row_of_use_that_is_none_is_damage, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
