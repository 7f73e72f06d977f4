/*
 * An error in a rule file, a configuration or a compiled set: file, line, rule, field, reason and fix in one
 * line.
 */
#ifndef TS_DETECT_DETECT_ERROR_H
#define TS_DETECT_DETECT_ERROR_H

enum ts_detect_error_kind {
    TS_DETECT_NONE,
    TS_DETECT_UNREADABLE,
    TS_DETECT_NOT_YAML,
    TS_DETECT_BAD_FIELD,
    TS_DETECT_DUPLICATE_ID,
    TS_DETECT_BAD_PATTERN,
    TS_DETECT_BAD_EXAMPLE,
    TS_DETECT_UNDECIDED,
    TS_DETECT_NO_MEMORY,
    TS_DETECT_ENGINE,
};

struct ts_detect_error {
    enum ts_detect_error_kind kind;
    unsigned line;  /* line in the file; 0: no particular line */
    char rule[68];  /* id of the rule; "" if no rule is concerned */
    char field[32]; /* name of the field; "" if no field is concerned */
    char text[400]; /* the whole message: file:line: rule 'id': field: reason; fix */
};

/* Called once for each problem. */
typedef void ts_detect_problem(void *context, const struct ts_detect_error *problem);

#endif
