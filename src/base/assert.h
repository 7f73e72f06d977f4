/*
 * Assertions that stay on in release builds. They are for our own mistakes, never for bad input.
 */
#ifndef TS_BASE_ASSERT_H
#define TS_BASE_ASSERT_H

/* Stops the process when the condition is false, and prints where. */
#define ts_assert(condition) ((condition) ? (void)0 : ts_assert_fail(#condition, __FILE__, __LINE__))

/* Stops the process at a place that must never be reached. `why` is the reason why that is impossible. */
#define ts_unreachable(why)  ts_assert_fail(why, __FILE__, __LINE__)

_Noreturn void ts_assert_fail(const char *what, const char *file, int line);

#endif
