#include "store/contract/library.h"

enum ts_store_result store__library_load(struct ts_late_library *library, const char *name,
                                         struct ts_store_error *ret_error) {
    if (ts_late_library_load(library))
        return TS_STORE_OK;
    return store__error(ret_error, TS_STORE_BAD_CONFIGURATION, SIZE_MAX,
                        "%.60s: %s cannot be loaded (%s); install the package %s", name, library->what,
                        library->why_not, library->package);
}
