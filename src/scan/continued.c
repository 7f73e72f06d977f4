#include "continued.h"

#include "look_impl.h"
#include "origins.h"
#include "refs.h"

#include "base/hash64.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_MAX UINT64_C(100000000) /* limit on the places of the snapshot times the items of the news */

/* ---- beginning and undoing ---- */

bool scan__continued_begin(struct scan_continued *continued, struct scan_recall *recall,
                           const struct ts_git_graph_options *options) {
    struct scan_recall_snapshot snapshot;
    *continued = (struct scan_continued){.recall = recall, .pass = recall->pass};
    if (!scan__recall_earlier(recall, &snapshot))
        return false;
    struct scan_pass *pass = recall->pass;
    struct ts_report_target *row = &pass->targets[recall->target].row;
    continued->hits = scan__hits_mark(&pass->hits);
    continued->faults = scan__faults_mark(&pass->faults);
    continued->locations = pass->locations.len;
    continued->commits = pass->commits.len;
    continued->row = *row;
    bool done = ts_git_news_read(recall->repo, options, scan__state_salt(recall->state), snapshot.past,
                                 &continued->news);
    if (done && !scan__recall_use(recall, &snapshot)) {
        scan__continued_undo(continued);
        scan__continued_release(continued);
        done = false;
    }
    if (done) {
        const struct ts_git_news *news = &continued->news;
        continued->was_masked = snapshot.was_masked;
        continued->old_ends = scan__mark(pass);
        continued->findings = atomic_load(&pass->hits.finding_count);
        row->commits += news->stats.commits;
        row->trees += news->stats.trees;
        row->tags += news->stats.tags;
        row->submodules = ts_git_graph_submodules(news->graph);
        scan__recall_begin(recall, news->added);
        recall->contents_kept = continued->old_ends.contents;
    }
    scan__recall_snapshot_release(&snapshot);
    return done;
}

void scan__continued_undo(struct scan_continued *continued) {
    struct scan_pass *pass = continued->pass;
    scan__hits_cut(&pass->hits, &continued->hits);
    scan__faults_cut(&pass->faults, &continued->faults);
    scan__pile_cut(&pass->locations, continued->locations);
    scan__pile_cut(&pass->commits, continued->commits);
    pass->targets[continued->recall->target].row = continued->row;
    scan__recall_rewind(continued->recall);
}

void scan__continued_release(struct scan_continued *continued) {
    ts_git_news_release(&continued->news);
}

/* ---- contents by id, places by content and path ---- */

struct placing {
    struct scan_continued *continued;
    struct scan_pass *pass;
    struct scan_blob *blobs; /* blobs with hits, sorted by id */
    size_t blob_count;
    bool *has_place; /* indexed by content, from the first content of this target on */
    struct scan_location *old;
    size_t old_count;
    struct scan_commit *commits; /* commits of the snapshot */
    uint32_t *moved; /* indexed by commit of the snapshot: its new index; TS_REPORT_NONE: not added yet */
    size_t commit_count;
    uint32_t *slots; /* hash table of places that are FOUND, by content and path */
    size_t slot_count;
    uint32_t head; /* commit of HEAD; TS_REPORT_NONE: not added yet */
    bool is_bad;   /* only a scan of the whole history can decide what to report */
};

/* Copies the places and commits of the snapshot, and removes them from the pass. The hash table also has room
 * for one further place for each item of the news. */
static bool placing_init(struct placing *p) {
    struct scan_pass *pass = p->pass;
    const struct scan_mark *first = &p->continued->recall->before;
    size_t total;
    const struct scan_content *contents = scan__hits_contents(&pass->hits, &total);
    p->old_count = pass->locations.len / sizeof *p->old - first->locations;
    p->commit_count = pass->commits.len / sizeof *p->commits - first->commits;
    p->blobs = calloc(total + 1, sizeof *p->blobs);
    p->has_place = calloc(total + 1, sizeof *p->has_place);
    p->old = calloc(p->old_count + 1, sizeof *p->old);
    p->commits = calloc(p->commit_count + 1, sizeof *p->commits);
    p->moved = calloc(p->commit_count + 1, sizeof *p->moved);
    p->slot_count = 64;
    while (p->slot_count < 2 * (p->old_count + p->continued->news.count))
        p->slot_count *= 2;
    p->slots = malloc(p->slot_count * sizeof *p->slots);
    if (p->blobs == NULL || p->has_place == NULL || p->old == NULL || p->commits == NULL ||
        p->moved == NULL || p->slots == NULL)
        return false;
    memset(p->slots, 0xff, p->slot_count * sizeof *p->slots);
    if (p->old_count > 0)
        memcpy(p->old, pass->locations.bytes + first->locations * sizeof *p->old,
               p->old_count * sizeof *p->old);
    if (p->commit_count > 0)
        memcpy(p->commits, pass->commits.bytes + first->commits * sizeof *p->commits,
               p->commit_count * sizeof *p->commits);
    for (size_t i = 0; i < p->commit_count; i++)
        p->moved[i] = TS_REPORT_NONE;
    for (size_t i = first->contents; i < total; i++)
        if (contents[i].kind == SCAN_CONTENT_BLOB)
            p->blobs[p->blob_count++] = (struct scan_blob){.oid = contents[i].oid, .content = (uint32_t)i};
    scan__blobs_sort(p->blobs, p->blob_count);
    scan__pile_cut(&pass->locations, first->locations * sizeof *p->old);
    scan__pile_cut(&pass->commits, first->commits * sizeof *p->commits);
    return true;
}

static void placing_release(struct placing *p) {
    free(p->blobs);
    free(p->has_place);
    free(p->old);
    free(p->commits);
    free(p->moved);
    free(p->slots);
}

/* Finds the contents of a blob. Only an archive has several contents with one id. Snapshots contain no
 * archives with hits. */
static const struct scan_blob *find_contents(const struct placing *p, const struct ts_git_oid *oid,
                                             size_t *ret_count) {
    return scan__blobs_find(p->blobs, p->blob_count, oid, ret_count);
}

static struct scan_location *place_at(const struct placing *p, uint32_t index) {
    return &((struct scan_location *)(void *)p->pass->locations.bytes)[index];
}

/* Returns the slot of the place of this content at this path, or the free slot for it. */
static uint32_t *slot_of(const struct placing *p, uint32_t content, uint32_t path) {
    size_t at = (size_t)ts_xxh64_of_id((uint64_t)content << 32 | path) & (p->slot_count - 1);
    while (p->slots[at] != TS_REPORT_NONE &&
           (place_at(p, p->slots[at])->content != content || place_at(p, p->slots[at])->path != path))
        at = (at + 1) & (p->slot_count - 1);
    return &p->slots[at];
}

static void add_place(struct placing *p, const struct scan_location *location, bool is_found) {
    uint32_t index = (uint32_t)(p->pass->locations.len / sizeof *location);
    scan__pass_location(p->pass, location);
    p->has_place[location->content] = true;
    if (is_found && !p->pass->no_memory)
        *slot_of(p, location->content, location->path) = index;
}

/* ---- commits ---- */

static uint32_t move_commit(struct placing *p, uint32_t commit) {
    if (commit == TS_REPORT_NONE)
        return commit;
    uint32_t index = commit - (uint32_t)p->continued->recall->before.commits;
    if (p->moved[index] == TS_REPORT_NONE)
        p->moved[index] = scan__pass_commit(p->pass, &p->commits[index]);
    return p->moved[index];
}

static const struct scan_commit *commit_at(const struct placing *p, uint32_t index) {
    return &((const struct scan_commit *)(const void *)p->pass->commits.bytes)[index];
}

/* Returns the index of a commit. Adds the commit unless it is the last commit of the pass: places of the same
 * commit follow one another, so few commits are added twice. */
static uint32_t new_commit(struct placing *p, const struct ts_git_oid *oid) {
    size_t count = p->pass->commits.len / sizeof(struct scan_commit);
    if (count > p->continued->recall->before.commits &&
        ts_git_oid_equal(&commit_at(p, (uint32_t)count - 1)->oid, oid))
        return (uint32_t)count - 1;
    return scan__origins_commit(p->pass, p->continued->recall->repo, p->continued->news.graph, oid);
}

/* ---- places ---- */

/* Returns whether the object has no path at this location, because only a tag names it, or because it could
 * not be traced. A commit that gives the object a path would remove this place. */
static bool is_untraced(const struct scan_content *content, const struct scan_location *location) {
    return content->kind == SCAN_CONTENT_BLOB && location->role == SCAN_FOUND &&
           location->commit == TS_REPORT_NONE;
}

static void keep_old(struct placing *p) {
    size_t unused;
    const struct scan_content *contents = scan__hits_contents(&p->pass->hits, &unused);
    for (size_t i = 0; i < p->old_count; i++) {
        struct scan_location location = p->old[i];
        if (location.role != SCAN_FOUND && location.role != SCAN_REPEAT)
            continue;
        const struct scan_content *content = &contents[location.content];
        p->is_bad = p->is_bad || is_untraced(content, &location);
        location.commit = move_commit(p, location.commit);
        add_place(p, &location, location.role == SCAN_FOUND && content->kind == SCAN_CONTENT_BLOB);
    }
}

struct brought {
    const struct ts_git_news_item *item;
    int64_t time_s;
};

static int compare_brought(const void *a, const void *b) {
    const struct brought *x = a;
    const struct brought *y = b;
    int order = (x->time_s > y->time_s) - (x->time_s < y->time_s);
    return order != 0 ? order : ts_git_oid_compare(&x->item->commit, &y->item->commit);
}

/* Adds the place of a content that new commits add. The first such commit counts; the others are repeats. New
 * commits are ordered by time and id. */
static void place_brought(struct placing *p, const struct scan_blob *ref, const struct brought *brought) {
    struct scan_location location = {.content = ref->content, .place = TS_PLACE_FILE, .role = SCAN_FOUND};
    size_t unused;
    const struct scan_content *contents = scan__hits_contents(&p->pass->hits, &unused);
    if (!scan__origins_path(p->pass, ts_bytes_of(brought->item->path, brought->item->path_len),
                            contents[ref->content].path, &location.path)) {
        p->is_bad = true;
        return;
    }
    uint32_t known = *slot_of(p, location.content, location.path);
    if (known == TS_REPORT_NONE) {
        location.commit = new_commit(p, &brought->item->commit);
        add_place(p, &location, true);
        return;
    }
    const struct scan_commit *first = commit_at(p, place_at(p, known)->commit);
    struct scan_location repeat = {.content = ref->content, .place = TS_PLACE_FILE, .role = SCAN_REPEAT};
    repeat.path = scan__hits_text(&p->pass->hits, ts_bytes_of_cstring(""));
    bool is_later =
        brought->time_s > first->time_s ||
        (brought->time_s == first->time_s && ts_git_oid_compare(&brought->item->commit, &first->oid) >= 0);
    if (is_later) {
        repeat.commit = scan__origins_repeat(p->pass, &brought->item->commit);
    } else {
        repeat.commit = place_at(p, known)->commit;
        place_at(p, known)->commit = new_commit(p, &brought->item->commit);
        place_at(p, known)->place = location.place;
    }
    add_place(p, &repeat, false);
}

static void place_news(struct placing *p) {
    const struct ts_git_news *news = &p->continued->news;
    struct brought *all = calloc(news->count + 1, sizeof *all);
    size_t count = 0;
    size_t copies;
    p->is_bad = p->is_bad || all == NULL;
    for (size_t i = 0; i < news->count && !p->is_bad; i++) {
        const struct ts_git_news_item *item = &news->items[i];
        (void)find_contents(p, &item->blob, &copies);
        if (item->kind == TS_GIT_NEWS_BROUGHT && copies > 0)
            all[count++] = (struct brought){item, ts_git_graph_order_time(news->graph, &item->commit)};
    }
    if (count > 0)
        qsort(all, count, sizeof *all, compare_brought);
    for (size_t i = 0; i < count && !p->is_bad; i++) {
        const struct scan_blob *refs = find_contents(p, &all[i].item->blob, &copies);
        for (size_t k = 0; k < copies; k++)
            place_brought(p, &refs[k], &all[i]);
    }
    free(all);
}

/* ---- HEAD ---- */

static void place_in_head(struct placing *p, uint32_t content, uint32_t path) {
    if (p->head == TS_REPORT_NONE)
        p->head = scan__origins_commit(p->pass, p->continued->recall->repo, p->continued->news.graph,
                                       &p->continued->news.head);
    struct scan_location location = {
        .content = content, .commit = p->head, .path = path, .place = TS_PLACE_FILE, .role = SCAN_IN_HEAD};
    add_place(p, &location, false);
}

/* Returns whether HEAD no longer has the content at the location. */
static bool is_lost(const struct placing *p, const struct scan_location *location) {
    const struct ts_git_news *news = &p->continued->news;
    size_t unused;
    const struct scan_content *contents = scan__hits_contents(&p->pass->hits, &unused);
    struct ts_bytes path = scan__hits_text_at(&p->pass->hits, location->path);
    for (size_t i = 0; i < news->count; i++)
        if (news->items[i].kind == TS_GIT_NEWS_HEAD_LOST &&
            ts_git_oid_equal(&news->items[i].blob, &contents[location->content].oid) &&
            ts_bytes_equal(ts_bytes_of(news->items[i].path, news->items[i].path_len), path))
            return true;
    return false;
}

static void place_heads(struct placing *p) {
    const struct ts_git_news *news = &p->continued->news;
    p->is_bad = p->is_bad || (uint64_t)p->old_count * news->count > STEPS_MAX;
    for (size_t i = 0; i < p->old_count && !p->is_bad; i++)
        if (p->old[i].role == SCAN_IN_HEAD && !is_lost(p, &p->old[i]))
            place_in_head(p, p->old[i].content, p->old[i].path);
    for (size_t i = 0; i < news->count && !p->is_bad; i++) {
        const struct ts_git_news_item *item = &news->items[i];
        size_t copies = 0;
        const struct scan_blob *refs = find_contents(p, &item->blob, &copies);
        for (size_t k = 0; k < copies && item->kind == TS_GIT_NEWS_HEAD_HAS && !p->is_bad; k++) {
            size_t unused;
            uint32_t path;
            uint32_t inner = scan__hits_contents(&p->pass->hits, &unused)[refs[k].content].path;
            p->is_bad = !scan__origins_path(p->pass, ts_bytes_of(item->path, item->path_len), inner, &path);
            if (!p->is_bad)
                place_in_head(p, refs[k].content, path);
        }
    }
}

/* ---- the whole scan ---- */

/* Adds the locations of the messages of new commits and tags, and finds the refs that reach findings. */
static bool place_rest(struct placing *p) {
    struct scan_continued *continued = p->continued;
    struct ts_git_selection all = {.all_refs = true};
    struct ts_git_fault fault;
    struct scan_origins origins = {.pass = p->pass,
                                   .target_index = continued->recall->target,
                                   .repo = continued->recall->repo,
                                   .graph = continued->news.graph,
                                   .selection = &all,
                                   .content_first = continued->old_ends.contents,
                                   .content_end = SIZE_MAX};
    scan__origins_messages(&origins);
    return scan__place_refs(&origins, continued->recall->before.locations, &fault) == TS_GIT_OK;
}

static bool have_all_places(const struct placing *p) {
    bool have_all = true;
    for (size_t i = 0; i < p->blob_count; i++)
        have_all = have_all && p->has_place[p->blobs[i].content];
    return have_all;
}

/* Returns whether the new objects were scanned completely, and all their faults follow from the objects
 * alone. An object of an unexpected type is a fault that only a scan of the whole history can report. */
static bool is_sound(const struct scan_continued *continued, uint64_t blobs_looked_at) {
    const struct scan_pass *pass = continued->pass;
    return blobs_looked_at == continued->news.stats.blobs &&
           pass->faults.total - pass->faults.lasting == continued->faults.total - continued->faults.lasting &&
           !(continued->was_masked && atomic_load(&pass->hits.finding_count) != continued->findings) &&
           !pass->no_memory && !pass->hits.no_memory && !scan__was_stopped(pass);
}

bool scan__continued_place(struct scan_continued *continued, uint64_t blobs_looked_at) {
    struct placing p = {.continued = continued, .pass = continued->pass, .head = TS_REPORT_NONE};
    if (!is_sound(continued, blobs_looked_at))
        return false;
    scan__limits_place(continued->pass);
    bool done = placing_init(&p);
    if (done) {
        keep_old(&p);
        place_news(&p);
        place_heads(&p);
        done = !p.is_bad && have_all_places(&p) && place_rest(&p) && !continued->pass->no_memory;
    }
    placing_release(&p);
    return done;
}
