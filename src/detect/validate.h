/*
 * What decides about a match besides its pattern, without asking anyone. All of it is a function of the
 * secret's bytes and of the name that they are assigned to.
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

/* The name of a secret: the last letters, digits, '_', '-' and '.' in a row of what its match has before it, and as far before
 * the match as they go on. Empty where the match has none. */
struct ts_bytes detect__name_before(struct ts_bytes text, struct ts_span before);

enum detect_verdict detect__validate(enum ts_validator validator, struct ts_bytes name,
                                     struct ts_bytes secret);

/* REJECT where the name says that the value is no credential: the id of a key, where a listing goes on. */
enum detect_verdict detect__validate_name(struct ts_bytes name, struct ts_bytes secret);

/* Bits per byte. */
double detect__entropy(struct ts_bytes bytes);

/* REJECT for what stands where a secret will be put ("changeme", "<token>", "${VAR}", one character over and
 * over, a sequence) and for hashes of passwords, LOWER for the keys that issuers print in their documentation and for what says that it is made up, KEEP
 * for the rest. */
enum detect_verdict detect__placeholder(struct ts_bytes secret);

/* What a match has besides its secret. */
struct detect_around {
    struct ts_bytes name;  /* as above */
    struct ts_bytes after; /* what follows the secret in the match */
};

/* Everything together: false when there is no match, else its confidence. */
bool detect__judge_secret(const struct ts_rule *rule, const struct detect_around *around,
                          struct ts_bytes secret, enum ts_confidence *ret_confidence);

#endif
