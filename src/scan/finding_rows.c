/*
 * Findings, occurrences and commits as rows of the report, with masked texts.
 */
#include "assemble_impl.h"
#include "look_impl.h"
#include "option_names.h"
#include "placed.h"

#include <stdlib.h>
#include <string.h>

/* Listed occurrences may take 1/LISTED_SHARE of the memory. LISTED_BYTES is the approximate size of an
 * occurrence. */
#define LISTED_SHARE 4
#define LISTED_BYTES 160u

/* ---- masking ---- */

static struct ts_bytes masked_at(struct scan_assembly *a, uint32_t text) {
    struct scan_masked_text *known = &a->masked[text % SCAN_MASKED_COUNT];
    if (text == SCAN_NO_TEXT)
        return scan__assembly_text(a, text);
    if (known->text != text)
        *known = (struct scan_masked_text){text, scan__assembly_mask(a, scan__assembly_text(a, text))};
    return known->masked;
}

/* Masks the texts of a rule that comes from the target itself. Returns NULL when memory runs out. */
static const struct ts_rule *mask_rule(struct scan_assembly *a, const struct ts_rule *rule) {
    if (rule->origin != TS_RULE_OF_TARGET)
        return rule;
    const char *id = scan__assembly_mask_cstring(a, rule->id);
    const char *name = scan__assembly_mask_cstring(a, rule->name);
    const char *description = scan__assembly_mask_cstring(a, rule->description);
    const char *revoke = scan__assembly_mask_cstring(a, rule->revoke);
    const char *url = scan__assembly_mask_cstring(a, rule->url);
    if (id == rule->id && name == rule->name && description == rule->description && revoke == rule->revoke &&
        url == rule->url)
        return rule;
    struct ts_rule *copy = ts_arena_take(a->arena, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *rule;
    copy->id = id;
    copy->name = name;
    copy->description = description;
    copy->revoke = revoke;
    copy->url = url;
    return copy;
}

/* ---- rows ---- */

static uint32_t commit_row(struct scan_assembly *a, uint32_t commit, enum ts_git_hash hash) {
    if (commit == TS_REPORT_NONE || a->commit_rows[commit] != TS_REPORT_NONE)
        return commit == TS_REPORT_NONE ? TS_REPORT_NONE : a->commit_rows[commit];
    char hex[TS_GIT_OID_HEX_SIZE];
    const struct scan_commit *from = &a->commits[commit];
    a->commit_rows[commit] = (uint32_t)a->report.commit_count;
    a->report.commits[a->report.commit_count++] = (struct ts_report_commit){
        .oid = ts_arena_copy(a->arena, ts_bytes_of_cstring(ts_git_oid_format(hash, &from->oid, hex))),
        .author_name = masked_at(a, from->author_name),
        .author_mail = masked_at(a, from->author_mail),
        .author_time_s = from->author_time_s,
        .author_zone_minutes = from->author_zone_minutes,
    };
    return a->commit_rows[commit];
}

static struct ts_report_occurrence occurrence_of(struct scan_assembly *a,
                                                 const struct scan_sighting *sighting) {
    const struct scan_location *location = &a->locations[sighting->location];
    const struct scan_content *content = &a->contents[location->content];
    const struct scan_hit *hit = &scan__hits_items(&a->pass->hits)[sighting->hit];
    enum ts_git_hash hash = a->pass->targets[content->target].hash;
    static const struct ts_git_oid none = {{0}};
    char hex[TS_GIT_OID_HEX_SIZE] = "";
    if (!ts_git_oid_equal(&content->oid, &none))
        (void)ts_git_oid_format(hash, &content->oid, hex);
    return (struct ts_report_occurrence){
        .target = content->target,
        .commit = commit_row(a, location->commit, hash),
        .place = location->place,
        .object = ts_arena_copy(a->arena, ts_bytes_of_cstring(hex)),
        .path = masked_at(a, location->path),
        .line = hit->line,
        .column = hit->column,
        .end_line = hit->end_line,
        .end_column = hit->end_column,
        .is_allowed = hit->pragma != SCAN_NO_TEXT,
    };
}

/* Returns false when memory runs out. */
static bool fill_whereabouts(struct scan_assembly *a, uint32_t number, struct ts_report_finding *finding) {
    const struct scan_whereabouts *of = a->whereabouts != NULL ? &a->whereabouts[a->kin.of[number]] : NULL;
    if (of == NULL)
        return true;
    finding->ref_count = of->ref_count;
    finding->ref_listed = of->ref_listed;
    for (size_t i = 0; i < of->ref_listed; i++)
        finding->refs[i] = (const char *)masked_at(a, of->refs[i]).data;
    finding->head_count = of->head_count;
    if (of->head_count == 0)
        return true;
    struct scan_sighting sighting = {.finding = number, .location = of->head, .hit = of->head_hit};
    struct ts_report_occurrence *head = ts_arena_take(a->arena, sizeof *head);
    if (head == NULL)
        return false;
    *head = occurrence_of(a, &sighting);
    finding->head = head;
    return head->object != NULL;
}

/* Returns false when memory runs out. */
static bool fill_first(struct scan_assembly *a, const struct scan_hit *hit,
                       struct ts_report_finding *finding) {
    char excerpt[SCAN_EXCERPT_SIZE];
    const struct scan_finding *kept = &scan__hits_findings(&a->pass->hits)[hit->finding];
    finding->id = kept->id;
    finding->rule = mask_rule(a, kept->rule);
    finding->is_new = true;
    finding->redacted = (const char *)scan__assembly_text(a, kept->redacted).data;
    finding->secret = scan__assembly_text(a, kept->secret);
    a->pass->masks.is_late = scan__is_past_end(a->pass);
    size_t len = scan__excerpt(scan__assembly_text(a, hit->around), &a->pass->masks, excerpt);
    const char *copy = ts_arena_copy(a->arena, ts_bytes_of(excerpt, len));
    if (copy == NULL)
        return false;
    finding->excerpt = ts_bytes_of(copy, len);
    finding->depth = hit->depth;
    for (size_t i = 0; i < TS_ENCODING_DEPTH; i++)
        finding->encodings[i] = (enum ts_encoding)hit->encodings[i];
    return finding->rule != NULL && fill_whereabouts(a, hit->finding, finding);
}

static enum ts_confidence confidence_of(const struct scan_assembly *a, const struct scan_sighting *sighting) {
    const struct scan_hit *hit = &scan__hits_items(&a->pass->hits)[sighting->hit];
    uint32_t path = a->locations[sighting->location].real_path;
    return scan__confidence_at(&a->pass->hits, hit, (const char *)scan__assembly_text(a, path).data);
}

/* Returns the sighting to show for a location: the first sighting without a mark. If all have a mark, returns
 * the first sighting. The sightings of the location begin at `first`. */
static const struct scan_sighting *shown_of(const struct scan_assembly *a, const struct scan_sighting *first,
                                            const struct scan_sighting *end) {
    const struct scan_hit *hits = scan__hits_items(&a->pass->hits);
    for (const struct scan_sighting *s = first; s < end && s->location == first->location; s++)
        if (hits[s->hit].pragma == SCAN_NO_TEXT)
            return s;
    return first;
}

/* Adds the sightings of one finding as its occurrences. Returns false when memory runs out. */
static bool list_finding(struct scan_assembly *a, const struct scan_sighting *items, size_t count,
                         struct ts_report_finding *finding) {
    if (!fill_first(a, &scan__hits_items(&a->pass->hits)[items[0].hit], finding))
        return false;
    size_t most =
        finding->occurrence_count < a->listed_max ? (size_t)finding->occurrence_count : a->listed_max;
    struct ts_report_occurrence *listed = ts_arena_take(a->arena, most * sizeof *listed);
    if (listed == NULL)
        return false;
    for (size_t i = 0; i < count && finding->listed_count < most; i++) {
        if (i > 0 && items[i].location == items[i - 1].location)
            continue;
        listed[finding->listed_count] = occurrence_of(a, shown_of(a, &items[i], items + count));
        if (listed[finding->listed_count++].object == NULL)
            return false;
    }
    finding->occurrences = listed;
    return true;
}

/* Adds a finding to the report. If the confidence is too low, the finding is only counted, unless its rule
 * finds ids that are not secrets. */
static bool add_finding(struct scan_assembly *a, const struct scan_sighting *items, size_t count) {
    struct ts_report_finding finding = {.rule = NULL};
    const struct scan_hit *hit = &scan__hits_items(&a->pass->hits)[items[0].hit];
    const struct ts_rule *rule = scan__hits_findings(&a->pass->hits)[hit->finding].rule;
    for (size_t i = 0; i < count; i++) {
        finding.occurrence_count += i == 0 || items[i].location != items[i - 1].location;
        enum ts_confidence confidence = confidence_of(a, &items[i]);
        finding.confidence = confidence > finding.confidence ? confidence : finding.confidence;
    }
    if (finding.confidence < a->pass->options->min_confidence && !rule->context) {
        a->unsure.findings++;
        a->unsure.occurrences += finding.occurrence_count;
        a->unlisted[a->report.unlisted_count++] = scan__hits_findings(&a->pass->hits)[hit->finding].id;
        return true;
    }
    if (!list_finding(a, items, count, &finding))
        return false;
    a->rows[hit->finding] = (uint32_t)a->report.finding_count;
    a->report.findings[a->report.finding_count++] = finding;
    return true;
}

/* Moves the finding of each key id to the finding of its secret. Also removes findings of ids that are not
 * secrets and have no pair. Returns false when memory runs out. */
static bool join_pairs(struct scan_assembly *a) {
    struct ts_report *report = &a->report;
    if (a->pairs.id_of == NULL)
        return true;
    bool *is_moved = calloc(report->finding_count + 1, sizeof *is_moved);
    bool done = is_moved != NULL;
    for (uint32_t i = 0; done && i < a->pass->hits.finding_table.count; i++) {
        uint32_t id = scan__pairs_id_of(&a->pairs, i);
        if (id == SCAN_PAIR_NONE || a->rows[i] == TS_REPORT_NONE || a->rows[id] == TS_REPORT_NONE)
            continue;
        struct ts_report_finding *copy = ts_arena_take(a->arena, sizeof *copy);
        done = copy != NULL;
        if (done) {
            *copy = report->findings[a->rows[id]];
            report->findings[a->rows[i]].pair = copy;
            is_moved[a->rows[id]] = true;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; done && i < report->finding_count; i++) {
        if (report->findings[i].rule->context)
            continue;
        if (is_moved[i])
            a->unlisted[report->unlisted_count++] = report->findings[i].id;
        else
            report->findings[kept++] = report->findings[i];
    }
    report->finding_count = done ? kept : report->finding_count;
    free(is_moved);
    return done;
}

/* Reduces the number of listed occurrences per finding if the list would take too much memory. */
static void limit_listed(struct scan_assembly *a, const struct scan_sighting *items, size_t count,
                         size_t findings) {
    size_t room = (size_t)(a->pass->memory_bytes / LISTED_SHARE / LISTED_BYTES);
    size_t wanted = 0;
    size_t of_finding = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_other = i == 0 || items[i].finding != items[i - 1].finding;
        bool is_counted = is_other || items[i].location != items[i - 1].location;
        of_finding = is_other ? 0 : of_finding;
        wanted += is_counted && of_finding < a->listed_max;
        of_finding += is_counted;
    }
    if (wanted <= room)
        return;
    a->listed_max = room > findings ? room / findings : 1;
    scan__fault(
        &a->pass->faults,
        "the occurrences of findings exceed the memory limit: only %zu of each are listed; raise " SCAN_OPTION_MEMORY
        ", or list fewer with " SCAN_OPTION_OCCURRENCES,
        a->listed_max);
}

bool scan__assembly_add_findings(struct scan_assembly *a) {
    size_t count;
    const struct scan_sighting *items = scan__assembly_sightings(a, &count);
    size_t findings = 0;
    for (size_t i = 0; i < count; i++)
        findings += i == 0 || items[i].finding != items[i - 1].finding;
    limit_listed(a, items, count, findings);
    size_t commits = a->pass->commits.len / sizeof(struct scan_commit);
    a->report.findings = ts_arena_take(a->arena, findings * sizeof *a->report.findings);
    a->report.commits = ts_arena_take(a->arena, commits * sizeof *a->report.commits);
    a->unlisted = ts_arena_take(a->arena, findings * sizeof *a->unlisted);
    a->commit_rows = malloc((commits + 1) * sizeof *a->commit_rows);
    size_t known = a->pass->hits.finding_table.count;
    a->rows = malloc((known + 1) * sizeof *a->rows);
    if (a->report.findings == NULL || a->report.commits == NULL || a->unlisted == NULL ||
        a->commit_rows == NULL || a->rows == NULL)
        return false;
    memset(a->rows, 0xff, (known + 1) * sizeof *a->rows);
    a->report.unlisted = a->unlisted;
    memset(a->commit_rows, 0xff, (commits + 1) * sizeof *a->commit_rows);
    for (size_t from = 0; from < count;) {
        size_t to = from + 1;
        while (to < count && items[to].finding == items[from].finding)
            to++;
        if (!add_finding(a, items + from, to - from))
            return false;
        from = to;
    }
    for (size_t i = 0; i < a->report.commit_count; i++)
        if (a->report.commits[i].oid == NULL)
            return false;
    return join_pairs(a);
}
