/*
 * Rules in memory: read from YAML, merged, found by id.
 *
 *     struct ts_ruleset set;
 *     ts_ruleset_init(&set);
 *     ts_builtin_add(&set, &error)                     without it, the user's rules replace the built-in ones
 *     ts_ruleset_add_file(&set, "team.yml", &error)    a rule replaces an earlier one with the same id
 *     ts_ruleset_release(&set);
 *
 * When adding fails, the set is unchanged, unless it has a visitor (see `visit`).
 */
#ifndef TS_DETECT_RULESET_H
#define TS_DETECT_RULESET_H

#include "detect/detect_error.h"
#include "detect/rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TS_RULE_FILE_SIZE_MAX ((size_t)16 << 20)
#define TS_RULESET_RULES_MAX  20000
#define TS_RULESET_DIGEST_LEN 32

struct ts_ruleset {
    struct ts_rule *rules;
    size_t count;
    size_t capacity;
    void *memory;               /* holds the texts of all rules */
    enum ts_rule_origin origin; /* origin of the rules that are added next; the caller may set it */
    /* The caller may set `visit` and `context`. Then `visit` is called for every problem of added rules,
     * and the rules without problems are added nevertheless. A text that is not a list of rules is an
     * ordinary failure. */
    ts_detect_problem *visit;
    void *context;
};

void ts_ruleset_init(struct ts_ruleset *set);
void ts_ruleset_release(struct ts_ruleset *set);

/* Adds the rules of a YAML text; `file` is the name of the text in messages. Each id may occur once in a
 * text. */
bool ts_ruleset_add(struct ts_ruleset *set, const char *file, struct ts_bytes text,
                    struct ts_detect_error *ret_error);
bool ts_ruleset_add_file(struct ts_ruleset *set, const char *path, struct ts_detect_error *ret_error);
/* Adds rules that are already in memory, such as those of another set. Their ids are distinct. Their texts
 * are borrowed, and must stay valid as long as the set. */
bool ts_ruleset_add_ready(struct ts_ruleset *set, const struct ts_rule *rules, size_t count,
                          struct ts_detect_error *ret_error);

/* Returns the rule with this id, or NULL if the id is unknown. */
const struct ts_rule *ts_ruleset_find(const struct ts_ruleset *set, const char *id);

/* Writes a digest of everything that decides which secrets the rules find, including their order. Names,
 * descriptions and examples do not change the digest. */
void ts_ruleset_digest(const struct ts_ruleset *set, uint8_t ret_digest[static TS_RULESET_DIGEST_LEN]);

#endif
