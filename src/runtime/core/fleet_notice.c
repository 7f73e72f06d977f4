#include "runtime/core/fleet_notice.h"

#include "fleet_codec.h"

#include "base/blake3.h"
#include "base/endian.h"

#define PAUSE_MIN_MS UINT64_C(1000)
#define PAUSE_MAX_MS UINT64_C(600000)

size_t ts_fleet_notice_encode(const struct ts_fleet_notice *notice,
                              uint8_t ret_bytes[static TS_FLEET_NOTICE_MAX]) {
    struct runtime__writer writer = runtime__begin(ret_bytes, TS_FLEET_NOTICE_MAX, "TSfq");
    uint8_t attempt[TS_ATTEMPT_LEN];
    ts_assert(notice->done_count <= TS_NOTICE_SINKS);
    ts_attempt_encode(&notice->attempt, attempt);
    runtime__put(&writer, ts_bytes_of(attempt, sizeof attempt));
    runtime__put_number(&writer, notice->run);
    runtime__put_number(&writer, notice->at_ms);
    runtime__put_number(&writer, notice->came);
    runtime__put_number(&writer, notice->went);
    runtime__put_text(&writer, notice->address);
    runtime__put_text(&writer, notice->selection);
    runtime__put_number(&writer, notice->tries);
    runtime__put_number(&writer, notice->not_before_ms);
    runtime__put_number(&writer, notice->done_count);
    for (size_t i = 0; i < notice->done_count; i++)
        runtime__put_text(&writer, notice->done[i]);
    return runtime__seal(&writer);
}

enum ts_fleet_error ts_fleet_notice_decode(struct ts_bytes bytes, struct ts_fleet_notice *ret_notice) {
    struct runtime__reader reader;
    const enum ts_fleet_error error = runtime__open(bytes, "TSfq", TS_FLEET_NOTICE_MAX, &reader);
    if (error != TS_FLEET_OK)
        return error;
    uint8_t attempt[TS_ATTEMPT_LEN];
    runtime__take(&reader, attempt, sizeof attempt);
    struct ts_fleet_notice notice = {.attempt = ts_attempt_decode(attempt)};
    notice.run = runtime__take_number(&reader);
    notice.at_ms = runtime__take_number(&reader);
    notice.came = runtime__take_number(&reader);
    notice.went = runtime__take_number(&reader);
    notice.address = runtime__take_text(&reader, TS_FLEET_UNIT_MAX);
    notice.selection = runtime__take_text(&reader, TS_FLEET_UNIT_MAX);
    notice.tries = runtime__take_number(&reader);
    notice.not_before_ms = runtime__take_number(&reader);
    const uint64_t count = runtime__take_number(&reader);
    if (count > TS_NOTICE_SINKS)
        return TS_FLEET_BAD_FIELD;
    for (; notice.done_count < count; notice.done_count++)
        notice.done[notice.done_count] = runtime__take_text(&reader, TS_NOTICE_SINK_MAX);
    const enum ts_fleet_error end = runtime__close(&reader);
    if (end == TS_FLEET_OK)
        *ret_notice = notice;
    return end;
}

/* The id also depends on the time. Otherwise ids would repeat in another cluster, or in a cluster that was
 * created again, because every cluster counts its runs from 1. */
struct ts_notice_id ts_notice_id_of(const struct ts_tenant_id *tenant, const struct ts_target_id *target,
                                    const struct ts_fleet_notice *notice) {
    uint8_t attempt[TS_ATTEMPT_LEN], at[8];
    struct ts_blake3 hasher;
    struct ts_notice_id id = {{0}};
    ts_attempt_encode(&notice->attempt, attempt);
    ts_le64_store(notice->at_ms, at);
    ts_blake3_init_derive_key(&hasher, TS_BYTES("turnstone 2026-11 id of a notice"));
    ts_blake3_update(&hasher, ts_bytes_of(tenant->b, sizeof tenant->b));
    ts_blake3_update(&hasher, ts_bytes_of(target->bytes, sizeof target->bytes));
    ts_blake3_update(&hasher, ts_bytes_of(attempt, sizeof attempt));
    ts_blake3_update(&hasher, ts_bytes_of(at, sizeof at));
    ts_blake3_output(&hasher, 0, id.bytes, sizeof id.bytes);
    return id;
}

bool ts_notice_is_done(const struct ts_fleet_notice *notice, struct ts_bytes sink) {
    for (size_t i = 0; i < notice->done_count; i++)
        if (ts_bytes_equal(notice->done[i], sink))
            return true;
    return false;
}

uint64_t ts_notice_pause_ms(uint64_t tries) {
    uint64_t pause_ms = PAUSE_MIN_MS;
    for (uint64_t i = 1; i < tries && pause_ms < PAUSE_MAX_MS; i++)
        pause_ms *= 2;
    return pause_ms < PAUSE_MAX_MS ? pause_ms : PAUSE_MAX_MS;
}
