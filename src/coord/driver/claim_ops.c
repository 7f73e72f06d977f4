/*
 * A claim searches all stores for a shard that can be acquired, beginning with the worker's own store.
 *
 *     own store:  read guard and cooldown | scan free ones from the worker's point | scan the first leases
 *         -> admission -> candidates: free ones, wrapping, then expired ones; at most 64 in a look
 *         -> acquire the first, then the others in random order, until one succeeds -> arm the cooldown
 *         -> all candidates taken by others, parked or ended: look at the rest of the store, until nothing is left
 *     the next store, until there is none -> all leases, from the first one -> NoneAvailable
 *
 * A store that does not answer is skipped. If no other store has a free shard, the claim reports that a store
 * did not answer.
 *
 * A session keeps the free shards that its look found and did not acquire. For a second, its next claims
 * acquire these shards in the order of the look, without another look, until another worker acquires one of
 * them first.
 *
 * Entries of the claim index are written with their records, but are only hints. Acquire reads the record,
 * and the record decides.
 *
 * A look continues after the entries that earlier looks have read (struct rest), so one search tries every
 * entry at most once, and every claim ends. NoneAvailable means that no entry is left. The number of looks
 * has no limit, because each failed candidate means that another worker has acquired, parked or ended a
 * shard. If the run has ended meanwhile, the index still has entries, but their shards cannot be acquired:
 * the first answer that shows the end of the run ends the claim.
 *
 * A store needs time to skip removed entries until it has cleaned up. A session therefore looks for free
 * shards after the last shard that it acquired, and for leases from the earliest deadline that it has seen.
 * Leases that start later have a later deadline, except leases that were being written at that time. Before a
 * claim reports that nothing is available, it checks all leases.
 */
#include "driver.h"

#include "base/assert.h"
#include "base/checked.h"

#include <string.h>

/* LEASES_FIRST: leases are ordered by deadline, so the first one shows whether any lease has expired. More
 * leases are read only if all of these have expired. */
enum { CANDIDATES_MAX = COORD__CANDIDATES_MAX, LEASES_FIRST = 4, ARM_TRIES = 3 };

/* How long a session uses the shards that are left from a look. If its units take longer than this, they
 * usually cost much more than another look. */
#define LEFT_MS UINT64_C(1000)

/* The result of a look at one store. */
struct offer {
    size_t count;      /* number of candidates */
    size_t free_count; /* number of free shards; they are first, before the expired leases */
    struct ts_shard_id ids[CANDIDATES_MAX];
    /* If set, the first candidate is also chosen at random. Otherwise all workers with the same starting
     * point would try the same candidate. */
    bool is_drawn;
    bool has_earliest; /* `earliest` is valid: the first deadline in the future */
    struct ts_logical_time earliest;
};

/* The ranges of a store that no look has read yet. Their keys must stay in place while a scan runs. */
struct rest {
    bool has_free, has_leased;
    bool wrapped; /* only the free shards before the worker's starting point remain */
    struct coord__range free_range;
    struct coord__range leased_range;
};

static void all_of_run(struct ts_run_id run, struct ts_shard_id start, uint64_t leased_from,
                       struct rest *ret_rest) {
    *ret_rest = (struct rest){.has_free = true, .has_leased = true};
    ret_rest->free_range = coord__range_of_run(COORD__KIND_FREE, run);
    ret_rest->free_range.from = coord__key_free((struct ts_shard_key){run, start});
    ret_rest->leased_range = coord__range_of_run(COORD__KIND_LEASED, run);
    if (leased_from > 0)
        ret_rest->leased_range.from =
            coord__key_leased((struct ts_shard_key){run, {0}}, (struct ts_logical_time){leased_from});
}

/* Makes a range begin after the rows that were read. Returns false when nothing is left. (Keys of the claim
 * index are shorter than the maximum.) */
static bool move_behind(const struct ts_rows *rows, struct coord__range *range) {
    if (!rows->more || rows->count == 0)
        return false;
    const struct ts_bytes last = rows->rows[rows->count - 1].key;
    if (last.len >= COORD__KEY_MAX)
        return false;
    memcpy(range->from.bytes, last.data, last.len);
    range->from.bytes[last.len] = 0;
    range->from.len = (uint8_t)(last.len + 1);
    return true;
}

static void take_free(const struct ts_rows *rows, struct offer *offer) {
    for (size_t i = 0; i < rows->count && offer->count < CANDIDATES_MAX; i++) {
        struct ts_shard_key shard;
        if (coord__key_shard_of(rows->rows[i].key, &shard))
            offer->ids[offer->count++] = shard.shard;
    }
}

/* Adds the shards of expired leases to the offer, except the shard `own`. Returns true if no further lease
 * has expired: the rows contain a valid lease, or end with the last lease. */
static bool take_expired(const struct ts_rows *rows, struct ts_logical_time now,
                         const struct ts_shard_id *own, struct offer *offer) {
    for (size_t i = 0; i < rows->count; i++) {
        struct ts_shard_key shard;
        struct ts_logical_time deadline;
        if (!coord__key_lease_of(rows->rows[i].key, &shard, &deadline) ||
            (own != NULL && shard.shard.v == own->v))
            continue;
        if (deadline.ms > now.ms) {
            offer->has_earliest = true;
            offer->earliest = deadline;
            return true;
        }
        if (offer->count < CANDIDATES_MAX)
            offer->ids[offer->count++] = shard.shard;
    }
    return !rows->more;
}

struct claim {
    struct ts_coord *coord;
    struct coord__work *work;
    const struct ts_coord_claim_op *op;
    struct coord__seen *seen;
    struct coord__claim_hint *hint; /* or NULL */
    struct ts_shard_id start;
    uint32_t own; /* place of the worker's own store */
    struct ts_run_guard guard;
    struct ts_logical_time own_now; /* time of the worker's own store */
    uint64_t own_at_ms;             /* when own_now was read, by elapsed_ms */
    uint64_t cooldown_version;      /* last known version of the worker's entry; 0: no entry */
    struct rest rest;               /* what is left to try on the current store */
    bool has_looked;                /* the scans of the worker's own store were already made */
    struct ts_claim_scan scan;
    uint64_t available; /* candidates not tried on the stores so far */
    struct ts_lease *ret_lease;
    struct ts_coord_detail detail;
    bool is_away;                /* the last store that was asked did not answer; detail says so */
    bool some_away;              /* a store was skipped because it did not answer */
    struct ts_coord_detail away; /* the answer of the first skipped store */
};

static uint64_t leased_from(const struct claim *mine, uint32_t place) {
    return mine->hint != NULL && mine->hint->run.v == mine->op->run.v ? mine->hint->leased_from[place] : 0;
}

/* Remembers where the next claim begins its search for leases. Leases that start from now on have a deadline
 * of at least now plus the lease duration. */
static void remember_leases(struct claim *mine, uint32_t place, const struct offer *offer,
                            struct ts_logical_time now) {
    /* If the look found expired leases, the next claim must find them again. */
    if (mine->hint == NULL || offer->count > 0)
        return;
    uint64_t from = ts_saturating_add_u64(now.ms, mine->guard.config.lease_duration_ms);
    if (offer->has_earliest && offer->earliest.ms < from)
        from = offer->earliest.ms;
    mine->hint->leased_from[place] = from;
}

static enum ts_claim_error backend_error(struct claim *mine, const struct coord__result *result) {
    const struct coord__tries no_tries = {0};
    (void)coord__failed(&no_tries, result, &mine->detail);
    mine->is_away = result->result == TS_STORE_UNAVAILABLE || result->result == TS_STORE_TIMED_OUT;
    return TS_CLAIM_BACKEND_ERROR;
}

/* Called after an error. If a store did not answer, skips it and returns true. Other stores may have a free
 * shard, but the claim can no longer answer that no shard is available. */
static bool pass_over(struct claim *mine) {
    if (!mine->is_away)
        return false;
    if (!mine->some_away)
        mine->away = mine->detail;
    mine->some_away = true;
    mine->is_away = false;
    mine->detail = (struct ts_coord_detail){0};
    return true;
}

static enum ts_claim_error nothing_left(struct claim *mine) {
    if (!mine->some_away)
        return ts_claim_none(&mine->scan, &mine->guard, &mine->detail);
    mine->detail = mine->away;
    return TS_CLAIM_BACKEND_ERROR;
}

static void consider_earliest(struct claim *mine, const struct offer *offer) {
    if (offer->has_earliest && (!mine->scan.has_earliest || offer->earliest.ms < mine->scan.earliest.ms)) {
        mine->scan.has_earliest = true;
        mine->scan.earliest = offer->earliest;
    }
}

/* The indexes of a claim's calls. The scans of the worker's own store run in parallel with the read for the
 * admission. */
enum { FREE_CALL, LEASED_CALL, SCAN_CALLS, ADMISSION_CALL = SCAN_CALLS };

static void begin_look(struct claim *mine, uint32_t place) {
    all_of_run(mine->op->run, mine->start, leased_from(mine, place), &mine->rest);
    (void)coord__call_scan(mine->work, FREE_CALL, place, &mine->rest.free_range, CANDIDATES_MAX);
    (void)coord__call_scan(mine->work, LEASED_CALL, place, &mine->rest.leased_range, LEASES_FIRST);
}

/* Scans a range of a store. The rows replace those of FREE_CALL. */
static enum ts_claim_error scan_more(struct claim *mine, uint32_t place, const struct coord__range *range,
                                     size_t limit) {
    (void)coord__call_scan(mine->work, FREE_CALL, place, range, limit);
    const struct coord__result result = coord__read(mine->coord, mine->work, 1);
    return result.result == TS_STORE_OK ? TS_CLAIM_OK : backend_error(mine, &result);
}

/* Takes the free shards of a scan, and sets where the next scan begins: after them, or at the first shard. */
static void keep_free(struct claim *mine, struct offer *offer) {
    const struct ts_rows *rows = &mine->work->rows[FREE_CALL];
    struct rest *rest = &mine->rest;
    take_free(rows, offer);
    if (move_behind(rows, &rest->free_range))
        return;
    rest->has_free = !rest->wrapped && mine->start.v > 0;
    rest->wrapped = true;
    rest->free_range = coord__range_of_run(COORD__KIND_FREE, mine->op->run);
    rest->free_range.to = coord__key_free((struct ts_shard_key){mine->op->run, mine->start});
}

static enum ts_claim_error fill_with_free(struct claim *mine, uint32_t place, struct offer *offer) {
    enum ts_claim_error error = TS_CLAIM_OK;
    while (error == TS_CLAIM_OK && mine->rest.has_free && offer->count < CANDIDATES_MAX) {
        error = scan_more(mine, place, &mine->rest.free_range, CANDIDATES_MAX - offer->count);
        if (error == TS_CLAIM_OK)
            keep_free(mine, offer);
    }
    offer->free_count = offer->count;
    return error;
}

static enum ts_claim_error fill_with_expired(struct claim *mine, uint32_t place, struct offer *offer) {
    struct rest *rest = &mine->rest;
    if (!rest->has_leased || offer->count == CANDIDATES_MAX)
        return TS_CLAIM_OK;
    const enum ts_claim_error error =
        scan_more(mine, place, &rest->leased_range, CANDIDATES_MAX - offer->count);
    if (error != TS_CLAIM_OK)
        return error;
    const struct ts_rows *rows = &mine->work->rows[FREE_CALL];
    const struct ts_logical_time now = {mine->work->calls[FREE_CALL].call.time_ms};
    rest->has_leased = !take_expired(rows, now, NULL, offer) && move_behind(rows, &rest->leased_range);
    return TS_CLAIM_OK;
}

/* Makes an offer from both scans of a store. While there is room in the offer, scans further, also before the
 * worker's starting point. */
static enum ts_claim_error end_look(struct claim *mine, uint32_t place, struct offer *offer) {
    *offer = (struct offer){0};
    struct offer leases = {0};
    const struct ts_logical_time now = {mine->work->calls[LEASED_CALL].call.time_ms};
    const bool has_all_expired = take_expired(&mine->work->rows[LEASED_CALL], now, NULL, &leases);
    keep_free(mine, offer);
    offer->is_drawn = offer->count == 0;
    const enum ts_claim_error error = fill_with_free(mine, place, offer);
    if (error != TS_CLAIM_OK)
        return error;
    remember_leases(mine, place, &leases, now);
    if (!has_all_expired)
        return fill_with_expired(mine, place, offer);
    offer->has_earliest = leases.has_earliest;
    offer->earliest = leases.earliest;
    /* If there is no room for the expired leases, the next look takes them. */
    if (leases.count <= CANDIDATES_MAX - offer->count) {
        memcpy(offer->ids + offer->count, leases.ids, leases.count * sizeof leases.ids[0]);
        offer->count += leases.count;
        mine->rest.has_leased = false;
    }
    return TS_CLAIM_OK;
}

/* Looks at one store. The scans of the first look at the worker's own store ran with the admission. */
static enum ts_claim_error look(struct claim *mine, uint32_t place, struct offer *offer) {
    if (place != mine->own || !mine->has_looked) {
        begin_look(mine, place);
        const struct coord__result result = coord__read(mine->coord, mine->work, SCAN_CALLS);
        if (result.result != TS_STORE_OK)
            return backend_error(mine, &result);
    }
    mine->has_looked = false;
    return end_look(mine, place, offer);
}

static bool is_more_left(const struct claim *mine) {
    return mine->rest.has_free || mine->rest.has_leased;
}

/* Looks at the entries that earlier looks have not read. */
static enum ts_claim_error look_further(struct claim *mine, uint32_t place, struct offer *offer) {
    *offer = (struct offer){.is_drawn = true};
    const enum ts_claim_error error = fill_with_free(mine, place, offer);
    return error == TS_CLAIM_OK ? fill_with_expired(mine, place, offer) : error;
}

/* Chooses one of the candidates from index `from` on at random, and moves it to that index. Free shards come
 * before expired leases. */
static void draw_next(struct claim *mine, struct offer *offer, size_t from) {
    const size_t end = from < offer->free_count ? offer->free_count : offer->count;
    const size_t drawn = from + (size_t)(coord__draw(mine->coord) % (end - from));
    const struct ts_shard_id taken = offer->ids[drawn];
    offer->ids[drawn] = offer->ids[from];
    offer->ids[from] = taken;
}

/* Returns whether the answer shows that the run has ended; the claim then stops. The index keeps its entries
 * when a run ends. */
static bool has_run_ended(struct claim *mine, enum ts_acquire_error error) {
    if (error != TS_ACQUIRE_SHARD_TERMINAL || !mine->seen->has_guard ||
        !ts_run_status_is_terminal(mine->seen->guard.status))
        return false;
    mine->guard = mine->seen->guard;
    return true;
}

/* Keeps the free shards after the first one for the next claims, if the store has more free shards than the
 * look took. Each claim of the last shards of a store looks again, so that workers do not compete for them.
 * In a run with a cooldown nothing is kept, because each claim must read the cooldown. */
static void keep_left(struct claim *mine, const struct offer *offer) {
    if (mine->hint == NULL || offer->is_drawn || offer->free_count < CANDIDATES_MAX || !mine->rest.has_free ||
        mine->guard.config.cooldown_ms > 0)
        return;
    struct coord__left *left = &mine->hint->left;
    left->at = 0;
    left->count = offer->free_count - 1;
    memcpy(left->ids, offer->ids + 1, left->count * sizeof left->ids[0]);
    left->until_ms = coord__elapsed_ms(mine->coord) + LEFT_MS;
    left->pin = mine->op->pin;
}

/* Tries the next shard that is left from the last look. Returns true if ret_error is the final answer. If the
 * shard's store does not answer, returns false; the claim then looks at the stores. */
static bool try_left(struct claim *mine, enum ts_claim_error *ret_error) {
    struct coord__left *left = mine->hint != NULL ? &mine->hint->left : NULL;
    if (left == NULL || left->at == left->count || coord__elapsed_ms(mine->coord) >= left->until_ms ||
        !ts_pin_equal(&left->pin, &mine->op->pin))
        return false;
    const struct ts_acquire_op op = {.tenant = mine->op->tenant,
                                     .shard = {mine->op->run, left->ids[left->at++]},
                                     .worker = mine->op->worker};
    const enum ts_acquire_error error =
        coord__acquire(mine->coord, &op, mine->seen, mine->ret_lease, &mine->detail);
    mine->available = left->count - left->at;
    if (!ts_claim_consider(&mine->scan, error, &mine->detail, ret_error) && *ret_error == TS_CLAIM_OK)
        return true;
    left->at = left->count = 0;
    return error == TS_ACQUIRE_TENANT_MISMATCH ||
           (error == TS_ACQUIRE_BACKEND_ERROR && mine->detail.infra.kind != TS_INFRA_RETRYABLE);
}

/* Tries the candidates of a look. Returns true if ret_error is the final answer. If another worker was
 * faster, continues with a random candidate, because the other worker also tries the candidates in this
 * order. */
static bool try_all(struct claim *mine, struct offer *offer, enum ts_claim_error *ret_error) {
    consider_earliest(mine, offer);
    for (size_t i = 0; i < offer->count; i++) {
        if (i > 0 || offer->is_drawn)
            draw_next(mine, offer, i);
        const struct ts_acquire_op op = {
            .tenant = mine->op->tenant, .shard = {mine->op->run, offer->ids[i]}, .worker = mine->op->worker};
        const enum ts_acquire_error error =
            coord__acquire(mine->coord, &op, mine->seen, mine->ret_lease, &mine->detail);
        if (!ts_claim_consider(&mine->scan, error, &mine->detail, ret_error)) {
            mine->available += is_more_left(mine) ? TS_CAPACITY_MAX : offer->count - i - 1;
            if (i == 0 && *ret_error == TS_CLAIM_OK)
                keep_left(mine, offer);
            return true;
        }
        if (has_run_ended(mine, error)) {
            *ret_error = ts_claim_none(&mine->scan, &mine->guard, &mine->detail);
            return true;
        }
    }
    return false;
}

static enum ts_claim_error foreign(struct claim *mine) {
    mine->detail = (struct ts_coord_detail){.expected_tenant = mine->op->tenant};
    return TS_CLAIM_TENANT_MISMATCH;
}

/* Decodes the cooldown entry of a row; version 0 means no entry. Returns false if the entry is damaged. */
static bool take_cooldown(struct claim *mine, const struct ts_row *row, struct ts_cooldown *ret_entry) {
    mine->cooldown_version = row->version;
    const enum ts_record_error error =
        row->version != 0 ? ts_cooldown_decode(row->value, ret_entry) : TS_RECORD_OK;
    if (error != TS_RECORD_OK)
        (void)coord__damaged(error, "the cooldown of a worker", &mine->detail);
    return error == TS_RECORD_OK;
}

/* Reads from the worker's own store; checks that the run exists, and that the worker may claim. */
static enum ts_claim_error pass_admission(struct claim *mine) {
    const struct coord__key guard = coord__key_guard(mine->op->run),
                            cooldown = coord__key_cooldown(&mine->op->tenant, &mine->op->worker);
    const struct ts_bytes keys[] = {coord__key_bytes(&guard), coord__key_bytes(&cooldown)};
    begin_look(mine, mine->own);
    const struct ts_call *call = coord__call_read(mine->work, ADMISSION_CALL, mine->own, keys, 2);
    const struct coord__result result = coord__read(mine->coord, mine->work, ADMISSION_CALL + 1);
    if (result.result != TS_STORE_OK)
        return backend_error(mine, &result);
    mine->has_looked = true;
    const struct ts_row *rows = mine->work->rows[ADMISSION_CALL].rows;
    mine->own_now = (struct ts_logical_time){call->time_ms};
    mine->own_at_ms = coord__elapsed_ms(mine->coord);
    bool found;
    if (coord__decode_guard(&rows[0], mine->op->run, &found, &mine->guard, &mine->detail) !=
        COORD__END_DONE) {
        struct ts_tenant_id tenant;
        return coord__find_tenant(mine->coord, mine->work, mine->op->run, &tenant) &&
                       !ts_tenant_id_equal(&tenant, &mine->op->tenant)
                   ? foreign(mine)
                   : TS_CLAIM_BACKEND_ERROR;
    }
    if (!found)
        return TS_CLAIM_RUN_NOT_FOUND;
    if (!ts_tenant_id_equal(&mine->guard.tenant, &mine->op->tenant))
        return foreign(mine);
    struct ts_cooldown entry;
    if (!take_cooldown(mine, &rows[1], &entry))
        return TS_CLAIM_BACKEND_ERROR;
    bool drop;
    const enum ts_claim_error admission =
        ts_claim_admit(&mine->guard, &mine->op->pin, mine->cooldown_version != 0 ? &entry : NULL,
                       mine->own_now, &drop, &mine->detail);
    if (admission == TS_CLAIM_OK && drop) {
        coord__plan_clear(&mine->work->plan);
        coord__plan_check(&mine->work->plan, mine->own, &cooldown, mine->cooldown_version);
        coord__plan_del(&mine->work->plan, mine->own, &cooldown);
        /* If this fails, another claim removes the entry. */
        if (coord__apply(mine->coord, mine->work).result == TS_STORE_OK)
            mine->cooldown_version = 0;
    }
    return admission;
}

/* Reads the worker's cooldown entry again. Returns false if the read fails or the entry is damaged. */
static bool read_cooldown(struct claim *mine, const struct coord__key *key, struct ts_cooldown *ret_entry) {
    const struct ts_bytes bytes = coord__key_bytes(key);
    (void)coord__call_read(mine->work, FREE_CALL, mine->own, &bytes, 1);
    return coord__read(mine->coord, mine->work, 1).result == TS_STORE_OK &&
           take_cooldown(mine, &mine->work->rows[FREE_CALL].rows[0], ret_entry);
}

/*
 * Stores the cooldown after a successful claim. If this write fails, the next claim is not delayed. That is
 * harmless: the cooldown only keeps a worker from claiming again and again. The write checks the earlier
 * entry, so that a late write cannot replace a newer entry.
 */
static void arm(struct claim *mine) {
    struct ts_cooldown entry, there;
    const uint64_t passed_ms = coord__elapsed_ms(mine->coord) - mine->own_at_ms;
    const struct ts_logical_time now = {ts_saturating_add_u64(mine->own_now.ms, passed_ms)};
    if (!ts_cooldown_arm(&mine->guard, &mine->op->worker, now, &entry))
        return;
    uint8_t bytes[TS_COOLDOWN_ENCODED_LEN];
    ts_cooldown_encode(&entry, bytes);
    const struct coord__key key = coord__key_cooldown(&mine->op->tenant, &mine->op->worker);
    for (int i = 0; i < ARM_TRIES; i++) {
        coord__plan_clear(&mine->work->plan);
        coord__plan_check(&mine->work->plan, mine->own, &key, mine->cooldown_version);
        coord__plan_put(&mine->work->plan, mine->own, &key, ts_bytes_of(bytes, sizeof bytes));
        if (coord__apply(mine->coord, mine->work).result != TS_STORE_CHECK_FAILED ||
            !read_cooldown(mine, &key, &there) ||
            (mine->cooldown_version != 0 && there.until.ms >= entry.until.ms))
            return;
    }
}

/* Tries the candidates of one store. Returns true if ret_error is OK or an error, false if the store has no
 * more entries. */
static bool try_store(struct claim *mine, uint32_t place, enum ts_claim_error *ret_error) {
    struct offer offer;
    *ret_error = look(mine, place, &offer);
    while (*ret_error == TS_CLAIM_OK && !try_all(mine, &offer, ret_error)) {
        if (!is_more_left(mine))
            return false;
        *ret_error = look_further(mine, place, &offer);
    }
    return true;
}

/* Tries all stores, beginning with the worker's own. Returns true if ret_error is the answer. */
static bool try_stores(struct claim *mine, uint32_t *ret_looked_at, enum ts_claim_error *ret_error) {
    const uint32_t places = mine->coord->io.place_count;
    for (uint32_t i = 0; i < places; i++) {
        *ret_looked_at = i + 1;
        if (try_store(mine, (mine->own + i) % places, ret_error) &&
            (*ret_error != TS_CLAIM_BACKEND_ERROR || !pass_over(mine)))
            return true;
    }
    return false;
}

/* Like pass_admission, but waits if the run is just being created. */
static enum ts_claim_error pass_admission_of_any_run(struct claim *mine) {
    const enum ts_claim_error error = pass_admission(mine);
    if (error != TS_CLAIM_RUN_NOT_FOUND)
        return error;
    const struct coord__key guard = coord__key_guard(mine->op->run);
    struct coord__tries tries = {0};
    enum coord__end end;
    return coord__wait_for_promises(mine->coord, mine->work, mine->own, &guard, &tries, &end, &mine->detail)
               ? pass_admission(mine)
               : TS_CLAIM_BACKEND_ERROR;
}

/* Like pass_admission_of_any_run, but if the worker's own store does not answer, reads the guard from the
 * next store: every store has the guard. In a run with a cooldown no other store can answer, because only the
 * worker's own store knows whether the cooldown is over. */
static enum ts_claim_error pass_admission_of_a_store_that_answers(struct claim *mine) {
    const uint32_t places = mine->coord->io.place_count;
    enum ts_claim_error error = pass_admission_of_any_run(mine);
    for (uint32_t i = 1; i < places && error == TS_CLAIM_BACKEND_ERROR && pass_over(mine); i++) {
        mine->own = (mine->own + 1) % places;
        error = pass_admission_of_any_run(mine);
        if (error == TS_CLAIM_OK && mine->guard.config.cooldown_ms > 0)
            return nothing_left(mine);
    }
    return error;
}

static enum ts_claim_error claim(struct claim *mine, uint32_t *ret_looked_at) {
    enum ts_claim_error error;
    if (try_left(mine, &error)) {
        *ret_looked_at = mine->coord->io.place_count;
        return error;
    }
    mine->detail = (struct ts_coord_detail){0};
    mine->available = 0;
    error = pass_admission_of_a_store_that_answers(mine);
    if (error != TS_CLAIM_OK)
        return error;
    if (!ts_claim_is_open(&mine->guard))
        return ts_claim_none(&mine->scan, &mine->guard, &mine->detail);
    if (try_stores(mine, ret_looked_at, &error))
        return error;
    /* The session may have skipped leases with early deadlines. The claim searches all leases before it
     * answers that no shard is available. */
    bool remembered = false;
    for (uint32_t place = 0; place < mine->coord->io.place_count && mine->hint != NULL; place++) {
        remembered = remembered || leased_from(mine, place) > 0;
        mine->hint->leased_from[place] = 0;
    }
    if (remembered && try_stores(mine, ret_looked_at, &error))
        return error;
    return nothing_left(mine);
}

static void prepare_hint(struct claim *mine) {
    if (mine->hint == NULL)
        return;
    if (mine->hint->run.v != mine->op->run.v) {
        for (uint32_t place = 0; place < mine->coord->io.place_count; place++)
            mine->hint->leased_from[place] = 0;
        mine->hint->has_start = false;
        mine->hint->left.at = mine->hint->left.count = 0;
    }
    mine->hint->run = mine->op->run;
}

static uint64_t capped(uint64_t count) {
    return count < TS_CAPACITY_MAX ? count : TS_CAPACITY_MAX;
}

static struct ts_capacity_hint look_for_capacity(struct ts_coord *coord, struct coord__work *work,
                                                 struct ts_shard_key own) {
    struct rest all;
    all_of_run(own.run, (struct ts_shard_id){0}, 0, &all);
    const uint32_t places = coord->io.place_count;
    for (uint32_t place = 0; place < places; place++) {
        (void)coord__call_scan(work, (size_t)2 * place, place, &all.free_range, TS_CAPACITY_MAX);
        (void)coord__call_scan(work, (size_t)2 * place + 1, place, &all.leased_range, TS_CAPACITY_MAX);
    }
    struct ts_capacity_hint hint = {0};
    if (coord__read(coord, work, (size_t)2 * places).result != TS_STORE_OK)
        return hint;
    uint64_t available = 0;
    for (uint32_t place = 0; place < places; place++) {
        struct offer offer = {0};
        const struct ts_logical_time now = {work->calls[(size_t)2 * place + 1].call.time_ms};
        take_free(&work->rows[(size_t)2 * place], &offer);
        (void)take_expired(&work->rows[(size_t)2 * place + 1], now, &own.shard, &offer);
        available += offer.count;
        if (offer.has_earliest &&
            (!hint.has_earliest_deadline || offer.earliest.ms < hint.earliest_deadline.ms)) {
            hint.has_earliest_deadline = true;
            hint.earliest_deadline = offer.earliest;
        }
    }
    hint.available_count = (uint32_t)capped(available);
    return hint;
}

struct ts_capacity_hint coord__capacity(struct ts_coord *coord, struct ts_shard_key own) {
    struct ts_capacity_hint hint = {0};
    struct coord__work *work = coord__work_take(coord);
    if (work != NULL) {
        hint = look_for_capacity(coord, work, own);
        coord__work_give(coord, work);
    }
    return hint;
}

enum ts_claim_error coord__claim(struct ts_coord *coord, const struct ts_coord_claim_op *op,
                                 struct coord__seen *seen, struct coord__claim_hint *hint,
                                 struct ts_lease *ret_lease, struct ts_capacity_hint *ret_capacity,
                                 struct ts_coord_detail *ret_detail) {
    struct claim mine = {.coord = coord,
                         .op = op,
                         .seen = seen,
                         .hint = hint,
                         .own = coord__place_of_worker(coord, &op->worker),
                         .work = coord__work_take(coord),
                         .ret_lease = ret_lease};
    if (mine.work == NULL)
        return ts_claim_error_of(coord__end_variant(coord__no_memory(ret_detail)));
    prepare_hint(&mine);
    mine.start = ts_claim_start(op->run, &op->worker);
    if (op->has_start)
        mine.start.v = op->start.v + 1;
    uint32_t looked_at = 0;
    const enum ts_claim_error error = claim(&mine, &looked_at);
    if (error == TS_CLAIM_OK) {
        arm(&mine);
        const struct ts_shard_key got = ts_lease_shard(ret_lease);
        if (hint != NULL) {
            hint->has_start = true;
            hint->start = got.shard;
        }
        /* Uses the number of candidates so far if all stores were searched, or if that number is at its
         * maximum. Otherwise counts again. The earliest deadline never includes the new lease. */
        if (looked_at == coord->io.place_count || mine.available >= TS_CAPACITY_MAX)
            *ret_capacity = (struct ts_capacity_hint){.available_count = (uint32_t)capped(mine.available),
                                                      .has_earliest_deadline = mine.scan.has_earliest,
                                                      .earliest_deadline = mine.scan.earliest};
        else
            *ret_capacity = look_for_capacity(coord, mine.work, got);
    } else {
        *ret_detail = mine.detail;
    }
    coord__work_give(coord, mine.work);
    return error;
}

enum ts_claim_error ts_coord_claim_next_available(struct ts_coord *coord, const struct ts_coord_claim_op *op,
                                                  struct ts_acquire_scratch *scratch,
                                                  struct ts_acquire_result_view *ret_view,
                                                  struct ts_coord_detail *ret_detail) {
    struct coord__work *work = coord__work_take(coord);
    if (work == NULL)
        return ts_claim_error_of(coord__end_variant(coord__no_memory(ret_detail)));
    struct ts_lease lease;
    struct ts_capacity_hint capacity = {0};
    const enum ts_claim_error error =
        coord__claim(coord, op, &work->seen, NULL, &lease, &capacity, ret_detail);
    if (error == TS_CLAIM_OK)
        ts_acquire_result(scratch, &work->seen.record, &lease, capacity, ret_view);
    coord__work_give(coord, work);
    return error;
}
