#include "support/cmocka.h"
#include "support/state_pass.h"

static struct state_pass from;
static struct state_pass to;
static struct scan_buffer page;

static int begin(void **state) {
    (void)state;
    page = (struct scan_buffer){.data = NULL};
    bool is_made = state_pass_init(&from) && state_pass_init(&to) && state_pass_fill(&from);
    state_pass_encode(&from, &page);
    return is_made && !page.no_memory ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    scan__buffer_release(&page);
    state_pass_release(&from);
    state_pass_release(&to);
    return 0;
}

static bool decode(struct ts_bytes bytes) {
    struct scan_material_sink sink = {.pass = &to.pass};
    return scan__material_decode(bytes, &sink);
}

static size_t content_count(const struct state_pass *made) {
    size_t count;
    (void)scan__hits_contents(&made->pass.hits, &count);
    return count;
}

static struct ts_bytes text(const struct state_pass *made, uint32_t place) {
    return scan__hits_text_at(&made->pass.hits, place);
}

static void assert_same_text(uint32_t a, uint32_t b) {
    assert_true(ts_bytes_equal(text(&from, a), text(&to, b)));
}

static void assert_same_hit(const struct scan_hit *a, const struct scan_hit *b) {
    const struct scan_finding *x = &scan__hits_findings(&from.pass.hits)[a->finding];
    const struct scan_finding *y = &scan__hits_findings(&to.pass.hits)[b->finding];
    assert_string_equal(x->id.text, y->id.text);
    assert_string_equal(x->rule->id, y->rule->id);
    assert_true(x->print.hash == y->print.hash && x->print.len == y->print.len);
    assert_memory_equal(x->print.head, y->print.head, sizeof x->print.head);
    assert_same_text(x->redacted, y->redacted);
    assert_same_text(a->around, b->around);
    assert_same_text(a->allows, b->allows);
    assert_same_text(a->pragma, b->pragma);
    size_t end = offsetof(struct scan_hit, encodings) + sizeof a->encodings;
    assert_memory_equal(&a->line, &b->line, end - offsetof(struct scan_hit, line));
}

static void decoding_returns_the_encoded_material(void **state) {
    (void)state;
    size_t count;
    assert_true(decode(scan__buffer_bytes(&page)));
    const struct scan_content *a = scan__hits_contents(&from.pass.hits, &count);
    const struct scan_content *b = scan__hits_contents(&to.pass.hits, &count);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++) {
        assert_true(ts_git_oid_equal(&a[i].oid, &b[i].oid));
        assert_true(ts_git_oid_equal(&a[i].commit, &b[i].commit));
        assert_int_equal(a[i].kind, b[i].kind);
        assert_int_equal(a[i].size, b[i].size);
        assert_true(b[i].evidence == a[i].evidence && b[i].evidence != 0);
        assert_true(b[i].is_whole);
        assert_same_text(a[i].path, b[i].path);
        assert_int_equal(a[i].hit_count, b[i].hit_count);
        for (uint64_t k = 0; k < a[i].hit_count; k++)
            assert_same_hit(&scan__hits_items(&from.pass.hits)[a[i].first_hit + k],
                            &scan__hits_items(&to.pass.hits)[b[i].first_hit + k]);
    }
    const struct scan_commit *commit = (const void *)to.pass.commits.bytes;
    assert_int_equal(to.pass.commits.len, sizeof *commit);
    assert_true(commit->time_s == -5 && commit->author_time_s == 1700000000);
    assert_int_equal(commit->author_zone_minutes, -330);
    assert_string_equal((const char *)text(&to, commit->author_name).data, "Ada");
    const struct scan_location *locations = (const void *)to.pass.locations.bytes;
    assert_int_equal(to.pass.locations.len, 3 * sizeof *locations);
    assert_true(locations[0].commit == 0 && locations[1].commit == TS_REPORT_NONE &&
                locations[2].content == 2);
    assert_int_equal(locations[2].place, TS_PLACE_TAG_MESSAGE);
}

static bool wants_second(void *ctx, const struct scan_known *known) {
    unsigned *asked = ctx;
    (*asked)++;
    return known->size == 1001 && known->kind == SCAN_CONTENT_BLOB;
}

static void only_wanted_contents_are_taken(void **state) {
    (void)state;
    unsigned asked = 0;
    struct scan_material_sink sink = {.pass = &to.pass, .wants = wants_second, .ctx = &asked};
    assert_true(scan__material_decode(scan__buffer_bytes(&page), &sink));
    assert_int_equal(asked, 3);
    assert_int_equal(content_count(&to), 1);
    assert_int_equal(to.pass.locations.len, sizeof(struct scan_location));
}

static void a_page_that_was_cut_is_refused_whole(void **state) {
    (void)state;
    for (size_t len = 0; len < page.len; len++)
        assert_false(decode(ts_bytes_of(page.data, len)));
    scan__buffer_put(&page, TS_BYTES("x"));
    assert_false(decode(scan__buffer_bytes(&page)));
    assert_int_equal(content_count(&to), 0);
    assert_int_equal(to.pass.commits.len + to.pass.locations.len, 0);
    assert_int_equal(to.pass.hits.finding_table.count, 0);
}

static void a_rule_that_is_not_there_refuses_the_page(void **state) {
    (void)state;
    uint8_t *id = memmem(page.data, page.len, "team", 4);
    assert_non_null(id);
    id[0] = 'x';
    assert_false(decode(scan__buffer_bytes(&page)));
    assert_int_equal(content_count(&to), 0);
}

static void any_changed_byte_is_refused_or_read_in_bounds(void **state) {
    (void)state;
    size_t refused = 0;
    for (size_t at = 0; at < page.len; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            size_t before = content_count(&to);
            page.data[at] = (uint8_t)(page.data[at] ^ 1u << bit);
            bool is_read = decode(scan__buffer_bytes(&page));
            refused += !is_read;
            assert_true(is_read || content_count(&to) == before);
            page.data[at] = (uint8_t)(page.data[at] ^ 1u << bit);
        }
    }
    assert_true(refused > page.len);
}

static void known_objects_are_read_as_they_were_written(void **state) {
    (void)state;
    static const uint8_t packs[2 * TS_GIT_PACK_ID_LEN] = {1, 2, 3};
    static const struct scan_known objects[] = {
        {.oid = {{1, 2, 3}}, .size = 0, .kind = SCAN_CONTENT_BLOB, .evidence = 1, .pack = 2},
        {.oid = {{255, 2, 3}}, .size = SCAN_KNOWN_SIZE_MAX, .kind = SCAN_CONTENT_TAG, .evidence = UINT64_MAX},
        {.oid = {{9}}, .size = 77, .kind = SCAN_CONTENT_COMMIT, .evidence = UINT64_C(1) << 63, .pack = 1}};
    for (enum ts_git_hash hash = TS_GIT_SHA1; hash <= TS_GIT_SHA256; hash++) {
        struct scan_buffer items = {.data = NULL};
        struct scan_buffer bytes = {.data = NULL};
        struct scan_known_page read;
        for (size_t i = 0; i < 3; i++)
            scan__known_encode(&items, hash, &objects[i]);
        struct scan_known_page written = {
            .hash = hash, .packs = packs, .pack_count = 2, .items = scan__buffer_bytes(&items)};
        scan__known_page_encode(&written, &bytes);
        assert_true(scan__known_page_decode(scan__buffer_bytes(&bytes), hash, &read));
        assert_int_equal(read.pack_count, 2);
        assert_memory_equal(read.packs, packs, sizeof packs);
        assert_int_equal(scan__known_page_count(&read), 3);
        for (size_t i = 0; i < 3; i++) {
            struct scan_known known = scan__known_page_at(&read, i);
            assert_true(ts_git_oid_equal(&known.oid, &objects[i].oid));
            assert_true(known.size == objects[i].size && known.kind == objects[i].kind &&
                        known.evidence == objects[i].evidence && known.pack == objects[i].pack);
        }
        for (size_t len = 0; len < bytes.len; len++)
            if ((bytes.len - len) % scan__known_len(hash) != 0)
                assert_false(scan__known_page_decode(ts_bytes_of(bytes.data, len), hash, &read));
        scan__buffer_release(&items);
        scan__buffer_release(&bytes);
    }
}

static void known_objects_that_cannot_be_refuse_the_page(void **state) {
    (void)state;
    static const struct scan_known wrong[] = {{.kind = (enum scan_content_kind)3, .evidence = 1},
                                              {.kind = SCAN_CONTENT_BLOB, .evidence = 0},
                                              {.kind = SCAN_CONTENT_BLOB, .evidence = 1, .pack = 1}};
    for (size_t i = 0; i < 3; i++) {
        struct scan_buffer items = {.data = NULL};
        struct scan_buffer bytes = {.data = NULL};
        struct scan_known_page page_read;
        scan__known_encode(&items, TS_GIT_SHA1, &wrong[i]);
        struct scan_known_page written = {.items = scan__buffer_bytes(&items)};
        scan__known_page_encode(&written, &bytes);
        assert_false(scan__known_page_decode(scan__buffer_bytes(&bytes), TS_GIT_SHA1, &page_read));
        scan__buffer_release(&items);
        scan__buffer_release(&bytes);
    }
}

static void numbers_take_as_many_bytes_as_they_need(void **state) {
    (void)state;
    static const uint64_t numbers[] = {0, 1, 127, 128, 300, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX};
    struct scan_buffer buffer = {.data = NULL};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        scan__buffer_put_number(&buffer, numbers[i]);
    struct ts_bytes rest = scan__buffer_bytes(&buffer);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        uint64_t number;
        assert_true(scan__number_decode(&rest, &number));
        assert_true(number == numbers[i]);
    }
    uint64_t none;
    assert_false(scan__number_decode(&rest, &none));
    rest = TS_BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
    assert_false(scan__number_decode(&rest, &none));
    scan__buffer_release(&buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(decoding_returns_the_encoded_material, begin, end),
        cmocka_unit_test_setup_teardown(only_wanted_contents_are_taken, begin, end),
        cmocka_unit_test_setup_teardown(a_page_that_was_cut_is_refused_whole, begin, end),
        cmocka_unit_test_setup_teardown(a_rule_that_is_not_there_refuses_the_page, begin, end),
        cmocka_unit_test_setup_teardown(any_changed_byte_is_refused_or_read_in_bounds, begin, end),
        cmocka_unit_test(known_objects_are_read_as_they_were_written),
        cmocka_unit_test(known_objects_that_cannot_be_refuse_the_page),
        cmocka_unit_test(numbers_take_as_many_bytes_as_they_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
