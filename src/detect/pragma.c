#include "pragma.h"

#include <ctype.h>
#include <string.h>

struct ts_span ts_lines_of(struct ts_bytes text, struct ts_span span) {
    size_t from = span.from;
    size_t to = span.from + span.len;
    while (from > 0 && span.from - from < TS_LINES_MAX && text.data[from - 1] != '\n')
        from--;
    /* A match that ends with a line break does not take the next line with it. */
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

/* The next byte from `at` that is c, a letter in either case; NULL when there is none before end. */
static const uint8_t *next_byte(const uint8_t *at, const uint8_t *end, char c) {
    if (!isalpha((unsigned char)c))
        return memchr(at, c, (size_t)(end - at));
    uint8_t lower = (uint8_t)tolower((unsigned char)c);
    while (at < end && (*at | 0x20) != lower)
        at++;
    return at < end ? at : NULL;
}

static bool is_mark(struct ts_bytes text, const uint8_t *at, const char *mark, size_t len) {
    const uint8_t *end = text.data + text.len;
    for (size_t i = 0; i < len; i++)
        if (!same_letter(at[i], mark[i]))
            return false;
    return (at == text.data || !is_word(at[-1])) && (at + len == end || !is_word(at[len]));
}

/* Behind the next occurrence of a mark, in any case and as a word of its own; NULL when there is none. Looks for its
 * colon first, which is rare: a finding may stand in a line of many kilobytes. */
static const uint8_t *behind(struct ts_bytes text, const uint8_t *from, const char *mark) {
    size_t len = strlen(mark);
    const char *colon = strchr(mark, ':');
    size_t pivot = colon != NULL ? (size_t)(colon - mark) : 0;
    const uint8_t *end = text.data + text.len;
    if ((size_t)(end - from) < len)
        return NULL;
    const uint8_t *last = end - (len - pivot) + 1; /* behind the last place where the pivot can be */
    for (const uint8_t *at = from + pivot; at < last && (at = next_byte(at, last, mark[pivot])) != NULL; at++)
        if (is_mark(text, at - pivot, mark, len))
            return at - pivot + len;
    return NULL;
}

/* "=jwt,github-pat" behind our own mark names the rules that it is for; without it, it is for all. */
static bool names_rule(const uint8_t *at, const uint8_t *end, const char *rule) {
    if (at == end || *at != '=')
        return true;
    do {
        const uint8_t *begin = ++at;
        while (at < end && (islower(*at) || isdigit(*at) || *at == '-'))
            at++;
        size_t len = (size_t)(at - begin);
        if (len == strlen(rule) && memcmp(begin, rule, len) == 0)
            return true;
    } while (at < end && *at == ',');
    return false;
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
                                         "NOSONAR",
                                         "noqa: S105",
                                         "noqa: S106",
                                         "noqa: S107"};
    if (lines.len > 0) {
        for (const uint8_t *at = lines.data; (at = behind(lines, at, own));)
            if (names_rule(at, lines.data + lines.len, rule))
                return own;
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
            if (behind(lines, lines.data, others[i]))
                return others[i];
    }
    if (line_before.len > 0 && behind(line_before, line_before.data, next_line))
        return next_line;
    return NULL;
}
