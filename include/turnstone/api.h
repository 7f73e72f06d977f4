/*
 * Visibility. All symbols are hidden unless they are marked TS_API, so the library exports exactly what its
 * headers declare.
 */
#ifndef TURNSTONE_API_H
#define TURNSTONE_API_H

#if defined(__GNUC__)
#define TS_API __attribute__((visibility("default")))
#else
#define TS_API
#endif

#endif
