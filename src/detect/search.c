/* Runs patterns at given starts, and handles their matches. */
#include "frame.h"
#include "model_score.h"
#include "token_runs.h"
#include "validate.h"

#include "base/assert.h"

#include <string.h>

/* How often a pattern may exceed its step limit in one call before the call stops trying the pattern. */
enum { LIMITS_MAX = 4 };

/* Writes the bytes with ASCII letters in lower case. The compiler vectorises the loop. */
static void lower_case(const uint8_t *bytes, size_t len, uint8_t *ret_lower) {
    for (size_t i = 0; i < len; i++)
        ret_lower[i] = (uint8_t)(bytes[i] | ((uint8_t)(bytes[i] - 'A') < 26 ? 0x20 : 0));
}

/* A set of the pairs of bytes in a text, hashed to bits. A rule may have thousands of keywords. Most of them
 * are rejected quickly, because the set does not contain their first pair. */
struct pairs {
    uint64_t words[64];
};

static uint32_t pair_at(const uint8_t *lower) {
    return (lower[0] * 31U + lower[1]) % 4096;
}

static struct pairs pairs_of(const uint8_t *lower, size_t len) {
    struct pairs pairs = {0};
    for (size_t i = 0; i + 1 < len; i++)
        pairs.words[pair_at(lower + i) / 64] |= UINT64_C(1) << pair_at(lower + i) % 64;
    return pairs;
}

static bool has_keyword(const struct ts_rule *rule, struct ts_bytes text, size_t secret_at) {
    if (rule->keywords.count == 0)
        return true;
    size_t from = secret_at > rule->distance ? secret_at - rule->distance : 0;
    size_t len = secret_at - from;
    uint8_t lower[TS_RULE_DISTANCE_MAX];
    lower_case(text.data + from, len, lower);
    struct pairs pairs = pairs_of(lower, len);
    for (size_t k = 0; k < rule->keywords.count; k++) {
        const uint8_t *text_of_rule = (const uint8_t *)rule->keywords.texts[k];
        uint8_t keyword[TS_RULE_DISTANCE_MAX];
        lower_case(text_of_rule, 2, keyword); /* a keyword has at least two bytes */
        if (!(pairs.words[pair_at(keyword) / 64] >> pair_at(keyword) % 64 & 1))
            continue;
        size_t keyword_len = strlen(rule->keywords.texts[k]);
        if (keyword_len > len)
            continue;
        lower_case(text_of_rule, keyword_len, keyword);
        if (memmem(lower, len, keyword, keyword_len) != NULL)
            return true;
    }
    return false;
}

static size_t end_of(struct ts_span span) {
    return span.from + span.len;
}

/* Returns the bytes of the parent frame that a part of a decoded text comes from. The part must not be
 * empty. */
static struct ts_span outward(const struct detect_frame *frame, struct ts_span span) {
    ts_assert(span.len > 0);
    size_t from = frame->origin + frame->from[span.from];
    return (struct ts_span){from, frame->origin + frame->to[end_of(span) - 1] - from};
}

/* Extends the span by the bytes around a decoded text that decide where the text begins and ends. */
static struct ts_span with_edges(const struct detect_frame *parent, struct ts_span span) {
    size_t from = span.from > DETECT_PART_EDGE ? span.from - DETECT_PART_EDGE : 0;
    size_t to = parent->bytes.len - end_of(span) > DETECT_PART_EDGE ? end_of(span) + DETECT_PART_EDGE
                                                                    : parent->bytes.len;
    return (struct ts_span){from, to - from};
}

/* Returns whether the bytes that an encoded secret depends on show the encoding. If they do not, the search
 * for encoded text does not find these bytes. Sometimes only the text before the secret is encoded, such as
 * %3D before a token. */
static bool shows_itself(const struct detect_frame *frame, struct ts_span outer) {
    struct ts_bytes bytes = ts_bytes_slice(frame->parent->bytes, outer);
    switch (frame->encoding) {
    case TS_ENCODING_BASE64:
        return detect__has_token_shape(bytes);
    case TS_ENCODING_PERCENT:
        return detect__has_escape(bytes);
    case TS_ENCODING_UTF16:
    case TS_ENCODING_PLAIN:
        return true;
    }
    return true;
}

/* Returns the index of the first changed span that ends at or after this position, counted as in
 * touches_changed. */
static size_t first_changed(const struct ts_scanner_input *scan, size_t place) {
    size_t low = 0;
    size_t high = scan->changed_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (end_of(scan->changed[middle]) + 1 <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns whether the match depends on a changed byte. Position 0 is one before the first byte, so that the
 * start and the end of the input are positions, too: a span at 0 or at the end touches matches that depend on
 * the start or end. */
static bool touches_changed(const struct ts_scanner_input *scan, const struct ts_match *match) {
    if (!scan->changed)
        return true;
    size_t from = match->depends_on_start ? 0 : match->depends.from + 1;
    size_t to = end_of(match->depends) + (match->depends_on_end ? 2 : 1);
    size_t first = first_changed(scan, from);
    return first < scan->changed_count && scan->changed[first].from + 1 < to;
}

bool detect__is_near_change(const struct ts_scanner_input *scan, struct detect_starts depends) {
    size_t first = first_changed(scan, depends.from);
    return first < scan->changed_count && scan->changed[first].from < depends.to + 2;
}

/* Maps a match in a frame to the input, and reports the match if it is valid in the input. */
static void report(struct ts_scanner *scanner, const struct detect_frame *frame, struct ts_match *match) {
    match->depth = frame->depth;
    for (const struct detect_frame *at = frame; at->parent; at = at->parent) {
        match->encodings[at->depth - 1] = at->encoding;
        if ((at->open_before && match->depends_on_start) || (at->open_after && match->depends_on_end))
            return;
        struct ts_span region = outward(at, match->depends);
        match->span = outward(at, match->span);
        match->secret_span = outward(at, match->secret_span);
        match->depends = with_edges(at->parent, region);
        match->depends_on_start = match->depends.from == 0;
        match->depends_on_end = end_of(match->depends) == at->parent->bytes.len;
        if (!shows_itself(at, region))
            return;
    }
    if (frame->parent && match->depends.len > DETECT_ENCODED_REACH)
        return;
    if ((scanner->scan->continues_before && match->depends_on_start) ||
        (scanner->scan->continues_after && match->depends_on_end))
        return;
    if (touches_changed(scanner->scan, match))
        scanner->found(scanner->context, match);
}

/*
 * Returns the end of the bytes that decide about a match in decoded text. If the pattern matches an input
 * that ends one byte after the match, and does not need more input, that byte is the end, because later bytes
 * cannot change the result. Otherwise the end is reach_to, the rule's reach. Overwrites the match data.
 */
static size_t decided_to(struct ts_scanner *scanner, const struct detect_frame *frame,
                         const struct detect_code *code, struct ts_span match, size_t reach_to) {
    size_t to = end_of(match) + 1;
    if (to >= reach_to)
        return reach_to;
    uint32_t options =
        PCRE2_ANCHORED | PCRE2_PARTIAL_HARD | PCRE2_NOTEOL | (frame->open_before ? PCRE2_NOTBOL : 0);
    int result = pcre2_match(code->code, frame->bytes.data, to, match.from, options, scanner->match_data,
                             scanner->match_context);
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(scanner->match_data);
    return result >= 0 && ends[1] == end_of(match) ? to : reach_to;
}

static void consider(struct ts_scanner *scanner, const struct detect_frame *frame, uint32_t rule,
                     const struct detect_code *code) {
    const struct detect_ready_rule *ready = &scanner->detector->ready[rule];
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(scanner->match_data);
    size_t from = ends[0];
    size_t to = ends[1];
    size_t secret_from = ends[(size_t)2 * code->secret_group];
    size_t secret_to = ends[(size_t)2 * code->secret_group + 1];
    if (secret_from == PCRE2_UNSET || secret_to <= secret_from || to < from || secret_from < from ||
        secret_to > to)
        return;
    struct ts_bytes secret =
        ts_bytes_slice(frame->bytes, (struct ts_span){secret_from, secret_to - secret_from});
    if (ready->rule->gate == TS_GATE_TOKEN && !detect__has_token_shape(secret))
        return;
    if (!has_keyword(ready->rule, frame->bytes, secret_from))
        return;
    struct ts_match match = {
        .rule = rule,
        .span = {from, to - from},
        .secret_span = {secret_from, secret_to - secret_from},
        .secret = secret,
    };
    struct ts_bytes name = detect__name_before(frame->bytes, (struct ts_span){from, secret_from - from});
    struct detect_around around = {
        .name = name,
        .start = ts_bytes_slice(frame->bytes, (struct ts_span){from, secret_from - from}),
        .after = ts_bytes_slice(frame->bytes, (struct ts_span){secret_to, to - secret_to})};
    if (ready->rule->scored)
        around.before = detect__line_before(frame->bytes, name, from);
    struct detect_judgement judgement;
    if (!detect__judge_secret(ready->rule, &around, secret, &judgement))
        return;
    match.confidence = judgement.confidence;
    match.score = judgement.score;
    size_t first = from > ready->before ? from - ready->before : 0;
    size_t last = frame->bytes.len - from > ready->after ? from + ready->after : frame->bytes.len;
    if (frame->parent)
        last = decided_to(scanner, frame, code, match.span, last);
    match.depends = (struct ts_span){first, last - first};
    match.depends_on_start = first == 0;
    match.depends_on_end = last == frame->bytes.len;
    report(scanner, frame, &match);
}

/* Takes units from the budget of the target's own rules for this input. Returns false if the budget is used
 * up. */
static bool pay(struct ts_scanner *scanner, uint32_t rule, uint64_t units) {
    if (!scanner->own_is_spent && scanner->own_left >= units) {
        scanner->own_left -= units;
        return true;
    }
    if (!scanner->own_is_spent) {
        scanner->counts.limits_hit++;
        scanner->counts.own_spent++;
    }
    scanner->own_is_spent = true;
    if (rule < scanner->counts.own_rule)
        scanner->counts.own_rule = rule;
    return false;
}

static int match(struct ts_scanner *scanner, const struct detect_frame *frame, uint32_t rule,
                 const struct detect_code *code, struct detect_starts at, uint32_t options) {
    const uint8_t *bytes = frame->bytes.data;
    bool is_own = scanner->detector->ready[rule].rule->origin == TS_RULE_OF_TARGET;
    if (is_own) {
        if (!pay(scanner, rule, 1))
            return PCRE2_ERROR_NOMATCH;
        (void)pcre2_set_match_limit(scanner->match_context, DETECT_OWN_STEPS);
    }
    int result =
        pcre2_match(code->code, bytes, at.to, at.from, options, scanner->match_data, scanner->match_context);
    if (!is_own)
        return result;
    (void)pcre2_set_match_limit(scanner->match_context, DETECT_MATCH_LIMIT);
    if (result != PCRE2_ERROR_MATCHLIMIT)
        return result;
    if (!pay(scanner, rule, DETECT_MATCH_LIMIT / DETECT_OWN_STEPS))
        return PCRE2_ERROR_NOMATCH;
    return pcre2_match(code->code, bytes, at.to, at.from, options, scanner->match_data,
                       scanner->match_context);
}

bool detect__is_stopped(const struct ts_scanner *scanner) {
    return scanner->scan->stop && atomic_load_explicit(scanner->scan->stop, memory_order_relaxed);
}

void detect__search(struct ts_scanner *scanner, struct detect_frame *frame, uint32_t rule,
                    struct detect_starts starts) {
    struct detect_ready_rule *ready = &scanner->detector->ready[rule];
    if (starts.from < frame->searched_to[rule])
        starts.from = frame->searched_to[rule];
    if (starts.to > frame->bytes.len)
        starts.to = frame->bytes.len;
    if (starts.from >= starts.to)
        return;
    if (frame->searched_to[rule] == 0)
        scanner->searched[frame->depth].rules[scanner->searched[frame->depth].count++] = rule;
    frame->searched_to[rule] = starts.to;
    const struct detect_code *code = detect__code_get(ready);
    if (!code) {
        scanner->failed = true;
        return;
    }
    size_t end = frame->bytes.len - starts.to > ready->after ? starts.to + ready->after : frame->bytes.len;
    uint32_t options = 0;
    if (frame->open_before)
        options |= PCRE2_NOTBOL;
    if (end < frame->bytes.len || frame->open_after)
        options |= PCRE2_NOTEOL;
    (void)pcre2_set_offset_limit(scanner->match_context, starts.to - 1);
    unsigned limits = 0;
    for (size_t at = starts.from; at < starts.to && !detect__is_stopped(scanner);) {
        scanner->counts.pattern_runs++;
        int result = match(scanner, frame, rule, code, (struct detect_starts){at, end}, options);
        if (result == PCRE2_ERROR_NOMATCH)
            return;
        /* 0 means that not all groups fitted into the match data, which is harmless. */
        if (result < 0) {
            /* Too many steps at this offset. The failure is counted, and the next offset is tried. */
            scanner->counts.limits_hit++;
            if (++limits > LIMITS_MAX)
                return;
            at++;
            continue;
        }
        at = pcre2_get_ovector_pointer(scanner->match_data)[0] + 1;
        consider(scanner, frame, rule, code);
    }
}
