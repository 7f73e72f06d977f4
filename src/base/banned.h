/*
 * Functions that must not be used in this project: a call does not compile. This header is included before
 * the first line of every file (cmake/flags.cmake), after the system headers that declare these functions, so
 * that only our own calls are affected.
 */
#ifndef TS_BASE_BANNED_H
#define TS_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TS_BANNED(name) sorry_##name##_is_banned_see_src_base_banned_h

/* These functions write without a bound: use memcpy with a known length, or snprintf. */
#undef strcpy
#define strcpy(...) TS_BANNED(strcpy)
#undef stpcpy
#define stpcpy(...) TS_BANNED(stpcpy)
#undef strcat
#define strcat(...) TS_BANNED(strcat)
#undef sprintf
#define sprintf(...) TS_BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) TS_BANNED(vsprintf)
#undef gets
#define gets(...) TS_BANNED(gets)

/* These functions have a bound, but omit the terminator or search for it in quadratic time. */
#undef strncpy
#define strncpy(...) TS_BANNED(strncpy)
#undef strncat
#define strncat(...) TS_BANNED(strncat)

/* These functions cannot report bad input: use base/number.h. */
#undef atoi
#define atoi(...) TS_BANNED(atoi)
#undef atol
#define atol(...) TS_BANNED(atol)
#undef atoll
#define atoll(...) TS_BANNED(atoll)
#undef atof
#define atof(...) TS_BANNED(atof)
#undef scanf
#define scanf(...) TS_BANNED(scanf)
#undef sscanf
#define sscanf(...) TS_BANNED(sscanf)
#undef fscanf
#define fscanf(...) TS_BANNED(fscanf)

/* These functions share one hidden state in the whole process. */
#undef strtok
#define strtok(...) TS_BANNED(strtok)
#undef rand
#define rand(...) TS_BANNED(rand)
#undef srand
#define srand(...) TS_BANNED(srand)
#undef gmtime
#define gmtime(...) TS_BANNED(gmtime)
#undef localtime
#define localtime(...) TS_BANNED(localtime)
#undef ctime
#define ctime(...) TS_BANNED(ctime)
#undef asctime
#define asctime(...) TS_BANNED(asctime)

/* These functions choose a name, and another process may take it before the file is opened. */
#undef tmpnam
#define tmpnam(...) TS_BANNED(tmpnam)
#undef mktemp
#define mktemp(...) TS_BANNED(mktemp)

/* Bad input to this function can exhaust the stack. */
#undef alloca
#define alloca(...) TS_BANNED(alloca)

#endif
