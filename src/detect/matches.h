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

/* Encodings within encodings that are looked into. */
#define TS_ENCODING_DEPTH 2

/* Spans are of the input, also for a match in decoded text; only `secret` is the decoded text itself. */
struct ts_match {
    uint32_t rule; /* its place in the rule set */
    enum ts_confidence confidence;
    struct ts_span span;
    struct ts_span secret_span;
    struct ts_span depends;
    bool depends_on_start;
    bool depends_on_end;
    uint8_t depth;                                 /* how many encodings it is in */
    enum ts_encoding encodings[TS_ENCODING_DEPTH]; /* from the outside in */
    struct ts_bytes secret;
};

/*
 * Sorts the matches of one input by place and rule and removes what another one stands for, and returns how
 * many are left. Of the same rule, a secret inside a larger one goes, and of equal ones all but the least
 * encoded and leftmost; a generic rule's secret that overlaps one of a rule that is not generic goes, of two
 * generic ones that which is inside the other, and of equal ones all but the first rule's; a private key goes
 * where another rule for private keys has it with more around it.
 *
 * To settle a list that was settled in parts gives something else than to settle all of it: what is carried
 * over from an earlier version must be as it was found.
 */
size_t ts_matches_settle(const struct ts_ruleset *rules, struct ts_match *matches, size_t count);

#endif
