/* The libraries of stores, loaded when the first of their stores is opened (os/late_library.h). */
#ifndef TS_STORE_CONTRACT_LIBRARY_H
#define TS_STORE_CONTRACT_LIBRARY_H

#include "os/late_library.h"
#include "store/contract/engine.h"

/* Call it whenever a store is opened, before the first call of the library. `name` is the store's name. */
enum ts_store_result store__library_load(struct ts_late_library *library, const char *name,
                                         struct ts_store_error *ret_error);

#endif
