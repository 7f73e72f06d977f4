#include "run_picture.h"

#include "complain.h"
#include "findings_filter.h"

#include "base/hash64.h"
#include "coord/core/target_shard.h"
#include "os/grow.h"
#include "runtime/core/reason.h"
#include "runtime/durable/notes.h"

#include <stdlib.h>
#include <string.h>

/* The token of a unit's cursor has the number of stored parts at this offset. */
enum { TOKEN_PARTS = 28 };

struct looking {
    struct cli_picture *picture;
    const struct cli_picture *before;
    bool no_memory;
};

static uint64_t since(const struct looking *looking, const struct cli_item *item, uint64_t now_ms) {
    const struct cli_items *old = looking->before ? &looking->before->busy : &(struct cli_items){0};
    for (size_t i = 0; i < old->count; i++) {
        if (old->list[i].shard.v == item->shard.v && old->list[i].fence == item->fence)
            return old->list[i].since_ms;
    }
    return now_ms;
}

static void keep(struct looking *looking, struct cli_items *items, const struct cli_item *item) {
    items->total++;
    if (items->count == CLI_NAMED_MAX)
        return;
    if (!TS_GROW(items->list, items->capacity, items->count + 1)) {
        looking->no_memory = true;
        return;
    }
    items->list[items->count++] = *item;
}

static uint32_t parts_of(const struct ts_shard_record *record) {
    const struct ts_bytes token = record->cursor.has_token ? record->cursor.token : (struct ts_bytes){0};
    uint32_t parts = 0;
    for (size_t i = TOKEN_PARTS; token.len >= TOKEN_PARTS + sizeof parts && i < TOKEN_PARTS + sizeof parts;
         i++)
        parts = parts << 8 | token.data[i];
    return parts;
}

static struct cli_item item_of(const struct ts_coord_shard_view *shard) {
    static const struct ts_shard_filter stuck = {.only_struggling = true};
    const struct ts_shard_record *record = shard->record;
    struct cli_item item = {.shard = record->key.shard,
                            .fence = record->fence.v,
                            .attempts = record->attempts,
                            .is_leased = record->status == TS_SHARD_ACTIVE &&
                                         ts_shard_record_is_leased_at(record, shard->now),
                            .is_stuck = ts_shard_filter_matches(&stuck, record, shard->now),
                            .is_parked = record->has_park_reason};
    item.is_target = ts_coord_target_of_range(record->spec.range, item.target.bytes);
    if (record->has_park_reason)
        item.park_reason = record->park_reason;
    if (item.is_leased) {
        item.worker = record->holder.owner;
        item.left_ms = record->holder.deadline.ms - shard->now.ms;
    }
    if (item.is_target)
        item.parts = parts_of(record);
    return item;
}

static bool note_shard(void *context, const struct ts_coord_shard_view *shard) {
    struct looking *looking = context;
    struct cli_picture *picture = looking->picture;
    ts_run_progress_add(&picture->progress, shard->record, shard->now);
    if (picture->now.ms == 0)
        picture->now = shard->now;
    struct cli_item item = item_of(shard);
    const uint64_t state[] = {item.shard.v, item.fence, (uint64_t)shard->record->status, item.is_leased};
    picture->digest += ts_xxh64_of_bytes(ts_bytes_of(state, sizeof state));
    picture->is_of_targets = picture->is_of_targets || item.is_target;
    if (picture->stuck_count < CLI_IDS_MAX && item.is_stuck)
        picture->stuck[picture->stuck_count++] = item.shard;
    if (item.is_leased) {
        item.since_ms = since(looking, &item, shard->now.ms);
        keep(looking, &picture->busy, &item);
    }
    if (item.is_stuck)
        keep(looking, &picture->struggling, &item);
    if (item.is_parked)
        keep(looking, &picture->parked, &item);
    /* A shard that was claimed before, and is free again, may have been handed back. */
    if (shard->record->status == TS_SHARD_ACTIVE && !shard->record->has_holder && !item.is_stuck &&
        item.is_target && item.fence > 0)
        keep(looking, &picture->waiting, &item);
    return true;
}

static bool note_damaged(void *context, struct ts_shard_key shard, const struct ts_infra_error *reason) {
    (void)reason;
    struct cli_picture *picture = ((struct looking *)context)->picture;
    if (picture->damaged < CLI_IDS_MAX)
        picture->damaged_shards[picture->damaged] = shard.shard;
    picture->damaged++;
    return true;
}

/* ---- names ---- */

struct naming {
    struct cli_picture *picture;
    struct cli_item *items[4 * CLI_NAMED_MAX];
    struct ts_target_id targets[4 * CLI_NAMED_MAX];
    size_t count;
};

/* Copies a text into the arena of the picture. Returns an empty text when memory runs out. */
static struct ts_bytes copy(struct naming *naming, struct ts_bytes text) {
    const char *copied = ts_arena_copy(&naming->picture->arena, text);
    return copied ? ts_bytes_of(copied, text.len) : (struct ts_bytes){0};
}

static void take_unit(void *context, size_t index, const struct ts_fleet_unit *unit) {
    struct naming *naming = context;
    naming->items[index]->address = copy(naming, unit->address);
}

static void take_decisions(void *context, size_t index, const struct ts_fleet_decisions *decisions) {
    struct naming *naming = context;
    if (decisions->count > 0)
        naming->items[index]->label = copy(naming, decisions->list[0].reason);
    naming->items[index]->troubles = decisions->total;
    struct ts_fleet_decisions *kept = ts_arena_take(&naming->picture->arena, sizeof *kept);
    if (kept == NULL)
        return;
    *kept = *decisions;
    for (size_t i = 0; i < kept->count; i++) {
        kept->list[i].reason = copy(naming, kept->list[i].reason);
        kept->list[i].worker = copy(naming, kept->list[i].worker);
    }
    naming->items[index]->decisions = kept;
}

static void want_names(struct naming *naming, struct cli_items *items) {
    for (size_t i = 0; i < items->count; i++) {
        if (!items->list[i].is_target)
            continue;
        naming->items[naming->count] = &items->list[i];
        naming->targets[naming->count++] = items->list[i].target;
    }
}

/* Removes items without a reason: for example, the worker of such a shard was asked to stop. */
static void drop_unexplained(struct cli_items *items) {
    size_t kept = 0;
    for (size_t i = 0; i < items->count; i++)
        if (items->list[i].label.len > 0)
            items->list[kept++] = items->list[i];
    items->total -= items->count - kept;
    items->count = kept;
}

static enum cli_exit read_names(struct cli_coord *coord, struct cli_picture *picture) {
    struct naming naming = {.picture = picture};
    want_names(&naming, &picture->busy);
    want_names(&naming, &picture->struggling);
    want_names(&naming, &picture->parked);
    want_names(&naming, &picture->waiting);
    const struct ts_notes_query query = {.run = picture->run.run,
                                         .targets = naming.targets,
                                         .count = naming.count,
                                         .unit = take_unit,
                                         .decisions = take_decisions};
    struct ts_infra_error error = {0};
    if ((naming.count > 0 && !ts_notes_read(coord->coord, &query, &naming, &error)) ||
        (picture->is_of_targets &&
         !ts_diff_sum(coord->coord, &coord->tenant, picture->run.number, &picture->changes, &error)))
        return cli__findings_refuse(coord, &error);
    drop_unexplained(&picture->waiting);
    return CLI_EXIT_DONE;
}

/* ---- the picture ---- */

struct cli_worker_name cli__worker_process(const struct ts_worker_id *worker, bool is_of_targets) {
    struct cli_worker_name name = {{0}};
    memcpy(name.text, worker->b, sizeof worker->b);
    char *dash = strrchr(name.text, '-');
    if (is_of_targets && dash != NULL && dash > name.text && dash[1] != '\0' &&
        dash[1 + strspn(dash + 1, "0123456789")] == '\0')
        *dash = '\0';
    return name;
}

static uint64_t count_workers(const struct cli_picture *picture) {
    uint64_t count = 0;
    for (size_t i = 0; i < picture->busy.count; i++) {
        const struct cli_worker_name name =
            cli__worker_process(&picture->busy.list[i].worker, picture->is_of_targets);
        bool is_known = false;
        for (size_t j = 0; j < i && !is_known; j++)
            is_known =
                strcmp(name.text,
                       cli__worker_process(&picture->busy.list[j].worker, picture->is_of_targets).text) == 0;
        count += !is_known;
    }
    return count;
}

/* Orders leases by their age: first the lease that was seen earlier, or the lease with more parts if both
 * were seen at the same time. */
static int compare_busy(const void *a, const void *b) {
    const struct cli_item *one = a, *other = b;
    if (one->since_ms != other->since_ms)
        return one->since_ms < other->since_ms ? -1 : 1;
    if (one->parts != other->parts)
        return one->parts > other->parts ? -1 : 1;
    return (one->shard.v > other->shard.v) - (one->shard.v < other->shard.v);
}

static void clear(struct cli_picture *picture) {
    struct cli_picture empty = {.busy = picture->busy,
                                .struggling = picture->struggling,
                                .parked = picture->parked,
                                .waiting = picture->waiting,
                                .arena = picture->arena};
    struct cli_items *const lists[] = {&empty.busy, &empty.struggling, &empty.parked, &empty.waiting};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        lists[i]->count = lists[i]->total = 0;
    *picture = empty;
    ts_arena_clear(&picture->arena);
    ts_run_progress_clear(&picture->progress);
}

enum cli_exit cli__picture_read(struct cli_coord *coord, struct ts_run_id run,
                                const struct cli_picture *before, struct cli_picture *picture) {
    const struct ts_coord_shard_query query = {.run = {.tenant = coord->tenant, .run = run},
                                               .damaged = note_damaged};
    struct looking looking = {.picture = picture, .before = before};
    struct ts_coord_detail detail = {0};
    clear(picture);
    enum ts_get_run_error error = ts_coord_get_run(coord->coord, &query.run, &picture->run, &detail);
    if (error == TS_GET_RUN_OK)
        error = ts_coord_list_shards(coord->coord, &query, note_shard, &looking, &detail);
    if (error != TS_GET_RUN_OK)
        return cli__coord_refuse(coord, ts_get_run_error_variant(error), &detail);
    if (looking.no_memory)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: out of memory", coord->verb);
    const struct ts_shard_counts *counts = &picture->progress.counts;
    picture->total = counts->active + counts->done + counts->split + counts->parked + picture->damaged;
    picture->free = counts->active - picture->progress.leased - picture->progress.expired;
    picture->workers = count_workers(picture);
    if (picture->busy.count > 0)
        qsort(picture->busy.list, picture->busy.count, sizeof *picture->busy.list, compare_busy);
    return read_names(coord, picture);
}

void cli__picture_release(struct cli_picture *picture) {
    free(picture->busy.list);
    free(picture->struggling.list);
    free(picture->parked.list);
    free(picture->waiting.list);
    ts_arena_release(&picture->arena);
}

bool cli__picture_has_failures(const struct cli_picture *picture) {
    return picture->progress.counts.active == 0 && picture->progress.counts.parked > 0;
}

uint64_t cli__picture_ended(const struct cli_picture *picture) {
    const struct ts_shard_counts *counts = &picture->progress.counts;
    return counts->done + counts->split + counts->parked;
}

void cli__picture_bar(const struct cli_picture *picture, size_t width, char *bar) {
    const struct ts_shard_counts *counts = &picture->progress.counts;
    const struct {
        char drawn;
        uint64_t count;
    } parts[] = {{'#', counts->done},
                 {'+', counts->split},
                 {'!', counts->parked},
                 {'=', picture->progress.leased},
                 {'~', picture->progress.expired},
                 {'.', picture->free}};
    size_t used = 0;
    uint64_t before = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        before += parts[i].count;
        size_t until = picture->total ? (size_t)(before * width / picture->total) : 0;
        if (parts[i].count > 0 && until == used && used < width)
            until = used + 1;
        while (used < until)
            bar[used++] = parts[i].drawn;
    }
    bar[used] = '\0';
}

const char *cli__item_reason(const struct cli_item *item) {
    const char *text = ts_unit_label_text(item->label);
    if (text != NULL)
        return text;
    return item->is_parked ? ts_park_reason_name(item->park_reason) : "";
}

uint64_t cli__item_troubled_ms(const struct cli_item *item, struct ts_logical_time now) {
    const struct ts_fleet_decisions *decisions = item->decisions;
    uint64_t from_ms = now.ms;
    for (size_t i = 0; decisions != NULL && i < decisions->count &&
                       ts_bytes_equal(decisions->list[i].reason, decisions->list[0].reason);
         i++)
        from_ms = decisions->list[i].at_ms;
    return now.ms > from_ms ? now.ms - from_ms : 0;
}

struct cli_item_about cli__item_about(const struct cli_item *item, struct ts_logical_time now) {
    struct cli_item_about about = {{0}};
    const char *reason = cli__item_reason(item);
    const uint64_t ms = cli__item_troubled_ms(item, now);
    if (reason[0] != '\0' && ms > 0)
        snprintf(about.text, sizeof about.text, "%s, for %s", reason, cli__show_ms(ms).text);
    else
        snprintf(about.text, sizeof about.text, "%s", reason);
    return about;
}
