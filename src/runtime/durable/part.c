/* Parts: durable facts about contents. Keys contain the lease and a number, so a repeated batch writes the
 * same rows. */
#include "durable_impl.h"

#include <stdlib.h>

/* Only this file makes receipts of this kind. */
struct ts_item_receipt {
    struct durable__progress progress;
};

const struct durable__progress *durable__item_progress(const struct ts_item_receipt *item) {
    return &item->progress;
}

struct parting {
    struct ts_durable *durable;
    struct durable__batch batch;
    enum ts_durable_end end;
    struct ts_durable_detail *detail;
};

static bool flush(struct parting *mine) {
    if (mine->batch.count == 0)
        return true;
    mine->end = durable__write_surely(mine->durable, &mine->batch, mine->detail);
    durable__batch_clear(&mine->batch);
    return mine->end == TS_DURABLE_OK;
}

static bool put(struct parting *mine, const struct ts_fleet_key *key, struct ts_bytes page) {
    ts_assert(page.len <= TS_FLEET_PAGE_MAX);
    if (!durable__batch_has_room(&mine->batch, 2, page.len + TS_FLEET_KEY_MAX) && !flush(mine))
        return false;
    if (durable__batch_put(&mine->batch, key, page))
        return true;
    mine->end = durable__no_memory(mine->detail);
    return false;
}

/* Adds a waste mark for the pages of this lease to the batch of the first page. */
static bool mark(struct parting *mine, enum ts_waste waste, bool *has_mark) {
    struct ts_durable *durable = mine->durable;
    const struct ts_attempt lease = durable__attempt(durable, 0);
    const struct ts_fleet_waste value = durable__waste_of(durable);
    if (*has_mark)
        return true;
    if (!durable__put_mark(&mine->batch, durable, &lease, waste, &value)) {
        mine->end = durable__no_memory(mine->detail);
        return false;
    }
    *has_mark = durable->has_waste = true;
    return true;
}

static bool put_pages(struct parting *mine, const struct ts_durable_part *part) {
    struct ts_durable *durable = mine->durable;
    const struct ts_attempt lease = durable__attempt(durable, 0);
    for (size_t i = 0; i < part->hits.count; i++) {
        const struct ts_fleet_key key =
            ts_fleet_key_hits(&durable->id, &durable->run.rules, &lease, durable->hits_pages++);
        if (!put(mine, &key, part->hits.pages[i]) || !mark(mine, TS_WASTE_HITS, &durable->has_hits_mark))
            return false;
    }
    for (size_t i = 0; i < part->known.count; i++) {
        const struct ts_fleet_key key =
            ts_fleet_key_known(&durable->id, &durable->run.rules, &lease, durable->known_pages++);
        if (!put(mine, &key, part->known.pages[i]) || !mark(mine, TS_WASTE_KNOWN, &durable->has_known_mark))
            return false;
    }
    return flush(mine);
}

enum ts_durable_end ts_durable_part(struct ts_durable *durable, const struct ts_durable_part *part,
                                    const struct ts_item_receipt **ret_receipt,
                                    struct ts_durable_detail *ret_detail) {
    if (durable->item == NULL)
        durable->item = malloc(sizeof *durable->item);
    if (durable->item == NULL)
        return durable__no_memory(ret_detail);
    struct parting mine = {.durable = durable, .end = TS_DURABLE_OK, .detail = ret_detail};
    const bool done = put_pages(&mine, part);
    durable__batch_release(&mine.batch);
    if (!done) {
        /* The failed batch may be the one with the marks, so the next part writes them again. */
        durable->has_known_mark = durable->has_hits_mark = false;
        return mine.end;
    }
    durable->parts++;
    durable->item->progress = (struct durable__progress){.target = durable->id,
                                                         .run = ts_lease_shard(&durable->lease).run.v,
                                                         .attempt = durable__attempt(durable, 0),
                                                         .parts = durable->parts,
                                                         .objects = part->objects};
    *ret_receipt = durable->item;
    return TS_DURABLE_OK;
}
