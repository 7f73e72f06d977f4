/*
 * Which build of the program is running.
 */
#ifndef TS_OS_BUILD_ID_H
#define TS_OS_BUILD_ID_H

#include "base/bytes.h"

/* What the linker left in the program to tell its builds apart; empty when it left nothing. Never changes. */
struct ts_bytes ts_build_id(void);

#endif
