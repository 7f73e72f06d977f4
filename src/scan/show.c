#include "show.h"

#include "base/assert.h"
#include "base/endian.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>

#define SIDE_MAX  4
#define SIDE_PART 6
#define SHAPE_MIN 6 /* the shape of a shorter secret would reveal too much */
/* Shorter secrets are masked only where they were found. */
#define SAME_MIN  4
/* A line with this many short secrets is not shown: searching for each of them takes too long. */
#define SHORT_MAX 32
#define MASK      TS_REPORT_MASK
#define CUT       "…"

static size_t put(char *text, size_t len, struct ts_bytes more) {
    memcpy(text + len, more.data, more.len);
    return len + more.len;
}

static char kind_of(uint8_t c) {
    if (c >= 'A' && c <= 'Z')
        return 'X';
    if (c >= 'a' && c <= 'z')
        return 'x';
    return c >= '0' && c <= '9' ? '9' : '!';
}

/* Writes the shape of a secret, such as "Xxxx99!": each character is replaced by its kind. Writes only the
 * length if the secret is too short, equals its shape, or has a character that is not printable ASCII. */
static const char *redact_short(struct ts_bytes secret, char ret_text[static SCAN_REDACTED_SIZE]) {
    bool has_shape = secret.len >= SHAPE_MIN;
    for (size_t i = 0; i < secret.len && has_shape; i++) {
        uint8_t c = secret.data[i];
        ret_text[i] = kind_of(c);
        has_shape = c > ' ' && c < 0x7f;
    }
    if (!has_shape || memcmp(ret_text, secret.data, secret.len) == 0)
        return ts_redact_len(secret.len, ret_text, SCAN_REDACTED_SIZE);
    ret_text[secret.len] = '\0';
    return ret_text;
}

const char *scan__redact(struct ts_bytes secret, char ret_text[static SCAN_REDACTED_SIZE]) {
    size_t side = secret.len / SIDE_PART;
    side = side > SIDE_MAX ? SIDE_MAX : side;
    if (side < 2)
        return redact_short(secret, ret_text);
    char first[4 * SIDE_MAX + 4];
    char last[4 * SIDE_MAX + 4];
    (void)ts_text_escape(ts_bytes_first(secret, side), first, sizeof first);
    (void)ts_text_escape(ts_bytes_skip(secret, secret.len - side), last, sizeof last);
    snprintf(ret_text, SCAN_REDACTED_SIZE, "%s" CUT "%s", first, last);
    return ret_text;
}

const char *scan__show_whole(struct ts_bytes value, char ret_text[static SCAN_REDACTED_SIZE]) {
    return value.len < SCAN_REDACTED_SIZE ? ts_text_escape(value, ret_text, SCAN_REDACTED_SIZE)
                                          : scan__redact(value, ret_text);
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

/* ---- bytes that are not text ---- */

#define BINARY "·"

/* Returns the length of the character that begins here; 0 if the character cannot be shown. */
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

/* Replaces each run of two or more bytes that are not text. In wide text, drops single zeros. Works in place:
 * the text never becomes longer, because a mark of two bytes replaces at least two bytes. */
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

/* ---- surroundings of a secret ---- */

/*
 * The encoding of `around`: four numbers of two bytes, then the line. In the line, ESCAPE LEFT_OUT means an
 * omitted run. ESCAPE ITSELF means the byte ESCAPE, which never occurs in UTF-8. ESCAPE HIDDEN means that the
 * next byte is not shown. In the numbers, each of these sequences counts as one byte.
 */
#define ESCAPE   0xff
#define ITSELF   0
#define LEFT_OUT 1
#define HIDDEN   2

struct head {
    uint16_t at;   /* start of the secret */
    uint16_t from; /* start of the part that may be shown */
    uint16_t to;
    uint16_t is_cut; /* bits CUT_BEFORE and CUT_BEHIND: the line continues there */
};
#define HEAD_LEN   8
#define CUT_BEFORE 1
#define CUT_BEHIND 2

/* Returns the part of the line that is near enough to the secret. */
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

/* Hides all occurrences of the secret in the line, including those that no rule found. */
static void hide_same(bool *hidden, struct ts_bytes part, struct ts_bytes same) {
    for (size_t from = 0; same.len >= SAME_MIN && part.len - from >= same.len;) {
        const uint8_t *found = memmem(part.data + from, part.len - from, same.data, same.len);
        if (found == NULL)
            return;
        size_t at = (size_t)(found - part.data);
        memset(hidden + at, true, same.len);
        from = at + 1;
    }
}

static void find_masked(const struct scan_around *around, struct ts_span part, bool *masked) {
    if (around->is_hidden)
        memset(masked, true, part.len);
    for (size_t i = 0; i < around->secret_count; i++)
        mask_span(masked, part, around->secrets[i]);
}

/* Finds hidden bytes. Searches only for `same` and for short secrets; prints find longer secrets. */
static void find_hidden(const struct scan_around *around, struct ts_span part, bool *hidden) {
    struct ts_bytes bytes = ts_bytes_slice(around->content, part);
    size_t short_count = 0;
    hide_same(hidden, bytes, around->same);
    for (size_t i = 0; i < around->secret_count && short_count < SHORT_MAX; i++) {
        if (around->secrets[i].len >= SCAN_PRINT_MIN)
            continue;
        hide_same(hidden, bytes, ts_bytes_slice(around->content, around->secrets[i]));
        short_count++;
    }
    if (short_count == SHORT_MAX)
        memset(hidden, true, part.len);
}

/* Writes the encoding of the surroundings, without masked bytes. Hidden bytes that are not masked are kept,
 * because they may be part of a longer secret. The numbers in `places` are positions in `bytes`. */
static size_t pack(const struct head *places, struct ts_bytes bytes, const bool *masked, const bool *hidden,
                   char *ret_text) {
    struct head head = *places;
    uint8_t *out = (uint8_t *)ret_text;
    size_t len = HEAD_LEN;
    uint16_t count = 0;
    for (size_t i = 0; i <= bytes.len; i++) {
        bool goes_on = i > 0 && i < bytes.len && masked[i] && masked[i - 1];
        uint16_t place = (uint16_t)(count - goes_on);
        head.at = i <= places->at ? place : head.at;
        head.from = i <= places->from ? place : head.from;
        head.to = i <= places->to ? count : head.to;
        if (i == bytes.len || goes_on)
            continue;
        bool is_hidden = hidden != NULL && hidden[i] && !masked[i];
        if (masked[i] || is_hidden || bytes.data[i] == ESCAPE) {
            out[len++] = ESCAPE;
            out[len++] = masked[i] ? LEFT_OUT : is_hidden ? HIDDEN : ITSELF;
        }
        if (is_hidden || (!masked[i] && bytes.data[i] != ESCAPE))
            out[len++] = bytes.data[i];
        count++;
    }
    ts_le16_store(head.at, out);
    ts_le16_store(head.from, out + 2);
    ts_le16_store(head.to, out + 4);
    ts_le16_store(head.is_cut, out + 6);
    return len;
}

size_t scan__around(const struct scan_around *around, char ret_text[static SCAN_AROUND_SIZE]) {
    bool masked[SCAN_EXCERPT_BEFORE + SCAN_EXCERPT_BEHIND] = {false};
    bool hidden[SCAN_EXCERPT_BEFORE + SCAN_EXCERPT_BEHIND] = {false};
    struct ts_bytes content = around->content;
    struct ts_span near = near_part(content, around->at);
    bool cut_before = near.from > 0 && content.data[near.from - 1] != '\n';
    bool cut_behind = near.from + near.len < content.len && content.data[near.from + near.len] != '\n';
    struct head places = {.at = (uint16_t)(around->at.from - near.from),
                          .from = cut_before ? SCAN_EXCERPT_EDGE : 0,
                          .to = (uint16_t)(cut_behind ? near.len - SCAN_EXCERPT_EDGE : near.len),
                          .is_cut = (uint16_t)(cut_before * CUT_BEFORE | cut_behind * CUT_BEHIND)};
    if (!around->shown) {
        find_masked(around, near, masked);
        find_hidden(around, near, hidden);
    }
    return pack(&places, ts_bytes_slice(content, near), masked, hidden, ret_text);
}

/* ---- the excerpt ---- */

/* The surroundings of a secret, as a list of bytes and omitted runs. */
struct line {
    struct head head;
    size_t len;
    /* A line break stands for an omitted run, because a line contains no line break. */
    uint8_t bytes[SCAN_EXCERPT_BEFORE + SCAN_EXCERPT_BEHIND];
    bool masked[SCAN_EXCERPT_BEFORE + SCAN_EXCERPT_BEHIND];
    bool has_hidden; /* some bytes are masked, but not omitted */
};

/* Decodes the surroundings of a secret, which are empty if there was no memory for them. Returns false if
 * scan__around cannot have written them. */
static bool read_line(struct ts_bytes around, struct line *ret_line) {
    ret_line->head = (struct head){.at = 0};
    ret_line->len = 0;
    ret_line->has_hidden = false;
    if (around.len < HEAD_LEN)
        return around.len == 0;
    ret_line->head = (struct head){.at = ts_le16_load(around.data),
                                   .from = ts_le16_load(around.data + 2),
                                   .to = ts_le16_load(around.data + 4),
                                   .is_cut = ts_le16_load(around.data + 6)};
    for (size_t i = HEAD_LEN; i < around.len; i++) {
        bool is_escape = around.data[i] == ESCAPE;
        if (ret_line->len == sizeof ret_line->bytes || (is_escape && i + 1 == around.len))
            return false;
        uint8_t kind = is_escape ? around.data[++i] : ITSELF;
        bool is_hidden = kind == HIDDEN && i + 1 < around.len;
        uint8_t byte = is_hidden ? around.data[++i] : is_escape ? ESCAPE : around.data[i];
        ret_line->bytes[ret_line->len] = kind == LEFT_OUT ? '\n' : byte;
        ret_line->masked[ret_line->len++] = kind == LEFT_OUT || is_hidden;
        ret_line->has_hidden = ret_line->has_hidden || is_hidden;
    }
    return ret_line->head.from <= ret_line->head.at && ret_line->head.at <= ret_line->head.to &&
           ret_line->head.to <= ret_line->len;
}

bool scan__around_is_sound(struct ts_bytes around) {
    struct line line;
    return read_line(around, &line);
}

bool scan__around_touched(struct ts_bytes around, struct scan_masks *masks) {
    struct line line;
    bool sound = read_line(around, &line);
    ts_assert(sound);
    return line.has_hidden || scan__masks_touch(masks, ts_bytes_of(line.bytes, line.len));
}

static bool add_masks(struct line *line, struct scan_masks *masks) {
    bool found[sizeof line->bytes];
    if (masks == NULL || !scan__masks_find(masks, ts_bytes_of(line->bytes, line->len), found))
        return line->has_hidden;
    for (size_t i = 0; i < line->len; i++)
        line->masked[i] = line->masked[i] || found[i];
    return true;
}

size_t scan__around_mask(struct ts_bytes around, struct scan_masks *masks,
                         char ret_text[static SCAN_AROUND_SIZE]) {
    struct line line;
    bool sound = read_line(around, &line);
    ts_assert(sound);
    return add_masks(&line, masks)
               ? pack(&line.head, ts_bytes_of(line.bytes, line.len), line.masked, NULL, ret_text)
               : 0;
}

static bool is_inside_character(uint8_t byte) {
    return (byte & 0xc0) == 0x80;
}

/* Returns the width of a byte in the output. A run of masked bytes is shown as one mask, whose width counts
 * at the last byte of the run. */
static size_t width_at(const struct line *line, size_t i) {
    if (!line->masked[i])
        return 1;
    return i + 1 == line->len || !line->masked[i + 1] ? sizeof MASK - 1 : 0;
}

/* Returns the part of the line that is shown. A mask is shown completely or not at all, because its width
 * counts at its last byte. */
static struct ts_span shown_part(const struct line *line) {
    const struct head *head = &line->head;
    size_t from = head->at;
    size_t width = 0;
    while (from > head->from && width + width_at(line, from - 1) <= SCAN_EXCERPT_LEAD)
        width += width_at(line, --from);
    size_t to = from;
    for (width = 0; to < head->to && width + width_at(line, to) <= SCAN_EXCERPT_MAX; to++)
        width += width_at(line, to);
    while (from > 0 && from < head->at && is_inside_character(line->bytes[from]))
        from++;
    while (to < line->len && to > from + 1 && is_inside_character(line->bytes[to]))
        to--;
    return (struct ts_span){from, to - from};
}

size_t scan__excerpt(struct ts_bytes around, struct scan_masks *masks,
                     char ret_text[static SCAN_EXCERPT_SIZE]) {
    struct line line;
    if (masks != NULL && scan__masks_is_over(masks))
        return put(ret_text, 0, TS_BYTES(MASK));
    bool sound = read_line(around, &line);
    ts_assert(sound);
    (void)add_masks(&line, masks);
    struct ts_span shown = shown_part(&line);
    size_t end = shown.from + shown.len;
    bool begins = shown.from == 0 && (line.head.is_cut & CUT_BEFORE) == 0;
    bool ends = end == line.len && (line.head.is_cut & CUT_BEHIND) == 0;
    if (ends && shown.len > 0 && line.bytes[end - 1] == '\r')
        end--;
    size_t len = begins ? 0 : put(ret_text, 0, TS_BYTES(CUT));
    for (size_t i = shown.from; i < end; i++) {
        if (!line.masked[i])
            ret_text[len++] = (char)line.bytes[i];
        else if (i == shown.from || !line.masked[i - 1])
            len = put(ret_text, len, TS_BYTES(MASK));
    }
    len = ends ? len : put(ret_text, len, TS_BYTES(CUT));
    return drop_binary(ret_text, len);
}

/* ---- lines ---- */

void scan__lines_init(struct scan_lines *lines, struct ts_bytes content) {
    *lines = (struct scan_lines){.content = content, .line = 1};
}

/* Counts line breaks. Every file with a finding is counted, so the inner loop has a form that the compiler
 * vectorises. The sums fit into bytes for STEPS steps. */
static uint64_t count_breaks(const uint8_t *bytes, size_t len) {
    enum { LANES = 32, STEPS = 255 };
    uint64_t count = 0;
    size_t at = 0;
    while (len - at >= LANES) {
        uint8_t sums[LANES] = {0};
        for (size_t step = 0; step < STEPS && len - at >= LANES; step++, at += LANES)
            for (size_t i = 0; i < LANES; i++)
                sums[i] = (uint8_t)(sums[i] + (bytes[at + i] == '\n'));
        for (size_t i = 0; i < LANES; i++)
            count += sums[i];
    }
    for (; at < len; at++)
        count += bytes[at] == '\n';
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
