#include "runtime/driver/fleet_rules.h"

#include <string.h>

_Static_assert(sizeof(struct ts_fleet_rules) == TS_PIN_LEN, "a pin is both ids");
_Static_assert(TS_FLEET_RULES_LEN == TS_SCAN_KEY_LEN, "the ids are the scanner's");

struct ts_scan_options ts_fleet_scan_options(const struct ts_fleet_tenant_key *key) {
    return (struct ts_scan_options){.salt = ts_bytes_of(key->bytes, sizeof key->bytes),
                                    .occurrences_max = TS_SCAN_OCCURRENCES_ALL,
                                    .min_confidence = TS_CONFIDENCE_LOW,
                                    .lists_allowed = true,
                                    .no_repo_config = true};
}

bool ts_fleet_rules_set_init(struct ts_fleet_rules_set *ret_set, const struct ts_fleet_tenant_key *key,
                             struct ts_scan_error *ret_error) {
    const struct ts_scan_options options = ts_fleet_scan_options(key);
    struct scan_profile *profile = ts_scan_profile_new(&options, ret_error);
    if (profile == NULL)
        return false;
    *ret_set = (struct ts_fleet_rules_set){.profile = profile};
    ts_scan_profile_ids(profile, &options, ret_set->rules.rules, ret_set->rules.judging);
    return true;
}

void ts_fleet_rules_set_release(struct ts_fleet_rules_set *set) {
    ts_scan_profile_free(set->profile);
    set->profile = NULL;
}

struct ts_pin ts_fleet_rules_pin(const struct ts_fleet_rules *rules) {
    struct ts_pin pin;
    memcpy(pin.b, rules, sizeof pin.b);
    return pin;
}
