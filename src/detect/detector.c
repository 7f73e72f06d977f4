#include "compiled.h"

#include "error.h"
#include "set_cache.h"

#include "base/blake3.h"

#include <stdlib.h>

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static void make_ready(struct ts_detector *detector) {
    for (size_t i = 0; i < detector->rules->count; i++) {
        const struct ts_rule *rule = &detector->rules->rules[i];
        struct detect_ready_rule *ready = &detector->ready[i];
        ready->rule = rule;
        ready->before = ts_rule_before(rule);
        ready->after = ts_rule_after(rule);
        ready->is_long = ready->before + ready->after > DETECT_SHORT_REACH;
        if (ready->is_long) {
            detector->long_before = larger(detector->long_before, ready->before);
            detector->long_after = larger(detector->long_after, ready->after);
        } else {
            detector->short_before = larger(detector->short_before, ready->before);
            detector->short_after = larger(detector->short_after, ready->after);
        }
        if (rule->gate == TS_GATE_TOKEN) {
            detector->has_token_rules = true;
            detector->distance_max = larger(detector->distance_max, rule->distance + rule->lead);
            detector->token_before = larger(detector->token_before, ready->before);
            detector->token_after = larger(detector->token_after, ready->after);
        }
    }
}

static bool compile(struct ts_detector *detector, struct ts_detect_error *ret_error) {
    for (size_t i = 0; i < detector->rules->count; i++)
        if (!detect__rule_verify(&detector->rules->rules[i], ret_error))
            return false;
    return detect__databases_compile(detector, ret_error);
}

static bool come_by_databases(struct ts_detector *detector, const struct ts_detector_options *options,
                              struct ts_detect_error *ret_error) {
    struct detect_cache_place *place = malloc(sizeof *place);
    bool has_place = place && detect__cache_place(detector, options->cache_folder, place);
    enum detect_cache_read read = has_place ? detect__cache_read(detector, place) : DETECT_CACHE_ABSENT;
    bool good = true;
    if (read == DETECT_CACHE_READ) {
        detector->cache_state = TS_DETECTOR_CACHE_HIT;
    } else {
        good = compile(detector, ret_error);
        detector->cache_state = !has_place                     ? TS_DETECTOR_CACHE_OFF
                                : read == DETECT_CACHE_DAMAGED ? TS_DETECTOR_CACHE_DAMAGED
                                                               : TS_DETECTOR_CACHE_MISS;
        if (good && has_place)
            detect__cache_write(detector, place);
    }
    free(place);
    return good;
}

struct ts_detector *ts_detector_new(const struct ts_ruleset *rules, const struct ts_detector_options *options,
                                    struct ts_detect_error *ret_error) {
    struct ts_detector *detector = calloc(1, sizeof *detector);
    if (detector) {
        detector->rules = rules;
        detector->ready = calloc(rules->count + 1, sizeof *detector->ready);
    }
    if (detector && detector->ready) {
        ts_ruleset_digest(rules, detector->rules_digest);
        make_ready(detector);
        if (detect__entries_init(detector)) {
            if (come_by_databases(detector, options, ret_error))
                return detector;
            ts_detector_free(detector);
            return NULL;
        }
    }
    detect__error_set(ret_error, TS_DETECT_NO_MEMORY, (struct detect_place){0}, "out of memory");
    ts_detector_free(detector);
    return NULL;
}

void ts_detector_free(struct ts_detector *detector) {
    if (!detector)
        return;
    for (size_t i = 0; detector->ready && i < detector->rules->count; i++)
        detect__code_free(atomic_load(&detector->ready[i].code));
    free(detector->ready);
    detect__entries_release(&detector->gates);
    detect__entries_release(&detector->keywords);
    for (size_t i = 0; i < DETECT_DATABASES; i++)
        (void)hs_free_database(detector->databases[i]);
    free(detector);
}

void ts_detector_digest(const struct ts_detector *detector,
                        uint8_t ret_digest[static TS_RULESET_DIGEST_LEN]) {
    struct ts_blake3 hasher;
    char pcre2[64] = "";
    (void)pcre2_config(PCRE2_CONFIG_VERSION, pcre2);
    ts_blake3_init_derive_key(&hasher, TS_BYTES("turnstone 2026 what a detector finds"));
    ts_blake3_update(&hasher, ts_bytes_of(detector->rules_digest, sizeof detector->rules_digest));
    ts_blake3_update(&hasher, ts_bytes_of_cstring(hs_version()));
    ts_blake3_update(&hasher, TS_BYTES("\n"));
    ts_blake3_update(&hasher, ts_bytes_of_cstring(pcre2));
    ts_blake3_output(&hasher, 0, ret_digest, TS_RULESET_DIGEST_LEN);
}

enum ts_detector_cache ts_detector_cache_state(const struct ts_detector *detector) {
    return detector->cache_state;
}

size_t ts_detector_landmark_before(const struct ts_detector *detector) {
    return (size_t)detector->gate_width + 2;
}

size_t ts_detector_reach(const struct ts_detector *detector) {
    size_t plain = (size_t)larger(detector->long_before, detector->short_before) +
                   larger(detector->long_after, detector->short_after);
    return plain > DETECT_ENCODED_REACH ? plain : DETECT_ENCODED_REACH;
}
