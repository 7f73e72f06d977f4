#include "plan.h"

#include "base/assert.h"
#include "os/grow.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

/* Temporary state while a plan is made. */
struct drafting {
    const struct ts_git_repo *repo;
    const struct git__choice *choice;
    struct git__problems *problems;
    const struct git__outline *outline;
    struct git__plan plan;
    uint32_t *weights;
    uint32_t *heaviest; /* indexed by node: its heaviest child */
};

void git__problem_add_typed(struct git__problems *problems, const struct git__problem *problem) {
    if (!TS_GROW(problems->items, problems->capacity, problems->count + 1)) {
        problems->no_memory = true;
        return;
    }
    problems->items[problems->count++] = *problem;
}

void git__problem_add(struct git__problems *problems, uint32_t number, enum ts_git_error error) {
    git__problem_add_typed(problems, &(struct git__problem){.number = number, .error = error});
}

/* Returns true if this object is not to be visited: it is not wanted, or another copy of it is visited. */
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

/* Resets the fields of the outline that an earlier visit has set, and records the errors of wanted objects. */
static void begin(struct drafting *d) {
    for (uint32_t i = 0; i < d->outline->lost_count; i++)
        note(d, d->outline->lost[i], TS_GIT_BAD_ENTRY);
    for (uint32_t i = 0; i < d->plan.node_count; i++) {
        struct git__node *node = &d->plan.nodes[i];
        node->is_wanted = false;
        node->is_needed = false;
        node->first_child = GIT__NONE;
        node->next_sibling = GIT__NONE;
        d->heaviest[i] = GIT__NONE;
        if (node->error != TS_GIT_OK)
            note(d, node->position, (enum ts_git_error)node->error);
    }
}

/* Marks the wanted and needed nodes, and counts the wanted nodes of their subtrees, from the leaves up. */
static void weigh(struct drafting *d) {
    struct git__node *nodes = d->plan.nodes;
    for (uint32_t at = d->outline->ordered; at > 0; at--) {
        uint32_t i = d->outline->order[at - 1];
        struct git__node *node = &nodes[i];
        node->is_wanted = node->error == TS_GIT_OK && (d->choice->types & TS_GIT_TYPE_BIT(node->type)) != 0 &&
                          !is_passed_over(d, d->plan.first_number + node->position);
        node->is_needed = node->is_needed || node->is_wanted;
        d->weights[i] += node->is_wanted;
        if (node->is_needed && node->parent != GIT__NONE) {
            nodes[node->parent].is_needed = true;
            d->weights[node->parent] += d->weights[i];
        }
    }
}

static void link_child(struct git__node *nodes, uint32_t parent, uint32_t child) {
    nodes[child].next_sibling = nodes[parent].first_child;
    nodes[parent].first_child = child;
}

/* For each node, lists its needed children by offset, with the heaviest child last. */
static void arrange(struct drafting *d) {
    struct git__node *nodes = d->plan.nodes;
    uint32_t *heaviest = d->heaviest;
    for (uint32_t i = 0; i < d->plan.node_count; i++) {
        uint32_t parent = nodes[i].parent;
        if (!nodes[i].is_needed || parent == GIT__NONE)
            continue;
        if (heaviest[parent] == GIT__NONE || d->weights[i] > d->weights[heaviest[parent]])
            heaviest[parent] = i;
    }
    for (uint32_t i = 0; i < d->plan.node_count; i++)
        if (heaviest[i] != GIT__NONE)
            nodes[i].first_child = heaviest[i];
    for (uint32_t i = d->plan.node_count; i > 0; i--) {
        uint32_t parent = nodes[i - 1].parent;
        if (nodes[i - 1].is_needed && parent != GIT__NONE && heaviest[parent] != i - 1)
            link_child(nodes, parent, i - 1);
    }
}

/* Adds the roots to the units, with the estimated sizes of their trees. The result of a delta is assumed to
 * be as large as its base. */
static bool list_roots(const struct drafting *d, uint32_t pack, struct git__units *units) {
    const struct git__plan *plan = &d->plan;
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const struct git__node *node = &plan->nodes[i];
        if (node->parent != GIT__NONE || !node->is_needed)
            continue;
        if (!TS_GROW(units->items, units->capacity, units->count + 1))
            return false;
        units->items[units->count++] =
            (struct git__unit){.bytes = ((uint64_t)node->size + 1) * d->weights[i], .pack = pack, .node = i};
    }
    return true;
}

bool git__plan_init(struct ts_git_repo *repo, uint32_t pack, const struct git__choice *choice,
                    struct git__problems *problems, struct git__units *units, struct git__plan *ret_plan) {
    struct git__pack *file = &repo->packs[pack];
    if (file->outline == NULL)
        file->outline = git__outline_new(file);
    if (file->outline == NULL)
        return false;
    struct drafting d = {.repo = repo,
                         .choice = choice,
                         .problems = problems,
                         .outline = file->outline,
                         .plan = {.pack = file,
                                  .first_number = repo->numbers.pack_first[pack],
                                  .nodes = file->outline->nodes,
                                  .node_count = file->outline->count}};
    ts_assert(!file->outline->is_lent);
    d.weights = git__table_new_zeroed((size_t)d.plan.node_count + 1, sizeof *d.weights);
    d.heaviest = git__table_new((size_t)d.plan.node_count + 1, sizeof *d.heaviest);
    bool done = d.weights != NULL && d.heaviest != NULL;
    if (done) {
        begin(&d);
        weigh(&d);
        arrange(&d);
        done = list_roots(&d, pack, units);
    }
    free(d.weights);
    free(d.heaviest);
    if (!done)
        return false;
    file->outline->is_lent = true;
    *ret_plan = d.plan;
    return true;
}

void git__plan_release(struct git__plan *plan) {
    if (plan->pack != NULL)
        plan->pack->outline->is_lent = false;
    *plan = (struct git__plan){.pack = NULL};
}

/* ---- units ---- */

#define LARGE_MIN   ((uint64_t)1 << 20)
#define LARGE_PARTS 128 /* a large unit is at least 1/LARGE_PARTS of the whole */

static int compare_units(const void *a, const void *b) {
    const struct git__unit *x = a;
    const struct git__unit *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (x->pack != y->pack)
        return x->pack < y->pack ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

size_t git__units_arrange(struct git__units *units) {
    uint64_t total = 0;
    for (size_t i = 0; i < units->count; i++)
        total += units->items[i].bytes / LARGE_PARTS;
    uint64_t least = total > LARGE_MIN ? total : LARGE_MIN;
    struct git__unit *large = malloc((LARGE_PARTS + 1) * sizeof *large);
    if (large == NULL) /* if memory runs out here, the visit is only slower */
        return 0;
    size_t large_count = 0;
    size_t kept = units->count; /* index of the first small unit; small units move to the end */
    for (size_t i = units->count; i > 0; i--) {
        struct git__unit unit = units->items[i - 1];
        if (unit.bytes >= least && large_count <= LARGE_PARTS)
            large[large_count++] = unit;
        else
            units->items[--kept] = unit;
    }
    ts_assert(kept == large_count);
    if (large_count > 0) {
        qsort(large, large_count, sizeof *large, compare_units);
        memcpy(units->items, large, large_count * sizeof *large);
    }
    free(large);
    return large_count;
}
