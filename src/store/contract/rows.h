/*
 * Fills a struct ts_rows. Keys and values are copied into blocks that belong to the rows, so that an answer
 * takes only a few allocations. Clearing keeps the memory for the next answer.
 */
#ifndef TS_STORE_CONTRACT_ROWS_H
#define TS_STORE_CONTRACT_ROWS_H

#include "turnstone/store.h"

/* Adds a row at the end. Returns false when memory runs out; the rows are then unchanged. */
bool store__rows_add(struct ts_rows *rows, const struct ts_row *row);

#endif
