/*
 * Reading the trees of a history. Most trees differ from their delta base in one or two entries, so entries
 * that the delta copies are reused from the base, and only inserted ones are parsed:
 *
 *   base    | a | b | c | d | e |          entries by position, with numbers of children and names
 *             copied  │ ╳ │ copied
 *   tree    | a | b | C'| d | e |          added: C', removed: c
 *
 * A copied range may begin and end anywhere. Only entries that are completely inside the range, and begin
 * where an entry of the tree begins, are reused.
 */
#ifndef TS_GIT_TREE_H
#define TS_GIT_TREE_H

#include "git/visit.h"
#include "names.h"

/* The entries of a tree by position, for its deltas. */
struct git__tree {
    size_t bytes; /* size of its memory */
    uint32_t count;
    uint32_t *ends;     /* where each entry ends in the content */
    uint32_t *children; /* numbers of objects; GIT__NONE: a commit of another repository */
    uint32_t *names;
};

/* An added or removed entry. */
struct git__change {
    uint32_t child;
    uint32_t name;
};

/* A part of a tree: entries of the base, or added entries. */
struct git__tree_part {
    uint32_t first; /* index in the base, or among the added entries */
    uint32_t count;
    uint32_t shift; /* difference between ends in the base and in the tree */
    bool is_added;
};

/* The state with which one thread reads trees. It is reused for all trees of the thread. */
struct git__tree_reader {
    struct ts_git_graph *graph;
    struct git__name_cache *names;
    struct git__added {
        const uint8_t *id; /* points into the content */
        struct ts_bytes name;
        uint32_t mode;
        uint32_t end;
        uint32_t like; /* index of the entry with this name and mode in the base; GIT__NONE: unknown */
        struct git__change change;
    } * added;
    size_t added_count;
    size_t added_capacity;
    struct git__change *removed;
    size_t removed_count;
    size_t removed_capacity;
    bool has_folders; /* some added or removed entries are trees */
    struct git__tree_part *parts;
    size_t part_count;
    size_t part_capacity;
    const uint8_t **ids; /* ids of the added entries */
    size_t id_capacity;
    uint32_t *numbers;
    size_t number_capacity;
};

enum git__tree_outcome { GIT__TREE_READ, GIT__TREE_BAD, GIT__TREE_NO_MEMORY };

/*
 * Finds the differences from the base. Without a base, or with an invalid one, everything is added and
 * *ret_has_base is false. With BAD, the added entries are those before the first invalid entry. *ret_tree is
 * for deltas of the object. The caller sets it to NULL before the call, and frees it. It stays NULL if the
 * object has no deltas, if the object is bad, or if memory is short.
 */
enum git__tree_outcome git__tree_read(struct git__tree_reader *reader, const struct ts_git_object *object,
                                      bool *ret_has_base, struct git__tree **ret_tree);
void git__tree_reader_release(struct git__tree_reader *reader);

/* Frees the tree, and subtracts its memory from graph->tree_bytes. Accepts NULL. */
void git__tree_free(struct ts_git_graph *graph, struct git__tree *tree);

#endif
