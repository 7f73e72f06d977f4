/*
 * The inside of a detector.
 *
 * Gates are the literals and anchors of all rules. Each text is stored once, with the rules that have this
 * text. Two databases contain gates: the first one has all gates, the second one only the gates of rules with
 * a long reach. A scan of changed bytes searches a narrow margin with the first database, and a wide margin
 * with the second, which is cheap because it has few gates. A third database has the keywords of the rules
 * with the gate `token`; it runs only over the neighbourhood of token-shaped runs.
 */
#ifndef TS_DETECT_COMPILED_H
#define TS_DETECT_COMPILED_H

#define PCRE2_CODE_UNIT_WIDTH 8

#include "detector.h"

#include <hs.h>
#include <pcre2.h>
#include <stdatomic.h>

/* A rule is called long if its matches depend on more bytes than this. */
#define DETECT_SHORT_REACH   512
/* The longest text that an anchor may match. */
#define DETECT_ANCHOR_MAX    256
/* The maximum number of input bytes that a match in decoded text may depend on: enough for a key of 4096 bits
 * in UTF-16. */
#define DETECT_ENCODED_REACH 8192

/* The largest number that the group `secret` may have in a pattern. */
#define DETECT_GROUPS_MAX    31

enum detect_database { DETECT_GATES, DETECT_LONG_GATES, DETECT_KEYWORDS, DETECT_DATABASES };

/* The entries of a database. The rules of entry `id` are rules[starts[id]] to rules[starts[id + 1] - 1]. */
struct detect_entries {
    const char **texts;
    bool *is_anchor;
    bool *is_long;
    size_t count;
    uint32_t *starts;
    uint32_t *rules;
};

struct detect_code {
    pcre2_code *code;
    uint32_t secret_group;
};

struct detect_ready_rule {
    const struct ts_rule *rule;
    uint32_t before;
    uint32_t after;
    bool is_long;
    _Atomic(struct detect_code *) code; /* compiled on first use */
};

struct ts_detector {
    const struct ts_ruleset *rules;
    uint8_t rules_digest[TS_RULESET_DIGEST_LEN]; /* stored, because hashing many rules takes a millisecond */
    struct detect_ready_rule *ready;
    struct detect_entries gates;
    struct detect_entries keywords;
    hs_database_t *databases[DETECT_DATABASES]; /* NULL if the database would be empty */
    enum ts_detector_cache cache_state;
    uint32_t short_before, short_after; /* rules that are not long: maximum reach on either side */
    uint32_t long_before, long_after;   /* long rules: maximum reach on either side; 0: no long rules */
    uint32_t token_before, token_after; /* rules with the gate token: maximum reach on either side */
    /* Rules with the gate token: maximum distance from the start of a keyword to the run of its secret. */
    uint32_t distance_max;
    uint32_t gate_width; /* maximum length of a text that a gate matches */
    bool has_token_rules;
};

/* Returns the pattern of a rule, compiled on first use; NULL when memory runs out. Any thread may call it. */
const struct detect_code *detect__code_get(struct detect_ready_rule *ready);

/* Compiles a pattern. On failure returns NULL, and the error says why. */
struct detect_code *detect__code_new(const struct ts_rule *rule, struct ts_detect_error *ret_error);
void detect__code_free(struct detect_code *code);

/* Returns true if Vectorscan could not compile because memory ran out. Vectorscan reports this like a mistake
 * in the pattern. */
bool detect__engine_lacks_memory(const hs_compile_error_t *why);

/* Checks that the pattern is bounded, within its reach, and in the subset that both engines support. Checks
 * the anchors in the same way. */
bool detect__rule_verify(const struct ts_rule *rule, struct ts_detect_error *ret_error);

/* Collects the gates and keywords of all rules. Returns false when memory runs out. */
bool detect__entries_init(struct ts_detector *detector);
void detect__entries_release(struct detect_entries *entries);

/* Compiles the three databases. */
bool detect__databases_compile(struct ts_detector *detector, struct ts_detect_error *ret_error);

#endif
