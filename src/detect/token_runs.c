#include "token_runs.h"

#include <assert.h>
#include <string.h>

enum { BATCH = 64 };

/* The results of the previous block, from which bits are carried into the search for 16 token characters in a
 * row: one word for each shift-and-mask step. */
struct row_state {
    uint64_t token;
    uint64_t two;
    uint64_t four;
    uint64_t eight;
};

/* Returns a mask: bit i is set if the 16 bytes that end at i are all token characters. */
static uint64_t ends_of_sixteen(struct row_state *state, uint64_t token) {
    uint64_t two = token & (token << 1 | state->token >> 63);
    uint64_t four = two & (two << 2 | state->two >> 62);
    uint64_t eight = four & (four << 4 | state->four >> 60);
    uint64_t sixteen = eight & (eight << 8 | state->eight >> 56);
    *state = (struct row_state){token, two, four, eight};
    return sixteen;
}

/* Returns a mask: bit i is set if bytes i, i + 2, i + 4 and i + 6 are zeros, and the bytes between them are
 * not. */
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

/* A block whose runs were not visited yet, because only the next block shows whether they continue. */
struct block {
    size_t at;
    uint64_t token;
    uint64_t digit;
    uint64_t sixteen;      /* ends of rows of 16 token characters */
    uint64_t before_token; /* token bits of the block before */
    uint64_t before_digit;
};

struct walk {
    struct ts_bytes bytes;
    size_t from; /* start of the range of the walk */
    size_t end;
    size_t floor; /* floor, ceiling: a run is followed beyond the range up to these limits */
    size_t ceiling;
    const struct detect_run_visitor *visitor;
    struct block block; /* if sixteen is 0, there is nothing to visit, and the other fields are invalid */
};

/* Returns a mask with the bits from `from` to `last`. */
static uint64_t bits_between(unsigned from, unsigned last) {
    return (UINT64_MAX >> (63 - last)) & (UINT64_MAX << from);
}

/* Follows a run byte by byte, because it may extend beyond the range or the two blocks. */
static void visit_far_run(const struct walk *walk, size_t last) {
    const uint8_t *data = walk->bytes.data;
    size_t from = last;
    while (from > walk->floor && detect__is_token[data[from - 1]])
        from--;
    size_t to = last + 1;
    while (to < walk->ceiling && detect__is_token[data[to]])
        to++;
    struct ts_span run = {.from = from, .len = to - from};
    if (walk->visitor->any_digits || count_digits(ts_bytes_slice(walk->bytes, run)) >= DETECT_DIGITS_MIN)
        walk->visitor->run(walk->visitor->context, run);
}

/* visit_run recognises two digits of a run by more than one bit in the masks. */
static_assert(DETECT_DIGITS_MIN == 2, "found as more than one bit");

/* Visits the run that ends with this bit of the pending block. */
static void visit_run(const struct walk *walk, unsigned last_bit) {
    const struct block *block = &walk->block;
    size_t last = block->at + last_bit;
    uint64_t gaps = ~block->token & bits_between(0, last_bit);
    size_t from;
    uint64_t digits;     /* digits of the run in this block */
    uint64_t before = 0; /* digits of the run in the block before */
    if (gaps != 0) {
        unsigned first_bit = 64 - (unsigned)__builtin_clzll(gaps);
        from = block->at + first_bit;
        digits = block->digit & bits_between(first_bit, last_bit);
    } else {
        uint64_t gaps_before = ~block->before_token;
        unsigned shared = gaps_before == 0 ? 64 : (unsigned)__builtin_clzll(gaps_before);
        from = shared == 64 ? walk->from : block->at - shared;
        digits = block->digit & bits_between(0, last_bit);
        if (shared > 0 && shared < 64)
            before = block->before_digit >> (64 - shared);
    }
    bool has_two =
        (digits & (digits - 1)) != 0 || (before & (before - 1)) != 0 || (digits != 0 && before != 0);
    if (from == walk->from || last + 1 == walk->end)
        visit_far_run(walk, last);
    else if (has_two || walk->visitor->any_digits)
        walk->visitor->run(walk->visitor->context, (struct ts_span){from, last + 1 - from});
}

/* Visits the runs that end in the pending block. */
static void finish_block(struct walk *walk, uint64_t next_token) {
    const struct block *block = &walk->block;
    uint64_t ends = block->sixteen & ~(block->token >> 1 | next_token << 63);
    for (; ends != 0; ends &= ends - 1)
        visit_run(walk, (unsigned)__builtin_ctzll(ends));
}

static void visit_zeros(const struct walk *walk, size_t at, uint64_t zero) {
    for (uint64_t at_zeros = alternating_zeros(zero); at_zeros != 0; at_zeros &= at_zeros - 1)
        walk->visitor->zeros(walk->visitor->context, at + (size_t)__builtin_ctzll(at_zeros));
}

/* The state of the previous blocks, in registers, because most blocks have nothing to visit. */
struct before {
    struct row_state row;
    uint64_t digit;
};

static inline void walk_block(struct walk *walk, struct before *before, size_t at,
                              const struct detect_masks *masks) {
    if (walk->block.sixteen != 0)
        finish_block(walk, masks->token);
    uint64_t before_token = before->row.token;
    uint64_t sixteen = ends_of_sixteen(&before->row, masks->token);
    walk->block.sixteen = sixteen;
    if (sixteen != 0)
        walk->block = (struct block){.at = at,
                                     .token = masks->token,
                                     .digit = masks->digit,
                                     .sixteen = sixteen,
                                     .before_token = before_token,
                                     .before_digit = before->digit};
    before->digit = masks->digit;
    if (masks->zero != 0 && walk->visitor->zeros)
        visit_zeros(walk, at, masks->zero);
}

void detect__token_runs(detect_classify *classify, struct ts_bytes bytes, struct ts_span within,
                        size_t stretch, const struct detect_run_visitor *visitor) {
    size_t end = within.from + within.len;
    struct walk walk = {.bytes = bytes,
                        .from = within.from,
                        .end = end,
                        .floor = within.from > stretch ? within.from - stretch : 0,
                        .ceiling = bytes.len - end > stretch ? end + stretch : bytes.len,
                        .visitor = visitor};
    struct before before = {.digit = 0};
    struct detect_masks masks[BATCH];
    size_t at = within.from;
    while (end - at >= 64) {
        size_t blocks = (end - at) / 64;
        if (blocks > BATCH)
            blocks = BATCH;
        classify(bytes.data + at, blocks, masks);
        for (size_t i = 0; i < blocks; i++)
            walk_block(&walk, &before, at + 64 * i, &masks[i]);
        at += 64 * blocks;
    }
    if (at < end) {
        uint8_t padded[64];
        memset(padded, ' ', sizeof padded);
        memcpy(padded, bytes.data + at, end - at);
        classify(padded, 1, masks);
        walk_block(&walk, &before, at, &masks[0]);
    }
    if (walk.block.sixteen != 0)
        finish_block(&walk, 0);
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
