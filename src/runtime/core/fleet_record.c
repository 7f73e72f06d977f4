#include "runtime/core/fleet_record.h"

#include "fleet_codec.h"

/* Limits of single texts. They guarantee that every record fits, except the record of a unit. */
enum { TEXT_MAX = 1024, PATH_MAX_BYTES = 280, RULE_MAX = 64, NAME_MAX_BYTES = 256, REDACTED_MAX = 128 };
enum { FLAG_FAULTS = 1, FLAG_HITS = 2, FLAG_UNSURE = 4 };
enum { FLAG_KNOWS_HEAD = 1, FLAG_IN_HEAD = 2, FLAG_ALLOWED = 4, FLAG_CUT = 8 };

const char *ts_fleet_error_text(enum ts_fleet_error error) {
    static const char *const texts[] = {
#define X(suffix, text) text,
        TS_FLEET_ERRORS(X)
#undef X
    };
    return texts[error];
}

/* ---- unit ---- */

size_t ts_fleet_unit_encode(const struct ts_fleet_unit *unit, uint8_t ret_bytes[static TS_FLEET_UNIT_MAX]) {
    struct runtime__writer writer = runtime__begin(ret_bytes, TS_FLEET_UNIT_MAX, "TSfu");
    const bool has_url = !ts_bytes_equal(unit->address, unit->url);
    runtime__put_byte(&writer, unit->is_sha256);
    runtime__put_text(&writer, unit->address);
    runtime__put_text(&writer, has_url ? unit->url : (struct ts_bytes){0});
    runtime__put_text(&writer, unit->selection);
    return runtime__seal(&writer);
}

enum ts_fleet_error ts_fleet_unit_decode(struct ts_bytes bytes, struct ts_fleet_unit *ret_unit) {
    struct runtime__reader reader;
    const enum ts_fleet_error error = runtime__open(bytes, "TSfu", TS_FLEET_UNIT_MAX, &reader);
    if (error != TS_FLEET_OK)
        return error;
    struct ts_fleet_unit unit = {.is_sha256 = runtime__take_byte(&reader, 1) != 0};
    unit.address = runtime__take_text(&reader, TEXT_MAX);
    unit.url = runtime__take_text(&reader, TEXT_MAX);
    unit.selection = runtime__take_text(&reader, TEXT_MAX);
    if (unit.address.len == 0 || unit.selection.len == 0 || ts_bytes_equal(unit.address, unit.url))
        return TS_FLEET_BAD_FIELD;
    if (unit.url.len == 0)
        unit.url = unit.address;
    const enum ts_fleet_error end = runtime__close(&reader);
    if (end == TS_FLEET_OK)
        *ret_unit = unit;
    return end;
}

/* ---- target ---- */

static void put_rules(struct runtime__writer *writer, const struct ts_fleet_rules *rules) {
    runtime__put(writer, ts_bytes_of(rules->rules, sizeof rules->rules));
    runtime__put(writer, ts_bytes_of(rules->judging, sizeof rules->judging));
}

static void take_rules(struct runtime__reader *reader, struct ts_fleet_rules *ret_rules) {
    runtime__take(reader, ret_rules->rules, sizeof ret_rules->rules);
    runtime__take(reader, ret_rules->judging, sizeof ret_rules->judging);
}

size_t ts_fleet_target_encode(const struct ts_fleet_target *target,
                              uint8_t ret_bytes[static TS_FLEET_TARGET_MAX]) {
    struct runtime__writer writer = runtime__begin(ret_bytes, TS_FLEET_TARGET_MAX, "TSft");
    uint8_t attempt[TS_ATTEMPT_LEN];
    ts_attempt_encode(&target->attempt, attempt);
    runtime__put_byte(&writer,
                      (uint8_t)((target->has_faults ? FLAG_FAULTS : 0) | (target->has_hits ? FLAG_HITS : 0) |
                                (target->is_unsure ? FLAG_UNSURE : 0)));
    runtime__put_number(&writer, target->run_number);
    runtime__put_number(&writer, target->run);
    runtime__put(&writer, ts_bytes_of(target->refs, sizeof target->refs));
    put_rules(&writer, &target->rules);
    runtime__put(&writer, ts_bytes_of(attempt, sizeof attempt));
    runtime__put_number(&writer, target->attempt_run);
    runtime__put_number(&writer, target->findings);
    runtime__put_number(&writer, target->occurrences);
    runtime__put_number(&writer, target->objects);
    runtime__put_number(&writer, target->bytes);
    runtime__put_number(&writer, target->scanned_at_ms);
    runtime__put_number(&writer, target->checked_at_ms);
    return runtime__seal(&writer);
}

enum ts_fleet_error ts_fleet_target_decode(struct ts_bytes bytes, struct ts_fleet_target *ret_target) {
    struct runtime__reader reader;
    const enum ts_fleet_error error = runtime__open(bytes, "TSft", TS_FLEET_TARGET_MAX, &reader);
    if (error != TS_FLEET_OK)
        return error;
    struct ts_fleet_target target = {0};
    uint8_t attempt[TS_ATTEMPT_LEN];
    const uint8_t flags = runtime__take_byte(&reader, FLAG_FAULTS | FLAG_HITS | FLAG_UNSURE);
    target.has_faults = (flags & FLAG_FAULTS) != 0;
    target.has_hits = (flags & FLAG_HITS) != 0;
    target.is_unsure = (flags & FLAG_UNSURE) != 0;
    target.run_number = runtime__take_number(&reader);
    target.run = runtime__take_number(&reader);
    runtime__take(&reader, target.refs, sizeof target.refs);
    take_rules(&reader, &target.rules);
    runtime__take(&reader, attempt, sizeof attempt);
    target.attempt = ts_attempt_decode(attempt);
    target.attempt_run = runtime__take_number(&reader);
    target.findings = runtime__take_number(&reader);
    target.occurrences = runtime__take_number(&reader);
    target.objects = runtime__take_number(&reader);
    target.bytes = runtime__take_number(&reader);
    target.scanned_at_ms = runtime__take_number(&reader);
    target.checked_at_ms = runtime__take_number(&reader);
    const enum ts_fleet_error end = runtime__close(&reader);
    if (end == TS_FLEET_OK)
        *ret_target = target;
    return end;
}

/* ---- seen in ---- */

static struct ts_bytes cut(struct ts_bytes text, size_t max) {
    return text.len > max ? ts_bytes_first(text, max) : text;
}

size_t ts_fleet_seen_encode(const struct ts_fleet_seen *seen, uint8_t ret_bytes[static TS_FLEET_SEEN_MAX]) {
    struct runtime__writer writer = runtime__begin(ret_bytes, TS_FLEET_SEEN_MAX, "TSfe");
    const bool is_cut = seen->path_is_cut || seen->path.len > PATH_MAX_BYTES;
    ts_assert(seen->commit_len <= sizeof seen->commit);
    runtime__put_byte(&writer, (uint8_t)((seen->knows_head ? FLAG_KNOWS_HEAD : 0) |
                                         (seen->is_in_head ? FLAG_IN_HEAD : 0) |
                                         (seen->is_allowed ? FLAG_ALLOWED : 0) | (is_cut ? FLAG_CUT : 0)));
    runtime__put_byte(&writer, seen->confidence);
    runtime__put_byte(&writer, seen->severity);
    runtime__put_byte(&writer, seen->place);
    runtime__put_number(&writer, seen->count);
    runtime__put_number(&writer, seen->line);
    runtime__put_number(&writer, seen->column);
    runtime__put_text(&writer, ts_bytes_of(seen->commit, seen->commit_len));
    runtime__put_text(&writer, cut(seen->path, PATH_MAX_BYTES));
    return runtime__seal(&writer);
}

enum ts_fleet_error ts_fleet_seen_decode(struct ts_bytes bytes, struct ts_fleet_seen *ret_seen) {
    struct runtime__reader reader;
    const enum ts_fleet_error error = runtime__open(bytes, "TSfe", TS_FLEET_SEEN_MAX, &reader);
    if (error != TS_FLEET_OK)
        return error;
    struct ts_fleet_seen seen = {0};
    const uint8_t flags =
        runtime__take_byte(&reader, FLAG_KNOWS_HEAD | FLAG_IN_HEAD | FLAG_ALLOWED | FLAG_CUT);
    seen.knows_head = (flags & FLAG_KNOWS_HEAD) != 0;
    seen.is_in_head = (flags & FLAG_IN_HEAD) != 0;
    seen.is_allowed = (flags & FLAG_ALLOWED) != 0;
    seen.path_is_cut = (flags & FLAG_CUT) != 0;
    seen.confidence = runtime__take_byte(&reader, UINT8_MAX);
    seen.severity = runtime__take_byte(&reader, UINT8_MAX);
    seen.place = runtime__take_byte(&reader, UINT8_MAX);
    seen.count = runtime__take_number(&reader);
    seen.line = runtime__take_number(&reader);
    seen.column = runtime__take_number(&reader);
    const struct ts_bytes commit = runtime__take_text(&reader, sizeof seen.commit);
    seen.commit_len = (uint8_t)commit.len;
    if (commit.len > 0)
        memcpy(seen.commit, commit.data, commit.len);
    seen.path = runtime__take_text(&reader, PATH_MAX_BYTES);
    const enum ts_fleet_error end = runtime__close(&reader);
    if (end == TS_FLEET_OK)
        *ret_seen = seen;
    return end;
}

/* ---- finding ---- */

size_t ts_fleet_finding_encode(const struct ts_fleet_finding_record *finding,
                               uint8_t ret_bytes[static TS_FLEET_FINDING_MAX]) {
    struct runtime__writer writer = runtime__begin(ret_bytes, TS_FLEET_FINDING_MAX, "TSff");
    runtime__put_byte(&writer, finding->severity);
    runtime__put_text(&writer, cut(finding->rule, RULE_MAX));
    runtime__put_text(&writer, cut(finding->name, NAME_MAX_BYTES));
    runtime__put_text(&writer, cut(finding->redacted, REDACTED_MAX));
    return runtime__seal(&writer);
}

enum ts_fleet_error ts_fleet_finding_decode(struct ts_bytes bytes,
                                            struct ts_fleet_finding_record *ret_finding) {
    struct runtime__reader reader;
    const enum ts_fleet_error error = runtime__open(bytes, "TSff", TS_FLEET_FINDING_MAX, &reader);
    if (error != TS_FLEET_OK)
        return error;
    struct ts_fleet_finding_record finding = {.severity = runtime__take_byte(&reader, UINT8_MAX)};
    finding.rule = runtime__take_text(&reader, RULE_MAX);
    finding.name = runtime__take_text(&reader, NAME_MAX_BYTES);
    finding.redacted = runtime__take_text(&reader, REDACTED_MAX);
    const enum ts_fleet_error end = runtime__close(&reader);
    if (end == TS_FLEET_OK)
        *ret_finding = finding;
    return end;
}

/* ---- triage ---- */

static const char *const triage_names[] = {
#define X(suffix, number, name) [number] = (name),
    TS_TRIAGES(X)
#undef X
};

const char *ts_triage_name(enum ts_triage triage) {
    return triage_names[triage];
}

bool ts_triage_parse(struct ts_bytes name, enum ts_triage *ret_triage) {
    for (size_t i = 0; i < TS_TRIAGE_COUNT; i++) {
        if (ts_bytes_equal(name, ts_bytes_of_cstring(triage_names[i]))) {
            *ret_triage = (enum ts_triage)i;
            return true;
        }
    }
    return false;
}

size_t ts_fleet_triage_encode(const struct ts_fleet_triage *triage,
                              uint8_t ret_bytes[static TS_FLEET_TRIAGE_MAX]) {
    struct runtime__writer writer = runtime__begin(ret_bytes, TS_FLEET_TRIAGE_MAX, "TSfg");
    ts_assert(triage->who.len <= TS_TRIAGE_WHO_MAX && triage->why.len <= TS_TRIAGE_WHY_MAX);
    runtime__put_byte(&writer, (uint8_t)triage->state);
    runtime__put_number(&writer, triage->at_ms);
    runtime__put_text(&writer, triage->who);
    runtime__put_text(&writer, triage->why);
    return runtime__seal(&writer);
}

enum ts_fleet_error ts_fleet_triage_decode(struct ts_bytes bytes, struct ts_fleet_triage *ret_triage) {
    struct runtime__reader reader;
    const enum ts_fleet_error error = runtime__open(bytes, "TSfg", TS_FLEET_TRIAGE_MAX, &reader);
    if (error != TS_FLEET_OK)
        return error;
    struct ts_fleet_triage triage = {.state =
                                         (enum ts_triage)runtime__take_byte(&reader, TS_TRIAGE_COUNT - 1)};
    triage.at_ms = runtime__take_number(&reader);
    triage.who = runtime__take_text(&reader, TS_TRIAGE_WHO_MAX);
    triage.why = runtime__take_text(&reader, TS_TRIAGE_WHY_MAX);
    const enum ts_fleet_error end = runtime__close(&reader);
    if (end == TS_FLEET_OK)
        *ret_triage = triage;
    return end;
}

/* ---- waste ---- */

size_t ts_fleet_waste_encode(const struct ts_fleet_waste *waste,
                             uint8_t ret_bytes[static TS_FLEET_WASTE_MAX]) {
    struct runtime__writer writer = runtime__begin(ret_bytes, TS_FLEET_WASTE_MAX, "TSfw");
    runtime__put(&writer, ts_bytes_of(waste->tenant.b, sizeof waste->tenant.b));
    runtime__put_number(&writer, waste->run);
    put_rules(&writer, &waste->rules);
    runtime__put_byte(&writer, waste->is_sure ? 1 : 0);
    runtime__put_number(&writer, waste->time_count);
    for (size_t i = 0; i < waste->time_count; i++)
        runtime__put_number(&writer, waste->times_ms[i]);
    return runtime__seal(&writer);
}

enum ts_fleet_error ts_fleet_waste_decode(struct ts_bytes bytes, struct ts_fleet_waste *ret_waste) {
    struct runtime__reader reader;
    const enum ts_fleet_error error = runtime__open(bytes, "TSfw", TS_FLEET_WASTE_MAX, &reader);
    if (error != TS_FLEET_OK)
        return error;
    struct ts_fleet_waste waste = {0};
    runtime__take(&reader, waste.tenant.b, sizeof waste.tenant.b);
    waste.run = runtime__take_number(&reader);
    take_rules(&reader, &waste.rules);
    waste.is_sure = runtime__take_byte(&reader, 1) != 0;
    const uint64_t count = runtime__take_number(&reader);
    if (count > TS_FLEET_WASTE_TIMES_MAX)
        return TS_FLEET_BAD_FIELD;
    waste.time_count = (size_t)count;
    for (size_t i = 0; i < waste.time_count; i++)
        waste.times_ms[i] = runtime__take_number(&reader);
    const enum ts_fleet_error end = runtime__close(&reader);
    if (end == TS_FLEET_OK)
        *ret_waste = waste;
    return end;
}
