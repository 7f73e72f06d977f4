#include "runtime/core/fleet_decision.h"

#include "fleet_codec.h"

enum { REASON_MAX = 64 };

size_t ts_fleet_decisions_encode(const struct ts_fleet_decisions *decisions,
                                 uint8_t ret_bytes[static TS_FLEET_DECISIONS_MAX]) {
    struct runtime__writer writer = runtime__begin(ret_bytes, TS_FLEET_DECISIONS_MAX, "TSfn");
    ts_assert(decisions->count <= TS_FLEET_DECISIONS);
    runtime__put_number(&writer, decisions->total);
    runtime__put_number(&writer, decisions->count);
    for (size_t i = 0; i < decisions->count; i++) {
        const struct ts_fleet_decision *decision = &decisions->list[i];
        ts_assert(decision->reason.len <= REASON_MAX && decision->worker.len <= TS_NAME_ID_LEN);
        runtime__put_byte(&writer, decision->is_parked ? 1 : 0);
        runtime__put_number(&writer, decision->at_ms);
        runtime__put_number(&writer, decision->fence);
        runtime__put_text(&writer, decision->reason);
        runtime__put_text(&writer, decision->worker);
    }
    return runtime__seal(&writer);
}

enum ts_fleet_error ts_fleet_decisions_decode(struct ts_bytes bytes,
                                              struct ts_fleet_decisions *ret_decisions) {
    struct runtime__reader reader;
    const enum ts_fleet_error error = runtime__open(bytes, "TSfn", TS_FLEET_DECISIONS_MAX, &reader);
    if (error != TS_FLEET_OK)
        return error;
    struct ts_fleet_decisions decisions = {.total = runtime__take_number(&reader)};
    const uint64_t count = runtime__take_number(&reader);
    if (count > TS_FLEET_DECISIONS || count > decisions.total)
        return TS_FLEET_BAD_FIELD;
    for (decisions.count = 0; decisions.count < count; decisions.count++) {
        struct ts_fleet_decision *decision = &decisions.list[decisions.count];
        decision->is_parked = runtime__take_byte(&reader, 1) != 0;
        decision->at_ms = runtime__take_number(&reader);
        decision->fence = runtime__take_number(&reader);
        decision->reason = runtime__take_text(&reader, REASON_MAX);
        decision->worker = runtime__take_text(&reader, TS_NAME_ID_LEN);
    }
    const enum ts_fleet_error end = runtime__close(&reader);
    if (end == TS_FLEET_OK)
        *ret_decisions = decisions;
    return end;
}

void ts_fleet_decisions_add(struct ts_fleet_decisions *decisions, const struct ts_fleet_decision *decision) {
    const bool is_again = decisions->count > 0 && decisions->list[0].fence == decision->fence;
    if (!is_again) {
        const size_t kept = decisions->count < TS_FLEET_DECISIONS ? decisions->count : TS_FLEET_DECISIONS - 1;
        memmove(decisions->list + 1, decisions->list, kept * sizeof decisions->list[0]);
        decisions->count = kept + 1;
        decisions->total++;
    }
    decisions->list[0] = *decision;
}
