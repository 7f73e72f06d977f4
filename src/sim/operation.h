/* Functions for both operations on shards (operation.c) and operations on runs (operation_run.c). */
#ifndef TS_SIM_OPERATION_H
#define TS_SIM_OPERATION_H

#include "worker.h"

/* Return the start and the end of a range. They point into the key, which must stay in place. */
struct ts_bytes sim__start_of(const struct sim__key *key, uint32_t number);
struct ts_bytes sim__end_of(const struct sim__key *key, uint32_t number);

struct sim__answer sim__refused(enum ts_error_variant variant, const struct ts_coord_detail *detail);
struct sim__answer sim__done(const struct ts_coord_outcome *outcome);

void sim__count_answer(struct sim__worker *worker, enum ts_sim_operation kind,
                       const struct sim__answer *answer);

/* Checks that the answer reports no damaged record or counter, because the simulation damages none. */
void sim__check_sound(struct sim__world *world, const struct sim__answer *answer,
                      const struct ts_coord_detail *detail);

/* Operations on runs, as sim__issue calls them. */
struct sim__answer sim__of_end_run(struct sim__worker *worker, const struct sim__op *op);
struct sim__answer sim__of_register(struct sim__worker *worker, const struct sim__op *op);
struct sim__answer sim__of_create(struct sim__worker *worker, const struct sim__op *op);

#endif
