#include "tree.h"

#include "graph.h"
#include "os/grow.h"

#include <stdlib.h>
#include <string.h>

static uint32_t start_of(const struct git__tree *tree, uint32_t entry) {
    return entry > 0 ? tree->ends[entry - 1] : 0;
}

/* ---- copied entries ---- */

/* Returns the first entry, starting at `from`, that ends after `at`; or the count of entries. */
static uint32_t entry_behind(const struct git__tree *tree, uint32_t from, uint64_t at) {
    if (from >= tree->count || tree->ends[from] > at)
        return from;
    if (tree->ends[tree->count - 1] <= at)
        return tree->count;
    uint32_t low = from; /* this entry ends at or before `at` */
    uint32_t len = tree->count - 1 - from;
    while (len > 1) {
        uint32_t half = len / 2;
        low = tree->ends[low + half] <= at ? low + half : low;
        len -= half;
    }
    return low + 1;
}

struct matching {
    struct ts_bytes content;
    size_t hash_len;
    const struct git__tree *base; /* NULL: none */
    struct ts_bytes base_content;
    const struct ts_git_copy *copies;
    size_t copy_count;
    size_t copy;   /* the first copy that ends after `at` */
    size_t at;     /* where the next entry begins */
    uint32_t next; /* index in the base: every entry before this one is reused or removed */
    uint32_t like; /* index in the base: the next entry that may have changed */
};

/* Returns whether an entry of the base is a folder. All valid modes except those of trees have six digits and
 * begin with 1. Invalid modes count as trees. */
static bool is_folder(const struct matching *m, uint32_t entry) {
    const uint8_t *mode = m->base_content.data + start_of(m->base, entry);
    return mode[0] != '1' || mode[6] != ' ';
}

static bool remove_until(struct git__tree_reader *reader, struct matching *m, uint32_t entry) {
    for (; m->next < entry; m->next++) {
        if (m->base->children[m->next] == GIT__NONE)
            continue;
        if (!TS_GROW(reader->removed, reader->removed_capacity, reader->removed_count + 1))
            return false;
        reader->removed[reader->removed_count++] =
            (struct git__change){m->base->children[m->next], m->base->names[m->next]};
        reader->has_folders = reader->has_folders || is_folder(m, m->next);
    }
    return true;
}

static bool add_part(struct git__tree_reader *reader, struct git__tree_part part) {
    if (part.is_added && reader->part_count > 0) {
        struct git__tree_part *last = &reader->parts[reader->part_count - 1];
        if (last->is_added) {
            last->count += part.count;
            return true;
        }
    }
    if (!TS_GROW(reader->parts, reader->part_capacity, reader->part_count + 1))
        return false;
    reader->parts[reader->part_count++] = part;
    return true;
}

/* Reuses entries at the current position. *ret_count is 0 if the delta copies no entry here, or if later
 * entries of the base were already reused. Each entry of the base is reused at most once, so the entries that
 * are not reused are the removed ones. */
static bool take_over(struct git__tree_reader *reader, struct matching *m, uint32_t *ret_count) {
    *ret_count = 0;
    while (m->copy < m->copy_count && m->copies[m->copy].at + m->copies[m->copy].len <= m->at)
        m->copy++;
    if (m->base == NULL || m->copy == m->copy_count || m->copies[m->copy].at > m->at)
        return true;
    const struct ts_git_copy *copy = &m->copies[m->copy];
    uint64_t from = copy->from + (m->at - copy->at);
    uint32_t first = entry_behind(m->base, m->next, from);
    if (first == m->base->count || start_of(m->base, first) != from)
        return true;
    uint32_t end = entry_behind(m->base, first, copy->from + copy->len);
    if (end == first)
        return true;
    *ret_count = end - first;
    struct git__tree_part part = {
        .first = first, .count = end - first, .shift = (uint32_t)m->at - (uint32_t)from};
    bool done = remove_until(reader, m, first) && add_part(reader, part);
    m->at += m->base->ends[end - 1] - from;
    m->next = end;
    m->like = end;
    return done;
}

/* ---- added entries ---- */

/* Returns whether the next entry of the base has the mode and name of the current entry, byte for byte. `end`
 * is the end of the current entry. */
static bool is_like(const struct matching *m, size_t end) {
    if (m->base == NULL || m->like >= m->base->count)
        return false;
    size_t from = start_of(m->base, m->like);
    size_t len = end - m->at;
    return m->base->ends[m->like] - from == len &&
           memcmp(m->base_content.data + from, m->content.data + m->at, len - m->hash_len) == 0;
}

static enum git__tree_outcome add_entry(struct git__tree_reader *reader, struct matching *m) {
    enum ts_git_hash hash = reader->graph->repo->hash;
    struct ts_bytes rest = ts_bytes_skip(m->content, m->at);
    struct ts_git_tree_entry entry;
    if (ts_git_tree_next(hash, &rest, &entry) != TS_GIT_TREE_ENTRY)
        return GIT__TREE_BAD;
    size_t end = m->content.len - rest.len;
    struct git__tree_part part = {.first = (uint32_t)reader->added_count, .count = 1, .is_added = true};
    if (!TS_GROW(reader->added, reader->added_capacity, reader->added_count + 1) || !add_part(reader, part))
        return GIT__TREE_NO_MEMORY;
    bool is_known = is_like(m, end);
    reader->added[reader->added_count++] = (struct git__added){.id = m->content.data + end - m->hash_len,
                                                               .name = entry.name,
                                                               .mode = entry.mode,
                                                               .end = (uint32_t)end,
                                                               .like = is_known ? m->like : GIT__NONE};
    m->like += is_known;
    reader->has_folders = reader->has_folders || ts_git_mode_is_tree(entry.mode);
    m->at = end;
    return GIT__TREE_READ;
}

static enum git__tree_outcome match(struct git__tree_reader *reader, struct matching *m) {
    reader->added_count = 0;
    reader->removed_count = 0;
    reader->part_count = 0;
    reader->has_folders = false;
    while (m->at < m->content.len) {
        uint32_t count;
        if (!take_over(reader, m, &count))
            return GIT__TREE_NO_MEMORY;
        if (count > 0)
            continue;
        enum git__tree_outcome outcome = add_entry(reader, m);
        if (outcome != GIT__TREE_READ)
            return outcome;
    }
    if (m->base != NULL && !remove_until(reader, m, m->base->count))
        return GIT__TREE_NO_MEMORY;
    return GIT__TREE_READ;
}

/* ---- numbers and names of added entries ---- */

static bool find_children(struct git__tree_reader *reader) {
    struct ts_git_graph *graph = reader->graph;
    if (!TS_GROW(reader->ids, reader->id_capacity, reader->added_count) ||
        !TS_GROW(reader->numbers, reader->number_capacity, reader->added_count))
        return false;
    for (size_t i = 0; i < reader->added_count; i++)
        reader->ids[i] = reader->added[i].id;
    git__numbers_of(graph->repo, reader->ids, reader->added_count, reader->numbers);
    for (size_t i = 0; i < reader->added_count; i++) {
        struct git__added *added = &reader->added[i];
        added->change.child = reader->numbers[i];
        if (ts_git_mode_is_submodule(added->mode)) {
            added->change.child = GIT__NONE;
            git__graph_submodule(graph, added->name);
            continue;
        }
        if (reader->numbers[i] == GIT__NONE) {
            struct ts_git_oid oid = ts_git_oid_of(graph->repo->hash, added->id);
            added->change.child = git__graph_number(graph, &oid);
        }
        if (added->change.child == GIT__NONE)
            return false;
        git__expect(graph, added->change.child, ts_git_mode_is_tree(added->mode) ? TS_GIT_TREE : TS_GIT_BLOB);
    }
    return true;
}

static bool find_names(struct git__tree_reader *reader, const struct git__tree *base) {
    for (size_t i = 0; i < reader->added_count; i++) {
        struct git__added *added = &reader->added[i];
        if (added->change.child == GIT__NONE) {
            added->change.name = GIT__NONE;
        } else if (base != NULL && added->like != GIT__NONE) {
            added->change.name = base->names[added->like];
        } else {
            added->change.name = git__graph_name(reader->graph, reader->names, added->name, added->mode);
            if (added->change.name == GIT__NONE)
                return false;
        }
    }
    return true;
}

/* ---- entries by position ---- */

static struct git__tree *tree_new(struct ts_git_graph *graph, uint32_t count, bool is_spared) {
    size_t bytes = sizeof(struct git__tree) + (size_t)count * 3 * sizeof(uint32_t);
    uint64_t taken = atomic_fetch_add_explicit(&graph->tree_bytes, bytes, memory_order_relaxed) + bytes;
    struct git__tree *tree = is_spared && taken > graph->tree_bytes_max ? NULL : malloc(bytes);
    if (tree == NULL) {
        atomic_fetch_sub_explicit(&graph->tree_bytes, bytes, memory_order_relaxed);
        return NULL;
    }
    uint32_t *words = (uint32_t *)(tree + 1);
    *tree = (struct git__tree){.bytes = bytes,
                               .count = count,
                               .ends = words,
                               .children = words + count,
                               .names = words + (size_t)2 * count};
    return tree;
}

void git__tree_free(struct ts_git_graph *graph, struct git__tree *tree) {
    if (tree == NULL)
        return;
    atomic_fetch_sub_explicit(&graph->tree_bytes, tree->bytes, memory_order_relaxed);
    free(tree);
}

static void copy_part(struct git__tree *to, uint32_t at, const struct git__tree *base,
                      const struct git__tree_part *part) {
    for (uint32_t i = 0; i < part->count; i++)
        to->ends[at + i] = base->ends[part->first + i] + part->shift;
    memcpy(to->children + at, base->children + part->first, part->count * sizeof *to->children);
    memcpy(to->names + at, base->names + part->first, part->count * sizeof *to->names);
}

/* Joins the parts into a tree. Its entries are in the order of their positions. Returns NULL when memory runs
 * out or, if is_spared, when trees take too much memory. */
static struct git__tree *arrange(const struct git__tree_reader *reader, const struct git__tree *base,
                                 bool is_spared) {
    uint32_t count = 0;
    for (size_t i = 0; i < reader->part_count; i++)
        count += reader->parts[i].count;
    struct git__tree *tree = tree_new(reader->graph, count, is_spared);
    uint32_t at = 0;
    for (size_t i = 0; tree != NULL && i < reader->part_count; i++) {
        const struct git__tree_part *part = &reader->parts[i];
        if (!part->is_added && base != NULL)
            copy_part(tree, at, base, part);
        for (uint32_t k = 0; part->is_added && k < part->count; k++) {
            const struct git__added *added = &reader->added[part->first + k];
            tree->ends[at + k] = added->end;
            tree->children[at + k] = added->change.child;
            tree->names[at + k] = added->change.name;
        }
        at += part->count;
    }
    return tree;
}

/* ---- whole trees ---- */

static enum git__tree_outcome read_beside(struct git__tree_reader *reader, struct matching *m) {
    enum git__tree_outcome outcome = match(reader, m);
    if (outcome == GIT__TREE_NO_MEMORY || (outcome == GIT__TREE_BAD && m->base != NULL))
        return outcome;
    return find_children(reader) && find_names(reader, m->base) ? outcome : GIT__TREE_NO_MEMORY;
}

static enum git__tree_outcome read_alone(struct git__tree_reader *reader, struct ts_bytes content) {
    struct matching m = {.content = content, .hash_len = ts_git_hash_len(reader->graph->repo->hash)};
    return read_beside(reader, &m);
}

/* Finds the entries of the base. If they are not in memory, reads the base again. The caller frees
 * *ret_own. */
static enum git__tree_outcome find_base(struct git__tree_reader *reader, const struct ts_git_object *object,
                                        const struct git__tree **ret_base, struct git__tree **ret_own) {
    *ret_own = NULL;
    *ret_base = object->base != NULL ? object->base->result : NULL;
    if (object->base == NULL || *ret_base != NULL || object->base->content.len > UINT32_MAX)
        return GIT__TREE_READ;
    enum git__tree_outcome outcome = read_alone(reader, object->base->content);
    if (outcome != GIT__TREE_READ)
        return outcome == GIT__TREE_BAD ? GIT__TREE_READ : outcome;
    *ret_base = *ret_own = arrange(reader, NULL, false);
    return *ret_own != NULL ? GIT__TREE_READ : GIT__TREE_NO_MEMORY;
}

enum git__tree_outcome git__tree_read(struct git__tree_reader *reader, const struct ts_git_object *object,
                                      bool *ret_has_base, struct git__tree **ret_tree) {
    bool is_small = object->content.len <= UINT32_MAX;
    struct git__tree *own = NULL;
    struct matching m = {.content = object->content, .hash_len = ts_git_hash_len(reader->graph->repo->hash)};
    enum git__tree_outcome outcome = is_small ? find_base(reader, object, &m.base, &own) : GIT__TREE_READ;
    if (outcome == GIT__TREE_READ && m.base != NULL) {
        m.base_content = object->base->content;
        m.copies = object->base->copies;
        m.copy_count = object->base->copy_count;
    }
    if (outcome == GIT__TREE_READ)
        outcome = read_beside(reader, &m);
    if (outcome == GIT__TREE_BAD && m.base != NULL) {
        m.base = NULL;
        outcome = read_alone(reader, object->content);
    }
    if (outcome == GIT__TREE_READ && is_small && object->is_base)
        *ret_tree = arrange(reader, m.base, true);
    *ret_has_base = m.base != NULL;
    git__tree_free(reader->graph, own);
    return outcome;
}

void git__tree_reader_release(struct git__tree_reader *reader) {
    free(reader->names);
    free(reader->added);
    free(reader->removed);
    free(reader->parts);
    free((void *)reader->ids);
    free(reader->numbers);
}
