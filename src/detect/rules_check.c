#include "rules_check.h"

#include "compiled.h"
#include "error.h"
#include "scanner.h"

#include "base/redact.h"

#include <stdlib.h>

struct check {
    ts_rules_problem *visit;
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

/* What a scan of an example found. */
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
    struct ts_scan scan = {.bytes = example->text, .ungated = ungated, .not_decoded = true};
    (void)ts_scanner_scan(scanner, &scan, on_match, &found);
    return found;
}

static void check_examples(struct check *check, struct ts_scanner *scanner) {
    const struct ts_rule *rule = check->rule;
    if (rule->match_count == 0)
        complain(check, rule->line, "examples", "none that match; add one under examples: match:");
    if (rule->non_match_count == 0)
        complain(check, rule->line, "examples",
                 "none that must not match; add one under examples: no-match:");
    for (size_t i = 0; i < rule->match_count; i++) {
        const struct ts_rule_example *example = &rule->matches[i];
        struct found all = scan_example(scanner, example, true);
        struct found gated = scan_example(scanner, example, false);
        if (all.count == 0)
            complain(check, example->line, "examples match",
                     "does not match; look at pattern, keywords, entropy and validators, in this order");
        else if (!all.has_wanted)
            complain(check, example->line, "examples match",
                     "matches, but with another secret than the one beside it");
        else if (gated.count != all.count || !gated.has_wanted)
            complain(check, example->line, "gate",
                     "does not let this example through; every match must contain a literal or anchor of the "
                     "gate, at "
                     "most 'lead' bytes behind its start");
    }
    for (size_t i = 0; i < rule->non_match_count; i++)
        if (scan_example(scanner, &rule->non_matches[i], true).count > 0)
            complain(check, rule->non_matches[i].line, "examples no-match",
                     "matches; narrow the pattern or add a validator");
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
    }
    ts_scanner_free(scanner);
    ts_detector_free(detector);
}

size_t ts_rules_check(const struct ts_ruleset *rules, ts_rules_problem *visit, void *context) {
    struct check check = {.visit = visit, .context = context};
    for (size_t i = 0; i < rules->count; i++)
        check_rule(&check, &rules->rules[i]);
    return check.problems;
}
