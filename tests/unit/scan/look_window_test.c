/* A content that is scanned in windows has the same hits as when it is scanned whole. */
#include "kit.h"
#include "look_impl.h"

#include "base/prng.h"

static struct kit kit;

/* ---- allocations that fail: the linker replaces the real functions by these (CMakeLists.txt) ---- */

static long allocations_left = -1; /* number of allocations before the one that fails; -1 if none fails */

static bool fails(void) {
    return allocations_left >= 0 && allocations_left-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *at, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *at, size_t size);

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *at, size_t size) {
    return fails() ? NULL : __real_realloc(at, size);
}

static int begin(void **state) {
    (void)state;
    kit_init(&kit, NULL);
    return 0;
}

static int end(void **state) {
    (void)state;
    kit_release(&kit);
    return 0;
}

static enum scan_look_result look_in_windows(struct ts_bytes bytes, size_t window_size) {
    struct scan_content content = {.kind = SCAN_CONTENT_FILE};
    struct scan_windows *windows = NULL;
    size_t overlap = scan__look_overlap(&kit.profile);
    enum scan_look_result outcome = SCAN_LOOK_OK;
    assert_true(window_size > overlap);
    for (size_t at = 0;; at += window_size - overlap) {
        bool is_last = bytes.len - at <= window_size;
        struct scan_window window = {.bytes =
                                         ts_bytes_of(bytes.data + at, is_last ? bytes.len - at : window_size),
                                     .at = at,
                                     .is_last = is_last};
        outcome = scan__look_window(&kit.look, &content, &window, &windows);
        if (is_last)
            break;
    }
    scan__windows_free(windows);
    return outcome;
}

static bool is_same(const struct scan_hit *a, const struct scan_hit *b) {
    return a->finding == b->finding && a->around == b->around && a->pragma == b->pragma &&
           a->line == b->line && a->column == b->column && a->end_line == b->end_line &&
           a->end_column == b->end_column && a->at == b->at && a->len == b->len && a->depth == b->depth;
}

static void windows_and_the_whole_have_the_same_hits(void **state) {
    (void)state;
    static const char *const pieces[] = {"tok_q7w3e9r1t5y2 ",
                                         "tok_k4j8h2g6f1d3",
                                         " ",
                                         "\n",
                                         "BEGIN\nabcdefghij0123456789\nEND",
                                         "pass=abcdefgh1",
                                         "turnstone:allow",
                                         "word ",
                                         "word word word word word word\n"};
    static uint8_t bytes[300000];
    size_t overlap = scan__look_overlap(&kit.profile);
    struct ts_prng prng;
    struct scan_content content = {.kind = SCAN_CONTENT_FILE};
    for (uint64_t seed = 0; seed < 12; seed++) {
        size_t len = 0;
        ts_prng_init(&prng, seed);
        while (len + 64 < sizeof bytes) {
            const char *piece =
                pieces[seed % 2 == 0 ? ts_prng_below(&prng, 9) : 7 - 7 * (ts_prng_below(&prng, 80) == 0)];
            memcpy(bytes + len, piece, strlen(piece));
            len += strlen(piece);
        }
        size_t before = kit_content_count(&kit);
        assert_int_equal(scan__look_whole(&kit.look, &content, ts_bytes_of(bytes, len), NULL, NULL),
                         SCAN_LOOK_OK);
        assert_int_equal(look_in_windows(ts_bytes_of(bytes, len), overlap + 1 + ts_prng_below(&prng, 60000)),
                         SCAN_LOOK_OK);
        assert_int_equal(kit_content_count(&kit), before + 2);
        const struct scan_content *whole = kit_content(&kit, before);
        assert_int_equal(kit_content(&kit, before + 1)->hit_count, whole->hit_count);
        assert_true(whole->hit_count > 10);
        for (size_t i = 0; i < whole->hit_count; i++)
            assert_true(is_same(kit_hit(&kit, before, i), kit_hit(&kit, before + 1, i)));
    }
}

static void a_content_that_ends_with_a_window_is_not_cut(void **state) {
    (void)state;
    static uint8_t bytes[200000];
    memset(bytes, ' ', sizeof bytes);
    memcpy(bytes + sizeof bytes - 16, "tok_q7w3e9r1t5y2", 16);
    assert_int_equal(look_in_windows(ts_bytes_of(bytes, sizeof bytes), 100000), SCAN_LOOK_OK);
    assert_int_equal(kit_content_count(&kit), 1);
    assert_int_equal(kit_hit(&kit, 0, 0)->at, sizeof bytes - 16);
}

static void look_at_the_first_of_two_windows(struct scan_windows **windows) {
    struct scan_content content = {.kind = SCAN_CONTENT_FILE};
    static uint8_t bytes[200000];
    memset(bytes, ' ', sizeof bytes);
    memcpy(bytes + 100, "tok_q7w3e9r1t5y2", 16);
    struct scan_window window = {.bytes = ts_bytes_of(bytes, sizeof bytes)};
    assert_int_equal(scan__look_window(&kit.look, &content, &window, windows), SCAN_LOOK_OK);
}

static void windows_that_end_early_leave_nothing(void **state) {
    (void)state;
    struct scan_windows *windows = NULL;
    look_at_the_first_of_two_windows(&windows);
    scan__windows_free(windows);
    assert_int_equal(kit_content_count(&kit), 0);
}

static void windows_of_a_stopped_scan_leave_what_they_have(void **state) {
    (void)state;
    atomic_bool stop = false;
    struct scan_windows *windows = NULL;
    kit.look.options.stop = &stop;
    look_at_the_first_of_two_windows(&windows);
    atomic_store(&stop, true);
    scan__windows_free(windows);
    assert_int_equal(kit_content_count(&kit), 1);
    assert_int_equal(kit_hit(&kit, 0, 0)->at, 100);
    assert_false(kit_content(&kit, 0)->is_whole);
}

/* After the signal to stop, a scan judges at most 1000 more matches, because judging all of them takes too
 * long. */
static void a_stopped_scan_judges_only_a_few_more_matches(void **state) {
    (void)state;
    atomic_bool stop = false;
    size_t late = 0;
    kit.look.options.stop = &stop;
    for (size_t i = 0; i < 1000; i++)
        assert_true(scan__look_judges_on(&kit.look, &late));
    atomic_store(&stop, true);
    size_t judged = 0;
    while (scan__look_judges_on(&kit.look, &late))
        judged++;
    assert_in_range(judged, 1, 1000);
}

/* The secret is in the first window, and the second window has no secret. The success of the second window
 * must not hide the failure of the first. */
static void a_window_without_memory_is_reported_with_the_last_one(void **state) {
    (void)state;
    static uint8_t bytes[200000];
    memset(bytes, ' ', sizeof bytes);
    memcpy(bytes + 100, "tok_q7w3e9r1t5y2", 16);
    struct scan_content content = {.kind = SCAN_CONTENT_FILE};
    struct scan_windows *windows = NULL;
    size_t overlap = scan__look_overlap(&kit.profile), first = 100000, failed = 0;
    for (long nth = 0;; nth++) {
        size_t before = kit_content_count(&kit);
        struct scan_window window = {.bytes = ts_bytes_of(bytes, first)};
        allocations_left = nth;
        (void)scan__look_window(&kit.look, &content, &window, &windows);
        bool all_succeeded = allocations_left >= 0;
        allocations_left = -1;
        if (windows == NULL)
            continue; /* after this failure no window can follow */
        window = (struct scan_window){
            .bytes = ts_bytes_of(bytes + first - overlap, sizeof bytes - first + overlap),
            .at = first - overlap,
            .is_last = true};
        enum scan_look_result outcome = scan__look_window(&kit.look, &content, &window, &windows);
        scan__windows_free(windows);
        windows = NULL;
        assert_true(outcome == SCAN_LOOK_NO_MEMORY || kit.hits.no_memory ||
                    kit_content_count(&kit) == before + 1);
        kit.hits.no_memory = false;
        failed += outcome == SCAN_LOOK_NO_MEMORY;
        if (all_succeeded)
            break;
    }
    assert_true(failed > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(windows_and_the_whole_have_the_same_hits, begin, end),
        cmocka_unit_test_setup_teardown(a_content_that_ends_with_a_window_is_not_cut, begin, end),
        cmocka_unit_test_setup_teardown(windows_that_end_early_leave_nothing, begin, end),
        cmocka_unit_test_setup_teardown(windows_of_a_stopped_scan_leave_what_they_have, begin, end),
        cmocka_unit_test_setup_teardown(a_stopped_scan_judges_only_a_few_more_matches, begin, end),
        cmocka_unit_test_setup_teardown(a_window_without_memory_is_reported_with_the_last_one, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
