/*
 * The scoring model of generic findings: a logistic regression over features that are cheap to compute. It
 * decides the confidence of findings of rules with `scored`, whose secrets have no typical shape.
 *
 *     score = bias + weights of the value + weights of its name and of the line before it + weight of the rule
 *     score at a path = score + weights of the path
 *
 * A score is the logarithm of the odds that the value is a secret, in thousandths. The weights are data:
 * rules/model.txt, which tests/detect/train.py writes. Paths are known later than values (ruleset.h), so
 * their part is added later.
 */
#ifndef TS_DETECT_MODEL_H
#define TS_DETECT_MODEL_H

#include "detect/matches.h"

#include "base/bytes.h"

/* The score of a value that another check has found unlikely. It means low confidence at every path. */
#define TS_MODEL_SCORE_LEAST INT16_MIN

/* One feature of a value, and the weight that it adds to the score. Features without a weight are visited,
 * too. */
typedef void ts_model_visit(void *context, const char *feature, int32_t weight);

/* Returns the sum of the path's weights for matches of the rule with this id. Paths of tests and documents
 * have weights. A value without quotes has a weight in programs. */
int32_t ts_model_path_score(const char *rule, const char *path, ts_model_visit *visit, void *context);

/* Returns the confidence for this score, which must include the path's weights. */
enum ts_confidence ts_model_confidence(int32_t score);

struct ts_model_match {
    enum ts_confidence confidence; /* confidence of the struct ts_match */
    int16_t score;
};
/* Returns the confidence of a match of the rule in a file with this path. Values that people choose or make,
 * such as passwords and JSON Web Tokens, have low confidence in tests and documents, even if the rule is not
 * scored. */
enum ts_confidence ts_model_confidence_at(const struct ts_rule *rule, struct ts_model_match match,
                                          const char *path);

/* Returns the probability that the value is a secret, in thousandths: 731 for a score of 1000. */
unsigned ts_model_probability(int32_t score);

/* Returns whether the text is a word or a name made of words, such as "postgres", "SECRET_KEY" or "client1".
 * The text is short, has only letters and separators, ends with at most two digits, and has pairs of letters
 * that are usual in words. */
bool ts_model_is_word(struct ts_bytes text);

/* Visits the features of a match that a scored rule has found in this text. The text must not be decoded
 * text. Returns the score. */
int32_t ts_model_explain(const struct ts_rule *rule, struct ts_bytes text, const struct ts_match *match,
                         ts_model_visit *visit, void *context);

#endif
