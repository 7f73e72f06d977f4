/*
 * The definition of a rule. docs/rules.md explains rules for their authors.
 *
 * The matches of a rule are defined without windows: for every offset s at which its pattern matches (PCRE2's
 * match at s), the named group `secret` is a match of the rule unless a validator, the entropy floor, a
 * missing keyword or a placeholder rejects it. The result depends only on the bytes from s - before to s +
 * after (ts_rule_before, ts_rule_after). So parts of an input can be scanned separately.
 */
#ifndef TS_DETECT_RULE_H
#define TS_DETECT_RULE_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TS_SEVERITIES(X)                                                                                     \
    X(LOW, "low")                                                                                            \
    X(MEDIUM, "medium")                                                                                      \
    X(HIGH, "high")                                                                                          \
    X(CRITICAL, "critical")

#define TS_SEVERITY_ENUM(suffix, text) TS_SEVERITY_##suffix,
enum ts_severity { TS_SEVERITIES(TS_SEVERITY_ENUM) };
#undef TS_SEVERITY_ENUM

#define TS_CONFIDENCES(X)                                                                                    \
    X(LOW, "low")                                                                                            \
    X(MEDIUM, "medium")                                                                                      \
    X(HIGH, "high")

#define TS_CONFIDENCE_ENUM(suffix, text) TS_CONFIDENCE_##suffix,
enum ts_confidence { TS_CONFIDENCES(TS_CONFIDENCE_ENUM) };
#undef TS_CONFIDENCE_ENUM

/* Validators, by their names in rule files. validate.c and docs/rules.md say what each of them accepts. */
#define TS_VALIDATORS(X)                                                                                     \
    X(GITHUB_CRC, "github-crc")                                                                              \
    X(NPM_CRC, "npm-crc")                                                                                    \
    X(AWS_KEY_ID, "aws-key-id")                                                                              \
    X(JWT, "jwt")                                                                                            \
    X(PEM, "pem")                                                                                            \
    X(PEM_BASE64, "pem-base64")                                                                              \
    X(HEX, "hex")                                                                                            \
    X(BASE64, "base64")                                                                                      \
    X(SLACK, "slack")                                                                                        \
    X(DISCORD, "discord")                                                                                    \
    X(NOT_HEX, "not-hex")                                                                                    \
    X(NOT_NAME, "not-name")                                                                                  \
    X(MIXED, "mixed")                                                                                        \
    X(PASSWORD, "password")                                                                                  \
    X(PYPI, "pypi")                                                                                          \
    X(AGE, "age")                                                                                            \
    X(NATS_CRC, "nats-crc")                                                                                  \
    X(UUID, "uuid")                                                                                          \
    X(BASIC, "basic")                                                                                        \
    X(CREDENTIAL_NAME, "credential-name")                                                                    \
    X(STORED, "stored")                                                                                      \
    X(PASSWORD_HASH, "password-hash")

#define TS_VALIDATOR_ENUM(suffix, text) TS_VALIDATOR_##suffix,
enum ts_validator { TS_VALIDATORS(TS_VALIDATOR_ENUM) };
#undef TS_VALIDATOR_ENUM

#define TS_RULE_VALIDATORS_MAX 4
#define TS_RULE_ID_MAX         64
/* The maximum length of a match. */
#define TS_RULE_REACH_MAX      32768
/* The maximum distance of a keyword before its secret. */
#define TS_RULE_DISTANCE_MAX   512
/* The maximum distance between a match and the beginning of the name that its secret is assigned to. */
#define TS_RULE_NAME_BEFORE    48

enum ts_gate {
    TS_GATE_TEXT,  /* every match contains one of the literals or anchors */
    TS_GATE_TOKEN, /* the secret has 16 or more token characters with two digits, near a keyword */
};

/* The origin of a rule. */
enum ts_rule_origin {
    TS_RULE_OF_USER, /* the rule is in a file that the user named */
    TS_RULE_OF_PROGRAM,
    TS_RULE_OF_TARGET, /* the rule is in a file of the target */
};

struct ts_rule_texts {
    const char *const *texts;
    size_t count;
};

/* A text in which the rule finds exactly this secret. If the text must not match, the secret is empty. */
struct ts_rule_example {
    struct ts_bytes text;
    struct ts_bytes secret;
    unsigned line;
};

/* Fields that the rule file omits, and that were computed from the pattern. */
struct ts_rule_derived {
    bool reach;
    bool gate;
    bool lead;
};

#define TS_RULE_STATUSES_MAX 8

/* Answers of an issuer with the same meaning: one of the statuses and, if there are texts, a body that
 * contains one of them. */
struct ts_rule_answer {
    uint16_t statuses[TS_RULE_STATUSES_MAX];
    size_t count;
    struct ts_rule_texts texts;
};

/*
 * The request that shows whether a secret works. TS_RULE_SECRET in the URL after the host, in headers and in
 * the body is replaced by the secret. TS_RULE_BASIC in headers is replaced by the base64 of the secret and a
 * colon: basic authentication with the secret as user name.
 */
#define TS_RULE_SECRET "{{secret}}"
#define TS_RULE_BASIC  "{{basic}}"

struct ts_rule_request {
    const char *method; /* GET, HEAD or POST */
    const char *url;    /* begins with https:// */
    struct ts_rule_texts headers;
    const char *body; /* "" if there is none */
    struct ts_rule_answer live;
    struct ts_rule_answer revoked;
};

struct ts_rule {
    const char *id;
    const char *name;
    /* The access that the secret gives, and how attackers abuse it. "" if absent, like the next two
     * fields. */
    const char *description;
    const char *revoke;  /* how to revoke the secret */
    const char *url;     /* a page of the issuer */
    const char *pattern; /* the pattern with all names replaced */
    const char *written; /* the pattern as written in the file */
    enum ts_gate gate;
    struct ts_rule_texts literals; /* literals of TS_GATE_TEXT */
    struct ts_rule_texts anchors;
    /* Maximum distance from the start of a match to the end of its literal or anchor (TS_GATE_TEXT), or to
     * its token (TS_GATE_TOKEN). */
    uint32_t lead;
    /* Patterns (glob.h): the rule applies only to these paths; if there are none, to all paths. */
    struct ts_rule_texts paths;
    struct ts_rule_texts not_paths; /* the rule does not apply to these paths */
    struct ts_rule_texts keywords;  /* a keyword is at most `distance` bytes before the secret; any case */
    struct ts_rule_texts pair;      /* rule of a key id: the rules of the secrets that have such an id */
    uint32_t distance;
    double entropy; /* minimum entropy in bits per character; 0: any */
    enum ts_validator validators[TS_RULE_VALIDATORS_MAX];
    size_t validator_count;
    enum ts_severity severity;
    enum ts_confidence confidence;
    uint32_t reach; /* maximum length of a match */
    struct ts_rule_derived derived;
    bool generic; /* a match is removed if a specific rule finds the same secret */
    bool scored;  /* the model (model.h) decides the confidence of the matches */
    bool context; /* matches are not secrets: they are reported only with the secret that they belong to */
    const struct ts_rule_example *matches;
    size_t match_count;
    const struct ts_rule_example *non_matches;
    size_t non_match_count;
    const struct ts_rule_request *verify; /* NULL: the issuer cannot be asked */
    const char *file;
    unsigned line;
    enum ts_rule_origin origin;
};

const char *ts_severity_name(enum ts_severity severity);
const char *ts_confidence_name(enum ts_confidence confidence);
const char *ts_validator_name(enum ts_validator validator);

/* Find a severity, a confidence or a validator by its name. Return false if the name is unknown. */
bool ts_severity_parse(struct ts_bytes name, enum ts_severity *ret);
bool ts_confidence_parse(struct ts_bytes name, enum ts_confidence *ret);
bool ts_validator_parse(struct ts_bytes name, enum ts_validator *ret);

/* Returns true if matches of the rule count in a file with this path; the path is "" for inputs without one,
 * such as a message. */
bool ts_rule_applies(const struct ts_rule *rule, const char *path);

/* Returns true if ts_rule_applies() depends on the path. */
static inline bool ts_rule_needs_path(const struct ts_rule *rule) {
    return rule->paths.count + rule->not_paths.count > 0 || rule->gate == TS_GATE_TOKEN;
}

/* The result of a rule depends on bytes before the match. Returns their maximum number. */
static inline uint32_t ts_rule_before(const struct ts_rule *rule) {
    uint32_t before = rule->distance > 0 ? rule->distance : 1;
    if (rule->scored && before < TS_RULE_NAME_BEFORE)
        before = TS_RULE_NAME_BEFORE;
    for (size_t i = 0; i < rule->validator_count; i++)
        if (rule->validators[i] == TS_VALIDATOR_CREDENTIAL_NAME && before < TS_RULE_NAME_BEFORE)
            before = TS_RULE_NAME_BEFORE;
    return before;
}
/* The result of a rule depends on bytes after the start of a match. Returns their maximum number. */
static inline uint32_t ts_rule_after(const struct ts_rule *rule) {
    return rule->reach + 1;
}

#endif
