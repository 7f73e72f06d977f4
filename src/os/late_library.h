/*
 * Loads foreign libraries when they are first needed, not when the program starts: most runs need none of
 * them, and mapping a library takes longer than everything else in a small run
 * (docs/decisions/0008-late-libraries.md).
 *
 * A library NAME is two files. NAME_late.h has the list of the called functions as an X-macro, a struct with
 * one pointer for each function, and for each function a line `#define FUNCTION LAYER__NAME.FUNCTION`, so
 * that calls look as usual. NAME_late.c has the struct and its description for ts_late_library_load.
 *
 * The program is not linked with the library, so no call can bypass the list: a call in a file that does not
 * include NAME_late.h is an undefined reference. A listed function without its #define does not compile;
 * neither does the use of a #define that is not in the list. house/rules compares the list with the #defines.
 *
 * Tests and comparisons that call a library directly include its own header, and link it.
 */
#ifndef TS_OS_LATE_LIBRARY_H
#define TS_OS_LATE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct ts_late_function {
    const char *name;
    void *place; /* address of the pointer to the function */
};

struct ts_late_library {
    const char *what;    /* for messages: "PostgreSQL's client library" */
    const char *soname;  /* soname of the library: the ABI of the header that was compiled in */
    const char *package; /* package that contains the library */
    const struct ts_late_function *functions;
    size_t function_count;

    /* Guarded by the mutex of late_library.c. */
    bool was_tried;
    char why_not[96]; /* empty if the library is loaded */
};

/* For the X-macro: a member of the struct, and an element of `functions`. In the element,
 * &function is the address of the member, because of the #define of its name. */
#define TS_LATE_MEMBER(function)   __typeof__(&function) function;
#define TS_LATE_FUNCTION(function) {#function, (void *)&function},

/*
 * Loads the library and fills in the pointers; later calls return the first result. Call this function before
 * the first use of the library. If it returns false, library->why_not says why. A loaded library is never
 * unloaded, so pointers are read without a lock. Any thread may call it.
 */
bool ts_late_library_load(struct ts_late_library *library);

#endif
