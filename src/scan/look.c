#include "inside.h"
#include "look_impl.h"

#include "base/assert.h"
#include "base/checked.h"
#include "detect/pragma.h"
#include "os/grow.h"

#include <stdlib.h>
#include <string.h>

/* The maximum number of matches in the base times the number of copies. Comparing more would take too
 * long. */
#define CARRY_STEPS_MAX ((size_t)1 << 20)
/* The maximum number of matches that are kept for deltas: for each held base, matches take up to 384 KiB, and
 * landmarks up to 128 KiB. */
#define RAW_MAX         4096
/* After a stop, the scan judges this many further matches of a content, which takes about a millisecond. */
#define JUDGED_LATE     100

struct scan_raw {
    bool is_unknown;
    struct ts_landmarks landmarks; /* stored after the items */
    size_t count;
    struct ts_match items[]; /* decoded secrets are stored after the landmarks */
};

bool scan__look_init(struct scan_look *look, const struct scan_look_options *options) {
    *look =
        (struct scan_look){.options = *options, .scanner = ts_scanner_new(options->profile->rules->detector)};
    size_t entries = options->profile->has_config ? options->profile->config.allow_count : 0;
    look->allows = calloc(entries + 1, sizeof *look->allows);
    look->carried = calloc(TS_LANDMARKS_MAX, sizeof *look->carried);
    if (look->scanner != NULL && look->allows != NULL && look->carried != NULL)
        return true;
    scan__look_release(look);
    return false;
}

void scan__look_release(struct scan_look *look) {
    ts_scanner_free(look->scanner);
    ts_arena_release(&look->decoded);
    free(look->raw);
    free(look->settled);
    free(look->spans);
    free(look->carried);
    free(look->masks);
    free(look->found);
    free(look->inner);
    free(look->allows);
    *look = (struct scan_look){.scanner = NULL};
}

/* ---- raw matches ---- */

static void add_raw(struct scan_look *look, const struct ts_match *match) {
    if (look->raw_count >= SCAN_MATCHES_MAX)
        look->too_many = true;
    else if (!TS_GROW(look->raw, look->raw_capacity, look->raw_count + 1))
        look->no_memory = true;
    else
        look->raw[look->raw_count++] = *match;
}

void scan__look_found(void *context, const struct ts_match *match) {
    struct scan_look *look = context;
    struct ts_match kept = *match;
    if (match->depth > 0) {
        kept.secret.data = (const uint8_t *)ts_arena_copy(&look->decoded, match->secret);
        if (kept.secret.data == NULL) {
            look->no_memory = true;
            return;
        }
    }
    add_raw(look, &kept);
}

static bool is_copied(const struct ts_match *match, const struct ts_git_copy *copy, uint64_t base_size,
                      size_t size) {
    size_t end = match->depends.from + match->depends.len;
    if (match->depends.from < copy->from || end > copy->from + copy->len)
        return false;
    if (match->depends_on_start && (copy->from != 0 || copy->at != 0))
        return false;
    return !match->depends_on_end || (copy->from + copy->len == base_size && copy->at + copy->len == size);
}

static void move_span(struct ts_span *span, const struct ts_git_copy *copy) {
    span->from = span->from - (size_t)copy->from + (size_t)copy->at;
}

/* Carries over the matches of the base that are unchanged in these bytes, at every position to which they
 * were copied. */
static void carry(struct scan_look *look, struct ts_bytes bytes, const struct scan_base *base) {
    for (size_t i = 0; base->raw != NULL && i < base->raw->count; i++) {
        for (size_t k = 0; k < base->copy_count; k++) {
            const struct ts_git_copy *copy = &base->copies[k];
            if (!is_copied(&base->raw->items[i], copy, base->size, bytes.len))
                continue;
            struct ts_match moved = base->raw->items[i];
            move_span(&moved.span, copy);
            move_span(&moved.secret_span, copy);
            move_span(&moved.depends, copy);
            if (moved.depth == 0)
                moved.secret = ts_bytes_slice(bytes, moved.secret_span);
            add_raw(look, &moved);
        }
    }
}

/* Returns the index of the first landmark that ends at `end` or later. The search begins near `last`, the
 * result for the previous copy, because most deltas copy from front to back. */
static size_t first_landmark(const struct ts_landmarks *landmarks, uint64_t end, size_t last) {
    size_t low = 0;
    size_t high = landmarks->count;
    if (last < high && landmarks->items[last].end < end) {
        low = last + 1;
        for (size_t step = 1; low + step < high; step *= 2) {
            if (landmarks->items[low + step].end >= end)
                high = low + step;
            else
                low += step;
        }
    } else if (last == 0 || landmarks->items[last - 1].end < end) {
        return last;
    } else {
        high = last;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (landmarks->items[middle].end < end)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the unchanged landmarks of the base in a content of this size. The result is unknown if there are
 * too many, or if the landmarks of the base are unknown. */
static struct ts_landmarks carry_landmarks(struct scan_look *look, size_t size,
                                           const struct scan_base *base) {
    struct ts_landmarks none = {.are_known = base->raw == NULL};
    if (base->raw == NULL || !base->raw->landmarks.are_known || size > UINT32_MAX)
        return none;
    const struct ts_landmarks *known = &base->raw->landmarks;
    size_t before = ts_detector_landmark_before(look->options.profile->rules->detector);
    size_t count = 0;
    size_t first = 0; /* the result for the previous copy */
    for (size_t k = 0; k < base->copy_count; k++) {
        const struct ts_git_copy *copy = &base->copies[k];
        uint64_t to = copy->from + copy->len;
        bool at_start = copy->from == 0 && copy->at == 0;
        bool at_end = to == base->size && copy->at + copy->len == size;
        first = first_landmark(known, at_start ? 0 : copy->from + before, first);
        for (size_t i = first; i < known->count && known->items[i].end < to + at_end; i++) {
            if (count == TS_LANDMARKS_MAX)
                return none;
            look->carried[count] = known->items[i];
            look->carried[count++].end = (uint32_t)(known->items[i].end - copy->from + copy->at);
        }
    }
    return (struct ts_landmarks){true, count, look->carried};
}

static void add_changed(struct scan_look *look, size_t *count, struct ts_span span) {
    struct ts_span *last = *count > 0 ? &look->spans[*count - 1] : NULL;
    if (last != NULL && span.from < last->from + last->len)
        last->len = span.from + span.len - last->from;
    else
        look->spans[(*count)++] = span;
}

/*
 * Finds all bytes outside the copies, and an empty span where two copies meet. A match may begin or end at
 * the start or end of the base only because the base has no further bytes there. So if the start or end of
 * the base is copied to another position, one byte at this position counts as changed, too. Returns false
 * when memory runs out.
 */
static bool find_changed(struct scan_look *look, size_t size, const struct scan_base *base,
                         size_t *ret_count) {
    if (!TS_GROW(look->spans, look->span_capacity, base->copy_count + 1))
        return false;
    size_t count = 0;
    size_t end = 0;         /* end of the copies so far */
    bool ends_base = false; /* the last of these copies ends at the end of the base */
    for (size_t i = 0; i < base->copy_count; i++) {
        const struct ts_git_copy *copy = &base->copies[i];
        size_t from = end - ends_base;
        size_t to = (size_t)copy->at + (copy->from == 0);
        if (copy->at != 0 || copy->from != 0)
            add_changed(look, &count, (struct ts_span){from, to - from});
        end = (size_t)(copy->at + copy->len);
        ends_base = copy->from + copy->len == base->size;
    }
    if (end != size || !ends_base)
        add_changed(look, &count, (struct ts_span){end - ends_base, size - end + ends_base});
    *ret_count = count;
    return true;
}

static bool is_worth_carrying(const struct scan_base *base) {
    if (base == NULL || base->copy_count == 0)
        return false;
    if (base->raw == NULL)
        return true;
    return !base->raw->is_unknown && base->raw->count <= CARRY_STEPS_MAX / base->copy_count;
}

bool scan__look_is_cut(const struct scan_look *look) {
    return look->options.stop != NULL && atomic_load(look->options.stop);
}

bool scan__look_judges_on(const struct scan_look *look, size_t *late) {
    return !scan__look_is_cut(look) || ++*late <= JUDGED_LATE;
}

static bool find_raw(struct scan_look *look, struct ts_bytes bytes, const struct scan_base *base) {
    struct ts_scanner_input scan = {
        .bytes = bytes, .ungated = look->options.ungated, .stop = look->options.stop};
    look->landmarks = (struct ts_landmarks){.are_known = false};
    if (is_worth_carrying(base)) {
        if (!find_changed(look, bytes.len, base, &scan.changed_count))
            return false;
        carry(look, bytes, base);
        scan.landmarks = carry_landmarks(look, bytes.len, base);
        look->landmarks = scan.landmarks;
        if (scan.changed_count == 0)
            return true;
        scan.changed = look->spans;
    }
    bool done = ts_scanner_scan(look->scanner, &scan, scan__look_found, look);
    look->landmarks = ts_scanner_landmarks(look->scanner);
    return done;
}

/* ---- for deltas ---- */

static struct scan_raw unknown = {.is_unknown = true};
static struct scan_raw unmarked; /* stands for a result without matches and with unknown landmarks */

struct scan_raw *scan__raw_unknown(void) {
    return &unknown;
}

void scan__raw_free(struct scan_raw *raw) {
    if (raw != &unknown && raw != &unmarked)
        free(raw);
}

/* Keeps the matches and landmarks for deltas. Secrets that are not encoded are not copied, because a delta
 * contains their bytes. */
static struct scan_raw *keep_raw(const struct scan_look *look) {
    const struct ts_landmarks *landmarks = &look->landmarks;
    if (look->raw_count == 0 && landmarks->count == 0)
        return landmarks->are_known ? NULL : &unmarked;
    if (look->raw_count > RAW_MAX)
        return &unknown;
    size_t size = sizeof(struct scan_raw) + look->raw_count * sizeof *look->raw;
    size_t marks = size;
    size += landmarks->count * sizeof *landmarks->items;
    size_t secrets = size;
    for (size_t i = 0; i < look->raw_count; i++)
        size += look->raw[i].depth > 0 ? look->raw[i].secret.len : 0;
    struct scan_raw *raw = malloc(size);
    if (raw == NULL)
        return &unknown;
    *raw = (struct scan_raw){.count = look->raw_count, .landmarks = *landmarks};
    struct ts_landmark *kept = (struct ts_landmark *)(void *)((uint8_t *)raw + marks);
    if (landmarks->count > 0)
        memcpy(kept, landmarks->items, landmarks->count * sizeof *kept);
    raw->landmarks.items = kept;
    uint8_t *at = (uint8_t *)raw + secrets;
    for (size_t i = 0; i < look->raw_count; i++) {
        raw->items[i] = look->raw[i];
        size_t len = look->raw[i].depth > 0 ? look->raw[i].secret.len : 0;
        if (len > 0)
            memcpy(at, look->raw[i].secret.data, len);
        raw->items[i].secret = ts_bytes_of(at, len);
        at += len;
    }
    return raw;
}

/* ---- judging ---- */

static int compare_spans(const void *a, const void *b) {
    const struct ts_span *x = a;
    const struct ts_span *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Finds the positions of secrets, settled or not, as runs that do not overlap. Returns false when memory runs
 * out. */
static bool find_masks(struct scan_look *look, size_t *ret_count) {
    if (!TS_GROW(look->masks, look->mask_capacity, look->raw_count))
        return false;
    for (size_t i = 0; i < look->raw_count; i++)
        look->masks[i] = look->raw[i].secret_span;
    qsort(look->masks, look->raw_count, sizeof *look->masks, compare_spans);
    size_t count = 0;
    for (size_t i = 0; i < look->raw_count; i++) {
        struct ts_span *last = count > 0 ? &look->masks[count - 1] : NULL;
        struct ts_span span = look->masks[i];
        if (last == NULL || span.from > last->from + last->len)
            look->masks[count++] = span;
        else if (span.from + span.len > last->from + last->len)
            last->len = span.from + span.len - last->from;
    }
    *ret_count = count;
    return true;
}

/* Sets around->secrets to the secrets that are near enough to be in the surroundings. */
static void choose_masks(const struct scan_look *look, struct scan_around *around) {
    size_t from = around->at.from > SCAN_EXCERPT_BEFORE ? around->at.from - SCAN_EXCERPT_BEFORE : 0;
    size_t to = around->at.from + SCAN_EXCERPT_BEHIND;
    size_t low = 0;
    size_t high = look->mask_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (look->masks[middle].from + look->masks[middle].len <= from)
            low = middle + 1;
        else
            high = middle;
    }
    around->secrets = look->masks + low;
    while (low + around->secret_count < look->mask_count && around->secrets[around->secret_count].from < to)
        around->secret_count++;
}

/* Stores the surroundings of a match. If matches were lost, no byte of the surroundings is shown, because
 * every byte may belong to a secret. */
static uint32_t around_of(struct scan_look *look, struct ts_bytes bytes, const struct ts_match *match) {
    char text[SCAN_AROUND_SIZE];
    struct scan_around around = {.content = bytes,
                                 .at = match->secret_span,
                                 .same = match->secret,
                                 .shown = look->options.shows_secrets,
                                 .is_hidden = look->too_many || look->no_memory || scan__look_is_cut(look)};
    choose_masks(look, &around);
    size_t len = scan__around(&around, text);
    return scan__hits_text(look->options.hits, ts_bytes_of(text, len));
}

/* Finds what may allow the match: entries of the configuration, or a mark in the lines of the match. */
static void judge(struct scan_look *look, struct ts_bytes bytes, const struct ts_match *match,
                  const struct ts_finding_id *id, struct scan_hit *hit) {
    const struct scan_profile *profile = look->options.profile;
    struct ts_span lines = ts_lines_of(bytes, match->span);
    struct ts_allow_question question = {.path = "",
                                         .rule = profile->rules->set.rules[match->rule].id,
                                         .finding = id->text,
                                         .secret = match->secret,
                                         .lines = ts_bytes_slice(bytes, lines),
                                         .line_before = ts_bytes_slice(bytes, ts_line_before(bytes, lines))};
    struct ts_finding_id project_id;
    if (profile->has_project_key) {
        project_id = ts_finding_id_of(&profile->project_key, question.rule, match->secret);
        question.project_finding = project_id.text;
    }
    size_t count =
        profile->has_config ? ts_detect_config_consider(&profile->config, &question, look->allows) : 0;
    hit->allows =
        scan__hits_text(look->options.hits, ts_bytes_of(look->allows, count * sizeof *look->allows));
    const char *mark = ts_pragma_find(question.lines, question.line_before, question.rule);
    hit->pragma =
        mark != NULL ? scan__hits_text(look->options.hits, ts_bytes_of_cstring(mark)) : SCAN_NO_TEXT;
}

bool scan__look_judge(struct scan_look *look, struct ts_bytes bytes, const struct ts_match *match,
                      struct scan_lines *lines, struct scan_hit *ret_hit) {
    const struct scan_profile *profile = look->options.profile;
    const struct ts_rule *rule = &profile->rules->set.rules[match->rule];
    char redacted[SCAN_REDACTED_SIZE];
    struct scan_finding_new finding = {
        .id = ts_finding_id_of(&profile->key, rule->id, match->secret),
        .rule = rule,
    };
    /* A rule from a file of the target must not decide that a match is shown unredacted. */
    bool is_public = rule->context && rule->origin != TS_RULE_OF_TARGET;
    if (!is_public)
        finding.print = scan__print_of(&look->options.print_key, match->secret);
    const char *block = scan__redact_block(match->secret, &finding.id, redacted);
    const char *shown = block != NULL ? block
                        : is_public   ? scan__show_whole(match->secret, redacted)
                                      : scan__redact(match->secret, redacted);
    finding.redacted = ts_bytes_of_cstring(shown);
    if (look->options.keeps_secrets)
        finding.secret = match->secret;
    struct scan_hit hit = {.at = match->secret_span.from,
                           .len = match->secret_span.len,
                           .score = match->score,
                           .confidence = (uint8_t)match->confidence,
                           .depth = match->depth};
    for (size_t i = 0; i < TS_ENCODING_DEPTH; i++)
        hit.encodings[i] = i < match->depth ? (uint8_t)match->encodings[i] : 0;
    if (!scan__hits_finding(look->options.hits, &finding, &hit.finding))
        return false;
    struct scan_position begin = scan__lines_find(lines, match->secret_span.from);
    struct scan_lines ahead = *lines;
    struct scan_position end = scan__lines_find(&ahead, match->secret_span.from + match->secret_span.len);
    hit.line = begin.line;
    hit.column = begin.column;
    hit.end_line = end.line;
    hit.end_column = end.column;
    hit.around = look->options.omits_lines ? SCAN_NO_TEXT : around_of(look, bytes, match);
    judge(look, bytes, match, &finding.id, &hit);
    *ret_hit = hit;
    return true;
}

bool scan__look_prepare(struct scan_look *look) {
    return find_masks(look, &look->mask_count);
}

static bool report(struct scan_look *look, const struct scan_content *content, struct ts_bytes bytes) {
    struct scan_content kept_content = *content;
    if (!TS_GROW(look->settled, look->settled_capacity, look->raw_count) || !scan__look_prepare(look))
        return false;
    memcpy(look->settled, look->raw, look->raw_count * sizeof *look->raw);
    size_t count = ts_matches_settle(&look->options.profile->rules->set, look->settled, look->raw_count);
    if (!TS_GROW(look->found, look->found_capacity, count))
        return false;
    struct scan_lines lines;
    scan__lines_init(&lines, bytes);
    size_t kept = 0;
    size_t late = 0;
    for (size_t i = 0; i < count && scan__look_judges_on(look, &late); i++)
        kept += scan__look_judge(look, bytes, &look->settled[i], &lines, &look->found[kept]);
    kept_content.is_whole = look->is_whole && !look->too_many && !look->no_memory && kept == count;
    kept = scan__inside_settle(look, look->found, kept);
    if (kept > 0)
        scan__hits_add(look->options.hits, &kept_content, look->found, kept);
    return true;
}

bool scan__look_is_clean(struct scan_look *look, struct ts_bytes bytes) {
    struct ts_scanner_work before = ts_scanner_counts(look->scanner);
    look->raw_count = 0;
    look->no_memory = false;
    look->too_many = false;
    bool done = find_raw(look, bytes, NULL) && !look->no_memory;
    struct ts_scanner_work after = ts_scanner_counts(look->scanner);
    look->forgotten.bytes += after.bytes - before.bytes;
    look->forgotten.limits_hit += after.limits_hit - before.limits_hit;
    look->forgotten.own_spent += after.own_spent - before.own_spent;
    if (look->raw_count > 0)
        ts_arena_clear(&look->decoded);
    return done && look->raw_count == 0 && after.limits_hit == before.limits_hit && !scan__look_is_cut(look);
}

static enum scan_look_result look_at_bytes(struct scan_look *look, const struct scan_content *content,
                                           struct ts_bytes bytes, const struct scan_base *base,
                                           struct scan_raw **ret_raw) {
    look->raw_count = 0;
    look->no_memory = false;
    look->too_many = false;
    uint64_t limits_hit = ts_scanner_counts(look->scanner).limits_hit;
    bool done = find_raw(look, bytes, base) && !look->no_memory;
    look->is_whole =
        done && ts_scanner_counts(look->scanner).limits_hit == limits_hit && !scan__look_is_cut(look);
    look->is_clean = look->is_whole && look->raw_count == 0;
    if (look->raw_count > 0)
        done = report(look, content, bytes) && done;
    if (ret_raw != NULL)
        *ret_raw = done && !look->too_many && !scan__look_is_cut(look) ? keep_raw(look) : &unknown;
    if (look->raw_count > 0)
        ts_arena_clear(&look->decoded);
    return !done ? SCAN_LOOK_NO_MEMORY : look->too_many ? SCAN_LOOK_TOO_MANY : SCAN_LOOK_OK;
}

enum scan_look_result scan__look_whole(struct scan_look *look, const struct scan_content *content,
                                       struct ts_bytes bytes, const struct scan_base *base,
                                       struct scan_raw **ret_raw) {
    enum scan_pointer pointer = scan__inside_pointer(look, content, bytes);
    if (pointer != SCAN_POINTER_NONE) {
        enum scan_look_result outcome = SCAN_LOOK_OK;
        if (pointer == SCAN_POINTER_MISSING)
            outcome = look_at_bytes(look, content, bytes, NULL, NULL);
        if (ret_raw != NULL)
            *ret_raw = &unknown;
        look->is_whole = look->is_clean = false; /* the next scan may find another LFS object, or none */
        return outcome;
    }
    enum scan_archive_kind kind = scan__inside_kind(look, content, bytes, true);
    if (kind == SCAN_ARCHIVE_NONE)
        return look_at_bytes(look, content, bytes, base, ret_raw);
    struct scan_content archive = *content;
    archive.evidence = 0;
    struct scan_within within = scan__inside_members(look, &archive, kind, bytes);
    enum scan_look_result outcome = look_at_bytes(look, &archive, bytes, base, ret_raw);
    scan__inside_end(look, &within);
    return outcome;
}
