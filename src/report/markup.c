#include "markup.h"

#include "base/utf8.h"

static const char *reference_of(char c) {
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* Returns whether the character is a noncharacter. Noncharacters, which XML and HTML both forbid, are the
 * only characters that are shown elsewhere but not in markup. */
static bool is_noncharacter(struct ts_bytes piece) {
    uint32_t point;
    size_t len = ts_utf8_decode(piece, &point);
    return len == piece.len && ((point & 0xfffe) == 0xfffe || (point >= 0xfdd0 && point <= 0xfdef));
}

static void put_hex(struct ts_out *out, struct ts_bytes bytes) {
    for (size_t i = 0; i < bytes.len; i++) {
        ts_out_put_cstring(out, "\\x");
        ts_out_put_hex(out, ts_bytes_of(bytes.data + i, 1));
    }
}

void report__put_markup(struct ts_out *out, struct ts_bytes bytes, enum report_backslash backslash) {
    while (bytes.len > 0) {
        size_t plain = report__plain_len(bytes);
        ts_out_put(out, ts_bytes_first(bytes, plain));
        bytes = ts_bytes_skip(bytes, plain);
        if (bytes.len == 0)
            return;
        char piece[TS_TEXT_PIECE_MAX];
        size_t piece_len;
        size_t taken = report__show_one(bytes, backslash, piece, &piece_len);
        struct ts_bytes shown = ts_bytes_of(piece, piece_len);
        const char *reference = piece_len == 1 ? reference_of(piece[0]) : NULL;
        if (reference != NULL)
            ts_out_put_cstring(out, reference);
        else if (is_noncharacter(shown))
            put_hex(out, shown);
        else
            ts_out_put(out, shown);
        bytes = ts_bytes_skip(bytes, taken);
    }
}

void report__put_markup_text(struct ts_out *out, const char *text) {
    report__put_markup(out, ts_bytes_of_cstring(text), REPORT_BACKSLASH_KEPT);
}

void report__put_markup_place(struct ts_out *out, const struct ts_report_occurrence *occurrence) {
    struct report_place place = report__place_of(occurrence);
    ts_out_put_cstring(out, place.before);
    report__put_markup(out, place.subject, REPORT_BACKSLASH_DOUBLED);
    ts_out_put_char(out, ':');
    ts_out_put_u64(out, occurrence->line);
    ts_out_put_char(out, ':');
    ts_out_put_u64(out, occurrence->column);
    ts_out_put_cstring(out, place.after);
}
