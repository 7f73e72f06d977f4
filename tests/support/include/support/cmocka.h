/* cmocka needs these headers before its own. */
#ifndef TS_TESTS_SUPPORT_CMOCKA_H
#define TS_TESTS_SUPPORT_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
