/* cmocka wants these before its own header. */
#ifndef TS_TESTS_SUPPORT_CMOCKA_H
#define TS_TESTS_SUPPORT_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
