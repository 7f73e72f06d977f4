/*
 * A copy of a store's directory opens as well as the original. If it is used next to the original, or with
 * stores that have changed since it was copied, parts of transactions are silently lost. Two things reveal a
 * copy:
 *
 * - the directory. A store remembers its directory. Every copy of the files is in another directory.
 * - the last meeting. Whenever a process opens two stores of a cluster, both remember the same random number.
 *   Earlier copies of the two stores do not have this number. This also reveals snapshots of a file system or
 *   a virtual machine, and files that were restored into the same directory.
 *
 * A new meeting is written to one store after the other, and the process can die between the writes. For two
 * stores, by place:
 *
 *                      lower               higher
 *                      last  before        last
 *                      1     1             1
 *     1. lower         2     1             1         synced: the lower one is never older than the higher one
 *     2. higher        2     1             2         synced
 *     3. lower         2     2             2         durable with the next write: 1 is no longer valid
 *
 * All of these states are consistent. A copy of either store from before step 1 is inconsistent with every
 * state after step 3. Until step 3 is done, nothing else is written to both stores.
 */
#include "meet.h"

#include "os/entropy.h"
#include "store/contract/past.h"

#include <stdlib.h>
#include <string.h>

struct meet {
    struct ts_store *const *stores;
    size_t count;
    struct store__past *pasts;
    uint8_t number[STORE_MEETING_LEN];
};

static enum ts_store_result begin(struct meet *meet, struct ts_store_error *ret_error) {
    meet->pasts = calloc(meet->count, sizeof *meet->pasts);
    if (meet->pasts == NULL)
        return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "no memory to compare stores");
    if (!ts_entropy_fill(meet->number, sizeof meet->number))
        return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX,
                            "no random bytes from the system to open a cluster");
    enum ts_store_result result = TS_STORE_OK;
    for (size_t i = 0; result == TS_STORE_OK && i < meet->count; i++)
        if (meet->stores[i] != NULL)
            result = store__past_read(meet->stores[i], &meet->pasts[i], ret_error);
    return result;
}

static enum ts_store_result write_past(struct meet *meet, size_t place, bool sync,
                                       struct ts_store_error *ret_error) {
    meet->pasts[place].then = meet->pasts[place].here;
    return store__past_write(meet->stores[place], &meet->pasts[place], sync, ret_error);
}

static enum ts_store_result check(const struct meet *meet, struct ts_store_error *ret_error) {
    for (size_t i = 0; i < meet->count; i++) {
        const struct store__past *past = &meet->pasts[i];
        if (past->present && !store__origin_same(&past->then, &past->here))
            return store__error(ret_error, TS_STORE_FOREIGN, SIZE_MAX,
                                "%.130s is a copy of a store; list the original, or accept the copy with "
                                "'turnstone store recover --accept-copy'",
                                ts_store_name(meet->stores[i]));
    }
    for (size_t j = 1; j < meet->count; j++)
        for (size_t i = 0; i < j; i++)
            if (meet->pasts[i].is_kept && meet->pasts[j].is_kept &&
                !store__meeting_fits(&meet->pasts[i].meetings[j], &meet->pasts[j].meetings[i]))
                return store__error(
                    ret_error, TS_STORE_FOREIGN, SIZE_MAX,
                    "store %zu and store %zu of the list were last open at different times: one is an "
                    "older copy; list stores of the same time, or accept these with 'turnstone store "
                    "recover --accept-copy'",
                    i, j);
    return TS_STORE_OK;
}

/* Records the new meeting in the past of one store. Returns true if a store with a higher place takes part in
 * the meeting. */
static bool note(struct meet *meet, size_t place, const bool *met) {
    struct store__past *past = &meet->pasts[place];
    bool has_higher = false;
    for (size_t i = 0; i < meet->count; i++) {
        if (i == place || !meet->pasts[i].is_kept || (met[i] && met[place]))
            continue;
        struct store__meeting *meeting = &past->meetings[i];
        const uint8_t *before = i > place ? meet->pasts[i].meetings[place].last : meet->number;
        memcpy(meeting->before, before, STORE_MEETING_LEN);
        memcpy(meeting->last, meet->number, STORE_MEETING_LEN);
        has_higher = has_higher || i > place;
    }
    return has_higher;
}

static void conclude(struct meet *meet, size_t place) {
    for (size_t i = place + 1; i < meet->count; i++)
        memcpy(meet->pasts[place].meetings[i].before, meet->pasts[place].meetings[i].last, STORE_MEETING_LEN);
}

static enum ts_store_result renew(struct meet *meet, const bool *met, struct ts_store_error *ret_error) {
    bool *is_open = calloc(meet->count, sizeof *is_open);
    if (is_open == NULL)
        return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "no memory to open a cluster");
    enum ts_store_result result = TS_STORE_OK;
    for (size_t i = 0; result == TS_STORE_OK && i < meet->count; i++) {
        const struct store__past old = meet->pasts[i];
        if (!old.is_kept)
            continue;
        is_open[i] = note(meet, i, met);
        if (!old.present || memcmp(&old.then, &old.here, sizeof old.then) != 0 ||
            memcmp(old.meetings, meet->pasts[i].meetings, sizeof old.meetings) != 0)
            result = write_past(meet, i, true, ret_error);
    }
    for (size_t i = 0; result == TS_STORE_OK && i < meet->count; i++) {
        if (!is_open[i])
            continue;
        conclude(meet, i);
        result = write_past(meet, i, false, ret_error);
    }
    free(is_open);
    return result;
}

enum ts_store_result store__meet(struct ts_store *const *stores, size_t count, bool *met,
                                 struct ts_store_error *ret_error) {
    struct meet meet = {.stores = stores, .count = count};
    enum ts_store_result result = begin(&meet, ret_error);
    if (result == TS_STORE_OK)
        result = check(&meet, ret_error);
    if (result == TS_STORE_OK)
        result = renew(&meet, met, ret_error);
    /* A full disk does not prevent reading. Nothing new can be written, so the old and the new numbers are
     * still consistent. */
    if (result == TS_STORE_FULL)
        result = TS_STORE_OK;
    for (size_t i = 0; result == TS_STORE_OK && i < count; i++)
        met[i] = met[i] || stores[i] != NULL;
    free(meet.pasts);
    return result;
}

enum ts_store_result store__meet_anew(struct ts_store *const *stores, size_t count,
                                      struct ts_store_error *ret_error) {
    struct meet meet = {.stores = stores, .count = count};
    enum ts_store_result result = begin(&meet, ret_error);
    for (size_t i = 0; result == TS_STORE_OK && i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            if (j == i || !meet.pasts[j].is_kept)
                continue;
            memcpy(meet.pasts[i].meetings[j].last, meet.number, STORE_MEETING_LEN);
            memcpy(meet.pasts[i].meetings[j].before, meet.number, STORE_MEETING_LEN);
        }
        if (meet.pasts[i].is_kept)
            result = write_past(&meet, i, true, ret_error);
    }
    free(meet.pasts);
    return result;
}
