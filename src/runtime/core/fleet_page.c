#include "runtime/core/fleet_page.h"

#include "fleet_codec.h"

enum { TAG_COMMIT = 'c', TAG_ENTRY = 'f', TAG_PLACE = 'p', OID_SHA1 = 20, OID_SHA256 = 32 };
enum { RULE_MAX = 64, REDACTED_MAX = 128, PLACE_MAX = 127, PLACE_ALLOWED = 128 };

/* An entry, its head and the head's commit have at most TS_FLEET_REFS + 4 long texts. A place and its commit
 * have at most 3. */
_Static_assert((2 + 1 + TS_FLEET_REFS + 3 + 4) * (TS_FLEET_TEXT_MAX + 8) < TS_FLEET_PAGE_MAX,
               "a page has room for any entry and a place");

static bool is_oid_len(size_t len) {
    return len == OID_SHA1 || len == OID_SHA256;
}

/* ---- writing ---- */

static struct runtime__writer resume(const struct ts_fleet_page *page) {
    return (struct runtime__writer){
        .data = page->bytes, .len = page->len, .capacity = TS_FLEET_PAGE_MAX - RUNTIME__RECORD_END};
}

static bool commit_to(struct ts_fleet_page *page, const struct runtime__writer *writer) {
    if (writer->is_full)
        return false;
    page->len = writer->len;
    return true;
}

void ts_fleet_page_begin(struct ts_fleet_page *page, uint8_t *memory) {
    const struct runtime__writer writer = runtime__begin(memory, TS_FLEET_PAGE_MAX, "TSfo");
    *page = (struct ts_fleet_page){.bytes = memory, .len = writer.len};
}

static void put_cut(struct runtime__writer *writer, struct ts_bytes text) {
    runtime__put_text(writer, text.len > TS_FLEET_TEXT_MAX ? ts_bytes_first(text, TS_FLEET_TEXT_MAX) : text);
}

bool ts_fleet_page_add_commit(struct ts_fleet_page *page, const struct ts_fleet_commit *commit) {
    struct runtime__writer writer = resume(page);
    ts_assert(is_oid_len(commit->oid.len));
    runtime__put_byte(&writer, TAG_COMMIT);
    runtime__put_text(&writer, commit->oid);
    put_cut(&writer, commit->author_name);
    put_cut(&writer, commit->author_mail);
    runtime__put_signed(&writer, commit->author_time_s);
    runtime__put_signed(&writer, commit->author_zone_minutes);
    if (!commit_to(page, &writer))
        return false;
    page->commits++;
    return true;
}

static void put_place(struct runtime__writer *writer, const struct ts_fleet_page *page,
                      const struct ts_fleet_place *place) {
    const bool has_commit = place->commit != TS_FLEET_NO_COMMIT;
    ts_assert(place->place <= PLACE_MAX && (place->object.len == 0 || is_oid_len(place->object.len)));
    ts_assert(!has_commit || place->commit < page->commits);
    runtime__put_byte(writer, (uint8_t)(place->place | (place->is_allowed ? PLACE_ALLOWED : 0)));
    runtime__put_number(writer, has_commit ? (uint64_t)place->commit + 1 : 0);
    runtime__put_text(writer, place->object);
    put_cut(writer, place->path);
    runtime__put_number(writer, place->line);
    runtime__put_number(writer, place->column);
    runtime__put_number(writer, place->end_line);
    runtime__put_number(writer, place->end_column);
}

bool ts_fleet_page_add_place(struct ts_fleet_page *page, const struct ts_fleet_place *place) {
    struct runtime__writer writer = resume(page);
    ts_assert(page->has_entry);
    runtime__put_byte(&writer, TAG_PLACE);
    put_place(&writer, page, place);
    return commit_to(page, &writer);
}

bool ts_fleet_page_add_entry(struct ts_fleet_page *page, const struct ts_fleet_entry *entry) {
    struct runtime__writer writer = resume(page);
    ts_assert(entry->depth <= TS_FLEET_DEPTH && entry->ref_listed <= TS_FLEET_REFS);
    ts_assert(entry->rule.len <= RULE_MAX && entry->redacted.len <= REDACTED_MAX);
    runtime__put_byte(&writer, TAG_ENTRY);
    runtime__put(&writer, ts_bytes_of(entry->finding.bytes, sizeof entry->finding.bytes));
    runtime__put_text(&writer, entry->rule);
    runtime__put_byte(&writer, entry->severity);
    runtime__put_byte(&writer, entry->confidence);
    runtime__put_text(&writer, entry->redacted);
    put_cut(&writer, entry->excerpt);
    runtime__put_byte(&writer, entry->depth);
    runtime__put(&writer, ts_bytes_of(entry->encodings, entry->depth));
    runtime__put_byte(&writer, entry->has_head);
    if (entry->has_head)
        put_place(&writer, page, &entry->head);
    runtime__put_number(&writer, entry->head_count);
    runtime__put_byte(&writer, entry->ref_listed);
    for (size_t i = 0; i < entry->ref_listed; i++)
        put_cut(&writer, entry->refs[i]);
    runtime__put_number(&writer, entry->ref_count);
    runtime__put_number(&writer, entry->count);
    runtime__put_number(&writer, entry->from);
    if (!commit_to(page, &writer))
        return false;
    page->has_entry = true;
    return true;
}

size_t ts_fleet_page_seal(struct ts_fleet_page *page) {
    struct runtime__writer writer = resume(page);
    return runtime__seal(&writer);
}

/* ---- reading ---- */

enum ts_fleet_error ts_fleet_page_open(struct ts_bytes bytes, struct ts_fleet_page_reader *ret_reader) {
    struct runtime__reader reader;
    const enum ts_fleet_error error = runtime__open(bytes, "TSfo", TS_FLEET_PAGE_MAX, &reader);
    if (error == TS_FLEET_OK)
        *ret_reader = (struct ts_fleet_page_reader){.rest = reader.rest};
    return error;
}

static struct ts_bytes take_oid(struct runtime__reader *reader, bool may_be_empty) {
    const struct ts_bytes oid = runtime__take_text(reader, OID_SHA256);
    if (!is_oid_len(oid.len) && (oid.len > 0 || !may_be_empty))
        reader->is_bad = true;
    return oid;
}

static void take_commit(struct runtime__reader *reader, struct ts_fleet_commit *ret_commit) {
    ret_commit->oid = take_oid(reader, false);
    ret_commit->author_name = runtime__take_text(reader, TS_FLEET_TEXT_MAX);
    ret_commit->author_mail = runtime__take_text(reader, TS_FLEET_TEXT_MAX);
    ret_commit->author_time_s = runtime__take_signed(reader);
    const int64_t zone = runtime__take_signed(reader);
    if (zone < INT32_MIN || zone > INT32_MAX)
        reader->is_bad = true;
    else
        ret_commit->author_zone_minutes = (int32_t)zone;
}

static void take_place(struct runtime__reader *reader, uint32_t commits, struct ts_fleet_place *ret_place) {
    const uint8_t place = runtime__take_byte(reader, UINT8_MAX);
    const uint32_t commit = runtime__take_number32(reader);
    ret_place->place = place & PLACE_MAX;
    ret_place->is_allowed = (place & PLACE_ALLOWED) != 0;
    ret_place->commit = commit == 0 ? TS_FLEET_NO_COMMIT : commit - 1;
    if (commit > commits)
        reader->is_bad = true;
    ret_place->object = take_oid(reader, true);
    ret_place->path = runtime__take_text(reader, TS_FLEET_TEXT_MAX);
    ret_place->line = runtime__take_number(reader);
    ret_place->column = runtime__take_number(reader);
    ret_place->end_line = runtime__take_number(reader);
    ret_place->end_column = runtime__take_number(reader);
}

static void take_entry(struct runtime__reader *reader, uint32_t commits, struct ts_fleet_entry *ret_entry) {
    *ret_entry = (struct ts_fleet_entry){0};
    runtime__take(reader, ret_entry->finding.bytes, sizeof ret_entry->finding.bytes);
    ret_entry->rule = runtime__take_text(reader, RULE_MAX);
    ret_entry->severity = runtime__take_byte(reader, UINT8_MAX);
    ret_entry->confidence = runtime__take_byte(reader, UINT8_MAX);
    ret_entry->redacted = runtime__take_text(reader, REDACTED_MAX);
    ret_entry->excerpt = runtime__take_text(reader, TS_FLEET_TEXT_MAX);
    ret_entry->depth = runtime__take_byte(reader, TS_FLEET_DEPTH);
    runtime__take(reader, ret_entry->encodings, ret_entry->depth);
    ret_entry->has_head = runtime__take_byte(reader, 1) != 0;
    if (ret_entry->has_head)
        take_place(reader, commits, &ret_entry->head);
    ret_entry->head_count = runtime__take_number(reader);
    ret_entry->ref_listed = runtime__take_byte(reader, TS_FLEET_REFS);
    for (size_t i = 0; i < ret_entry->ref_listed; i++)
        ret_entry->refs[i] = runtime__take_text(reader, TS_FLEET_TEXT_MAX);
    ret_entry->ref_count = runtime__take_number(reader);
    ret_entry->count = runtime__take_number(reader);
    ret_entry->from = runtime__take_number(reader);
}

static enum ts_fleet_item_kind take_item(struct ts_fleet_page_reader *page, struct runtime__reader *reader,
                                         struct ts_fleet_item *ret_item) {
    switch (runtime__take_byte(reader, UINT8_MAX)) {
    case TAG_COMMIT:
        take_commit(reader, &ret_item->commit);
        page->commits++;
        return TS_FLEET_ITEM_COMMIT;
    case TAG_ENTRY:
        take_entry(reader, page->commits, &ret_item->entry);
        page->has_entry = true;
        return TS_FLEET_ITEM_ENTRY;
    case TAG_PLACE:
        take_place(reader, page->commits, &ret_item->place);
        return page->has_entry ? TS_FLEET_ITEM_PLACE : TS_FLEET_ITEM_BAD;
    default:
        return TS_FLEET_ITEM_BAD;
    }
}

enum ts_fleet_item_kind ts_fleet_page_next(struct ts_fleet_page_reader *reader,
                                           struct ts_fleet_item *ret_item) {
    if (reader->rest.len == 0)
        return TS_FLEET_ITEM_END;
    struct runtime__reader inner = {.rest = reader->rest};
    const enum ts_fleet_item_kind kind = take_item(reader, &inner, ret_item);
    reader->rest = inner.rest;
    return inner.is_bad ? TS_FLEET_ITEM_BAD : kind;
}

/* ---- tips ---- */

size_t ts_fleet_tips_encode(const struct ts_fleet_tips *tips, uint8_t *ret_bytes) {
    struct runtime__writer writer = runtime__begin(ret_bytes, TS_FLEET_PAGE_MAX, "TSfp");
    ts_assert(is_oid_len(tips->oid_len) && tips->oids.len % tips->oid_len == 0);
    ts_assert(tips->oids.len <= TS_FLEET_TIPS_MAX);
    runtime__put_byte(&writer, tips->is_again);
    runtime__put_byte(&writer, tips->oid_len);
    runtime__put_text(&writer, tips->oids);
    return runtime__seal(&writer);
}

enum ts_fleet_error ts_fleet_tips_decode(struct ts_bytes bytes, struct ts_fleet_tips *ret_tips) {
    struct runtime__reader reader;
    const enum ts_fleet_error error = runtime__open(bytes, "TSfp", TS_FLEET_PAGE_MAX, &reader);
    if (error != TS_FLEET_OK)
        return error;
    struct ts_fleet_tips tips = {.is_again = runtime__take_byte(&reader, 1) != 0};
    tips.oid_len = runtime__take_byte(&reader, OID_SHA256);
    tips.oids = runtime__take_text(&reader, TS_FLEET_TIPS_MAX);
    if (!is_oid_len(tips.oid_len) || tips.oids.len % tips.oid_len != 0)
        return TS_FLEET_BAD_FIELD;
    const enum ts_fleet_error end = runtime__close(&reader);
    if (end == TS_FLEET_OK)
        *ret_tips = tips;
    return end;
}
