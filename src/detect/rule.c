#include "rule.h"

#include "glob.h"
#include "pattern_names.h"

#include "base/assert.h"

static const char *const severity_names[] = {
#define NAME(suffix, text) [TS_SEVERITY_##suffix] = text,
    TS_SEVERITIES(NAME)
#undef NAME
};
static const char *const confidence_names[] = {
#define NAME(suffix, text) [TS_CONFIDENCE_##suffix] = text,
    TS_CONFIDENCES(NAME)
#undef NAME
};
static const char *const validator_names[] = {
#define NAME(suffix, text) [TS_VALIDATOR_##suffix] = text,
    TS_VALIDATORS(NAME)
#undef NAME
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static bool find_name(struct ts_bytes name, const char *const *names, size_t count, size_t *ret_index) {
    for (size_t i = 0; i < count; i++) {
        if (ts_bytes_equal(name, ts_bytes_of_cstring(names[i]))) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

const char *ts_severity_name(enum ts_severity severity) {
    ts_assert((size_t)severity < COUNT(severity_names));
    return severity_names[severity];
}

const char *ts_confidence_name(enum ts_confidence confidence) {
    ts_assert((size_t)confidence < COUNT(confidence_names));
    return confidence_names[confidence];
}

const char *ts_validator_name(enum ts_validator validator) {
    ts_assert((size_t)validator < COUNT(validator_names));
    return validator_names[validator];
}

bool ts_severity_parse(struct ts_bytes name, enum ts_severity *ret) {
    size_t index;
    if (!find_name(name, severity_names, COUNT(severity_names), &index))
        return false;
    *ret = (enum ts_severity)index;
    return true;
}

bool ts_confidence_parse(struct ts_bytes name, enum ts_confidence *ret) {
    size_t index;
    if (!find_name(name, confidence_names, COUNT(confidence_names), &index))
        return false;
    *ret = (enum ts_confidence)index;
    return true;
}

bool ts_validator_parse(struct ts_bytes name, enum ts_validator *ret) {
    size_t index;
    if (!find_name(name, validator_names, COUNT(validator_names), &index))
        return false;
    *ret = (enum ts_validator)index;
    return true;
}

static bool is_one_of(const struct ts_rule_texts *globs, const char *path) {
    for (size_t i = 0; i < globs->count; i++)
        if (ts_glob_matches(globs->texts[i], path))
            return true;
    return false;
}

/* Returns whether the path is a lock file. Lock files have a checksum next to every name. A rule that knows
 * only a name and a shape would report the checksum as a secret. */
static bool is_lock_file(const char *path) {
    const char *const *globs = NULL;
    size_t count = detect__path_name("{{lock-files}}", &globs);
    for (size_t i = 0; i < count; i++)
        if (ts_glob_matches(globs[i], path))
            return true;
    return false;
}

bool ts_rule_applies(const struct ts_rule *rule, const char *path) {
    if (rule->gate == TS_GATE_TOKEN && is_lock_file(path))
        return false;
    return (rule->paths.count == 0 || is_one_of(&rule->paths, path)) && !is_one_of(&rule->not_paths, path);
}
