/*
 * Which build of the program is running.
 */
#ifndef TS_OS_BUILD_ID_H
#define TS_OS_BUILD_ID_H

#include "base/bytes.h"

/* Returns the build id that the linker put into the program; empty when there is none. The build id does not
 * change while the program runs. */
struct ts_bytes ts_build_id(void);

#endif
