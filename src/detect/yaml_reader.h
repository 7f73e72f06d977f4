/*
 * YAML documents for rule files and configurations: a thin reader over libyaml's tree that knows which keys a
 * mapping may have, and that says file, line and field of what is wrong.
 *
 * A reader remembers its first error, tells each of them to a visitor when there is one, and goes on: callers read all
 * fields and look at `failed` once.
 */
#ifndef TS_DETECT_YAML_READER_H
#define TS_DETECT_YAML_READER_H

#include "arena.h"

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
    const char *rule;              /* for messages: the rule that is being read, or NULL */
    struct ts_detect_error *error; /* the first one */
    ts_detect_problem *visit;      /* gets all of them, or is NULL */
    void *context;
    struct detect_arena *arena;
};

/* Parses the text. One that is not ours is looked at for its depth first, which costs a third of the time. On failure the error is set, and the reader is to be released all the same. The root is
 * NULL for an empty document. */
bool detect__yaml_open(struct detect_yaml *yaml, const char *file, struct ts_bytes text, bool is_ours,
                       struct detect_arena *arena, struct ts_detect_error *error, yaml_node_t **ret_root);
void detect__yaml_release(struct detect_yaml *yaml);

/* An error: "file:line: rule 'id': field: what". */
__attribute__((format(printf, 4, 5))) void detect__yaml_fail(struct detect_yaml *yaml, unsigned line,
                                                             const char *field, const char *format, ...);

unsigned detect__yaml_line(const yaml_node_t *node);

/* False when the node is no mapping. An error when its keys are not distinct, or not all among the names (64 at most). */
bool detect__yaml_mapping(struct detect_yaml *yaml, yaml_node_t *node, const char *what,
                          const char *const *names, size_t name_count);

/* The value of a key, or NULL. */
yaml_node_t *detect__yaml_get(struct detect_yaml *yaml, yaml_node_t *mapping, const char *key);

/* A scalar's bytes, borrowed; an error when the node is something else. */
bool detect__yaml_scalar(struct detect_yaml *yaml, yaml_node_t *node, const char *field,
                         struct ts_bytes *ret_text);

/* Items of a sequence; an error when the node is something else. A NULL node has none. */
size_t detect__yaml_count(struct detect_yaml *yaml, yaml_node_t *node, const char *field);
yaml_node_t *detect__yaml_item(struct detect_yaml *yaml, yaml_node_t *sequence, size_t index);

#endif
