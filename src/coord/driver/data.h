/*
 * Reads and writes of other layers on the stores of the cluster. They use the same interface (io.h), breakers
 * and retries as coordination. Writes under a lease are in lease_check.h. Keys may have the reserved first
 * byte.
 */
#ifndef TS_COORD_DRIVER_DATA_H
#define TS_COORD_DRIVER_DATA_H

#include "coord/core/error.h"
#include "coord/driver/io.h"

struct ts_coord;

uint32_t ts_coord_place_count(const struct ts_coord *coord);

/* Returns the place of the store that an id, such as a hash, routes to. */
uint32_t ts_coord_place_of(const struct ts_coord *coord, uint64_t id);

/*
 * Runs the calls (READ, SCAN) in parallel, each with its own rows, and repeats them if that can help. Returns
 * OK, or the first failure; then ret_error says why. A read never returns UNKNOWN.
 */
enum ts_store_result ts_coord_read(struct ts_coord *coord, struct ts_coord_call *calls, size_t count,
                                   struct ts_infra_error *ret_error);

/* Applies one batch on one store, without a lease. UNKNOWN: the batch may have been applied, or may still be
 * applied. After every other failure nothing was written, and ret_error says why. */
enum ts_store_result ts_coord_apply(struct ts_coord *coord, uint32_t place, struct ts_batch batch,
                                    struct ts_infra_error *ret_error);

#endif
