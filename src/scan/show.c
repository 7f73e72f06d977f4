#include "show.h"

#include "base/assert.h"
#include "base/redact.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>

#define SIDE_MAX  4
#define SIDE_PART 6
#define MASK      TS_REPORT_MASK
#define CUT       "…"

const char *scan__redact(struct ts_bytes secret, char ret_text[static SCAN_REDACTED_SIZE]) {
    size_t side = secret.len / SIDE_PART;
    side = side > SIDE_MAX ? SIDE_MAX : side;
    if (side < 2)
        return ts_redact_len(secret.len, ret_text, SCAN_REDACTED_SIZE);
    char first[4 * SIDE_MAX + 4];
    char last[4 * SIDE_MAX + 4];
    (void)ts_text_escape(ts_bytes_first(secret, side), first, sizeof first);
    (void)ts_text_escape(ts_bytes_skip(secret, secret.len - side), last, sizeof last);
    snprintf(ret_text, SCAN_REDACTED_SIZE, "%s" CUT "%s", first, last);
    return ret_text;
}

/* ---- the line ---- */

static bool is_inside_character(uint8_t byte) {
    return (byte & 0xc0) == 0x80;
}

/* The part of the line that is near enough. */
static struct ts_span near_part(struct ts_bytes content, struct ts_span at) {
    size_t from = at.from;
    size_t to = at.from;
    while (from > 0 && at.from - from < SCAN_EXCERPT_BEFORE && content.data[from - 1] != '\n')
        from--;
    while (to < content.len && to - at.from < SCAN_EXCERPT_BEHIND && content.data[to] != '\n')
        to++;
    return (struct ts_span){from, to - from};
}

static void mask_span(bool *masked, struct ts_span part, struct ts_span secret) {
    size_t from = secret.from > part.from ? secret.from : part.from;
    size_t to = secret.from + secret.len;
    to = to < part.from + part.len ? to : part.from + part.len;
    for (size_t i = from; i < to; i++)
        masked[i - part.from] = true;
}

/* Elsewhere in the line, where no rule looked for it. */
static void mask_same(bool *masked, struct ts_bytes part, struct ts_bytes same) {
    for (size_t from = 0; same.len >= 4 && part.len - from >= same.len;) {
        const uint8_t *found = memmem(part.data + from, part.len - from, same.data, same.len);
        if (found == NULL)
            return;
        size_t at = (size_t)(found - part.data);
        memset(masked + at, true, same.len);
        from = at + same.len;
    }
}

static void find_masked(const struct scan_excerpt *excerpt, struct ts_span part, bool *masked) {
    if (excerpt->shown)
        return;
    for (size_t i = 0; i < excerpt->secret_count; i++)
        mask_span(masked, part, excerpt->secrets[i]);
    mask_same(masked, ts_bytes_slice(excerpt->content, part), excerpt->same);
}

/* How much of the line a byte takes when it is shown: a run of masked ones is one mask, counted at its last byte. */
static size_t width_at(const bool *masked, size_t i, size_t len) {
    if (!masked[i])
        return 1;
    return i + 1 == len || !masked[i + 1] ? sizeof MASK - 1 : 0;
}

/* What of the part is shown, as places in it. */
static struct ts_span shown_part(struct ts_bytes part, const bool *masked, size_t secret_at) {
    size_t from = secret_at;
    size_t width = 0;
    while (from > 0 && width + width_at(masked, from - 1, part.len) <= SCAN_EXCERPT_LEAD)
        width += width_at(masked, --from, part.len);
    while (from > 0 && masked[from] && masked[from - 1]) /* a mask is shown whole or not at all */
        from--;
    size_t to = from;
    for (width = 0; to < part.len && width + width_at(masked, to, part.len) <= SCAN_EXCERPT_MAX; to++)
        width += width_at(masked, to, part.len);
    while (from > 0 && from < secret_at && is_inside_character(part.data[from]))
        from++;
    while (to < part.len && to > from + 1 && is_inside_character(part.data[to]))
        to--;
    return (struct ts_span){from, to - from};
}

static size_t put(char *text, size_t len, struct ts_bytes more) {
    memcpy(text + len, more.data, more.len);
    return len + more.len;
}

size_t scan__excerpt(const struct scan_excerpt *excerpt, char ret_text[static SCAN_EXCERPT_SIZE]) {
    bool masked[SCAN_EXCERPT_BEFORE + SCAN_EXCERPT_BEHIND] = {false};
    struct ts_bytes content = excerpt->content;
    struct ts_span near = near_part(content, excerpt->at);
    struct ts_bytes part = ts_bytes_slice(content, near);
    find_masked(excerpt, near, masked);
    struct ts_span shown = shown_part(part, masked, excerpt->at.from - near.from);
    size_t begin = near.from + shown.from;
    size_t end = begin + shown.len;
    bool is_cut = end < content.len && content.data[end] != '\n';
    if (!is_cut && shown.len > 0 && content.data[end - 1] == '\r')
        shown.len--;
    size_t len = begin > 0 && content.data[begin - 1] != '\n' ? put(ret_text, 0, TS_BYTES(CUT)) : 0;
    for (size_t i = shown.from; i < shown.from + shown.len; i++) {
        if (!masked[i])
            ret_text[len++] = (char)part.data[i];
        else if (i == shown.from || !masked[i - 1])
            len = put(ret_text, len, TS_BYTES(MASK));
    }
    return is_cut ? put(ret_text, len, TS_BYTES(CUT)) : len;
}

/* ---- lines ---- */

void scan__lines_init(struct scan_lines *lines, struct ts_bytes content) {
    *lines = (struct scan_lines){.content = content, .line = 1};
}

/* Vectorised by the compiler: it is all that is done for most bytes of a file that has a finding. */
static uint64_t count_breaks(const uint8_t *bytes, size_t len) {
    uint64_t count = 0;
    for (size_t i = 0; i < len; i++)
        count += bytes[i] == '\n';
    return count;
}

struct scan_position scan__lines_find(struct scan_lines *lines, size_t at) {
    ts_assert(at >= lines->at && at <= lines->content.len);
    uint64_t breaks = at > lines->at ? count_breaks(lines->content.data + lines->at, at - lines->at) : 0;
    if (breaks > 0) {
        const uint8_t *last = memrchr(lines->content.data + lines->at, '\n', at - lines->at);
        lines->line_start = (size_t)(last - lines->content.data) + 1;
        lines->bytes_before = 0;
        lines->line += breaks;
    }
    lines->at = at;
    return (struct scan_position){lines->line, lines->bytes_before + (at - lines->line_start) + 1};
}
