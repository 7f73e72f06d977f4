#include "landmarks.h"

#include <string.h>

static int compare(const struct ts_landmark *a, const struct ts_landmark *b) {
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return (a->gate > b->gate) - (a->gate < b->gate);
}

void detect__landmark_add(struct detect_landmarks *landmarks, struct ts_landmark landmark) {
    size_t at = landmarks->count;
    int order = -1;
    if (landmarks->is_lost)
        return;
    while (at > 0 && (order = compare(&landmarks->items[at - 1], &landmark)) > 0)
        at--;
    if (at > 0 && order == 0)
        return;
    if (landmarks->count == TS_LANDMARKS_MAX) {
        landmarks->is_lost = true;
        return;
    }
    memmove(landmarks->items + at + 1, landmarks->items + at,
            (landmarks->count - at) * sizeof *landmarks->items);
    landmarks->items[at] = landmark;
    landmarks->count++;
}

/* Merges two lists in place, from the end, into room for both. Each landmark that is in both lists leaves a
 * gap before the merged landmarks. At the end, the gap is closed. */
void detect__landmarks_join(struct detect_landmarks *landmarks, const struct ts_landmark *others,
                            size_t count) {
    if (count > TS_LANDMARKS_MAX - landmarks->count) {
        landmarks->is_lost = true;
        return;
    }
    struct ts_landmark *items = landmarks->items;
    size_t mine = landmarks->count;
    size_t to = mine + count;
    size_t end = to;
    while (count > 0) {
        int order = mine > 0 ? compare(&items[mine - 1], &others[count - 1]) : -1;
        if (order >= 0)
            items[--to] = items[--mine];
        else
            items[--to] = others[--count];
        count -= order == 0;
    }
    memmove(items + mine, items + to, (end - to) * sizeof *items);
    landmarks->count = mine + end - to;
}
