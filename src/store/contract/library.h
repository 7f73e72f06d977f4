/*
 * Foreign libraries that are loaded when a store first needs them, not when the program starts: most runs open no store
 * of their kind, and mapping them takes longer than all else that a small run does (docs/decisions/0008-late-libraries.md).
 *
 * A library NAME is two files. NAME_late.h has the list of the functions that are called, as an X-macro; a struct with a
 * pointer of each function's own type; and for each a line `#define function store__name.function`, so that calls
 * read as they always do. NAME_late.c has the struct and its description for store__library_load.
 *
 * The linker sees to it that nothing goes around the list, since it is not given the library: a call in a file that
 * does not include NAME_late.h is an undefined reference. A function of the list without its #define does not compile, nor
 * does the use of a #define without its place in the list; house/rules compares the two.
 *
 * Tests and comparisons that call a library themselves include its own header, and link it.
 */
#ifndef TS_STORE_CONTRACT_LIBRARY_H
#define TS_STORE_CONTRACT_LIBRARY_H

#include "store/contract/engine.h"

struct store__library_function {
    const char *name;
    void *place; /* of the pointer to it */
};

struct store__library {
    const char *what;    /* for messages: "PostgreSQL's client library" */
    const char *soname;  /* of the library whose header was compiled in: the same ABI */
    const char *package; /* that brings it */
    const struct store__library_function *functions;
    size_t function_count;

    /* Under the mutex of library.c. */
    bool was_tried;
    char why_not[96]; /* empty: it is loaded */
};

/* For the X-macro: a member of the struct, and an element of `functions`; in the latter the name is the #define's. */
#define STORE_LIBRARY_MEMBER(function)   __typeof__(&function) function;
#define STORE_LIBRARY_FUNCTION(function) {#function, (void *)&function},

/*
 * Loads the library and fills in the pointers, or says again what came of it; to be called whenever a store is opened,
 * before the first call of the library. `name` is the store's. What is loaded stays: pointers are read without a lock,
 * by whoever was handed the store.
 */
enum ts_store_result store__library_load(struct store__library *library, const char *name,
                                         struct ts_store_error *ret_error);

#endif
