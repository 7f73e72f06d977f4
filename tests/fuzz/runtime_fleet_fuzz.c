/*
 * Reads any bytes as a record of a fleet. The record is refused, or it is read within bounds and then written
 * again with the same bytes. The first byte chooses the kind. Magic, version and checksum are added here,
 * because the fuzzer could not guess them.
 */
#include "runtime/core/fleet_change.h"
#include "runtime/core/fleet_decision.h"
#include "runtime/core/fleet_notice.h"
#include "runtime/core/fleet_schedule.h"
#include "runtime/core/fleet_summary.h"

#include "fleet_codec.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t record[TS_FLEET_PAGE_MAX], again[TS_FLEET_PAGE_MAX];

static struct ts_bytes framed(const char magic[static 4], const uint8_t *body, size_t len) {
    struct runtime__writer writer = runtime__begin(record, sizeof record, magic);
    runtime__put(&writer, ts_bytes_of(body, len));
    return ts_bytes_of(record, runtime__seal(&writer));
}

static void expect_same(struct ts_bytes bytes, size_t len) {
    if (len != bytes.len || memcmp(again, bytes.data, len) != 0)
        abort();
}

#define TRY(type, name, magic)                                                                               \
    do {                                                                                                     \
        struct type read_;                                                                                   \
        const struct ts_bytes bytes_ = framed(magic, body, len);                                             \
        if (name##_decode(bytes_, &read_) == TS_FLEET_OK)                                                    \
            expect_same(bytes_, name##_encode(&read_, again));                                               \
    } while (0)

static void try_page(const uint8_t *body, size_t len) {
    const struct ts_bytes bytes = framed("TSfo", body, len);
    struct ts_fleet_page_reader reader;
    struct ts_fleet_page page;
    struct ts_fleet_item item;
    if (ts_fleet_page_open(bytes, &reader) != TS_FLEET_OK)
        return;
    ts_fleet_page_begin(&page, again);
    for (;;) {
        switch (ts_fleet_page_next(&reader, &item)) {
        case TS_FLEET_ITEM_END:
            expect_same(bytes, ts_fleet_page_seal(&page));
            return;
        case TS_FLEET_ITEM_BAD:
            return;
        case TS_FLEET_ITEM_COMMIT:
            (void)ts_fleet_page_add_commit(&page, &item.commit);
            break;
        case TS_FLEET_ITEM_ENTRY:
            (void)ts_fleet_page_add_entry(&page, &item.entry);
            break;
        case TS_FLEET_ITEM_PLACE:
            (void)ts_fleet_page_add_place(&page, &item.place);
            break;
        }
    }
}

static void try_summary(const uint8_t *body, size_t len) {
    const struct ts_bytes bytes = framed("TSfs", body, len);
    struct ts_fleet_summary_reader reader;
    struct ts_fleet_summary summary;
    struct ts_fleet_part part;
    if (ts_fleet_summary_open(bytes, &reader) != TS_FLEET_OK)
        return;
    ts_fleet_summary_begin(&summary, again);
    for (;;) {
        const enum ts_fleet_part_kind kind = ts_fleet_summary_next(&reader, &part);
        if (kind == TS_FLEET_PART_BAD)
            return;
        if (kind == TS_FLEET_PART_END)
            break;
        (void)ts_fleet_summary_add(&summary, &part);
    }
    expect_same(bytes, ts_fleet_summary_seal(&summary));
}

static bool add_unit(void *context, const struct ts_fleet_unit *unit) {
    if (!ts_fleet_listing_add(context, unit))
        abort();
    return true;
}

static void try_listing(const uint8_t *body, size_t len) {
    const struct ts_bytes bytes = framed("TSfl", body, len);
    struct ts_fleet_listing page;
    ts_fleet_listing_begin(&page, again);
    if (ts_fleet_listing_read(bytes, add_unit, &page) == TS_FLEET_OK)
        expect_same(bytes, ts_fleet_listing_seal(&page));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { KINDS = 14, LARGEST = 65536 };
    if (size == 0 || size > LARGEST)
        return 0;
    const uint8_t *body = data + 1;
    const size_t len = size - 1;
    switch (data[0] % KINDS) {
    case 0:
        TRY(ts_fleet_unit, ts_fleet_unit, "TSfu");
        break;
    case 1:
        TRY(ts_fleet_target, ts_fleet_target, "TSft");
        break;
    case 2:
        TRY(ts_fleet_seen, ts_fleet_seen, "TSfe");
        break;
    case 3:
        TRY(ts_fleet_finding_record, ts_fleet_finding, "TSff");
        break;
    case 4:
        TRY(ts_fleet_triage, ts_fleet_triage, "TSfg");
        break;
    case 5:
        TRY(ts_fleet_waste, ts_fleet_waste, "TSfw");
        break;
    case 6:
        TRY(ts_fleet_tips, ts_fleet_tips, "TSfp");
        break;
    case 7:
        try_page(body, len);
        break;
    case 8:
        try_summary(body, len);
        break;
    case 9:
        TRY(ts_fleet_change, ts_fleet_change, "TSfd");
        break;
    case 10:
        TRY(ts_fleet_decisions, ts_fleet_decisions, "TSfn");
        break;
    case 11:
        TRY(ts_fleet_notice, ts_fleet_notice, "TSfq");
        break;
    case 12:
        TRY(ts_fleet_schedule, ts_fleet_schedule, "TSfc");
        break;
    default:
        try_listing(body, len);
        break;
    }
    return 0;
}
