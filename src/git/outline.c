#include "outline.h"

#include "numbers.h"
#include "os/grow.h"
#include "resident.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

/* Temporary state while an outline is made. */
struct drawing {
    const struct git__pack *pack;
    struct git__outline outline;
    uint32_t *node_of; /* indexed by position in the pack's index */
};

/* Sorts nodes by offset. This is a radix sort of 16 bits at a time, with as many passes as the largest offset
 * needs. `spare` is a list of the same size. Returns the sorted nodes, which are in `nodes` or in `spare`;
 * NULL when memory runs out. */
static struct git__node *sort_nodes(struct git__node *nodes, struct git__node *spare, uint32_t count,
                                    uint64_t largest) {
    static const unsigned bits = 16;
    uint32_t *starts = malloc(((size_t)1 << bits) * sizeof *starts);
    if (starts == NULL)
        return NULL;
    for (unsigned shift = 0; shift < 64 && (largest >> shift) > 0; shift += bits) {
        memset(starts, 0, ((size_t)1 << bits) * sizeof *starts);
        for (uint32_t i = 0; i < count; i++)
            starts[nodes[i].offset >> shift & 0xffff]++;
        uint32_t sum = 0;
        for (size_t i = 0; i < (size_t)1 << bits; i++) {
            uint32_t here = starts[i];
            starts[i] = sum;
            sum += here;
        }
        for (uint32_t i = 0; i < count; i++)
            spare[starts[nodes[i].offset >> shift & 0xffff]++] = nodes[i];
        struct git__node *swap = nodes;
        nodes = spare;
        spare = swap;
    }
    free(starts);
    return nodes;
}

static bool make_nodes(struct drawing *d) {
    const struct git__pack_index *index = &d->pack->index;
    struct git__node *nodes = git__table_new((size_t)index->count + 1, sizeof *nodes);
    struct git__node *spare = git__table_new((size_t)index->count + 1, sizeof *spare);
    if (nodes == NULL || spare == NULL) {
        free(nodes);
        free(spare);
        return false;
    }
    uint32_t count = 0;
    uint64_t largest = 0;
    size_t lost_capacity = 0;
    bool done = true;
    for (uint32_t i = 0; i < index->count && done; i++) {
        uint64_t offset;
        if (!git__pack_index_offset(index, i, &offset) || offset >= d->pack->end) {
            done = TS_GROW(d->outline.lost, lost_capacity, (size_t)d->outline.lost_count + 1);
            if (done)
                d->outline.lost[d->outline.lost_count++] = i;
            continue;
        }
        nodes[count++] = (struct git__node){.offset = offset,
                                            .position = i,
                                            .parent = GIT__NONE,
                                            .first_child = GIT__NONE,
                                            .next_sibling = GIT__NONE};
        largest = offset > largest ? offset : largest;
    }
    struct git__node *sorted = done ? sort_nodes(nodes, spare, count, largest) : NULL;
    if (sorted != nodes)
        free(nodes);
    if (sorted != spare)
        free(spare);
    d->outline.nodes = sorted;
    d->outline.count = count;
    return sorted != NULL;
}

/* Returns the node of the base at `offset`, or GIT__NONE. The base of an offset delta is before the delta,
 * usually nearby. Searches back in doubling steps, then by bisection. */
static uint32_t node_before(const struct git__outline *outline, uint32_t node, uint64_t offset) {
    const struct git__node *nodes = outline->nodes;
    uint32_t high = node; /* the offset of this node is above `offset` */
    uint32_t low = node;
    for (uint32_t step = 1; low > 0 && nodes[low].offset > offset; step *= 2) {
        high = low;
        low = low > step ? low - step : 0;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (nodes[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return nodes[low].offset == offset ? low : GIT__NONE;
}

/* Reads the header of one entry: its type and size, or its base. */
static enum ts_git_error read_node(struct drawing *d, uint32_t number) {
    const struct git__outline *outline = &d->outline;
    struct git__node *node = &outline->nodes[number];
    struct git__entry entry;
    struct git__extent extent = {node->offset, number + 1 < outline->count ? outline->nodes[number + 1].offset
                                                                           : d->pack->end};
    enum ts_git_error error = git__pack_entry(d->pack, extent, &entry);
    if (error != TS_GIT_OK)
        return error;
    uint32_t position;
    switch (entry.kind) {
    case GIT__ENTRY_WHOLE:
        node->type = (uint8_t)entry.type;
        node->size = entry.size < UINT32_MAX ? (uint32_t)entry.size : UINT32_MAX;
        return TS_GIT_OK;
    case GIT__ENTRY_OFFSET_DELTA:
        node->parent = node_before(outline, number, entry.base_offset);
        break;
    case GIT__ENTRY_REF_DELTA:
        if (git__pack_index_find(&d->pack->index, entry.base_id, &position))
            node->parent = d->node_of[position];
        break;
    }
    if (node->parent == GIT__NONE || node->parent == number) {
        node->parent = GIT__NONE;
        return TS_GIT_NO_BASE;
    }
    return TS_GIT_OK;
}

#define HEADERS_AHEAD 16 /* headers to prefetch, so that memory accesses overlap */

static void read_nodes(struct drawing *d) {
    struct git__node *nodes = d->outline.nodes;
    for (uint32_t i = 0; i < d->outline.count; i++)
        d->node_of[nodes[i].position] = i;
    uint64_t forgotten = 0;
    for (uint32_t i = 0; i < d->outline.count; i++) {
        if (nodes[i].offset - forgotten > GIT__RESIDENT_MAX) {
            forgotten = nodes[i].offset;
            git__map_forget(&d->pack->map);
        }
        if (i + HEADERS_AHEAD < d->outline.count && nodes[i + HEADERS_AHEAD].offset < d->pack->end)
            __builtin_prefetch(d->pack->map.bytes.data + nodes[i + HEADERS_AHEAD].offset);
        nodes[i].error = (uint8_t)read_node(d, i);
        if (nodes[i].error == TS_GIT_OK && nodes[i].parent != GIT__NONE) {
            nodes[i].next_sibling = nodes[nodes[i].parent].first_child;
            nodes[nodes[i].parent].first_child = i;
        }
    }
}

/* Computes types, errors, and an order with parents first, from the roots down. Nodes that this walk does not
 * reach are in cycles or below cycles. */
static bool spread(struct drawing *d) {
    struct git__outline *outline = &d->outline;
    struct git__node *nodes = outline->nodes;
    for (uint32_t i = 0; i < outline->count; i++)
        if (nodes[i].parent == GIT__NONE)
            outline->order[outline->ordered++] = i;
    for (uint32_t at = 0; at < outline->ordered; at++) {
        const struct git__node *node = &nodes[outline->order[at]];
        for (uint32_t c = node->first_child; c != GIT__NONE; c = nodes[c].next_sibling) {
            nodes[c].type = node->type;
            if (node->error != TS_GIT_OK)
                nodes[c].error = TS_GIT_BASE_DAMAGED;
            outline->order[outline->ordered++] = c;
        }
    }
    if (outline->ordered == outline->count)
        return true;
    bool *is_met = calloc(outline->count, sizeof *is_met);
    if (is_met == NULL)
        return false;
    for (uint32_t at = 0; at < outline->ordered; at++)
        is_met[outline->order[at]] = true;
    for (uint32_t i = 0; i < outline->count; i++)
        if (!is_met[i])
            nodes[i].error = TS_GIT_NO_BASE;
    free(is_met);
    return true;
}

static void drawing_release(struct drawing *d) {
    free(d->outline.nodes);
    free(d->outline.order);
    free(d->outline.lost);
}

struct git__outline *git__outline_new(const struct git__pack *pack) {
    struct drawing d = {.pack = pack};
    size_t room = (size_t)pack->index.count + 1;
    struct git__outline *outline = malloc(sizeof *outline);
    bool done = outline != NULL && make_nodes(&d);
    if (done) {
        d.node_of = git__table_new(room, sizeof *d.node_of);
        d.outline.order = git__table_new(room, sizeof *d.outline.order);
        done = d.node_of != NULL && d.outline.order != NULL;
    }
    if (done) {
        memset(d.node_of, 0xff, room * sizeof *d.node_of);
        read_nodes(&d);
        done = spread(&d);
    }
    free(d.node_of);
    if (!done) {
        drawing_release(&d);
        free(outline);
        return NULL;
    }
    *outline = d.outline;
    return outline;
}

void git__outline_free(struct git__outline *outline) {
    if (outline == NULL)
        return;
    free(outline->nodes);
    free(outline->order);
    free(outline->lost);
    free(outline);
}
