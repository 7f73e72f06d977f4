/*
 * The internals of a scanner. A frame is a text that is being scanned: the input itself, or the decoded form
 * of an encoded part of another frame. Each byte of a decoded frame is mapped to bytes of that other frame,
 * its parent.
 */
#ifndef TS_DETECT_FRAME_H
#define TS_DETECT_FRAME_H

#include "classify.h"
#include "compiled.h"
#include "landmarks.h"
#include "scanner.h"

/* The number of characters of an encoded text that are decoded at a time. */
#define DETECT_PART_CORE   16384
/* How far decoding continues before and after these characters, so that every match is completely in one of
 * the parts. */
#define DETECT_PART_MARGIN (DETECT_ENCODED_REACH + 64)
#define DETECT_PART_MAX    (DETECT_PART_CORE + 2 * DETECT_PART_MARGIN)
/* The number of bytes around a decoded text that decide where it begins and ends. In base64, each of the four
 * characters of a group may be on its own line, with a break of two bytes and an indent of 16. */
#define DETECT_PART_EDGE   80

struct detect_frame {
    struct ts_bytes bytes;
    bool open_before; /* the text continues before these bytes */
    bool open_after;
    uint8_t depth;
    enum ts_encoding encoding;
    const struct detect_frame *parent;
    const uint32_t *from; /* byte i was decoded from bytes from[i] .. to[i] - 1 of the parent */
    const uint32_t *to;
    size_t origin;       /* added to from[i] and to[i] */
    size_t *searched_to; /* indexed by rule: starts before this offset are not tried again */
    /* Encoded text below these offsets was already decoded. */
    size_t base64_to;
    size_t percent_to;
    size_t utf16_to;
};

/* Buffers for the decoded texts of one depth. */
struct detect_part {
    uint8_t bytes[DETECT_PART_MAX];
    uint32_t from[DETECT_PART_MAX];
    uint32_t to[DETECT_PART_MAX];
    uint8_t bits[DETECT_PART_MAX];
    uint32_t places[DETECT_PART_MAX];
};

/* Limits of a struct detect_gathered, which joins short pieces of the input into one text. */
#define DETECT_GATHERED_MAX 16384
#define DETECT_PIECES_MAX   128
#define DETECT_PIECE_MAX    2048

struct detect_piece {
    size_t at;   /* start of the piece in the gathered text */
    size_t from; /* start of the piece in the input */
};

struct detect_gathered {
    size_t len;
    size_t piece_count;
    size_t current; /* index of the piece that contains the last found gate */
    struct detect_piece pieces[DETECT_PIECES_MAX];
    uint8_t bytes[DETECT_GATHERED_MAX];
};

/* The rules that a gate may start in the current step of a scan. */
enum detect_rules {
    DETECT_ALL_RULES,
    DETECT_SHORT_RULES,
    DETECT_LONG_RULES,
    DETECT_NEAR_RULES,
    DETECT_NO_RULES
};

/*
 * Steps of PCRE2 for one match. A target's own rules also have a budget for each input, because a stranger
 * wrote both the rules and the input. A match of such a rule is first tried with few steps, which costs
 * one unit; if these are not enough, the match is tried with all steps, which costs a unit for each
 * DETECT_OWN_STEPS.
 */
enum {
    DETECT_MATCH_LIMIT = 200000,
    DETECT_OWN_STEPS = 1000,
    DETECT_OWN_LEAST = 2000, /* budget of an input in units; every OWN_BYTES bytes add one unit */
    DETECT_OWN_BYTES = 16,
};

struct ts_scanner {
    struct ts_detector *detector;
    hs_scratch_t *scratch;
    pcre2_match_data *match_data;
    pcre2_match_context *match_context;
    pcre2_jit_stack *jit_stack;
    detect_classify *classify;
    size_t *searched_to; /* memory of the frames' searched_to: one element for each depth and rule */
    struct detect_searched {
        uint32_t *rules; /* rules whose searched_to is not 0 */
        size_t count;
    } searched[TS_ENCODING_DEPTH + 1];
    struct detect_part *parts[TS_ENCODING_DEPTH];
    struct ts_scanner_work counts;
    uint64_t own_left; /* units that the target's own rules may still use for this input */
    bool own_is_spent;
    bool failed;

    /* Fields of the current scan. */
    const struct ts_scanner_input *scan;
    ts_match_found *found;
    void *context;
    enum detect_rules rules;
    struct detect_frame *frame;
    size_t scan_origin;                /* offset in the frame of the text that Vectorscan reads */
    struct detect_landmarks landmarks; /* landmarks of the scanned part of the input */
    struct detect_gathered gathered;
};

/* Returns true if the scan should end early. */
bool detect__is_stopped(const struct ts_scanner *scanner);

/* The offsets in [from, to). A rule's pattern runs at each of them that was not tried before. */
struct detect_starts {
    size_t from;
    size_t to;
};
void detect__search(struct ts_scanner *scanner, struct detect_frame *frame, uint32_t rule,
                    struct detect_starts starts);

/* Returns true if a match that depends on these bytes of the input may touch a changed byte. */
bool detect__is_near_change(const struct ts_scanner_input *scan, struct detect_starts depends);

/* Scans all of a frame. */
void detect__frame_scan(struct ts_scanner *scanner, struct detect_frame *frame);

/* These functions find encoded text in a frame, starting from a run of token characters, a zero byte, or the
 * percent signs in a block. They read at most `limits`, or one part with its margins. */
void detect__decode_base64(struct ts_scanner *scanner, struct detect_frame *frame, struct ts_span run,
                           struct ts_span limits);

/* Extends the zone to include base64 text that crosses its ends, as far as a match in that text may reach.
 * The line that identifies the base64 may be outside the zone, and the lines inside may be too short to
 * identify it. */
struct ts_span detect__base64_around(struct ts_bytes bytes, struct ts_span zone);

void detect__decode_utf16(struct ts_scanner *scanner, struct detect_frame *frame, size_t zero,
                          struct ts_span limits);
void detect__decode_percent(struct ts_scanner *scanner, struct detect_frame *frame, struct ts_span block);

/* Returns true if one of the bytes is written as %xx, so that decoding changes something. */
bool detect__has_escape(struct ts_bytes bytes);

#endif
