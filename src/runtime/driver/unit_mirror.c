/*
 * Finds the repository of a unit. A path is scanned in place; for an address, its mirror is scanned
 * (runtime/mirror/mirror.h).
 *
 * The unit keeps the lock of the mirror until the next sync or the unit's end, so that nobody changes the
 * mirror during a scan.
 */
#include "unit.h"

void runtime__mirror_release(struct runtime__unit *unit) {
    if (unit->has_mirror)
        ts_mirror_release(&unit->mirror);
    unit->has_mirror = false;
}

static struct ts_unit_event failed(const struct ts_mirror_failure *failure) {
    if (failure->is_own)
        return (struct ts_unit_event){.kind = TS_UNIT_EVENT_OWN_FAULT, .fault = failure->fault};
    return (struct ts_unit_event){.kind = TS_UNIT_EVENT_FAILED, .error = failure->error};
}

static bool sync(struct runtime__unit *unit) {
    const struct runtime__job *job = unit->job;
    const struct ts_fleet_unit *read = &unit->read.unit;
    const struct ts_tenant_id *tenant = &job->crew->options->tenant;
    const struct ts_mirror_request request = {.tenant = ts_bytes_of(tenant->b, sizeof tenant->b),
                                              .target = unit->target,
                                              .address = read->address,
                                              .url = read->url,
                                              .selection = read->selection,
                                              .is_sha256 = read->is_sha256,
                                              .repair = unit->wish.kind == TS_WISH_SYNC && unit->wish.repair,
                                              .stop = &job->progress.stop};
    struct ts_mirror_failure failure;
    runtime__mirror_release(unit);
    const enum ts_mirror_end end =
        ts_mirror_sync(job->crew->options->mirrors, &request, &unit->mirror, &failure);
    unit->has_mirror = end == TS_MIRROR_OK;
    if (unit->has_mirror)
        return true;
    const struct ts_unit_event event = end == TS_MIRROR_STOPPED ? runtime__stopped(unit) : failed(&failure);
    runtime__step(unit, &event);
    return false;
}

const char *runtime__locate(struct runtime__unit *unit) {
    const struct ts_bytes address = unit->read.unit.address;
    if (address.data[0] == '/') {
        memcpy(unit->path, address.data, address.len);
        unit->path[address.len] = '\0';
        return unit->path;
    }
    if (unit->has_mirror && unit->wish.kind == TS_WISH_SCAN)
        return unit->mirror.path;
    return sync(unit) ? unit->mirror.path : NULL;
}
