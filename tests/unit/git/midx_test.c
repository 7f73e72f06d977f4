/* Reads hand-made multi-pack indexes: intact indexes, and indexes with one defect. */
#include "midx.h"

#include "base/endian.h"
#include "support/cmocka.h"

#include <string.h>

#define IDS     3
#define NAMES   "pack-a.idx\0pack-b.idx\0"
#define TRAILER 20

/* The chunks of an index, in their order. Only LOFF may be absent. */
enum chunk { PNAM, OIDF, OIDL, OOFF, LOFF, CHUNKS };

struct maker {
    uint8_t bytes[4096];
    size_t len;
    size_t starts[CHUNKS];
};

static void put_row(struct maker *m, size_t row, const char name[static 4], uint64_t at) {
    memcpy(m->bytes + 12 + row * 12, name, 4);
    ts_be64_store(at, m->bytes + 12 + row * 12 + 4);
}

/* Makes an index of the ids 10…, 20… and 30… in the packs 0, 1 and 0, at the offsets 100, 200 and
 * last_offset. */
static void make(struct maker *m, uint32_t last_offset, size_t large_count) {
    static const char names[CHUNKS][4] = {"PNAM", "OIDF", "OIDL", "OOFF", "LOFF"};
    const size_t lens[CHUNKS] = {sizeof NAMES - 1, 1024, IDS * 20, IDS * 8, large_count * 8};
    size_t chunks = large_count > 0 ? CHUNKS : CHUNKS - 1;
    memset(m, 0, sizeof *m);
    memcpy(m->bytes, "MIDX\1\1", 6);
    m->bytes[6] = (uint8_t)chunks;
    ts_be32_store(2, m->bytes + 8);
    size_t at = 12 + (chunks + 1) * 12;
    for (size_t i = 0; i < chunks; i++) {
        put_row(m, i, names[i], at);
        m->starts[i] = at;
        at += lens[i];
    }
    put_row(m, chunks, "\0\0\0", at);
    m->len = at + TRAILER;
    memcpy(m->bytes + m->starts[PNAM], NAMES, sizeof NAMES - 1);
    static const uint32_t packs[IDS] = {0, 1, 0};
    for (uint32_t i = 0; i < IDS; i++) {
        memset(m->bytes + m->starts[OIDL] + i * 20, (int)(0x10 * (i + 1)), 20);
        ts_be32_store(packs[i], m->bytes + m->starts[OOFF] + i * 8);
        ts_be32_store(i < 2 ? 100 * (i + 1) : last_offset, m->bytes + m->starts[OOFF] + i * 8 + 4);
    }
    for (uint32_t i = 0; i < 256; i++)
        ts_be32_store(i < 0x10 ? 0 : i < 0x20 ? 1 : i < 0x30 ? 2 : 3, m->bytes + m->starts[OIDF] + i * 4);
    for (size_t i = 0; i < large_count; i++)
        ts_be64_store((UINT64_C(5) << 32) + i, m->bytes + m->starts[LOFF] + i * 8);
}

static bool init(const struct maker *m, struct git__midx *ret_midx) {
    return git__midx_init(TS_GIT_SHA1, ts_bytes_of(m->bytes, m->len), ret_midx);
}

static bool find(const struct git__midx *midx, uint8_t byte, struct git__midx_place *ret_place) {
    uint8_t id[20];
    memset(id, byte, sizeof id);
    return git__midx_find(midx, id, ret_place);
}

static void objects_are_found_in_their_packs(void **state) {
    (void)state;
    struct maker m;
    struct git__midx midx;
    struct git__midx_place place;
    make(&m, 300, 0);
    assert_true(init(&m, &midx));
    assert_true(find(&midx, 0x20, &place));
    assert_int_equal(place.pack, 1);
    assert_int_equal(place.offset, 200);
    assert_true(find(&midx, 0x30, &place));
    assert_int_equal(place.offset, 300);
    assert_false(find(&midx, 0x21, &place));
}

static void large_offsets_are_in_a_table_of_their_own(void **state) {
    (void)state;
    struct maker m;
    struct git__midx midx;
    struct git__midx_place place;
    make(&m, 0x80000001u, 2);
    assert_true(init(&m, &midx));
    assert_true(find(&midx, 0x30, &place));
    assert_int_equal(place.offset, (UINT64_C(5) << 32) + 1);
    make(&m, 0x80000002u, 2); /* this row is after the end of the table */
    assert_true(init(&m, &midx));
    assert_false(find(&midx, 0x30, &place));
    assert_true(find(&midx, 0x10, &place));
    make(&m, 0x80000002u, 0); /* without a table of large offsets, this is an ordinary offset */
    assert_true(init(&m, &midx));
    assert_true(find(&midx, 0x30, &place));
    assert_int_equal(place.offset, 0x80000002u);
}

static void a_pack_that_is_not_there_has_no_objects(void **state) {
    (void)state;
    struct maker m;
    struct git__midx midx;
    struct git__midx_place place;
    make(&m, 300, 0);
    ts_be32_store(2, m.bytes + m.starts[OOFF] + 8);
    assert_true(init(&m, &midx));
    assert_false(find(&midx, 0x20, &place));
    assert_true(find(&midx, 0x10, &place));
}

static void assert_refused(const struct maker *m) {
    struct git__midx midx;
    assert_false(init(m, &midx));
}

static void contradictory_tables_are_refused(void **state) {
    (void)state;
    static const struct {
        size_t at;
        uint8_t to;
    } heads[] = {{0, 'm'}, {4, 2}, {5, 2}, {6, 0}, {6, 250}, {7, 1}};
    struct maker m;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        make(&m, 300, 0);
        m.bytes[heads[i].at] = heads[i].to;
        assert_refused(&m);
    }
    make(&m, 300, 0);
    m.len = 11;
    assert_refused(&m);
    make(&m, 300, 0); /* the first chunk begins in the table of chunks */
    put_row(&m, 0, "PNAM", m.starts[PNAM] - 1);
    assert_refused(&m);
    make(&m, 300, 0); /* the first chunk ends before it begins */
    put_row(&m, 1, "OIDF", m.starts[PNAM] - 1);
    assert_refused(&m);
    make(&m, 300, 0); /* the last chunk ends in the trailer */
    put_row(&m, 4, "\0\0\0", m.len - TRAILER + 1);
    assert_refused(&m);
    make(&m, 300, 0); /* the fan-out counts one id more than the table has */
    ts_be32_store(IDS + 1, m.bytes + m.starts[OIDF] + 1020);
    assert_refused(&m);
    make(&m, 300, 0); /* the counts of the fan-out decrease */
    ts_be32_store(2, m.bytes + m.starts[OIDF]);
    assert_refused(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_found_in_their_packs),
        cmocka_unit_test(large_offsets_are_in_a_table_of_their_own),
        cmocka_unit_test(a_pack_that_is_not_there_has_no_objects),
        cmocka_unit_test(contradictory_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
