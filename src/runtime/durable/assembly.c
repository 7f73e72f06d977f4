/* Joins pieces of findings into the findings of a report. */
#include "gather.h"

#include "base/hex.h"
#include "os/grow.h"
#include "runtime/core/fleet_summary.h"

#include <stdlib.h>

struct assembly {
    struct gather *gather;
    struct ts_report report;
    const struct ts_rule **rules; /* sorted by id */
    size_t rule_count, rule_capacity;
    size_t fault_capacity, note_capacity, suppression_capacity, change_capacity;
};

void durable__gather_free_memory(struct gather_memory *memory) {
    if (memory == NULL)
        return;
    ts_arena_release(&memory->arena);
    for (size_t i = 0; i < sizeof memory->arrays / sizeof memory->arrays[0]; i++)
        free(memory->arrays[i]);
    free(memory);
}

void ts_findings_report_release(struct ts_report *report) {
    durable__gather_free_memory(report->memory);
    *report = (struct ts_report){0};
}

static bool no_room(struct assembly *mine) {
    return durable__no_room(mine->gather->error);
}

/* Allocates an array in the report's memory. Returns NULL only when memory runs out. */
static void *take(struct assembly *mine, size_t count, size_t size) {
    return ts_arena_take(&mine->gather->arena->arena, (count + 1) * size);
}

static const char *text_of(struct assembly *mine, struct ts_bytes text) {
    const char *copy = ts_arena_copy(&mine->gather->arena->arena, text);
    mine->gather->no_memory = mine->gather->no_memory || copy == NULL;
    return copy != NULL ? copy : "";
}

/* ---- rules ---- */

/* Returns the index of a rule in the table, or where to insert the rule. */
static size_t place_of_rule(const struct assembly *mine, struct ts_bytes id, bool *ret_found) {
    size_t low = 0, high = mine->rule_count;
    *ret_found = false;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = ts_bytes_compare(ts_bytes_of_cstring(mine->rules[middle]->id), id);
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* If targets were scanned with different versions of a rule, the report shows the version that was added first. */
static bool add_rule(struct assembly *mine, const struct ts_fleet_rule *stored) {
    bool is_there;
    const size_t at = place_of_rule(mine, stored->id, &is_there);
    if (is_there)
        return true;
    struct ts_rule *rule = take(mine, 1, sizeof *rule);
    if (rule == NULL || !TS_GROW(mine->rules, mine->rule_capacity, mine->rule_count + 1))
        return no_room(mine);
    *rule = (struct ts_rule){.id = text_of(mine, stored->id),
                             .name = text_of(mine, stored->name),
                             .description = text_of(mine, stored->description),
                             .revoke = text_of(mine, stored->revoke),
                             .url = text_of(mine, stored->url),
                             .pattern = text_of(mine, stored->pattern),
                             .written = ""};
    rule->severity = (enum ts_severity)(stored->severity <= TS_SEVERITY_CRITICAL ? stored->severity : 0);
    rule->confidence =
        (enum ts_confidence)(stored->confidence <= TS_CONFIDENCE_HIGH ? stored->confidence : 0);
    rule->origin = stored->origin == TS_RULE_OF_TARGET ? TS_RULE_OF_TARGET : TS_RULE_OF_PROGRAM;
    memmove(mine->rules + at + 1, mine->rules + at, (mine->rule_count - at) * sizeof(const struct ts_rule *));
    mine->rules[at] = rule;
    mine->rule_count++;
    return true;
}

static const struct ts_rule *rule_of(struct assembly *mine, const struct ts_fleet_entry *entry) {
    const struct ts_fleet_rule alone = {.id = entry->rule, .name = entry->rule, .severity = entry->severity};
    bool is_there;
    if (!add_rule(mine, &alone)) /* does nothing if a summary has already added the rule */
        return NULL;
    const size_t at = place_of_rule(mine, entry->rule, &is_there);
    return is_there ? mine->rules[at] : NULL;
}

/* ---- targets ---- */

static void set_row(struct ts_report_target *target, const struct ts_fleet_row *row) {
    target->commits = row->commits;
    target->trees = row->trees;
    target->tags = row->tags;
    target->blobs = row->blobs;
    target->bytes = row->bytes;
    target->bytes_looked_at = row->bytes_looked_at;
    target->blobs_known = row->blobs_known;
    target->missing_by_design = row->missing_by_design;
    target->cut_commits = row->cut_commits;
    target->submodules = row->submodules;
    target->encrypted_archives = row->encrypted_archives;
    target->lfs_objects = row->lfs_objects;
    target->lfs_missing = row->lfs_missing;
    target->skipped = row->skipped;
    target->knows_head = row->knows_head;
}

static bool add_suppression(struct assembly *mine, const struct ts_fleet_suppression *stored) {
    struct ts_report *report = &mine->report;
    for (size_t i = 0; i < report->suppression_count; i++) {
        struct ts_report_suppression *by = &report->suppressions[i];
        if (ts_bytes_equal(ts_bytes_of_cstring(by->source), stored->source) &&
            ts_bytes_equal(ts_bytes_of_cstring(by->reason), stored->reason)) {
            by->findings += stored->findings;
            by->occurrences += stored->occurrences;
            return true;
        }
    }
    if (!TS_GROW(report->suppressions, mine->suppression_capacity, report->suppression_count + 1))
        return no_room(mine);
    report->suppressions[report->suppression_count++] =
        (struct ts_report_suppression){.source = text_of(mine, stored->source),
                                       .reason = text_of(mine, stored->reason),
                                       .findings = stored->findings,
                                       .occurrences = stored->occurrences};
    return true;
}

static bool add_change(struct assembly *mine, uint32_t target, const struct ts_fleet_rule_change *stored) {
    struct ts_report *report = &mine->report;
    const char **rules = take(mine, 1, sizeof(const char *));
    if (rules == NULL || !TS_GROW(report->rule_changes, mine->change_capacity, report->rule_change_count + 1))
        return no_room(mine);
    rules[0] = text_of(mine, stored->rule);
    report->rule_changes[report->rule_change_count++] =
        (struct ts_report_rule_change){.change = stored->change <= TS_REPORT_RULE_CHANGE_ADDED
                                                     ? (enum ts_report_rule_change_kind)stored->change
                                                     : TS_REPORT_RULE_CHANGE_ADDED,
                                       .target = stored->is_of_target ? target : TS_REPORT_NONE,
                                       .source = text_of(mine, stored->source),
                                       .rules = rules,
                                       .count = 1};
    return true;
}

static bool add_fault(struct assembly *mine, uint32_t target, struct ts_bytes text) {
    struct ts_report *report = &mine->report;
    if (!TS_GROW(report->faults, mine->fault_capacity, report->fault_count + 1))
        return no_room(mine);
    report->faults[report->fault_count++] =
        (struct ts_report_fault){.target = target, .text = text_of(mine, text)};
    return true;
}

static bool add_note(struct assembly *mine, struct ts_bytes text) {
    struct ts_report *report = &mine->report;
    if (!TS_GROW(report->notes, mine->note_capacity, report->note_count + 1))
        return no_room(mine);
    report->notes[report->note_count++] = text_of(mine, text);
    return true;
}

static bool take_part(struct assembly *mine, uint32_t number, const struct ts_fleet_part *part) {
    struct ts_report_target *target = &mine->report.targets[number];
    switch (part->kind) {
    case TS_FLEET_PART_ORIGIN:
        target->name = ts_bytes_of_cstring(text_of(mine, part->u.origin.address));
        target->forge = part->u.origin.forge.len > 0 ? text_of(mine, part->u.origin.forge) : NULL;
        target->forge_kind = part->u.origin.forge_kind <= TS_FORGE_AZURE
                                 ? (enum ts_forge)part->u.origin.forge_kind
                                 : TS_FORGE_GITHUB;
        return true;
    case TS_FLEET_PART_ROW:
        set_row(target, &part->u.row);
        mine->report.fault_total += part->u.row.fault_total;
        mine->report.limits_hit += part->u.row.limits_hit;
        if (mine->report.rule_count < part->u.row.rule_count)
            mine->report.rule_count = (size_t)part->u.row.rule_count;
        return true;
    case TS_FLEET_PART_RULE:
        return add_rule(mine, &part->u.rule);
    case TS_FLEET_PART_FAULT:
        return add_fault(mine, number, part->u.text);
    case TS_FLEET_PART_NOTE:
        return add_note(mine, part->u.text);
    case TS_FLEET_PART_SUPPRESSION:
        return add_suppression(mine, &part->u.suppression);
    case TS_FLEET_PART_RULE_CHANGE:
        return add_change(mine, number, &part->u.rule_change);
    case TS_FLEET_PART_END:
    case TS_FLEET_PART_BAD:
        break;
    }
    return durable__say_damaged(mine->gather->error, "the summary of a target", TS_FLEET_BAD_FIELD);
}

static bool take_summary(struct assembly *mine, const struct gather_target *target) {
    struct ts_fleet_summary_reader reader;
    struct ts_fleet_part part;
    const enum ts_fleet_error error = ts_fleet_summary_open(target->summary, &reader);
    if (error != TS_FLEET_OK)
        return durable__say_damaged(mine->gather->error, "the summary of a target", error);
    while (ts_fleet_summary_next(&reader, &part) != TS_FLEET_PART_END) {
        if (!take_part(mine, target->number, &part))
            return false;
    }
    return true;
}

/* Returns the address that a summary begins with. */
static struct ts_bytes address_of(const struct gather_target *target) {
    struct ts_fleet_summary_reader reader;
    struct ts_fleet_part part;
    return ts_fleet_summary_open(target->summary, &reader) == TS_FLEET_OK &&
                   ts_fleet_summary_next(&reader, &part) == TS_FLEET_PART_ORIGIN
               ? part.u.origin.address
               : (struct ts_bytes){0};
}

static int compare_targets(const void *a, const void *b) {
    const struct gather_target *const *one = a, *const *other = b;
    const int order = ts_bytes_compare(address_of(*one), address_of(*other));
    return order != 0 ? order : memcmp(&(*one)->id, &(*other)->id, sizeof(*one)->id);
}

static bool set_targets(struct assembly *mine) {
    struct gather *gather = mine->gather;
    struct gather_target **order = calloc(gather->target_count + 1, sizeof(struct gather_target *));
    mine->report.targets = take(mine, gather->target_count, sizeof *mine->report.targets);
    bool good = order != NULL && mine->report.targets != NULL;
    if (!good)
        (void)no_room(mine);
    size_t count = 0;
    for (size_t i = 0; good && i < gather->target_count; i++) {
        if (gather->targets[i].summary.len > 0)
            order[count++] = &gather->targets[i];
    }
    if (good)
        qsort(order, count, sizeof(struct gather_target *), compare_targets);
    for (size_t i = 0; good && i < count; i++) {
        order[i]->number = (uint32_t)i;
        mine->report.targets[i] = (struct ts_report_target){.kind = TS_REPORT_TARGET_KIND_REPOSITORY};
        good = take_summary(mine, order[i]);
    }
    mine->report.target_count = count;
    free(order);
    return good;
}

/* ---- findings ---- */

static int compare_pieces(const void *a, const void *b) {
    const struct gather_piece *one = a, *other = b;
    const int order = memcmp(&one->entry.finding, &other->entry.finding, sizeof one->entry.finding);
    if (order != 0)
        return order;
    if (one->target != other->target)
        return one->target < other->target ? -1 : 1;
    return one->entry.from < other->entry.from ? -1 : one->entry.from > other->entry.from;
}

/* Drops the pieces of changed targets, and sorts the other pieces. Replaces the index of each target by the
 * number of the target in the report. */
static void sort_pieces(struct gather *gather) {
    size_t kept = 0;
    for (size_t i = 0; i < gather->piece_count; i++) {
        struct gather_piece piece = gather->pieces[i];
        const struct gather_target *target = &gather->targets[piece.target];
        if (target->summary.len == 0)
            continue;
        piece.target = piece.head.target = target->number;
        for (size_t j = piece.first; j < piece.first + piece.count; j++)
            gather->places[j].target = target->number;
        gather->pieces[kept++] = piece;
    }
    gather->piece_count = kept;
    if (kept > 0)
        qsort(gather->pieces, kept, sizeof *gather->pieces, compare_pieces);
}

/* Returns the places of the pieces as one array. Copies them only if there are several pieces. Returns NULL
 * when memory runs out. */
static const struct ts_report_occurrence *places_of(struct assembly *mine, const struct gather_piece *pieces,
                                                    size_t count, size_t total) {
    const struct ts_report_occurrence *places = mine->gather->places;
    if (count == 1)
        return places + pieces[0].first;
    struct ts_report_occurrence *joined = take(mine, total, sizeof *joined);
    size_t at = 0;
    for (size_t i = 0; joined != NULL && i < count; i++) {
        if (pieces[i].count > 0)
            memcpy(joined + at, places + pieces[i].first, pieces[i].count * sizeof *joined);
        at += pieces[i].count;
    }
    return joined;
}

static void set_refs(struct assembly *mine, struct ts_report_finding *finding,
                     const struct ts_fleet_entry *entry) {
    for (size_t i = 0; i < entry->ref_listed; i++)
        finding->refs[i] = text_of(mine, entry->refs[i]);
    finding->ref_listed = entry->ref_listed;
}

/* Joins the pieces of one finding. Sets ret_is_allowed if marks in the source allow every place. */
static bool join(struct assembly *mine, const struct gather_piece *pieces, size_t count,
                 struct ts_report_finding *ret_finding, bool *ret_is_allowed) {
    const struct ts_fleet_entry *first = &pieces[0].entry;
    struct ts_report_finding finding = {.rule = rule_of(mine, first),
                                        .is_new = true,
                                        .redacted = text_of(mine, first->redacted),
                                        .excerpt = first->excerpt,
                                        .depth = first->depth};
    size_t total = 0;
    *ts_hex_encode(ts_bytes_of(first->finding.bytes, sizeof first->finding.bytes), finding.id.text) = '\0';
    for (size_t i = 0; i < first->depth; i++)
        finding.encodings[i] = first->encodings[i] <= TS_ENCODING_UTF16
                                   ? (enum ts_encoding)first->encodings[i]
                                   : TS_ENCODING_PLAIN;
    set_refs(mine, &finding, first);
    for (size_t i = 0; i < count; i++) {
        const struct ts_fleet_entry *entry = &pieces[i].entry;
        total += pieces[i].count;
        if (entry->from > 0)
            continue;
        if (finding.confidence < (enum ts_confidence)entry->confidence &&
            entry->confidence <= TS_CONFIDENCE_HIGH)
            finding.confidence = (enum ts_confidence)entry->confidence;
        finding.head_count += entry->head_count;
        finding.ref_count += entry->ref_count;
        finding.occurrence_count += entry->count;
        if (finding.head == NULL && entry->has_head) {
            struct ts_report_occurrence *head = take(mine, 1, sizeof *head);
            if (head == NULL)
                return no_room(mine);
            *head = pieces[i].head;
            finding.head = head;
        }
    }
    finding.occurrences = places_of(mine, pieces, count, total);
    finding.listed_count = total;
    if (finding.rule == NULL || finding.occurrences == NULL)
        return no_room(mine);
    *ret_is_allowed = true;
    for (size_t i = 0; i < total && *ret_is_allowed; i++)
        *ret_is_allowed = finding.occurrences[i].is_allowed;
    *ret_finding = finding;
    return true;
}

struct states {
    struct gather *gather;
    enum ts_triage *triages;
};

static bool take_triage(void *context, size_t index, const struct ts_row *row) {
    const struct states *states = context;
    struct ts_fleet_triage triage;
    const enum ts_fleet_error error = ts_fleet_triage_decode(row->value, &triage);
    if (error != TS_FLEET_OK)
        return durable__say_damaged(states->gather->error, "the triage of a finding", error);
    states->triages[index] = triage.state;
    return true;
}

static bool read_triages(struct assembly *mine, struct states *states) {
    struct ts_report *report = &mine->report;
    struct gather *gather = mine->gather;
    struct durable__key_at *keys = calloc(report->finding_count + 1, sizeof *keys);
    if (keys == NULL)
        return no_room(mine);
    for (size_t i = 0; i < report->finding_count; i++) {
        struct ts_fleet_finding finding;
        (void)ts_hex_decode(ts_bytes_of(report->findings[i].id.text, TS_FINDING_ID_LEN), finding.bytes);
        keys[i] =
            (struct durable__key_at){ts_fleet_key_triage(&gather->scope->tenant, &finding),
                                     ts_coord_place_of(gather->coord, ts_fleet_route_of_finding(&finding))};
    }
    const bool done =
        durable__read_all(gather->coord, keys, report->finding_count, take_triage, states, gather->error);
    free(keys);
    return done;
}

static bool matches(const struct ts_findings_filter *filter, const struct ts_report_finding *finding,
                    enum ts_fleet_finding_state state) {
    return finding->rule->severity >= filter->severity && finding->confidence >= filter->confidence &&
           (filter->rule.len == 0 || ts_bytes_equal(filter->rule, ts_bytes_of_cstring(finding->rule->id))) &&
           (!filter->has_state || state == filter->state);
}

static void note_listed(void *context, const struct ts_found *found) {
    bool *is_listed = context;
    (void)found;
    *is_listed = true;
}

/* Sets is_allowed to false if marks do not allow every place in other targets. A report of one target does
 * not have these places. */
static bool check_other_targets(const struct assembly *mine, const struct ts_report_finding *finding,
                                bool *is_allowed) {
    const struct gather *gather = mine->gather;
    struct ts_findings_query query = {.tenant = gather->scope->tenant,
                                      .filter = {.has_state = true, .state = TS_FLEET_FINDING_ALLOWED},
                                      .has_only = true,
                                      .limit = 1};
    bool more;
    if (!*is_allowed || !gather->scope->filter.has_target || !gather->scope->filter.has_state)
        return true;
    (void)ts_hex_decode(ts_bytes_of(finding->id.text, TS_FINDING_ID_LEN), query.only.bytes);
    *is_allowed = false;
    return ts_findings_list(gather->coord, &query, note_listed, is_allowed, &more, gather->error);
}

/* Keeps only the findings that match the filter. */
static bool filter_findings(struct assembly *mine, bool *are_allowed) {
    struct ts_report *report = &mine->report;
    struct states states = {.gather = mine->gather,
                            .triages = calloc(report->finding_count + 1, sizeof *states.triages)};
    if (states.triages == NULL)
        return no_room(mine);
    bool good = read_triages(mine, &states);
    size_t kept = 0;
    for (size_t i = 0; good && i < report->finding_count; i++) {
        good = check_other_targets(mine, &report->findings[i], &are_allowed[i]);
        if (good && matches(&mine->gather->scope->filter, &report->findings[i],
                            durable__state_of(states.triages[i], are_allowed[i])))
            report->findings[kept++] = report->findings[i];
    }
    report->finding_count = kept;
    free(states.triages);
    return good;
}

static bool set_findings(struct assembly *mine) {
    struct gather *gather = mine->gather;
    struct ts_report *report = &mine->report;
    sort_pieces(gather);
    report->findings = take(mine, gather->piece_count, sizeof *report->findings);
    bool *are_allowed = calloc(gather->piece_count + 1, sizeof *are_allowed);
    bool good = report->findings != NULL && are_allowed != NULL;
    if (!good)
        (void)no_room(mine);
    for (size_t from = 0, to; good && from < gather->piece_count; from = to) {
        const struct gather_piece *first = &gather->pieces[from];
        for (to = from + 1; to < gather->piece_count; to++) {
            if (memcmp(&gather->pieces[to].entry.finding, &first->entry.finding,
                       sizeof first->entry.finding) != 0)
                break;
        }
        good = join(mine, first, to - from, &report->findings[report->finding_count],
                    &are_allowed[report->finding_count]);
        report->finding_count++;
    }
    good = good && filter_findings(mine, are_allowed);
    free(are_allowed);
    return good;
}

bool durable__gather_assemble(struct gather *gather, struct ts_report *ret_report) {
    struct assembly mine = {.gather = gather};
    bool good = set_targets(&mine) && set_findings(&mine);
    good = good && (!gather->no_memory || no_room(&mine));
    free(mine.rules);
    struct ts_report *report = &mine.report;
    if (!good) {
        free(report->faults);
        free(report->notes);
        free(report->suppressions);
        free(report->rule_changes);
        return false;
    }
    report->commits = gather->commits;
    report->commit_count = gather->commit_count;
    report->memory = gather->arena;
    void *const arrays[] = {gather->commits, gather->places,       report->faults,
                            report->notes,   report->suppressions, report->rule_changes};
    _Static_assert(sizeof arrays == sizeof gather->arena->arrays, "every array has an owner");
    memcpy(gather->arena->arrays, arrays, sizeof arrays);
    ts_report_sort(report);
    *ret_report = *report;
    return true;
}
