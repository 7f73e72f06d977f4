/*
 * Checks of a match besides its pattern, without network. They depend only on the secret's bytes and on the
 * name that the secret is assigned to.
 */
#ifndef TS_DETECT_VALIDATE_H
#define TS_DETECT_VALIDATE_H

#include "rule.h"

enum detect_verdict {
    DETECT_REJECT, /* not a match */
    DETECT_LOWER,  /* a match of low confidence */
    DETECT_KEEP,   /* a match with the confidence of the rule */
    DETECT_RAISE,  /* a match of high confidence */
};

/* Returns the name of a secret: the last run of letters, digits, '_', '-' and '.' before the secret in the
 * match. The name may begin before the match. Returns an empty name if there is none. */
struct ts_bytes detect__name_before(struct ts_bytes text, struct ts_span before);

enum detect_verdict detect__validate(enum ts_validator validator, struct ts_bytes name,
                                     struct ts_bytes secret);

/* Returns REJECT if the name shows that the value is not a credential, such as the id of a key or a page
 * token; LOWER if the value only allows reading one published file. */
enum detect_verdict detect__validate_name(struct ts_bytes name, struct ts_bytes secret);

/* Returns the entropy in bits per byte. */
double detect__entropy(struct ts_bytes bytes);

/* Returns REJECT for placeholders ("changeme", "<token>", "${VAR}", a repeated character, a sequence) and
 * password hashes; LOWER for keys from the documentation of issuers and for made-up values; KEEP for other
 * values. */
enum detect_verdict detect__placeholder(struct ts_bytes secret);

/* Judges a value in a file that exists to hold credentials. Such a value is in use, however weak it is.
 * Returns REJECT for references to other places and for hashes; LOWER for placeholders and for words that
 * mean "password". */
enum detect_verdict detect__validate_stored(struct ts_bytes secret);

/* Returns REJECT unless the value is the hash of a password, in a form that programs store. */
enum detect_verdict detect__validate_password_hash(struct ts_bytes secret);

/* Returns whether the decoded header of a JSON Web Token says that the token is not signed, in upper or lower
 * case. */
bool detect__is_unsigned_header(const uint8_t *header, size_t len);

/* Returns whether the text has only letters, all of one case except for a capital at the beginning. */
bool detect__is_one_word(struct ts_bytes text);

/* Returns whether the text is a word that means "password", optionally followed by digits and punctuation. */
bool detect__is_password_word(struct ts_bytes text);

/* Returns whether the text is a word such as secret, or contains password, after digits and signs are
 * replaced by the letters that they look like: s3cr3t!, T0pS3cr3t, p4ssw0rd, not-re%40l. */
bool detect__is_disguised_word(struct ts_bytes text);

/* Returns whether the text contains a word such as password or token, in upper or lower case. */
bool detect__names_itself(struct ts_bytes text);

/* Returns whether the text is the name of a constant that contains a word such as password or token:
 * PASSWORD_OF_STEP_6. */
bool detect__is_constant(struct ts_bytes text);

/* Returns whether the names have the same letters and digits, in any case: user_password equals
 * userPassword. */
bool detect__is_same_name(struct ts_bytes a, struct ts_bytes b);

/* The parts of a match besides its secret. */
struct detect_around {
    struct ts_bytes name;   /* the name that detect__name_before returns */
    struct ts_bytes start;  /* the part of the match before the secret */
    struct ts_bytes after;  /* the part of the match after the secret */
    struct ts_bytes before; /* scored rules: the part of the line before the name */
};

struct detect_judgement {
    enum ts_confidence confidence;
    int16_t score; /* scored rules only */
};

/* Runs all checks. Returns false if the match is rejected. */
bool detect__judge_secret(const struct ts_rule *rule, const struct detect_around *around,
                          struct ts_bytes secret, struct detect_judgement *ret);

#endif
