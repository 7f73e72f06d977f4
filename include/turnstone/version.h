/*
 * The version of the library.
 */
#ifndef TURNSTONE_VERSION_H
#define TURNSTONE_VERSION_H

#include "turnstone/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version of the linked library: "0.2.0" for a release; "0.2.0.dev53+g0123456789" for a build
 * between releases, 53 commits after the release that precedes 0.2.0. Valid as long as the program runs. */
TS_API const char *ts_version(void);

#ifdef __cplusplus
}
#endif

#endif
