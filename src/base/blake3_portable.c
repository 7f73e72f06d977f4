/*
 * The input is cut into chunks of 1,024 bytes, a chunk into blocks of 64. Blocks of a chunk are chained by
 * the compression function; chunks are the leaves of a binary tree whose left subtrees are complete and as
 * large as possible, and a parent compresses the chaining values of its two children. The root is compressed
 * once more for every 64 bytes of output, with the number of the output block as its counter.
 *
 * Nothing is finished before it is known not to be the root: a full block or chunk waits for one more byte of
 * input.
 */
#include "base/blake3_portable.h"

#include "base/endian.h"

#include <stdbool.h>
#include <string.h>

enum {
    KEY_LEN = 32,
    BLOCK_LEN = 64,
    CHUNK_BLOCKS = 16,
};

/* What is compressed, and in which mode. */
enum {
    CHUNK_START = 1 << 0,
    CHUNK_END = 1 << 1,
    PARENT = 1 << 2,
    ROOT = 1 << 3,
    KEYED_HASH = 1 << 4,
    DERIVE_KEY_CONTEXT = 1 << 5,
    DERIVE_KEY_MATERIAL = 1 << 6,
};

/* The same as those of SHA-256. */
static const uint32_t initial[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

/* Which message word each round takes where: every row is the one above it, permuted by the second row. */
static const uint8_t schedule[7][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8},
    {3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1},
    {10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6},
    {12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4},
    {9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7},
    {11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13},
};

/* A compression that has not been done yet, because it may turn out to be the root's. */
struct node {
    uint32_t cv[8];
    uint32_t words[16];
    uint64_t counter;
    uint32_t block_len;
    uint32_t flags;
};

static inline uint32_t rotate_right(uint32_t x, int bits) {
    return x >> bits | x << (32 - bits);
}

/* One quarter of a half round: mixes two message words into a column or a diagonal of the state. */
#define MIX(a, b, c, d, x, y)                                                                                \
    do {                                                                                                     \
        a += b + (x);                                                                                        \
        d = rotate_right(d ^ a, 16);                                                                         \
        c += d;                                                                                              \
        b = rotate_right(b ^ c, 12);                                                                         \
        a += b + (y);                                                                                        \
        d = rotate_right(d ^ a, 8);                                                                          \
        c += d;                                                                                              \
        b = rotate_right(b ^ c, 7);                                                                          \
    } while (0)

/* Written out for each round, so that the places in the message are constants. */
#define ROUND(s)                                                                                             \
    do {                                                                                                     \
        MIX(v0, v4, v8, v12, m[(s)[0]], m[(s)[1]]);                                                          \
        MIX(v1, v5, v9, v13, m[(s)[2]], m[(s)[3]]);                                                          \
        MIX(v2, v6, v10, v14, m[(s)[4]], m[(s)[5]]);                                                         \
        MIX(v3, v7, v11, v15, m[(s)[6]], m[(s)[7]]);                                                         \
        MIX(v0, v5, v10, v15, m[(s)[8]], m[(s)[9]]);                                                         \
        MIX(v1, v6, v11, v12, m[(s)[10]], m[(s)[11]]);                                                       \
        MIX(v2, v7, v8, v13, m[(s)[12]], m[(s)[13]]);                                                        \
        MIX(v3, v4, v9, v14, m[(s)[14]], m[(s)[15]]);                                                        \
    } while (0)

/* The compression function up to the feed-forward: the state after seven rounds. */
static void run_rounds(const struct node *node, uint32_t ret_state[static 16]) {
    const uint32_t *m = node->words;
    uint32_t v0 = node->cv[0], v1 = node->cv[1], v2 = node->cv[2], v3 = node->cv[3];
    uint32_t v4 = node->cv[4], v5 = node->cv[5], v6 = node->cv[6], v7 = node->cv[7];
    uint32_t v8 = initial[0], v9 = initial[1], v10 = initial[2], v11 = initial[3];
    uint32_t v12 = (uint32_t)node->counter, v13 = (uint32_t)(node->counter >> 32);
    uint32_t v14 = node->block_len, v15 = node->flags;

    ROUND(schedule[0]);
    ROUND(schedule[1]);
    ROUND(schedule[2]);
    ROUND(schedule[3]);
    ROUND(schedule[4]);
    ROUND(schedule[5]);
    ROUND(schedule[6]);

    const uint32_t state[16] = {v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15};
    memcpy(ret_state, state, sizeof state);
}

/* The chaining value of a node that is not the root. ret_cv may be the node's own. */
static void compress_to_cv(const struct node *node, uint32_t ret_cv[static 8]) {
    uint32_t state[16];
    run_rounds(node, state);
    for (size_t i = 0; i < 8; i++)
        ret_cv[i] = state[i] ^ state[i + 8];
}

/* One block of output of the root. */
static void compress_to_output(struct node root, uint64_t output_block, uint8_t ret_bytes[static BLOCK_LEN]) {
    root.counter = output_block;
    root.flags |= ROOT;
    uint32_t state[16];
    run_rounds(&root, state);
    for (size_t i = 0; i < 8; i++) {
        ts_le32_store(state[i] ^ state[i + 8], ret_bytes + 4 * i);
        ts_le32_store(state[i + 8] ^ root.cv[i], ret_bytes + 32 + 4 * i);
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

/* The compression of a block of the chunk under way. */
static struct node block_node(const struct ts_blake3_portable *hasher, const uint8_t *block) {
    struct node node = {.counter = hasher->chunk_number,
                        .block_len = BLOCK_LEN,
                        .flags = hasher->flags | (hasher->blocks_done == 0 ? CHUNK_START : 0)};
    memcpy(node.cv, hasher->chunk_cv, sizeof node.cv);
    load_words(block, 16, node.words);
    return node;
}

/* The last compression of the chunk under way, as it would be if the chunk ended here. */
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
    /* Of the stack only as much is read as was pushed, and clearing it costs as much as a block of input. */
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

/* Ends a full chunk and joins every subtree that it completes: as many as the new number of chunks has
 * trailing zeros, since that number in binary says which complete subtrees there are. */
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
        compress_to_output(root, output_block++, bytes);
        size_t part = len < BLOCK_LEN - skip ? len : BLOCK_LEN - skip;
        memcpy(ret_output, bytes + skip, part);
        ret_output += part;
        len -= part;
        skip = 0;
    }
}
