/*
 * The version of the library.
 */
#ifndef TURNSTONE_VERSION_H
#define TURNSTONE_VERSION_H

#include "turnstone/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "major.minor.patch" of the linked library; valid as long as the program runs. */
TS_API const char *ts_version(void);

#ifdef __cplusplus
}
#endif

#endif
