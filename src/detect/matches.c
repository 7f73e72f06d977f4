#include "matches.h"

#include "base/assert.h"

#include <stdlib.h>

const char *ts_encoding_name(enum ts_encoding encoding) {
    static const char *const names[] = {
#define NAME(suffix, text) [TS_ENCODING_##suffix] = text,
        TS_ENCODINGS(NAME)
#undef NAME
    };
    ts_assert((size_t)encoding < sizeof names / sizeof names[0]);
    return names[encoding];
}

static int order_of(size_t a, size_t b) {
    return (a > b) - (a < b);
}

/* Compares by the secret's start, then by its length (longer first), rule, depth, the match's start,
 * encodings, and the match's length. */
static int compare(const void *a, const void *b) {
    const struct ts_match *x = a;
    const struct ts_match *y = b;
    int order = order_of(x->secret_span.from, y->secret_span.from);
    if (order == 0)
        order = order_of(y->secret_span.len, x->secret_span.len);
    if (order == 0)
        order = order_of(x->rule, y->rule);
    if (order == 0)
        order = order_of(x->depth, y->depth);
    if (order == 0)
        order = order_of(x->span.from, y->span.from);
    for (size_t i = 0; order == 0 && i < TS_ENCODING_DEPTH; i++)
        order = order_of((size_t)x->encodings[i], (size_t)y->encodings[i]);
    return order != 0 ? order : order_of(x->span.len, y->span.len);
}

static size_t end_of(struct ts_span span) {
    return span.from + span.len;
}

static bool is_validated_as(const struct ts_ruleset *rules, const struct ts_match *match,
                            enum ts_validator validator) {
    const struct ts_rule *rule = &rules->rules[match->rule];
    for (size_t i = 0; i < rule->validator_count; i++)
        if (rule->validators[i] == validator)
            return true;
    return false;
}

/* Returns whether both matches are the same private key, and a has more context. The context shows the owner
 * of the key. */
static bool knows_key_better(const struct ts_ruleset *rules, const struct ts_match *a,
                             const struct ts_match *b) {
    return is_validated_as(rules, a, TS_VALIDATOR_PEM) && is_validated_as(rules, b, TS_VALIDATOR_PEM) &&
           a->depth == b->depth && a->span.from <= b->span.from && end_of(a->span) >= end_of(b->span) &&
           a->span.len > b->span.len;
}

/* Returns how specific a rule is. 0: the rule has only keywords (gate token); 1: only a literal; 2: a literal
 * and keywords. */
static int specificity(const struct ts_rule *rule) {
    return rule->gate == TS_GATE_TOKEN ? 0 : rule->keywords.count > 0 ? 2 : 1;
}

/* Returns whether a wins when the specific rules of a and b claim the same secret. The more specific rule
 * wins, then the higher confidence, then the longer secret, then the rule that is read first. */
static bool claims_better(const struct ts_ruleset *rules, const struct ts_match *a,
                          const struct ts_match *b) {
    const struct ts_rule *x = &rules->rules[a->rule];
    const struct ts_rule *y = &rules->rules[b->rule];
    if (x->generic || y->generic || x->paths.count > 0 || y->paths.count > 0 || a->depth != b->depth ||
        a->secret_span.from != b->secret_span.from || x->context != y->context)
        return false;
    if (specificity(x) != specificity(y))
        return specificity(x) > specificity(y);
    if (a->confidence != b->confidence)
        return a->confidence > b->confidence;
    if (a->secret_span.len != b->secret_span.len)
        return a->secret_span.len > b->secret_span.len;
    return a->rule < b->rule;
}

/* Returns whether a removes b. Every pair of matches is compared, even if a match of the pair is already
 * removed, so that the order does not matter. */
static bool stands_for(const struct ts_ruleset *rules, const struct ts_match *a, const struct ts_match *b) {
    struct ts_span x = a->secret_span;
    struct ts_span y = b->secret_span;
    if (x.from >= end_of(y) || y.from >= end_of(x))
        return false;
    bool same_span = x.from == y.from && x.len == y.len;
    bool contains = x.from <= y.from && end_of(x) >= end_of(y);
    bool a_generic = rules->rules[a->rule].generic;
    bool b_generic = rules->rules[b->rule].generic;
    /* A rule with paths does not remove another match, because its own match may not be reported. A generic
     * rule does not remove the match of a rule with paths either. The path decides later which of the two
     * matches counts. */
    if (a->rule != b->rule &&
        (rules->rules[a->rule].paths.count > 0 || (a_generic && rules->rules[b->rule].paths.count > 0)))
        return false;
    if (a->rule == b->rule)
        return contains && (!same_span || compare(a, b) < 0);
    if (!a_generic && b_generic)
        return true;
    /* A key and the base64 text that contains the key or its first line are one secret. The decoded key
     * remains, because it has the same finding id everywhere. */
    bool is_inside = y.from <= x.from && end_of(y) >= end_of(x);
    if (a->depth > b->depth && (is_inside || x.from == y.from) &&
        is_validated_as(rules, b, TS_VALIDATOR_PEM_BASE64))
        return true;
    if (contains && knows_key_better(rules, a, b))
        return true;
    if (!knows_key_better(rules, b, a) && claims_better(rules, a, b))
        return true;
    return a_generic && b_generic && contains && (!same_span || a->rule < b->rule);
}

size_t ts_matches_settle(const struct ts_ruleset *rules, struct ts_match *matches, size_t count) {
    if (count == 0)
        return 0;
    qsort(matches, count, sizeof *matches, compare);
    /* Exact duplicates from two windows are removed first, because the comparisons below cannot tell them
     * apart. */
    size_t kept = 1;
    for (size_t i = 1; i < count; i++)
        if (compare(&matches[kept - 1], &matches[i]) != 0)
            matches[kept++] = matches[i];
    count = kept;
    bool *gone = calloc(count, sizeof *gone);
    if (!gone)
        return count;
    for (size_t i = 0; i < count; i++) {
        size_t end = end_of(matches[i].secret_span);
        for (size_t j = i + 1; j < count && matches[j].secret_span.from < end; j++) {
            gone[j] = gone[j] || stands_for(rules, &matches[i], &matches[j]);
            gone[i] = gone[i] || stands_for(rules, &matches[j], &matches[i]);
        }
    }
    kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!gone[i])
            matches[kept++] = matches[i];
    free(gone);
    return kept;
}
