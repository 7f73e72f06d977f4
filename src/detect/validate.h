/*
 * What decides about a match besides its pattern, without asking anyone. All of it is a function of the
 * secret's bytes.
 */
#ifndef TS_DETECT_VALIDATE_H
#define TS_DETECT_VALIDATE_H

#include "rule.h"

enum detect_verdict {
    DETECT_REJECT, /* no match at all */
    DETECT_LOWER,  /* a match of low confidence */
    DETECT_KEEP,   /* as the rule says */
    DETECT_RAISE,  /* a match of high confidence */
};

enum detect_verdict detect__validate(enum ts_validator validator, struct ts_bytes secret);

/* Bits per byte. */
double detect__entropy(struct ts_bytes bytes);

/* REJECT for what stands where a secret will be put ("changeme", "<token>", "${VAR}", one character over and
 * over, a sequence), LOWER for the keys that issuers print in their documentation, KEEP for the rest. */
enum detect_verdict detect__placeholder(struct ts_bytes secret);

/* Everything together: false when there is no match, else its confidence. */
bool detect__judge_secret(const struct ts_rule *rule, struct ts_bytes secret,
                          enum ts_confidence *ret_confidence);

#endif
