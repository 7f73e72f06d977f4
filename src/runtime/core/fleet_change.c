#include "runtime/core/fleet_change.h"

#include "fleet_codec.h"

enum { FLAG_BLIND = 1, FLAG_CUT = 2 };

size_t ts_fleet_change_encode(const struct ts_fleet_change *change, uint8_t *ret_bytes) {
    struct runtime__writer writer = runtime__begin(ret_bytes, TS_FLEET_PAGE_MAX, "TSfd");
    runtime__put_byte(&writer,
                      (uint8_t)((change->is_blind ? FLAG_BLIND : 0) | (change->is_cut ? FLAG_CUT : 0)));
    runtime__put_number(&writer, change->at_ms);
    runtime__put_number(&writer, change->came_total);
    runtime__put_number(&writer, change->went_total);
    runtime__put_text(&writer, change->came);
    runtime__put_text(&writer, change->went);
    return runtime__seal(&writer);
}

enum ts_fleet_error ts_fleet_change_decode(struct ts_bytes bytes, struct ts_fleet_change *ret_change) {
    struct runtime__reader reader;
    const enum ts_fleet_error error = runtime__open(bytes, "TSfd", TS_FLEET_PAGE_MAX, &reader);
    if (error != TS_FLEET_OK)
        return error;
    const uint8_t flags = runtime__take_byte(&reader, FLAG_BLIND | FLAG_CUT);
    struct ts_fleet_change change = {.is_blind = (flags & FLAG_BLIND) != 0,
                                     .is_cut = (flags & FLAG_CUT) != 0};
    change.at_ms = runtime__take_number(&reader);
    change.came_total = runtime__take_number(&reader);
    change.went_total = runtime__take_number(&reader);
    change.came = runtime__take_text(&reader, TS_FLEET_PAGE_MAX);
    change.went = runtime__take_text(&reader, TS_FLEET_PAGE_MAX);
    if (change.came.len % TS_FLEET_FINDING_LEN != 0 || change.went.len % TS_FLEET_FINDING_LEN != 0)
        return TS_FLEET_BAD_FIELD;
    const enum ts_fleet_error end = runtime__close(&reader);
    if (end == TS_FLEET_OK)
        *ret_change = change;
    return end;
}
