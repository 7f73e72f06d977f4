#include "hash.h"

#include "turnstone/route.h"

struct ts_store_id ts_router_store_for(uint64_t id, uint32_t count) {
    if (count <= 1)
        return (struct ts_store_id){0};
    /* Uses a plain division: there is no stored reciprocal without a router, and computing one also costs a
     * division. */
    return (struct ts_store_id){(uint32_t)(ts_xxh64_of_id(id) % count)};
}

struct ts_store_id ts_router_store_for_fnv1a(uint64_t id, uint32_t count) {
    if (count <= 1)
        return (struct ts_store_id){0};
    return (struct ts_store_id){route__fnv1a_store(id, count)};
}

struct ts_store_id ts_router_store_for_jump(uint64_t id, uint32_t count) {
    if (count <= 1)
        return (struct ts_store_id){0};
    return (struct ts_store_id){route__jump_store(id, count)};
}
