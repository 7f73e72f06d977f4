/*
 * A scan: searches the bytes for gates, and runs patterns around them.
 *
 *     whole input                      one zone, all rules
 *     changed bytes                    gates around each changed span, as far as they may have changed; rules
 *                                      from all landmarks that are near enough; then runs and encoded text in
 *                                      a zone for each changed span with the margin of the rules that have no
 *                                      landmarks
 *       without known landmarks        a zone for each changed span with the margin of the short rules, then
 *                                      a wider one for the few literals of the long rules
 *     decoded text                     a separate frame, one zone, all rules; drops matches that depend on too
 *                                      much of the input, so that the result does not depend on how the input
 *                                      was cut
 *
 * A zone is processed in blocks, so that the bytes stay in the cache. Vectorscan finds gates, and each gate
 * starts its rules at the offsets from which a match could contain it. The token pass finds runs, and
 * keywords around a run start their rules. Text that looks encoded is decoded. Starts of a rule are tried
 * once, in ascending order, because gates come in the order of their ends.
 */
#include "frame.h"
#include "token_runs.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 128 * 1024, STRETCH = 2 * DETECT_PART_MARGIN };

/* The limits of PCRE2 for one match, and the memory for JIT. */
enum { DEPTH_LIMIT = 10000, HEAP_LIMIT_KIB = 8192, JIT_STACK_FIRST = 32 * 1024, JIT_STACK_SIZE = 256 * 1024 };

struct ts_scanner *ts_scanner_new(struct ts_detector *detector) {
    struct ts_scanner *scanner = calloc(1, sizeof *scanner);
    if (!scanner)
        return NULL;
    scanner->detector = detector;
    scanner->classify = detect__classify_choose();
    bool good = true;
    for (size_t i = 0; i < DETECT_DATABASES; i++)
        if (detector->databases[i])
            good = good && hs_alloc_scratch(detector->databases[i], &scanner->scratch) == HS_SUCCESS;
    scanner->searched_to =
        calloc((detector->rules->count + 1) * (TS_ENCODING_DEPTH + 1), sizeof *scanner->searched_to);
    for (size_t i = 0; i <= TS_ENCODING_DEPTH; i++) {
        scanner->searched[i].rules =
            malloc((detector->rules->count + 1) * sizeof *scanner->searched[i].rules);
        good = good && scanner->searched[i].rules;
    }
    for (size_t i = 0; i < TS_ENCODING_DEPTH; i++)
        scanner->parts[i] = malloc(sizeof *scanner->parts[i]);
    scanner->match_data = pcre2_match_data_create(DETECT_GROUPS_MAX + 1, NULL);
    scanner->match_context = pcre2_match_context_create(NULL);
    scanner->jit_stack = pcre2_jit_stack_create(JIT_STACK_FIRST, JIT_STACK_SIZE, NULL);
    for (size_t i = 0; i < TS_ENCODING_DEPTH; i++)
        good = good && scanner->parts[i];
    if (!good || !scanner->searched_to || !scanner->match_data || !scanner->match_context) {
        ts_scanner_free(scanner);
        return NULL;
    }
    scanner->counts.own_rule = UINT32_MAX;
    (void)pcre2_set_match_limit(scanner->match_context, DETECT_MATCH_LIMIT);
    (void)pcre2_set_depth_limit(scanner->match_context, DEPTH_LIMIT);
    (void)pcre2_set_heap_limit(scanner->match_context, HEAP_LIMIT_KIB);
    if (scanner->jit_stack)
        pcre2_jit_stack_assign(scanner->match_context, NULL, scanner->jit_stack);
    return scanner;
}

void ts_scanner_free(struct ts_scanner *scanner) {
    if (!scanner)
        return;
    (void)hs_free_scratch(scanner->scratch);
    pcre2_jit_stack_free(scanner->jit_stack);
    pcre2_match_context_free(scanner->match_context);
    pcre2_match_data_free(scanner->match_data);
    for (size_t i = 0; i < TS_ENCODING_DEPTH; i++)
        free(scanner->parts[i]);
    for (size_t i = 0; i <= TS_ENCODING_DEPTH; i++)
        free(scanner->searched[i].rules);
    free(scanner->searched_to);
    free(scanner);
}

struct ts_scanner_work ts_scanner_counts(const struct ts_scanner *scanner) {
    return scanner->counts;
}

static size_t below(size_t at, size_t by) {
    return at > by ? at - by : 0;
}

static size_t above(size_t at, size_t by, size_t most) {
    return most - at > by ? at + by : most;
}

static bool rule_is_on(const struct ts_scanner *scanner, uint32_t rule) {
    switch (scanner->rules) {
    case DETECT_ALL_RULES:
    case DETECT_NEAR_RULES:
        return true;
    case DETECT_SHORT_RULES:
        return !scanner->detector->ready[rule].is_long;
    case DETECT_LONG_RULES:
        return scanner->detector->ready[rule].is_long;
    case DETECT_NO_RULES:
        return false;
    }
    return true;
}

/* Called at the end of a gate. A match that contains the gate begins at most `lead` bytes before that end. */
static void start_rules(struct ts_scanner *scanner, uint32_t gate, size_t end) {
    const struct detect_entries *gates = &scanner->detector->gates;
    for (uint32_t i = gates->starts[gate]; i < gates->starts[gate + 1]; i++) {
        uint32_t rule = gates->rules[i];
        const struct detect_ready_rule *ready = &scanner->detector->ready[rule];
        struct detect_starts starts = {below(end, ready->rule->lead), end};
        struct detect_starts depends = {below(starts.from, ready->before), end + ready->after};
        if (!rule_is_on(scanner, rule) ||
            (scanner->rules == DETECT_NEAR_RULES && !detect__is_near_change(scanner->scan, depends)))
            continue;
        detect__search(scanner, scanner->frame, rule, starts);
    }
}

static int on_gate(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
                   void *context) {
    (void)from;
    (void)flags;
    struct ts_scanner *scanner = context;
    size_t end = scanner->scan_origin + (size_t)to;
    scanner->counts.gate_hits++;
    if (scanner->frame->depth == 0)
        detect__landmark_add(&scanner->landmarks, (struct ts_landmark){(uint32_t)end, id});
    if (scanner->rules != DETECT_NO_RULES)
        start_rules(scanner, id, end);
    return 0;
}

static void find_gates(struct ts_scanner *scanner, struct detect_frame *frame, enum detect_database which,
                       struct ts_span block) {
    const hs_database_t *database = scanner->detector->databases[which];
    if (!database)
        return;
    size_t from = below(block.from, (size_t)scanner->detector->gate_width + 1);
    scanner->frame = frame;
    scanner->scan_origin = from;
    if (hs_scan(database, (const char *)frame->bytes.data + from, (unsigned)(block.from + block.len - from),
                0, scanner->scratch, on_gate, scanner) != HS_SUCCESS)
        scanner->failed = true;
}

enum { RUNS_MAX = 64 };

/* Runs whose neighbourhoods overlap, so that one search finds the keywords of all of them. */
struct run_visit {
    struct ts_scanner *scanner;
    struct detect_frame *frame;
    struct ts_span limits;
    struct ts_span runs[RUNS_MAX];
    size_t count;
};

static size_t end_of(struct ts_span span) {
    return span.from + span.len;
}

/*
 * Called for a keyword that ends at `to`. Secrets of this keyword begin after the keyword, within the rule's
 * distance, in a run. Keywords and runs come in order, so their starts are also tried in ascending order.
 */
static int on_keyword(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
                      void *context) {
    (void)from;
    (void)flags;
    const struct run_visit *visit = context;
    const struct ts_detector *detector = visit->scanner->detector;
    size_t end = visit->scanner->scan_origin + (size_t)to;
    for (uint32_t i = detector->keywords.starts[id]; i < detector->keywords.starts[id + 1]; i++) {
        uint32_t rule = detector->keywords.rules[i];
        const struct ts_rule *text = detector->ready[rule].rule;
        if (!rule_is_on(visit->scanner, rule))
            continue;
        for (size_t j = 0; j < visit->count; j++) {
            size_t run_end = end_of(visit->runs[j]);
            size_t first = end > visit->runs[j].from ? end : visit->runs[j].from;
            if (end > run_end)
                continue;
            struct detect_starts starts = {below(first, text->lead), above(end, text->distance, run_end)};
            if (starts.from >= starts.to)
                break;
            detect__search(visit->scanner, visit->frame, rule, starts);
        }
    }
    return 0;
}

static void find_keywords(struct run_visit *visit) {
    struct ts_scanner *scanner = visit->scanner;
    if (visit->count == 0)
        return;
    size_t from = below(visit->runs[0].from, scanner->detector->distance_max);
    size_t to = end_of(visit->runs[visit->count - 1]);
    scanner->scan_origin = from;
    if (hs_scan(scanner->detector->databases[DETECT_KEYWORDS], (const char *)visit->frame->bytes.data + from,
                (unsigned)(to - from), 0, scanner->scratch, on_keyword, visit) != HS_SUCCESS)
        scanner->failed = true;
    visit->count = 0;
}

static void on_run(void *context, struct ts_span run) {
    struct run_visit *visit = context;
    struct ts_scanner *scanner = visit->scanner;
    struct detect_frame *frame = visit->frame;
    if (scanner->detector->databases[DETECT_KEYWORDS] && !scanner->scan->ungated) {
        bool is_near = visit->count > 0 && below(run.from, scanner->detector->distance_max) <=
                                               end_of(visit->runs[visit->count - 1]);
        if (!is_near || visit->count == RUNS_MAX)
            find_keywords(visit);
        visit->runs[visit->count++] = run;
    }
    if (frame->depth < TS_ENCODING_DEPTH && !scanner->scan->not_decoded)
        detect__decode_base64(scanner, frame, run, visit->limits);
}

static void on_zeros(void *context, size_t at) {
    const struct run_visit *visit = context;
    detect__decode_utf16(visit->scanner, visit->frame, at, visit->limits);
}

/* Finds runs, keywords and encoded text in a block. */
static void find_runs(struct ts_scanner *scanner, struct detect_frame *frame, struct ts_span block) {
    bool decodes = frame->depth < TS_ENCODING_DEPTH && !scanner->scan->not_decoded;
    size_t from = below(block.from, STRETCH);
    struct run_visit visit; /* not zeroed, because it has 1 KiB and there are many small inputs */
    visit.scanner = scanner;
    visit.frame = frame;
    visit.limits = (struct ts_span){from, above(block.from + block.len, STRETCH, frame->bytes.len) - from};
    visit.count = 0;
    struct detect_run_visitor visitor = {
        .context = &visit,
        .run = on_run,
        .zeros = decodes ? on_zeros : NULL,
        .any_digits = scanner->scan->ungated,
    };
    if (scanner->detector->has_token_rules || decodes)
        detect__token_runs(scanner->classify, frame->bytes, block, STRETCH, &visitor);
    find_keywords(&visit);
    if (decodes)
        detect__decode_percent(scanner, frame, block);
}

/* The passes over a zone: the search for gates, and the search for runs. */
enum parts { GATES = 1, RUNS = 2 };

static void scan_zone(struct ts_scanner *scanner, struct detect_frame *frame, struct ts_span zone,
                      unsigned parts) {
    size_t end = zone.from + zone.len;
    for (size_t at = zone.from; at < end && !detect__is_stopped(scanner);) {
        size_t len = end - at < BLOCK ? end - at : BLOCK;
        struct ts_span block = {at, len};
        if ((parts & GATES) != 0 && !scanner->scan->ungated)
            find_gates(scanner, frame, DETECT_GATES, block);
        if ((parts & RUNS) != 0) {
            /* If a run crosses two blocks, their overlap makes sure that 16 bytes of it are in one of them. */
            size_t early = at - zone.from < 32 ? at - zone.from : 32;
            find_runs(scanner, frame, (struct ts_span){at - early, len + early});
            scanner->counts.bytes += len;
        }
        at += len;
    }
}

/* Scans without gates: tries every rule at every start, block by block so that a stop is noticed soon. */
static void scan_ungated(struct ts_scanner *scanner, struct detect_frame *frame) {
    for (size_t at = 0; at < frame->bytes.len && !detect__is_stopped(scanner); at += BLOCK)
        for (uint32_t rule = 0; rule < scanner->detector->rules->count; rule++)
            detect__search(scanner, frame, rule, (struct detect_starts){at, at + BLOCK});
    scan_zone(scanner, frame, (struct ts_span){0, frame->bytes.len}, GATES | RUNS);
}

static void begin_frame(struct ts_scanner *scanner, struct detect_frame *frame) {
    size_t rules = scanner->detector->rules->count;
    struct detect_searched *searched = &scanner->searched[frame->depth];
    frame->searched_to = scanner->searched_to + rules * frame->depth;
    /* Resets only the few rules that were searched, because most inputs are short. */
    for (; searched->count > 0; searched->count--)
        frame->searched_to[searched->rules[searched->count - 1]] = 0;
}

void detect__frame_scan(struct ts_scanner *scanner, struct detect_frame *frame) {
    begin_frame(scanner, frame);
    enum detect_rules outer = scanner->rules;
    scanner->rules = DETECT_ALL_RULES;
    if (scanner->scan->ungated)
        scan_ungated(scanner, frame);
    else
        scan_zone(scanner, frame, (struct ts_span){0, frame->bytes.len}, GATES | RUNS);
    scanner->rules = outer;
}

struct margins {
    size_t before;
    size_t after;
};

/* Finds the next changed span, with its margins, and joins it with the spans that it touches. Returns false
 * at the end. */
static bool next_zone(const struct ts_scanner_input *scan, struct margins margins, size_t *next,
                      struct ts_span *ret_zone) {
    if (*next == scan->changed_count)
        return false;
    size_t from = below(scan->changed[*next].from, margins.before);
    size_t to = from;
    while (*next < scan->changed_count) {
        const struct ts_span *changed = &scan->changed[*next];
        ts_assert(changed->from + changed->len <= scan->bytes.len);
        if (to > from && below(changed->from, margins.before) > to)
            break;
        size_t end = above(changed->from + changed->len, margins.after, scan->bytes.len);
        to = end > to ? end : to;
        (*next)++;
    }
    *ret_zone = (struct ts_span){from, to - from};
    return true;
}

static void scan_zones(struct ts_scanner *scanner, struct detect_frame *frame, struct margins margins,
                       unsigned parts) {
    struct ts_span zone;
    for (size_t next = 0; next_zone(scanner->scan, margins, &next, &zone);) {
        if ((parts & RUNS) != 0 && !scanner->scan->not_decoded)
            zone = detect__base64_around(frame->bytes, zone);
        scan_zone(scanner, frame, zone, parts);
    }
}

static struct margins wide_margins(const struct ts_detector *detector) {
    return (struct margins){detector->long_after, (size_t)detector->long_before + detector->long_after};
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Returns the margin around a changed byte in which a match may begin or end. The margin covers at least the
 * bytes that decide where an encoded text begins, and enough of this text to recognise the encoding. The
 * decoded text is scanned in a frame of its own. */
static struct margins narrow_margins(size_t before, size_t after) {
    enum { LEAST = DETECT_PART_EDGE + 32 };
    return (struct margins){larger(after, LEAST), larger(before + after, LEAST)};
}

/* Scans the changes without known landmarks: searches for gates wherever a match may reach a changed byte. */
static void scan_unknown(struct ts_scanner *scanner, struct detect_frame *frame) {
    const struct ts_detector *detector = scanner->detector;
    struct margins wide = wide_margins(detector);
    struct ts_span zone;
    scanner->landmarks.is_lost = true;
    scanner->rules = DETECT_SHORT_RULES;
    scan_zones(scanner, frame, narrow_margins(detector->short_before, detector->short_after), GATES | RUNS);
    scanner->rules = DETECT_LONG_RULES;
    for (size_t next = 0; detector->long_after > 0 && next_zone(scanner->scan, wide, &next, &zone);) {
        for (size_t at = zone.from; at < end_of(zone); at += BLOCK) {
            size_t left = end_of(zone) - at;
            find_gates(scanner, frame, DETECT_LONG_GATES, (struct ts_span){at, left < BLOCK ? left : BLOCK});
        }
    }
}

/* ---- landmarks ---- */

static int on_gathered(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
                       void *context) {
    (void)from;
    (void)flags;
    struct ts_scanner *scanner = context;
    struct detect_gathered *gathered = &scanner->gathered;
    while (gathered->current + 1 < gathered->piece_count && gathered->pieces[gathered->current + 1].at < to)
        gathered->current++;
    while (gathered->pieces[gathered->current].at >= to)
        gathered->current--;
    const struct detect_piece *piece = &gathered->pieces[gathered->current];
    size_t end = piece->from + (size_t)to - piece->at;
    scanner->counts.gate_hits++;
    detect__landmark_add(&scanner->landmarks, (struct ts_landmark){(uint32_t)end, id});
    return 0;
}

static void look_at_gathered(struct ts_scanner *scanner) {
    struct detect_gathered *gathered = &scanner->gathered;
    if (gathered->len > 0 &&
        hs_scan(scanner->detector->databases[DETECT_GATES], (const char *)gathered->bytes,
                (unsigned)gathered->len, 0, scanner->scratch, on_gathered, scanner) != HS_SUCCESS)
        scanner->failed = true;
    gathered->len = 0;
    gathered->piece_count = 0;
    gathered->current = 0;
}

/*
 * Finds gates around the changed spans. A call of Vectorscan costs as much as scanning some hundred bytes,
 * and there are many short spans. So the surroundings of all spans are gathered and scanned together. A false
 * gate across the seam of two pieces is harmless: the pattern that this gate starts does not match.
 */
static void find_landmarks(struct ts_scanner *scanner, struct detect_frame *frame) {
    size_t reach = ts_detector_landmark_before(scanner->detector) + 1;
    struct detect_gathered *gathered = &scanner->gathered;
    struct ts_span zone;
    if (!scanner->detector->databases[DETECT_GATES])
        return;
    for (size_t next = 0; next_zone(scanner->scan, (struct margins){reach + 2, reach}, &next, &zone);) {
        if (zone.len > DETECT_PIECE_MAX) {
            look_at_gathered(scanner);
            scan_zone(scanner, frame, zone, GATES);
            continue;
        }
        if (gathered->len + zone.len > DETECT_GATHERED_MAX || gathered->piece_count == DETECT_PIECES_MAX)
            look_at_gathered(scanner);
        gathered->pieces[gathered->piece_count++] = (struct detect_piece){gathered->len, zone.from};
        memcpy(gathered->bytes + gathered->len, frame->bytes.data + zone.from, zone.len);
        gathered->len += zone.len;
    }
    look_at_gathered(scanner);
}

/* Finds the changed landmarks, and joins them with the unchanged landmarks. Returns false if there are too
 * many, or if the unchanged landmarks are not known. */
static bool renew_landmarks(struct ts_scanner *scanner, struct detect_frame *frame) {
    const struct ts_landmarks *known = &scanner->scan->landmarks;
    if (!known->are_known)
        return false;
    scanner->rules = DETECT_NO_RULES;
    find_landmarks(scanner, frame);
    detect__landmarks_join(&scanner->landmarks, known->items, known->count);
    return !scanner->landmarks.is_lost;
}

static void scan_changed(struct ts_scanner *scanner, struct detect_frame *frame) {
    const struct ts_detector *detector = scanner->detector;
    const struct detect_landmarks *landmarks = &scanner->landmarks;
    if (!renew_landmarks(scanner, frame)) {
        scan_unknown(scanner, frame);
        return;
    }
    scanner->rules = DETECT_NEAR_RULES;
    scanner->frame = frame;
    for (size_t i = 0; i < landmarks->count; i++)
        start_rules(scanner, landmarks->items[i].gate, landmarks->items[i].end);
    scanner->rules = DETECT_ALL_RULES;
    scan_zones(scanner, frame, narrow_margins(detector->token_before, detector->token_after), RUNS);
}

struct ts_landmarks ts_scanner_landmarks(const struct ts_scanner *scanner) {
    const struct detect_landmarks *landmarks = &scanner->landmarks;
    if (landmarks->is_lost)
        return (struct ts_landmarks){.are_known = false};
    return (struct ts_landmarks){true, landmarks->count, landmarks->items};
}

bool ts_scanner_scan(struct ts_scanner *scanner, const struct ts_scanner_input *scan, ts_match_found *found,
                     void *context) {
    scanner->landmarks.count = 0;
    scanner->landmarks.is_lost = scan->ungated || scan->bytes.len > UINT32_MAX;
    if (scan->bytes.len == 0)
        return true;
    struct detect_frame frame = {
        .bytes = scan->bytes, .open_before = scan->continues_before, .open_after = scan->continues_after};
    scanner->scan = scan;
    scanner->found = found;
    scanner->context = context;
    scanner->failed = false;
    scanner->own_is_spent = false;
    scanner->own_left = DETECT_OWN_LEAST + scan->bytes.len / DETECT_OWN_BYTES;
    scanner->rules = DETECT_ALL_RULES;
    if (!scan->changed || scan->ungated) {
        detect__frame_scan(scanner, &frame);
    } else {
        begin_frame(scanner, &frame);
        scan_changed(scanner, &frame);
    }
    return !scanner->failed;
}
