/*
 * Fibers: functions with a stack of their own, of which exactly one runs at a time. A simulation lets each worker be
 * straight-line code that stops wherever it waits for a store, and decides who goes on.
 */
#ifndef TS_SIM_FIBER_H
#define TS_SIM_FIBER_H

#include <stdbool.h>

struct sim__fiber;

/* Does not begin yet. NULL when there is no memory. */
struct sim__fiber *sim__fiber_new(void (*run)(void *context), void *context);

/* One that has ended, or never began. NULL is no matter. */
void sim__fiber_free(struct sim__fiber *fiber);

/* From outside: runs it until it yields or ends. */
void sim__fiber_resume(struct sim__fiber *fiber);

/* From inside: goes back to whoever resumed it. */
void sim__fiber_yield(struct sim__fiber *fiber);

bool sim__fiber_has_ended(const struct sim__fiber *fiber);

#endif
