#include "show.h"

#include "base/assert.h"
#include "base/redact.h"

#include <stdio.h>
#include <string.h>

#define SIDE_MAX  4
#define SIDE_PART 6
#define MASK      "********"
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

/* The part of the line that is shown. */
static struct ts_span shown_part(struct ts_bytes content, struct ts_span at, bool *ret_cut_before,
                                 bool *ret_cut_after) {
    size_t from = at.from;
    while (from > 0 && at.from - from < SCAN_EXCERPT_LEAD && content.data[from - 1] != '\n')
        from--;
    size_t to = at.from;
    while (to < content.len && to - from < SCAN_EXCERPT_MAX && content.data[to] != '\n')
        to++;
    *ret_cut_before = from > 0 && content.data[from - 1] != '\n';
    *ret_cut_after = to < content.len && content.data[to] != '\n';
    while (*ret_cut_before && from < at.from && is_inside_character(content.data[from]))
        from++;
    while (*ret_cut_after && to > from + 1 && is_inside_character(content.data[to]))
        to--;
    if (!*ret_cut_after && to > from && content.data[to - 1] == '\r')
        to--;
    return (struct ts_span){from, to - from};
}

static void mask_span(bool *masked, struct ts_span part, struct ts_span secret) {
    size_t from = secret.from > part.from ? secret.from : part.from;
    size_t to = secret.from + secret.len;
    to = to < part.from + part.len ? to : part.from + part.len;
    for (size_t i = from; i < to; i++)
        masked[i - part.from] = true;
}

/* Elsewhere in the line, where no rule looked for it: a cut may hide a part of it, so the whole line is not needed. */
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

size_t scan__excerpt(const struct scan_excerpt *excerpt, char ret_text[static SCAN_EXCERPT_SIZE]) {
    bool cut_before;
    bool cut_after;
    struct ts_span part = shown_part(excerpt->content, excerpt->at, &cut_before, &cut_after);
    struct ts_bytes bytes = ts_bytes_slice(excerpt->content, part);
    bool masked[SCAN_EXCERPT_MAX + 1] = {false};
    for (size_t i = 0; !excerpt->shown && i < excerpt->secret_count; i++)
        mask_span(masked, part, excerpt->secrets[i]);
    if (!excerpt->shown)
        mask_same(masked, bytes, excerpt->same);
    size_t len = 0;
    if (cut_before) {
        memcpy(ret_text, CUT, sizeof CUT - 1);
        len += sizeof CUT - 1;
    }
    for (size_t i = 0; i < bytes.len; i++) {
        if (!masked[i]) {
            ret_text[len++] = (char)bytes.data[i];
        } else if (i == 0 || !masked[i - 1]) {
            memcpy(ret_text + len, MASK, sizeof MASK - 1);
            len += sizeof MASK - 1;
        }
    }
    if (cut_after) {
        memcpy(ret_text + len, CUT, sizeof CUT - 1);
        len += sizeof CUT - 1;
    }
    return len;
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
