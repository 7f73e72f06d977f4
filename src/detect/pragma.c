#include "pragma.h"

#include <ctype.h>
#include <string.h>

struct ts_span ts_lines_of(struct ts_bytes text, struct ts_span span) {
    size_t from = span.from;
    size_t to = span.from + span.len;
    while (from > 0 && span.from - from < TS_LINES_MAX && text.data[from - 1] != '\n')
        from--;
    /* If a match ends with a line break, the next line does not belong to the match. */
    if (span.len > 0 && text.data[to - 1] == '\n')
        to--;
    else
        while (to < text.len && to - span.from - span.len < TS_LINES_MAX && text.data[to] != '\n')
            to++;
    return (struct ts_span){from, to - from};
}

struct ts_span ts_line_before(struct ts_bytes text, struct ts_span lines) {
    if (lines.from == 0 || text.data[lines.from - 1] != '\n')
        return (struct ts_span){lines.from, 0};
    size_t to = lines.from - 1;
    size_t from = to;
    while (from > 0 && to - from < TS_LINES_MAX && text.data[from - 1] != '\n')
        from--;
    return (struct ts_span){from, to - from};
}

static bool same_letter(uint8_t a, char b) {
    return tolower(a) == tolower((unsigned char)b);
}

static bool is_word(uint8_t c) {
    return isalnum(c) || c == '_' || c == '-' || c == ':';
}

/* Finds the next byte from `at` that equals c, ignoring case. Returns NULL if there is none before end. */
static const uint8_t *next_byte(const uint8_t *at, const uint8_t *end, char c) {
    if (!isalpha((unsigned char)c))
        return memchr(at, c, (size_t)(end - at));
    uint8_t lower = (uint8_t)tolower((unsigned char)c);
    while (at < end && (*at | 0x20) != lower)
        at++;
    return at < end ? at : NULL;
}

/* Returns the end of the mark that begins here, ignoring case, or NULL if there is no mark here. As in
 * detect-secrets, the blank after a colon is optional, and other blanks may be dashes. */
static const uint8_t *mark_end(const uint8_t *at, const uint8_t *end, const char *mark) {
    for (char before = 0; *mark; before = *mark++) {
        if (*mark == ' ' && before == ':') {
            at += at < end && *at == ' ';
            continue;
        }
        if (at == end || !(same_letter(*at, *mark) || (*mark == ' ' && *at == '-')))
            return NULL;
        at++;
    }
    return at;
}

/* Returns the end of the next occurrence of a mark; NULL if there is none. The mark must be a separate word.
 * A mark that ends with a colon may be the beginning of a word. A finding may be in a line of many kilobytes,
 * so the function first searches for the rare colon of the mark. */
static const uint8_t *behind(struct ts_bytes text, const uint8_t *from, const char *mark) {
    const char *colon = strchr(mark, ':');
    size_t pivot = colon != NULL ? (size_t)(colon - mark) : 0;
    bool goes_on = mark[strlen(mark) - 1] == ':';
    const uint8_t *end = text.data + text.len;
    if ((size_t)(end - from) < pivot)
        return NULL;
    for (const uint8_t *at = from + pivot; at < end && (at = next_byte(at, end, mark[pivot])) != NULL; at++) {
        const uint8_t *begin = at - pivot;
        const uint8_t *after = mark_end(begin, end, mark);
        if (after && (begin == text.data || !is_word(begin[-1])) &&
            (after == end || goes_on || !is_word(*after)))
            return after;
    }
    return NULL;
}

static const uint8_t *over_blanks(const uint8_t *at, const uint8_t *end) {
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* Returns whether a mark applies to the rule. After our own mark, a list such as "=jwt,github-pat" names the
 * rules; blanks around the '=' are allowed. A mark without a list applies to all rules. */
static bool names_rule(const uint8_t *at, const uint8_t *end, const char *rule) {
    at = over_blanks(at, end);
    if (at == end || *at != '=')
        return true;
    at = over_blanks(at + 1, end);
    for (;; at++) {
        const uint8_t *begin = at;
        while (at < end && (islower(*at) || isdigit(*at) || *at == '-'))
            at++;
        size_t len = (size_t)(at - begin);
        if (len == strlen(rule) && memcmp(begin, rule, len) == 0)
            return true;
        if (at == end || *at != ',')
            return false;
    }
}

/* Returns the first mark whose code is in the list after "noqa:", or NULL. The codes of the marks are those
 * for passwords in programs. As in flake8 and ruff, commas or blanks separate the codes: "E501, S105". */
static const char *find_code(const uint8_t *at, const uint8_t *end) {
    static const char *const marks[] = {"noqa: S105", "noqa: S106", "noqa: S107"};
    enum { CODE_AT = 6, CODE_LEN = 4 };
    for (;;) {
        while (at < end && (*at == ',' || *at == ' ' || *at == '\t'))
            at++;
        const uint8_t *begin = at;
        while (at < end && isalpha(*at))
            at++;
        const uint8_t *digits = at;
        while (at < end && isdigit(*at))
            at++;
        if (digits == begin || at == digits || (at < end && is_word(*at)))
            return NULL;
        for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
            if (at - begin == CODE_LEN && mark_end(begin, at, marks[i] + CODE_AT))
                return marks[i];
    }
}

const char *ts_pragma_find(struct ts_bytes lines, struct ts_bytes line_before, const char *rule) {
    static const char own[] = "turnstone:allow";
    static const char next_line[] = "pragma: allowlist nextline secret";
    static const char *const others[] = {"gitleaks:allow",
                                         "trufflehog:ignore",
                                         "kingfisher:ignore",
                                         "pragma: allowlist secret",
                                         "pragma: whitelist secret",
                                         "nosec",
                                         "NOSONAR"};
    if (lines.len > 0) {
        for (const uint8_t *at = lines.data; (at = behind(lines, at, own));)
            if (names_rule(at, lines.data + lines.len, rule))
                return own;
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
            if (behind(lines, lines.data, others[i]))
                return others[i];
        for (const uint8_t *at = lines.data; (at = behind(lines, at, "noqa:"));) {
            const char *code = find_code(at, lines.data + lines.len);
            if (code)
                return code;
        }
    }
    if (line_before.len > 0 && behind(line_before, line_before.data, next_line))
        return next_line;
    return NULL;
}
