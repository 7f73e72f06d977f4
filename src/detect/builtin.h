/* The files of rules/, put into the program by the build (embed_rules.cmake). */
#ifndef TS_DETECT_BUILTIN_H
#define TS_DETECT_BUILTIN_H

#include <stddef.h>

struct detect_builtin {
    const char *name; /* as in the tree: "rules/cloud.yml" */
    const unsigned char *text;
    size_t len;
};

extern const struct detect_builtin detect__builtin_model; /* rules/model.txt */
extern const struct detect_builtin detect__builtin[];
extern const size_t detect__builtin_count;

#endif
