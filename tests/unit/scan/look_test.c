/* Scans contents. Matches that are found and matches that are carried over give the same result. */
#include "kit.h"

#include "base/prng.h"

static struct kit kit;

static int begin(void **state) {
    (void)state;
    kit_init(
        &kit,
        "allow:\n  - {paths: ['tests/**'], rules: [short]}\n  - {lines: ['known']}\n  - {rules: [short]}\n");
    return 0;
}

static int end(void **state) {
    (void)state;
    kit_release(&kit);
    return 0;
}

static void look_at(const char *text) {
    struct scan_content content = {.kind = SCAN_CONTENT_BLOB};
    assert_int_equal(scan__look_whole(&kit.look, &content, ts_bytes_of_cstring(text), NULL, NULL),
                     SCAN_LOOK_OK);
}

static void a_content_without_matches_leaves_nothing(void **state) {
    (void)state;
    struct scan_content content = {.kind = SCAN_CONTENT_BLOB};
    struct scan_raw *raw = scan__raw_unknown();
    assert_int_equal(scan__look_whole(&kit.look, &content, TS_BYTES("nothing"), NULL, &raw), SCAN_LOOK_OK);
    assert_null(raw);
    /* Landmarks that may begin a match in a delta are remembered, but are not hits. */
    assert_int_equal(scan__look_whole(&kit.look, &content, TS_BYTES("nothing tok_"), NULL, &raw),
                     SCAN_LOOK_OK);
    assert_non_null(raw);
    assert_ptr_not_equal(raw, scan__raw_unknown());
    scan__raw_free(raw);
    assert_int_equal(kit_content_count(&kit), 0);
}

static void hits_have_lines_columns_and_an_excerpt(void **state) {
    (void)state;
    look_at("first\n  a tok_abcdefgh1234 b\nBEGIN\nabcdefghij0123456789\nEND tok_q7w3e9r1t5y2");
    assert_int_equal(kit_content(&kit, 0)->hit_count, 3);
    const struct scan_hit *hit = kit_hit(&kit, 0, 0);
    assert_string_equal(kit_rule(&kit, hit), "short");
    assert_int_equal(hit->line, 2);
    assert_int_equal(hit->column, 5);
    assert_int_equal(hit->end_line, 2);
    assert_int_equal(hit->end_column, 21);
    assert_true(kit_excerpt_is(&kit, hit, "  a ******** b"));
    hit = kit_hit(&kit, 0, 1);
    assert_string_equal(kit_rule(&kit, hit), "block");
    assert_int_equal(hit->line, 3);
    assert_int_equal(hit->end_line, 5);
    assert_int_equal(hit->end_column, 4);
    assert_true(kit_excerpt_is(&kit, kit_hit(&kit, 0, 2), "******** ********"));
}

static void no_secret_is_kept(void **state) {
    (void)state;
    look_at("pass=tok_abcdefgh1234 tok_abcdefgh1234 pass=abcdefgh1234");
    for (size_t i = 0; i + 12 < kit.hits.texts.len; i++)
        assert_memory_not_equal(kit.hits.texts.bytes + i, "abcdefgh1234", 12);
}

static void entries_that_may_allow_a_hit_are_kept_with_it(void **state) {
    (void)state;
    look_at("tok_abcdefgh1234 known\nkey_12345678\npass=aaaabbbbccccdddd1 # turnstone:allow\n");
    struct ts_bytes entries = scan__hits_text_at(&kit.hits, kit_hit(&kit, 0, 0)->allows);
    uint32_t numbers[2];
    /* Entry 1 allows the hit on every path, so entry 2 is not kept. */
    assert_int_equal(entries.len, sizeof numbers);
    memcpy(numbers, entries.data, sizeof numbers);
    assert_int_equal(numbers[0], 0);
    assert_int_equal(numbers[1], 1);
    assert_int_equal(kit_hit(&kit, 0, 0)->pragma, SCAN_NO_TEXT);
    assert_true(
        kit_text_is(&kit, kit_hit(&kit, 0, kit_content(&kit, 0)->hit_count - 1)->pragma, "turnstone:allow"));
}

static void the_same_secret_is_one_finding(void **state) {
    (void)state;
    look_at("tok_abcdefgh1234\n");
    look_at("other\ntok_abcdefgh1234\ntok_abcdefgh9999");
    assert_int_equal(kit_hit(&kit, 0, 0)->finding, kit_hit(&kit, 1, 0)->finding);
    assert_int_equal(atomic_load(&kit.hits.finding_count), 2);
}

static void more_matches_than_are_kept_are_said(void **state) {
    (void)state;
    struct scan_content content = {.kind = SCAN_CONTENT_BLOB};
    size_t count = SCAN_MATCHES_MAX + 10;
    char *text = malloc(count * 17 + 1);
    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * 17, "tok_k4j8h2g6f1d3 ", 17);
    struct scan_raw *raw = NULL;
    assert_int_equal(scan__look_whole(&kit.look, &content, ts_bytes_of(text, count * 17), NULL, &raw),
                     SCAN_LOOK_TOO_MANY);
    assert_ptr_equal(raw, scan__raw_unknown());
    free(text);
    /* The excerpts are short, because a match that was not kept may be near any hit. */
    assert_true(kit_excerpt_is(&kit, kit_hit(&kit, 0, 0), "********…"));
    for (size_t i = 1000; i + 1000 < kit_content(&kit, 0)->hit_count; i++)
        assert_true(kit_excerpt_is(&kit, kit_hit(&kit, 0, i), "…********…"));
}

static void a_content_cut_short_is_neither_whole_nor_clean(void **state) {
    (void)state;
    struct scan_content content = {.kind = SCAN_CONTENT_BLOB};
    struct ts_bytes text = TS_BYTES("tok_abcdefgh1234 and pass");
    struct scan_raw *raw;
    assert_int_equal(scan__look_whole(&kit.look, &content, text, NULL, &raw), SCAN_LOOK_OK);
    assert_true(kit_content(&kit, 0)->is_whole);
    assert_true(scan__look_is_clean(&kit.look, TS_BYTES("nothing")));
    atomic_bool stop = true;
    kit.look.options.stop = &stop;
    assert_false(scan__look_is_clean(&kit.look, TS_BYTES("nothing")));
    struct ts_git_copy copy = {0, 0, text.len};
    struct scan_base base = {raw, text.len, &copy, 1};
    struct scan_raw *cut;
    assert_int_equal(scan__look_whole(&kit.look, &content, text, &base, &cut), SCAN_LOOK_OK);
    assert_ptr_equal(cut, scan__raw_unknown());
    assert_false(kit_content(&kit, 1)->is_whole);
    /* The excerpt is short, because another secret, which was not found, may be near this hit. */
    assert_true(kit_excerpt_is(&kit, kit_hit(&kit, 1, 0), "********"));
    assert_int_equal(scan__look_whole(&kit.look, &content, TS_BYTES("nothing"), NULL, NULL), SCAN_LOOK_OK);
    assert_false(kit.look.is_clean);
    scan__raw_free(raw);
}

/* ---- carried over ---- */

struct version {
    uint8_t bytes[6000];
    size_t len;
    struct ts_git_copy copies[64];
    size_t copy_count;
};

static const char *const pieces[] = {"tok_",
                                     "abcdefgh1234",
                                     "tok_abcdefgh1234",
                                     "tok_q7w3e9r1t5y2",
                                     " ",
                                     "\n",
                                     ";",
                                     "key_12345678",
                                     "key_",
                                     "1234",
                                     "BEGIN\n",
                                     "abcdefghij0123456789\n",
                                     "END",
                                     "BEGIN\nabcdefghijabcdefghij\nEND",
                                     "pass=",
                                     "pass=abcdefgh1",
                                     "known",
                                     "# turnstone:allow",
                                     "x",
                                     "dG9rX2FiY2RlZmdoMTIzNCB0b2tfYWJjZGVmZ2gxMjM0",
                                     "%74%6f%6b%5f%61%31%62%32%63%33%64%34%65%35%66%36",
                                     "pragma: allowlist nextline secret"};

static void add_pieces(struct ts_prng *prng, struct version *version, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        const char *piece = pieces[ts_prng_below(prng, sizeof pieces / sizeof pieces[0])];
        size_t len = strlen(piece);
        if (version->len + len > sizeof version->bytes)
            return;
        memcpy(version->bytes + version->len, piece, len);
        version->len += len;
    }
}

/* Makes a version from copies of parts of the base, and new pieces between the copies. The copies are at
 * random places, or touch each other, or begin or end where the base begins or ends. */
static void derive(struct ts_prng *prng, const struct version *base, struct version *version) {
    *version = (struct version){.len = 0};
    uint64_t steps = 1 + ts_prng_below(prng, 8);
    for (uint64_t i = 0; i < steps && base->len > 0; i++) {
        if (ts_prng_below(prng, 3) == 0)
            add_pieces(prng, version, ts_prng_below(prng, 3));
        size_t from = ts_prng_below(prng, 4) == 0 ? 0 : (size_t)ts_prng_below(prng, base->len);
        size_t len = ts_prng_below(prng, 4) == 0 ? base->len - from
                                                 : 1 + (size_t)ts_prng_below(prng, base->len - from);
        if (version->len + len > sizeof version->bytes)
            break;
        struct ts_git_copy *last = version->copy_count > 0 ? &version->copies[version->copy_count - 1] : NULL;
        memcpy(version->bytes + version->len, base->bytes + from, len);
        if (last != NULL && last->at + last->len == version->len && last->from + last->len == from)
            last->len += len; /* adjacent copies are joined, as in a delta */
        else
            version->copies[version->copy_count++] = (struct ts_git_copy){version->len, from, len};
        version->len += len;
    }
    if (ts_prng_below(prng, 2) == 0)
        add_pieces(prng, version, ts_prng_below(prng, 3));
}

static bool is_same(const struct scan_hit *a, const struct scan_hit *b) {
    return a->finding == b->finding && a->around == b->around && a->allows == b->allows &&
           a->pragma == b->pragma && a->line == b->line && a->column == b->column &&
           a->end_line == b->end_line && a->end_column == b->end_column && a->at == b->at &&
           a->len == b->len && a->confidence == b->confidence && a->depth == b->depth &&
           memcmp(a->encodings, b->encodings, sizeof a->encodings) == 0;
}

/* Checks that the last two contents have the same hits. */
static void same_hits(struct kit *k, uint64_t seed, const struct version *version) {
    size_t count = kit_content_count(k);
    const struct scan_content *a = count >= 2 ? kit_content(k, count - 2) : NULL;
    const struct scan_content *b = count >= 2 ? kit_content(k, count - 1) : NULL;
    bool all_same = a != NULL && a->hit_count == b->hit_count;
    for (size_t i = 0; all_same && i < a->hit_count; i++)
        all_same = is_same(kit_hit(k, count - 2, i), kit_hit(k, count - 1, i));
    if (!all_same)
        fail_msg("seed %llu: different hits in '%.*s'", (unsigned long long)seed, (int)version->len,
                 version->bytes);
}

static void carried_matches_equal_those_of_a_whole_scan(void **state) {
    (void)state;
    struct ts_prng prng;
    static struct version base;
    static struct version derived;
    size_t compared = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct scan_content content = {.kind = SCAN_CONTENT_BLOB};
        struct scan_raw *raw = NULL;
        struct scan_raw *next = NULL;
        ts_prng_init(&prng, seed);
        base = (struct version){.len = 0};
        add_pieces(&prng, &base, 1 + ts_prng_below(&prng, 30));
        assert_int_equal(scan__look_whole(&kit.look, &content, ts_bytes_of(base.bytes, base.len), NULL, &raw),
                         SCAN_LOOK_OK);
        /* A chain of deltas: carried matches are carried over again. */
        for (int generation = 0; generation < 4; generation++) {
            derive(&prng, &base, &derived);
            struct scan_base from = {raw, base.len, derived.copies, derived.copy_count};
            struct ts_bytes bytes = ts_bytes_of(derived.bytes, derived.len);
            size_t before = kit_content_count(&kit);
            assert_int_equal(scan__look_whole(&kit.look, &content, bytes, &from, &next), SCAN_LOOK_OK);
            size_t carried = kit_content_count(&kit) - before;
            assert_int_equal(scan__look_whole(&kit.look, &content, bytes, NULL, NULL), SCAN_LOOK_OK);
            size_t full = kit_content_count(&kit) - before - carried;
            if (carried != full)
                fail_msg("seed %llu: hits one way only in '%.*s'", (unsigned long long)seed, (int)bytes.len,
                         bytes.data);
            if (full > 0)
                same_hits(&kit, seed, &derived);
            compared += full;
            scan__raw_free(raw);
            raw = next;
            base = derived;
        }
        scan__raw_free(raw);
    }
    assert_true(compared > 3000);
}

static void too_many_matches_to_carry_are_found_again(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    struct scan_content content = {.kind = SCAN_CONTENT_BLOB};
    char *text = malloc(COUNT * 17 + 1);
    assert_non_null(text);
    for (size_t i = 0; i < COUNT; i++)
        memcpy(text + i * 17, "tok_k4j8h2g6f1d3 ", 17);
    struct scan_raw *raw = NULL;
    struct ts_bytes bytes = ts_bytes_of(text, COUNT * 17);
    assert_int_equal(scan__look_whole(&kit.look, &content, bytes, NULL, &raw), SCAN_LOOK_OK);
    assert_ptr_equal(raw, scan__raw_unknown());
    struct ts_git_copy copy = {0, 0, COUNT * 17};
    struct scan_base base = {raw, COUNT * 17, &copy, 1};
    assert_int_equal(scan__look_whole(&kit.look, &content, bytes, &base, NULL), SCAN_LOOK_OK);
    assert_int_equal(kit_content(&kit, 1)->hit_count, COUNT);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_content_without_matches_leaves_nothing, begin, end),
        cmocka_unit_test_setup_teardown(hits_have_lines_columns_and_an_excerpt, begin, end),
        cmocka_unit_test_setup_teardown(no_secret_is_kept, begin, end),
        cmocka_unit_test_setup_teardown(entries_that_may_allow_a_hit_are_kept_with_it, begin, end),
        cmocka_unit_test_setup_teardown(the_same_secret_is_one_finding, begin, end),
        cmocka_unit_test_setup_teardown(more_matches_than_are_kept_are_said, begin, end),
        cmocka_unit_test_setup_teardown(a_content_cut_short_is_neither_whole_nor_clean, begin, end),
        cmocka_unit_test_setup_teardown(carried_matches_equal_those_of_a_whole_scan, begin, end),
        cmocka_unit_test_setup_teardown(too_many_matches_to_carry_are_found_again, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
