#include "runtime/driver/submit.h"

#include "runtime/core/fleet_record.h"

#include "os/arena.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(TS_FLEET_UNIT_MAX <= TS_COORD_UNIT_MAX, "every unit can be registered with its shard");

/* Shards in a step. A step with many more may take longer than the timeout of a call, if the store is slow. */
enum { STEP_MAX = 2000 };

static bool refuse(struct ts_submit_error *ret_error, enum ts_error_variant variant) {
    ret_error->variant = variant;
    return false;
}

static bool no_memory(struct ts_submit_error *ret_error) {
    ret_error->detail.infra = (struct ts_infra_error){.kind = TS_INFRA_RETRYABLE, .text = "out of memory"};
    return refuse(ret_error, TS_VARIANT_BACKEND_ERROR);
}

/* One shard for each target. The arena owns the keys and units. */
struct shards {
    struct ts_new_shard *list;
    struct ts_coord_target_keys *keys;
    struct ts_arena arena;
};

static bool init_shards(struct shards *shards, size_t count) {
    shards->list = calloc(count, sizeof *shards->list);
    shards->keys = calloc(count, sizeof *shards->keys);
    return shards->list != NULL && shards->keys != NULL;
}

static void release_shards(struct shards *shards) {
    free(shards->list);
    free(shards->keys);
    ts_arena_release(&shards->arena);
}

/* Returns an empty unit if the target's texts are too long, and {NULL, 1} when memory runs out. */
static struct ts_bytes unit_of(struct ts_arena *arena, const struct ts_target *target) {
    const bool is_other_url = strcmp(target->url, target->address) != 0;
    const struct ts_fleet_unit unit = {.address = ts_bytes_of_cstring(target->address),
                                       .url = ts_bytes_of_cstring(is_other_url ? target->url : ""),
                                       .selection = ts_bytes_of_cstring(target->selection),
                                       .is_sha256 = strcmp(target->format, "sha256") == 0};
    uint8_t bytes[TS_FLEET_UNIT_MAX];
    const size_t len = ts_fleet_unit_encode(&unit, bytes);
    uint8_t *kept = len > 0 ? ts_arena_take(arena, len) : NULL;
    if (kept != NULL)
        memcpy(kept, bytes, len);
    return (struct ts_bytes){kept, kept != NULL || len == 0 ? len : 1};
}

static bool fill(struct shards *shards, struct ts_coord *coord, const struct ts_submission *submission,
                 struct ts_submit_error *ret_error) {
    for (size_t i = 0; i < submission->targets->count; i++) {
        const struct ts_target *target = &submission->targets->items[i];
        struct ts_new_shard *shard = &shards->list[i];
        shards->keys[i] = ts_coord_target_keys_of(target->id.bytes);
        *shard = (struct ts_new_shard){.has_id = true,
                                       .spec.range = ts_coord_target_range(&shards->keys[i]),
                                       .unit = unit_of(&shards->arena, target)};
        if (shard->unit.len == 0)
            return refuse(ret_error, TS_VARIANT_RESOURCE_EXHAUSTED);
        if (shard->unit.data == NULL)
            return no_memory(ret_error);
        if (!ts_coord_target_shard_id(submission->run, target->id.bytes, ts_coord_router(coord),
                                      &shard->id)) {
            ret_error->detail.infra = (struct ts_infra_error){
                .kind = TS_INFRA_PERMANENT,
                .text =
                    "the routing of the cluster leaves a store without shards; use a hash, or a range below 2^63"};
            return refuse(ret_error, TS_VARIANT_BACKEND_ERROR);
        }
    }
    return true;
}

static bool submit(struct ts_coord *coord, const struct ts_submission *submission,
                   const struct shards *shards, struct ts_submitted *submitted,
                   struct ts_submit_error *ret_error) {
    const struct ts_coord_list_op op = {
        .create = {.tenant = submission->tenant, .run = submission->run, .config = submission->config},
        .shards = {shards->list, submission->targets->count},
        .op_id = {submission->run.v},
        .step_max = STEP_MAX,
        .condition_key = submission->condition_key,
        .condition_version = submission->condition_version};
    struct ts_coord_outcome outcome;
    const enum ts_create_run_error error =
        ts_coord_create_run_in_steps(coord, &op, NULL, &outcome, &ret_error->detail);
    if (error != TS_CREATE_RUN_OK)
        return refuse(ret_error, ts_create_run_error_variant(error));
    submitted->is_new = outcome.outcome == TS_OUTCOME_EXECUTED;
    const struct ts_coord_run_query query = {.tenant = submission->tenant, .run = submission->run};
    const enum ts_get_run_error got = ts_coord_get_run(coord, &query, &submitted->run, &ret_error->detail);
    return got == TS_GET_RUN_OK || refuse(ret_error, ts_get_run_error_variant(got));
}

bool ts_submit(struct ts_coord *coord, const struct ts_submission *submission,
               struct ts_submitted *ret_submitted, struct ts_submit_error *ret_error) {
    struct ts_submitted submitted = {0};
    struct shards shards = {0};
    *ret_error = (struct ts_submit_error){
        .variant = TS_VARIANT_NONE, .detail.resource = "a unit: an address, URL or selection is too long"};
    bool done = init_shards(&shards, submission->targets->count) || no_memory(ret_error);
    done = done && fill(&shards, coord, submission, ret_error) &&
           submit(coord, submission, &shards, &submitted, ret_error);
    release_shards(&shards);
    if (done)
        *ret_submitted = submitted;
    return done;
}
