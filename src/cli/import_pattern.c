/*
 * Translates a pattern in one walk over its text:
 *
 *     (…)  (?P<name>…)      (?:…)
 *     *  +  {3,}            {0,N}  {1,N}  {3,N}
 *     (?x) with its blanks and comments                  removed
 *     \A  \z                ^  $
 *     [\w.-]{0,50}? at the beginning                     removed: it does not change what matches, and is slow
 *
 * Then adds the group `secret`. Other tools report all groups, or the first group that took part in a match.
 * Our rules report only this group, so it must be in every match and must contain everything that is secret:
 *
 *     key=([a-z]{20})                     the group
 *     ([a-z]{8}):([a-z]{20})@             from the first group to the last: a user and a password
 *     a=([a-z]{20})|b=([a-z]{30})         all alternatives; for an optional group: the group around it
 *     sk_(live|test)_[a-z]{20}            the match: a group that can match only a few texts is no secret
 */
#include "import_pattern.h"

#include "os/grow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEPTH_MAX = 100,
    /* The maximum for counts of repeats, and of bytes that vary in a repeat. Higher counts are reduced to
     * this maximum, because they make no difference. */
    VARIED_REPEAT_MAX = 16,
    /* A secret has at least this many bytes that vary. */
    VARIED_MIN = 4,
};

/* A group of the original pattern. Its positions are positions in the result. */
struct group {
    size_t parent;
    size_t from;     /* position of the opening parenthesis */
    size_t body;     /* position after the parenthesis and the flags */
    size_t end;      /* position after the group and its repeat */
    size_t body_to;  /* position of the closing parenthesis */
    uint32_t number; /* number of a capturing group, from 1; 0: the group does not capture */
    uint32_t min;
    uint32_t max;
    uint32_t varied;      /* bytes of the current alternative that vary */
    uint32_t varied_most; /* the highest `varied` of the group's alternatives so far */
    bool has_choice;      /* the group has alternatives */
    bool has_flags;       /* the group has (?i), which holds up to the end of the group */
};

struct walk {
    const uint8_t *at;
    const uint8_t *end;
    const struct cli_import_request *request;
    struct cli_import_pattern *to;
    struct group *groups; /* array of groups; the first stands for the whole pattern */
    size_t group_count;
    size_t group_size;
    size_t current; /* index of the current group */
    unsigned depth;
    bool is_extended[DEPTH_MAX + 1]; /* whether (?x) holds, indexed by depth */
    bool is_atom;                    /* the last element can be repeated */
    bool is_first;                   /* only flags and removable parts precede the last atom */
    uint32_t varied;                 /* bytes of the last atom that vary */
    size_t closed;                   /* index of the group that is the last atom; 0: the atom is no group */
    size_t lead_from;                /* start of the removable parts at the beginning */
    size_t lead_to;                  /* end of the removable parts */
    bool no_memory;
};

static void put(struct walk *w, const void *bytes, size_t len) {
    struct cli_import_pattern *to = w->to;
    if (w->no_memory || !TS_GROW(to->text, to->size, to->len + len + 1)) {
        w->no_memory = true;
        return;
    }
    memcpy(to->text + to->len, bytes, len);
    to->len += len;
    to->text[to->len] = '\0';
}

static void put_text(struct walk *w, const char *text) {
    put(w, text, strlen(text));
}

static void put_number(struct walk *w, uint32_t number) {
    char digits[12];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    put(w, digits + at, sizeof digits - at);
}

static bool starts(const struct walk *w, const char *text) {
    size_t len = strlen(text);
    return (size_t)(w->end - w->at) >= len && memcmp(w->at, text, len) == 0;
}

static void refuse(struct walk *w, const char *why) {
    if (w->to->wrong == NULL)
        w->to->wrong = why;
}

static struct group *current(const struct walk *w) {
    return &w->groups[w->current];
}

/* Adds the varying bytes of the last atom to its group. */
static void settle_atom(struct walk *w) {
    current(w)->varied += w->varied;
    w->varied = 0;
    w->closed = 0;
}

/* Marks the beginning of an element that may be repeated; `varied` of its bytes vary. */
static void begin_atom(struct walk *w, uint32_t varied) {
    settle_atom(w);
    w->varied = varied;
    w->is_first = w->depth == 0 && w->to->len == w->lead_to && !w->is_atom;
    w->is_atom = true;
}

/* Marks that the last element (flags, an assertion or the beginning of a group) cannot be repeated. */
static void end_atom(struct walk *w) {
    settle_atom(w);
    w->is_atom = false;
    w->is_first = false;
}

/* Adds a group. Returns false when memory runs out. */
static bool open_group(struct walk *w, uint32_t number) {
    if (w->no_memory || !TS_GROW(w->groups, w->group_size, w->group_count + 1)) {
        w->no_memory = true;
        return false;
    }
    w->groups[w->group_count] =
        (struct group){.parent = w->current, .from = w->to->len, .number = number, .min = 1, .max = 1};
    w->current = w->group_count++;
    return true;
}

static void end_alternative(struct group *group) {
    if (group->varied > group->varied_most)
        group->varied_most = group->varied;
    group->varied = 0;
}

/* ---- parts ---- */

/* Returns the length of an escape, such as \d, \x4f, \x{4f} or \p{L}. */
static size_t escape_len(const struct walk *w) {
    size_t left = (size_t)(w->end - w->at);
    if (left < 2)
        return left;
    if ((w->at[1] == 'x' || w->at[1] == 'p' || w->at[1] == 'P') && left > 2 && w->at[2] == '{') {
        const uint8_t *close = memchr(w->at, '}', left);
        return close != NULL ? (size_t)(close - w->at) + 1 : left;
    }
    return 2;
}

static void walk_escape(struct walk *w) {
    size_t len = escape_len(w);
    if (len < 2) {
        refuse(w, "ends with a backslash");
    } else if (w->at[1] == 'A' || w->at[1] == 'z' || w->at[1] == 'Z') {
        end_atom(w);
        put_text(w, w->at[1] == 'A' ? "^" : "$");
    } else if (w->at[1] == 'b' || w->at[1] == 'B') {
        end_atom(w);
        put(w, w->at, len);
    } else if (w->at[1] == 'p' || w->at[1] == 'P') {
        refuse(w, "has a Unicode class; patterns match bytes");
    } else if (w->at[1] >= '1' && w->at[1] <= '9') {
        refuse(w, "has a back reference");
    } else if (w->at[1] == 'Q') {
        refuse(w, "has \\Q; write the text with backslashes");
    } else {
        begin_atom(w, strchr("dDwWsS", w->at[1]) != NULL ? 1 : 0);
        put(w, w->at, len);
    }
    w->at += len;
}

static void walk_class(struct walk *w) {
    const uint8_t *from = w->at++;
    if (w->at < w->end && *w->at == '^')
        w->at++;
    if (w->at < w->end && *w->at == ']')
        w->at++;
    while (w->at < w->end && *w->at != ']') {
        if (*w->at >= 0x80)
            refuse(w, "has a class with a character outside ASCII; patterns match bytes");
        const uint8_t *named = starts(w, "[:") ? memmem(w->at, (size_t)(w->end - w->at), ":]", 2) : NULL;
        w->at += named != NULL ? (size_t)(named - w->at) + 2 : *w->at == '\\' ? escape_len(w) : 1;
    }
    if (w->at >= w->end) {
        refuse(w, "has a class without its ']'");
        return;
    }
    w->at++;
    begin_atom(w, w->at - from > 3 ? 1 : 0); /* [x] matches only one text */
    put(w, from, (size_t)(w->at - from));
}

/* Reads the number at `at`. Returns its end, or NULL if there is no number. */
static const uint8_t *read_count(const uint8_t *at, const uint8_t *end, uint32_t *ret_count) {
    uint32_t count = 0;
    const uint8_t *from = at;
    for (; at < end && *at >= '0' && *at <= '9' && count < 100000; at++)
        count = count * 10 + (uint32_t)(*at - '0');
    *ret_count = count;
    return at > from ? at : NULL;
}

/* Reads {3}, {3,} or {3,9}. Returns the end of the repeat, or NULL if the brace is a literal. */
static const uint8_t *read_braces(const struct walk *w, uint32_t *ret_min, uint32_t *ret_max) {
    const uint8_t *at = read_count(w->at + 1, w->end, ret_min);
    *ret_max = *ret_min;
    if (at != NULL && at < w->end && *at == ',') {
        *ret_max = UINT32_MAX;
        const uint8_t *after = read_count(at + 1, w->end, ret_max);
        if (after == NULL)
            *ret_max = UINT32_MAX;
        at = after != NULL ? after : at + 1;
    }
    return at != NULL && at < w->end && *at == '}' ? at + 1 : NULL;
}

/* Returns how many bytes vary in a repeated part. An optional part counts as 0, because it may be absent. */
static uint32_t varied_repeat(uint32_t varied, uint32_t min, uint32_t max) {
    uint32_t times = min == 0 ? 0 : max < VARIED_REPEAT_MAX ? max : VARIED_REPEAT_MAX;
    uint32_t most = varied < VARIED_REPEAT_MAX ? varied : VARIED_REPEAT_MAX;
    return most * times;
}

static void note_repeat(struct walk *w, uint32_t min, uint32_t max) {
    w->varied = varied_repeat(w->varied, min, max);
    if (w->closed == 0)
        return;
    struct group *group = &w->groups[w->closed];
    group->end = w->to->len;
    group->min = min;
    group->max = max;
}

/* Reads a repeat, and writes it with a limit. Returns false if there is no repeat here. */
static bool walk_repeat(struct walk *w) {
    uint32_t min = *w->at == '+' ? 1 : 0;
    uint32_t max = *w->at == '?' ? 1 : UINT32_MAX;
    const uint8_t *after = *w->at == '{' ? read_braces(w, &min, &max) : w->at + 1;
    if (after == NULL)
        return false;
    if (!w->is_atom)
        refuse(w, "repeats nothing");
    bool is_lazy = after < w->end && *after == '?';
    const uint8_t *from = w->at;
    w->at = after + (is_lazy ? 1 : 0);
    w->is_atom = false;
    if (max != UINT32_MAX) {
        put(w, from, (size_t)(w->at - from));
    } else {
        w->to->is_bounded = true;
        put_text(w, "{");
        put_number(w, min);
        put_text(w, ",");
        put_number(w, w->request->bound > min ? w->request->bound : min);
        put_text(w, is_lazy ? "}?" : "}");
    }
    note_repeat(w, min, max);
    if (w->is_first && min == 0)
        w->lead_to = w->to->len;
    w->is_first = false;
    return true;
}

/* ---- groups ---- */

static void enter(struct walk *w, uint32_t number, const char *text) {
    if (w->depth == DEPTH_MAX) {
        refuse(w, "has groups that are nested too deeply");
        return;
    }
    end_atom(w);
    if (!open_group(w, number))
        return;
    w->depth++;
    w->is_extended[w->depth] = w->is_extended[w->depth - 1];
    put_text(w, text);
    current(w)->body = w->to->len;
}

/* Reads flags: (?i), (?x-i: and so on. `at` is after the question mark. */
static void walk_flags(struct walk *w) {
    char flags[16];
    size_t len = 0;
    bool is_on = true;
    bool is_extended = w->is_extended[w->depth];
    while (w->at < w->end && *w->at != ')' && *w->at != ':') {
        char c = (char)*w->at++;
        if (c == 'x')
            is_extended = is_on;
        else if (c != 'u' && len < sizeof flags - 1)
            flags[len++] = c;
        if (c == '-')
            is_on = false;
        if (strchr("imsxu-", c) == NULL)
            refuse(w, "has a flag other than i, m, s and x");
    }
    if (len > 0 && flags[len - 1] == '-')
        len--;
    flags[len] = '\0';
    if (w->at >= w->end) {
        refuse(w, "has a group without its ')'");
        return;
    }
    bool is_group = *w->at++ == ':';
    size_t from = w->to->len;
    if (is_group)
        enter(w, 0, "(?");
    else if (len > 0)
        put_text(w, "(?");
    put_text(w, flags);
    if (is_group || len > 0)
        put_text(w, is_group ? ":" : ")");
    w->is_extended[w->depth] = is_extended;
    if (is_group || current(w)->body == from) /* the group contains only flags so far */
        current(w)->body = w->to->len;
    else if (len > 0)
        current(w)->has_flags = true;
    if (w->depth == 0 && current(w)->body > w->lead_from)
        w->lead_from = w->lead_to = w->to->len;
}

static void walk_capture(struct walk *w) {
    enter(w, ++w->to->groups, "(?:");
}

static void walk_group(struct walk *w) {
    if (!starts(w, "(?")) {
        w->at++;
        walk_capture(w);
        return;
    }
    if (starts(w, "(?=") || starts(w, "(?!") || starts(w, "(?<=") || starts(w, "(?<!")) {
        refuse(w, "looks ahead or behind");
        w->at = w->end;
    } else if (starts(w, "(?P<") || starts(w, "(?<")) {
        const uint8_t *close = memchr(w->at, '>', (size_t)(w->end - w->at));
        w->at = close != NULL ? close + 1 : w->end;
        walk_capture(w);
    } else if (starts(w, "(?#")) {
        const uint8_t *close = memchr(w->at, ')', (size_t)(w->end - w->at));
        w->at = close != NULL ? close + 1 : w->end;
    } else {
        w->at += 2;
        walk_flags(w);
    }
}

static void leave(struct walk *w) {
    w->at++;
    if (w->depth == 0) {
        refuse(w, "has a ')' without its '('");
        return;
    }
    settle_atom(w);
    end_alternative(current(w));
    size_t closed = w->current;
    struct group *group = &w->groups[closed];
    group->body_to = w->to->len;
    w->depth--;
    put_text(w, ")");
    group->end = w->to->len;
    w->current = group->parent;
    w->varied = group->varied_most;
    w->closed = closed;
    w->is_atom = true; /* the group can be repeated */
    w->is_first = false;
}

/* ---- the whole pattern ---- */

static bool skip_extended(struct walk *w) {
    if (!w->is_extended[w->depth])
        return false;
    if (*w->at == '#') {
        while (w->at < w->end && *w->at != '\n')
            w->at++;
        return true;
    }
    bool is_blank = *w->at == ' ' || (*w->at >= '\t' && *w->at <= '\r');
    w->at += is_blank ? 1 : 0;
    return is_blank;
}

static void walk_plain(struct walk *w) {
    uint8_t c = *w->at++;
    if (c == '|' || c == '^' || c == '$') {
        end_atom(w);
        if (c == '|') {
            end_alternative(current(w));
            current(w)->has_choice = true;
        }
        put(w, &c, 1);
        return;
    }
    begin_atom(w, c == '.' ? 1 : 0);
    if (c == '\n')
        put_text(w, "\\n");
    else if (c == '{' || c == '}')
        put(w, (char[]){'\\', (char)c}, 2);
    else if (c < ' ')
        refuse(w, "has a control character");
    else
        put(w, &c, 1);
}

static void walk(struct walk *w) {
    while (w->at < w->end && w->to->wrong == NULL && !w->no_memory) {
        uint8_t c = *w->at;
        if (skip_extended(w))
            continue;
        if (c == '\\')
            walk_escape(w);
        else if (c == '[')
            walk_class(w);
        else if (c == '(')
            walk_group(w);
        else if (c == ')')
            leave(w);
        else if ((c != '*' && c != '+' && c != '?' && c != '{') || !walk_repeat(w))
            walk_plain(w);
    }
    if (w->depth > 0)
        refuse(w, "has a group without its ')'");
}

/* ---- the secret ---- */

/* A part of the translated pattern, in the body of a group. */
struct part {
    size_t group;
    size_t from;
    size_t to;
};

static struct part body_of(const struct walk *w, size_t group) {
    return (struct part){group, w->groups[group].body, w->groups[group].body_to};
}

static struct part whole_group(const struct walk *w, size_t group) {
    const struct group *at = &w->groups[group];
    return (struct part){at->parent, at->from, at->end};
}

static bool is_inside(const struct walk *w, size_t group, size_t outer) {
    while (group != 0 && group != outer)
        group = w->groups[group].parent;
    return group == outer;
}

/* Returns whether the group may be the secret: it is the requested group, or (if no group is requested) an
 * outermost capturing group with enough bytes that vary. */
static bool is_candidate(const struct walk *w, size_t group) {
    const struct group *at = &w->groups[group];
    if (w->request->group > 0)
        return at->number == w->request->group;
    if (at->number == 0 || at->varied_most < VARIED_MIN)
        return false;
    for (size_t outer = at->parent; outer != 0; outer = w->groups[outer].parent)
        if (w->groups[outer].number > 0 && w->groups[outer].varied_most >= VARIED_MIN)
            return false;
    return true;
}

/* Returns whether the group takes part in every match of `outer`. */
static bool is_required(const struct walk *w, size_t group, size_t outer) {
    bool is_there = true;
    for (; group != outer; group = w->groups[group].parent)
        is_there = is_there && w->groups[group].min > 0 && !w->groups[w->groups[group].parent].has_choice;
    return is_there;
}

/* Returns the smallest part that contains both `part` and the group. */
static struct part join(const struct walk *w, struct part part, size_t group) {
    size_t outer = part.group;
    while (!is_inside(w, group, outer))
        outer = w->groups[outer].parent;
    struct part first = part;
    while (first.group != outer)
        first = whole_group(w, first.group);
    struct part last = whole_group(w, group);
    while (last.group != outer)
        last = whole_group(w, last.group);
    if (w->groups[outer].has_choice || w->groups[outer].has_flags)
        return body_of(w, outer);
    return (struct part){outer, first.from, last.to > first.to ? last.to : first.to};
}

/* Returns the part, extended until every match contains it exactly once. */
static struct part widen(const struct walk *w, struct part part) {
    for (size_t group = part.group;; group = w->groups[group].parent) {
        const struct group *at = &w->groups[group];
        if (at->has_choice)
            part = body_of(w, group);
        if (group == 0)
            return part;
        if (at->min == 0)
            part = body_of(w, at->parent);
        else if (at->max > 1)
            part = whole_group(w, group);
    }
}

static void insert(struct walk *w, size_t at, const char *text) {
    struct cli_import_pattern *to = w->to;
    size_t len = strlen(text);
    put(w, text, len);
    if (w->no_memory)
        return;
    memmove(to->text + at + len, to->text + at, to->len - at - len);
    memcpy(to->text + at, text, len);
}

/* Returns the part that is the secret in every match. *ret_count is the number of candidates, and *ret_group
 * the last candidate. */
static struct part choose_part(const struct walk *w, size_t *ret_count, size_t *ret_group) {
    struct part part = body_of(w, 0);
    bool has_required = false;
    *ret_count = 0;
    *ret_group = 0;
    for (size_t i = 1; i < w->group_count; i++) {
        if (!is_candidate(w, i))
            continue;
        part = (*ret_count)++ > 0 ? join(w, part, i) : whole_group(w, i);
        *ret_group = i;
    }
    if (*ret_count == 0 || w->request->group > 0)
        return part;
    for (size_t i = 1; i < w->group_count; i++)
        has_required = has_required || (is_candidate(w, i) && is_required(w, i, part.group));
    return widen(w, has_required ? part : body_of(w, part.group));
}

/* Replaces the (?: of a group by (?<secret>. */
static void name_group(struct walk *w, size_t from) {
    insert(w, from + 2, "<secret>");
    if (w->no_memory)
        return;
    char *colon = &w->to->text[from + 2 + strlen("<secret>")];
    assert(*colon == ':');
    memmove(colon, colon + 1, strlen(colon));
    w->to->len--;
}

static void name_secret(struct walk *w) {
    size_t count;
    size_t chosen;
    struct part part = choose_part(w, &count, &chosen);
    const struct group *group = &w->groups[chosen];
    /* Removable parts at the beginning belong to the secret only if the pattern has no groups. */
    if (w->to->groups > 0 && part.from == w->lead_from)
        part.from = w->lead_to;
    bool is_match = part.group == 0 && part.from <= w->lead_to && part.to == w->to->len;
    bool is_group =
        count == 1 && (w->request->group > 0 || (part.from == group->from && part.to == group->end &&
                                                 group->min == 1 && group->max == 1));
    w->to->secret = is_group ? CLI_IMPORT_GROUP : is_match ? CLI_IMPORT_MATCH : CLI_IMPORT_PART;
    w->to->secret_group = group->number;
    if (is_group) {
        name_group(w, group->from);
    } else {
        insert(w, part.to, ")");
        insert(w, part.from, "(?<secret>");
    }
    if (part.from >= w->lead_to && !w->no_memory) {
        memmove(w->to->text + w->lead_from, w->to->text + w->lead_to, w->to->len - w->lead_to + 1);
        w->to->len -= w->lead_to - w->lead_from;
    }
}

bool cli__import_pattern(const struct cli_import_request *request, struct cli_import_pattern *ret_pattern) {
    struct cli_import_pattern pattern = {.groups = 0};
    struct walk w = {.at = request->pattern.data,
                     .end = request->pattern.data + request->pattern.len,
                     .request = request,
                     .to = &pattern};
    if (open_group(&w, 0)) {
        w.current = 0;
        put_text(&w, "");
        walk(&w);
    }
    if (pattern.wrong == NULL && request->group > pattern.groups)
        pattern.wrong = "has no group with the number of its secretGroup";
    if (pattern.wrong == NULL && !w.no_memory) {
        w.groups[0].body_to = w.groups[0].end = pattern.len;
        name_secret(&w);
    }
    free(w.groups);
    if (w.no_memory) {
        cli__import_pattern_release(&pattern);
        return false;
    }
    *ret_pattern = pattern;
    return true;
}

void cli__import_pattern_release(struct cli_import_pattern *pattern) {
    free(pattern->text);
    pattern->text = NULL;
}
