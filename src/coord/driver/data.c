#include "coord/driver/data.h"

#include "driver.h"

#include <stdio.h>

uint32_t ts_coord_place_count(const struct ts_coord *coord) {
    return coord->io.place_count;
}

uint32_t ts_coord_place_of(const struct ts_coord *coord, uint64_t id) {
    return ts_router_route(coord->io.router, id).v;
}

static enum ts_store_result answer(const struct coord__result *result, struct ts_infra_error *ret_error) {
    if (result->result != TS_STORE_OK) {
        ret_error->kind = ts_infra_kind_of_store(result->result);
        snprintf(ret_error->text, sizeof ret_error->text, "%s", result->text);
    }
    return result->result;
}

enum ts_store_result ts_coord_read(struct ts_coord *coord, struct ts_coord_call *calls, size_t count,
                                   struct ts_infra_error *ret_error) {
    const struct coord__result result = coord__read_calls(coord, calls, count);
    return answer(&result, ret_error);
}

enum ts_store_result ts_coord_apply(struct ts_coord *coord, uint32_t place, struct ts_batch batch,
                                    struct ts_infra_error *ret_error) {
    struct coord__work *work = coord__work_take(coord);
    struct coord__result result = {.result = TS_STORE_FAILED, .text = "out of memory"};
    if (work != NULL) {
        coord__plan_clear(&work->plan);
        for (size_t i = 0; i < batch.count; i++)
            coord__plan_op(&work->plan, place, &batch.ops[i]);
        result = coord__apply(coord, work);
        coord__work_give(coord, work);
    }
    return answer(&result, ret_error);
}
