/*
 * Filling a struct ts_rows. Keys and values are copied into blocks that belong to the rows, so that one
 * answer costs a few allocations; clearing keeps the memory for the next answer.
 */
#ifndef TS_STORE_CONTRACT_ROWS_H
#define TS_STORE_CONTRACT_ROWS_H

#include "turnstone/store.h"

/* Adds a row at the end. False when there is no memory; the rows are then as before. */
bool store__rows_add(struct ts_rows *rows, const struct ts_row *row);

#endif
