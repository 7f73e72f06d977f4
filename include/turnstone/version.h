/*
 * Which version of the library this is.
 */
#ifndef TURNSTONE_VERSION_H
#define TURNSTONE_VERSION_H

#include "turnstone/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "major.minor.patch" of the library that was linked; lives as long as the program. */
TS_API const char *ts_version(void);

#ifdef __cplusplus
}
#endif

#endif
