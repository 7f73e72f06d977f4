#include "git/visit.h"

#include "base/assert.h"
#include "os/grow.h"
#include "visit_run.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_DEFAULT     (UINT64_C(1) << 30)
#define MEMORY_MIN         (UINT64_C(4) << 20)
#define OBJECT_MAX_DEFAULT (UINT64_C(32) << 30)
#define WINDOW_DEFAULT     ((size_t)8 << 20)
#define WHOLE_PARTS        16 /* objects of up to 1/WHOLE_PARTS of the memory are held whole */
#define THREADS_MAX        256
#define COPIES_MAX         ((size_t)1 << 18) /* 6 MiB per thread; a delta with more copies is scanned whole */
#define OTHER_COPY_STEPS   UINT64_C(4000000) /* limit of entries read for other copies of damaged objects */
#define UNITS_AT_ONCE      8
#define NODES_AHEAD        4                     /* objects of a delta tree to prefetch while one is built */
#define UNITS_AHEAD        3                     /* roots of delta trees to prefetch */
#define POOL_MAX           ((uint64_t)256 << 20) /* all pools together; at most a quarter of the limit */

/* ---- one thread ---- */

static struct git__job job_of(const struct git__plan *plan, uint32_t at, struct git__held *base) {
    const struct git__node *node = &plan->nodes[at];
    return (struct git__job){
        .type = (enum ts_git_type)node->type,
        .number = plan->first_number + node->position,
        .plan = plan,
        .node = at,
        .base = base,
        .is_wanted = node->is_wanted,
        .is_base = node->first_child != GIT__NONE,
    };
}

/* Passes a subtree to an idle thread. Returns false if no thread is idle, or if the base cannot be restored.
 * Then the calling thread visits the subtree. */
static bool give_away(struct git__worker *worker, const struct git__plan *plan, uint32_t node,
                      struct git__held *base) {
    struct git__run *run = worker->run;
    if (atomic_load_explicit(&run->idle, memory_order_relaxed) <=
            atomic_load_explicit(&run->task_count, memory_order_relaxed) ||
        !git__held_restore(worker, base))
        return false;
    pthread_mutex_lock(&run->lock);
    size_t count = atomic_load(&run->task_count);
    bool is_given = count < run->task_capacity && atomic_load(&run->idle) > count;
    if (is_given) {
        atomic_fetch_add(&base->refs, 1);
        run->tasks[count] = (struct git__task){plan, node, base};
        atomic_store(&run->task_count, count + 1);
        pthread_cond_signal(&run->more);
    }
    pthread_mutex_unlock(&run->lock);
    return is_given;
}

/* Prefetches an object, because it may be anywhere in files of many megabytes. */
static void expect_node(const struct git__plan *plan, uint32_t node) {
    const uint8_t *entry = plan->pack->map.bytes.data + plan->nodes[node].offset;
    __builtin_prefetch(entry);
    __builtin_prefetch(entry + 64);
}

/* Returns the node that is visited after `node` in the subtree of `top`; GIT__NONE after the last node. */
static uint32_t node_after(const struct git__plan *plan, uint32_t top, uint32_t node) {
    const struct git__node *nodes = plan->nodes;
    if (nodes[node].first_child != GIT__NONE)
        return nodes[node].first_child;
    while (node != top && nodes[node].next_sibling == GIT__NONE)
        node = nodes[node].parent;
    return node != top ? nodes[node].next_sibling : GIT__NONE;
}

/* Prefetches the next objects. Small objects are built faster than memory answers, so several objects are
 * prefetched. The distance grows by one with each object, so that the first objects need not wait for all
 * prefetches. */
static void look_ahead(struct git__worker *worker, const struct git__plan *plan, uint32_t top) {
    unsigned steps = worker->ahead_by < NODES_AHEAD ? 2 : 1;
    worker->ahead_by += steps - 1;
    for (; steps > 0 && worker->ahead != GIT__NONE; steps--) {
        expect_node(plan, worker->ahead);
        worker->ahead = node_after(plan, top, worker->ahead);
        if (worker->ahead != GIT__NONE)
            __builtin_prefetch(&plan->nodes[worker->ahead]);
    }
}

static void begin_ahead(struct git__worker *worker, uint32_t from) {
    worker->ahead = from;
    worker->ahead_by = 0;
}

static bool push_frame(struct git__worker *worker, struct git__held *held) {
    if (held == NULL)
        return true;
    if (!TS_GROW(worker->frames, worker->frame_capacity, worker->frame_count + 1))
        return false;
    worker->frames[worker->frame_count++] =
        (struct git__frame){held, held->plan->nodes[held->node].first_child};
    return true;
}

static void note_lost(struct git__worker *worker, struct git__held *held) {
    worker->problems.no_memory = true;
    git__held_unref(worker, held);
}

/* Visits a subtree from its top; the caller owns base. */
static void visit_tree(struct git__worker *worker, const struct git__plan *plan, uint32_t top,
                       struct git__held *base) {
    struct git__job job = job_of(plan, top, base);
    begin_ahead(worker, plan->nodes[top].first_child);
    look_ahead(worker, plan, top);
    struct git__held *held = git__build(worker, &job);
    if (!push_frame(worker, held))
        note_lost(worker, held);
    while (worker->frame_count > 0) {
        struct git__frame *frame = &worker->frames[worker->frame_count - 1];
        uint32_t child = frame->next_child;
        struct git__held *parent = frame->held;
        if (child == GIT__NONE || atomic_load_explicit(&worker->run->is_stopped, memory_order_relaxed)) {
            worker->frame_count--;
            git__held_unref(worker, parent);
            continue;
        }
        frame->next_child = plan->nodes[child].next_sibling;
        bool is_last = frame->next_child == GIT__NONE;
        if (!is_last && give_away(worker, plan, child, parent)) {
            begin_ahead(worker, frame->next_child);
            continue;
        }
        look_ahead(worker, plan, top);
        job = job_of(plan, child, parent);
        held = git__build(worker, &job);
        if (is_last) {
            worker->frame_count--;
            git__held_unref(worker, parent);
        }
        if (!push_frame(worker, held))
            note_lost(worker, held);
    }
}

static void expect_unit(const struct git__run *run, uint64_t unit) {
    if (unit >= run->units.count)
        return;
    const struct git__unit *root = &run->units.items[unit];
    expect_node(&run->plans[root->pack], root->node);
}

static void visit_unit(struct git__worker *worker, uint64_t unit) {
    const struct git__run *run = worker->run;
    if (unit >= run->units.count) {
        git__build_loose(worker, run->loose[unit - run->units.count]);
        return;
    }
    const struct git__unit *root = &run->units.items[unit];
    visit_tree(worker, &run->plans[root->pack], root->node, NULL);
}

struct work {
    bool is_task;
    struct git__task task;
    uint64_t from;
    uint64_t to;
};

/* Takes the next work. Returns false if there is no work left for any thread. */
static bool take_work(struct git__run *run, struct work *ret_work) {
    bool found = false;
    pthread_mutex_lock(&run->lock);
    while (!atomic_load(&run->is_stopped)) {
        size_t count = atomic_load(&run->task_count);
        if (count > 0) {
            *ret_work = (struct work){.is_task = true, .task = run->tasks[count - 1]};
            atomic_store(&run->task_count, count - 1);
            found = true;
            break;
        }
        uint64_t left = run->units.count + run->loose_count - run->next_unit;
        if (left > 0) {
            uint64_t part = run->next_unit < run->large_count ? 1 : UNITS_AT_ONCE;
            part = left < part ? left : part;
            *ret_work = (struct work){.from = run->next_unit, .to = run->next_unit + part};
            run->next_unit += part;
            found = true;
            break;
        }
        if (atomic_fetch_add(&run->idle, 1) + 1 == run->threads) {
            /* `idle` stays at its maximum, so that the other threads see the end, too. */
            pthread_cond_broadcast(&run->more);
            break;
        }
        pthread_cond_wait(&run->more, &run->lock);
        if (atomic_load(&run->idle) == run->threads)
            break;
        atomic_fetch_sub(&run->idle, 1);
    }
    pthread_mutex_unlock(&run->lock);
    return found;
}

static void *work(void *argument) {
    struct git__worker *worker = argument;
    struct git__run *run = worker->run;
    struct work work;
    while (take_work(run, &work)) {
        git__ledger_enter(&run->ledger);
        if (work.is_task) {
            visit_tree(worker, work.task.plan, work.task.node, work.task.base);
            git__held_unref(worker, work.task.base);
        }
        for (uint64_t unit = work.from; unit < work.to && !atomic_load(&run->is_stopped); unit++) {
            expect_unit(run, unit + UNITS_AHEAD);
            visit_unit(worker, unit);
        }
        git__ledger_leave(&run->ledger);
    }
    /* Releases the pool here, because other threads may wait for its memory. */
    git__pool_release(&worker->pool);
    return NULL;
}

/* ---- preparing ---- */

static bool list_loose(struct git__run *run, const struct git__choice *choice) {
    const struct ts_git_repo *repo = run->repo;
    uint32_t first = repo->numbers.pack_first[repo->pack_count];
    run->loose = malloc(((size_t)repo->numbers.loose_count + 1) * sizeof *run->loose);
    if (run->loose == NULL)
        return false;
    for (uint32_t i = 0; i < repo->numbers.loose_count; i++) {
        if (choice->wanted != NULL && !git__set_has(choice->wanted, first + i))
            continue;
        if (!git__number_is_copy(repo, first + i))
            run->loose[run->loose_count++] = i;
    }
    return true;
}

static bool make_plans(struct git__run *run, const struct git__choice *choice,
                       struct git__problems *problems) {
    run->plans = calloc(run->repo->pack_count + 1, sizeof *run->plans);
    if (run->plans == NULL)
        return false;
    for (uint32_t i = 0; i < run->repo->pack_count; i++) {
        if (git__is_unwanted(run->repo, i, choice->wanted))
            continue;
        if (!git__plan_init(run->repo, i, choice, problems, &run->units, &run->plans[i]))
            return false;
    }
    run->large_count = git__units_arrange(&run->units);
    return git__resident_init(run->repo->packs, run->repo->pack_count, &run->resident) &&
           list_loose(run, choice);
}

static uint64_t table_bytes(const struct git__run *run) {
    uint64_t bytes = git__numbers_bytes(run->repo);
    for (size_t i = 0; i < run->repo->pack_count; i++)
        bytes += (uint64_t)run->plans[i].node_count * (sizeof(struct git__node) + sizeof(uint32_t));
    return bytes + run->units.capacity * sizeof *run->units.items;
}

/* Returns the limit that all threads share: the memory without the tables, without copies and streams, and
 * without a reserve. The reserve is for one thread that exceeds the limit (by a base, a delta, a result, and
 * a base that is built again). */
static uint64_t ledger_limit(const struct git__run *run, uint64_t memory) {
    uint64_t reserved = table_bytes(run) + 4 * (uint64_t)run->whole_max +
                        (uint64_t)run->threads * (COPIES_MAX * sizeof(struct ts_git_copy) + (256u << 10));
    uint64_t least = (uint64_t)run->whole_max;
    return memory > reserved + least ? memory - reserved : least;
}

static void set_options(struct git__run *run, const struct ts_git_visit_options *options) {
    uint64_t memory = options->memory_bytes != 0 ? options->memory_bytes : MEMORY_DEFAULT;
    memory = memory < MEMORY_MIN ? MEMORY_MIN : memory;
    run->threads = options->threads == 0 ? 1 : options->threads;
    run->threads = run->threads > THREADS_MAX ? THREADS_MAX : run->threads;
    run->verify = options->verify;
    run->types = options->types != 0 ? options->types : TS_GIT_TYPE_BIT(TS_GIT_BLOB);
    run->object_max = options->object_bytes_max != 0 ? options->object_bytes_max : OBJECT_MAX_DEFAULT;
    run->whole_max = (size_t)(memory / WHOLE_PARTS);
    run->window = options->window_bytes != 0 ? options->window_bytes : WINDOW_DEFAULT;
    run->window = run->window > run->whole_max ? run->whole_max : run->window;
    run->window = run->window < 16 ? 16 : run->window;
    run->overlap = options->overlap_bytes > run->window / 2 ? run->window / 2 : options->overlap_bytes;
    const char *dir = options->spill_dir != NULL ? options->spill_dir : getenv("TMPDIR");
    run->spill_dir = dir != NULL && dir[0] != '\0' ? dir : "/tmp";
}

/* ---- all threads ---- */

static bool worker_init(struct git__worker *worker, struct git__run *run, unsigned index) {
    *worker = (struct git__worker){.run = run, .index = index, .copies = {.max = COPIES_MAX}};
    size_t kept_max = (size_t)(POOL_MAX / run->threads);
    kept_max = kept_max > run->ledger.limit / run->threads / 4
                   ? (size_t)(run->ledger.limit / run->threads / 4)
                   : kept_max;
    git__pool_init(&worker->pool, &run->ledger, kept_max);
    worker->pool.spare = git__spare_frame;
    worker->pool.owner = worker;
    return git__inflater_init(&worker->inflater);
}

static void worker_release(struct git__worker *worker) {
    git__pool_release(&worker->pool);
    git__inflater_release(&worker->inflater);
    free(worker->copies.items);
    free(worker->frames);
    free(worker->problems.items);
}

/* Runs the workers and waits for them. If a thread cannot be started, the others do its work: the first
 * worker runs on the caller's thread. */
static void run_workers(struct git__run *run, struct git__worker *workers) {
    unsigned wanted = run->threads;
    unsigned started = 1;
    pthread_mutex_lock(&run->lock); /* no thread may see a preliminary number of threads */
    for (; started < wanted; started++) {
        struct git__worker *worker = &workers[started];
        worker->has_thread = pthread_create(&worker->thread, NULL, work, worker) == 0;
        if (!worker->has_thread)
            break;
    }
    run->threads = started;
    pthread_mutex_unlock(&run->lock);
    (void)work(&workers[0]);
    for (unsigned i = 1; i < wanted; i++)
        if (workers[i].has_thread)
            pthread_join(workers[i].thread, NULL);
}

static void add_stats(struct ts_git_visit_stats *sum, const struct ts_git_visit_stats *part) {
    sum->objects += part->objects;
    sum->bytes += part->bytes;
    sum->deltas += part->deltas;
    sum->spilled_bytes += part->spilled_bytes;
    sum->rebuilt += part->rebuilt;
}

static void collect(struct git__worker *worker, struct git__problems *problems,
                    struct ts_git_visit_stats *stats) {
    for (size_t i = 0; i < worker->problems.count; i++)
        git__problem_add_typed(problems, &worker->problems.items[i]);
    problems->no_memory = problems->no_memory || worker->problems.no_memory;
    add_stats(stats, &worker->stats);
}

static int compare_problems(const void *a, const void *b) {
    const struct git__problem *x = a;
    const struct git__problem *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* ---- objects that could not be built ---- */

/* Returns whether the error means that the copy itself is damaged. After any other error the same copy may
 * still be readable with another copy of its base. */
static bool is_damage(enum ts_git_error error) {
    return error == TS_GIT_BAD_ENTRY || error == TS_GIT_BAD_DEFLATE || error == TS_GIT_BAD_CHECKSUM ||
           error == TS_GIT_BAD_ID || error == TS_GIT_BAD_DELTA;
}

/* Visits an object that has a problem, from another copy, or with another copy of its base. Returns true if
 * the object was visited, or turns out not to be wanted. If the copy has another type than expected, returns
 * false, because visits of that type did not see the object. */
static bool visit_other_copy(struct git__worker *worker, const struct git__problem *problem,
                             struct git__work *work) {
    struct git__run *run = worker->run;
    struct ts_git_oid oid = ts_git_oid_of(run->repo->hash, git__number_id(run->repo, problem->number));
    struct git__spot spot = git__number_spot(run->repo, problem->number);
    struct ts_git_content content;
    /* TOO_LARGE: windows of the object may already have been visited, and no object may be visited twice. */
    if (problem->error == TS_GIT_TOO_LARGE ||
        git__object_read(run->repo, &oid, run->whole_max, is_damage(problem->error) ? &spot : NULL, work,
                         &content) != TS_GIT_OK)
        return false;
    if (problem->type != 0 && problem->type != content.type) {
        free(content.bytes);
        return false;
    }
    if (spot.pack == GIT__NONE)
        git__note_loose_type(run->repo, problem->number, content.type);
    if ((run->types & TS_GIT_TYPE_BIT(content.type)) != 0) {
        struct git__job job = {.type = content.type, .number = problem->number, .is_wanted = true};
        struct ts_git_object object = {.size = content.len,
                                       .content = ts_bytes_of(content.bytes, content.len),
                                       .is_last = true,
                                       .is_other_copy = true};
        void *result = NULL;
        (void)git__visit_object(worker, &job, &object, &result);
        if (result != NULL && run->visitor.release != NULL)
            run->visitor.release(run->visitor.ctx, result);
    }
    free(content.bytes);
    return true;
}

static void settle(struct git__worker *worker, struct git__problems *problems,
                   const struct ts_git_fault_sink *faults, struct ts_git_visit_stats *stats) {
    const struct git__run *run = worker->run;
    struct ts_git_repo *repo = run->repo;
    struct ts_git_fault fault;
    struct git__work work = {.steps_left = OTHER_COPY_STEPS};
    bool has_copies = repo->pack_count + (repo->numbers.loose_count > 0) > 1;
    if (problems->count > 0)
        qsort(problems->items, problems->count, sizeof *problems->items, compare_problems);
    for (size_t i = 0; i < problems->count && !atomic_load(&run->is_stopped); i++) {
        const struct git__problem *problem = &problems->items[i];
        bool is_gone = problem->error == TS_GIT_MISSING; /* a loose object: probably packed meanwhile */
        if ((has_copies || is_gone) && visit_other_copy(worker, problem, &work))
            continue;
        struct git__spot spot = git__number_spot(repo, problem->number);
        struct ts_git_oid oid = ts_git_oid_of(repo->hash, git__number_id(repo, problem->number));
        const char *file = spot.pack == GIT__NONE ? NULL : git__pack_name(&repo->packs[spot.pack]);
        bool has_moved = false;
        if (is_gone)
            git__are_there_now(repo, &oid, 1, &has_moved);
        has_moved = has_moved || (is_gone && git__refs_have_changed(repo));
        (void)git__fault_object(has_moved ? TS_GIT_MOVED : problem->error, repo->hash, &oid, file, &fault);
        fault.os_error = 0;
        stats->faults++;
        git__fault_send(faults, &fault);
    }
    if (problems->no_memory) {
        (void)git__fault(TS_GIT_NO_MEMORY, repo->common_dir, &fault);
        stats->faults++;
        git__fault_send(faults, &fault);
    }
}

static void run_release(struct git__run *run) {
    for (size_t i = 0; run->plans != NULL && i < run->repo->pack_count; i++)
        git__plan_release(&run->plans[i]);
    free(run->plans);
    git__resident_release(&run->resident);
    free(run->units.items);
    free(run->loose);
    free(run->tasks);
}

/* Runs the visit. Plans and options must be ready. */
static enum ts_git_error go(struct git__run *run, const struct ts_git_visit_options *options,
                            struct git__problems *problems, struct ts_git_visit_stats *stats) {
    unsigned threads = run->threads;
    uint64_t memory = options->memory_bytes != 0 ? options->memory_bytes : MEMORY_DEFAULT;
    git__ledger_init(&run->ledger, ledger_limit(run, memory));
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->more, NULL);
    run->task_capacity = threads;
    run->tasks = calloc(run->task_capacity, sizeof *run->tasks);
    struct git__worker *workers = calloc(threads, sizeof *workers);
    bool is_ready = run->tasks != NULL && workers != NULL;
    for (unsigned i = 0; workers != NULL && i < threads; i++)
        is_ready = worker_init(&workers[i], run, i) && is_ready;
    if (is_ready) {
        run_workers(run, workers);
        for (size_t i = atomic_load(&run->task_count); i > 0; i--) /* tasks that are left after a stop */
            git__held_unref(&workers[0], run->tasks[i - 1].base);
        for (unsigned i = 0; i < threads; i++)
            collect(&workers[i], problems, stats);
        workers[0].stats = (struct ts_git_visit_stats){.objects = 0};
        settle(&workers[0], problems, &options->faults, stats);
        add_stats(stats, &workers[0].stats);
        stats->held_bytes_max = table_bytes(run) + atomic_load(&run->ledger.most);
    }
    for (unsigned i = 0; workers != NULL && i < threads; i++)
        worker_release(&workers[i]);
    free(workers);
    pthread_mutex_destroy(&run->lock);
    pthread_cond_destroy(&run->more);
    git__ledger_release(&run->ledger);
    if (!is_ready)
        return TS_GIT_NO_MEMORY;
    return atomic_load(&run->is_stopped) ? TS_GIT_STOPPED : TS_GIT_OK;
}

enum ts_git_error ts_git_visit(struct ts_git_repo *repo, const struct ts_git_visit_options *options,
                               const struct ts_git_visitor *visitor, struct ts_git_visit_stats *ret_stats,
                               struct ts_git_fault *ret_fault) {
    enum ts_git_error error = git__numbers_fill(repo, &options->faults, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    struct git__run run = {.repo = repo, .visitor = *visitor, .watch = options->watch};
    struct git__choice choice = {.wanted = options->wanted};
    struct git__problems problems = {.items = NULL};
    struct ts_git_visit_stats stats = {.objects = 0};
    ts_assert(options->wanted == NULL || options->wanted->repo == repo);
    set_options(&run, options);
    choice.types = run.types;
    error = make_plans(&run, &choice, &problems) ? go(&run, options, &problems, &stats) : TS_GIT_NO_MEMORY;
    run_release(&run);
    free(problems.items);
    if (error == TS_GIT_NO_MEMORY)
        return git__fault(error, repo->common_dir, ret_fault);
    if (ret_stats != NULL)
        *ret_stats = stats;
    return error == TS_GIT_OK ? error : git__fault(error, repo->common_dir, ret_fault);
}
