#include "coord/core/event.h"

#include "base/assert.h"
#include "text.h"

#include <inttypes.h>

const char *ts_event_name(enum ts_event_kind kind) {
#define NAME(suffix, name)                                                                                   \
    case TS_EVENT_##suffix:                                                                                  \
        return name;
    switch (kind) { TS_EVENTS(NAME) }
    ts_unreachable("every event has a name");
}

static void add_own_fields(struct coord__text *text, const struct ts_event *event) {
    switch (event->kind) {
    case TS_EVENT_ACQUIRED:
    case TS_EVENT_RENEWED:
        coord__text_add(text, " fence=%" PRIu64 " deadline=%" PRIu64, event->fence.v, event->deadline.ms);
        return;
    case TS_EVENT_CHECKPOINTED:
    case TS_EVENT_COMPLETED:
        coord__text_add(text, " fence=%" PRIu64 " key=[%zu bytes]", event->fence.v, event->key_len);
        return;
    case TS_EVENT_PARKED:
        coord__text_add(text, " fence=%" PRIu64 " reason=%s", event->fence.v,
                        ts_park_reason_name(event->reason));
        return;
    case TS_EVENT_UNPARKED:
        coord__text_add(text, " fence=%" PRIu64, event->fence.v);
        return;
    case TS_EVENT_RELEASED:
        coord__text_add(text, " fence=%" PRIu64 " blame=%s", event->fence.v, ts_blame_name(event->blame));
        return;
    case TS_EVENT_SPLIT:
        coord__text_add(text, " fence=%" PRIu64 " count=%" PRIu64, event->fence.v, event->count);
        return;
    case TS_EVENT_LEASE_LOST:
        coord__text_add(text, " fence=%" PRIu64 " cause=%s", event->fence.v,
                        ts_error_variant_name(event->cause));
        return;
    case TS_EVENT_RUN_CREATED:
        return;
    case TS_EVENT_SHARDS_REGISTERED:
        coord__text_add(text, " count=%" PRIu64, event->count);
        return;
    case TS_EVENT_RUN_ENDED:
        coord__text_add(text, " status=%s", ts_run_status_name(event->run_status));
        return;
    }
    ts_unreachable("every event has its fields");
}

size_t ts_event_text(const struct ts_event *event, char *ret_text, size_t size) {
    struct coord__text text = coord__text_in(ret_text, size);
    coord__text_add(&text, "%s run=%" PRIu64, ts_event_name(event->kind), event->shard.run.v);
    if (event->kind < TS_EVENT_RUN_CREATED)
        coord__text_add(&text, " shard=%" PRIu64, event->shard.shard.v);
    coord__text_add(&text, " at=%" PRIu64, event->at.ms);
    add_own_fields(&text, event);
    return text.len;
}

bool ts_event_of_lost_lease(const struct ts_lease *lease, enum ts_error_variant cause,
                            struct ts_logical_time now, struct ts_event *ret_event) {
    if (cause != TS_VARIANT_STALE_FENCE && cause != TS_VARIANT_LEASE_EXPIRED &&
        cause != TS_VARIANT_SHARD_TERMINAL)
        return false;
    *ret_event = (struct ts_event){.kind = TS_EVENT_LEASE_LOST,
                                   .shard = ts_lease_shard(lease),
                                   .at = now,
                                   .fence = ts_lease_fence(lease),
                                   .cause = cause};
    return true;
}
