#include "base/distance.h"

#include "base/assert.h"

#include <stdint.h>
#include <string.h>

typedef uint8_t row[TS_DISTANCE_LEN_MAX + 1];

static uint8_t min(unsigned a, unsigned b) {
    return (uint8_t)(a < b ? a : b);
}

/* Row i of the table holds the distances between the first i bytes of a and every prefix of b. Fills row i
 * (at least 1) from the two rows above it and returns the smallest entry of row i. */
static uint8_t fill_row(struct ts_bytes a, struct ts_bytes b, size_t i, const uint8_t *above2,
                        const uint8_t *above, uint8_t *ret_row) {
    ret_row[0] = (uint8_t)i;
    uint8_t smallest = ret_row[0];
    for (size_t j = 1; j <= b.len; j++) {
        bool same = a.data[i - 1] == b.data[j - 1];
        uint8_t best = min(above[j - 1] + (same ? 0U : 1U), min(above[j], ret_row[j - 1]) + 1U);
        if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1])
            best = min(best, above2[j - 2] + 1U);
        ret_row[j] = best;
        smallest = min(smallest, best);
    }
    return smallest;
}

size_t ts_distance(struct ts_bytes a, struct ts_bytes b, size_t bound) {
    ts_assert(bound < SIZE_MAX);
    if (ts_bytes_equal(a, b))
        return 0;
    size_t lengths_apart = a.len > b.len ? a.len - b.len : b.len - a.len;
    if (lengths_apart > bound || a.len > TS_DISTANCE_LEN_MAX || b.len > TS_DISTANCE_LEN_MAX)
        return bound + 1;

    row rows[3] = {0};
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = (uint8_t)j;
    uint8_t smallest_above = 0;
    for (size_t i = 1; i <= a.len; i++) {
        /* For the first row there is no second row above, and fill_row does not read it. */
        uint8_t smallest = fill_row(a, b, i, rows[(i + 1) % 3], rows[(i - 1) % 3], rows[i % 3]);
        /* A swap skips one row, so the search may stop only when two rows exceed the bound. */
        if (smallest > bound && smallest_above > bound)
            return bound + 1;
        smallest_above = smallest;
    }
    size_t distance = rows[a.len % 3][b.len];
    return distance <= bound ? distance : bound + 1;
}

bool ts_distance_nearest(struct ts_bytes word, const char *const *candidates, size_t count,
                         size_t *ret_index) {
    /* The maximum distance of a near word. For example, a word of five letters may have a swap and a missing
     * letter. */
    size_t bound = word.len < 2 ? 0 : word.len < 4 ? 1 : word.len < 7 ? 2 : 3;

    bool found = false;
    size_t nearest = 0;
    for (size_t i = 0; i < count; i++) {
        size_t distance = ts_distance(word, ts_bytes_of_cstring(candidates[i]), bound);
        if (distance > bound)
            continue;
        found = true;
        nearest = i;
        if (distance == 0)
            break;
        /* From now on only a smaller distance counts. */
        bound = distance - 1;
    }
    if (found)
        *ret_index = nearest;
    return found;
}
