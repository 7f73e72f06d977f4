/*
 * The input is cut into chunks of 1,024 bytes, a chunk into blocks of 64. Blocks of a chunk are chained by
 * the compression function; chunks are the leaves of a binary tree whose left subtrees are complete and as
 * large as possible, and a parent compresses the chaining values of its two children. The root is compressed
 * once for every 64 bytes of output, with the number of the output block as its counter.
 *
 * The root is compressed differently, so a full block or chunk waits for one more byte of input, which shows
 * that it is not the root.
 */
#include "base/blake3_portable.h"

#include "base/assert.h"
#include "base/endian.h"

#include <stdbool.h>
#include <string.h>

enum {
    KEY_LEN = 32,
    BLOCK_LEN = 64,
    CHUNK_BLOCKS = 16,
};

/* Flags that tell the compression function what it compresses, and in which mode. */
enum {
    CHUNK_START = 1 << 0,
    CHUNK_END = 1 << 1,
    PARENT = 1 << 2,
    ROOT = 1 << 3,
    KEYED_HASH = 1 << 4,
    DERIVE_KEY_CONTEXT = 1 << 5,
    DERIVE_KEY_MATERIAL = 1 << 6,
};

/* The initial values of SHA-256. */
static const uint32_t initial[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

/* A compression that is postponed, because its node may turn out to be the root. */
struct node {
    uint32_t cv[8];
    uint32_t words[16];
    uint64_t counter;
    uint32_t block_len;
    uint32_t flags;
};

/* A row of the state: four words that are processed together, which halves the number of instructions.
 * Vectors are a GNU C extension; the compiler uses vector instructions if the machine has them. */
typedef uint32_t row __attribute__((vector_size(16)));
typedef uint16_t row_of_halves __attribute__((vector_size(16)));

/* Picks lanes of one row, or of two rows; the lanes of the second row begin at 4. */
#define LANES(x, i, j, k, l)       __builtin_shufflevector(x, x, i, j, k, l)
#define LANES_OF(x, y, i, j, k, l) __builtin_shufflevector(x, y, i, j, k, l)

#define ROTATE_16(x)                                                                                         \
    ((row)__builtin_shufflevector((row_of_halves)(x), (row_of_halves)(x), 1, 0, 3, 2, 5, 4, 7, 6))
#define ROTATE(x, bits) ((x) >> (bits) | (x) << (32 - (bits)))

struct state {
    row a, b, c, d;
};

/* Mixes one message word into each column of the state. */
static inline void mix_first(struct state *s, row words) {
    s->a = s->a + words + s->b;
    s->d = ROTATE_16(s->d ^ s->a);
    s->c += s->d;
    s->b = ROTATE(s->b ^ s->c, 12);
}

static inline void mix_second(struct state *s, row words) {
    s->a = s->a + words + s->b;
    s->d = ROTATE(s->d ^ s->a, 8);
    s->c += s->d;
    s->b = ROTATE(s->b ^ s->c, 7);
}

/*
 * Runs one round: the columns, then the diagonals. Three rows and the words of the diagonals are rotated
 * first, so that the diagonals become columns. m0 and m1 are for the columns, m2 and m3 for the diagonals.
 */
static inline void run_round(struct state *s, const row m[static 4]) {
    mix_first(s, m[0]);
    mix_second(s, m[1]);
    s->a = LANES(s->a, 3, 0, 1, 2);
    s->d = LANES(s->d, 2, 3, 0, 1);
    s->c = LANES(s->c, 1, 2, 3, 0);
    mix_first(s, m[2]);
    mix_second(s, m[3]);
    s->a = LANES(s->a, 1, 2, 3, 0);
    s->d = LANES(s->d, 2, 3, 0, 1);
    s->c = LANES(s->c, 3, 0, 1, 2);
}

/* Computes the message for the next round: word 2 of the last round's message, then words 6, 3, 10, 7, 0, 4,
 * 13, 1, 11, 12, 5, 9, 14, 15, 8; here as rows of columns and diagonals. */
static inline void permute(row m[static 4]) {
    const row first = LANES_OF(m[0], m[1], 1, 5, 7, 2);
    const row second = LANES_OF(LANES(m[0], 3, 3, 0, 0), LANES_OF(m[2], m[3], 2, 2, 7, 7), 0, 5, 2, 7);
    const row third = LANES(LANES_OF(LANES_OF(m[3], m[1], 0, 1, 4, 5), m[2], 0, 1, 2, 7), 0, 2, 3, 1);
    const row fourth = LANES(LANES_OF(m[2], LANES_OF(m[1], m[3], 2, 6, 3, 7), 0, 4, 1, 5), 2, 3, 1, 0);
    m[0] = first;
    m[1] = second;
    m[2] = third;
    m[3] = fourth;
}

/* Runs the compression function without its last step, the feed-forward. Stores the state after seven
 * rounds. */
static void run_rounds(const struct node *node, uint32_t ret_state[static 16]) {
    enum { ROUNDS = 7 };
    struct state s;
    memcpy(&s.a, node->cv, sizeof s.a);
    memcpy(&s.b, node->cv + 4, sizeof s.b);
    memcpy(&s.c, initial, sizeof s.c);
    s.d = (row){(uint32_t)node->counter, (uint32_t)(node->counter >> 32), node->block_len, node->flags};
    row words[4];
    memcpy(words, node->words, sizeof words);
    row m[4] = {LANES_OF(words[0], words[1], 0, 2, 4, 6), LANES_OF(words[0], words[1], 1, 3, 5, 7),
                LANES_OF(words[3], words[2], 2, 4, 6, 0), LANES_OF(words[3], words[2], 3, 5, 7, 1)};
    run_round(&s, m);
    for (int round = 1; round < ROUNDS; round++) {
        permute(m);
        run_round(&s, m);
    }
    memcpy(ret_state, &s, sizeof s);
}

/* Computes the chaining value of a node that is not the root. ret_cv may be the node's own array. */
static void compress_to_cv(const struct node *node, uint32_t ret_cv[static 8]) {
    uint32_t state[16];
    run_rounds(node, state);
    for (size_t i = 0; i < 8; i++)
        ret_cv[i] = state[i] ^ state[i + 8];
}

/* Writes one block of the root's output. */
static void compress_to_output(struct node *root, uint64_t output_block,
                               uint8_t ret_bytes[static BLOCK_LEN]) {
    root->counter = output_block;
    root->flags |= ROOT;
    uint32_t state[16];
    run_rounds(root, state);
    for (size_t i = 0; i < 8; i++) {
        ts_le32_store(state[i] ^ state[i + 8], ret_bytes + 4 * i);
        ts_le32_store(state[i + 8] ^ root->cv[i], ret_bytes + 32 + 4 * i);
    }
}

static void load_words(const uint8_t *bytes, size_t count, uint32_t *ret_words) {
    for (size_t i = 0; i < count; i++)
        ret_words[i] = ts_le32_load(bytes + 4 * i);
}

static struct node parent_node(const struct ts_blake3_portable *hasher, const uint32_t *left,
                               const uint32_t *right) {
    struct node node = {.counter = 0, .block_len = BLOCK_LEN, .flags = hasher->flags | PARENT};
    memcpy(node.cv, hasher->key, sizeof node.cv);
    memcpy(node.words, left, 32);
    memcpy(node.words + 8, right, 32);
    return node;
}

/* Returns the compression of a block of the current chunk. */
static struct node block_node(const struct ts_blake3_portable *hasher, const uint8_t *block) {
    struct node node = {.counter = hasher->chunk_number,
                        .block_len = BLOCK_LEN,
                        .flags = hasher->flags | (hasher->blocks_done == 0 ? CHUNK_START : 0)};
    memcpy(node.cv, hasher->chunk_cv, sizeof node.cv);
    load_words(block, 16, node.words);
    return node;
}

/* Returns the compression that would be the chunk's last one if the chunk ended here. */
static struct node chunk_end_node(const struct ts_blake3_portable *hasher) {
    uint8_t padded[BLOCK_LEN] = {0};
    memcpy(padded, hasher->block, hasher->block_len);
    struct node node = block_node(hasher, padded);
    node.block_len = hasher->block_len;
    node.flags |= CHUNK_END;
    return node;
}

static void start_chunk(struct ts_blake3_portable *hasher, uint64_t number) {
    memcpy(hasher->chunk_cv, hasher->key, sizeof hasher->chunk_cv);
    hasher->chunk_number = number;
    hasher->blocks_done = 0;
    hasher->block_len = 0;
}

static void start(struct ts_blake3_portable *hasher, const uint32_t key[static 8], uint32_t flags) {
    /* The stack is not cleared, because only pushed entries are read, and clearing would cost as much as a
     * block of input. */
    hasher->stack_len = 0;
    memcpy(hasher->key, key, sizeof hasher->key);
    hasher->flags = flags;
    start_chunk(hasher, 0);
}

static void chain_block(struct ts_blake3_portable *hasher, const uint8_t *block) {
    struct node node = block_node(hasher, block);
    compress_to_cv(&node, hasher->chunk_cv);
    hasher->blocks_done++;
}

/* Ends a full chunk and joins every subtree that it completes: one for each trailing zero bit of the new
 * number of chunks, because the set bits of that number are the complete subtrees. */
static void finish_chunk(struct ts_blake3_portable *hasher) {
    uint32_t cv[8];
    struct node node = chunk_end_node(hasher);
    compress_to_cv(&node, cv);
    uint64_t chunks = hasher->chunk_number + 1;
    for (uint64_t rest = chunks; (rest & 1) == 0; rest >>= 1) {
        node = parent_node(hasher, hasher->stack[--hasher->stack_len], cv);
        compress_to_cv(&node, cv);
    }
    memcpy(hasher->stack[hasher->stack_len++], cv, sizeof cv);
    start_chunk(hasher, chunks);
}

void ts_blake3_portable_init(struct ts_blake3_portable *hasher) {
    start(hasher, initial, 0);
}

void ts_blake3_portable_init_keyed(struct ts_blake3_portable *hasher, const uint8_t key[static KEY_LEN]) {
    uint32_t words[8];
    load_words(key, 8, words);
    start(hasher, words, KEYED_HASH);
}

void ts_blake3_portable_init_derived(struct ts_blake3_portable *hasher,
                                     const uint32_t context_key[static 8]) {
    start(hasher, context_key, DERIVE_KEY_MATERIAL);
}

void ts_blake3_portable_init_derive_key(struct ts_blake3_portable *hasher, struct ts_bytes context) {
    uint8_t context_key[KEY_LEN];
    uint32_t words[8];
    start(hasher, initial, DERIVE_KEY_CONTEXT);
    ts_blake3_portable_update(hasher, context);
    ts_blake3_portable_output(hasher, 0, context_key, sizeof context_key);
    load_words(context_key, 8, words);
    start(hasher, words, DERIVE_KEY_MATERIAL);
}

void ts_blake3_portable_derived(const uint32_t context_key[static 8], struct ts_bytes input,
                                uint8_t ret_output[static BLOCK_LEN]) {
    ts_assert(input.len <= TS_BLAKE3_CHUNK_LEN);
    struct node node;
    memcpy(node.cv, context_key, sizeof node.cv);
    node.counter = 0;
    node.block_len = BLOCK_LEN;
    node.flags = DERIVE_KEY_MATERIAL | CHUNK_START;
    for (; input.len > BLOCK_LEN; input = ts_bytes_skip(input, BLOCK_LEN)) {
        load_words(input.data, 16, node.words);
        compress_to_cv(&node, node.cv);
        node.flags &= ~(uint32_t)CHUNK_START;
    }
    uint8_t padded[BLOCK_LEN] = {0};
    if (input.len > 0)
        memcpy(padded, input.data, input.len);
    load_words(padded, 16, node.words);
    node.block_len = (uint32_t)input.len;
    node.flags |= CHUNK_END;
    compress_to_output(&node, 0, ret_output);
}

void ts_blake3_portable_update(struct ts_blake3_portable *hasher, struct ts_bytes input) {
    while (input.len > 0) {
        if (hasher->block_len == BLOCK_LEN) {
            if (hasher->blocks_done == CHUNK_BLOCKS - 1) {
                finish_chunk(hasher);
            } else {
                chain_block(hasher, hasher->block);
                hasher->block_len = 0;
            }
        }
        /* Whole blocks that are not the last of their chunk or of the input need no copy. */
        while (hasher->block_len == 0 && input.len > BLOCK_LEN && hasher->blocks_done < CHUNK_BLOCKS - 1) {
            chain_block(hasher, input.data);
            input = ts_bytes_skip(input, BLOCK_LEN);
        }
        size_t room = (size_t)BLOCK_LEN - hasher->block_len;
        size_t part = input.len < room ? input.len : room;
        memcpy(hasher->block + hasher->block_len, input.data, part);
        hasher->block_len = (uint8_t)(hasher->block_len + part);
        input = ts_bytes_skip(input, part);
    }
}

void ts_blake3_portable_output(const struct ts_blake3_portable *hasher, uint64_t from, uint8_t *ret_output,
                               size_t len) {
    struct node root = chunk_end_node(hasher);
    for (size_t i = hasher->stack_len; i > 0; i--) {
        uint32_t right[8];
        compress_to_cv(&root, right);
        root = parent_node(hasher, hasher->stack[i - 1], right);
    }

    uint64_t output_block = from / BLOCK_LEN;
    size_t skip = from % BLOCK_LEN;
    while (len > 0) {
        uint8_t bytes[BLOCK_LEN];
        compress_to_output(&root, output_block++, bytes);
        size_t part = len < BLOCK_LEN - skip ? len : BLOCK_LEN - skip;
        memcpy(ret_output, bytes + skip, part);
        ret_output += part;
        len -= part;
        skip = 0;
    }
}
