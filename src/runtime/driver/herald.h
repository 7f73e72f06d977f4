/*
 * Notifies people of findings that came: one thread of a worker that takes notices from the cluster, sends
 * them, and ends them.
 *
 *     take (no other worker may take it for a while) ──> send to each sink that has not received it ─┬─> all have it: end
 *                                                                                                    └─> some do not: return it, with a pause
 *
 * A notice is ended only after every sink of this worker has received it. So each sink receives the notice at
 * least once, even if workers are killed, unless the notice becomes too old (TS_NOTICE_KEPT_MS).
 * A repeated message has the same id.
 */
#ifndef TS_RUNTIME_DRIVER_HERALD_H
#define TS_RUNTIME_DRIVER_HERALD_H

#include "job.h"

struct runtime__herald;

/* Starts the thread. Returns NULL if that fails. */
struct runtime__herald *runtime__herald_start(struct runtime__crew *crew);

/* Call it when all jobs have ended. If the worker was not asked to stop, first makes up to three more passes
 * over the remaining notices. Returns how many notices still wait. Accepts NULL. */
uint64_t runtime__herald_finish(struct runtime__herald *herald);

#endif
