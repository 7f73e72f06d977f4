/* Collects gates and keywords of all rules, each text once, and builds the databases. */
#include "compiled.h"

#include "error.h"

#include "base/assert.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    const char *text;
    uint32_t rule;
    bool is_anchor;
};

static int compare_pairs(const void *a, const void *b) {
    const struct pair *x = a;
    const struct pair *y = b;
    int order = strcmp(x->text, y->text);
    if (order == 0)
        order = (int)x->is_anchor - (int)y->is_anchor;
    return order != 0 ? order : (x->rule > y->rule) - (x->rule < y->rule);
}

static void collect(const struct ts_rule_texts *texts, uint32_t rule, bool is_anchor, struct pair *pairs,
                    size_t *count) {
    for (size_t i = 0; i < texts->count; i++)
        pairs[(*count)++] = (struct pair){texts->texts[i], rule, is_anchor};
}

/* Groups pairs with the same text into entries. */
static bool group(const struct ts_detector *detector, struct pair *pairs, size_t count,
                  struct detect_entries *entries) {
    size_t room = count + 2;
    entries->texts = calloc(room, sizeof *entries->texts);
    entries->is_anchor = calloc(room, sizeof *entries->is_anchor);
    entries->is_long = calloc(room, sizeof *entries->is_long);
    entries->starts = calloc(room, sizeof *entries->starts);
    entries->rules = calloc(room, sizeof *entries->rules);
    if (!entries->texts || !entries->is_anchor || !entries->is_long || !entries->starts || !entries->rules)
        return false;
    qsort(pairs, count, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < count; i++) {
        bool same = i > 0 && strcmp(pairs[i - 1].text, pairs[i].text) == 0 &&
                    pairs[i - 1].is_anchor == pairs[i].is_anchor;
        if (!same) {
            entries->starts[entries->count] = (uint32_t)i;
            entries->texts[entries->count] = pairs[i].text;
            entries->is_anchor[entries->count] = pairs[i].is_anchor;
            entries->count++;
        }
        entries->rules[i] = pairs[i].rule;
        if (detector->ready[pairs[i].rule].is_long)
            entries->is_long[entries->count - 1] = true;
    }
    /* One more entry, which has no rules, is for `strangers`. */
    entries->starts[entries->count] = (uint32_t)count;
    entries->starts[entries->count + 1] = (uint32_t)count;
    return true;
}

bool detect__entries_init(struct ts_detector *detector) {
    const struct ts_ruleset *rules = detector->rules;
    size_t most = 1;
    for (size_t i = 0; i < rules->count; i++)
        most +=
            rules->rules[i].literals.count + rules->rules[i].anchors.count + rules->rules[i].keywords.count;
    struct pair *pairs = calloc(most, sizeof *pairs);
    if (!pairs)
        return false;
    size_t count = 0;
    for (size_t i = 0; i < rules->count; i++) {
        collect(&rules->rules[i].literals, (uint32_t)i, false, pairs, &count);
        collect(&rules->rules[i].anchors, (uint32_t)i, true, pairs, &count);
    }
    bool good = group(detector, pairs, count, &detector->gates);
    count = 0;
    for (size_t i = 0; i < rules->count && good; i++)
        if (rules->rules[i].gate == TS_GATE_TOKEN)
            collect(&rules->rules[i].keywords, (uint32_t)i, false, pairs, &count);
    good = good && group(detector, pairs, count, &detector->keywords);
    free(pairs);
    return good;
}

void detect__entries_release(struct detect_entries *entries) {
    free(entries->texts);
    free(entries->is_anchor);
    free(entries->is_long);
    free(entries->starts);
    free(entries->rules);
    *entries = (struct detect_entries){0};
}

/* Writes every byte of a literal as \xNN, so that no byte has a special meaning. */
static char *escape_literal(const char *literal) {
    size_t len = strlen(literal);
    char *escaped = malloc(4 * len + 1);
    for (size_t i = 0; escaped && i < len; i++)
        snprintf(escaped + 4 * i, 5, "\\x%02x", (unsigned char)literal[i]);
    return escaped;
}

/*
 * If all literals of a set share a character, Vectorscan jumps to its first occurrence. If that occurrence is
 * in the last vector of the input, version 5.4.9 jumps too far and finds nothing
 * (github.com/VectorCamp/vectorscan/issues/317). These two literals share no character, so the literals of a
 * set that contains both never share a character. The two literals hardly occur, and are not a gate of any
 * rule.
 */
static const char *const strangers[] = {"\x01\x02\x03\x04\x05\x06\x07\x08",
                                        "\x0e\x0f\x10\x11\x12\x13\x14\x15"};
enum { STRANGERS = sizeof strangers / sizeof strangers[0] };

struct expressions {
    char **texts;
    unsigned *flags;
    unsigned *ids;
    unsigned count;
};

static void expressions_release(struct expressions *expressions) {
    for (unsigned i = 0; i < expressions->count; i++)
        free(expressions->texts[i]);
    free(expressions->texts);
    free(expressions->flags);
    free(expressions->ids);
}

static bool expressions_init(struct expressions *expressions, const struct detect_entries *entries,
                             bool only_long, unsigned literal_flags) {
    size_t room = entries->count + STRANGERS;
    *expressions = (struct expressions){.texts = calloc(room, sizeof *expressions->texts),
                                        .flags = calloc(room, sizeof *expressions->flags),
                                        .ids = calloc(room, sizeof *expressions->ids)};
    if (!expressions->texts || !expressions->flags || !expressions->ids)
        return false;
    for (size_t i = 0; i < room; i++) {
        bool is_stranger = i >= entries->count;
        if (is_stranger ? expressions->count == 0 : only_long && !entries->is_long[i])
            continue;
        bool is_anchor = !is_stranger && entries->is_anchor[i];
        const char *entry = is_stranger ? strangers[i - entries->count] : entries->texts[i];
        char *text = is_anchor ? strdup(entry) : escape_literal(entry);
        if (!text)
            return false;
        expressions->texts[expressions->count] = text;
        expressions->flags[expressions->count] = is_anchor ? 0 : literal_flags;
        expressions->ids[expressions->count++] = (unsigned)(is_stranger ? entries->count : i);
    }
    return true;
}

/* Returns the maximum length of a text of the entry. Every anchor has a maximum length, because
 * detect__rule_verify accepts only bounded anchors. */
static uint32_t width_of(const struct detect_entries *entries, size_t entry) {
    if (!entries->is_anchor[entry])
        return (uint32_t)strlen(entries->texts[entry]);
    hs_expr_info_t *info = NULL;
    hs_compile_error_t *why = NULL;
    uint32_t width = DETECT_ANCHOR_MAX;
    if (hs_expression_info(entries->texts[entry], 0, &info, &why) == HS_SUCCESS)
        width = info->max_width;
    free(info);
    (void)hs_free_compile_error(why);
    return width;
}

static uint32_t widest(const struct detect_entries *entries) {
    uint32_t width = (uint32_t)strlen(strangers[0]);
    for (size_t i = 0; i < entries->count; i++) {
        uint32_t own = width_of(entries, i);
        width = own > width ? own : width;
    }
    return width;
}

bool detect__databases_compile(struct ts_detector *detector, struct ts_detect_error *ret_error) {
    const struct {
        const struct detect_entries *entries;
        bool only_long;
        unsigned flags;
    } wanted[DETECT_DATABASES] = {
        [DETECT_GATES] = {&detector->gates, false, 0},
        [DETECT_LONG_GATES] = {&detector->gates, true, 0},
        [DETECT_KEYWORDS] = {&detector->keywords, false, HS_FLAG_CASELESS},
    };
    for (size_t i = 0; i < DETECT_DATABASES; i++) {
        struct expressions expressions;
        bool good = expressions_init(&expressions, wanted[i].entries, wanted[i].only_long, wanted[i].flags);
        if (!good)
            detect__error_set(ret_error, TS_DETECT_NO_MEMORY, (struct detect_place){0}, "out of memory");
        if (good && expressions.count > 0) {
            hs_compile_error_t *why = NULL;
            hs_error_t status =
                hs_compile_multi((const char *const *)expressions.texts, expressions.flags, expressions.ids,
                                 expressions.count, HS_MODE_BLOCK, NULL, &detector->databases[i], &why);
            good = status == HS_SUCCESS;
            if (!good && detect__engine_lacks_memory(why))
                detect__error_set(ret_error, TS_DETECT_NO_MEMORY, (struct detect_place){0}, "out of memory");
            else if (!good)
                detect__error_set(ret_error, TS_DETECT_ENGINE, (struct detect_place){0},
                                  "the gates of all rules together do not compile: %s; fewer rules may help",
                                  why->message);
            (void)hs_free_compile_error(why);
        }
        expressions_release(&expressions);
        if (!good)
            return false;
    }
    detector->gate_width = widest(&detector->gates);
    return true;
}
