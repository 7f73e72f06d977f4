#include "show.h"

#include "base/assert.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>

#define SIDE_MAX  4
#define SIDE_PART 6
#define MASK      TS_REPORT_MASK
#define CUT       "…"

static size_t put(char *text, size_t len, struct ts_bytes more) {
    memcpy(text + len, more.data, more.len);
    return len + more.len;
}

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

#define LABEL_MAX 40
#define ID_SHOWN  8

const char *scan__redact_block(struct ts_bytes secret, const struct ts_finding_id *id,
                               char ret_text[static SCAN_REDACTED_SIZE]) {
    const struct ts_bytes begin = TS_BYTES("-----BEGIN ");
    if (!ts_bytes_starts_with(secret, begin))
        return NULL;
    struct ts_bytes rest = ts_bytes_skip(secret, begin.len);
    size_t len = 0;
    while (len < rest.len && len <= LABEL_MAX &&
           ((rest.data[len] >= 'A' && rest.data[len] <= 'Z') ||
            (rest.data[len] >= '0' && rest.data[len] <= '9') || rest.data[len] == ' '))
        len++;
    if (len == 0 || len > LABEL_MAX || len == rest.len || rest.data[len] != '-')
        return NULL;
    snprintf(ret_text, SCAN_REDACTED_SIZE, "%.*s (%.*s)", (int)len, (const char *)rest.data, ID_SHOWN,
             id->text);
    return ret_text;
}

/* ---- what is no text ---- */

#define BINARY "·"

/* How long the character that begins here is; 0 when none does that could be shown. */
static size_t text_at(struct ts_bytes bytes) {
    if (bytes.data[0] == '\t' || (bytes.data[0] >= 0x20 && bytes.data[0] < 0x7f))
        return 1;
    uint32_t point;
    return bytes.data[0] < 0x80 ? 0 : ts_utf8_decode(bytes, &point);
}

static bool is_wide(struct ts_bytes text) {
    size_t zeros = 0;
    for (size_t i = 0; i < text.len; i++)
        zeros += text.data[i] == 0;
    return zeros >= 4 && zeros >= text.len / 4;
}

/* In place: it never becomes longer, since what takes two bytes stands for two at least. */
static size_t drop_binary(char *text, size_t len) {
    struct ts_bytes rest = ts_bytes_of(text, len);
    bool wide = is_wide(rest);
    size_t kept = 0;
    while (rest.len > 0) {
        size_t run = text_at(rest);
        if (run > 0) {
            memmove(text + kept, rest.data, run);
            kept += run;
        } else {
            while (run < rest.len && text_at(ts_bytes_skip(rest, run)) == 0)
                run++;
            bool is_between = wide && run == 1 && rest.data[0] == 0;
            if (!is_between && run > 1)
                kept = put(text, kept, TS_BYTES(BINARY));
            else if (!is_between)
                text[kept++] = (char)rest.data[0];
        }
        rest = ts_bytes_skip(rest, run);
    }
    return kept;
}

/* ---- the line ---- */

static bool is_inside_character(uint8_t byte) {
    return (byte & 0xc0) == 0x80;
}

/* The part of the line that is near enough. */
static struct ts_span near_part(struct ts_bytes content, struct ts_span at) {
    size_t from = at.from;
    while (from > 0 && at.from - from < SCAN_EXCERPT_BEFORE && content.data[from - 1] != '\n')
        from--;
    size_t to = at.from;
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

/* What of the part is shown, as places in it. A mask is shown whole or not at all: it has its width at its last byte. */
static struct ts_span shown_part(struct ts_bytes part, const bool *masked, size_t secret_at) {
    size_t from = secret_at;
    size_t width = 0;
    while (from > 0 && width + width_at(masked, from - 1, part.len) <= SCAN_EXCERPT_LEAD)
        width += width_at(masked, --from, part.len);
    size_t to = from;
    for (width = 0; to < part.len && width + width_at(masked, to, part.len) <= SCAN_EXCERPT_MAX; to++)
        width += width_at(masked, to, part.len);
    while (from > 0 && from < secret_at && is_inside_character(part.data[from]))
        from++;
    while (to < part.len && to > from + 1 && is_inside_character(part.data[to]))
        to--;
    return (struct ts_span){from, to - from};
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
    len = is_cut ? put(ret_text, len, TS_BYTES(CUT)) : len;
    return drop_binary(ret_text, len);
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
