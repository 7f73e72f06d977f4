/*
 * Finds encoded text, decodes it in parts, and scans each part as a frame.
 *
 * A part has DETECT_PART_CORE characters of encoded text, and DETECT_PART_MARGIN more on both sides. A match
 * that depends on at most DETECT_ENCODED_REACH bytes of the input is completely in one of the parts, wherever
 * the input is cut. report() in search.c drops matches that touch the cut end of a part, because the next
 * part contains them.
 *
 * base64 does not show where a group of four begins. The beginning of the text may be far away, and line
 * breaks shift it, so all four groupings are tried. Only one gives readable text; the other three are
 * rejected after a check of every fourth group. ASCII text in UTF-16 is characters with zeros between them,
 * in both byte orders. Base64 and percent-encoding may encode UTF-16, too: then the decoded text has zeros.
 */
#include "base/hex.h"
#include "base64.h"
#include "frame.h"

#include <ctype.h>
#include <string.h>

enum { TEXT_MIN = 16, INDENT_MAX = 16, STRIDE = 4 };

static bool is_text(uint8_t c) {
    return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' || c == '\t';
}

/* Like is_text, but also accepts zeros, because UTF-16 has them. */
static bool is_text_or_zero(uint8_t c) {
    return is_text(c) || c == 0;
}

static size_t end_of(struct ts_span span) {
    return span.from + span.len;
}

/* The ends at which a decoded text was cut: more text precedes or follows. */
struct cut {
    bool before;
    bool after;
};

static void scan_decoded(struct ts_scanner *scanner, const struct detect_frame *parent,
                         enum ts_encoding encoding, struct ts_bytes bytes, size_t map_at, size_t origin,
                         struct cut cut) {
    const struct detect_part *part = scanner->parts[parent->depth];
    struct detect_frame frame = {
        .bytes = bytes,
        .open_before = cut.before,
        .open_after = cut.after,
        .depth = (uint8_t)(parent->depth + 1),
        .encoding = encoding,
        .parent = parent,
        .from = part->from + map_at,
        .to = part->to + map_at,
        .origin = origin,
    };
    scanner->counts.decoded++;
    detect__frame_scan(scanner, &frame);
}

/* --- base64 --- */

/* The characters of a base64 text, without blanks. Their bits are in part->bits, their positions in
 * part->places. */
struct base64_text {
    struct ts_scanner *scanner;
    struct detect_frame *frame;
    struct detect_part *part;
    size_t origin;
    size_t count;
    struct cut cut;
};

/* Decodes a group of four characters. Returns whether its three bytes are text, or a part of UTF-16:
 * characters with zeros between them. */
static bool decode_group(const uint8_t *bits, uint8_t ret_bytes[static 3]) {
    ret_bytes[0] = (uint8_t)(bits[0] << 2 | bits[1] >> 4);
    ret_bytes[1] = (uint8_t)(bits[1] << 4 | bits[2] >> 2);
    ret_bytes[2] = (uint8_t)(bits[2] << 6 | bits[3]);
    if (is_text(ret_bytes[0]))
        return is_text_or_zero(ret_bytes[1]) && is_text(ret_bytes[2]);
    return ret_bytes[0] == 0 && is_text(ret_bytes[1]) && ret_bytes[2] == 0;
}

/* Consecutive groups of four characters. Group 0 begins at character `phase` of the text. */
struct groups {
    size_t phase;
    size_t first;
    size_t end;
    size_t count;
};

/* Returns the byte that characters i and i + 1 of a group encode. */
static uint8_t byte_of(const uint8_t *group, size_t i) {
    return (uint8_t)(group[i] << (2 + 2 * i) | group[i + 1] >> (4 - 2 * i));
}

static size_t put_byte(struct detect_part *part, size_t group_at, size_t i, size_t made) {
    part->bytes[made] = byte_of(part->bits + group_at, i);
    part->from[made] = part->places[group_at + i];
    part->to[made] = part->places[group_at + i + 1] + 1;
    return made + 1;
}

/* Writes the decoded bytes and their positions, and scans the bytes. A text may begin and end inside a
 * group. */
static void scan_groups(const struct base64_text *text, struct groups groups) {
    struct detect_part *part = text->part;
    size_t made = 0;
    if (groups.first > 0) {
        size_t before = groups.phase + 4 * (groups.first - 1);
        size_t i = 3;
        while (i > 0 && is_text_or_zero(byte_of(part->bits + before, i - 1)))
            i--;
        for (; i < 3; i++)
            made = put_byte(part, before, i, made);
    }
    for (size_t group = groups.first; group < groups.end; group++)
        for (size_t i = 0; i < 3; i++)
            made = put_byte(part, groups.phase + 4 * group, i, made);
    bool is_last = groups.end == groups.count;
    if (!is_last || !text->cut.after) {
        /* Two or three characters at the end make one or two bytes. */
        size_t behind = groups.phase + 4 * groups.end;
        size_t left = text->count - behind;
        for (size_t i = 0; i < 3 && i + 1 < left && is_text_or_zero(byte_of(part->bits + behind, i)); i++)
            made = put_byte(part, behind, i, made);
    }
    if (made >= TEXT_MIN)
        scan_decoded(text->scanner, text->frame, TS_ENCODING_BASE64, ts_bytes_of(part->bytes, made), 0,
                     text->origin,
                     (struct cut){text->cut.before && groups.first == 0, text->cut.after && is_last});
}

static void scan_phase(const struct base64_text *text, size_t phase) {
    const uint8_t *bits = text->part->bits + phase;
    uint8_t three[3];
    struct groups groups = {.phase = phase, .count = (text->count - phase) / 4};
    for (size_t group = 0; group < groups.count; group += STRIDE) {
        if (!decode_group(bits + 4 * group, three))
            continue;
        groups.first = group;
        while (groups.first > 0 && decode_group(bits + 4 * (groups.first - 1), three))
            groups.first--;
        groups.end = group + 1;
        while (groups.end < groups.count && decode_group(bits + 4 * groups.end, three))
            groups.end++;
        if ((groups.end - groups.first) * 3 + 2 >= TEXT_MIN)
            scan_groups(text, groups);
        group = groups.end / STRIDE * STRIDE;
    }
}

static void scan_base64_text(const struct base64_text *text) {
    if (text->count * 3 / 4 < TEXT_MIN)
        return;
    for (size_t phase = 0; phase < 4; phase++)
        scan_phase(text, phase);
}

/* Returns where the text continues after a line break at `at`. Returns `at` itself if the text does not
 * continue there. */
static size_t over_break(struct ts_bytes bytes, size_t at) {
    size_t next = at;
    if (next < bytes.len && bytes.data[next] == '\r')
        next++;
    if (next >= bytes.len || bytes.data[next] != '\n')
        return at;
    next++;
    for (size_t blanks = 0;
         next < bytes.len && blanks < INDENT_MAX && (bytes.data[next] == ' ' || bytes.data[next] == '\t');
         blanks++)
        next++;
    return next < bytes.len && detect__base64_bits[bytes.data[next]] ? next : at;
}

/* Returns the end of the text before a line break that ends at `at`. Returns `at` itself if there is no such
 * line break. */
static size_t over_break_back(struct ts_bytes bytes, size_t at) {
    size_t before = at;
    for (size_t blanks = 0; before > 0 && blanks < INDENT_MAX &&
                            (bytes.data[before - 1] == ' ' || bytes.data[before - 1] == '\t');
         blanks++)
        before--;
    if (before == 0 || bytes.data[before - 1] != '\n')
        return at;
    before--;
    if (before > 0 && bytes.data[before - 1] == '\r')
        before--;
    return before > 0 && detect__base64_bits[bytes.data[before - 1]] ? before : at;
}

/* Returns where the base64 text before `at` begins, but at least `floor`. */
static size_t find_begin(struct ts_bytes bytes, size_t at, size_t floor) {
    for (;;) {
        while (at > floor && detect__base64_bits[bytes.data[at - 1]])
            at--;
        size_t before = at > floor ? over_break_back(bytes, at) : at;
        if (before == at || before <= floor)
            return at;
        at = before;
    }
}

/* Returns where the base64 text after `at` ends, but at most `ceiling`. */
static size_t find_end(struct ts_bytes bytes, size_t at, size_t ceiling) {
    for (;;) {
        while (at < ceiling && detect__base64_bits[bytes.data[at]])
            at++;
        size_t behind = at < ceiling ? over_break(bytes, at) : at;
        if (behind == at || behind >= ceiling)
            return at;
        at = behind;
    }
}

struct ts_span detect__base64_around(struct ts_bytes bytes, struct ts_span zone) {
    size_t from = zone.from;
    size_t to = end_of(zone);
    size_t floor = from > DETECT_ENCODED_REACH ? from - DETECT_ENCODED_REACH : 0;
    size_t ceiling = bytes.len - to > DETECT_ENCODED_REACH ? to + DETECT_ENCODED_REACH : bytes.len;
    /* Either end of the range may be inside a line break. */
    size_t first = find_begin(bytes, over_break(bytes, from), floor);
    size_t last = find_end(bytes, over_break_back(bytes, to), ceiling);
    from = first < from ? first : from;
    to = last > to ? last : to;
    return (struct ts_span){from, to - from};
}

/* Scans a full part, and keeps its last two margins, with which the next part begins. */
static void next_part(struct base64_text *text) {
    enum { KEPT = 2 * DETECT_PART_MARGIN };
    text->cut.after = true;
    scan_base64_text(text);
    memmove(text->part->bits, text->part->bits + text->count - KEPT, KEPT);
    memmove(text->part->places, text->part->places + text->count - KEPT, KEPT * sizeof text->part->places[0]);
    text->count = KEPT;
    text->cut = (struct cut){.before = true};
}

/* Returns true if the four characters decode to text. */
static bool is_text_group(const uint8_t *four) {
    uint8_t bits[4];
    uint8_t three[3];
    for (size_t i = 0; i < 4; i++) {
        if (detect__base64_bits[four[i]] == 0)
            return false;
        bits[i] = (uint8_t)(detect__base64_bits[four[i]] - 1);
    }
    return decode_group(bits, three);
}

/* Checks a run without copying. Used for a run that no line break continues: most such runs are names, paths
 * and hashes. Returns false if no grouping gives a text that is long enough. */
static bool may_hold_text(struct ts_bytes run) {
    enum { GROUPS_MIN = TEXT_MIN / 3 };
    for (size_t phase = 0; phase < 4; phase++) {
        for (size_t at = phase; at + 4 <= run.len; at += (size_t)4 * STRIDE) {
            if (!is_text_group(run.data + at))
                continue;
            size_t groups = 1;
            for (size_t left = at; left >= 4 && groups < GROUPS_MIN && is_text_group(run.data + left - 4);
                 left -= 4)
                groups++;
            for (size_t right = at + 4;
                 right + 4 <= run.len && groups < GROUPS_MIN && is_text_group(run.data + right); right += 4)
                groups++;
            if (groups == GROUPS_MIN)
                return true;
        }
    }
    return false;
}

void detect__decode_base64(struct ts_scanner *scanner, struct detect_frame *frame, struct ts_span run,
                           struct ts_span limits) {
    struct ts_bytes bytes = frame->bytes;
    if (end_of(run) <= frame->base64_to)
        return;
    bool is_alone =
        over_break_back(bytes, run.from) == run.from && over_break(bytes, end_of(run)) == end_of(run);
    if (is_alone && !may_hold_text(ts_bytes_slice(bytes, run))) {
        frame->base64_to = end_of(run);
        return;
    }
    size_t begin = find_begin(bytes, run.from, limits.from);
    struct base64_text text = {
        .scanner = scanner, .frame = frame, .part = scanner->parts[frame->depth], .origin = begin};
    bool goes_back =
        begin > 0 && (detect__base64_bits[bytes.data[begin - 1]] || over_break_back(bytes, begin) != begin);
    text.cut.before = goes_back;
    size_t at = begin;
    while (at < end_of(limits)) {
        uint8_t value = detect__base64_bits[bytes.data[at]];
        if (value != 0) {
            if (text.count == DETECT_PART_MAX)
                next_part(&text);
            text.part->bits[text.count] = (uint8_t)(value - 1);
            text.part->places[text.count++] = (uint32_t)(at++ - begin);
            continue;
        }
        size_t next = over_break(bytes, at);
        if (next != at && text.count > 0) {
            at = next;
            continue;
        }
        scan_base64_text(&text);
        text.count = 0;
        text.cut.before = false;
        at++;
        if (at >= end_of(run))
            break;
    }
    text.cut.after = at < bytes.len && text.count > 0;
    if (text.count > 0)
        scan_base64_text(&text);
    /* Matches that touch the cut are dropped, and the line that reveals the text may be before the cut. So
     * the margin is scanned again. */
    frame->base64_to = text.cut.after && at > DETECT_PART_MARGIN ? at - DETECT_PART_MARGIN : at;
}

/* --- UTF-16 --- */

void detect__decode_utf16(struct ts_scanner *scanner, struct detect_frame *frame, size_t zero,
                          struct ts_span limits) {
    const uint8_t *data = frame->bytes.data;
    if (zero < frame->utf16_to)
        return;
    size_t first = zero > 0 && is_text(data[zero - 1]) ? zero - 1 : zero + 1;
    if (first >= end_of(limits) || !is_text(data[first]))
        return;
    size_t last = first;
    while (first >= limits.from + 2 && data[first - 1] == 0 && is_text(data[first - 2]))
        first -= 2;
    while (last + 2 < end_of(limits) && data[last + 1] == 0 && is_text(data[last + 2]))
        last += 2;
    size_t count = (last - first) / 2 + 1;
    bool goes_back = first >= 2 && data[first - 1] == 0 && is_text(data[first - 2]);
    bool goes_on = last + 2 < frame->bytes.len && data[last + 1] == 0 && is_text(data[last + 2]);
    /* Matches that touch the cut are dropped, so the margin is scanned again, as in base64. */
    frame->utf16_to = goes_on && last > DETECT_PART_MARGIN ? last - DETECT_PART_MARGIN : last + 1;
    if (count < TEXT_MIN)
        return;
    struct detect_part *part = scanner->parts[frame->depth];
    for (size_t from = 0; from < count;) {
        size_t taken = count - from < DETECT_PART_MAX ? count - from : DETECT_PART_MAX;
        for (size_t i = 0; i < taken; i++) {
            size_t place = 2 * (from + i);
            part->bytes[i] = data[first + place];
            part->from[i] = (uint32_t)place;
            part->to[i] = (uint32_t)place + 1;
        }
        bool is_end = from + taken == count;
        scan_decoded(scanner, frame, TS_ENCODING_UTF16, ts_bytes_of(part->bytes, taken), 0, first,
                     (struct cut){from > 0 || goes_back, !is_end || goes_on});
        from = is_end ? count : from + taken - (size_t)2 * DETECT_PART_MARGIN;
    }
}

/* --- percent-encoding --- */

/* Returns whether `at` has an escape of a text character, or of a zero byte of UTF-16. */
static bool is_escape(struct ts_bytes bytes, size_t at, uint8_t *ret_byte) {
    uint8_t byte;
    if (bytes.data[at] != '%' || bytes.len - at < 3 ||
        !ts_hex_decode(ts_bytes_of(bytes.data + at + 1, 2), &byte) || !is_text_or_zero(byte))
        return false;
    *ret_byte = byte;
    return true;
}

/* Returns the position of the first escape in [from, to), or `to`. */
static size_t find_escape(struct ts_bytes bytes, size_t from, size_t to) {
    uint8_t ignored;
    for (size_t at = from; at < to; at++) {
        const uint8_t *found = memchr(bytes.data + at, '%', to - at);
        if (!found)
            return to;
        at = (size_t)(found - bytes.data);
        if (is_escape(bytes, at, &ignored))
            return at;
    }
    return to;
}

bool detect__has_escape(struct ts_bytes bytes) {
    return find_escape(bytes, 0, bytes.len) < bytes.len;
}

static bool is_unbroken(uint8_t c) {
    return c > 0x20 && c < 0x7f;
}

/* Decodes the text around an escape. Returns where to search for the next escape. */
static size_t decode_around(struct ts_scanner *scanner, struct detect_frame *frame, size_t escape) {
    struct ts_bytes bytes = frame->bytes;
    size_t begin = escape;
    while (begin > 0 && escape - begin < DETECT_PART_MARGIN && is_unbroken(bytes.data[begin - 1]))
        begin--;
    struct cut cut = {.before = begin > 0 && is_unbroken(bytes.data[begin - 1])};
    struct detect_part *part = scanner->parts[frame->depth];
    size_t made = 0;
    size_t at = begin;
    size_t most = escape + DETECT_PART_CORE + DETECT_PART_MARGIN;
    while (at < bytes.len && at < most && is_unbroken(bytes.data[at])) {
        size_t len = is_escape(bytes, at, &part->bytes[made]) ? 3 : 1;
        if (len == 1)
            part->bytes[made] = bytes.data[at];
        part->from[made] = (uint32_t)(at - begin);
        part->to[made++] = (uint32_t)(at + len - begin);
        at += len;
    }
    cut.after = at < bytes.len && is_unbroken(bytes.data[at]);
    if (made >= TEXT_MIN)
        scan_decoded(scanner, frame, TS_ENCODING_PERCENT, ts_bytes_of(part->bytes, made), 0, begin, cut);
    return cut.after ? escape + DETECT_PART_CORE : at;
}

/* Text without percent signs may be long, so is_unbroken_strip checks STRIP bytes in a loop that compilers
 * can vectorise. */
enum { STRIP = 64 };

static bool is_unbroken_strip(const uint8_t *bytes) {
    unsigned broken = 0;
    for (size_t i = 0; i < STRIP; i++)
        broken |= !is_unbroken(bytes[i]);
    return broken == 0;
}

static size_t unbroken_begin(struct ts_bytes bytes, size_t at, size_t floor) {
    while (at >= floor + STRIP && is_unbroken_strip(bytes.data + at - STRIP))
        at -= STRIP;
    while (at > floor && is_unbroken(bytes.data[at - 1]))
        at--;
    return at;
}

static size_t unbroken_end(struct ts_bytes bytes, size_t at, size_t ceiling) {
    while (at + STRIP <= ceiling && is_unbroken_strip(bytes.data + at))
        at += STRIP;
    while (at < ceiling && is_unbroken(bytes.data[at]))
        at++;
    return at;
}

void detect__decode_percent(struct ts_scanner *scanner, struct detect_frame *frame, struct ts_span block) {
    struct ts_bytes bytes = frame->bytes;
    /* A text without blanks may begin before the block and end after it. All of the text is decoded. Text
     * that an earlier block has decoded is skipped. */
    size_t known = frame->percent_to;
    size_t floor = block.from > DETECT_PART_MARGIN ? block.from - DETECT_PART_MARGIN : 0;
    size_t ceiling =
        bytes.len - end_of(block) > DETECT_PART_MARGIN ? end_of(block) + DETECT_PART_MARGIN : bytes.len;
    size_t from = unbroken_begin(bytes, block.from, floor > known ? floor : known);
    size_t to = unbroken_end(bytes, end_of(block) > known ? end_of(block) : known, ceiling);
    size_t at = from > known ? from : known;
    while (at < to && (at = find_escape(bytes, at, to)) < to)
        at = decode_around(scanner, frame, at);
    frame->percent_to = at > to ? at : to;
}
