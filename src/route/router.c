#include "hash.h"
#include "ranges.h"

#include "turnstone/route.h"

#include "base/assert.h"

#include <string.h>

#define NAME(suffix, number, name) [number] = (name),
static const char *const strategy_names[] = {TS_ROUTER_STRATEGIES(NAME)};
#undef NAME
_Static_assert(sizeof strategy_names / sizeof strategy_names[0] == TS_ROUTER_STRATEGY_COUNT,
               "the numbers of the strategies have no holes");
_Static_assert(TS_ROUTER_STRATEGY_COUNT == 5, "single, three hashes, range");

const char *ts_router_strategy_name(enum ts_router_strategy strategy) {
    return (size_t)strategy < TS_ROUTER_STRATEGY_COUNT ? strategy_names[strategy] : NULL;
}

bool ts_router_strategy_from_name(const char *name, enum ts_router_strategy *ret_strategy) {
    if (strcmp(name, "hash") == 0) {
        *ret_strategy = TS_ROUTER_STRATEGY_DEFAULT;
        return true;
    }
    for (size_t i = 0; i < TS_ROUTER_STRATEGY_COUNT; i++) {
        if (strcmp(name, strategy_names[i]) == 0) {
            *ret_strategy = (enum ts_router_strategy)i;
            return true;
        }
    }
    return false;
}

void ts_router_init_single(struct ts_router *ret_router) {
    *ret_router = (struct ts_router){.strategy = TS_ROUTER_STRATEGY_SINGLE, .count = 1};
}

static bool is_hash(enum ts_router_strategy strategy) {
    return strategy == TS_ROUTER_STRATEGY_XXH64 || strategy == TS_ROUTER_STRATEGY_FNV1A ||
           strategy == TS_ROUTER_STRATEGY_JUMP;
}

enum ts_router_error ts_router_init_hash(enum ts_router_strategy hash, uint32_t count,
                                         struct ts_router *ret_router,
                                         struct ts_router_error_detail *ret_detail) {
    enum ts_router_error error = TS_ROUTER_OK;
    if (!is_hash(hash))
        error = TS_ROUTER_NOT_A_HASH;
    else if (count == 0)
        error = TS_ROUTER_ZERO_STORES;
    if (error != TS_ROUTER_OK) {
        if (ret_detail != NULL)
            *ret_detail = (struct ts_router_error_detail){.error = error, .strategy = hash};
        return error;
    }
    *ret_router =
        (struct ts_router){.strategy = hash, .count = count, .reciprocal = route__reciprocal(count)};
    return TS_ROUTER_OK;
}

static uint32_t route(const struct ts_router *router, uint64_t id) {
    /* With one store, no strategy needs a hash. A router over ranges has the count 0, so the switch handles it. */
    if (router->count == 1)
        return 0;
    switch (router->strategy) {
    case TS_ROUTER_STRATEGY_SINGLE:
        return 0;
    case TS_ROUTER_STRATEGY_XXH64:
        return route__modulo(ts_xxh64_of_id(id), router->count, router->reciprocal);
    case TS_ROUTER_STRATEGY_FNV1A:
        return route__fnv1a_store(id, router->count);
    case TS_ROUTER_STRATEGY_JUMP:
        return route__jump_store(id, router->count);
    case TS_ROUTER_STRATEGY_RANGE:
        return route__range_store(router, id);
    }
    ts_unreachable("a router has a strategy");
}

struct ts_store_id ts_router_route(const struct ts_router *router, uint64_t id) {
    return (struct ts_store_id){route(router, id)};
}

bool ts_router_owns(const struct ts_router *router, struct ts_store_id store, uint64_t id) {
    return ts_router_route(router, id).v == store.v;
}

enum ts_router_strategy ts_router_strategy_of(const struct ts_router *router) {
    return router->strategy;
}

size_t ts_router_store_count(const struct ts_router *router) {
    return router->strategy == TS_ROUTER_STRATEGY_RANGE ? router->range_count : router->count;
}

struct ts_store_id ts_router_store_at(const struct ts_router *router, size_t index) {
    ts_assert(index < ts_router_store_count(router));
    if (router->strategy == TS_ROUTER_STRATEGY_RANGE)
        return (struct ts_store_id){router->all_stores[index]};
    return (struct ts_store_id){(uint32_t)index};
}
