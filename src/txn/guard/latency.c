#include "txn/guard/latency.h"

#include "base/assert.h"
#include "base/checked.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct phase {
    const char *field;
    const char *waterfall;
    const char *help;
};

#define PHASE(suffix, field, waterfall, help) {field, waterfall, help},
static const struct phase phases[TS_TXN_BREAKDOWN_PHASE_COUNT] = {TS_TXN_BREAKDOWN_PHASES(PHASE)};
#undef PHASE

void ts_txn_breakdown_init(struct ts_txn_breakdown *latency) {
    memset(latency, 0, sizeof *latency);
}

void ts_txn_breakdown_add(struct ts_txn_breakdown *latency, enum ts_txn_breakdown_phase phase, uint64_t us) {
    ts_assert(phase < TS_TXN_BREAKDOWN_PHASE_COUNT && phase != TS_TXN_BREAKDOWN_SHARD_RPC);
    latency->us[phase] = ts_saturating_add_u64(latency->us[phase], us);
}

/* Returns the entry of a store, and adds it if necessary. Returns NULL when the array is full. */
static struct ts_txn_breakdown_rpc *find_or_add(struct ts_txn_breakdown *latency, uint32_t store) {
    for (size_t i = 0; i < latency->rpc_count; i++)
        if (latency->rpc[i].store == store)
            return &latency->rpc[i];
    if (latency->rpc_count == TS_TXN_BREAKDOWN_STORES_MAX)
        return NULL;
    struct ts_txn_breakdown_rpc *added = &latency->rpc[latency->rpc_count++];
    *added = (struct ts_txn_breakdown_rpc){.store = store};
    return added;
}

void ts_txn_breakdown_add_rpc(struct ts_txn_breakdown *latency, struct ts_txn_breakdown_rpc rpc) {
    struct ts_txn_breakdown_rpc *entry = find_or_add(latency, rpc.store);
    uint64_t us = rpc.us;
    if (entry != NULL)
        us = entry->us = ts_saturating_add_u64(entry->us, rpc.us);
    if (us > latency->us[TS_TXN_BREAKDOWN_SHARD_RPC])
        latency->us[TS_TXN_BREAKDOWN_SHARD_RPC] = us;
}

enum ts_txn_breakdown_phase ts_txn_breakdown_dominant(const struct ts_txn_breakdown *latency) {
    size_t dominant = 0;
    for (size_t i = 1; i < TS_TXN_BREAKDOWN_PHASE_COUNT; i++)
        if (latency->us[i] > latency->us[dominant])
            dominant = i;
    return (enum ts_txn_breakdown_phase)dominant;
}

const char *ts_txn_breakdown_phase_field(enum ts_txn_breakdown_phase phase) {
    ts_assert(phase < TS_TXN_BREAKDOWN_PHASE_COUNT);
    return phases[phase].field;
}

const char *ts_txn_breakdown_phase_help(enum ts_txn_breakdown_phase phase) {
    ts_assert(phase < TS_TXN_BREAKDOWN_PHASE_COUNT);
    return phases[phase].help;
}

const char *ts_txn_breakdown_waterfall(const struct ts_txn_breakdown *latency,
                                       char ret_text[static TS_TXN_BREAKDOWN_WATERFALL_SIZE]) {
    size_t used = 0;
    for (size_t i = 0; i < TS_TXN_BREAKDOWN_PHASE_COUNT; i++) {
        if (phases[i].waterfall == NULL)
            continue;
        int printed = snprintf(ret_text + used, TS_TXN_BREAKDOWN_WATERFALL_SIZE - used, "%s=%" PRIu64 "|",
                               phases[i].waterfall, latency->us[i]);
        ts_assert(printed > 0);
        used += (size_t)printed;
    }
    int printed = snprintf(ret_text + used, TS_TXN_BREAKDOWN_WATERFALL_SIZE - used, "total=%" PRIu64,
                           latency->total_us);
    ts_assert(printed > 0 && used + (size_t)printed < TS_TXN_BREAKDOWN_WATERFALL_SIZE);
    return ret_text;
}
