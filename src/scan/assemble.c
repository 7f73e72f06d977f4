/*
 * Makes the report: hits and their places, sorted (sightings.c, finding_rows.c), and the other parts of the
 * report.
 *
 *   locations, sorted ──┐
 *                       ├──> sightings (finding, location, hit), without allowed ones ──sorted──> findings
 *   hits of each ───────┘
 *
 * Threads add hits and locations in any order, so both are sorted. A finding has one occurrence for each
 * location: the first hit at that location. Decisions that depend on a text, such as a path, use the original
 * text. When all secrets are known, every text in the report is masked.
 */
#include "assemble_impl.h"
#include "masking.h"
#include "option_names.h"

#include "base/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OCCURRENCES_DEFAULT 100

struct ts_bytes scan__assembly_mask(struct scan_assembly *a, struct ts_bytes text) {
    a->pass->masks.is_late = scan__is_past_end(a->pass);
    return scan__masks_apply(&a->pass->masks, a->arena, text);
}

const char *scan__assembly_mask_cstring(struct scan_assembly *a, const char *text) {
    return (const char *)scan__assembly_mask(a, ts_bytes_of_cstring(text)).data;
}

static void mask_rows(struct scan_assembly *a) {
    struct ts_report *report = &a->report;
    a->pass->masks.late_steps = 0; /* allows more steps for the few remaining texts, such as faults */
    for (size_t i = 0; i < report->target_count; i++)
        report->targets[i].name = scan__assembly_mask(a, report->targets[i].name);
    for (size_t i = 0; i < report->rule_change_count; i++) {
        struct ts_report_rule_change *change = &report->rule_changes[i];
        change->source = scan__assembly_mask_cstring(a, change->source);
        for (size_t k = 0; k < change->count; k++)
            change->rules[k] = scan__assembly_mask_cstring(a, change->rules[k]);
    }
    for (size_t i = 0; i < report->suppression_count; i++) {
        report->suppressions[i].source = scan__assembly_mask_cstring(a, report->suppressions[i].source);
        report->suppressions[i].reason = scan__assembly_mask_cstring(a, report->suppressions[i].reason);
    }
    for (size_t i = 0; i < report->fault_count; i++)
        report->faults[i].text = scan__assembly_mask_cstring(a, report->faults[i].text);
    for (size_t i = 0; i < report->note_count; i++)
        report->notes[i] = scan__assembly_mask_cstring(a, report->notes[i]);
}

static bool add_targets(struct scan_assembly *a) {
    const struct scan_pass *pass = a->pass;
    a->report.targets = ts_arena_take(a->arena, pass->target_count * sizeof *a->report.targets);
    if (a->report.targets == NULL)
        return false;
    bool has_key = false;
    for (size_t i = 0; i < pass->target_count; i++) {
        const struct scan_target *target = &pass->targets[i];
        a->report.targets[i] = target->row;
        /* The caller's text may be freed before the report. */
        const char *name = ts_arena_copy(a->arena, target->row.name);
        if (name == NULL)
            return false;
        a->report.targets[i].name = ts_bytes_of_cstring(name);
        if (target->row.forge != NULL)
            a->report.targets[i].forge = scan__assembly_mask_cstring(a, target->row.forge);
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

/* Copies the ids of a rule change, because masking changes the ids, and other scans may use the same
 * profile. */
static bool own_rule_ids(struct scan_assembly *a, struct ts_report_rule_change *change) {
    const char **ids = ts_arena_take(a->arena, change->count * sizeof *ids);
    if (ids == NULL)
        return false;
    for (size_t i = 0; i < change->count; i++)
        ids[i] = change->rules[i];
    change->rules = ids;
    return true;
}

/* Adds changes of rules. Changes by targets come first: the profile with such a change belongs to one target.
 * Changes by the user are in several profiles, but are reported once. */
static bool add_rule_changes(struct scan_assembly *a) {
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
    for (size_t i = 0; i < count; i++)
        if (!own_rule_ids(a, &rows[i]))
            return false;
    return true;
}

/* Returns whether the whole history of the target was scanned. If so, a finding that the scan did not find
 * does not exist. */
static bool is_all(const struct scan_pass *pass, const struct scan_target *target) {
    const struct ts_scan_options *options = pass->options;
    bool is_selected = options->ref_count + options->branch_count + options->commit_count > 0 ||
                       options->range != NULL || options->has_since;
    return target->row.kind == TS_REPORT_TARGET_KIND_REPOSITORY && options->extent == TS_SCAN_HISTORY &&
           !is_selected && target->row.missing_by_design + target->row.cut_commits == 0;
}

/* Reports allow entries whose id matched no finding: the id may have been made with another salt. */
static void note_unmet(struct scan_assembly *a) {
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
                   "%s:%u: allow: no finding has the id of this entry%s: the secret no longer exists, or the "
                   "id was made with another salt, such as the salt of a baseline that this scan does not "
                   "use",
                   ts_text_escape(ts_bytes_of_cstring(profile->config.file), shown, sizeof shown), line,
                   more);
    }
}

static void add_faults(struct scan_assembly *a) {
    struct scan_pass *pass = a->pass;
    if (pass->masks.is_cut)
        scan__limits_cut(pass);
    scan__limits_tell(pass);
    if (pass->hits.is_over)
        scan__fault(&pass->faults,
                    "more than %zu findings: the rest is not reported; raise " SCAN_OPTION_MEMORY,
                    pass->hits.findings_max);
    if (pass->hits.no_memory || pass->no_memory || pass->faults.no_memory)
        scan__fault(&pass->faults,
                    "out of memory for findings: some are not reported; raise " SCAN_OPTION_MEMORY);
    scan__faults_sort(&pass->faults);
    a->report.faults = pass->faults.items;
    a->report.fault_count = pass->faults.count;
    a->report.fault_total = pass->faults.total;
    a->report.notes = pass->faults.notes;
    a->report.note_count = pass->faults.note_count;
}

static struct scan_assembly begin(struct scan_pass *pass, struct ts_arena *arena) {
    size_t unused;
    size_t listed = pass->options->occurrences_max;
    struct scan_assembly a = {
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

/* Adds a row that counts the findings below the minimum confidence: a report counts everything that it
 * omits. */
static bool add_unsure(struct scan_assembly *a) {
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
    struct scan_assembly a = begin(pass, arena);
    struct scan_profile *const *profiles = pass->profiles;
    a.masked = calloc(SCAN_MASKED_COUNT, sizeof *a.masked);
    bool done =
        a.masked != NULL && scan__kin_find(&a.kin, &pass->hits) &&
        scan__applies_init(&a.applies, &pass->hits) && scan__pairs_init(&a.pairs, &pass->hits) &&
        scan__masks_of(pass, 0, &pass->masks) &&
        scan__suppressed_init(&a.suppressed, &pass->hits, profiles, pass->profile_count) &&
        scan__assembly_see(&a) && scan__assembly_add_findings(&a) && add_targets(&a) &&
        add_rule_changes(&a) &&
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
    scan__pairs_release(&a.pairs);
    scan__pile_release(&a.sightings);
    free(a.whereabouts);
    free(a.before);
    scan__kin_release(&a.kin);
    free(a.masked);
    free(a.commit_rows);
    free(a.rows);
    return done;
}
