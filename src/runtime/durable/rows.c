#include "rows.h"

#include "base/hex.h"

#include <stdlib.h>

/* ---- order ---- */

struct ts_fleet_finding durable__finding_of(const struct ts_finding_id *id) {
    struct ts_fleet_finding finding = {{0}};
    const bool is_hex = ts_hex_decode(ts_bytes_of(id->text, TS_FINDING_ID_LEN), finding.bytes);
    ts_assert(is_hex);
    return finding;
}

static int compare(const void *a, const void *b) {
    const struct ts_report_finding *const *one = a, *const *other = b;
    return strcmp((*one)->id.text, (*other)->id.text);
}

bool durable__order_init(struct durable__order *order, const struct ts_report *report) {
    order->findings = calloc(report->finding_count + 1, sizeof(const struct ts_report_finding *));
    if (order->findings == NULL)
        return false;
    for (size_t i = 0; i < report->finding_count; i++)
        order->findings[i] = &report->findings[i];
    order->count = report->finding_count;
    qsort(order->findings, order->count, sizeof(const struct ts_report_finding *), compare);
    return true;
}

void durable__order_release(struct durable__order *order) {
    free(order->findings);
    *order = (struct durable__order){0};
}

/* ---- pages ---- */

/* Memory for an id in binary form. */
struct oid {
    uint8_t bytes[TS_FLEET_OID_MAX];
    size_t len;
};

/* Converts an id to bytes; "" becomes an empty id. */
static struct ts_bytes oid_of(const char *hex, struct oid *oid) {
    const size_t digits = strlen(hex);
    ts_assert(digits <= 2 * sizeof oid->bytes);
    const bool is_hex = ts_hex_decode(ts_bytes_of(hex, digits), oid->bytes);
    ts_assert(is_hex);
    oid->len = digits / 2;
    return ts_bytes_of(oid->bytes, oid->len);
}

bool durable__pager_init(struct durable__pager *pager, const struct ts_report *report,
                         const struct durable__order *order) {
    *pager = (struct durable__pager){.report = report, .order = order};
    pager->numbers = calloc(report->commit_count + 1, sizeof *pager->numbers);
    return pager->numbers != NULL;
}

void durable__pager_release(struct durable__pager *pager) {
    free(pager->numbers);
    pager->numbers = NULL;
}

/* Makes sure that the page has the commit of a place. Returns false if there is no room. */
static bool add_commit(struct durable__pager *pager, struct ts_fleet_page *page, uint32_t index) {
    if (index == TS_REPORT_NONE || pager->numbers[index] != TS_FLEET_NO_COMMIT)
        return true;
    const struct ts_report_commit *commit = &pager->report->commits[index];
    struct oid oid;
    const struct ts_fleet_commit stored = {.oid = oid_of(commit->oid, &oid),
                                           .author_name = commit->author_name,
                                           .author_mail = commit->author_mail,
                                           .author_time_s = commit->author_time_s,
                                           .author_zone_minutes = commit->author_zone_minutes};
    if (!ts_fleet_page_add_commit(page, &stored))
        return false;
    pager->numbers[index] = page->commits - 1;
    return true;
}

static struct ts_fleet_place place_of(const struct durable__pager *pager,
                                      const struct ts_report_occurrence *occurrence, struct oid *oid) {
    return (struct ts_fleet_place){.commit = occurrence->commit == TS_REPORT_NONE
                                                 ? TS_FLEET_NO_COMMIT
                                                 : pager->numbers[occurrence->commit],
                                   .place = (uint8_t)occurrence->place,
                                   .is_allowed = occurrence->is_allowed,
                                   .object = oid_of(occurrence->object, oid),
                                   .path = occurrence->path,
                                   .line = occurrence->line,
                                   .column = occurrence->column,
                                   .end_line = occurrence->end_line,
                                   .end_column = occurrence->end_column};
}

static bool add_entry(struct durable__pager *pager, struct ts_fleet_page *page,
                      const struct ts_report_finding *finding) {
    struct oid oid;
    if (finding->head != NULL && !add_commit(pager, page, finding->head->commit))
        return false;
    struct ts_fleet_entry entry = {.finding = durable__finding_of(&finding->id),
                                   .rule = ts_bytes_of_cstring(finding->rule->id),
                                   .severity = (uint8_t)finding->rule->severity,
                                   .confidence = (uint8_t)finding->confidence,
                                   .redacted = ts_bytes_of_cstring(finding->redacted),
                                   .excerpt = finding->excerpt,
                                   .depth = finding->depth,
                                   .has_head = finding->head != NULL,
                                   .head_count = finding->head_count,
                                   .ref_listed = (uint8_t)finding->ref_listed,
                                   .ref_count = finding->ref_count,
                                   .count = finding->listed_count,
                                   .from = pager->place};
    _Static_assert(TS_FLEET_DEPTH == TS_ENCODING_DEPTH && TS_FLEET_REFS == TS_REPORT_REFS, "pages have room");
    for (size_t i = 0; i < finding->depth; i++)
        entry.encodings[i] = (uint8_t)finding->encodings[i];
    for (size_t i = 0; i < finding->ref_listed; i++)
        entry.refs[i] = ts_bytes_of_cstring(finding->refs[i]);
    if (finding->head != NULL)
        entry.head = place_of(pager, finding->head, &oid);
    return ts_fleet_page_add_entry(page, &entry);
}

/* Adds the places of the finding that no page has yet. Returns false if this page has no room for all of
 * them. */
static bool add_places(struct durable__pager *pager, struct ts_fleet_page *page,
                       const struct ts_report_finding *finding) {
    for (; pager->place < finding->listed_count; pager->place++) {
        const struct ts_report_occurrence *occurrence = &finding->occurrences[pager->place];
        struct oid oid;
        if (!add_commit(pager, page, occurrence->commit))
            return false;
        const struct ts_fleet_place place = place_of(pager, occurrence, &oid);
        if (!ts_fleet_page_add_place(page, &place))
            return false;
    }
    return true;
}

size_t durable__pager_next(struct durable__pager *pager, uint8_t *memory) {
    if (pager->finding == pager->order->count)
        return 0;
    for (size_t i = 0; i < pager->report->commit_count; i++)
        pager->numbers[i] = TS_FLEET_NO_COMMIT;
    struct ts_fleet_page page;
    ts_fleet_page_begin(&page, memory);
    for (; pager->finding < pager->order->count; pager->finding++, pager->place = 0) {
        const struct ts_report_finding *finding = pager->order->findings[pager->finding];
        const struct ts_fleet_page before = page;
        const size_t place = pager->place;
        if (add_entry(pager, &page, finding) && add_places(pager, &page, finding))
            continue;
        /* If no place fits after the entry, the entry is removed from this page, and the next page begins the
         * finding. If the entry stayed, both pages would begin the finding. */
        if (pager->place == place)
            page = before;
        break;
    }
    ts_assert(page.has_entry);
    return ts_fleet_page_seal(&page);
}

/* ---- summary ---- */

static void add(struct ts_fleet_summary *summary, const struct ts_fleet_part *part) {
    /* Parts that do not fit into the summary are omitted. The row nevertheless counts all faults. */
    (void)ts_fleet_summary_add(summary, part);
}

static struct ts_bytes text_of(const char *text) {
    return ts_bytes_of_cstring(text == NULL ? "" : text);
}

static void add_row(struct ts_fleet_summary *summary, const struct ts_report *report) {
    const struct ts_report_target *row = &report->targets[0];
    const struct ts_fleet_part part = {.kind = TS_FLEET_PART_ROW,
                                       .u.row = {.commits = row->commits,
                                                 .trees = row->trees,
                                                 .tags = row->tags,
                                                 .blobs = row->blobs,
                                                 .bytes = row->bytes,
                                                 .bytes_looked_at = row->bytes_looked_at,
                                                 .blobs_known = row->blobs_known,
                                                 .missing_by_design = row->missing_by_design,
                                                 .cut_commits = row->cut_commits,
                                                 .submodules = row->submodules,
                                                 .encrypted_archives = row->encrypted_archives,
                                                 .lfs_objects = row->lfs_objects,
                                                 .lfs_missing = row->lfs_missing,
                                                 .skipped = row->skipped,
                                                 .fault_total = report->fault_total,
                                                 .limits_hit = report->limits_hit,
                                                 .rule_count = report->rule_count,
                                                 .knows_head = row->knows_head}};
    add(summary, &part);
}

static int compare_rules(const void *a, const void *b) {
    const struct ts_rule *const *one = a, *const *other = b;
    return strcmp((*one)->id, (*other)->id);
}

/* Adds each rule once. When memory runs out, rules are omitted, and reports show only their ids. */
static void add_rules(struct ts_fleet_summary *summary, const struct durable__order *order) {
    const struct ts_rule **rules = calloc(order->count + 1, sizeof(const struct ts_rule *));
    if (rules == NULL)
        return;
    for (size_t i = 0; i < order->count; i++)
        rules[i] = order->findings[i]->rule;
    qsort(rules, order->count, sizeof(const struct ts_rule *), compare_rules);
    for (size_t i = 0; i < order->count; i++) {
        const struct ts_rule *rule = rules[i];
        if (i > 0 && strcmp(rule->id, rules[i - 1]->id) == 0)
            continue;
        const struct ts_fleet_part part = {.kind = TS_FLEET_PART_RULE,
                                           .u.rule = {.id = text_of(rule->id),
                                                      .name = text_of(rule->name),
                                                      .description = text_of(rule->description),
                                                      .revoke = text_of(rule->revoke),
                                                      .url = text_of(rule->url),
                                                      .pattern = text_of(rule->pattern),
                                                      .severity = (uint8_t)rule->severity,
                                                      .confidence = (uint8_t)rule->confidence,
                                                      .origin = (uint8_t)rule->origin}};
        add(summary, &part);
    }
    free(rules);
}

static void add_texts(struct ts_fleet_summary *summary, const struct ts_report *report) {
    for (size_t i = 0; i < report->suppression_count; i++) {
        const struct ts_report_suppression *by = &report->suppressions[i];
        const struct ts_fleet_part part = {.kind = TS_FLEET_PART_SUPPRESSION,
                                           .u.suppression = {.source = text_of(by->source),
                                                             .reason = text_of(by->reason),
                                                             .findings = by->findings,
                                                             .occurrences = by->occurrences}};
        add(summary, &part);
    }
    for (size_t i = 0; i < report->rule_change_count; i++) {
        const struct ts_report_rule_change *change = &report->rule_changes[i];
        for (size_t j = 0; j < change->count; j++) {
            const struct ts_fleet_part part = {
                .kind = TS_FLEET_PART_RULE_CHANGE,
                .u.rule_change = {.change = (uint8_t)change->change,
                                  .is_of_target = change->target != TS_REPORT_NONE,
                                  .source = text_of(change->source),
                                  .rule = text_of(change->rules[j])}};
            add(summary, &part);
        }
    }
    for (size_t i = 0; i < report->note_count; i++)
        add(summary,
            &(struct ts_fleet_part){.kind = TS_FLEET_PART_NOTE, .u.text = text_of(report->notes[i])});
    for (size_t i = 0; i < report->fault_count; i++)
        add(summary,
            &(struct ts_fleet_part){.kind = TS_FLEET_PART_FAULT, .u.text = text_of(report->faults[i].text)});
}

size_t durable__summary(const struct ts_report *report, const struct ts_fleet_unit *unit,
                        const struct durable__order *order, uint8_t *ret_bytes) {
    ts_assert(report->target_count == 1);
    struct ts_fleet_summary summary;
    ts_fleet_summary_begin(&summary, ret_bytes);
    const struct ts_fleet_part origin = {.kind = TS_FLEET_PART_ORIGIN,
                                         .u.origin = {.address = unit->address,
                                                      .selection = unit->selection,
                                                      .is_sha256 = unit->is_sha256,
                                                      .forge = text_of(report->targets[0].forge),
                                                      .forge_kind = (uint8_t)report->targets[0].forge_kind}};
    add(&summary, &origin);
    add_row(&summary, report);
    add_rules(&summary, order);
    add_texts(&summary, report);
    return ts_fleet_summary_seal(&summary);
}

/* ---- by finding ---- */

struct ts_fleet_seen durable__seen_of(const struct ts_report *report,
                                      const struct ts_report_finding *finding) {
    const struct ts_report_occurrence *first = &finding->occurrences[0];
    const enum ts_report_head head = ts_report_head_of(report, finding);
    struct ts_fleet_seen seen = {.count = finding->occurrence_count,
                                 .confidence = (uint8_t)finding->confidence,
                                 .severity = (uint8_t)finding->rule->severity,
                                 .knows_head = head != TS_REPORT_HEAD_UNKNOWN,
                                 .is_in_head = head == TS_REPORT_HEAD_HAS,
                                 .is_allowed = true,
                                 .place = (uint8_t)first->place,
                                 .line = first->line,
                                 .column = first->column,
                                 .path = first->path};
    for (size_t i = 0; i < finding->listed_count && seen.is_allowed; i++)
        seen.is_allowed = finding->occurrences[i].is_allowed;
    if (first->commit != TS_REPORT_NONE) {
        struct oid oid;
        const struct ts_bytes bytes = oid_of(report->commits[first->commit].oid, &oid);
        memcpy(seen.commit, bytes.data, bytes.len);
        seen.commit_len = (uint8_t)bytes.len;
    }
    return seen;
}

struct ts_fleet_finding_record durable__record_of(const struct ts_report_finding *finding) {
    return (struct ts_fleet_finding_record){.rule = ts_bytes_of_cstring(finding->rule->id),
                                            .name = ts_bytes_of_cstring(finding->rule->name),
                                            .severity = (uint8_t)finding->rule->severity,
                                            .redacted = ts_bytes_of_cstring(finding->redacted)};
}
