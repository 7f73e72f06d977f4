#include "columns.h"

#include "base/utf8.h"

#include <string.h>

#define CUT        "…"
#define BINARY     "·" /* stands for an excerpt that is not plain text */
#define SECRET     "(?<secret>"
#define BEYOND     "SWDHVNRXCPphvxo" /* escapes that match, or may match, bytes above 7f */
#define ORDER_MARK "\xef\xbb\xbf"

static bool contains(struct ts_bytes bytes, const char *part) {
    return memmem(bytes.data, bytes.len, part, strlen(part)) != NULL;
}

/* Returns whether the group `secret` of the pattern can match only ASCII: the group has no negated class and
 * no wildcard. Returns false if unsure. */
static bool is_ascii_group(const char *pattern) {
    const char *at = pattern != NULL ? strstr(pattern, SECRET) : NULL;
    unsigned depth = 1;
    bool in_class = false;
    if (at == NULL)
        return false;
    for (at += sizeof SECRET - 1; *at != '\0'; at++) {
        if ((*at & 0x80) != 0 || (*at == '\\' && (at[1] == '\0' || strchr(BEYOND, at[1]) != NULL)))
            return false;
        if (*at == '\\') {
            at++;
        } else if (in_class) {
            if (at[0] == '[' && at[1] == ':' && at[2] == '^')
                return false;
            in_class = *at != ']';
        } else if (*at == '[') {
            in_class = true;
            if (at[1] == '^')
                return false;
            at += at[1] == ']';
        } else if (*at == '.') {
            return false;
        } else if (*at == '(' || *at == ')') {
            depth += *at == '(' ? 1U : -1U;
            if (depth == 0)
                return true;
        }
    }
    return false;
}

/* Returns the column after the bytes: the number of their characters plus one. Returns 0 when the bytes are
 * not UTF-8, because readers count such bytes differently. */
static uint64_t behind_characters(struct ts_bytes bytes) {
    uint64_t column = 1;
    while (bytes.len > 0) {
        uint32_t point;
        size_t len = ts_utf8_decode(bytes, &point);
        if (len == 0)
            return 0;
        bytes = ts_bytes_skip(bytes, len);
        column++;
    }
    return column;
}

/* Finds the part of the line before the secret. Returns false when the excerpt does not contain all of that
 * part unchanged. */
static bool find_before(const struct ts_report *report, const struct ts_report_finding *finding,
                        struct ts_bytes *ret_before) {
    const struct ts_report_occurrence *first = &finding->occurrences[0];
    struct ts_bytes secret = report->shows_secrets ? finding->secret : TS_BYTES(TS_REPORT_MASK);
    if (first->column - 1 > finding->excerpt.len || (report->shows_secrets && finding->depth > 0))
        return false;
    struct ts_bytes before = ts_bytes_first(finding->excerpt, (size_t)first->column - 1);
    struct ts_bytes rest = ts_bytes_skip(finding->excerpt, before.len);
    if (report->shows_secrets) {
        /* A secret may have several lines or be cut, so only its beginning is compared. */
        secret = ts_bytes_first(secret, secret.len < 4 ? secret.len : 4);
    }
    if (secret.len == 0 || !ts_bytes_starts_with(rest, secret) || contains(before, CUT) ||
        contains(before, BINARY) || contains(before, TS_REPORT_MASK))
        return false;
    *ret_before = before;
    return true;
}

struct report_columns report__columns_of(const struct ts_report *report,
                                         const struct ts_report_finding *finding,
                                         const struct ts_report_occurrence *occurrence) {
    bool is_first = occurrence == &finding->occurrences[0];
    bool is_ascii = (is_first && finding->depth > 0) || is_ascii_group(finding->rule->pattern);
    bool is_one_line = occurrence->end_line == occurrence->line;
    struct report_columns columns = {.end = is_ascii && !is_one_line ? occurrence->end_column : 0};
    struct ts_bytes before;
    if (!is_first || !find_before(report, finding, &before))
        return columns;
    if (occurrence->line == 1 && ts_bytes_starts_with(before, TS_BYTES(ORDER_MARK)))
        before = ts_bytes_skip(before, sizeof ORDER_MARK - 1);
    columns.start = behind_characters(before);
    if (columns.start == 0 || !is_one_line)
        return columns;
    uint64_t secret_end = report->shows_secrets ? behind_characters(finding->secret) : 0;
    if (is_ascii)
        columns.end = columns.start + (occurrence->end_column - occurrence->column);
    else if (secret_end != 0)
        columns.end = columns.start + secret_end - 1;
    return columns;
}
