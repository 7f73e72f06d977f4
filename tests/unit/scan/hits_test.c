#include "hits.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct scan_hits hits;

static int begin(void **state) {
    (void)state;
    struct scan_hits_options options = {.held_max = 1 << 20, .findings_max = 100, .spill_dir = "/tmp"};
    return scan__hits_init(&hits, &options) ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    scan__hits_release(&hits);
    return 0;
}

static void a_text_is_kept_once_and_ended_by_a_zero(void **state) {
    (void)state;
    uint32_t first = scan__hits_text(&hits, TS_BYTES("some text"));
    assert_int_equal(scan__hits_text(&hits, TS_BYTES("some text")), first);
    uint32_t other = scan__hits_text(&hits, TS_BYTES("some\0text"));
    assert_int_not_equal(other, first);
    assert_string_equal((const char *)scan__hits_text_at(&hits, first).data, "some text");
    assert_int_equal(scan__hits_text_at(&hits, other).len, 9);
    assert_int_equal(scan__hits_text(&hits, (struct ts_bytes){NULL, 0}), SCAN_NO_TEXT);
    assert_int_equal(scan__hits_text_at(&hits, SCAN_NO_TEXT).len, 0);
}

static void many_texts_keep_their_places(void **state) {
    (void)state;
    static uint32_t places[20000];
    char text[32];
    for (int i = 0; i < 20000; i++) {
        int len = snprintf(text, sizeof text, "text %d", i);
        places[i] = scan__hits_text(&hits, ts_bytes_of(text, (size_t)len));
    }
    for (int i = 0; i < 20000; i++) {
        int len = snprintf(text, sizeof text, "text %d", i);
        assert_int_equal(scan__hits_text(&hits, ts_bytes_of(text, (size_t)len)), places[i]);
        assert_true(ts_bytes_equal(scan__hits_text_at(&hits, places[i]), ts_bytes_of(text, (size_t)len)));
    }
    assert_false(hits.no_memory);
}

static struct scan_finding_new finding_number(int number) {
    struct scan_finding_new finding = {.redacted = TS_BYTES("ab…yz")};
    snprintf(finding.id.text, sizeof finding.id.text, "%032d", number);
    return finding;
}

static void findings_are_kept_once_and_up_to_a_limit(void **state) {
    (void)state;
    uint32_t index = 1234;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 100; i++) {
            struct scan_finding_new finding = finding_number(i);
            assert_true(scan__hits_finding(&hits, &finding, &index));
            assert_int_equal(index, i);
        }
    }
    assert_false(hits.is_over);
    struct scan_finding_new one_more = finding_number(100);
    assert_false(scan__hits_finding(&hits, &one_more, &index));
    assert_int_equal(index, 99); /* the index is unchanged */
    assert_true(hits.is_over);
    assert_int_equal(atomic_load(&hits.finding_count), 100);
}

static void a_content_has_its_hits_and_its_name(void **state) {
    (void)state;
    struct scan_hit items[] = {{.line = 1}, {.line = 5}};
    struct scan_content content = {.target = 3, .kind = SCAN_CONTENT_FILE, .name = TS_BYTES("a/b")};
    scan__hits_add(&hits, &content, items, 1);
    scan__hits_add(&hits, &content, items, 2);
    size_t count;
    const struct scan_content *contents = scan__hits_contents(&hits, &count);
    assert_int_equal(count, 2);
    assert_int_equal(contents[1].first_hit, 1);
    assert_int_equal(contents[1].hit_count, 2);
    assert_int_equal(scan__hits_items(&hits)[2].line, 5);
    assert_string_equal((const char *)scan__hits_text_at(&hits, contents[0].path).data, "a/b");
    assert_null(contents[0].name.data); /* the result does not point to the caller's memory */
}

/* Items that were added before the mark are still found by text and id. Items that were added after it are
 * new again. */
static void additions_since_a_mark_are_removed(void **state) {
    (void)state;
    struct scan_hit item = {.line = 1};
    struct scan_content content = {.kind = SCAN_CONTENT_FILE, .name = TS_BYTES("before")};
    struct scan_finding_new first = finding_number(0);
    struct scan_finding_new second = finding_number(1);
    uint32_t index;
    assert_true(scan__hits_finding(&hits, &first, &index));
    scan__hits_add(&hits, &content, &item, 1);
    uint32_t before = scan__hits_text(&hits, TS_BYTES("a text"));
    struct scan_hits_mark mark = scan__hits_mark(&hits);
    for (int i = 1; i < 101; i++) {
        struct scan_finding_new finding = finding_number(i);
        (void)scan__hits_finding(&hits, &finding, &index);
    }
    assert_true(hits.is_over);
    content.name = TS_BYTES("since");
    scan__hits_add(&hits, &content, &item, 1);
    scan__hits_cut(&hits, &mark);
    assert_false(hits.is_over);
    assert_int_equal(atomic_load(&hits.finding_count), 1);
    assert_int_equal(hits.texts.len, mark.texts);
    assert_int_equal(scan__hits_text(&hits, TS_BYTES("a text")), before);
    assert_int_equal(hits.texts.len, mark.texts);
    assert_true(scan__hits_finding(&hits, &second, &index));
    assert_int_equal(index, 1);
    assert_true(scan__hits_finding(&hits, &first, &index));
    assert_int_equal(index, 0);
    content.name = TS_BYTES("x");
    scan__hits_add(&hits, &content, &item, 1);
    size_t count;
    const struct scan_content *contents = scan__hits_contents(&hits, &count);
    assert_int_equal(count, 2);
    assert_int_equal(contents[1].first_hit, 1);
    assert_string_equal((const char *)scan__hits_text_at(&hits, contents[1].path).data, "x");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_text_is_kept_once_and_ended_by_a_zero, begin, end),
        cmocka_unit_test_setup_teardown(many_texts_keep_their_places, begin, end),
        cmocka_unit_test_setup_teardown(findings_are_kept_once_and_up_to_a_limit, begin, end),
        cmocka_unit_test_setup_teardown(a_content_has_its_hits_and_its_name, begin, end),
        cmocka_unit_test_setup_teardown(additions_since_a_mark_are_removed, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
