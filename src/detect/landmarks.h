/*
 * A list of landmarks, which are added in nearly sorted order: gates come in the order of their ends within a
 * block, blocks overlap a little, and unchanged landmarks are added at the end.
 */
#ifndef TS_DETECT_LANDMARKS_H
#define TS_DETECT_LANDMARKS_H

#include "scanner.h"

struct detect_landmarks {
    bool is_lost; /* incomplete: the list is full, or a part was not scanned */
    size_t count;
    struct ts_landmark items[TS_LANDMARKS_MAX]; /* sorted, without duplicates */
};

void detect__landmark_add(struct detect_landmarks *landmarks, struct ts_landmark landmark);

/* Adds the landmarks of the sorted list `others`. */
void detect__landmarks_join(struct detect_landmarks *landmarks, const struct ts_landmark *others,
                            size_t count);

#endif
