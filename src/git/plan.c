#include "plan.h"

#include <stdlib.h>
#include <string.h>

/* What only the making of a plan needs. */
struct drafting {
    const struct ts_git_repo *repo;
    const struct git__choice *choice;
    struct git__problems *problems;
    struct git__plan plan;
    uint32_t *node_of; /* by position in the index */
    uint32_t *order;   /* nodes, parents before children */
    uint32_t ordered;
    uint32_t *weights;
};

void git__problem_add(struct git__problems *problems, uint32_t number, enum ts_git_error error) {
    if (!GIT__GROW(problems->items, problems->capacity, problems->count + 1)) {
        problems->no_memory = true;
        return;
    }
    problems->items[problems->count++] = (struct git__problem){number, error};
}

/* Nobody asked for it, or another copy is the one to visit. */
static bool is_passed_over(const struct drafting *d, uint32_t number) {
    const struct ts_git_set *wanted = d->choice->wanted;
    if (wanted != NULL && !git__set_has(wanted, number))
        return true;
    return git__number_is_copy(d->repo, number);
}

static void note(struct drafting *d, uint32_t position, enum ts_git_error error) {
    uint32_t number = d->plan.first_number + position;
    if (!is_passed_over(d, number))
        git__problem_add(d->problems, number, error);
}

/* By offset, 16 bits at a time, as many times as the largest needs; spare is as large as nodes. */
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

static bool make_nodes(struct drafting *d) {
    const struct git__pack_index *index = &d->plan.pack->index;
    struct git__node *nodes = malloc(((size_t)index->count + 1) * sizeof *nodes);
    struct git__node *spare = malloc(((size_t)index->count + 1) * sizeof *spare);
    if (nodes == NULL || spare == NULL) {
        free(nodes);
        free(spare);
        return false;
    }
    uint32_t count = 0;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < index->count; i++) {
        uint64_t offset;
        if (!git__pack_index_offset(index, i, &offset) || offset >= d->plan.pack->end) {
            note(d, i, TS_GIT_BAD_ENTRY);
            continue;
        }
        nodes[count++] = (struct git__node){.offset = offset,
                                            .position = i,
                                            .parent = GIT__NONE,
                                            .first_child = GIT__NONE,
                                            .next_sibling = GIT__NONE};
        largest = offset > largest ? offset : largest;
    }
    struct git__node *sorted = sort_nodes(nodes, spare, count, largest);
    free(sorted == nodes ? spare : nodes);
    if (sorted == NULL) {
        free(spare);
        return false;
    }
    d->plan.nodes = sorted;
    d->plan.node_count = count;
    return true;
}

static uint32_t node_at(const struct git__plan *plan, uint64_t offset) {
    uint32_t low = 0;
    uint32_t high = plan->node_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (plan->nodes[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < plan->node_count && plan->nodes[low].offset == offset ? low : GIT__NONE;
}

/* Reads the header of one entry: its type, or the node it is made from. */
static enum ts_git_error read_node(struct drafting *d, uint32_t number) {
    struct git__node *node = &d->plan.nodes[number];
    struct git__entry entry;
    enum ts_git_error error = git__pack_entry(d->plan.pack, git__plan_extent(&d->plan, number), &entry);
    if (error != TS_GIT_OK)
        return error;
    uint32_t position;
    switch (entry.kind) {
    case GIT__ENTRY_WHOLE:
        node->type = (uint8_t)entry.type;
        return TS_GIT_OK;
    case GIT__ENTRY_OFFSET_DELTA:
        node->parent = node_at(&d->plan, entry.base_offset);
        break;
    case GIT__ENTRY_REF_DELTA:
        if (git__pack_index_find(&d->plan.pack->index, entry.base_id, &position))
            node->parent = d->node_of[position];
        break;
    }
    if (node->parent == GIT__NONE || node->parent == number) {
        node->parent = GIT__NONE;
        return TS_GIT_NO_BASE;
    }
    return TS_GIT_OK;
}

static void link_child(struct git__node *nodes, uint32_t parent, uint32_t child) {
    nodes[child].next_sibling = nodes[parent].first_child;
    nodes[parent].first_child = child;
}

static void read_nodes(struct drafting *d) {
    struct git__node *nodes = d->plan.nodes;
    for (uint32_t i = 0; i < d->plan.node_count; i++)
        d->node_of[nodes[i].position] = i;
    for (uint32_t i = 0; i < d->plan.node_count; i++) {
        enum ts_git_error error = read_node(d, i);
        if (error != TS_GIT_OK) {
            nodes[i].is_broken = true;
            note(d, nodes[i].position, error);
        } else if (nodes[i].parent != GIT__NONE) {
            link_child(nodes, nodes[i].parent, i);
        }
    }
}

/* From the roots down: types, and an order with parents first. What is not met depends on itself. */
static void spread_types(struct drafting *d) {
    struct git__node *nodes = d->plan.nodes;
    for (uint32_t i = 0; i < d->plan.node_count; i++)
        if (nodes[i].parent == GIT__NONE)
            d->order[d->ordered++] = i;
    for (uint32_t at = 0; at < d->ordered; at++) {
        const struct git__node *node = &nodes[d->order[at]];
        for (uint32_t c = node->first_child; c != GIT__NONE; c = nodes[c].next_sibling) {
            nodes[c].type = node->type;
            nodes[c].is_broken = node->is_broken;
            if (node->is_broken)
                note(d, nodes[c].position, TS_GIT_BASE_DAMAGED);
            d->order[d->ordered++] = c;
        }
    }
    if (d->ordered == d->plan.node_count)
        return;
    bool *is_met = calloc(d->plan.node_count, sizeof *is_met);
    if (is_met == NULL) {
        d->problems->no_memory = true;
        return;
    }
    for (uint32_t at = 0; at < d->ordered; at++)
        is_met[d->order[at]] = true;
    for (uint32_t i = 0; i < d->plan.node_count; i++)
        if (!is_met[i])
            note(d, nodes[i].position, TS_GIT_NO_BASE);
    free(is_met);
}

/* From the leaves up: what is needed, and how much hangs on it. */
static void weigh(struct drafting *d) {
    struct git__node *nodes = d->plan.nodes;
    for (uint32_t at = d->ordered; at > 0; at--) {
        uint32_t i = d->order[at - 1];
        struct git__node *node = &nodes[i];
        node->is_wanted = !node->is_broken && (d->choice->types & TS_GIT_TYPE_BIT(node->type)) != 0 &&
                          !is_passed_over(d, d->plan.first_number + node->position);
        node->is_needed = node->is_needed || node->is_wanted;
        d->weights[i] += node->is_wanted;
        if (node->is_needed && node->parent != GIT__NONE) {
            nodes[node->parent].is_needed = true;
            d->weights[node->parent] += d->weights[i];
        }
    }
}

/* Child lists anew: only what is needed, by offset, the heaviest last. */
static void arrange(struct drafting *d) {
    struct git__node *nodes = d->plan.nodes;
    uint32_t *heaviest = d->order; /* no longer needed as what it was */
    for (uint32_t i = 0; i < d->plan.node_count; i++) {
        heaviest[i] = GIT__NONE;
        nodes[i].first_child = GIT__NONE;
    }
    for (uint32_t i = 0; i < d->plan.node_count; i++) {
        uint32_t parent = nodes[i].parent;
        if (!nodes[i].is_needed || parent == GIT__NONE)
            continue;
        if (heaviest[parent] == GIT__NONE || d->weights[i] > d->weights[heaviest[parent]])
            heaviest[parent] = i;
    }
    for (uint32_t i = 0; i < d->plan.node_count; i++)
        if (heaviest[i] != GIT__NONE) {
            nodes[heaviest[i]].next_sibling = GIT__NONE;
            nodes[i].first_child = heaviest[i];
        }
    for (uint32_t i = d->plan.node_count; i > 0; i--) {
        uint32_t parent = nodes[i - 1].parent;
        if (nodes[i - 1].is_needed && parent != GIT__NONE && heaviest[parent] != i - 1)
            link_child(nodes, parent, i - 1);
    }
}

static bool list_roots(struct git__plan *plan) {
    for (uint32_t i = 0; i < plan->node_count; i++)
        plan->root_count += plan->nodes[i].parent == GIT__NONE && plan->nodes[i].is_needed;
    plan->roots = malloc(((size_t)plan->root_count + 1) * sizeof *plan->roots);
    if (plan->roots == NULL)
        return false;
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->node_count; i++)
        if (plan->nodes[i].parent == GIT__NONE && plan->nodes[i].is_needed)
            plan->roots[count++] = i;
    return true;
}

bool git__plan_init(const struct ts_git_repo *repo, uint32_t pack, const struct git__choice *choice,
                    struct git__problems *problems, struct git__plan *ret_plan) {
    struct drafting d = {.repo = repo, .choice = choice, .problems = problems};
    d.plan.pack = &repo->packs[pack];
    d.plan.first_number = repo->numbers.pack_first[pack];
    size_t count = d.plan.pack->index.count;
    bool done = make_nodes(&d);
    if (done) {
        d.node_of = malloc((count + 1) * sizeof *d.node_of);
        d.order = malloc((count + 1) * sizeof *d.order);
        d.weights = calloc(count + 1, sizeof *d.weights);
        done = d.node_of != NULL && d.order != NULL && d.weights != NULL;
    }
    if (done) {
        memset(d.node_of, 0xff, (count + 1) * sizeof *d.node_of);
        read_nodes(&d);
        spread_types(&d);
        weigh(&d);
        arrange(&d);
        done = list_roots(&d.plan);
    }
    free(d.node_of);
    free(d.order);
    free(d.weights);
    if (!done) {
        git__plan_release(&d.plan);
        return false;
    }
    *ret_plan = d.plan;
    return true;
}

void git__plan_release(struct git__plan *plan) {
    free(plan->nodes);
    free(plan->roots);
    plan->nodes = NULL;
    plan->roots = NULL;
}
