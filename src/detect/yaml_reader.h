/*
 * YAML documents for rule files and configurations: a thin reader over libyaml's tree. It knows which keys a
 * mapping may have, and reports file, line and field of errors.
 *
 * A reader remembers its first error, passes every error to a visitor if there is one, and continues: callers
 * read all fields and check `failed` once.
 */
#ifndef TS_DETECT_YAML_READER_H
#define TS_DETECT_YAML_READER_H

#include "os/arena.h"

#include "detect/detect_error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yaml.h>

struct detect_yaml {
    yaml_document_t document;
    bool loaded;
    bool failed;
    size_t problems;
    const char *file;
    const char *rule;              /* for messages: the current rule, or NULL */
    struct ts_detect_error *error; /* receives the first error */
    ts_detect_problem *visit;      /* receives all errors; may be NULL */
    void *context;
    struct ts_arena *arena;
};

/* Parses the text. On failure, the error is set, and the reader must still be released. The root is NULL for
 * an empty document. */
bool detect__yaml_open(struct detect_yaml *yaml, const char *file, struct ts_bytes text,
                       struct ts_arena *arena, struct ts_detect_error *error, yaml_node_t **ret_root);
void detect__yaml_release(struct detect_yaml *yaml);

/* Reports an error: "file:line: rule 'id': field: what". */
__attribute__((format(printf, 4, 5))) void detect__yaml_fail(struct detect_yaml *yaml, unsigned line,
                                                             const char *field, const char *format, ...);

/* Reports an error that another function has found. */
void detect__yaml_pass(struct detect_yaml *yaml, const struct ts_detect_error *error);

unsigned detect__yaml_line(const yaml_node_t *node);

/* Returns false if the node is NULL or not a mapping. Reports an error if the node is not a mapping, if a key
 * occurs twice, or if a key is not one of the names (at most 64). */
bool detect__yaml_mapping(struct detect_yaml *yaml, yaml_node_t *node, const char *what,
                          const char *const *names, size_t name_count);

/* Returns the value of a key, or NULL if the mapping has no such key. */
yaml_node_t *detect__yaml_get(struct detect_yaml *yaml, yaml_node_t *mapping, const char *key);

/* Sets *ret_text to a scalar's bytes, borrowed. Returns false for a NULL node. Reports an error and returns
 * false if the node is not a scalar. */
bool detect__yaml_scalar(struct detect_yaml *yaml, yaml_node_t *node, const char *field,
                         struct ts_bytes *ret_text);

/* Returns the number of items in a sequence. Reports an error if the node is not a sequence. Returns 0 for a
 * NULL node. */
size_t detect__yaml_count(struct detect_yaml *yaml, yaml_node_t *node, const char *field);
yaml_node_t *detect__yaml_item(struct detect_yaml *yaml, yaml_node_t *sequence, size_t index);

#endif
