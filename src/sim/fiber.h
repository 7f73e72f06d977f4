/*
 * Fibers: functions with their own stack; exactly one runs at a time. So a worker of the simulation is
 * straight-line code. A fiber stops whenever it waits for a store, and the simulation decides which fiber
 * continues.
 */
#ifndef TS_SIM_FIBER_H
#define TS_SIM_FIBER_H

#include <stdbool.h>

struct sim__fiber;

/* Creates a fiber without starting it. Returns NULL when memory runs out. */
struct sim__fiber *sim__fiber_new(void (*run)(void *context), void *context);

/* Frees a fiber, which must have ended or never begun. Accepts NULL. */
void sim__fiber_free(struct sim__fiber *fiber);

/* Called from outside: runs the fiber until it yields or ends. */
void sim__fiber_resume(struct sim__fiber *fiber);

/* Called from inside: returns to the function that resumed the fiber. */
void sim__fiber_yield(struct sim__fiber *fiber);

bool sim__fiber_has_ended(const struct sim__fiber *fiber);

#endif
