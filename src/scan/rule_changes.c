#include "rule_changes.h"

#include "look_impl.h"
#include "os/grow.h"

#include "base/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A changed rule, and the index of its row. */
struct changed {
    const char *id;
    size_t row;
};

struct changes {
    struct scan_profile *profile;
    struct changed *items;
    size_t count;
    size_t capacity;
    bool no_memory;
};

/* ---- rows ---- */

/* Returns the index of the row for this change. Adds the row if it is new. */
static size_t row_of(struct changes *changes, const struct ts_report_rule_change *wanted) {
    struct scan_profile *profile = changes->profile;
    size_t row = 0;
    for (; row < profile->rule_change_count; row++) {
        const struct ts_report_rule_change *known = &profile->rule_changes[row];
        if (known->change == wanted->change && known->target == wanted->target &&
            strcmp(known->source, wanted->source) == 0)
            return row;
    }
    if (!TS_GROW(profile->rule_changes, profile->rule_change_capacity, row + 1)) {
        changes->no_memory = true;
        return 0;
    }
    profile->rule_changes[profile->rule_change_count++] = *wanted;
    return row;
}

static void add(struct changes *changes, const struct ts_report_rule_change *wanted, const char *id) {
    size_t row = row_of(changes, wanted);
    if (changes->no_memory || !TS_GROW(changes->items, changes->capacity, changes->count + 1)) {
        changes->no_memory = true;
        return;
    }
    changes->items[changes->count++] = (struct changed){id, row};
    changes->profile->rule_changes[row].count++;
}

static struct ts_report_rule_change by_rule(enum ts_report_rule_change_kind change,
                                            const struct ts_rule *rule) {
    return (struct ts_report_rule_change){
        .change = change,
        .target = rule->origin == TS_RULE_OF_TARGET ? 0 : TS_REPORT_NONE,
        .source = rule->file,
    };
}

/* Copies the ids of each row, because the rules that own them may be freed. */
static bool fill(struct changes *changes) {
    struct scan_profile *profile = changes->profile;
    for (size_t i = 0; i < profile->rule_change_count; i++) {
        struct ts_report_rule_change *row = &profile->rule_changes[i];
        row->rules = ts_arena_take(&profile->arena, row->count * sizeof *row->rules);
        if (row->rules == NULL)
            return false;
        row->count = 0;
    }
    for (size_t i = 0; i < changes->count; i++) {
        struct ts_report_rule_change *row = &profile->rule_changes[changes->items[i].row];
        const char *id = ts_arena_copy(&profile->arena, ts_bytes_of_cstring(changes->items[i].id));
        if (id == NULL)
            return false;
        row->rules[row->count++] = id;
    }
    return true;
}

/* ---- comparing ---- */

/* Compares the merged rules with the built-in rules. Built-in rules come first among the merged rules; a rule
 * that replaces a built-in rule has the index of that rule. */
static void compare_merged(struct changes *changes) {
    const struct scan_profile *profile = changes->profile;
    for (size_t i = 0; i < profile->rules->set.count; i++) {
        const struct ts_rule *rule = &profile->rules->set.rules[i];
        struct ts_report_rule_change change = by_rule(
            i < profile->rules->builtin_count ? TS_REPORT_RULE_CHANGE_REPLACED : TS_REPORT_RULE_CHANGE_ADDED,
            rule);
        if (rule->origin != TS_RULE_OF_PROGRAM)
            add(changes, &change, rule->id);
    }
}

static void compare_with(struct changes *changes, const struct ts_report_rule_change *left_out) {
    const struct scan_profile *profile = changes->profile;
    const struct ts_ruleset *builtin = &profile->rules->left_out;
    for (size_t i = 0; i < builtin->count; i++)
        if (ts_ruleset_find(&profile->rules->set, builtin->rules[i].id) == NULL)
            add(changes, left_out, builtin->rules[i].id);
    for (size_t i = 0; i < profile->rules->set.count; i++) {
        const struct ts_rule *rule = &profile->rules->set.rules[i];
        bool is_builtin = ts_ruleset_find(builtin, rule->id) != NULL;
        struct ts_report_rule_change change =
            by_rule(is_builtin ? TS_REPORT_RULE_CHANGE_REPLACED : TS_REPORT_RULE_CHANGE_ADDED, rule);
        add(changes, &change, rule->id);
    }
}

static struct ts_report_rule_change left_out_by(const struct scan_profile *profile,
                                                const struct ts_scan_options *options) {
    struct ts_report_rule_change change = {.change = TS_REPORT_RULE_CHANGE_LEFT_OUT,
                                           .target = TS_REPORT_NONE};
    change.source = options->no_builtin_rules ? "--no-builtin-rules" : profile->config.file;
    if (!options->no_builtin_rules && options->config_file == NULL)
        change.target = 0;
    return change;
}

/* ---- allow entries ---- */

/* Returns whether a rule is in use or was omitted. An allow entry may name both kinds of rules. */
static bool is_rule(const struct scan_rules *rules, const char *id) {
    return ts_ruleset_find(&rules->set, id) != NULL || ts_ruleset_find(&rules->left_out, id) != NULL;
}

static void note_unknown(struct scan_profile *profile) {
    const struct ts_detect_config *config = &profile->config;
    char first[100];
    unsigned line = 0;
    size_t count = 0;
    for (size_t i = 0; i < config->allow_count; i++) {
        const struct ts_rule_texts *rules = &config->allows[i].rules;
        for (size_t k = 0; k < rules->count; k++) {
            if (is_rule(profile->rules, rules->texts[k]))
                continue;
            if (count++ > 0)
                continue;
            line = config->allows[i].line;
            (void)ts_text_escape(ts_bytes_of_cstring(rules->texts[k]), first, sizeof first);
        }
    }
    if (count == 0)
        return;
    char file[160];
    char more[64] = "";
    (void)ts_text_escape(ts_bytes_of_cstring(config->file), file, sizeof file);
    if (count > 1)
        snprintf(more, sizeof more, " and %zu more", count - 1);
    snprintf(profile->note, sizeof profile->note,
             "%s:%u: allow: unknown rule '%s'%s; 'turnstone rules list' shows all rules", file, line, first,
             more);
}

/* ---- all changes ---- */

bool scan__rule_changes_find(struct scan_profile *profile, const struct ts_scan_options *options,
                             struct ts_scan_error *ret_error) {
    struct changes changes = {.profile = profile};
    if (profile->rules->builtin_count > 0) {
        compare_merged(&changes);
    } else {
        struct ts_report_rule_change left_out = left_out_by(profile, options);
        compare_with(&changes, &left_out);
    }
    bool done = !changes.no_memory && fill(&changes);
    if (done && profile->has_config)
        note_unknown(profile);
    if (!done)
        snprintf(ret_error->text, sizeof ret_error->text, "rules: out of memory");
    free(changes.items);
    return done;
}
