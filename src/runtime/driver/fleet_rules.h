/*
 * The rules of a fleet's scans: the built-in rules of this program, compiled once for all jobs, and their
 * ids.
 */
#ifndef TS_RUNTIME_DRIVER_FLEET_RULES_H
#define TS_RUNTIME_DRIVER_FLEET_RULES_H

#include "runtime/core/fleet_keys.h"
#include "runtime/core/tenant_key.h"

#include "coord/core/run_config.h"
#include "scan/scan.h"

struct ts_fleet_rules_set {
    struct scan_profile *profile;
    struct ts_fleet_rules rules;
};

bool ts_fleet_rules_set_init(struct ts_fleet_rules_set *ret_set, const struct ts_fleet_tenant_key *key,
                             struct ts_scan_error *ret_error);
void ts_fleet_rules_set_release(struct ts_fleet_rules_set *set);

/* Returns the pin for a run: workers with other rules, or another program, do not claim its shards. */
struct ts_pin ts_fleet_rules_pin(const struct ts_fleet_rules *rules);

/* Returns the options of every scan of a fleet, without target and selection. The key must stay valid until
 * the scan has ended. */
struct ts_scan_options ts_fleet_scan_options(const struct ts_fleet_tenant_key *key);

#endif
