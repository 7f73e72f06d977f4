/*
 * Foreign libraries, loaded when a store first needs them and not when the program starts: most runs open no
 * such store, and mapping a library takes longer than everything else in a small run
 * (docs/decisions/0008-late-libraries.md).
 *
 * A library NAME is two files. NAME_late.h has the list of the called functions as an X-macro, a struct with
 * a pointer of each function's own type, and for each a line `#define function store__name.function`, so that
 * calls look as usual. NAME_late.c has the struct and its description for store__library_load.
 *
 * The linker does not get the library, so no call can bypass the list: a call in a file that does not include
 * NAME_late.h is an undefined reference. A listed function without its #define does not compile, nor does the
 * use of a #define that is not in the list; house/rules compares the two.
 *
 * Tests and comparisons that call a library themselves include its own header, and link it.
 */
#ifndef TS_STORE_CONTRACT_LIBRARY_H
#define TS_STORE_CONTRACT_LIBRARY_H

#include "store/contract/engine.h"

struct store__library_function {
    const char *name;
    void *place; /* of the pointer to the function */
};

struct store__library {
    const char *what;    /* for messages: "PostgreSQL's client library" */
    const char *soname;  /* of the library whose header was compiled in: the same ABI */
    const char *package; /* package that contains it */
    const struct store__library_function *functions;
    size_t function_count;

    /* Guarded by the mutex of library.c. */
    bool was_tried;
    char why_not[96]; /* empty: the library is loaded */
};

/* For the X-macro: a member of the struct, and an element of `functions`, where the #define replaces the
 * name. */
#define STORE_LIBRARY_MEMBER(function)   __typeof__(&function) function;
#define STORE_LIBRARY_FUNCTION(function) {#function, (void *)&function},

/*
 * Loads the library and fills in the pointers; later calls return the first result. Call it whenever a store
 * is opened, before the first call of the library. `name` is the store's. A loaded library stays: users of
 * the store read the pointers without a lock.
 */
enum ts_store_result store__library_load(struct store__library *library, const char *name,
                                         struct ts_store_error *ret_error);

#endif
