/*
 * The internals of the scoring model.
 */
#ifndef TS_DETECT_MODEL_SCORE_H
#define TS_DETECT_MODEL_SCORE_H

#include "model.h"

/* The input of the model: a value and its surroundings. */
struct detect_sight {
    struct ts_bytes secret;
    struct ts_bytes name;   /* the name that the value is assigned to */
    struct ts_bytes before; /* the part of the line that precedes the name (detect__line_before) */
    const char *rule;       /* id of the rule */
};

/* Returns the part of the line that precedes the name of a secret, or the match if there is no name. It
 * begins at most TS_RULE_NAME_BEFORE bytes before the match. */
struct ts_bytes detect__line_before(struct ts_bytes text, struct ts_bytes name, size_t match_from);

/* Returns the score, limited to int16_t and always above TS_MODEL_SCORE_LEAST. visit may be NULL. */
int32_t detect__model_score(const struct detect_sight *sight, ts_model_visit *visit, void *context);

/* Returns whether a score is so low that the match is dropped. */
bool detect__model_rejects(int32_t score);

/* Returns how rare the text's pairs of characters are in words, in tenths of bits per pair: about 40 for
 * words, 60 and more for random text. */
unsigned detect__model_surprise(struct ts_bytes text);

#endif
