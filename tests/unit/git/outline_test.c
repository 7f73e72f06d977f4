/* Tests the outlines of intact and hostile packs. An outline has the delta base of each entry (outline.h). */
#include "outline.h"

#include "numbers.h"
#include "pack_writer.h"

#include <inttypes.h>

struct drawn {
    struct git__pack pack;
    bool is_damaged;
};

/* The expected result for one entry. `base` is the number of the entry that is its base, or GIT__NONE. */
struct expected {
    uint32_t base;
    enum ts_git_type type;
    enum ts_git_error error;
};

static const uint32_t NOWHERE = 4000000;

static uint32_t position_of(const struct drawn *d, uint32_t number) {
    struct ts_git_oid id = writer_oid(number);
    uint32_t position;
    assert_true(git__pack_index_find(&d->pack.index, id.bytes, &position));
    return position;
}

/* Returns the node of the entry with this number, or GIT__NONE if it has no node. */
static uint32_t node_of(const struct drawn *d, uint32_t number) {
    uint32_t position = position_of(d, number);
    for (uint32_t i = 0; i < d->pack.outline->count; i++)
        if (d->pack.outline->nodes[i].position == position)
            return i;
    return GIT__NONE;
}

static const struct git__node *find_node(const struct drawn *d, uint32_t number) {
    uint32_t node = node_of(d, number);
    assert_int_not_equal(node, GIT__NONE);
    return &d->pack.outline->nodes[node];
}

/* Checks that every entry of the index occurs once, as a node at its offset or as lost, and that nodes are in
 * the order of offsets. */
static void check_all_are_there(const struct git__pack *pack) {
    const struct git__outline *outline = pack->outline;
    assert_int_equal(outline->count + outline->lost_count, pack->index.count);
    bool *is_met = calloc((size_t)pack->index.count + 1, sizeof *is_met);
    assert_non_null(is_met);
    for (uint32_t i = 0; i < outline->count; i++) {
        const struct git__node *node = &outline->nodes[i];
        uint64_t offset = 0;
        assert_true(node->position < pack->index.count && !is_met[node->position]);
        is_met[node->position] = true;
        assert_true(git__pack_index_offset(&pack->index, node->position, &offset));
        assert_int_equal(node->offset, offset);
        assert_true(offset < pack->end);
        assert_true(i == 0 || outline->nodes[i - 1].offset <= offset);
        assert_false(node->is_wanted || node->is_needed);
    }
    for (uint32_t i = 0; i < outline->lost_count; i++) {
        assert_true(outline->lost[i] < pack->index.count && !is_met[outline->lost[i]]);
        is_met[outline->lost[i]] = true;
    }
    free(is_met);
}

/* Checks that each node is in `order` at most once, after its parent. A node that is not in `order` cannot be
 * built. */
static void check_order(const struct git__outline *outline) {
    bool *is_met = calloc((size_t)outline->count + 1, sizeof *is_met);
    assert_non_null(is_met);
    assert_true(outline->ordered <= outline->count);
    for (uint32_t at = 0; at < outline->ordered; at++) {
        uint32_t node = outline->order[at];
        assert_true(node < outline->count && !is_met[node]);
        uint32_t parent = outline->nodes[node].parent;
        assert_true(parent == GIT__NONE || is_met[parent]);
        is_met[node] = true;
    }
    for (uint32_t i = 0; i < outline->count; i++)
        assert_true(is_met[i] || outline->nodes[i].error == TS_GIT_NO_BASE);
    free(is_met);
}

static struct drawn draw_files(const char *folder) {
    struct drawn d;
    char path[256];
    snprintf(path, sizeof path, "%s/objects/pack/pack-x.idx", folder);
    assert_int_equal(git__pack_open(TS_GIT_SHA1, path, &d.pack, &d.is_damaged, NULL), TS_GIT_OK);
    d.pack.outline = git__outline_new(&d.pack);
    assert_non_null(d.pack.outline);
    assert_false(d.pack.outline->is_lent);
    check_all_are_there(&d.pack);
    check_order(d.pack.outline);
    return d;
}

/* Writes the pack, opens it and makes its outline. */
static struct drawn draw(struct pack_writer *w) {
    writer_finish(w, "r");
    struct drawn d = draw_files("r");
    assert_false(d.is_damaged);
    return d;
}

static void drawn_release(struct drawn *d) {
    git__pack_release(&d->pack);
}

static void expect(const struct drawn *d, uint32_t number, struct expected expected) {
    const struct git__node *node = find_node(d, number);
    uint32_t parent = expected.base == GIT__NONE ? GIT__NONE : node_of(d, expected.base);
    if (node->parent != parent || node->type != expected.type || node->error != expected.error)
        fail_msg("entry %u: parent %u, type %u, error %u; expected %u, %u, %u", number, node->parent,
                 node->type, node->error, parent, (unsigned)expected.type, (unsigned)expected.error);
}

static void expect_damaged(const struct drawn *d, uint32_t number, uint32_t base, enum ts_git_error error) {
    expect(d, number, (struct expected){.base = base, .error = error});
}

static void expect_sound(const struct drawn *d, uint32_t number, uint32_t base, enum ts_git_type type) {
    expect(d, number, (struct expected){.base = base, .type = type});
}

/* Writes a delta whose base is at this offset. The content of the delta is irrelevant here. */
static uint64_t by_offset(struct pack_writer *w, uint64_t base_offset) {
    return writer_offset_delta(w, base_offset, "delta", 5);
}

static uint64_t by_id(struct pack_writer *w, uint32_t base) {
    return writer_ref_delta(w, writer_oid(base), "delta", 5);
}

static uint64_t whole(struct pack_writer *w, enum ts_git_type type) {
    return writer_entry(w, (unsigned)type, 5, NULL, 0, "whole", 5);
}

/* ---- sound packs ---- */

static void whole_objects_have_their_type_and_size_and_no_parent(void **state) {
    (void)state;
    struct pack_writer w;
    static const uint64_t sizes[] = {0, 15, 16, 2047, 2048, UINT32_MAX - 1, UINT32_MAX, UINT64_C(1) << 40};
    writer_init(&w);
    for (uint32_t i = 0; i < 8; i++)
        writer_entry(&w, 1 + i % 4, sizes[i], NULL, 0, "", 0);
    struct drawn d = draw(&w);
    for (uint32_t i = 0; i < 8; i++) {
        expect_sound(&d, i, GIT__NONE, (enum ts_git_type)(1 + i % 4));
        assert_int_equal(find_node(&d, i)->size, sizes[i] < UINT32_MAX ? sizes[i] : UINT32_MAX);
    }
    assert_int_equal(d.pack.outline->ordered, 8);
    drawn_release(&d);
}

static void types_come_down_chains_of_both_kinds(void **state) {
    (void)state;
    struct pack_writer w;
    writer_init(&w);
    for (uint32_t type = 1; type <= 4; type++) { /* eight entries of each type */
        uint32_t first = w.count;
        uint64_t root = whole(&w, (enum ts_git_type)type);
        uint64_t delta = by_offset(&w, root);
        by_offset(&w, delta);     /* entry first + 2 */
        by_id(&w, first + 2);     /* entry first + 3 */
        delta = by_id(&w, first); /* entry first + 4 */
        by_offset(&w, delta);     /* entry first + 5 */
        by_id(&w, first + 5);     /* entry first + 6 */
        by_offset(&w, root);      /* entry first + 7 */
    }
    struct drawn d = draw(&w);
    static const uint32_t bases[] = {GIT__NONE, 0, 1, 2, 0, 4, 5, 0};
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t base = i % 8 == 0 ? GIT__NONE : i / 8 * 8 + bases[i % 8];
        expect_sound(&d, i, base, (enum ts_git_type)(1 + i / 8));
    }
    assert_int_equal(d.pack.outline->ordered, 32);
    drawn_release(&d);
}

/* A base by id may be anywhere in the pack, so a delta may be before its base in the order of offsets. */
static void bases_may_come_after_their_deltas(void **state) {
    (void)state;
    enum { COUNT = 30000 };
    struct pack_writer w;
    writer_init(&w);
    for (uint32_t i = 0; i + 1 < COUNT; i++)
        by_id(&w, i + 1);
    whole(&w, TS_GIT_TREE);
    struct drawn d = draw(&w);
    const struct git__outline *outline = d.pack.outline;
    assert_int_equal(outline->count, COUNT);
    assert_int_equal(outline->ordered, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) { /* nodes are in the order of writing */
        assert_int_equal(outline->nodes[i].parent, i + 1 < COUNT ? i + 1 : GIT__NONE);
        assert_int_equal(outline->nodes[i].type, TS_GIT_TREE);
        assert_int_equal(outline->nodes[i].error, TS_GIT_OK);
        assert_int_equal(outline->order[i], COUNT - 1 - i);
    }
    drawn_release(&d);
}

/* Tries bases at every distance back, and offsets one byte before and after each base. */
static void bases_by_offset_are_found_however_far_back_and_only_where_an_entry_begins(void **state) {
    (void)state;
    enum { BLOBS = 70 };
    struct pack_writer w;
    uint64_t offsets[BLOBS];
    writer_init(&w);
    for (uint32_t i = 0; i < BLOBS; i++)
        offsets[i] = whole(&w, TS_GIT_BLOB);
    for (uint32_t i = 0; i < BLOBS; i++) {
        by_offset(&w, offsets[i]);
        by_offset(&w, offsets[i] - 1);
        by_offset(&w, offsets[i] + 1);
    }
    struct drawn d = draw(&w);
    for (uint32_t i = 0; i < BLOBS; i++) {
        expect_sound(&d, BLOBS + 3 * i, i, TS_GIT_BLOB);
        expect_damaged(&d, BLOBS + 3 * i + 1, GIT__NONE, TS_GIT_NO_BASE);
        expect_damaged(&d, BLOBS + 3 * i + 2, GIT__NONE, TS_GIT_NO_BASE);
    }
    drawn_release(&d);
}

/* Each base is an entry of one byte. No valid entry is so short, but the headers alone do not show that. */
static void bases_of_one_byte_are_distinguished(void **state) {
    (void)state;
    enum { BLOBS = 40 };
    struct pack_writer w;
    uint64_t offsets[BLOBS];
    writer_init(&w);
    for (uint32_t i = 0; i < BLOBS; i++) {
        offsets[i] = whole(&w, TS_GIT_BLOB);
        w.len = offsets[i] + 1;
    }
    for (uint32_t i = 0; i < BLOBS; i++)
        by_offset(&w, offsets[BLOBS - 1 - i]);
    struct drawn d = draw(&w);
    for (uint32_t i = 0; i < BLOBS; i++)
        expect_sound(&d, BLOBS + i, BLOBS - 1 - i, TS_GIT_BLOB);
    drawn_release(&d);
}

/* The nearest possible base is the entry directly before the delta. The first entry has no entry before
 * it. */
static void the_first_entries_of_a_pack_find_their_bases(void **state) {
    (void)state;
    struct pack_writer w;
    writer_init(&w);
    by_offset(&w, w.len - 3); /* this offset is in the pack's header */
    by_offset(&w, whole(&w, TS_GIT_TAG));
    struct drawn d = draw(&w);
    expect_damaged(&d, 0, GIT__NONE, TS_GIT_NO_BASE);
    expect_sound(&d, 1, GIT__NONE, TS_GIT_TAG);
    expect_sound(&d, 2, 1, TS_GIT_TAG);
    drawn_release(&d);
}

/* Each pack has its own outline, so a base in another pack is missing. */
static void a_base_in_another_pack_is_missing(void **state) {
    (void)state;
    struct pack_writer w;
    writer_init(&w);
    whole(&w, TS_GIT_BLOB); /* entry 0, in this pack only */
    by_id(&w, 0);
    writer_finish(&w, "r");
    writer_init(&w);
    by_id(&w, 0);           /* entry 10 */
    by_id(&w, 12);          /* entry 11 */
    whole(&w, TS_GIT_TREE); /* entry 12 */
    by_id(&w, 1);           /* entry 13 */
    for (uint32_t i = 0; i < w.count; i++)
        memcpy(w.objects[i].id, writer_oid(10 + i).bytes, 20);
    writer_finish(&w, "s");
    struct drawn first = draw_files("r");
    struct drawn second = draw_files("s");
    expect_sound(&first, 1, 0, TS_GIT_BLOB);
    assert_int_equal(first.pack.outline->count, 2);
    assert_int_equal(second.pack.outline->count, 4);
    expect_damaged(&second, 10, GIT__NONE, TS_GIT_NO_BASE);
    expect_sound(&second, 11, 12, TS_GIT_TREE);
    expect_sound(&second, 12, GIT__NONE, TS_GIT_TREE);
    expect_damaged(&second, 13, GIT__NONE, TS_GIT_NO_BASE);
    drawn_release(&first);
    drawn_release(&second);
}

/* The file has a hole, so that offsets have 34 bits. Their lower 32 bits are below and among the offsets of
 * the first entries. */
static void packs_beyond_four_gigabytes_are_outlined(void **state) {
    (void)state;
    struct pack_writer w;
    writer_init(&w);
    uint64_t first = whole(&w, TS_GIT_COMMIT);
    uint64_t near = by_offset(&w, first);
    uint64_t moved = w.len;
    uint64_t hole = (UINT64_C(1) << 33) - moved;
    by_offset(&w, near - hole); /* 2: its base is before the hole */
    by_offset(&w, moved);       /* entry 3 */
    by_id(&w, 0);               /* entry 4 */
    for (uint32_t i = 2; i < 5; i++)
        w.objects[i].offset += hole;
    writer_finish(&w, "r");
    sh("cd r/objects/pack && tail -c +%" PRIu64 " pack-x.pack >tail && truncate -s %" PRIu64
       " pack-x.pack && truncate -s %" PRIu64 " pack-x.pack && cat tail >>pack-x.pack",
       moved + 1, moved, moved + hole);
    struct drawn d = draw_files("r");
    assert_false(d.is_damaged);
    expect_sound(&d, 0, GIT__NONE, TS_GIT_COMMIT);
    expect_sound(&d, 1, 0, TS_GIT_COMMIT);
    expect_sound(&d, 2, 1, TS_GIT_COMMIT);
    expect_sound(&d, 3, 2, TS_GIT_COMMIT);
    expect_sound(&d, 4, 0, TS_GIT_COMMIT);
    assert_int_equal(find_node(&d, 2)->offset, UINT64_C(1) << 33);
    drawn_release(&d);
}

static void an_empty_pack_has_an_empty_outline(void **state) {
    (void)state;
    struct pack_writer w;
    writer_init(&w);
    struct drawn d = draw(&w);
    assert_int_equal(d.pack.outline->count, 0);
    assert_int_equal(d.pack.outline->ordered, 0);
    assert_int_equal(d.pack.outline->lost_count, 0);
    drawn_release(&d);
    git__outline_free(NULL);
}

/* ---- objects that cannot be built ---- */

static void deltas_that_go_round_have_an_error_and_no_place_in_the_order(void **state) {
    (void)state;
    struct pack_writer w;
    writer_init(&w);
    by_id(&w, 0); /* 0: its base is itself */
    by_id(&w, 2);
    by_id(&w, 1);
    by_id(&w, 5);
    by_id(&w, 3);
    uint64_t fifth = by_id(&w, 4);
    by_offset(&w, fifth);   /* 6: its base is in the cycle of three */
    by_id(&w, 6);           /* 7: its base is 6 */
    whole(&w, TS_GIT_BLOB); /* entry 8 */
    by_id(&w, 8);           /* entry 9 */
    by_id(&w, 0);           /* 10: its base is the entry that is its own base */
    struct drawn d = draw(&w);
    static const uint32_t bases[] = {GIT__NONE, 2, 1, 5, 3, 4, 5, 6};
    for (uint32_t i = 0; i < 8; i++)
        expect_damaged(&d, i, bases[i], TS_GIT_NO_BASE);
    expect_sound(&d, 8, GIT__NONE, TS_GIT_BLOB);
    expect_sound(&d, 9, 8, TS_GIT_BLOB);
    expect_damaged(&d, 10, 0, TS_GIT_BASE_DAMAGED);
    assert_int_equal(d.pack.outline->ordered, 4);
    for (uint32_t at = 0; at < 4; at++)
        assert_false(d.pack.outline->order[at] >= 1 && d.pack.outline->order[at] <= 7);
    drawn_release(&d);
}

static void all_below_a_missing_base_say_that_it_is_damaged(void **state) {
    (void)state;
    struct pack_writer w;
    writer_init(&w);
    uint64_t blob = whole(&w, TS_GIT_BLOB);
    uint64_t lost = by_id(&w, NOWHERE);        /* entry 1 */
    by_offset(&w, lost);                       /* entry 2 */
    by_id(&w, 2);                              /* entry 3 */
    uint64_t inside = by_offset(&w, blob + 2); /* 4: this offset is within an entry */
    by_offset(&w, inside);                     /* entry 5 */
    by_id(&w, 5);                              /* entry 6 */
    by_offset(&w, blob);                       /* entry 7 */
    struct drawn d = draw(&w);
    expect_damaged(&d, 1, GIT__NONE, TS_GIT_NO_BASE);
    expect_damaged(&d, 2, 1, TS_GIT_BASE_DAMAGED);
    expect_damaged(&d, 3, 2, TS_GIT_BASE_DAMAGED);
    expect_damaged(&d, 4, GIT__NONE, TS_GIT_NO_BASE);
    expect_damaged(&d, 5, 4, TS_GIT_BASE_DAMAGED);
    expect_damaged(&d, 6, 5, TS_GIT_BASE_DAMAGED);
    expect_sound(&d, 7, 0, TS_GIT_BLOB);
    assert_int_equal(d.pack.outline->ordered, 8);
    drawn_release(&d);
}

static void headers_that_are_not_valid_are_damage_to_all_below(void **state) {
    (void)state;
    struct pack_writer w;
    writer_init(&w);
    uint64_t none = writer_entry(&w, 0, 5, NULL, 0, "", 0);   /* 0: no type */
    writer_entry(&w, 5, 5, NULL, 0, "", 0);                   /* 1: a reserved type */
    writer_entry(&w, 3, UINT64_MAX, "\377", 0, "", 0);        /* 2: the largest possible size */
    writer_entry(&w, 6, 5, "\0", 1, "", 0);                   /* 3: the distance to the base is 0 */
    writer_entry(&w, 6, 5, "\377\377\377\377\177", 5, "", 0); /* 4: its base is before the pack */
    /* Entry 5: the distance never ends. */
    writer_entry(&w, 6, 5, "\377\377\377\377\377\377\377\377\377\377\1", 11, "", 0);
    by_offset(&w, none); /* entry 6 */
    by_id(&w, 1);        /* entry 7 */
    by_id(&w, 7);        /* entry 8 */
    struct drawn d = draw(&w);
    static const uint32_t damaged[] = {0, 1, 3, 4, 5};
    for (size_t i = 0; i < 5; i++)
        expect_damaged(&d, damaged[i], GIT__NONE, TS_GIT_BAD_ENTRY);
    expect_sound(&d, 2, GIT__NONE, TS_GIT_BLOB);
    assert_int_equal(find_node(&d, 2)->size, UINT32_MAX);
    expect_damaged(&d, 6, 0, TS_GIT_BASE_DAMAGED);
    expect_damaged(&d, 7, 1, TS_GIT_BASE_DAMAGED);
    expect_damaged(&d, 8, 7, TS_GIT_BASE_DAMAGED);
    drawn_release(&d);
}

/* Makes a pack with a delta by id, which has one byte of header and 20 bytes for the id of its base. The next
 * entry begins `behind` bytes after the start of the delta. */
static struct drawn draw_with_next_entry(uint64_t behind, bool is_last) {
    struct pack_writer w;
    writer_init(&w);
    whole(&w, TS_GIT_BLOB);         /* entry 0 */
    uint64_t offset = by_id(&w, 0); /* entry 1 */
    whole(&w, TS_GIT_TREE);         /* entry 2 */
    w.objects[2].offset = offset + behind;
    if (!is_last)
        whole(&w, TS_GIT_TREE); /* entry 3 */
    return draw(&w);
}

static void headers_do_not_run_into_the_next_entry(void **state) {
    (void)state;
    for (unsigned is_last = 0; is_last < 2; is_last++) {
        struct drawn d = draw_with_next_entry(20, is_last);
        expect_damaged(&d, 1, GIT__NONE, TS_GIT_BAD_ENTRY);
        drawn_release(&d);
        d = draw_with_next_entry(21, is_last);
        expect_sound(&d, 1, 0, TS_GIT_BLOB);
        drawn_release(&d);
    }
}

static void headers_do_not_run_into_the_trailer(void **state) {
    (void)state;
    for (uint64_t len = 20; len <= 21; len++) {
        struct pack_writer w;
        writer_init(&w);
        whole(&w, TS_GIT_BLOB);
        w.len = by_id(&w, 0) + len;
        struct drawn d = draw(&w);
        if (len == 20)
            expect_damaged(&d, 1, GIT__NONE, TS_GIT_BAD_ENTRY);
        else
            expect_sound(&d, 1, 0, TS_GIT_BLOB);
        drawn_release(&d);
    }
}

static void offsets_that_are_not_in_the_pack_are_lost(void **state) {
    (void)state;
    struct pack_writer w;
    writer_init(&w);
    whole(&w, TS_GIT_BLOB);
    for (uint32_t i = 1; i <= 6; i++)
        by_id(&w, 0);
    whole(&w, TS_GIT_TREE); /* 7: takes the pack's last byte, before the trailer */
    by_id(&w, 2);           /* 8: its base is a lost entry */
    uint64_t end = w.len;
    w.objects[1].offset = end - 1;    /* points to the last byte before the trailer */
    w.objects[2].offset = end;        /* points to the trailer */
    w.objects[3].offset = end + 19;   /* points to the last byte of the trailer */
    w.objects[4].offset = end + 20;   /* points after the end of the file */
    w.objects[5].offset = UINT64_MAX; /* points far after the end of the file */
    w.objects[6].offset = 0;          /* points to the pack's header */
    struct drawn d = draw(&w);
    assert_int_equal(d.pack.outline->lost_count, 4);
    for (uint32_t i = 2; i <= 5; i++)
        assert_int_equal(node_of(&d, i), GIT__NONE);
    assert_int_equal(find_node(&d, 1)->offset, end - 1);
    assert_int_not_equal(find_node(&d, 1)->error, TS_GIT_NO_BASE);
    expect_damaged(&d, 6, GIT__NONE, TS_GIT_BAD_ENTRY);
    expect_damaged(&d, 8, GIT__NONE, TS_GIT_NO_BASE);
    expect_sound(&d, 0, GIT__NONE, TS_GIT_BLOB);
    expect_sound(&d, 7, GIT__NONE, TS_GIT_TREE);
    drawn_release(&d);
}

/* The index refers to a place beyond the end of its table of large offsets. */
static void a_large_offset_that_the_index_does_not_have_is_lost(void **state) {
    (void)state;
    struct pack_writer w;
    writer_init(&w);
    whole(&w, TS_GIT_BLOB);
    writer_finish(&w, "r");
    /* The offset is after 8 bytes, the fan-out, an id and a checksum. */
    sh("printf '\\200\\0\\0\\0' | dd of=r/objects/pack/pack-x.idx bs=1 seek=%d conv=notrunc 2>/dev/null",
       8 + 1024 + 20 + 4);
    struct drawn d = draw_files("r");
    assert_int_equal(d.pack.outline->count, 0);
    assert_int_equal(d.pack.outline->lost_count, 1);
    assert_int_equal(d.pack.outline->lost[0], 0);
    drawn_release(&d);
}

static void two_ids_at_one_offset_do_not_harm_the_others(void **state) {
    (void)state;
    struct pack_writer w;
    writer_init(&w);
    uint64_t blob = whole(&w, TS_GIT_BLOB);
    uint64_t tree = whole(&w, TS_GIT_TREE);
    whole(&w, TS_GIT_BLOB); /* entry 2, at the offset of entry 1 */
    by_offset(&w, blob);
    by_offset(&w, tree);
    w.objects[2].offset = tree;
    struct drawn d = draw(&w);
    expect_sound(&d, 0, GIT__NONE, TS_GIT_BLOB);
    expect_sound(&d, 3, 0, TS_GIT_BLOB);
    /* Entries 1 and 2 have the same offset. One of them has the bytes there, and the other is a bad entry. */
    bool first = find_node(&d, 1)->error == TS_GIT_OK;
    bool second = find_node(&d, 2)->error == TS_GIT_OK;
    assert_true(first != second);
    assert_int_equal(find_node(&d, first ? 2 : 1)->error, TS_GIT_BAD_ENTRY);
    drawn_release(&d);
}

/* Truncates a pack at every byte. Entries before the cut are unchanged, and all others are faults. */
static void truncated_packs_keep_their_whole_objects(void **state) {
    (void)state;
    struct pack_writer w;
    struct drawn d;
    uint64_t offsets[5];
    writer_init(&w);
    offsets[0] = whole(&w, TS_GIT_BLOB);
    offsets[1] = by_offset(&w, offsets[0]);
    offsets[2] = by_id(&w, 3);
    offsets[3] = whole(&w, TS_GIT_TREE);
    offsets[4] = by_id(&w, 3);
    uint64_t size = w.len;
    writer_finish(&w, "r");
    for (uint64_t cut = size; cut > 0; cut--) {
        assert_int_equal(truncate("r/objects/pack/pack-x.pack", (off_t)cut), 0);
        d = draw_files("r");
        assert_true(d.is_damaged);
        for (uint32_t i = 0; i < 5; i++)
            if (offsets[i] >= cut)
                assert_int_equal(node_of(&d, i), GIT__NONE);
        if (cut > offsets[0])
            expect_sound(&d, 0, GIT__NONE, TS_GIT_BLOB);
        if (cut > offsets[1] + 1)
            expect_sound(&d, 1, 0, TS_GIT_BLOB);
        if (cut == offsets[1] + 1)
            expect_damaged(&d, 1, GIT__NONE, TS_GIT_BAD_ENTRY);
        if (cut > offsets[3])
            expect_sound(&d, 2, 3, TS_GIT_TREE);
        else if (cut > offsets[2])
            expect_damaged(&d, 2, GIT__NONE, cut > offsets[2] + 20 ? TS_GIT_NO_BASE : TS_GIT_BAD_ENTRY);
        drawn_release(&d);
    }
}

/* ---- random packs ---- */

enum { MANY = 3000 };

static enum ts_git_error error_of_root(enum ts_git_error root) {
    return root == TS_GIT_OK ? TS_GIT_OK : TS_GIT_BASE_DAMAGED;
}

/* Returns the expected result for an entry. Its type and error are those of the root of its chain. If no root
 * is reached within MANY steps, the chain has a cycle. */
static struct expected follow(const struct expected *written, uint32_t number) {
    struct expected expected = written[number];
    uint32_t at = number;
    for (uint32_t steps = 0; written[at].base != GIT__NONE; steps++) {
        at = written[at].base;
        if (steps > MANY) {
            expected.error = TS_GIT_NO_BASE;
            expected.type = 0;
            return expected;
        }
    }
    expected.type = written[at].type;
    if (at != number)
        expected.error = error_of_root(written[at].error);
    return expected;
}

/* Writes one random entry, and returns its expected result. The base of a delta by offset is before the
 * delta. */
static struct expected write_any(struct pack_writer *w, struct ts_prng *prng, uint64_t *offsets) {
    uint32_t number = w->count;
    struct expected written = {.base = GIT__NONE};
    uint64_t what = number == 0 ? 0 : ts_prng_below(prng, 100);
    if (what < 20) {
        written.type = (enum ts_git_type)(1 + ts_prng_below(prng, 4));
        offsets[number] = whole(w, written.type);
    } else if (what < 45) {
        written.base = (uint32_t)ts_prng_below(prng, number);
        offsets[number] = by_offset(w, offsets[written.base]);
    } else if (what < 96) {
        /* Bases nearby, before or after, often form cycles. */
        if (what < 55) {
            written.base = (uint32_t)ts_prng_below(prng, number);
        } else {
            uint32_t low = number > 4 ? number - 4 : 0;
            written.base = low + (uint32_t)ts_prng_below(prng, MANY - low < 9 ? MANY - low : 9);
        }
        offsets[number] = by_id(w, written.base);
        if (written.base == number)
            written = (struct expected){.base = GIT__NONE, .error = TS_GIT_NO_BASE};
    } else if (what < 98) {
        written.error = TS_GIT_NO_BASE;
        offsets[number] = by_id(w, NOWHERE + number);
    } else {
        written.error = TS_GIT_BAD_ENTRY;
        offsets[number] = writer_entry(w, what == 98 ? 0 : 5, 5, NULL, 0, "", 0);
    }
    return written;
}

static void packs_of_every_kind_of_entry_are_outlined_as_they_were_written(void **state) {
    (void)state;
    struct expected *written = calloc(MANY, sizeof *written);
    uint64_t *offsets = calloc(MANY, sizeof *offsets);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct pack_writer w;
        struct ts_prng prng;
        uint32_t sound = 0;
        uint32_t below_damage = 0;
        uint32_t going_round = 0;
        ts_prng_init(&prng, seed);
        writer_init(&w);
        for (uint32_t i = 0; i < MANY; i++)
            written[i] = write_any(&w, &prng, offsets);
        assert_true(w.len > 0x10000); /* long enough for two rounds of sorting */
        struct drawn d = draw(&w);
        for (uint32_t i = 0; i < MANY; i++) {
            struct expected expected = follow(written, i);
            assert_int_equal(find_node(&d, i)->offset, offsets[i]);
            expect(&d, i, expected);
            sound += expected.error == TS_GIT_OK;
            below_damage += expected.error == TS_GIT_BASE_DAMAGED;
            going_round += expected.error == TS_GIT_NO_BASE && expected.base != GIT__NONE;
        }
        assert_true(sound > 500 && below_damage > 100 && going_round > 100);
        drawn_release(&d);
        sh("rm -rf r");
    }
    free(written);
    free(offsets);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, maker_setup, maker_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(whole_objects_have_their_type_and_size_and_no_parent),
        TEST(types_come_down_chains_of_both_kinds),
        TEST(bases_may_come_after_their_deltas),
        TEST(bases_by_offset_are_found_however_far_back_and_only_where_an_entry_begins),
        TEST(bases_of_one_byte_are_distinguished),
        TEST(the_first_entries_of_a_pack_find_their_bases),
        TEST(a_base_in_another_pack_is_missing),
        TEST(packs_beyond_four_gigabytes_are_outlined),
        TEST(an_empty_pack_has_an_empty_outline),
        TEST(deltas_that_go_round_have_an_error_and_no_place_in_the_order),
        TEST(all_below_a_missing_base_say_that_it_is_damaged),
        TEST(headers_that_are_not_valid_are_damage_to_all_below),
        TEST(headers_do_not_run_into_the_next_entry),
        TEST(headers_do_not_run_into_the_trailer),
        TEST(offsets_that_are_not_in_the_pack_are_lost),
        TEST(a_large_offset_that_the_index_does_not_have_is_lost),
        TEST(two_ids_at_one_offset_do_not_harm_the_others),
        TEST(truncated_packs_keep_their_whole_objects),
        TEST(packs_of_every_kind_of_entry_are_outlined_as_they_were_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
