/*
 * The report: hits and their places, sorted.
 *
 *   locations, sorted ──┐
 *                       ├──> sightings (finding, location, hit), without allowed ones ──sorted──> findings
 *   hits of each ───────┘
 *
 * Threads add everything in any order, so all of it is sorted. A finding has one occurrence for each
 * location: the first hit in it. Decisions that depend on a text, such as a path, use the original; every
 * text in the report is masked once all secrets are known.
 */
#include "applies.h"
#include "look_impl.h"
#include "masking.h"
#include "pass.h"
#include "placed.h"
#include "refs.h"
#include "suppressed.h"

#include "base/assert.h"
#include "base/number.h"
#include "base/redact.h"
#include "detect/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OCCURRENCES_DEFAULT 100
/* The share of memory for listed occurrences, and the approximate size of one. */
#define LISTED_SHARE        4
#define LISTED_BYTES        160u
/* Number of remembered masked texts, a power of two: paths and authors repeat. */
#define MASKED_COUNT        4096

struct sighting {
    uint32_t finding;
    uint32_t location;
    uint64_t hit;
};

/* Where a finding is now: HEAD and refs. */
struct whereabouts {
    uint64_t head_hit;
    uint64_t head_count;
    uint64_t ref_count;
    uint32_t head;                 /* location */
    uint32_t refs[TS_REPORT_REFS]; /* texts */
    uint32_t ref_listed;
};

struct masked_text {
    uint32_t text; /* SCAN_NO_TEXT: free */
    struct ts_bytes masked;
};

struct assembly {
    struct scan_pass *pass;
    struct ts_arena *arena;
    struct scan_location *locations;
    size_t location_count;
    const struct scan_commit *commits;
    const struct scan_content *contents;
    struct scan_pile sightings;
    struct scan_suppressed suppressed;
    struct scan_applies applies;
    struct whereabouts *whereabouts; /* by finding; NULL when nothing is known */
    bool *were_before;          /* by finding: the base of the current target has it; NULL: none so far */
    struct masked_text *masked; /* by the lowest bits of their places */
    uint32_t *commit_rows;      /* by commit: its row in the report, or TS_REPORT_NONE */
    struct ts_report report;
    struct ts_report_suppression unsure; /* findings below the minimum confidence */
    struct ts_finding_id *unlisted;      /* their ids; room for all findings */
    size_t listed_max;
    bool is_cut; /* the pile reached the memory limit */
};

/* ---- order ---- */

static int order_of(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static struct ts_bytes text_at(const struct assembly *a, uint32_t text) {
    return scan__hits_text_at(&a->pass->hits, text);
}

/* The earliest commit first; locations without a commit last; then by place, path and object. */
static int compare_locations(const void *x, const void *y, void *ctx) {
    const struct assembly *a = ctx;
    const struct scan_location *s = x;
    const struct scan_location *t = y;
    const struct scan_content *c = &a->contents[s->content];
    const struct scan_content *d = &a->contents[t->content];
    int order = order_of(c->target, d->target);
    if (order == 0)
        order = order_of(s->commit == TS_REPORT_NONE, t->commit == TS_REPORT_NONE);
    if (order == 0 && s->commit != t->commit) {
        const struct scan_commit *m = &a->commits[s->commit];
        const struct scan_commit *n = &a->commits[t->commit];
        order = (m->time_s > n->time_s) - (m->time_s < n->time_s);
        order = order != 0 ? order : ts_git_oid_compare(&m->oid, &n->oid);
    }
    if (order == 0)
        order = order_of((uint64_t)s->place, (uint64_t)t->place);
    if (order == 0 && s->path != t->path)
        order = ts_bytes_compare(text_at(a, s->path), text_at(a, t->path));
    if (order == 0)
        order = ts_git_oid_compare(&c->oid, &d->oid);
    if (order == 0)
        order = order_of((uint64_t)s->role, (uint64_t)t->role);
    return order != 0 ? order : order_of(s->hit, t->hit);
}

/* ---- masking ---- */

static struct ts_bytes mask(struct assembly *a, struct ts_bytes text) {
    a->pass->masks.is_late = scan__is_past_end(a->pass);
    return scan__masks_apply(&a->pass->masks, a->arena, text);
}

static const char *mask_cstring(struct assembly *a, const char *text) {
    return (const char *)mask(a, ts_bytes_of_cstring(text)).data;
}

static struct ts_bytes masked_at(struct assembly *a, uint32_t text) {
    struct masked_text *known = &a->masked[text % MASKED_COUNT];
    if (text == SCAN_NO_TEXT)
        return text_at(a, text);
    if (known->text != text)
        *known = (struct masked_text){text, mask(a, text_at(a, text))};
    return known->masked;
}

/* The names of a target's own rules are its texts, too. Returns NULL when memory runs out. */
static const struct ts_rule *mask_rule(struct assembly *a, const struct ts_rule *rule) {
    if (rule->origin != TS_RULE_OF_TARGET)
        return rule;
    const char *id = mask_cstring(a, rule->id);
    const char *name = mask_cstring(a, rule->name);
    const char *description = mask_cstring(a, rule->description);
    const char *revoke = mask_cstring(a, rule->revoke);
    const char *url = mask_cstring(a, rule->url);
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

static void mask_rows(struct assembly *a) {
    struct ts_report *report = &a->report;
    a->pass->masks.late_steps = 0; /* these are few, and say why the rest is masked */
    for (size_t i = 0; i < report->target_count; i++)
        report->targets[i].name = mask(a, report->targets[i].name);
    for (size_t i = 0; i < report->rule_change_count; i++) {
        struct ts_report_rule_change *change = &report->rule_changes[i];
        change->source = mask_cstring(a, change->source);
        for (size_t k = 0; k < change->count; k++)
            change->rules[k] = mask_cstring(a, change->rules[k]);
    }
    for (size_t i = 0; i < report->suppression_count; i++) {
        report->suppressions[i].source = mask_cstring(a, report->suppressions[i].source);
        report->suppressions[i].reason = mask_cstring(a, report->suppressions[i].reason);
    }
    for (size_t i = 0; i < report->fault_count; i++)
        report->faults[i].text = mask_cstring(a, report->faults[i].text);
    for (size_t i = 0; i < report->note_count; i++)
        report->notes[i] = mask_cstring(a, report->notes[i]);
}

/* ---- sightings ---- */

/* Whether a hit of the content counts at the path: its rule applies there, and no other hit outranks it. */
static bool counts_at(struct assembly *a, const struct scan_content *content, uint32_t index, uint32_t path) {
    uint32_t finding = scan__hits_items(&a->pass->hits)[content->first_hit + index].finding;
    return scan__applies(&a->applies, scan__hits_findings(&a->pass->hits)[finding].rule, path) &&
           !scan__is_outranked(&a->pass->hits, content, index, (const char *)text_at(a, path).data);
}

/* Marks the findings that the base of a change has and would report. */
static bool note_before(struct assembly *a, const struct scan_location *location) {
    const struct scan_content *content = &a->contents[location->content];
    const struct scan_target *target = &a->pass->targets[content->target];
    const char *path = (const char *)text_at(a, location->real_path).data;
    if (a->were_before == NULL)
        a->were_before = calloc(a->pass->hits.finding_table.count + 1, sizeof *a->were_before);
    for (uint32_t i = 0; i < content->hit_count && a->were_before != NULL; i++) {
        const struct scan_hit *hit = &scan__hits_items(&a->pass->hits)[content->first_hit + i];
        if (counts_at(a, content, i, location->real_path) &&
            !scan__suppressed_would(&a->suppressed, target->profile, hit, path))
            a->were_before[hit->finding] = true;
    }
    return a->were_before != NULL;
}

static bool see(struct assembly *a, uint32_t location_index) {
    const struct scan_location *location = &a->locations[location_index];
    const struct scan_content *content = &a->contents[location->content];
    const struct scan_target *target = &a->pass->targets[content->target];
    for (uint32_t i = 0; i < content->hit_count; i++) {
        uint64_t hit = content->first_hit + i;
        const struct scan_hit *item = &scan__hits_items(&a->pass->hits)[hit];
        if ((a->were_before != NULL && a->were_before[item->finding]) ||
            !counts_at(a, content, i, location->real_path) ||
            scan__suppressed_take(&a->suppressed, target->profile, item, location->real_path))
            continue;
        size_t at = a->sightings.len;
        if (at >= a->pass->memory_bytes) {
            a->is_cut = true;
            return true;
        }
        if (!scan__pile_grow(&a->sightings, sizeof(struct sighting)))
            return false;
        struct sighting sighting = {.finding = item->finding, .location = location_index, .hit = hit};
        memcpy(a->sightings.bytes + at, &sighting, sizeof sighting);
    }
    return !a->suppressed.no_memory;
}

static const struct sighting *sightings_of(const struct assembly *a, size_t *ret_count) {
    *ret_count = a->sightings.len / sizeof(struct sighting);
    return (const struct sighting *)(const void *)a->sightings.bytes;
}

/* Groups sightings by finding; within a finding they stay ordered by location, then by hit. There may be more
 * than memory holds, so no sort that needs memory is possible: each sighting is moved to its place in another
 * pile. */
static bool sort_by_finding(struct assembly *a) {
    size_t count;
    const struct sighting *items = sightings_of(a, &count);
    size_t findings = a->pass->hits.finding_table.count;
    size_t *next = calloc(findings + 1, sizeof *next);
    struct scan_pile sorted;
    scan__pile_init(&sorted, a->sightings.held_max, a->pass->spill_dir);
    if (next == NULL || !scan__pile_grow(&sorted, a->sightings.len)) {
        free(next);
        scan__pile_release(&sorted);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        next[items[i].finding + 1]++;
    for (size_t i = 1; i <= findings; i++)
        next[i] += next[i - 1];
    for (size_t i = 0; i < count; i++)
        memcpy(sorted.bytes + next[items[i].finding]++ * sizeof *items, &items[i], sizeof *items);
    free(next);
    scan__pile_release(&a->sightings);
    a->sightings = sorted;
    return true;
}

static void note_head(struct assembly *a, uint32_t location, const struct scan_content *content) {
    uint32_t path = a->locations[location].real_path;
    uint32_t last = TS_REPORT_NONE;
    for (uint32_t i = 0; i < content->hit_count; i++) {
        uint64_t hit = content->first_hit + i;
        uint32_t finding = scan__hits_items(&a->pass->hits)[hit].finding;
        struct whereabouts *of = &a->whereabouts[finding];
        if (finding == last || !counts_at(a, content, i, path))
            continue;
        if (of->head_count++ == 0) {
            of->head = location;
            of->head_hit = hit;
        }
        last = finding;
    }
}

/* Notes a location that is not reported: a place in HEAD, a ref, or a number of refs. Returns false when memory runs out. */
static bool note_whereabouts(struct assembly *a, uint32_t location_index) {
    const struct scan_location *location = &a->locations[location_index];
    const struct scan_content *content = &a->contents[location->content];
    uint64_t count;
    if (a->whereabouts == NULL)
        a->whereabouts = calloc(a->pass->hits.finding_table.count + 1, sizeof *a->whereabouts);
    if (a->whereabouts == NULL)
        return false;
    if (location->role == SCAN_IN_HEAD) {
        note_head(a, location_index, content);
        return true;
    }
    if (location->hit >= content->hit_count)
        return true;
    uint32_t finding = scan__hits_items(&a->pass->hits)[content->first_hit + location->hit].finding;
    struct whereabouts *of = &a->whereabouts[finding];
    if (location->role == SCAN_REF_COUNT) {
        if (ts_u64_parse(text_at(a, location->path), &count) == TS_NUMBER_OK)
            of->ref_count += count - SCAN_REFS_KEPT;
        return true;
    }
    of->ref_count++;
    if (of->ref_listed < TS_REPORT_REFS)
        of->refs[of->ref_listed++] = location->path;
    return true;
}

static uint32_t target_of(const struct assembly *a, size_t location) {
    return a->contents[a->locations[location].content].target;
}

/* Takes all fingerprints of .gitleaksignore first: one may be about an earlier version of a file than the
 * first sighting. */
static void ignore_all(struct assembly *a, size_t from, size_t end) {
    scan__suppressed_clear(&a->suppressed);
    if (from == end || a->pass->targets[target_of(a, from)].profile->ignored.count == 0)
        return;
    for (size_t i = from; i < end; i++) {
        const struct scan_location *location = &a->locations[i];
        struct scan_suppressed_place place = {
            .profile = a->pass->targets[target_of(a, i)].profile,
            .content = &a->contents[location->content],
            .commit = location->commit == TS_REPORT_NONE ? NULL : &a->commits[location->commit].oid,
            .path = location->real_path};
        if (location->role == SCAN_FOUND)
            scan__suppressed_ignore(&a->suppressed, &place);
    }
    scan__suppressed_sort(&a->suppressed);
}

static bool see_all(struct assembly *a) {
    if (a->location_count > 0)
        qsort_r(a->locations, a->location_count, sizeof *a->locations, compare_locations, a);
    size_t end;
    for (size_t from = 0; from < a->location_count; from = end) {
        for (end = from; end < a->location_count && target_of(a, end) == target_of(a, from); end++)
            if (a->locations[end].role == SCAN_BEFORE
                    ? !note_before(a, &a->locations[end])
                    : a->locations[end].role != SCAN_FOUND && !note_whereabouts(a, (uint32_t)end))
                return false;
        ignore_all(a, from, end);
        for (size_t i = from; i < end && !a->is_cut; i++)
            if (a->locations[i].role == SCAN_FOUND && !see(a, (uint32_t)i))
                return false;
        free(a->were_before);
        a->were_before = NULL;
    }
    if (a->is_cut)
        scan__fault(&a->pass->faults,
                    "findings have more than %zu occurrences: the rest is not counted; raise --memory",
                    a->sightings.len / sizeof(struct sighting));
    return a->sightings.len == 0 || sort_by_finding(a);
}

/* ---- rows ---- */

static uint32_t commit_row(struct assembly *a, uint32_t commit, enum ts_git_hash hash) {
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

static struct ts_report_occurrence occurrence_of(struct assembly *a, const struct sighting *sighting) {
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
    };
}

/* Returns false when memory runs out. */
static bool fill_whereabouts(struct assembly *a, uint32_t number, struct ts_report_finding *finding) {
    const struct whereabouts *of = a->whereabouts != NULL ? &a->whereabouts[number] : NULL;
    if (of == NULL)
        return true;
    finding->ref_count = of->ref_count;
    finding->ref_listed = of->ref_listed;
    for (size_t i = 0; i < of->ref_listed; i++)
        finding->refs[i] = (const char *)masked_at(a, of->refs[i]).data;
    finding->head_count = of->head_count;
    if (of->head_count == 0)
        return true;
    struct sighting sighting = {.finding = number, .location = of->head, .hit = of->head_hit};
    struct ts_report_occurrence *head = ts_arena_take(a->arena, sizeof *head);
    if (head == NULL)
        return false;
    *head = occurrence_of(a, &sighting);
    finding->head = head;
    return head->object != NULL;
}

/* Returns false when memory runs out. */
static bool fill_first(struct assembly *a, const struct scan_hit *hit, struct ts_report_finding *finding) {
    char excerpt[SCAN_EXCERPT_SIZE];
    const struct scan_finding *kept = &scan__hits_findings(&a->pass->hits)[hit->finding];
    finding->id = kept->id;
    finding->rule = mask_rule(a, kept->rule);
    finding->is_new = true;
    finding->redacted = (const char *)text_at(a, kept->redacted).data;
    finding->secret = text_at(a, kept->secret);
    a->pass->masks.is_late = scan__is_past_end(a->pass);
    size_t len = scan__excerpt(text_at(a, hit->around), &a->pass->masks, excerpt);
    const char *copy = ts_arena_copy(a->arena, ts_bytes_of(excerpt, len));
    if (copy == NULL)
        return false;
    finding->excerpt = ts_bytes_of(copy, len);
    finding->depth = hit->depth;
    for (size_t i = 0; i < TS_ENCODING_DEPTH; i++)
        finding->encodings[i] = (enum ts_encoding)hit->encodings[i];
    return finding->rule != NULL && fill_whereabouts(a, hit->finding, finding);
}

/* The confidence of a hit depends on the path of its location. */
static enum ts_confidence confidence_of(const struct assembly *a, const struct ts_rule *rule,
                                        const struct sighting *sighting) {
    const struct scan_hit *hit = &scan__hits_items(&a->pass->hits)[sighting->hit];
    struct ts_model_match match = {(enum ts_confidence)hit->confidence, hit->score};
    const char *path = (const char *)text_at(a, a->locations[sighting->location].real_path).data;
    return ts_model_confidence_at(rule, match, path);
}

/* Adds the sightings of one finding as its occurrences. Returns false when memory runs out. */
static bool list_finding(struct assembly *a, const struct sighting *items, size_t count,
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
        listed[finding->listed_count] = occurrence_of(a, &items[i]);
        if (listed[finding->listed_count++].object == NULL)
            return false;
    }
    finding->occurrences = listed;
    return true;
}

/* If its confidence is too low, the finding is counted instead of listed. */
static bool add_finding(struct assembly *a, const struct sighting *items, size_t count) {
    struct ts_report_finding finding = {.rule = NULL};
    const struct scan_hit *hit = &scan__hits_items(&a->pass->hits)[items[0].hit];
    const struct ts_rule *rule = scan__hits_findings(&a->pass->hits)[hit->finding].rule;
    for (size_t i = 0; i < count; i++) {
        finding.occurrence_count += i == 0 || items[i].location != items[i - 1].location;
        enum ts_confidence confidence = confidence_of(a, rule, &items[i]);
        finding.confidence = confidence > finding.confidence ? confidence : finding.confidence;
    }
    if (finding.confidence < a->pass->options->min_confidence) {
        a->unsure.findings++;
        a->unsure.occurrences += finding.occurrence_count;
        a->unlisted[a->report.unlisted_count++] = scan__hits_findings(&a->pass->hits)[hit->finding].id;
        return true;
    }
    if (!list_finding(a, items, count, &finding))
        return false;
    a->report.findings[a->report.finding_count++] = finding;
    return true;
}

/* Lists fewer occurrences of each finding if all of them would take too much memory. */
static void limit_listed(struct assembly *a, const struct sighting *items, size_t count, size_t findings) {
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
    scan__fault(&a->pass->faults,
                "the occurrences of findings exceed the memory limit: only %zu of each are listed; raise "
                "--memory, or list fewer with --occurrences",
                a->listed_max);
}

static bool add_findings(struct assembly *a) {
    size_t count;
    const struct sighting *items = sightings_of(a, &count);
    size_t findings = 0;
    for (size_t i = 0; i < count; i++)
        findings += i == 0 || items[i].finding != items[i - 1].finding;
    limit_listed(a, items, count, findings);
    size_t commits = a->pass->commits.len / sizeof(struct scan_commit);
    a->report.findings = ts_arena_take(a->arena, findings * sizeof *a->report.findings);
    a->report.commits = ts_arena_take(a->arena, commits * sizeof *a->report.commits);
    a->unlisted = ts_arena_take(a->arena, findings * sizeof *a->unlisted);
    a->commit_rows = malloc((commits + 1) * sizeof *a->commit_rows);
    if (a->report.findings == NULL || a->report.commits == NULL || a->unlisted == NULL ||
        a->commit_rows == NULL)
        return false;
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
    return true;
}

/* ---- all of it ---- */

static bool add_targets(struct assembly *a) {
    const struct scan_pass *pass = a->pass;
    a->report.targets = ts_arena_take(a->arena, pass->target_count * sizeof *a->report.targets);
    if (a->report.targets == NULL)
        return false;
    bool has_key = false;
    for (size_t i = 0; i < pass->target_count; i++) {
        const struct scan_target *target = &pass->targets[i];
        a->report.targets[i] = target->row;
        const char *name =
            ts_arena_copy(a->arena, target->row.name); /* the caller's text may be freed before the report */
        if (name == NULL)
            return false;
        a->report.targets[i].name = ts_bytes_of_cstring(name);
        if (target->row.forge != NULL)
            a->report.targets[i].forge = mask_cstring(a, target->row.forge);
        if (target->profile == NULL)
            continue;
        a->report.has_public_salt = a->report.has_public_salt || target->profile->has_public_salt;
        if (!has_key)
            a->report.key = target->profile->key;
        has_key = true;
        if (memcmp(a->report.key.key, target->profile->key.key, sizeof a->report.key.key) != 0)
            a->report.has_several_keys = true;
        if (target->profile->rules->set.count > a->report.rule_count)
            a->report.rule_count = target->profile->rules->set.count;
    }
    a->report.target_count = pass->target_count;
    return true;
}

/* Targets' own changes first: then one profile belongs to one target. The user's changes are in several
 * profiles, and reported once. */
static bool add_rule_changes(struct assembly *a) {
    const struct scan_pass *pass = a->pass;
    size_t count = 0;
    for (size_t i = 0; i < pass->profile_count; i++)
        count += pass->profiles[i]->rule_change_count;
    struct ts_report_rule_change *rows = ts_arena_take(a->arena, count * sizeof *rows);
    if (rows == NULL)
        return false;
    count = 0;
    for (size_t i = 0; i < pass->target_count; i++) {
        const struct scan_profile *profile = pass->targets[i].profile;
        for (size_t k = 0; profile != NULL && k < profile->rule_change_count; k++)
            if (profile->rule_changes[k].target != TS_REPORT_NONE) {
                rows[count] = profile->rule_changes[k];
                rows[count++].target = (uint32_t)i;
            }
    }
    size_t first = count;
    for (size_t i = 0; i < pass->profile_count; i++) {
        const struct scan_profile *profile = pass->profiles[i];
        for (size_t k = 0; k < profile->rule_change_count; k++) {
            const struct ts_report_rule_change *change = &profile->rule_changes[k];
            bool is_told = change->target != TS_REPORT_NONE;
            for (size_t n = first; n < count && !is_told; n++)
                is_told = rows[n].change == change->change && rows[n].count == change->count &&
                          strcmp(rows[n].source, change->source) == 0;
            if (!is_told)
                rows[count++] = *change;
        }
    }
    a->report.rule_changes = rows;
    a->report.rule_change_count = count;
    return true;
}

/* Returns whether the whole history of the target was scanned, so that a finding that was not found does not
 * exist. */
static bool is_all(const struct scan_pass *pass, const struct scan_target *target) {
    const struct ts_scan_options *options = pass->options;
    bool is_selected = options->ref_count + options->branch_count + options->commit_count > 0 ||
                       options->range != NULL || options->has_since;
    return target->row.kind == TS_TARGET_KIND_REPOSITORY && options->extent == TS_SCAN_HISTORY &&
           !is_selected && target->row.missing_by_design + target->row.cut_commits == 0;
}

/* An id made with another salt allows nothing, although it seems to. */
static void note_unmet(struct assembly *a) {
    struct scan_pass *pass = a->pass;
    if (pass->faults.total > 0 || pass->limits_hit > 0 || scan__was_stopped(pass))
        return;
    for (size_t i = 0; i < pass->profile_count; i++) {
        const struct scan_profile *profile = pass->profiles[i];
        unsigned line = 0;
        bool is_sure = profile->has_config;
        for (size_t k = 0; k < pass->target_count && is_sure; k++)
            is_sure = pass->targets[k].profile != profile || is_all(pass, &pass->targets[k]);
        size_t count = is_sure ? scan__suppressed_unmet(&a->suppressed, profile, &line) : 0;
        if (count == 0)
            continue;
        char shown[200];
        char more[64] = "";
        if (count > 1)
            snprintf(more, sizeof more, " or of %zu others", count - 1);
        scan__note(&pass->faults,
                   "%s:%u: allow: no finding has the id of this entry%s: the secret is gone, or the id "
                   "was made with another salt, such as that of a baseline that this scan does not use",
                   ts_text_escape(ts_bytes_of_cstring(profile->config.file), shown, sizeof shown), line,
                   more);
    }
}

static void add_faults(struct assembly *a) {
    struct scan_pass *pass = a->pass;
    if (pass->masks.is_cut)
        scan__limits_cut(pass);
    scan__limits_tell(pass);
    if (pass->hits.is_over)
        scan__fault(&pass->faults, "more than %zu findings: the rest is not reported; raise --memory",
                    pass->hits.findings_max);
    if (pass->hits.no_memory || pass->no_memory || pass->faults.no_memory)
        scan__fault(&pass->faults, "out of memory for findings: some are not reported; raise --memory");
    scan__faults_sort(&pass->faults);
    a->report.faults = pass->faults.items;
    a->report.fault_count = pass->faults.count;
    a->report.fault_total = pass->faults.total;
    a->report.notes = pass->faults.notes;
    a->report.note_count = pass->faults.note_count;
}

static struct assembly begin(struct scan_pass *pass, struct ts_arena *arena) {
    size_t unused;
    size_t listed = pass->options->occurrences_max;
    struct assembly a = {
        .pass = pass,
        .arena = arena,
        .locations = (struct scan_location *)(void *)pass->locations.bytes,
        .location_count = pass->locations.len / sizeof(struct scan_location),
        .commits = (const struct scan_commit *)(const void *)pass->commits.bytes,
        .contents = scan__hits_contents(&pass->hits, &unused),
        .listed_max = listed == 0 ? OCCURRENCES_DEFAULT : listed,
        .report = {.shows_secrets = pass->options->shows_secrets,
                   .is_stopped = atomic_load(&pass->progress->stop),
                   .limits_hit = pass->limits_hit},
    };
    scan__pile_init(&a.sightings, (size_t)(pass->memory_bytes / 16), pass->spill_dir);
    return a;
}

/* Every omission is counted and reported. */
static bool add_unsure(struct assembly *a) {
    size_t count = a->report.suppression_count;
    if (a->unsure.findings == 0)
        return true;
    struct ts_report_suppression *rows = ts_arena_take(a->arena, (count + 1) * sizeof *rows);
    if (rows == NULL)
        return false;
    if (count > 0)
        memcpy(rows, a->report.suppressions, count * sizeof *rows);
    a->unsure.source = "--min-confidence";
    a->unsure.reason = a->pass->options->min_confidence == TS_CONFIDENCE_HIGH
                           ? "below high confidence; --min-confidence low lists them"
                           : "low confidence; --min-confidence low lists them";
    rows[count] = a->unsure;
    a->report.suppressions = rows;
    a->report.suppression_count = count + 1;
    return true;
}

bool scan__assemble(struct scan_pass *pass, struct ts_arena *arena, struct ts_report *ret_report) {
    struct assembly a = begin(pass, arena);
    struct scan_profile *const *profiles = pass->profiles;
    a.masked = calloc(MASKED_COUNT, sizeof *a.masked);
    bool done =
        a.masked != NULL && scan__applies_init(&a.applies, &pass->hits) &&
        scan__masks_of(pass, 0, &pass->masks) &&
        scan__suppressed_init(&a.suppressed, &pass->hits, profiles, pass->profile_count) && see_all(&a) &&
        add_findings(&a) && add_targets(&a) && add_rule_changes(&a) &&
        scan__suppressed_rows(&a.suppressed, arena, &a.report.suppressions, &a.report.suppression_count) &&
        add_unsure(&a);
    if (done) {
        note_unmet(&a);
        add_faults(&a);
        mask_rows(&a);
        ts_report_sort(&a.report);
        *ret_report = a.report;
    }
    scan__suppressed_release(&a.suppressed);
    scan__applies_release(&a.applies);
    scan__pile_release(&a.sightings);
    free(a.whereabouts);
    free(a.were_before);
    free(a.masked);
    free(a.commit_rows);
    return done;
}
