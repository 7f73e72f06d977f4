/* Loads the library of an engine when the first store of that engine is opened (os/late_library.h). */
#ifndef TS_STORE_CONTRACT_LIBRARY_H
#define TS_STORE_CONTRACT_LIBRARY_H

#include "os/late_library.h"
#include "store/contract/engine.h"

/* Loads the library if it is not loaded yet. An engine calls this whenever it opens a store, before it uses
 * the library. `name` is the store's name. */
enum ts_store_result store__library_load(struct ts_late_library *library, const char *name,
                                         struct ts_store_error *ret_error);

#endif
