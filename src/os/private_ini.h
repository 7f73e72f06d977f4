/*
 * Private files with sections and settings:
 *
 *     # a comment
 *     [section]
 *     key = value
 *
 * A section occurs once, and a key occurs once in its section. The caller decides which sections, keys and
 * values are allowed.
 *
 *     struct ts_private_ini ini = {.file = &file, .words = &words};
 *     while ((result = ts_private_ini_next(&ini, &item, &error)) < TS_PRIVATE_INI_END)
 *         ...
 *     ts_private_ini_release(&ini);
 */
#ifndef TS_OS_PRIVATE_INI_H
#define TS_OS_PRIVATE_INI_H

#include "os/private_file.h"

/* The caller's words in error messages. */
struct ts_private_ini_words {
    const char *section; /* noun: "host" */
    const char *form;    /* sentence: "a host is written as [name]" */
};

struct ts_private_names {
    const char **list;
    size_t count;
    size_t capacity;
};

struct ts_private_ini {
    struct ts_private_file *file; /* a text file; items borrow from the file */
    const struct ts_private_ini_words *words;
    struct ts_private_names sections; /* sections read so far */
    struct ts_private_names keys;     /* keys read so far in the last section */
};

enum ts_private_ini_result {
    TS_PRIVATE_INI_SECTION,
    TS_PRIVATE_INI_SETTING,
    TS_PRIVATE_INI_END,
    TS_PRIVATE_INI_WRONG, /* the error says why; do not call again */
};

struct ts_private_ini_item {
    const char *name;  /* name of the section, or key of the setting; not empty */
    const char *value; /* not empty; NULL for a section */
    unsigned line;
};

/* Reads the next section or setting. After END and WRONG, *ret_item is unchanged. */
enum ts_private_ini_result ts_private_ini_next(struct ts_private_ini *ini,
                                               struct ts_private_ini_item *ret_item,
                                               struct ts_private_error *ret_error);

/* Releases the reader. The caller releases the file. */
void ts_private_ini_release(struct ts_private_ini *ini);

#endif
