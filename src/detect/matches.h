/*
 * Matches, and the final list of them.
 */
#ifndef TS_DETECT_MATCHES_H
#define TS_DETECT_MATCHES_H

#include "detect/ruleset.h"

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TS_ENCODINGS(X)                                                                                      \
    X(PLAIN, "plain")                                                                                        \
    X(BASE64, "base64")                                                                                      \
    X(PERCENT, "percent")                                                                                    \
    X(UTF16, "utf-16")

#define TS_ENCODING_ENUM(suffix, text) TS_ENCODING_##suffix,
enum ts_encoding { TS_ENCODINGS(TS_ENCODING_ENUM) };
#undef TS_ENCODING_ENUM

const char *ts_encoding_name(enum ts_encoding encoding);

/* Maximum depth of nested encodings. */
#define TS_ENCODING_DEPTH 2

/* Spans refer to the input, even for a match in decoded text. Only `secret` is the decoded text itself. */
struct ts_match {
    uint32_t rule;                 /* index of the rule in the rule set */
    enum ts_confidence confidence; /* scored rules: the confidence at a path without weights */
    int16_t score;                 /* scored rules only (model.h) */
    struct ts_span span;
    struct ts_span secret_span;
    struct ts_span depends;
    bool depends_on_start;
    bool depends_on_end;
    uint8_t depth;                                 /* number of encodings around the secret */
    enum ts_encoding encodings[TS_ENCODING_DEPTH]; /* outermost first */
    struct ts_bytes secret;
};

/*
 * Sorts the matches of one input by place and rule, removes duplicates, and returns how many remain. For the
 * same rule, a secret inside a larger secret is removed; of equal secrets, only the least encoded and
 * leftmost remains. A secret of a generic rule is removed if it overlaps a secret of a specific rule. Of two
 * secrets of generic rules, the inner one is removed; if they are equal, the secret of the later rule is
 * removed. A private key is removed if another rule for private keys finds the key with more context. If two
 * specific rules find a secret at the same place, the more specific one remains. If the matches of a generic
 * rule and of a rule with paths overlap, the path decides which one counts. The path is not known here, so
 * both matches remain.
 *
 * The list must be complete, because separate parts of a list would give another result. So matches that are
 * kept for a later version of the input must be unsettled.
 */
size_t ts_matches_settle(const struct ts_ruleset *rules, struct ts_match *matches, size_t count);

#endif
