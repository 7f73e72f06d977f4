/*
 * The report: hits and where they stand, put in order.
 *
 *   stands, sorted ──┐
 *                    ├──> sightings (finding, stand, hit), what is allowed left out ──sorted──> findings
 *   hits of each ────┘
 *
 * An order of its own is made for everything that threads brought in any order. A finding has one occurrence for each
 * stand, the first hit in it.
 */
#include "look_impl.h"
#include "session.h"
#include "suppressed.h"

#include "base/assert.h"
#include "base/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OCCURRENCES_DEFAULT 100

struct sighting {
    uint32_t finding;
    uint32_t stand;
    uint64_t hit;
};

struct assembly {
    struct scan_session *session;
    struct scan_arena *arena;
    struct scan_stand *stands;
    size_t stand_count;
    const struct scan_commit *commits;
    const struct scan_content *contents;
    struct scan_pile sightings;
    struct scan_suppressed suppressed;
    uint32_t *commit_rows; /* by commit: its row in the report, or TS_REPORT_NONE */
    struct ts_report report;
    size_t listed_max;
};

/* ---- order ---- */

static int order_of(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static struct ts_bytes text_at(const struct assembly *a, uint32_t text) {
    return scan__hits_text_at(&a->session->hits, text);
}

/* The earliest commit first; then what has none; then by place, path and object. */
static int compare_stands(const void *x, const void *y, void *ctx) {
    const struct assembly *a = ctx;
    const struct scan_stand *s = x;
    const struct scan_stand *t = y;
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
    return order != 0 ? order : ts_git_oid_compare(&c->oid, &d->oid);
}

static int compare_sightings(const void *x, const void *y) {
    const struct sighting *s = x;
    const struct sighting *t = y;
    int order = order_of(s->finding, t->finding);
    if (order == 0)
        order = order_of(s->stand, t->stand);
    return order != 0 ? order : order_of(s->hit, t->hit);
}

/* ---- sightings ---- */

static bool see(struct assembly *a, uint32_t stand_index) {
    const struct scan_stand *stand = &a->stands[stand_index];
    const struct scan_content *content = &a->contents[stand->content];
    const struct scan_target *target = &a->session->targets[content->target];
    const char *path = (const char *)text_at(a, stand->path).data;
    for (uint32_t i = 0; i < content->hit_count; i++) {
        uint64_t hit = content->first_hit + i;
        const struct scan_hit *item = &scan__hits_items(&a->session->hits)[hit];
        if (scan__suppressed_take(&a->suppressed, target->profile, item, path))
            continue;
        size_t at = a->sightings.len;
        if (!scan__pile_grow(&a->sightings, sizeof(struct sighting)))
            return false;
        struct sighting sighting = {.finding = item->finding, .stand = stand_index, .hit = hit};
        memcpy(a->sightings.bytes + at, &sighting, sizeof sighting);
    }
    return !a->suppressed.no_memory;
}

static bool see_all(struct assembly *a) {
    if (a->stand_count > 0)
        qsort_r(a->stands, a->stand_count, sizeof *a->stands, compare_stands, a);
    for (size_t i = 0; i < a->stand_count; i++)
        if (!see(a, (uint32_t)i))
            return false;
    size_t count = a->sightings.len / sizeof(struct sighting);
    if (count > 0)
        qsort(a->sightings.bytes, count, sizeof(struct sighting), compare_sightings);
    return true;
}

/* ---- rows ---- */

static uint32_t commit_row(struct assembly *a, uint32_t commit, enum ts_git_hash hash) {
    if (commit == TS_REPORT_NONE || a->commit_rows[commit] != TS_REPORT_NONE)
        return commit == TS_REPORT_NONE ? TS_REPORT_NONE : a->commit_rows[commit];
    char hex[TS_GIT_OID_HEX_SIZE];
    const struct scan_commit *from = &a->commits[commit];
    a->commit_rows[commit] = (uint32_t)a->report.commit_count;
    a->report.commits[a->report.commit_count++] = (struct ts_report_commit){
        .oid = scan__arena_copy(a->arena, ts_bytes_of_cstring(ts_git_oid_format(hash, &from->oid, hex))),
        .author_name = text_at(a, from->author_name),
        .author_mail = text_at(a, from->author_mail),
        .author_time_s = from->author_time_s,
        .author_zone_minutes = from->author_zone_minutes,
    };
    return a->commit_rows[commit];
}

static struct ts_report_occurrence occurrence_of(struct assembly *a, const struct sighting *sighting) {
    const struct scan_stand *stand = &a->stands[sighting->stand];
    const struct scan_content *content = &a->contents[stand->content];
    const struct scan_hit *hit = &scan__hits_items(&a->session->hits)[sighting->hit];
    enum ts_git_hash hash = a->session->targets[content->target].hash;
    static const struct ts_git_oid none = {{0}};
    char hex[TS_GIT_OID_HEX_SIZE] = "";
    if (!ts_git_oid_equal(&content->oid, &none))
        (void)ts_git_oid_format(hash, &content->oid, hex);
    return (struct ts_report_occurrence){
        .target = content->target,
        .commit = commit_row(a, stand->commit, hash),
        .place = stand->place,
        .object = scan__arena_copy(a->arena, ts_bytes_of_cstring(hex)),
        .path = text_at(a, stand->path),
        .line = hit->line,
        .column = hit->column,
        .end_line = hit->end_line,
        .end_column = hit->end_column,
    };
}

static void fill_first(const struct assembly *a, const struct scan_hit *hit,
                       struct ts_report_finding *finding) {
    const struct scan_finding *kept = &scan__hits_findings(&a->session->hits)[hit->finding];
    finding->id = kept->id;
    finding->rule = kept->rule;
    finding->is_new = true;
    finding->redacted = (const char *)text_at(a, kept->redacted).data;
    finding->secret = text_at(a, kept->secret);
    finding->excerpt = text_at(a, hit->excerpt);
    finding->depth = hit->depth;
    for (size_t i = 0; i < TS_ENCODING_DEPTH; i++)
        finding->encodings[i] = (enum ts_encoding)hit->encodings[i];
}

/* The sightings of one finding. */
static bool add_finding(struct assembly *a, const struct sighting *items, size_t count) {
    struct ts_report_finding *finding = &a->report.findings[a->report.finding_count++];
    const struct scan_hit *hits = scan__hits_items(&a->session->hits);
    fill_first(a, &hits[items[0].hit], finding);
    for (size_t i = 0; i < count; i++) {
        finding->occurrence_count += i == 0 || items[i].stand != items[i - 1].stand;
        enum ts_confidence confidence = (enum ts_confidence)hits[items[i].hit].confidence;
        finding->confidence = confidence > finding->confidence ? confidence : finding->confidence;
    }
    size_t most =
        finding->occurrence_count < a->listed_max ? (size_t)finding->occurrence_count : a->listed_max;
    struct ts_report_occurrence *listed = scan__arena_take(a->arena, most * sizeof *listed);
    if (listed == NULL)
        return false;
    for (size_t i = 0; i < count && finding->listed_count < most; i++) {
        if (i > 0 && items[i].stand == items[i - 1].stand)
            continue;
        listed[finding->listed_count] = occurrence_of(a, &items[i]);
        if (listed[finding->listed_count++].object == NULL)
            return false;
    }
    finding->occurrences = listed;
    return true;
}

static int compare_ids(const void *x, const void *y) {
    return memcmp(x, y, sizeof(struct ts_finding_id));
}

/* It was there before what is scanned. */
static bool is_old(const struct assembly *a, uint32_t finding) {
    const struct ts_finding_id *id = &scan__hits_findings(&a->session->hits)[finding].id;
    return a->session->old_id_count > 0 &&
           bsearch(id, a->session->old_ids, a->session->old_id_count, sizeof *id, compare_ids) != NULL;
}

static bool add_findings(struct assembly *a) {
    const struct sighting *items = (const struct sighting *)(const void *)a->sightings.bytes;
    size_t count = a->sightings.len / sizeof *items;
    size_t findings = 0;
    for (size_t i = 0; i < count; i++)
        findings += i == 0 || items[i].finding != items[i - 1].finding;
    size_t commits = a->session->commits.len / sizeof(struct scan_commit);
    a->report.findings = scan__arena_take(a->arena, findings * sizeof *a->report.findings);
    a->report.commits = scan__arena_take(a->arena, commits * sizeof *a->report.commits);
    a->commit_rows = malloc((commits + 1) * sizeof *a->commit_rows);
    if (a->report.findings == NULL || a->report.commits == NULL || a->commit_rows == NULL)
        return false;
    memset(a->commit_rows, 0xff, (commits + 1) * sizeof *a->commit_rows);
    for (size_t from = 0; from < count;) {
        size_t to = from + 1;
        while (to < count && items[to].finding == items[from].finding)
            to++;
        if (!is_old(a, items[from].finding) && !add_finding(a, items + from, to - from))
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
    const struct scan_session *session = a->session;
    a->report.targets = scan__arena_take(a->arena, session->target_count * sizeof *a->report.targets);
    if (a->report.targets == NULL)
        return false;
    bool has_key = false;
    for (size_t i = 0; i < session->target_count; i++) {
        const struct scan_target *target = &session->targets[i];
        a->report.targets[i] = target->row;
        const char *name =
            scan__arena_copy(a->arena, target->row.name); /* the caller's may be gone before the report */
        if (name == NULL)
            return false;
        a->report.targets[i].name = ts_bytes_of_cstring(name);
        if (target->profile == NULL)
            continue;
        a->report.has_public_salt = a->report.has_public_salt || target->profile->has_public_salt;
        if (!has_key)
            a->report.key = target->profile->key;
        has_key = true;
        if (memcmp(a->report.key.key, target->profile->key.key, sizeof a->report.key.key) != 0)
            a->report.has_several_keys = true;
        if (target->profile->rules.count > a->report.rule_count)
            a->report.rule_count = target->profile->rules.count;
    }
    a->report.target_count = session->target_count;
    return true;
}

/* Targets' own ones first: one profile is of one target then. Those of the user are in several profiles, and told once. */
static bool add_rule_changes(struct assembly *a) {
    const struct scan_session *session = a->session;
    size_t count = 0;
    for (size_t i = 0; i < session->profile_count; i++)
        count += session->profiles[i]->rule_change_count;
    struct ts_report_rule_change *rows = scan__arena_take(a->arena, count * sizeof *rows);
    if (rows == NULL)
        return false;
    count = 0;
    for (size_t i = 0; i < session->target_count; i++) {
        const struct scan_profile *profile = session->targets[i].profile;
        for (size_t k = 0; profile != NULL && k < profile->rule_change_count; k++)
            if (profile->rule_changes[k].target != TS_REPORT_NONE) {
                rows[count] = profile->rule_changes[k];
                rows[count++].target = (uint32_t)i;
            }
    }
    size_t first = count;
    for (size_t i = 0; i < session->profile_count; i++) {
        const struct scan_profile *profile = session->profiles[i];
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

/* Whether all of the target's history was looked at, so that what was not found is not there. */
static bool is_all(const struct scan_session *session, const struct scan_target *target) {
    const struct ts_scan_options *options = session->options;
    bool is_selected =
        options->ref_count + options->branch_count + options->commit_count > 0 || options->has_since;
    return target->row.kind == TS_TARGET_KIND_REPOSITORY && options->extent == TS_SCAN_HISTORY &&
           !is_selected && target->row.missing_by_design + target->row.cut_commits == 0;
}

/* An id that was made with another salt allows nothing, and looks as if it did. */
static void note_unmet(struct assembly *a) {
    struct scan_session *session = a->session;
    if (session->faults.total > 0 || session->limits_hit > 0 || scan__is_stopped(session))
        return;
    for (size_t i = 0; i < session->profile_count; i++) {
        const struct scan_profile *profile = session->profiles[i];
        unsigned line = 0;
        bool is_sure = profile->has_config;
        for (size_t k = 0; k < session->target_count && is_sure; k++)
            is_sure = session->targets[k].profile != profile || is_all(session, &session->targets[k]);
        size_t count = is_sure ? scan__suppressed_unmet(&a->suppressed, profile, &line) : 0;
        if (count == 0)
            continue;
        char shown[200];
        char more[64] = "";
        if (count > 1)
            snprintf(more, sizeof more, ", nor those of %zu more", count - 1);
        scan__note(&session->faults,
                   "%s:%u: allow: no finding has the id of this entry%s: it is gone, or the id was made with "
                   "another salt, such as that of a baseline which this scan does without",
                   ts_text_escape(ts_bytes_of_cstring(profile->config.file), shown, sizeof shown), line,
                   more);
    }
}

static void add_faults(struct assembly *a) {
    struct scan_session *session = a->session;
    if (session->hits.is_over)
        scan__fault(&session->faults,
                    "more than %zu findings: the others are left out; give it more --memory",
                    session->hits.findings_max);
    if (session->hits.no_memory || session->no_memory || session->faults.no_memory)
        scan__fault(&session->faults, "out of memory for findings: some are left out; give it more --memory");
    scan__faults_sort(&session->faults);
    a->report.faults = session->faults.items;
    a->report.fault_count = session->faults.count;
    a->report.fault_total = session->faults.total;
    a->report.notes = session->faults.notes;
    a->report.note_count = session->faults.note_count;
}

static struct assembly begin(struct scan_session *session, struct scan_arena *arena) {
    size_t unused;
    size_t listed = session->options->occurrences_max;
    struct assembly a = {
        .session = session,
        .arena = arena,
        .stands = (struct scan_stand *)(void *)session->stands.bytes,
        .stand_count = session->stands.len / sizeof(struct scan_stand),
        .commits = (const struct scan_commit *)(const void *)session->commits.bytes,
        .contents = scan__hits_contents(&session->hits, &unused),
        .listed_max = listed == 0 ? OCCURRENCES_DEFAULT : listed,
        .report = {.shows_secrets = session->options->shows_secrets,
                   .is_stopped = scan__is_stopped(session),
                   .limits_hit = session->limits_hit},
    };
    scan__pile_init(&a.sightings, (size_t)(session->memory_bytes / 16), session->spill_dir);
    return a;
}

bool scan__assemble(struct scan_session *session, struct scan_arena *arena, struct ts_report *ret_report) {
    struct assembly a = begin(session, arena);
    struct scan_profile *const *profiles = session->profiles;
    bool done =
        scan__suppressed_init(&a.suppressed, &session->hits, profiles, session->profile_count) &&
        see_all(&a) && add_findings(&a) && add_targets(&a) && add_rule_changes(&a) &&
        scan__suppressed_rows(&a.suppressed, arena, &a.report.suppressions, &a.report.suppression_count);
    if (done) {
        note_unmet(&a);
        add_faults(&a);
        ts_report_sort(&a.report);
        *ret_report = a.report;
    }
    scan__suppressed_release(&a.suppressed);
    scan__pile_release(&a.sightings);
    free(a.commit_rows);
    return done;
}
