#include "nearest.h"

#include "base/distance.h"

#include <stdbool.h>

/* Too many candidates begin with a shorter word by chance. */
#define ABBREVIATION_MIN 3

/* Returns the only candidate that begins with the word. If several candidates begin with the word, returns
 * the shortest of them if all others begin with this candidate; otherwise returns NULL. */
static const char *abbreviated(struct ts_bytes word, const char *const *candidates, size_t count) {
    struct ts_bytes shortest = {NULL, 0};
    for (size_t i = 0; i < count; i++) {
        struct ts_bytes candidate = ts_bytes_of_cstring(candidates[i]);
        if (ts_bytes_starts_with(candidate, word) && (shortest.data == NULL || candidate.len < shortest.len))
            shortest = candidate;
    }
    bool is_clear = shortest.data != NULL && word.len >= ABBREVIATION_MIN;
    for (size_t i = 0; i < count && is_clear; i++) {
        struct ts_bytes candidate = ts_bytes_of_cstring(candidates[i]);
        is_clear = !ts_bytes_starts_with(candidate, word) || ts_bytes_starts_with(candidate, shortest);
    }
    return is_clear ? (const char *)shortest.data : NULL;
}

const char *cli__nearest(struct ts_bytes word, const char *const *candidates, size_t count) {
    size_t index;
    return ts_distance_nearest(word, candidates, count, &index) ? candidates[index]
                                                                : abbreviated(word, candidates, count);
}
