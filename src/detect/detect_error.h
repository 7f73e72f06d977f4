/*
 * An error in a rule file, a configuration or a compiled set: file, line, rule, field, reason and fix in one
 * line.
 */
#ifndef TS_DETECT_DETECT_ERROR_H
#define TS_DETECT_DETECT_ERROR_H

#define TS_DETECT_ERRORS(X)                                                                                  \
    X(NONE, "none")                                                                                          \
    X(UNREADABLE, "unreadable")                                                                              \
    X(NOT_YAML, "not YAML")                                                                                  \
    X(BAD_FIELD, "bad field")                                                                                \
    X(DUPLICATE_ID, "duplicate id")                                                                          \
    X(BAD_PATTERN, "bad pattern")                                                                            \
    X(BAD_EXAMPLE, "bad example")                                                                            \
    X(UNDECIDED, "not decided")                                                                              \
    X(NO_MEMORY, "out of memory")                                                                            \
    X(ENGINE, "engine failed")

#define TS_DETECT_ERROR_ENUM(suffix, text) TS_DETECT_##suffix,
enum ts_detect_error_kind { TS_DETECT_ERRORS(TS_DETECT_ERROR_ENUM) };
#undef TS_DETECT_ERROR_ENUM

struct ts_detect_error {
    enum ts_detect_error_kind kind;
    unsigned line;  /* 0: no particular line */
    char rule[68];  /* "" for none */
    char field[32]; /* "" for none */
    char text[400]; /* the whole message: file:line: rule 'id': field: reason; fix */
};

/* Receives one problem after another. */
typedef void ts_detect_problem(void *context, const struct ts_detect_error *problem);

/* The short text of a kind, as in the table. */
const char *ts_detect_error_kind_text(enum ts_detect_error_kind kind);

#endif
