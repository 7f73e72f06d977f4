#include "bench/keys.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/endian.h"
#include "base/hex.h"

#include <stdlib.h>
#include <string.h>

/* How many numbers to try for each key of the pools. A pool that is still empty after these tries is an
 * error. */
enum { TRIES_PER_KEY = 16 };

static const struct ts_bytes prefix = TS_BYTES_INIT("bench/");

static struct ts_bytes write_key(uint32_t number, struct bench_key *ret_key) {
    char *text = ret_key->text;
    uint8_t bytes[sizeof number];
    ts_be32_store(number, bytes);
    memcpy(text, prefix.data, prefix.len);
    ts_hex_encode(ts_bytes_of(bytes, sizeof bytes), text + prefix.len);
    return ts_bytes_of(text, BENCH_KEY_LEN);
}

bool bench__keys_init(struct bench_keys *ret_keys, const struct ts_cluster *cluster,
                      struct bench_keys_error *ret_error) {
    size_t places = ts_cluster_count(cluster);
    *ret_error = (struct bench_keys_error){0};
    *ret_keys = (struct bench_keys){
        .numbers = malloc(places * BENCH_POOL_MAX * sizeof *ret_keys->numbers),
        .counts = calloc(places, sizeof *ret_keys->counts),
        .place_count = places,
    };
    if (ret_keys->numbers == NULL || ret_keys->counts == NULL) {
        ret_error->no_memory = true;
        return false;
    }
    size_t full = 0;
    size_t tries = places * BENCH_POOL_MAX * TRIES_PER_KEY;
    for (uint32_t number = 0; number < tries && full < places; number++) {
        struct bench_key key;
        size_t place = ts_cluster_place_of_key(cluster, write_key(number, &key));
        ts_assert(place < places);
        size_t *count = &ret_keys->counts[place];
        if (*count == BENCH_POOL_MAX)
            continue;
        ret_keys->numbers[place * BENCH_POOL_MAX + *count] = number;
        full += ++*count == BENCH_POOL_MAX;
    }
    for (size_t place = 0; place < places; place++) {
        if (ret_keys->counts[place] > 0)
            continue;
        ret_error->empty_place = place;
        return false;
    }
    return true;
}

void bench__keys_release(struct bench_keys *keys) {
    free(keys->numbers);
    free(keys->counts);
    *keys = (struct bench_keys){0};
}

struct ts_bytes bench__keys_get(const struct bench_keys *keys, struct bench_key_at at,
                                struct bench_key *ret_key) {
    ts_assert(at.place < keys->place_count);
    size_t index = at.index % keys->counts[at.place];
    return write_key(keys->numbers[at.place * BENCH_POOL_MAX + index], ret_key);
}
