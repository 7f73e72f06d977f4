/* Finds where the first token of a secret begins, by following all paths through a pattern at once. */
#include "language.h"

#include "classify.h"
#include "token_runs.h"

#include <stdlib.h>

/* Limit of work, less than a second: enough for all but the largest patterns of the gate `token`. */
static const uint64_t walk_work_max = UINT64_C(1) << 29;

/*
 * A state on a path through a pattern. Inside a run of token characters of the secret: the run began at
 * `start`, and has `len` bytes and `digits` digits so far (2 means two or more). Outside a run: start is the
 * number of bytes so far, and the other fields are 0.
 */
struct place {
    uint32_t digits;
    uint32_t start;
    uint32_t len;
};

/* All paths through a pattern at once: the states that the paths have reached. */
struct ways {
    uint8_t *cells; /* indexed by place */
    uint32_t end;   /* upper bound: start + len of every state is below `end` */
};

struct walk {
    uint32_t size; /* number of elements of start and len */
    bool in_secret;
    bool is_found;
    bool failed;
    uint32_t most;
    uint64_t work; /* processed cells */
};

enum { DIGITS = DETECT_DIGITS_MIN + 1 };

static uint8_t *cell_of(const struct walk *w, const struct ways *ways, struct place place) {
    return &ways->cells[((size_t)place.digits * w->size + place.start) * w->size + place.len];
}

static struct ways ways_new(struct walk *w) {
    struct ways ways = {calloc((size_t)DIGITS * w->size * w->size, 1), 0};
    if (!ways.cells)
        w->failed = true;
    return ways;
}

static void ways_add(const struct walk *w, struct ways *ways, struct place place) {
    uint32_t upto = place.start + place.len + 1;
    if (upto > w->size) /* longer than any match */
        return;
    *cell_of(w, ways, place) = 1;
    ways->end = upto > ways->end ? upto : ways->end;
}

static void count_work(struct walk *w, const struct ways *ways) {
    w->work += (uint64_t)DIGITS * ways->end * ways->end / 2 + 1;
    if (w->work > walk_work_max)
        w->failed = true;
}

static void ways_unite(struct walk *w, struct ways *ways, const struct ways *other) {
    count_work(w, other);
    for (struct place place = {0}; place.digits < DIGITS; place.digits++)
        for (place.start = 0; place.start < other->end; place.start++)
            for (place.len = 0; place.start + place.len < other->end; place.len++)
                *cell_of(w, ways, place) |= *cell_of(w, other, place);
    ways->end = other->end > ways->end ? other->end : ways->end;
}

/* Adds the state of a run that has become longer by one byte. If the run now has a token's shape, records its
 * start instead. */
static void lengthen(struct walk *w, struct ways *ways, struct place place) {
    place.digits = place.digits < DETECT_DIGITS_MIN ? place.digits : DETECT_DIGITS_MIN;
    if (place.len < DETECT_RUN_MIN || place.digits < DETECT_DIGITS_MIN) {
        ways_add(w, ways, place);
        return;
    }
    w->is_found = true;
    w->most = place.start > w->most ? place.start : w->most;
}

/* The possible values of a byte. */
struct choices {
    bool digit;
    bool other_token;
    bool no_token;
};

static void walk_from(struct walk *w, struct place at, struct choices choices, struct ways *after) {
    if (!w->in_secret || choices.no_token)
        ways_add(w, after, (struct place){.start = at.start + at.len + 1});
    if (w->in_secret && choices.other_token)
        lengthen(w, after, (struct place){at.digits, at.start, at.len + 1});
    if (w->in_secret && choices.digit)
        lengthen(w, after, (struct place){at.digits + 1, at.start, at.len + 1});
}

static void walk_byte(struct walk *w, const uint64_t set[4], struct ways *ways) {
    struct choices choices = {0};
    for (unsigned byte = 0; byte < 256; byte++)
        if (detect__bytes_has(set, byte)) {
            bool is_digit = byte >= '0' && byte <= '9';
            choices.digit = choices.digit || is_digit;
            choices.other_token = choices.other_token || (detect__is_token[byte] != 0 && !is_digit);
            choices.no_token = choices.no_token || detect__is_token[byte] == 0;
        }
    struct ways after = ways_new(w);
    count_work(w, ways);
    for (struct place at = {0}; at.digits < DIGITS && !w->failed; at.digits++)
        for (at.start = 0; at.start < ways->end; at.start++)
            for (at.len = 0; at.start + at.len < ways->end; at.len++)
                if (*cell_of(w, ways, at))
                    walk_from(w, at, choices, &after);
    free(ways->cells);
    *ways = after;
}

static void walk_node(struct walk *w, const struct detect_language *node, struct ways *ways);

static void walk_choice(struct walk *w, const struct detect_language *node, struct ways *ways) {
    struct ways after = ways_new(w);
    for (const struct detect_language *part = node->first; part && !w->failed; part = part->next) {
        struct ways one = ways_new(w);
        if (!w->failed)
            ways_unite(w, &one, ways);
        walk_node(w, part, &one);
        if (!w->failed)
            ways_unite(w, &after, &one);
        free(one.cells);
    }
    free(ways->cells);
    *ways = after;
}

/* Returns whether a part contains the group `secret`. A repeated group is not supported, because only its
 * last repetition counts, and no rule repeats the group. */
static bool has_secret(const struct detect_language *node) {
    if (node->kind == DETECT_LANGUAGE_SECRET)
        return true;
    for (const struct detect_language *part = node->first; part; part = part->next)
        if (has_secret(part))
            return true;
    return false;
}

static void walk_repeat(struct walk *w, const struct detect_language *node, struct ways *ways) {
    struct ways after = ways_new(w);
    if (node->counts.max > 1 && has_secret(node->first))
        w->failed = true;
    for (uint32_t count = 0; !w->failed; count++) {
        if (count >= node->counts.min)
            ways_unite(w, &after, ways);
        /* Paths longer than any match are dropped, and repeating an empty part changes nothing. */
        if (count == node->counts.max || ways->end == 0 || count > w->size + node->counts.min)
            break;
        walk_node(w, node->first, ways);
    }
    free(ways->cells);
    *ways = after;
}

static void walk_node(struct walk *w, const struct detect_language *node, struct ways *ways) {
    if (w->failed)
        return;
    switch (node->kind) {
    case DETECT_LANGUAGE_NOTHING:
        break;
    case DETECT_LANGUAGE_BYTE:
        walk_byte(w, node->bytes, ways);
        break;
    case DETECT_LANGUAGE_SEQUENCE:
        for (const struct detect_language *part = node->first; part; part = part->next)
            walk_node(w, part, ways);
        break;
    case DETECT_LANGUAGE_CHOICE:
        if (node->first && !node->first->next)
            walk_node(w, node->first, ways);
        else
            walk_choice(w, node, ways);
        break;
    case DETECT_LANGUAGE_REPEAT:
        walk_repeat(w, node, ways);
        break;
    case DETECT_LANGUAGE_SECRET:
        w->in_secret = true;
        walk_node(w, node->first, ways);
        w->in_secret = false;
        /* The rest of the pattern does not matter. */
        free(ways->cells);
        *ways = ways_new(w);
        break;
    }
}

enum detect_token_start detect__language_token_start(const struct detect_language *language, uint32_t reach,
                                                     uint32_t *ret_most) {
    struct walk w = {.size = reach + 1};
    struct ways ways = ways_new(&w);
    if (ways.cells) {
        ways_add(&w, &ways, (struct place){0});
        walk_node(&w, language, &ways);
    }
    free(ways.cells);
    if (w.failed)
        return DETECT_TOKEN_UNKNOWN;
    if (!w.is_found)
        return DETECT_TOKEN_NEVER;
    *ret_most = w.most;
    return DETECT_TOKEN_STARTS;
}
