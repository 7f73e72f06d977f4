/*
 * Who uses the state: a row for each repository, rule set and way of judging, with the time of the last scan. What belongs
 * to repositories that are gone, and all but the latest few of each, is removed.
 */
#ifndef TS_SCAN_USAGE_H
#define TS_SCAN_USAGE_H

#include "state.h"

#define SCAN_STATE_ID_LEN   16
/* Rule sets and ways of judging that are kept of one repository; repositories that are kept in all. */
#define SCAN_USES_MAX       6
#define SCAN_USES_TOTAL_MAX 600

enum scan_state_kind {
    SCAN_STATE_KNOWN = 'k',
    SCAN_STATE_HITS = 'h',
    SCAN_STATE_SNAPSHOT = 's',
    SCAN_STATE_USE = 'u'
};

/* What rows belong to. */
struct scan_use {
    uint8_t repo[SCAN_STATE_ID_LEN];
    uint8_t rules[SCAN_STATE_ID_LEN];
    uint8_t judging[SCAN_STATE_ID_LEN];
};

#define SCAN_STATE_KEY_MAX (2 + sizeof(struct scan_use) + 8)

struct scan_state_key {
    uint8_t bytes[SCAN_STATE_KEY_MAX];
    size_t len;
};

static inline struct ts_bytes scan__state_key_bytes(const struct scan_state_key *key) {
    return ts_bytes_of(key->bytes, key->len);
}

/* What every row of this kind begins with. Known objects do not depend on judging. */
struct scan_state_key scan__state_key(enum scan_state_kind kind, const struct scan_use *use);

/* Notes that it is used now, and makes room. path is that of the repository. */
void scan__use_note(struct scan_state *state, const struct scan_use *use, const char *path);

#endif
