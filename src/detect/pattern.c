/* Patterns: compiles them with PCRE2, and checks with Vectorscan the properties that a scan relies on. */
#include "compiled.h"

#include "error.h"

#include <stdlib.h>
#include <string.h>

enum { PATTERN_LEN_MAX = 8192 };

static struct detect_place place_of(const struct ts_rule *rule, const char *field) {
    return (struct detect_place){rule->file, rule->line, rule->id, field};
}

void detect__code_free(struct detect_code *code) {
    if (!code)
        return;
    pcre2_code_free(code->code);
    free(code);
}

struct detect_code *detect__code_new(const struct ts_rule *rule, struct ts_detect_error *ret_error) {
    int number = 0;
    PCRE2_SIZE at = 0;
    struct detect_code *made = calloc(1, sizeof *made);
    if (!made) {
        detect__error_set(ret_error, TS_DETECT_NO_MEMORY, place_of(rule, "pattern"), "out of memory");
        return NULL;
    }
    made->code =
        pcre2_compile((PCRE2_SPTR)rule->pattern, strlen(rule->pattern),
                      PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT, &number, &at, NULL);
    if (!made->code) {
        PCRE2_UCHAR why[160] = "";
        (void)pcre2_get_error_message(number, why, sizeof why);
        detect__error_set(ret_error, TS_DETECT_BAD_PATTERN, place_of(rule, "pattern"),
                          "PCRE2 rejects it: %s, at byte %zu", (const char *)why, (size_t)at);
        detect__code_free(made);
        return NULL;
    }
    int group = pcre2_substring_number_from_name(made->code, (PCRE2_SPTR) "secret");
    if (group > DETECT_GROUPS_MAX) {
        detect__error_set(ret_error, TS_DETECT_BAD_PATTERN, place_of(rule, "pattern"),
                          "the group secret is number %d, and the limit is %d; write (?:...) for other "
                          "groups",
                          group, DETECT_GROUPS_MAX);
        detect__code_free(made);
        return NULL;
    }
    if (group <= 0) {
        detect__error_set(ret_error, TS_DETECT_BAD_PATTERN, place_of(rule, "pattern"),
                          "has no group named secret; put (?<secret>...) around the part to report");
        detect__code_free(made);
        return NULL;
    }
    made->secret_group = (uint32_t)group;
    /* Without JIT, matching is slower, but the results are the same. */
    (void)pcre2_jit_compile(made->code, PCRE2_JIT_COMPLETE);
    return made;
}

const struct detect_code *detect__code_get(struct detect_ready_rule *ready) {
    struct detect_code *code = atomic_load_explicit(&ready->code, memory_order_acquire);
    if (code)
        return code;
    struct ts_detect_error ignored;
    struct detect_code *made = detect__code_new(ready->rule, &ignored);
    if (!made)
        return NULL;
    if (atomic_compare_exchange_strong_explicit(&ready->code, &code, made, memory_order_acq_rel,
                                                memory_order_acquire))
        return made;
    detect__code_free(made); /* another thread has compiled the pattern first */
    return code;
}

/* Returns the first escape in the pattern that looks beyond the window of a match, or that differs between
 * the two engines; NULL if there is none. */
static const char *find_forbidden(const char *pattern) {
    static const char *const escapes[] = {"\\A", "\\Z", "\\z", "\\G", "\\K", "\\X", "\\R", "\\C"};
    for (const char *at = pattern; *at; at++) {
        if (*at != '\\')
            continue;
        for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++)
            if (at[1] == escapes[i][1])
                return escapes[i];
        if (at[1])
            at++;
    }
    return NULL;
}

bool detect__engine_lacks_memory(const hs_compile_error_t *why) {
    return !why || strcmp(why->message, "Unable to allocate memory.") == 0;
}

static bool verify_expression(const struct ts_rule *rule, const char *text, const char *field,
                              uint32_t width_max, struct ts_detect_error *ret_error) {
    if (strlen(text) > PATTERN_LEN_MAX) {
        detect__error_set(ret_error, TS_DETECT_BAD_PATTERN, place_of(rule, field),
                          "is longer than %d bytes; divide it into several rules", PATTERN_LEN_MAX);
        return false;
    }
    const char *forbidden = find_forbidden(text);
    if (forbidden) {
        detect__error_set(ret_error, TS_DETECT_BAD_PATTERN, place_of(rule, field),
                          "has %s, whose result depends on the end of a window; use ^, $ or \\b", forbidden);
        return false;
    }
    hs_expr_info_t *info = NULL;
    hs_compile_error_t *why = NULL;
    bool good = hs_expression_info(text, 0, &info, &why) == HS_SUCCESS;
    if (!good && detect__engine_lacks_memory(why))
        detect__error_set(ret_error, TS_DETECT_NO_MEMORY, place_of(rule, field), "out of memory");
    else if (!good)
        detect__error_set(ret_error, TS_DETECT_BAD_PATTERN, place_of(rule, field),
                          "Vectorscan rejects it: %s", why->message);
    if (good && info->min_width == 0) {
        detect__error_set(ret_error, TS_DETECT_BAD_PATTERN, place_of(rule, field),
                          "matches the empty text; make a part of it required");
        good = false;
    } else if (good && info->max_width == UINT32_MAX) {
        detect__error_set(ret_error, TS_DETECT_BAD_PATTERN, place_of(rule, field),
                          "has no longest match; write {1,64} for + and {0,64} for *");
        good = false;
    } else if (good && info->max_width > width_max) {
        detect__error_set(ret_error, TS_DETECT_BAD_PATTERN, place_of(rule, field),
                          "can match %u bytes, and the limit is %u; %s", info->max_width, width_max,
                          strcmp(field, "pattern") == 0 ? "raise reach or bound the pattern" : "shorten it");
        good = false;
    }
    free(info);
    (void)hs_free_compile_error(why);
    return good;
}

bool detect__rule_verify(const struct ts_rule *rule, struct ts_detect_error *ret_error) {
    struct detect_code *code = detect__code_new(rule, ret_error);
    if (!code)
        return false;
    detect__code_free(code);
    if (!verify_expression(rule, rule->pattern, "pattern", rule->reach, ret_error))
        return false;
    if (rule->gate == TS_GATE_TOKEN && ts_rule_before(rule) + ts_rule_after(rule) > DETECT_SHORT_REACH) {
        detect__error_set(
            ret_error, TS_DETECT_BAD_PATTERN, place_of(rule, "reach"),
            "with the gate token, reach and distance together may be at most %d; lower one of them",
            DETECT_SHORT_REACH - 1);
        return false;
    }
    for (size_t i = 0; i < rule->anchors.count; i++)
        if (!verify_expression(rule, rule->anchors.texts[i], "gate anchors", DETECT_ANCHOR_MAX, ret_error))
            return false;
    return true;
}
