/*
 * Opens and initialises clusters.
 *
 * Init writes INITIALISING on every store, then OPEN on every store. Wherever init stops, the stores show how
 * to continue:
 *
 *     absent .. absent            nothing was done: a new cluster
 *     INITIALISING .. absent      the first round was in progress: continue with the same cluster id
 *     OPEN .. INITIALISING        the second round was in progress
 *     OPEN .. OPEN                init has finished
 *
 * Only the second round makes a store usable, so that no process uses an incomplete cluster.
 */
#include "store/cluster/cluster.h"

#include "answering.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/hash64.h"
#include "meet.h"
#include "os/clock.h"
#include "os/entropy.h"
#include "same.h"
#include "store/cluster/open.h"
#include "store/contract/url.h"
#include "timelines.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS_DEFAULT = 10000 };

struct ts_cluster {
    size_t count;
    struct ts_store **stores; /* NULL: not opened yet */
    struct ts_meta *metas;
    bool *met;             /* indexed by place; store__meet has checked the store (meet.h) */
    atomic_bool inherited; /* ts_cluster_inherit has returned true for a caller */
    struct ts_router router;
    void *router_memory;
};

void ts_cluster_close(struct ts_cluster *cluster) {
    if (cluster == NULL)
        return;
    for (size_t i = 0; cluster->stores != NULL && i < cluster->count; i++)
        ts_store_close(cluster->stores[i]);
    if (cluster->metas != NULL)
        explicit_bzero(cluster->metas, cluster->count * sizeof *cluster->metas);
    free(cluster->metas);
    free(cluster->met);
    free(cluster->stores);
    free(cluster->router_memory);
    free(cluster);
}

static struct ts_cluster *cluster_new(size_t count) {
    struct ts_cluster *cluster = calloc(1, sizeof *cluster);
    if (cluster == NULL)
        return NULL;
    cluster->count = count;
    cluster->stores = calloc(count, sizeof(struct ts_store *));
    cluster->metas = calloc(count, sizeof *cluster->metas);
    cluster->met = calloc(count, sizeof *cluster->met);
    if (cluster->stores != NULL && cluster->metas != NULL && cluster->met != NULL)
        return cluster;
    ts_cluster_close(cluster);
    return NULL;
}

static enum ts_store_result no_memory(struct ts_store_error *ret_error) {
    return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "no memory for a cluster");
}

static const char *name_of(const struct ts_cluster *cluster, size_t place) {
    return ts_store_name(cluster->stores[place]);
}

static uint64_t deadline_of(const struct ts_cluster *cluster, const struct ts_cluster_options *options) {
    const struct ts_store_clock *clock = cluster->stores[0]->clock;
    uint64_t timeout_ms = options->timeout_ms != 0 ? options->timeout_ms : TIMEOUT_MS_DEFAULT;
    return clock->monotonic_ns(clock->context) + timeout_ms * 1000000;
}

/* For each store that did not answer, derives the meta record from the record of a store that answered.
 * Version 0 marks a derived record. */
static void assume_metas(struct ts_cluster *cluster, const bool *answered) {
    size_t known = 0;
    while (!answered[known])
        known++;
    for (size_t i = 0; i < cluster->count; i++) {
        if (answered[i])
            continue;
        cluster->metas[i] = cluster->metas[known];
        cluster->metas[i].place = (uint32_t)i;
        cluster->metas[i].version = 0;
    }
}

/* Reads the meta records of all answering stores. With some_down, a store that does not answer is no error:
 * its entry in `answering` becomes false. */
static enum ts_store_result read_metas_of(struct ts_cluster *cluster,
                                          const struct ts_cluster_options *options, bool *answering,
                                          struct ts_store_error *ret_error) {
    const uint64_t deadline_ns = deadline_of(cluster, options);
    struct ts_store_error error = {0};
    enum ts_store_result result = TS_STORE_OK;
    size_t answers = 0;
    for (size_t i = 0; result == TS_STORE_OK && i < cluster->count; i++) {
        struct ts_store *store = cluster->stores[i];
        if (!answering[i])
            continue;
        result = store->engine->meta_read(store, deadline_ns, &cluster->metas[i], &error);
        answering[i] = result == TS_STORE_OK;
        answers += answering[i];
        if (options->some_down && store__is_silent(result))
            result = TS_STORE_OK;
    }
    if (result == TS_STORE_OK && answers == 0)
        result = error.result;
    if (result != TS_STORE_OK)
        *ret_error = error;
    else if (answers < cluster->count)
        assume_metas(cluster, answering);
    return result;
}

static enum ts_store_result read_metas(struct ts_cluster *cluster, const struct ts_cluster_options *options,
                                       struct ts_store_error *ret_error) {
    bool *answering = malloc(cluster->count * sizeof *answering);
    if (answering == NULL)
        return no_memory(ret_error);
    memset(answering, true, cluster->count * sizeof *answering);
    enum ts_store_result result =
        options->some_down ? store__find_answering(cluster->stores, cluster->count,
                                                   deadline_of(cluster, options), answering, ret_error)
                           : TS_STORE_OK;
    if (result == TS_STORE_OK)
        result = read_metas_of(cluster, options, answering, ret_error);
    free(answering);
    return result;
}

/* ---- timelines of servers ---- */

struct asking {
    struct ts_cluster *cluster;
    uint64_t deadline_ns;
};

static enum ts_store_result ask(void *context, uint32_t place, struct ts_call *call) {
    const struct asking *asking = context;
    /* A store that did not answer when its meta record was read is not asked again. */
    if (asking->cluster->metas[place].version == 0)
        return TS_STORE_UNAVAILABLE;
    call->deadline_ns = asking->deadline_ns;
    return ts_store_run(asking->cluster->stores[place], call);
}

/* Searches the notes of all stores for servers that are old primaries. If it finds such a server, reads the
 * meta records again, from the new primaries. */
static enum ts_store_result refuse_old_servers(struct ts_cluster *cluster,
                                               const struct ts_cluster_options *options,
                                               struct ts_store_error *ret_error) {
    struct asking asking = {cluster, deadline_of(cluster, options)};
    const struct store__timelines timelines = {cluster->stores, cluster->count, ask, &asking};
    return store__timelines_learn(&timelines) ? read_metas(cluster, options, ret_error) : TS_STORE_OK;
}

void ts_cluster_share_timelines(struct ts_cluster *cluster, ts_cluster_call *call, void *context) {
    const struct store__timelines timelines = {cluster->stores, cluster->count, call, context};
    (void)store__timelines_learn(&timelines);
    store__timelines_note(&timelines, false);
}

/* ---- routing ---- */

static enum ts_store_result bad_routing(struct ts_store_error *ret_error, const char *why) {
    return store__error(ret_error, TS_STORE_BAD_USAGE, SIZE_MAX, "routing: %s", why);
}

static enum ts_store_result route_by_ranges(struct ts_cluster *cluster, const char *list,
                                            struct ts_store_error *ret_error) {
    size_t len = strlen(list), count = ts_router_list_count(list, len);
    struct ts_router_range *ranges = calloc(count + 1, sizeof *ranges);
    size_t size = ts_router_range_memory(count);
    cluster->router_memory = malloc(size);
    char why[160];
    enum ts_store_result result = TS_STORE_OK;
    struct ts_router_list_error_detail list_detail;
    struct ts_router_error_detail detail;
    if (ranges == NULL || cluster->router_memory == NULL) {
        result = no_memory(ret_error);
    } else if (ts_router_list_parse(list, len, ranges, count, &count, &list_detail) != TS_ROUTER_LIST_OK) {
        (void)ts_router_list_error_describe(&list_detail, list, why, sizeof why);
        result = bad_routing(ret_error, why);
    } else if (ts_router_init_range(ranges, count, cluster->router_memory, size, &cluster->router, &detail) !=
               TS_ROUTER_OK) {
        (void)ts_router_error_describe(&detail, why, sizeof why);
        result = bad_routing(ret_error, why);
    }
    for (size_t i = 0; ranges != NULL && result == TS_STORE_OK && i < count; i++) {
        if (ranges[i].store.v < cluster->count)
            continue;
        snprintf(why, sizeof why, "a range names store %u, and the cluster has stores 0 to %zu",
                 ranges[i].store.v, cluster->count - 1);
        result = bad_routing(ret_error, why);
    }
    free(ranges);
    return result;
}

static enum ts_store_result build_router(struct ts_cluster *cluster, const char *routing,
                                         struct ts_store_error *ret_error) {
    static const char range[] = "range:";
    free(cluster->router_memory);
    cluster->router_memory = NULL;
    if (strncmp(routing, range, sizeof range - 1) == 0)
        return route_by_ranges(cluster, routing + sizeof range - 1, ret_error);
    enum ts_router_strategy strategy;
    if (!ts_router_strategy_from_name(routing, &strategy) || strategy == TS_ROUTER_STRATEGY_RANGE)
        return bad_routing(ret_error, "choose xxh64, single, fnv1a, jump or range:STORE:START-END,...");
    if (strategy == TS_ROUTER_STRATEGY_SINGLE) {
        ts_router_init_single(&cluster->router);
        return TS_STORE_OK;
    }
    struct ts_router_error_detail detail;
    enum ts_router_error error =
        ts_router_init_hash(strategy, (uint32_t)cluster->count, &cluster->router, &detail);
    ts_assert(error == TS_ROUTER_OK);
    return TS_STORE_OK;
}

/* Returns the routing in the form that is stored: "hash" is another name of the default. The caller has
 * checked the routing by building a router. */
static const char *canonical(const char *routing) {
    enum ts_router_strategy strategy;
    return ts_router_strategy_from_name(routing, &strategy) ? ts_router_strategy_name(strategy) : routing;
}

/* Returns the routing to use if the caller names none: the stored routing, or the default for new stores. */
static const char *remembered(const struct ts_cluster *cluster) {
    for (size_t i = 0; i < cluster->count; i++)
        if (cluster->metas[i].present)
            return cluster->metas[i].routing;
    return ts_router_strategy_name(TS_ROUTER_STRATEGY_DEFAULT);
}

/* ---- comparing the stores with the list, and with each other ---- */

static enum ts_store_result not_initialised(const struct ts_cluster *cluster, size_t place,
                                            struct ts_store_error *ret_error) {
    return store__error(
        ret_error, TS_STORE_BAD_CONFIGURATION, SIZE_MAX,
        "%.120s is not initialised; run 'turnstone store init --cluster ...' with all its stores",
        name_of(cluster, place));
}

/* Refuses two stores with the same place in one cluster: they are the same store under two names, or
 * copies. */
static enum ts_store_result compare_names(const struct ts_cluster *cluster,
                                          struct ts_store_error *ret_error) {
    for (size_t i = 1; i < cluster->count; i++) {
        for (size_t j = 0; j < i; j++) {
            const struct ts_meta *a = &cluster->metas[j], *b = &cluster->metas[i];
            if (!a->present || !b->present || a->place != b->place ||
                memcmp(a->cluster, b->cluster, sizeof a->cluster) != 0)
                continue;
            return store__error(
                ret_error, TS_STORE_BAD_USAGE, SIZE_MAX,
                "store %zu and store %zu are the same, or one is a copy of the other: the list names them %.60s "
                "and %.60s; list each store once",
                j, i, name_of(cluster, j), name_of(cluster, i));
        }
    }
    return TS_STORE_OK;
}

/* Checks, before stores become a cluster, that no two of them are the same store. Compares the identities
 * that the stores report. */
static enum ts_store_result compare_identities(const struct ts_cluster *cluster, uint64_t deadline_ns,
                                               struct ts_store_error *ret_error) {
    char(*identities)[STORE_IDENTITY_SIZE] = calloc(cluster->count, sizeof *identities);
    if (identities == NULL)
        return no_memory(ret_error);
    enum ts_store_result result = TS_STORE_OK;
    for (size_t i = 0; cluster->count > 1 && result == TS_STORE_OK && i < cluster->count; i++) {
        result = store__identify(cluster->stores[i], deadline_ns, identities[i], ret_error);
        for (size_t j = 0; result == TS_STORE_OK && identities[i][0] != '\0' && j < i; j++)
            if (strcmp(identities[i], identities[j]) == 0)
                result = store__same_error(
                    &(struct store__twice){j, i, name_of(cluster, j), name_of(cluster, i)}, ret_error);
    }
    free(identities);
    return result;
}

static enum ts_store_result compare_places(const struct ts_cluster *cluster,
                                           struct ts_store_error *ret_error) {
    const struct ts_meta *first = &cluster->metas[0];
    for (size_t i = 0; i < cluster->count; i++) {
        const struct ts_meta *meta = &cluster->metas[i];
        if (!meta->present)
            return not_initialised(cluster, i, ret_error);
        if (memcmp(meta->cluster, first->cluster, sizeof meta->cluster) != 0)
            return store__error(ret_error, TS_STORE_FOREIGN, SIZE_MAX,
                                "%.100s and %.100s belong to different clusters; correct the list",
                                name_of(cluster, 0), name_of(cluster, i));
        if (meta->place_count != cluster->count)
            return store__error(ret_error, TS_STORE_FOREIGN, SIZE_MAX,
                                "%.120s belongs to a cluster of size %u, and the list has %zu; list all "
                                "of its stores",
                                name_of(cluster, i), meta->place_count, cluster->count);
        if (meta->place != i)
            return store__error(
                ret_error, TS_STORE_FOREIGN, SIZE_MAX,
                "%.120s is store %u of its cluster, listed as store %zu; list the stores in the order of "
                "'store init'",
                name_of(cluster, i), meta->place, i);
        if (strcmp(meta->routing, first->routing) != 0 ||
            memcmp(meta->secret, first->secret, sizeof meta->secret) != 0)
            return store__error(
                ret_error, TS_STORE_DAMAGED, SIZE_MAX,
                "%.120s has another routing or secret than the first store; restore one of them from a "
                "backup",
                name_of(cluster, i));
    }
    return TS_STORE_OK;
}

static enum ts_store_result compare_steps(const struct ts_cluster *cluster,
                                          struct ts_store_error *ret_error) {
    for (size_t i = 0; i < cluster->count; i++) {
        const struct ts_meta *meta = &cluster->metas[i];
        if (meta->state == TS_META_INITIALISING)
            return store__error(ret_error, TS_STORE_FOREIGN, SIZE_MAX,
                                "%.120s is only partly initialised; repeat 'turnstone store init'",
                                name_of(cluster, i));
        if (meta->state == TS_META_CLOSING || meta->epoch != cluster->metas[0].epoch)
            return store__error(
                ret_error, TS_STORE_FOREIGN, SIZE_MAX,
                "%.120s is in epoch %llu%s: the cluster is being fenced; finish 'turnstone store fence'",
                name_of(cluster, i), (unsigned long long)meta->epoch,
                meta->state == TS_META_CLOSING ? ", closing" : "");
    }
    return TS_STORE_OK;
}

static enum ts_store_result settle(struct ts_cluster *cluster, const struct ts_cluster_options *options,
                                   struct ts_store_error *ret_error) {
    enum ts_store_result result = compare_names(cluster, ret_error);
    if (result == TS_STORE_OK)
        result = compare_places(cluster, ret_error);
    /* This comparison precedes the comparison of epochs, because copies can have any epoch. */
    if (result == TS_STORE_OK && !options->accept_copy)
        result = store__meet(cluster->stores, cluster->count, cluster->met, ret_error);
    if (result == TS_STORE_OK && !options->any_step)
        result = compare_steps(cluster, ret_error);
    if (result == TS_STORE_OK)
        result = build_router(cluster, cluster->metas[0].routing, ret_error);
    for (size_t i = 0; result == TS_STORE_OK && i < cluster->count; i++)
        ts_cluster_expect(cluster, i, &cluster->metas[i]);
    return result;
}

/* ---- init ---- */

/* Checks that all existing meta records belong to one cluster, in the right places, with the same routing.
 * Only then may init continue. */
static enum ts_store_result compare_for_init(const struct ts_cluster *cluster, const char *routing,
                                             const struct ts_meta **ret_known,
                                             struct ts_store_error *ret_error) {
    const struct ts_meta *known = NULL;
    bool some_open = false, some_absent = false;
    for (size_t i = 0; i < cluster->count; i++) {
        const struct ts_meta *meta = &cluster->metas[i];
        some_absent = some_absent || !meta->present;
        if (!meta->present)
            continue;
        some_open = some_open || meta->state != TS_META_INITIALISING;
        if (known == NULL)
            known = meta;
        bool fits = memcmp(known->cluster, meta->cluster, sizeof meta->cluster) == 0 && meta->place == i &&
                    meta->place_count == cluster->count;
        if (!fits && meta->state == TS_META_INITIALISING)
            return store__error(
                ret_error, TS_STORE_FOREIGN, SIZE_MAX,
                "%.90s is store %u of a cluster of %u whose 'store init' has not finished; repeat that "
                "with its own list, or use another store",
                name_of(cluster, i), meta->place, meta->place_count);
        if (!fits)
            return store__error(
                ret_error, TS_STORE_FOREIGN, SIZE_MAX,
                "%.120s already belongs to a cluster of %u, as store %u; use other stores, or its own list",
                name_of(cluster, i), meta->place_count, meta->place);
        if (strcmp(meta->routing, routing) != 0)
            return store__error(
                ret_error, TS_STORE_FOREIGN, SIZE_MAX,
                "%.100s was initialised with the routing %.60s, which cannot change; keep that routing",
                name_of(cluster, i), meta->routing);
    }
    for (size_t i = 0; some_open && some_absent && i < cluster->count; i++)
        if (!cluster->metas[i].present)
            return store__error(
                ret_error, TS_STORE_FOREIGN, SIZE_MAX,
                "%.120s is empty, and other stores of the list are already a cluster; use other stores, "
                "or restore it from a backup",
                name_of(cluster, i));
    *ret_known = known;
    return TS_STORE_OK;
}

static enum ts_store_result write_meta(struct ts_cluster *cluster, size_t place, const struct ts_meta *meta,
                                       uint64_t deadline_ns, struct ts_store_error *ret_error) {
    struct ts_store *store = cluster->stores[place];
    enum ts_store_result result = store->engine->meta_write(store, deadline_ns, meta, ret_error);
    if (result != TS_STORE_OK)
        return result;
    cluster->metas[place] = *meta;
    cluster->metas[place].version = meta->version + 1;
    return TS_STORE_OK;
}

static enum ts_store_result make(struct ts_cluster *cluster, const char *routing, uint64_t deadline_ns,
                                 struct ts_store_error *ret_error) {
    const struct ts_meta *known = NULL;
    enum ts_store_result result = compare_for_init(cluster, routing, &known, ret_error);
    if (result != TS_STORE_OK)
        return result;
    struct ts_meta fresh = {.present = true,
                            .format = TS_META_FORMAT,
                            .place_count = (uint32_t)cluster->count,
                            .epoch = 1,
                            .state = TS_META_INITIALISING};
    if (known != NULL) {
        fresh = *known;
        fresh.state = TS_META_INITIALISING;
    } else if (!ts_entropy_fill(fresh.cluster, sizeof fresh.cluster) ||
               !ts_entropy_fill(fresh.secret, sizeof fresh.secret)) {
        return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX,
                            "no random bytes from the system for a new cluster");
    }
    snprintf(fresh.routing, sizeof fresh.routing, "%s", routing);
    for (size_t i = 0; i < cluster->count && result == TS_STORE_OK; i++) {
        if (cluster->metas[i].present)
            continue;
        struct ts_meta meta = fresh;
        meta.place = (uint32_t)i;
        meta.version = 0;
        result = write_meta(cluster, i, &meta, deadline_ns, ret_error);
    }
    for (size_t i = 0; i < cluster->count && result == TS_STORE_OK; i++) {
        if (cluster->metas[i].state != TS_META_INITIALISING)
            continue;
        struct ts_meta meta = cluster->metas[i];
        meta.state = TS_META_OPEN;
        result = write_meta(cluster, i, &meta, deadline_ns, ret_error);
    }
    explicit_bzero(&fresh, sizeof fresh);
    return result;
}

static enum ts_store_result check_routing(struct ts_cluster *cluster, const char *routing,
                                          struct ts_store_error *ret_error) {
    if (strlen(routing) >= TS_META_ROUTING_SIZE)
        return bad_routing(ret_error, "the list of ranges is too long; the limit is 511 bytes");
    return build_router(cluster, routing, ret_error);
}

/* ---- making a cluster, over open stores or from URLs ---- */

enum ts_store_result ts_cluster_init_over(struct ts_store *const *stores, size_t count, const char *routing,
                                          const struct ts_cluster_options *options,
                                          struct ts_cluster **ret_cluster, struct ts_store_error *ret_error) {
    ts_assert(stores != NULL && count > 0);
    struct ts_cluster *cluster = cluster_new(count);
    if (cluster == NULL) {
        for (size_t i = 0; i < count; i++)
            ts_store_close(stores[i]);
        return no_memory(ret_error);
    }
    memcpy(cluster->stores, stores, count * sizeof(struct ts_store *));
    uint64_t deadline_ns = deadline_of(cluster, options);
    enum ts_store_result result = TS_STORE_OK;
    if (routing != NULL && routing[0] != '\0')
        result = check_routing(cluster, routing, ret_error);
    if (result == TS_STORE_OK)
        result = read_metas(cluster, options, ret_error);
    if (result == TS_STORE_OK && !options->accept_copy)
        result = refuse_old_servers(cluster, options, ret_error);
    if (result == TS_STORE_OK && routing != NULL)
        result = compare_names(cluster, ret_error);
    if (result == TS_STORE_OK && routing != NULL)
        result = compare_identities(cluster, deadline_ns, ret_error);
    if (result == TS_STORE_OK && routing != NULL) {
        char kept[TS_META_ROUTING_SIZE];
        snprintf(kept, sizeof kept, "%s", routing[0] != '\0' ? canonical(routing) : remembered(cluster));
        result = make(cluster, kept, deadline_ns, ret_error);
    }
    if (result == TS_STORE_OK)
        result = settle(cluster, options, ret_error);
    if (result != TS_STORE_OK) {
        ts_cluster_close(cluster);
        return result;
    }
    *ret_cluster = cluster;
    return TS_STORE_OK;
}

enum ts_store_result ts_cluster_open_over(struct ts_store *const *stores, size_t count,
                                          const struct ts_cluster_options *options,
                                          struct ts_cluster **ret_cluster, struct ts_store_error *ret_error) {
    return ts_cluster_init_over(stores, count, NULL, options, ret_cluster, ret_error);
}

/* Checks the routing before any store is opened, because opening a store may create its directory. */
static enum ts_store_result try_routing(size_t count, const char *routing, struct ts_store_error *ret_error) {
    struct ts_cluster *cluster = cluster_new(count);
    if (cluster == NULL)
        return no_memory(ret_error);
    enum ts_store_result result = check_routing(cluster, routing, ret_error);
    ts_cluster_close(cluster);
    return result;
}

/* Checks the list of stores before any store is opened. */
static enum ts_store_result check_list(const struct store_url_list *list, struct ts_store_error *ret_error) {
    if (list->count > TS_CLUSTER_STORES_MAX)
        return store__error(ret_error, TS_STORE_BAD_USAGE, SIZE_MAX,
                            "the list has %zu stores; a cluster has at most %d", list->count,
                            TS_CLUSTER_STORES_MAX);
    for (size_t i = 1; i < list->count; i++)
        if ((list->urls[i].kind == STORE_URL_MEMORY) != (list->urls[0].kind == STORE_URL_MEMORY))
            return store__error(
                ret_error, TS_STORE_BAD_USAGE, SIZE_MAX,
                "the data of memory: stores is lost when the process ends, so a cluster cannot mix them with "
                "other stores; list only memory: stores, or none");
    return store__same_directories(list, ret_error);
}

enum ts_store_result ts_cluster_check_urls(const char *urls, struct ts_store_error *ret_error) {
    struct store_url_list list = {0};
    enum ts_store_result result = store__url_list_parse(urls, &list, ret_error);
    if (result == TS_STORE_OK)
        result = check_list(&list, ret_error);
    store__url_list_release(&list);
    return result;
}

enum ts_store_result ts_cluster_init(const char *urls, const char *routing,
                                     const struct ts_cluster_options *options,
                                     struct ts_cluster **ret_cluster, struct ts_store_error *ret_error) {
    static const struct ts_cluster_options defaults;
    options = options == NULL ? &defaults : options;
    struct store_url_list list = {0};
    enum ts_store_result result = store__url_list_parse(urls, &list, ret_error);
    if (result != TS_STORE_OK)
        return result;
    result = check_list(&list, ret_error);
    if (result == TS_STORE_OK && routing != NULL && routing[0] != '\0')
        result = try_routing(list.count, routing, ret_error);
    if (result != TS_STORE_OK) {
        store__url_list_release(&list);
        return result;
    }
    struct ts_store **stores = calloc(list.count, sizeof(struct ts_store *));
    if (stores == NULL) {
        store__url_list_release(&list);
        return no_memory(ret_error);
    }
    size_t opened = 0;
    while (result == TS_STORE_OK && opened < list.count) {
        result = ts_store_open(list.urls[opened].text, &options->store, &stores[opened], ret_error);
        if (result == TS_STORE_OK)
            opened++;
    }
    if (result == TS_STORE_OK)
        result = ts_cluster_init_over(stores, opened, routing, options, ret_cluster, ret_error);
    else
        for (size_t i = 0; i < opened; i++)
            ts_store_close(stores[i]);
    free(stores);
    store__url_list_release(&list);
    return result;
}

enum ts_store_result ts_cluster_open(const char *urls, const struct ts_cluster_options *options,
                                     struct ts_cluster **ret_cluster, struct ts_store_error *ret_error) {
    return ts_cluster_init(urls, NULL, options, ret_cluster, ret_error);
}

size_t ts_cluster_count(const struct ts_cluster *cluster) {
    return cluster->count;
}

struct ts_store *ts_cluster_store(const struct ts_cluster *cluster, size_t place) {
    ts_assert(place < cluster->count);
    return cluster->stores[place];
}

const struct ts_meta *ts_cluster_meta(const struct ts_cluster *cluster, size_t place) {
    ts_assert(place < cluster->count);
    return &cluster->metas[place];
}

void ts_cluster_expect(struct ts_cluster *cluster, size_t place, const struct ts_meta *meta) {
    ts_assert(place < cluster->count);
    if (meta != &cluster->metas[place])
        cluster->metas[place] = *meta;
    cluster->stores[place]->engine->expect(cluster->stores[place], meta);
}

enum ts_store_result ts_cluster_meet_anew(struct ts_cluster *cluster, struct ts_store_error *ret_error) {
    const struct ts_cluster_options options = {.timeout_ms = TIMEOUT_MS_DEFAULT};
    struct asking asking = {cluster, deadline_of(cluster, &options)};
    store__timelines_note(&(struct store__timelines){cluster->stores, cluster->count, ask, &asking}, true);
    return store__meet_anew(cluster->stores, cluster->count, ret_error);
}

bool ts_cluster_inherit(struct ts_cluster *cluster) {
    bool any = false;
    for (size_t i = 0; i < cluster->count; i++)
        any = any || cluster->stores[i]->is_exclusive;
    return any && !atomic_exchange(&cluster->inherited, true);
}

const struct ts_router *ts_cluster_router(const struct ts_cluster *cluster) {
    return &cluster->router;
}

size_t ts_cluster_place_of_key(const struct ts_cluster *cluster, struct ts_bytes key) {
    return ts_router_route(&cluster->router, ts_xxh64_of_bytes(key)).v;
}
