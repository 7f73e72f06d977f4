#include "token_runs.h"

#include <string.h>

enum { BATCH = 64 };

/* What 16 in a row needs from the block before: the shifted-and masks, each with its own carry. */
struct row_state {
    uint64_t token;
    uint64_t two;
    uint64_t four;
    uint64_t eight;
};

/* Bit i: the 16 bytes that end at i are all token characters. */
static uint64_t ends_of_sixteen(struct row_state *state, uint64_t token) {
    uint64_t two = token & (token << 1 | state->token >> 63);
    uint64_t four = two & (two << 2 | state->two >> 62);
    uint64_t eight = four & (four << 4 | state->four >> 60);
    uint64_t sixteen = eight & (eight << 8 | state->eight >> 56);
    *state = (struct row_state){token, two, four, eight};
    return sixteen;
}

/* Bit i: zeros at i, i + 2, i + 4 and i + 6, and none between them. */
static uint64_t alternating_zeros(uint64_t zero) {
    uint64_t pair = zero & ~(zero >> 1);
    uint64_t two = pair & pair >> 2;
    return two & two >> 4;
}

static size_t count_digits(struct ts_bytes run) {
    size_t digits = 0;
    for (size_t i = 0; i < run.len && digits < DETECT_DIGITS_MIN; i++)
        digits += detect__is_token[run.data[i]] >> 1;
    return digits;
}

struct walk {
    struct ts_bytes bytes;
    struct ts_span within;
    size_t floor; /* how far back and forth runs are followed */
    size_t ceiling;
    size_t done_to; /* the end of the last run */
    const struct detect_run_visitor *visitor;
};

/* A run of 16 ends at `last`: follow it both ways. */
static void visit_run(struct walk *walk, size_t last) {
    const uint8_t *data = walk->bytes.data;
    size_t from = last + 1 - DETECT_RUN_MIN;
    while (from > walk->floor && detect__is_token[data[from - 1]])
        from--;
    size_t to = last + 1;
    while (to < walk->ceiling && detect__is_token[data[to]])
        to++;
    walk->done_to = to;
    struct ts_span run = {.from = from, .len = to - from};
    if (walk->visitor->any_digits || count_digits(ts_bytes_slice(walk->bytes, run)) >= DETECT_DIGITS_MIN)
        walk->visitor->run(walk->visitor->context, run);
}

/* Where a block of 64 begins, and how much of it counts. */
struct block {
    size_t at;
    size_t len;
};

static void visit_block(struct walk *walk, struct row_state *state, const struct detect_masks *masks,
                        struct block block) {
    uint64_t counts = block.len == 64 ? UINT64_MAX : (UINT64_C(1) << block.len) - 1;
    uint64_t ends = ends_of_sixteen(state, masks->token & counts);
    while (ends != 0) {
        size_t last = block.at + (size_t)__builtin_ctzll(ends);
        if (last >= walk->done_to)
            visit_run(walk, last);
        size_t skip = walk->done_to - block.at;
        ends = skip >= 64 ? 0 : ends & ~((UINT64_C(1) << skip) - 1);
    }
    uint64_t alternating = walk->visitor->zeros ? alternating_zeros(masks->zero & counts) : 0;
    for (; alternating != 0; alternating &= alternating - 1)
        walk->visitor->zeros(walk->visitor->context, block.at + (size_t)__builtin_ctzll(alternating));
}

void detect__token_runs(detect_classify *classify, struct ts_bytes bytes, struct ts_span within,
                        size_t stretch, const struct detect_run_visitor *visitor) {
    size_t end = within.from + within.len;
    struct walk walk = {.bytes = bytes,
                        .within = within,
                        .floor = within.from > stretch ? within.from - stretch : 0,
                        .ceiling = bytes.len - end > stretch ? end + stretch : bytes.len,
                        .visitor = visitor};
    struct row_state state = {0};
    struct detect_masks masks[BATCH];
    size_t at = within.from;
    while (end - at >= 64) {
        size_t blocks = (end - at) / 64;
        if (blocks > BATCH)
            blocks = BATCH;
        classify(bytes.data + at, blocks, masks);
        for (size_t i = 0; i < blocks; i++)
            visit_block(&walk, &state, &masks[i], (struct block){at + 64 * i, 64});
        at += 64 * blocks;
    }
    if (at < end) {
        uint8_t padded[64];
        memset(padded, ' ', sizeof padded);
        memcpy(padded, bytes.data + at, end - at);
        classify(padded, 1, masks);
        visit_block(&walk, &state, &masks[0], (struct block){at, end - at});
    }
}

bool detect__has_token_shape(struct ts_bytes bytes) {
    size_t run = 0;
    size_t digits = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        uint8_t kind = detect__is_token[bytes.data[i]];
        run = kind ? run + 1 : 0;
        digits = kind ? digits + (kind >> 1) : 0;
        if (run >= DETECT_RUN_MIN && digits >= DETECT_DIGITS_MIN)
            return true;
    }
    return false;
}
