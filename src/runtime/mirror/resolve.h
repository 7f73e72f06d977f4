/*
 * Finds out why a host name was not resolved.
 */
#ifndef TS_RUNTIME_MIRROR_RESOLVE_H
#define TS_RUNTIME_MIRROR_RESOLVE_H

#include "base/bytes.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Returns true if a resolver answers: no such host exists, or the host is known after all. Returns false if
 * no resolver answers within 10 seconds: then this machine or its network has a fault. Returns early if `stop`
 * is set. */
bool mirror__is_no_host(struct ts_bytes name, const atomic_bool *stop);

#endif
