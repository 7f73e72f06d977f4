#include "turnstone/version.h"

const char *ts_version(void) {
    return TS_VERSION;
}
