/*
 * turnstone/coord.h over the driver: answers, runs, and reading shards. Workers are in public_worker.c.
 */
#include "public.h"

#include "base/assert.h"
#include "os/entropy.h"
#include "os/grow.h"

#include <stdlib.h>
#include <string.h>

struct ts_coord *ts_coord_open(struct ts_cluster *cluster, struct ts_coordinator *coordinator) {
    return ts_coord_new(cluster, coordinator, NULL);
}

void ts_coord_close(struct ts_coord *coord) {
    ts_coord_free(coord);
}

bool ts_op_id_draw(struct ts_op_id *ret_op_id) {
    struct ts_op_id drawn;
    if (!ts_entropy_fill(&drawn, sizeof drawn))
        return false;
    *ret_op_id = drawn;
    return true;
}

bool coord__tenant_named(const char *name, struct ts_tenant_id *ret_tenant) {
    return name != NULL && ts_tenant_id_from_text(ts_bytes_of_cstring(name), ret_tenant);
}

struct ts_cursor coord__cursor_of(struct ts_bytes key, struct ts_bytes token) {
    return (struct ts_cursor){
        .has_key = key.len > 0, .has_token = token.len > 0, .last_key = key, .token = token};
}

/* ---- answers ---- */

struct ts_coord_answer *ts_coord_answer_new(void) {
    return calloc(1, sizeof(struct ts_coord_answer));
}

void ts_coord_answer_free(struct ts_coord_answer *answer) {
    free(answer);
}

struct ts_coord_answer *coord__answer_begin(struct ts_coord_answer *given, struct ts_coord_answer *own) {
    struct ts_coord_answer *answer = given != NULL ? given : own;
    memset(answer, 0, sizeof *answer);
    return answer;
}

void coord__answer_end(struct ts_coord_answer *answer, enum ts_error_variant variant,
                       const struct ts_coord_outcome *outcome) {
    answer->variant = variant;
    answer->is_replay =
        variant == TS_VARIANT_NONE && outcome != NULL && outcome->outcome == TS_OUTCOME_REPLAYED;
    if (variant != TS_VARIANT_NONE)
        (void)ts_error_display(variant, &answer->detail, answer->text, sizeof answer->text);
}

const char *ts_coord_answer_name(const struct ts_coord_answer *answer) {
    return ts_error_variant_name(answer->variant);
}

const char *ts_coord_answer_text(const struct ts_coord_answer *answer) {
    return answer->text;
}

enum ts_coord_class ts_coord_answer_class(const struct ts_coord_answer *answer) {
    return ts_error_class_of(answer->variant, &answer->detail);
}

enum ts_infra_kind ts_coord_answer_backend(const struct ts_coord_answer *answer) {
    return answer->variant == TS_VARIANT_BACKEND_ERROR ? answer->detail.infra.kind : TS_INFRA_RETRYABLE;
}

bool ts_coord_answer_is_replay(const struct ts_coord_answer *answer) {
    return answer->is_replay;
}

struct ts_logical_time ts_coord_answer_retry_at(const struct ts_coord_answer *answer) {
    if (answer->variant == TS_VARIANT_THROTTLED)
        return answer->detail.retry_after;
    if (answer->variant == TS_VARIANT_NONE_AVAILABLE && answer->detail.has_deadline)
        return answer->detail.deadline;
    return (struct ts_logical_time){0};
}

/* ---- plans ---- */

struct ts_run_plan {
    struct ts_create_run_op create;
    struct ts_new_shard *shards; /* the plan owns the bytes of the shards */
    size_t shard_count;
    size_t shard_capacity;
};

struct ts_run_plan *ts_run_plan_new(const char *tenant, struct ts_run_id run) {
    struct ts_tenant_id id;
    struct ts_run_plan *plan = coord__tenant_named(tenant, &id) ? calloc(1, sizeof *plan) : NULL;
    if (plan != NULL)
        plan->create = (struct ts_create_run_op){.tenant = id, .run = run, .config = ts_run_config_default()};
    return plan;
}

void ts_run_plan_free(struct ts_run_plan *plan) {
    if (plan == NULL)
        return;
    for (size_t i = 0; i < plan->shard_count; i++)
        free((void *)(uintptr_t)plan->shards[i].spec.range.start.data);
    free(plan->shards);
    free(plan);
}

bool ts_run_plan_set(struct ts_run_plan *plan, enum ts_run_setting setting, uint64_t value) {
    struct ts_run_config *config = &plan->create.config;
    switch (setting) {
    case TS_RUN_LEASE_MS:
        config->lease_duration_ms = value;
        return true;
    case TS_RUN_ATTEMPTS:
        config->attempts = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
        return true;
    case TS_RUN_COOLDOWN_MS:
        config->cooldown_ms = value;
        return true;
    case TS_RUN_SHARD_MAX:
        config->shard_max = value;
        return true;
    case TS_RUN_DISPATCHED:
        config->semantics = (enum ts_cursor_semantics)(value < UINT8_MAX ? value : UINT8_MAX);
        return true;
    }
    return false;
}

void ts_run_plan_set_pin(struct ts_run_plan *plan, struct ts_pin pin) {
    plan->create.config.pin = pin;
}

static struct ts_bytes copy_to(uint8_t **at, struct ts_bytes bytes) {
    struct ts_bytes copy = ts_bytes_of(*at, bytes.len);
    if (bytes.len > 0)
        memcpy(*at, bytes.data, bytes.len);
    *at += bytes.len;
    return copy;
}

bool ts_run_plan_add_shard(struct ts_run_plan *plan, struct ts_bytes start, struct ts_bytes end,
                           struct ts_bytes metadata) {
    /* One allocation holds all three texts, and begins with `start`. */
    uint8_t *memory = TS_GROW(plan->shards, plan->shard_capacity, plan->shard_count + 1)
                          ? malloc(start.len + end.len + metadata.len + 1)
                          : NULL;
    if (memory == NULL)
        return false;
    struct ts_new_shard *shard = &plan->shards[plan->shard_count++];
    *shard = (struct ts_new_shard){.has_id = false};
    shard->spec.range.start = copy_to(&memory, start);
    shard->spec.range.end = copy_to(&memory, end);
    shard->spec.metadata = copy_to(&memory, metadata);
    return true;
}

static struct ts_register_op registration_of(const struct ts_run_plan *plan, struct ts_op_id op_id) {
    return (struct ts_register_op){.tenant = plan->create.tenant,
                                   .run = plan->create.run,
                                   .op_id = op_id,
                                   .shards = {.list = plan->shards, .count = plan->shard_count}};
}

static void out_of_memory(struct ts_coord_answer *answer) {
    static const char text[] = "out of memory";
    answer->detail.infra.kind = TS_INFRA_RETRYABLE;
    memcpy(answer->detail.infra.text, text, sizeof text);
}

/* ---- runs ---- */

static enum ts_create_run_error create_with_shards(struct ts_coord *coord, const struct ts_run_plan *plan,
                                                   struct ts_op_id op_id, struct ts_coord_outcome *outcome,
                                                   struct ts_coord_answer *answer) {
    struct ts_register_op shards = registration_of(plan, op_id);
    struct ts_manifest_memory *memory = malloc(sizeof *memory);
    if (memory == NULL) {
        out_of_memory(answer);
        return TS_CREATE_RUN_BACKEND_ERROR;
    }
    enum ts_create_run_error error =
        ts_coord_create_run_with_shards(coord, &plan->create, &shards, memory, outcome, &answer->detail);
    free(memory);
    return error;
}

enum ts_create_run_error ts_run_create(struct ts_coord *coord, const struct ts_run_plan *plan,
                                       struct ts_op_id op_id, struct ts_coord_answer *ret_answer) {
    struct ts_coord_answer own;
    struct ts_coord_answer *answer = coord__answer_begin(ret_answer, &own);
    struct ts_coord_outcome outcome = {.outcome = TS_OUTCOME_EXECUTED};
    enum ts_create_run_error error = plan->shard_count > 0
                                         ? create_with_shards(coord, plan, op_id, &outcome, answer)
                                         : ts_coord_create_run(coord, &plan->create, NULL, &answer->detail);
    coord__answer_end(answer, ts_create_run_error_variant(error), &outcome);
    return error;
}

enum ts_create_run_error ts_run_create_in_steps(struct ts_coord *coord, const struct ts_run_plan *plan,
                                                struct ts_op_id op_id, struct ts_coord_answer *ret_answer) {
    struct ts_coord_answer own;
    struct ts_coord_answer *answer = coord__answer_begin(ret_answer, &own);
    struct ts_coord_outcome outcome = {.outcome = TS_OUTCOME_EXECUTED};
    const struct ts_coord_list_op op = {
        .create = plan->create, .shards = {.list = plan->shards, .count = plan->shard_count}, .op_id = op_id};
    enum ts_create_run_error error =
        ts_coord_create_run_in_steps(coord, &op, NULL, &outcome, &answer->detail);
    coord__answer_end(answer, ts_create_run_error_variant(error), &outcome);
    return error;
}

bool ts_run_of_request(const char *tenant, const char *request, struct ts_run_id *ret_run,
                       struct ts_op_id *ret_op_id) {
    struct ts_tenant_id id;
    return request != NULL && coord__tenant_named(tenant, &id) &&
           ts_request_ids(&id, ts_bytes_of_cstring(request), ret_run, ret_op_id);
}

enum ts_register_shards_error ts_run_register(struct ts_coord *coord, const struct ts_run_plan *plan,
                                              struct ts_op_id op_id, struct ts_coord_answer *ret_answer) {
    struct ts_coord_answer own;
    struct ts_coord_answer *answer = coord__answer_begin(ret_answer, &own);
    struct ts_coord_outcome outcome = {.outcome = TS_OUTCOME_EXECUTED};
    enum ts_register_shards_error error = TS_REGISTER_SHARDS_BACKEND_ERROR;
    struct ts_register_op shards = registration_of(plan, op_id);
    struct ts_manifest_memory *memory = malloc(sizeof *memory);
    if (memory != NULL)
        error = ts_coord_register_shards(coord, &shards, memory, &outcome, &answer->detail);
    else
        out_of_memory(answer);
    free(memory);
    coord__answer_end(answer, ts_register_shards_error_variant(error), &outcome);
    return error;
}

static enum ts_run_op_kind kind_of(enum ts_run_ending ending) {
    switch (ending) {
    case TS_RUN_COMPLETE:
        return TS_RUN_OP_COMPLETE_RUN;
    case TS_RUN_FAIL:
        return TS_RUN_OP_FAIL_RUN;
    case TS_RUN_CANCEL:
        return TS_RUN_OP_CANCEL_RUN;
    }
    ts_unreachable("every ending is one of these");
}

enum ts_run_transition_error ts_run_end(struct ts_coord *coord, const char *tenant, struct ts_run_id run,
                                        enum ts_run_ending ending, struct ts_op_id op_id,
                                        struct ts_coord_answer *ret_answer) {
    struct ts_coord_answer own;
    struct ts_coord_answer *answer = coord__answer_begin(ret_answer, &own);
    struct ts_coord_outcome outcome = {.outcome = TS_OUTCOME_EXECUTED};
    struct ts_end_run_op op = {.run = run, .op_id = op_id, .kind = kind_of(ending)};
    enum ts_run_transition_error error = TS_RUN_TRANSITION_RUN_NOT_FOUND;
    if (coord__tenant_named(tenant, &op.tenant))
        error = ts_coord_end_run(coord, &op, &outcome, &answer->detail);
    coord__answer_end(answer, ts_run_transition_error_variant(error), &outcome);
    return error;
}

enum ts_delete_run_error ts_run_delete(struct ts_coord *coord, const char *tenant, struct ts_run_id run,
                                       struct ts_coord_answer *ret_answer) {
    struct ts_coord_answer own;
    struct ts_coord_answer *answer = coord__answer_begin(ret_answer, &own);
    struct ts_coord_run_query query = {.run = run};
    struct ts_coord_deleted deleted;
    enum ts_delete_run_error error = TS_DELETE_RUN_OK;
    if (coord__tenant_named(tenant, &query.tenant))
        error = ts_coord_delete_run(coord, &query, &deleted, &answer->detail);
    coord__answer_end(answer, ts_delete_run_error_variant(error), NULL);
    return error;
}

struct ts_run_info {
    struct ts_run_record run;
    struct ts_shard_counts counts;
};

static enum ts_get_run_error look(struct ts_coord *coord, const struct ts_coord_run_query *query,
                                  struct ts_run_info **ret_info, struct ts_coord_answer *answer) {
    struct ts_run_info *info = malloc(sizeof *info);
    if (info == NULL) {
        out_of_memory(answer);
        return TS_GET_RUN_BACKEND_ERROR;
    }
    enum ts_get_run_error error = ts_coord_get_run(coord, query, &info->run, &answer->detail);
    if (error == TS_GET_RUN_OK)
        error = ts_coord_run_counts(coord, query, &info->counts, &answer->detail);
    if (error == TS_GET_RUN_OK)
        *ret_info = info;
    else
        free(info);
    return error;
}

enum ts_get_run_error ts_run_look(struct ts_coord *coord, const char *tenant, struct ts_run_id run,
                                  struct ts_run_info **ret_info, struct ts_coord_answer *ret_answer) {
    struct ts_coord_answer own;
    struct ts_coord_answer *answer = coord__answer_begin(ret_answer, &own);
    struct ts_coord_run_query query = {.run = run};
    enum ts_get_run_error error = TS_GET_RUN_RUN_NOT_FOUND;
    if (coord__tenant_named(tenant, &query.tenant))
        error = look(coord, &query, ret_info, answer);
    coord__answer_end(answer, ts_get_run_error_variant(error), NULL);
    return error;
}

void ts_run_info_free(struct ts_run_info *info) {
    free(info);
}

enum ts_run_status ts_run_info_status(const struct ts_run_info *info) {
    return info->run.status;
}

uint64_t ts_run_info_number(const struct ts_run_info *info) {
    return info->run.number;
}

uint64_t ts_run_info_lease_ms(const struct ts_run_info *info) {
    return info->run.config.lease_duration_ms;
}

struct ts_pin ts_run_info_pin(const struct ts_run_info *info) {
    return info->run.config.pin;
}

uint64_t ts_run_info_shards(const struct ts_run_info *info, enum ts_shard_status status) {
    switch (status) {
    case TS_SHARD_ACTIVE:
        return info->counts.active;
    case TS_SHARD_DONE:
        return info->counts.done;
    case TS_SHARD_SPLIT:
        return info->counts.split;
    case TS_SHARD_PARKED:
        return info->counts.parked;
    }
    return 0;
}

struct run_visit {
    bool (*visit)(void *context, struct ts_run_id run, enum ts_run_status status);
    void *context;
};

static bool visit_run(void *context, const struct ts_run_record *run) {
    const struct run_visit *visit = context;
    return visit->visit(visit->context, run->run, run->status);
}

enum ts_get_run_error ts_run_each(struct ts_coord *coord, const char *tenant,
                                  bool (*visit)(void *context, struct ts_run_id run,
                                                enum ts_run_status status),
                                  void *context, struct ts_coord_answer *ret_answer) {
    struct ts_coord_answer own;
    struct ts_coord_answer *answer = coord__answer_begin(ret_answer, &own);
    struct ts_coord_runs_query query = {.damaged = NULL};
    struct run_visit through = {.visit = visit, .context = context};
    enum ts_get_run_error error = TS_GET_RUN_OK;
    if (coord__tenant_named(tenant, &query.filter.tenant))
        error = ts_coord_list_runs(coord, &query, visit_run, &through, &answer->detail);
    coord__answer_end(answer, ts_get_run_error_variant(error), NULL);
    return error;
}

/* ---- reading shards ---- */

struct visit {
    bool (*visit)(void *context, const struct ts_shard_info *shard);
    void *context;
};

static bool visit_shard(void *context, const struct ts_coord_shard_view *view) {
    const struct visit *visit = context;
    struct ts_shard_info info = {.view = view};
    return visit->visit(visit->context, &info);
}

enum ts_get_run_error ts_run_each_shard(struct ts_coord *coord, const char *tenant, struct ts_run_id run,
                                        bool (*visit)(void *context, const struct ts_shard_info *shard),
                                        void *context, struct ts_coord_answer *ret_answer) {
    struct ts_coord_answer own;
    struct ts_coord_answer *answer = coord__answer_begin(ret_answer, &own);
    struct ts_coord_shard_query query = {.has_after = false};
    struct visit through = {.visit = visit, .context = context};
    query.run.run = run;
    enum ts_get_run_error error = TS_GET_RUN_RUN_NOT_FOUND;
    if (coord__tenant_named(tenant, &query.run.tenant))
        error = ts_coord_list_shards(coord, &query, visit_shard, &through, &answer->detail);
    coord__answer_end(answer, ts_get_run_error_variant(error), NULL);
    return error;
}

struct ts_shard_id ts_shard_info_id(const struct ts_shard_info *shard) {
    return shard->view->record->key.shard;
}

enum ts_shard_status ts_shard_info_status(const struct ts_shard_info *shard) {
    return shard->view->record->status;
}

struct ts_fence_epoch ts_shard_info_fence(const struct ts_shard_info *shard) {
    return shard->view->record->fence;
}

bool ts_shard_info_is_leased(const struct ts_shard_info *shard) {
    return ts_shard_record_is_leased_at(shard->view->record, shard->view->now);
}

uint64_t ts_shard_info_attempts(const struct ts_shard_info *shard) {
    return shard->view->record->attempts;
}

enum ts_park_reason ts_shard_info_park_reason(const struct ts_shard_info *shard) {
    const struct ts_shard_record *record = shard->view->record;
    return record->has_park_reason ? record->park_reason : TS_PARK_OTHER;
}

struct ts_bytes ts_shard_info_start(const struct ts_shard_info *shard) {
    return shard->view->record->spec.range.start;
}

struct ts_bytes ts_shard_info_end(const struct ts_shard_info *shard) {
    return shard->view->record->spec.range.end;
}

struct ts_bytes ts_shard_info_key(const struct ts_shard_info *shard) {
    const struct ts_cursor *cursor = &shard->view->record->cursor;
    return cursor->has_key ? cursor->last_key : (struct ts_bytes){NULL, 0};
}

struct ts_bytes ts_shard_info_token(const struct ts_shard_info *shard) {
    const struct ts_cursor *cursor = &shard->view->record->cursor;
    return cursor->has_token ? cursor->token : (struct ts_bytes){NULL, 0};
}

struct ts_bytes ts_shard_info_metadata(const struct ts_shard_info *shard) {
    return shard->view->record->spec.metadata;
}

enum ts_unpark_error ts_shard_unpark(struct ts_coord *coord, const char *tenant, struct ts_run_id run,
                                     struct ts_shard_id shard, struct ts_op_id op_id,
                                     struct ts_coord_answer *ret_answer) {
    struct ts_coord_answer own;
    struct ts_coord_answer *answer = coord__answer_begin(ret_answer, &own);
    struct ts_coord_outcome outcome = {.outcome = TS_OUTCOME_EXECUTED};
    struct ts_unpark_op op = {.shard = {.run = run, .shard = shard}, .op_id = op_id};
    enum ts_unpark_error error = TS_UNPARK_SHARD_NOT_FOUND;
    if (coord__tenant_named(tenant, &op.tenant))
        error = ts_coord_unpark(coord, &op, &outcome, &answer->detail);
    coord__answer_end(answer, ts_unpark_error_variant(error), &outcome);
    return error;
}
