#include "runtime/core/fleet_summary.h"

#include "fleet_codec.h"

void ts_fleet_summary_begin(struct ts_fleet_summary *summary, uint8_t *memory) {
    const struct runtime__writer writer = runtime__begin(memory, TS_FLEET_PAGE_MAX, "TSfs");
    *summary = (struct ts_fleet_summary){.bytes = memory, .len = writer.len};
}

/* The numbers of a row, in the order in which they are stored. */
#define ROW_NUMBERS(X)                                                                                       \
    X(commits)                                                                                               \
    X(trees)                                                                                                 \
    X(tags)                                                                                                  \
    X(blobs)                                                                                                 \
    X(bytes)                                                                                                 \
    X(bytes_looked_at)                                                                                       \
    X(blobs_known)                                                                                           \
    X(missing_by_design)                                                                                     \
    X(cut_commits)                                                                                           \
    X(submodules)                                                                                            \
    X(encrypted_archives)                                                                                    \
    X(lfs_objects)                                                                                           \
    X(lfs_missing)                                                                                           \
    X(skipped)                                                                                               \
    X(fault_total)                                                                                           \
    X(limits_hit)                                                                                            \
    X(rule_count)

static void put_text(struct runtime__writer *writer, struct ts_bytes text) {
    runtime__put_text(writer, text.len > TS_FLEET_TEXT_MAX ? ts_bytes_first(text, TS_FLEET_TEXT_MAX) : text);
}

static void put_origin(struct runtime__writer *writer, const struct ts_fleet_origin *origin) {
    put_text(writer, origin->address);
    put_text(writer, origin->selection);
    runtime__put_byte(writer, origin->is_sha256);
    put_text(writer, origin->forge);
    runtime__put_byte(writer, origin->forge_kind);
}

static void put_row(struct runtime__writer *writer, const struct ts_fleet_row *row) {
#define X(name) runtime__put_number(writer, row->name);
    ROW_NUMBERS(X)
#undef X
    runtime__put_byte(writer, row->knows_head);
}

static void put_rule(struct runtime__writer *writer, const struct ts_fleet_rule *rule) {
    put_text(writer, rule->id);
    put_text(writer, rule->name);
    put_text(writer, rule->description);
    put_text(writer, rule->revoke);
    put_text(writer, rule->url);
    put_text(writer, rule->pattern);
    runtime__put_byte(writer, rule->severity);
    runtime__put_byte(writer, rule->confidence);
    runtime__put_byte(writer, rule->origin);
}

static void put_suppression(struct runtime__writer *writer, const struct ts_fleet_suppression *suppression) {
    put_text(writer, suppression->source);
    put_text(writer, suppression->reason);
    runtime__put_number(writer, suppression->findings);
    runtime__put_number(writer, suppression->occurrences);
}

static void put_rule_change(struct runtime__writer *writer, const struct ts_fleet_rule_change *change) {
    runtime__put_byte(writer, change->change);
    runtime__put_byte(writer, change->is_of_target);
    put_text(writer, change->source);
    put_text(writer, change->rule);
}

static void put_part(struct runtime__writer *writer, const struct ts_fleet_part *part) {
    runtime__put_byte(writer, (uint8_t)part->kind);
    switch (part->kind) {
    case TS_FLEET_PART_ORIGIN:
        put_origin(writer, &part->u.origin);
        return;
    case TS_FLEET_PART_ROW:
        put_row(writer, &part->u.row);
        return;
    case TS_FLEET_PART_RULE:
        put_rule(writer, &part->u.rule);
        return;
    case TS_FLEET_PART_FAULT:
    case TS_FLEET_PART_NOTE:
        put_text(writer, part->u.text);
        return;
    case TS_FLEET_PART_SUPPRESSION:
        put_suppression(writer, &part->u.suppression);
        return;
    case TS_FLEET_PART_RULE_CHANGE:
        put_rule_change(writer, &part->u.rule_change);
        return;
    case TS_FLEET_PART_END:
    case TS_FLEET_PART_BAD:
        break;
    }
    ts_unreachable("only what can be stored is added");
}

static struct runtime__writer resume(const struct ts_fleet_summary *summary) {
    return (struct runtime__writer){
        .data = summary->bytes, .len = summary->len, .capacity = TS_FLEET_PAGE_MAX - RUNTIME__RECORD_END};
}

bool ts_fleet_summary_add(struct ts_fleet_summary *summary, const struct ts_fleet_part *part) {
    struct runtime__writer writer = resume(summary);
    put_part(&writer, part);
    if (writer.is_full)
        return false;
    summary->len = writer.len;
    return true;
}

size_t ts_fleet_summary_seal(struct ts_fleet_summary *summary) {
    struct runtime__writer writer = resume(summary);
    return runtime__seal(&writer);
}

/* ---- reading ---- */

enum ts_fleet_error ts_fleet_summary_open(struct ts_bytes bytes, struct ts_fleet_summary_reader *ret_reader) {
    struct runtime__reader reader;
    const enum ts_fleet_error error = runtime__open(bytes, "TSfs", TS_FLEET_PAGE_MAX, &reader);
    if (error == TS_FLEET_OK)
        *ret_reader = (struct ts_fleet_summary_reader){.rest = reader.rest};
    return error;
}

static struct ts_bytes take_text(struct runtime__reader *reader) {
    return runtime__take_text(reader, TS_FLEET_TEXT_MAX);
}

static void take_origin(struct runtime__reader *reader, struct ts_fleet_origin *ret_origin) {
    ret_origin->address = take_text(reader);
    ret_origin->selection = take_text(reader);
    ret_origin->is_sha256 = runtime__take_byte(reader, 1) != 0;
    ret_origin->forge = take_text(reader);
    ret_origin->forge_kind = runtime__take_byte(reader, UINT8_MAX);
}

static void take_row(struct runtime__reader *reader, struct ts_fleet_row *ret_row) {
#define X(name) ret_row->name = runtime__take_number(reader);
    ROW_NUMBERS(X)
#undef X
    ret_row->knows_head = runtime__take_byte(reader, 1) != 0;
}

static void take_rule(struct runtime__reader *reader, struct ts_fleet_rule *ret_rule) {
    ret_rule->id = take_text(reader);
    ret_rule->name = take_text(reader);
    ret_rule->description = take_text(reader);
    ret_rule->revoke = take_text(reader);
    ret_rule->url = take_text(reader);
    ret_rule->pattern = take_text(reader);
    ret_rule->severity = runtime__take_byte(reader, UINT8_MAX);
    ret_rule->confidence = runtime__take_byte(reader, UINT8_MAX);
    ret_rule->origin = runtime__take_byte(reader, UINT8_MAX);
}

static void take_suppression(struct runtime__reader *reader, struct ts_fleet_suppression *ret_suppression) {
    ret_suppression->source = take_text(reader);
    ret_suppression->reason = take_text(reader);
    ret_suppression->findings = runtime__take_number(reader);
    ret_suppression->occurrences = runtime__take_number(reader);
}

static void take_rule_change(struct runtime__reader *reader, struct ts_fleet_rule_change *ret_change) {
    ret_change->change = runtime__take_byte(reader, UINT8_MAX);
    ret_change->is_of_target = runtime__take_byte(reader, 1) != 0;
    ret_change->source = take_text(reader);
    ret_change->rule = take_text(reader);
}

static void take_part(struct runtime__reader *reader, struct ts_fleet_part *ret_part) {
    ret_part->kind = (enum ts_fleet_part_kind)runtime__take_byte(reader, TS_FLEET_PART_RULE_CHANGE);
    switch (ret_part->kind) {
    case TS_FLEET_PART_ORIGIN:
        take_origin(reader, &ret_part->u.origin);
        return;
    case TS_FLEET_PART_ROW:
        take_row(reader, &ret_part->u.row);
        return;
    case TS_FLEET_PART_RULE:
        take_rule(reader, &ret_part->u.rule);
        return;
    case TS_FLEET_PART_FAULT:
    case TS_FLEET_PART_NOTE:
        ret_part->u.text = take_text(reader);
        return;
    case TS_FLEET_PART_SUPPRESSION:
        take_suppression(reader, &ret_part->u.suppression);
        return;
    case TS_FLEET_PART_RULE_CHANGE:
        take_rule_change(reader, &ret_part->u.rule_change);
        return;
    case TS_FLEET_PART_END:
    case TS_FLEET_PART_BAD:
        reader->is_bad = true;
        return;
    }
}

enum ts_fleet_part_kind ts_fleet_summary_next(struct ts_fleet_summary_reader *reader,
                                              struct ts_fleet_part *ret_part) {
    *ret_part = (struct ts_fleet_part){.kind = TS_FLEET_PART_END};
    if (reader->rest.len == 0)
        return reader->is_after_origin ? TS_FLEET_PART_END : TS_FLEET_PART_BAD;
    struct runtime__reader inner = {.rest = reader->rest};
    take_part(&inner, ret_part);
    /* A summary has exactly one origin, as its first part. */
    const bool is_in_order = (ret_part->kind == TS_FLEET_PART_ORIGIN) != reader->is_after_origin;
    if (inner.is_bad || !is_in_order)
        ret_part->kind = TS_FLEET_PART_BAD;
    reader->rest = inner.rest;
    reader->is_after_origin = true;
    return ret_part->kind;
}
