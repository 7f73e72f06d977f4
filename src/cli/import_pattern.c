/*
 * One walk over the text:
 *
 *     (…)  (?P<name>…)      (?<secret>…) for the group of the secret, (?:…) for the others
 *     *  +  {3,}            {0,N}  {1,N}  {3,N}
 *     (?x) with its blanks and comments                  removed
 *     \A  \z                ^  $
 *     [\w.-]{0,50}? at the beginning                     removed: it does not change what matches, and is slow
 */
#include "import_pattern.h"

#include "os/grow.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 100

struct walk {
    const uint8_t *at;
    const uint8_t *end;
    const struct cli_import_request *request;
    struct cli_import_pattern *to;
    uint32_t wanted;                 /* the group of the secret */
    unsigned depth;                  /* current nesting depth of groups */
    bool is_extended[DEPTH_MAX + 1]; /* (?x), by depth */
    bool is_atom;                    /* the last element can be repeated */
    bool is_first;                   /* only flags precede the last atom */
    size_t atom;                     /* position of the last atom in the result */
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

/* Marks the beginning of an element that may be repeated. */
static void begin_atom(struct walk *w) {
    w->is_first = w->depth == 0 && w->to->len == w->atom && !w->is_atom;
    w->atom = w->to->len;
    w->is_atom = true;
}

/* Flags, assertions and beginnings of groups cannot be repeated. */
static void end_atom(struct walk *w) {
    w->is_atom = false;
    w->is_first = false;
}

/* ---- parts ---- */

/* The length of an escape: \d, \x4f, \x{4f}, \p{L}. */
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
        refuse(w, "has a class of Unicode; patterns match bytes");
    } else if (w->at[1] >= '1' && w->at[1] <= '9') {
        refuse(w, "has a back reference");
    } else if (w->at[1] == 'Q') {
        refuse(w, "has \\Q; write the text with backslashes");
    } else {
        begin_atom(w);
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
        refuse(w, "has a class without an end");
        return;
    }
    w->at++;
    begin_atom(w);
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

/* {3}, {3,} or {3,9}. Returns where it ends, or NULL if the brace is a literal. */
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

/* Returns false if there is no repeat here. */
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
    if (w->is_first && min == 0 && w->wanted > 0) { /* useless, unless the secret is the whole match */
        w->to->len = w->atom;
    } else if (max != UINT32_MAX) {
        put(w, from, (size_t)(w->at - from));
    } else {
        w->to->is_bounded = true;
        put_text(w, "{");
        put_number(w, min);
        put_text(w, ",");
        put_number(w, w->request->bound > min ? w->request->bound : min);
        put_text(w, is_lazy ? "}?" : "}");
    }
    w->is_first = false;
    return true;
}

/* ---- groups ---- */

static void enter(struct walk *w, const char *text) {
    if (w->depth == DEPTH_MAX) {
        refuse(w, "has groups that are nested too deep");
        return;
    }
    w->depth++;
    w->is_extended[w->depth] = w->is_extended[w->depth - 1];
    put_text(w, text);
    end_atom(w);
}

/* (?i), (?x-i:  and the like; `at` is after the question mark. */
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
        refuse(w, "has a group without an end");
        return;
    }
    bool is_group = *w->at++ == ':';
    size_t from = w->to->len;
    if (is_group)
        enter(w, "(?");
    else if (len > 0)
        put_text(w, "(?");
    put_text(w, flags);
    if (is_group || len > 0)
        put_text(w, is_group ? ":" : ")");
    w->is_extended[w->depth] = is_extended;
    if (!is_group && w->atom == from && !w->is_atom) /* only flags so far */
        w->atom = w->to->len;
}

static void walk_capture(struct walk *w) {
    enter(w, ++w->to->groups == w->wanted ? "(?<secret>" : "(?:");
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
    w->depth--;
    put_text(w, ")");
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
        put(w, &c, 1);
        return;
    }
    begin_atom(w);
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
        refuse(w, "has a group without an end");
}

bool cli__import_pattern(const struct cli_import_request *request, struct cli_import_pattern *ret_pattern) {
    for (uint32_t wanted = request->group > 0 ? request->group : 1;; wanted = 0) {
        struct cli_import_pattern pattern = {.groups = 0};
        struct walk w = {.at = request->pattern.data,
                         .end = request->pattern.data + request->pattern.len,
                         .request = request,
                         .to = &pattern,
                         .wanted = wanted};
        if (wanted == 0)
            put_text(&w, "(?<secret>");
        w.atom = pattern.len;
        walk(&w);
        if (wanted == 0)
            put_text(&w, ")");
        if (w.no_memory) {
            cli__import_pattern_release(&pattern);
            return false;
        }
        if (pattern.wrong == NULL && request->group > pattern.groups)
            pattern.wrong = "has fewer groups than the number of its secret's group";
        *ret_pattern = pattern;
        if (pattern.wrong != NULL || wanted == 0 || pattern.groups > 0)
            return true;
        cli__import_pattern_release(ret_pattern); /* no group: the whole match is the secret */
    }
}

void cli__import_pattern_release(struct cli_import_pattern *pattern) {
    free(pattern->text);
    pattern->text = NULL;
}
