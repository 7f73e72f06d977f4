#include "glob.h"

#include "base/bytes.h"

#include <stddef.h>
#include <string.h>

/* Returns the end of the class that begins at `at`, or NULL if the class is not closed. */
static const char *class_end(const char *at) {
    const char *end = at + 1;
    if (*end == '!' || *end == '^')
        end++;
    if (*end == ']')
        end++;
    while (*end && *end != ']')
        end++;
    return *end ? end : NULL;
}

static bool class_has(const char *at, const char *end, char c) {
    at++;
    bool negated = *at == '!' || *at == '^';
    if (negated)
        at++;
    bool found = false;
    for (; at < end; at++) {
        if (at + 2 < end && at[1] == '-') {
            found = found || (c >= at[0] && c <= at[2]);
            at += 2;
        } else {
            found = found || c == *at;
        }
    }
    return c != '/' && found != negated;
}

/*
 * here[j] says whether the pattern so far matches the first j characters of the path. Each part of the
 * pattern, from left to right, updates this row in place.
 */
struct rows {
    const char *path;
    size_t len;
    bool here[TS_GLOB_PATH_MAX + 1];
};

static void step_any(struct rows *rows, bool over_slashes) {
    for (size_t j = 1; j <= rows->len; j++)
        rows->here[j] = rows->here[j] || (rows->here[j - 1] && (over_slashes || rows->path[j - 1] != '/'));
}

/* Updates the row for zero or more folders. */
static void step_folders(struct rows *rows) {
    bool any = false;
    for (size_t j = 0; j <= rows->len; j++) {
        bool was = rows->here[j];
        rows->here[j] = was || (any && rows->path[j - 1] == '/');
        any = any || was;
    }
}

static void step_one(struct rows *rows, const char *at, const char *end) {
    for (size_t j = rows->len; j > 0; j--) {
        char c = rows->path[j - 1];
        bool fits = *at == '?' ? c != '/' : *at == '[' ? class_has(at, end, c) : c == *at;
        rows->here[j] = rows->here[j - 1] && fits;
    }
    rows->here[0] = false;
}

static void step_pattern(struct rows *rows, const char *at) {
    while (*at) {
        if (at[0] == '*' && at[1] == '*' && at[2] == '/') {
            step_folders(rows);
            at += 3;
        } else if (at[0] == '*') {
            bool two = at[1] == '*';
            step_any(rows, two);
            at += two ? 2 : 1;
        } else {
            const char *end = at[0] == '[' ? class_end(at) : NULL;
            if (at[0] == '\\' && at[1])
                at++;
            step_one(rows, at, end);
            at = end ? end + 1 : at + 1;
        }
    }
}

/*
 * Returns whether a pattern is only a name, without slash, class, escape and '**'. Such a pattern matches one
 * part of the path. Most patterns are names, such as those of lock files, and a report tries dozens of them
 * for each place, so a fast path without rows handles them.
 */
static bool is_simple(struct ts_bytes body) {
    for (size_t i = 0; i < body.len; i++)
        if (body.data[i] == '/' || body.data[i] == '[' || body.data[i] == '\\' ||
            (body.data[i] == '*' && i + 1 < body.len && body.data[i + 1] == '*'))
            return false;
    return body.len > 0;
}

/* Returns whether the pattern matches one part of a path. After a mismatch, extends the match of the last
 * star by one character, and tries again. */
static bool part_matches(struct ts_bytes body, struct ts_bytes part) {
    size_t after_star = 0; /* position after the last star; 0: no star yet */
    size_t taken = 0;
    size_t i = 0;
    size_t j = 0;
    while (j < part.len) {
        if (i < body.len && body.data[i] == '*') {
            after_star = ++i;
            taken = j;
        } else if (i < body.len && (body.data[i] == '?' || body.data[i] == part.data[j])) {
            i++;
            j++;
        } else if (after_star > 0) {
            i = after_star;
            j = ++taken;
        } else {
            return false;
        }
    }
    return i == body.len || (i + 1 == body.len && body.data[i] == '*');
}

/* Removes the mark of an archive: the part "deploy.zip!" of "deploy.zip!/etc/app.env" becomes
 * "deploy.zip". */
static struct ts_bytes without_mark(struct ts_bytes part) {
    return part.len > 1 && part.data[part.len - 1] == '!' ? ts_bytes_of(part.data, part.len - 1) : part;
}

static bool any_part_matches(struct ts_bytes body, struct ts_bytes path, bool only_below) {
    for (struct ts_bytes rest = path;;) {
        const uint8_t *slash = memchr(rest.data, '/', rest.len);
        struct ts_bytes part = ts_bytes_of(rest.data, slash ? (size_t)(slash - rest.data) : rest.len);
        if ((slash ? slash > path.data : !only_below) &&
            (part_matches(body, part) || (slash && part_matches(body, without_mark(part)))))
            return true;
        if (!slash)
            return false;
        rest = ts_bytes_skip(rest, part.len + 1);
    }
}

bool ts_glob_matches(const char *pattern, const char *path) {
    size_t path_len = strlen(path);
    size_t pattern_len = strlen(pattern);
    if (path_len > TS_GLOB_PATH_MAX || pattern_len > TS_GLOB_PATTERN_MAX)
        return false;
    bool only_below = pattern_len > 1 && pattern[pattern_len - 1] == '/';
    struct ts_bytes simple = ts_bytes_of(pattern, pattern_len - only_below);
    if (is_simple(simple))
        return any_part_matches(simple, ts_bytes_of(path, path_len), only_below);
    if (ts_glob_problem(pattern))
        return false;
    char body[TS_GLOB_PATTERN_MAX + 1];
    memcpy(body, pattern, pattern_len + 1);
    body[simple.len] = '\0';
    struct rows rows; /* not zeroed, because it has 4 KiB and paths are short */
    rows.path = path;
    rows.len = path_len;
    memset(rows.here, 0, path_len + 1);
    rows.here[0] = true;
    if (!strchr(body, '/'))
        step_folders(&rows);
    step_pattern(&rows, body[0] == '/' ? body + 1 : body);
    if (rows.here[rows.len] && !only_below)
        return true;
    for (size_t j = 1; j < rows.len; j++)
        if (rows.here[j] && (path[j] == '/' || (path[j] == '!' && path[j + 1] == '/')))
            return true;
    return false;
}

const char *ts_glob_problem(const char *pattern) {
    if (pattern[0] == '\0')
        return "is empty";
    if (strlen(pattern) > TS_GLOB_PATTERN_MAX)
        return "is too long";
    for (const char *at = pattern; *at; at++) {
        if (*at == '\\' && at[1]) {
            at++;
        } else if (*at == '[') {
            at = class_end(at);
            if (!at)
                return "has a '[' without ']'";
        }
    }
    return NULL;
}
