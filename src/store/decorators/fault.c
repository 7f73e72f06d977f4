/*
 * A call through this decorator:
 *
 *   start ─► struck? ─no─────────────► INSIDE ─► answered as the store inside answers
 *             │ ERROR, LOST_REQUEST ─► done
 *             │ LOST_REPLY ──────────► INSIDE ─► done, UNKNOWN
 *             │ DELAY ───────────────► DELAYED ─► INSIDE
 *             │ LATE ────────────────► HANGS, and a copy of the call is kept
 *             │ CRASH_AFTER ─────────► INSIDE ─► HANGS, the store is down
 *             └ CRASH_BEFORE, down ──► HANGS
 *
 * HANGS ends at the deadline, or (CRASH) when the store is revived.
 */
#include "store/decorators/fault.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "decorate.h"
#include "os/grow.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

struct rule {
    struct ts_fault_rule rule;
    uint64_t seen;
    uint64_t struck;
};

/* A call that LATE has kept, with copies of everything that it points to. Its caller no longer waits for
 * it. */
struct late {
    struct ts_call call;
    bool started;
    char gid[TS_STORE_GID_MAX + 1];
    struct ts_op *ops;
    uint8_t *bytes;
};

struct fault_store {
    struct ts_store head;
    struct ts_store *inside;
    pthread_mutex_t mutex; /* guards the fields below */
    struct ts_prng prng;
    struct rule rules[TS_FAULT_RULES_MAX];
    size_t rule_count;
    uint64_t count;
    bool down;
    uint64_t revivals;
    int revived_fd; /* readable while the store is not down */
    struct late **late;
    size_t late_count;
    size_t late_capacity;
};

enum stage { STAGE_INSIDE, STAGE_DELAYED, STAGE_HANGS };

struct fault_call {
    struct ts_call inner;
    enum stage stage;
    bool reply_lost; /* the call ends with UNKNOWN after the inner store has answered */
    bool then_hangs;
    bool late;
    uint64_t until_ns; /* DELAYED: when the delay ends */
    uint64_t revivals; /* HANGS: number of revivals when the call began to hang */
    int timer_fd;
};

static uint64_t now_ns(const struct ts_store *store) {
    return store->clock->monotonic_ns(store->clock->context);
}

static bool is_for(const struct ts_fault_rule *rule, const struct ts_call *call) {
    if (rule->calls != 0 && (rule->calls & TS_FAULT_CALL(call->kind)) == 0)
        return false;
    if (rule->puts.len == 0)
        return true;
    if (call->kind != TS_CALL_APPLY && call->kind != TS_CALL_PREPARE)
        return false;
    for (size_t i = 0; i < call->batch.count; i++)
        if (call->batch.ops[i].kind == TS_OP_PUT && ts_bytes_starts_with(call->batch.ops[i].key, rule->puts))
            return true;
    return false;
}

/* Returns the rule that applies to a call, or NULL. The caller holds the mutex. */
static const struct ts_fault_rule *strike(struct fault_store *store, const struct ts_call *call) {
    const struct ts_fault_rule *struck = NULL;
    for (size_t i = 0; i < store->rule_count; i++) {
        struct rule *at = &store->rules[i];
        const struct ts_fault_rule *rule = &at->rule;
        if (!is_for(rule, call))
            continue;
        bool ripe = at->seen++ >= rule->after && (rule->times == 0 || at->struck < rule->times);
        /* Draws a random number even if another rule applies already, so that rules do not affect each
         * other's draws. */
        bool hit = ripe && (rule->chance.denominator == 0 || ts_prng_chance(&store->prng, rule->chance));
        if (hit && struck == NULL) {
            at->struck++;
            store->count++;
            struck = rule;
        }
    }
    return struck;
}

static void end(struct ts_call *call) {
    struct fault_call *mine = call->engine_state;
    if (mine->timer_fd >= 0)
        close(mine->timer_fd);
    free(mine);
    call->engine_state = NULL;
    call->done = true;
}

static void end_unknown(struct ts_call *call, const char *why) {
    if (call->rows != NULL)
        ts_rows_clear(call->rows);
    (void)store__error(&call->error, TS_STORE_UNKNOWN, SIZE_MAX, "%.120s: %s", call->store->name, why);
    end(call);
}

static void go_down(struct fault_store *store) {
    pthread_mutex_lock(&store->mutex);
    eventfd_t ignored;
    (void)eventfd_read(store->revived_fd, &ignored);
    store->down = true;
    pthread_mutex_unlock(&store->mutex);
}

static void hang(struct fault_store *store, struct fault_call *mine) {
    pthread_mutex_lock(&store->mutex);
    mine->stage = STAGE_HANGS;
    mine->revivals = store->revivals;
    pthread_mutex_unlock(&store->mutex);
}

/* Continues the outer call when the inner store has answered. */
static void follow(struct fault_store *store, struct ts_call *call) {
    struct fault_call *mine = call->engine_state;
    if (!mine->inner.done)
        return;
    if (mine->then_hangs) {
        go_down(store);
        hang(store, mine);
    } else if (mine->reply_lost) {
        end_unknown(call, "the reply was lost");
    } else {
        store__call_copy_answer(&mine->inner, call);
        end(call);
    }
}

static void go_inside(struct fault_store *store, struct ts_call *call) {
    struct fault_call *mine = call->engine_state;
    mine->stage = STAGE_INSIDE;
    ts_store_start(store->inside, &mine->inner);
    follow(store, call);
}

static size_t bytes_of(const struct ts_batch *batch) {
    size_t bytes = 0;
    for (size_t i = 0; i < batch->count; i++)
        bytes += batch->ops[i].key.len + batch->ops[i].value.len;
    return bytes;
}

static struct ts_bytes keep_bytes(uint8_t **at, struct ts_bytes bytes) {
    if (bytes.len > 0)
        memcpy(*at, bytes.data, bytes.len);
    struct ts_bytes kept = {.data = *at, .len = bytes.len};
    *at += bytes.len;
    return kept;
}

static void free_late(struct late *late) {
    free(late->ops);
    free(late->bytes);
    free(late);
}

static struct late *copy_call(const struct ts_call *call) {
    struct late *late = calloc(1, sizeof *late);
    if (late == NULL)
        return NULL;
    late->call.kind = call->kind;
    if (call->gid != NULL) {
        memcpy(late->gid, call->gid, strlen(call->gid));
        late->call.gid = late->gid;
    }
    late->ops = calloc(call->batch.count + 1, sizeof *late->ops);
    late->bytes = malloc(bytes_of(&call->batch) + 1);
    if (late->ops == NULL || late->bytes == NULL) {
        free_late(late);
        return NULL;
    }
    uint8_t *at = late->bytes;
    for (size_t i = 0; i < call->batch.count; i++) {
        late->ops[i] = call->batch.ops[i];
        late->ops[i].key = keep_bytes(&at, call->batch.ops[i].key);
        late->ops[i].value = keep_bytes(&at, call->batch.ops[i].value);
    }
    late->call.batch = (struct ts_batch){.ops = late->ops, .count = call->batch.count};
    return late;
}

/* Keeps a copy of the call. If memory runs out, the request is lost instead; the caller cannot see the
 * difference. */
static void keep_late(struct fault_store *store, const struct ts_call *call) {
    struct late *late = copy_call(call);
    pthread_mutex_lock(&store->mutex);
    if (late != NULL && TS_GROW(store->late, store->late_capacity, store->late_count + 1))
        store->late[store->late_count++] = late;
    else if (late != NULL)
        free_late(late);
    pthread_mutex_unlock(&store->mutex);
}

static void obey(struct fault_store *store, struct ts_call *call, const struct ts_fault_rule *rule) {
    struct fault_call *mine = call->engine_state;
    const uint64_t million = 1000000;
    switch (rule->kind) {
    case TS_FAULT_ERROR:
        (void)store__error(&call->error, rule->result, SIZE_MAX, "%.120s: %s, injected by a fault rule",
                           store->head.name, ts_store_result_text(rule->result));
        end(call);
        return;
    case TS_FAULT_LOST_REQUEST:
        end_unknown(call, "the request was lost");
        return;
    case TS_FAULT_LOST_REPLY:
        mine->reply_lost = true;
        go_inside(store, call);
        return;
    case TS_FAULT_DELAY:
        mine->stage = STAGE_DELAYED;
        mine->until_ns = now_ns(&store->head) + rule->delay_ms * million;
        return;
    case TS_FAULT_LATE:
        if (!store__call_changes(call->kind)) {
            end_unknown(call, "the request was lost");
            return;
        }
        keep_late(store, call);
        mine->late = true;
        hang(store, mine);
        return;
    case TS_FAULT_CRASH_BEFORE:
        go_down(store);
        hang(store, mine);
        return;
    case TS_FAULT_CRASH_AFTER:
        mine->then_hangs = true;
        go_inside(store, call);
        return;
    }
}

static void start(struct ts_store *head, struct ts_call *call) {
    struct fault_store *store = (struct fault_store *)head;
    struct fault_call *mine = calloc(1, sizeof *mine);
    if (mine == NULL) {
        (void)store__error(&call->error, TS_STORE_FAILED, SIZE_MAX, "%.120s: out of memory", head->name);
        call->done = true;
        return;
    }
    mine->timer_fd = -1;
    call->engine_state = mine;
    store__call_copy_request(call, &mine->inner);
    pthread_mutex_lock(&store->mutex);
    bool down = store->down;
    const struct ts_fault_rule *struck = down ? NULL : strike(store, call);
    struct ts_fault_rule rule = {0};
    if (struck != NULL)
        rule = *struck;
    pthread_mutex_unlock(&store->mutex);
    if (down)
        hang(store, mine);
    else if (struck != NULL)
        obey(store, call, &rule);
    else
        go_inside(store, call);
}

static bool was_revived(struct fault_store *store, const struct fault_call *mine) {
    pthread_mutex_lock(&store->mutex);
    bool revived = !mine->late && mine->revivals != store->revivals;
    pthread_mutex_unlock(&store->mutex);
    return revived;
}

static void step(struct ts_store *head, struct ts_call *call) {
    struct fault_store *store = (struct fault_store *)head;
    struct fault_call *mine = call->engine_state;
    switch (mine->stage) {
    case STAGE_INSIDE:
        (void)ts_store_poll(&mine->inner);
        follow(store, call);
        return;
    case STAGE_DELAYED:
        if (now_ns(head) >= mine->until_ns)
            go_inside(store, call);
        return;
    case STAGE_HANGS:
        if (was_revived(store, mine))
            end_unknown(call, "the store stopped");
        return;
    }
}

static void expire(struct ts_store *head, struct ts_call *call) {
    struct fault_call *mine = call->engine_state;
    switch (mine->stage) {
    case STAGE_INSIDE:
        ts_store_cancel(&mine->inner);
        follow((struct fault_store *)head, call);
        if (!call->done)
            end_unknown(call, "no answer until the deadline");
        return;
    case STAGE_DELAYED:
        (void)store__error(&call->error, TS_STORE_TIMED_OUT, SIZE_MAX, "%.120s: not sent until the deadline",
                           head->name);
        end(call);
        return;
    case STAGE_HANGS:
        end_unknown(call, "no answer until the deadline");
        return;
    }
}

static struct pollfd wait_for(struct ts_store *head, struct ts_call *call) {
    struct fault_store *store = (struct fault_store *)head;
    struct fault_call *mine = call->engine_state;
    struct pollfd ready = {.fd = -1, .events = POLLIN};
    switch (mine->stage) {
    case STAGE_INSIDE:
        if (!mine->inner.done)
            ready = store__call_wait_inside(call, &mine->inner);
        break;
    case STAGE_DELAYED:
        if (mine->timer_fd < 0)
            mine->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (mine->timer_fd >= 0) {
            const uint64_t second_ns = 1000000000;
            const struct itimerspec at = {.it_value = {.tv_sec = (time_t)(mine->until_ns / second_ns),
                                                       .tv_nsec = (long)(mine->until_ns % second_ns)}};
            ts_assert(timerfd_settime(mine->timer_fd, TFD_TIMER_ABSTIME, &at, NULL) == 0);
        }
        ready.fd = mine->timer_fd;
        break;
    case STAGE_HANGS:
        /* A late call waits for its deadline only, so it polls no events of the descriptor. */
        ready = (struct pollfd){.fd = store->revived_fd, .events = mine->late ? 0 : POLLIN};
        break;
    }
    return ready;
}

static enum ts_store_result meta_read(struct ts_store *head, uint64_t deadline_ns, struct ts_meta *ret_meta,
                                      struct ts_store_error *ret_error) {
    struct ts_store *inside = ((struct fault_store *)head)->inside;
    if (ts_fault_is_down(head))
        return store__error(ret_error, TS_STORE_UNAVAILABLE, SIZE_MAX, "%.120s: the store is down",
                            head->name);
    return inside->engine->meta_read(inside, deadline_ns, ret_meta, ret_error);
}

static enum ts_store_result meta_write(struct ts_store *head, uint64_t deadline_ns,
                                       const struct ts_meta *meta, struct ts_store_error *ret_error) {
    struct ts_store *inside = ((struct fault_store *)head)->inside;
    if (ts_fault_is_down(head))
        return store__error(ret_error, TS_STORE_UNAVAILABLE, SIZE_MAX, "%.120s: the store is down",
                            head->name);
    return inside->engine->meta_write(inside, deadline_ns, meta, ret_error);
}

static enum ts_store_result identify(struct ts_store *head, uint64_t deadline_ns,
                                     char ret_text[static STORE_IDENTITY_SIZE],
                                     struct ts_store_error *ret_error) {
    return store__identify(((struct fault_store *)head)->inside, deadline_ns, ret_text, ret_error);
}

static enum ts_store_result past_read(struct ts_store *head, struct store__past *ret_past,
                                      struct ts_store_error *ret_error) {
    return store__past_read(((struct fault_store *)head)->inside, ret_past, ret_error);
}

static enum ts_store_result past_write(struct ts_store *head, const struct store__past *past, bool sync,
                                       struct ts_store_error *ret_error) {
    return store__past_write(((struct fault_store *)head)->inside, past, sync, ret_error);
}

static uint64_t timeline(struct ts_store *head) {
    struct ts_store *inside = ((struct fault_store *)head)->inside;
    return inside->engine->timeline != NULL ? inside->engine->timeline(inside) : STORE_NO_TIMELINE;
}

static void refuse_below(struct ts_store *head, uint64_t timeline) {
    struct ts_store *inside = ((struct fault_store *)head)->inside;
    if (inside->engine->refuse_below != NULL)
        inside->engine->refuse_below(inside, timeline);
}

static void expect(struct ts_store *head, const struct ts_meta *meta) {
    struct ts_store *inside = ((struct fault_store *)head)->inside;
    inside->engine->expect(inside, meta);
}

static void close_store(struct ts_store *head) {
    struct fault_store *store = (struct fault_store *)head;
    for (size_t i = 0; i < store->late_count; i++) {
        if (store->late[i]->started)
            ts_store_cancel(&store->late[i]->call);
        free_late(store->late[i]);
    }
    free(store->late);
    close(store->revived_fd);
    pthread_mutex_destroy(&store->mutex);
    store->inside->engine->close(store->inside);
    free(store);
}

static const struct ts_engine engine = {
    .name = "fault",
    .start = start,
    .step = step,
    .expire = expire,
    .wait_for = wait_for,
    .meta_read = meta_read,
    .meta_write = meta_write,
    .identify = identify,
    .past_read = past_read,
    .past_write = past_write,
    .timeline = timeline,
    .refuse_below = refuse_below,
    .expect = expect,
    .close = close_store,
};

static struct fault_store *fault_of(struct ts_store *store) {
    ts_assert(store->engine == &engine);
    return (struct fault_store *)store;
}

struct ts_store *ts_fault_new(struct ts_store *inside, uint64_t seed) {
    struct fault_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return NULL;
    store->revived_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    if (store->revived_fd < 0 || pthread_mutex_init(&store->mutex, NULL) != 0) {
        if (store->revived_fd >= 0)
            close(store->revived_fd);
        free(store);
        return NULL;
    }
    store->head.engine = &engine;
    store->head.clock = inside->clock;
    store->head.is_exclusive = inside->is_exclusive;
    snprintf(store->head.name, sizeof store->head.name, "%s", inside->name);
    store->inside = inside;
    ts_prng_init(&store->prng, seed);
    return &store->head;
}

void ts_fault_add(struct ts_store *store, const struct ts_fault_rule *rule) {
    struct fault_store *fault = fault_of(store);
    pthread_mutex_lock(&fault->mutex);
    ts_assert(fault->rule_count < TS_FAULT_RULES_MAX);
    fault->rules[fault->rule_count++] = (struct rule){.rule = *rule};
    pthread_mutex_unlock(&fault->mutex);
}

void ts_fault_clear(struct ts_store *store) {
    struct fault_store *fault = fault_of(store);
    pthread_mutex_lock(&fault->mutex);
    fault->rule_count = 0;
    pthread_mutex_unlock(&fault->mutex);
}

uint64_t ts_fault_count(struct ts_store *store) {
    struct fault_store *fault = fault_of(store);
    pthread_mutex_lock(&fault->mutex);
    uint64_t count = fault->count;
    pthread_mutex_unlock(&fault->mutex);
    return count;
}

bool ts_fault_is_down(struct ts_store *store) {
    struct fault_store *fault = fault_of(store);
    pthread_mutex_lock(&fault->mutex);
    bool down = fault->down;
    pthread_mutex_unlock(&fault->mutex);
    return down;
}

void ts_fault_revive(struct ts_store *store) {
    struct fault_store *fault = fault_of(store);
    pthread_mutex_lock(&fault->mutex);
    if (fault->down) {
        fault->down = false;
        fault->revivals++;
        (void)eventfd_write(fault->revived_fd, 1);
    }
    pthread_mutex_unlock(&fault->mutex);
}

size_t ts_fault_late_count(struct ts_store *store) {
    struct fault_store *fault = fault_of(store);
    pthread_mutex_lock(&fault->mutex);
    size_t count = fault->late_count;
    pthread_mutex_unlock(&fault->mutex);
    return count;
}

enum ts_store_result ts_fault_deliver(struct ts_store *store, size_t index) {
    struct fault_store *fault = fault_of(store);
    pthread_mutex_lock(&fault->mutex);
    ts_assert(index < fault->late_count);
    struct late *late = fault->late[index];
    pthread_mutex_unlock(&fault->mutex);
    if (!late->started)
        ts_store_start(fault->inside, &late->call);
    late->started = true;
    if (!ts_store_poll(&late->call))
        return TS_STORE_BUSY;
    enum ts_store_result result = late->call.error.result;
    pthread_mutex_lock(&fault->mutex);
    memmove(&fault->late[index], &fault->late[index + 1], (fault->late_count - index - 1) * sizeof(void *));
    fault->late_count--;
    pthread_mutex_unlock(&fault->mutex);
    free_late(late);
    return result;
}
