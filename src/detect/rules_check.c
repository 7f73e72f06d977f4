#include "rules_check.h"

#include "compiled.h"
#include "error.h"
#include "language.h"
#include "scanner.h"

#include "base/assert.h"
#include "base/redact.h"

#include <stdlib.h>
#include <string.h>

enum { MADE_TEXTS = 400 };

struct check {
    ts_detect_problem *visit;
    void *context;
    size_t problems;
    const struct ts_rule *rule;
};

__attribute__((format(printf, 4, 5))) static void complain(struct check *check, unsigned line,
                                                           const char *field, const char *format, ...) {
    struct ts_detect_error error;
    va_list arguments;
    va_start(arguments, format);
    detect__error_set_v(&error, TS_DETECT_BAD_EXAMPLE,
                        (struct detect_place){check->rule->file, line, check->rule->id, field}, format,
                        arguments);
    va_end(arguments);
    check->problems++;
    check->visit(check->context, &error);
}

/* Reports a case that could not be decided, which does not count as a problem. */
__attribute__((format(printf, 3, 4))) static void warn(const struct check *check, const char *field,
                                                       const char *format, ...) {
    struct ts_detect_error error;
    va_list arguments;
    va_start(arguments, format);
    detect__error_set_v(&error, TS_DETECT_UNDECIDED,
                        (struct detect_place){check->rule->file, check->rule->line, check->rule->id, field},
                        format, arguments);
    va_end(arguments);
    check->visit(check->context, &error);
}

/* The matches in an example: their number, and whether the wanted secret is among them. */
struct found {
    struct ts_bytes wanted;
    size_t count;
    bool has_wanted;
};

static void on_match(void *context, const struct ts_match *match) {
    struct found *found = context;
    found->count++;
    if (ts_bytes_equal(match->secret, found->wanted))
        found->has_wanted = true;
}

static struct found scan_example(struct ts_scanner *scanner, const struct ts_rule_example *example,
                                 bool ungated) {
    struct found found = {.wanted = example->secret};
    struct ts_scanner_input scan = {.bytes = example->text, .ungated = ungated, .not_decoded = true};
    (void)ts_scanner_scan(scanner, &scan, on_match, &found);
    return found;
}

static void check_examples(struct check *check, struct ts_scanner *scanner) {
    const struct ts_rule *rule = check->rule;
    if (rule->match_count == 0)
        complain(check, rule->line, "examples", "no matching example; add one under examples: match:");
    if (rule->non_match_count == 0)
        complain(check, rule->line, "examples",
                 "no example that must not match; add one under examples: no-match:");
    for (size_t i = 0; i < rule->match_count; i++) {
        const struct ts_rule_example *example = &rule->matches[i];
        struct found all = scan_example(scanner, example, true);
        struct found gated = scan_example(scanner, example, false);
        if (all.count == 0)
            complain(check, example->line, "examples match",
                     "does not match; check the pattern, keywords, entropy and validators, in this order");
        else if (!all.has_wanted)
            complain(check, example->line, "examples match",
                     "matches, but finds a secret other than the one in the example");
        else if (gated.count != all.count || !gated.has_wanted)
            complain(check, example->line, "gate",
                     "does not pass this example; every match must contain a literal or anchor of the "
                     "gate that ends at most 'lead' bytes after the start of the match");
    }
    for (size_t i = 0; i < rule->non_match_count; i++)
        if (scan_example(scanner, &rule->non_matches[i], true).count > 0)
            complain(check, rule->non_matches[i].line, "examples no-match",
                     "matches; narrow the pattern or add a validator");
}

static void count_match(void *context, const struct ts_match *match) {
    (void)match;
    ++*(size_t *)context;
}

/* Returns the number of matches that a scan misses because of the gate. */
static size_t count_lost(struct ts_scanner *scanner, struct ts_bytes text) {
    size_t counts[2] = {0};
    for (unsigned ungated = 0; ungated < 2; ungated++) {
        struct ts_scanner_input scan = {.bytes = text, .ungated = ungated == 1, .not_decoded = true};
        (void)ts_scanner_scan(scanner, &scan, count_match, &counts[ungated]);
    }
    return counts[1] > counts[0] ? counts[1] - counts[0] : 0;
}

/* Returns whether the gate loses one of many generated texts that match the pattern, each after a
 * keyword. */
static bool loses_a_text(struct ts_scanner *scanner, const struct ts_rule *rule,
                         const struct detect_language *language) {
    uint8_t text[TS_RULE_DISTANCE_MAX + DETECT_SHORT_REACH];
    struct ts_prng prng;
    ts_prng_init(&prng, 1);
    for (size_t i = 0; i < MADE_TEXTS; i++) {
        const char *keyword = rule->keywords.texts[i % rule->keywords.count];
        size_t len = strlen(keyword);
        ts_assert(len < TS_RULE_DISTANCE_MAX);
        memcpy(text, keyword, len);
        text[len++] = i % 2 == 0 ? ' ' : '\n';
        size_t made = detect__language_make(language, &prng, text + len, DETECT_SHORT_REACH);
        /* Also tries the text without the keyword in front, because the pattern itself may contain a
         * keyword. */
        if (made > 0 && (count_lost(scanner, ts_bytes_of(text, len + made)) > 0 ||
                         count_lost(scanner, ts_bytes_of(text + len, made)) > 0))
            return true;
    }
    return false;
}

/* Returns whether the gate loses texts that the pattern matches. Uses a copy of the rule without checks of
 * the secret, so that every such text counts. */
static bool is_narrowed(const struct ts_rule *rule, const struct detect_language *language) {
    struct ts_rule bare = *rule;
    bare.entropy = 0;
    bare.validator_count = 0;
    struct ts_ruleset one = {.rules = &bare, .count = 1};
    struct ts_detect_error ignored;
    struct ts_detector *detector =
        ts_detector_new(&one, &(struct ts_detector_options){.cache_folder = ""}, &ignored);
    struct ts_scanner *scanner = detector ? ts_scanner_new(detector) : NULL;
    bool is = scanner && loses_a_text(scanner, rule, language);
    ts_scanner_free(scanner);
    ts_detector_free(detector);
    return is;
}

/*
 * Checks the lead of a gate `token`. A gate with too small a lead loses matches that begin farther before
 * their token. The maximum distance is computed from the pattern. If it exceeds lead, a lost text proves the
 * problem. If no text is lost, something else may prevent the loss, such as token characters before the
 * secret.
 */
static void check_lead(struct check *check) {
    const struct ts_rule *rule = check->rule;
    if (rule->gate != TS_GATE_TOKEN)
        return;
    struct ts_arena arena = {0};
    uint32_t most = 0;
    const struct detect_language *language = detect__language_parse(rule->pattern, &arena);
    enum detect_token_start start =
        language ? detect__language_token_start(language, rule->reach, &most) : DETECT_TOKEN_UNKNOWN;
    switch (start) {
    case DETECT_TOKEN_UNKNOWN:
        if (rule->lead >= rule->reach)
            break;
        warn(check, "gate",
             "warning: cannot tell from this pattern how far before its token a match can begin; add an "
             "example of the longest distance, or use only classes, groups and {n,m}");
        break;
    case DETECT_TOKEN_NEVER:
        complain(check, rule->line, "gate",
                 "passes nothing: no secret of the pattern has 16 token characters in a row, including two "
                 "digits; use literals or anchors");
        break;
    case DETECT_TOKEN_STARTS:
        if (most <= rule->lead)
            break;
        if (is_narrowed(rule, language))
            complain(
                check, rule->line, "gate",
                "loses matches: a match can begin %u bytes before its token characters, and lead is %u; write "
                "gate: {token: true, lead: %u}",
                most, rule->lead, most);
        else
            warn(
                check, "gate",
                "warning: may lose matches: a match can begin %u bytes before its token characters, and lead is %u; "
                "to be sure, write gate: {token: true, lead: %u}",
                most, rule->lead, most);
        break;
    }
    ts_arena_release(&arena);
}

static void check_rule(struct check *check, const struct ts_rule *rule) {
    check->rule = rule;
    struct ts_detect_error error;
    struct ts_rule alone = *rule;
    struct ts_ruleset one = {.rules = &alone, .count = 1};
    struct ts_detector *detector =
        ts_detector_new(&one, &(struct ts_detector_options){.cache_folder = ""}, &error);
    struct ts_scanner *scanner = detector ? ts_scanner_new(detector) : NULL;
    if (!detector) {
        check->problems++;
        check->visit(check->context, &error);
    } else if (!scanner) {
        complain(check, rule->line, NULL, "out of memory");
    } else {
        check_examples(check, scanner);
        check_lead(check);
    }
    ts_scanner_free(scanner);
    ts_detector_free(detector);
}

size_t ts_rules_check(const struct ts_ruleset *rules, ts_detect_problem *visit, void *context) {
    struct check check = {.visit = visit, .context = context};
    for (size_t i = 0; i < rules->count; i++)
        check_rule(&check, &rules->rules[i]);
    return check.problems;
}
