#include "turnstone/version.h"

#include "version_text.h"

const char *ts_version(void) {
    return TS_VERSION;
}
