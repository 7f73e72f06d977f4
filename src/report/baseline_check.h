/* Which key the ids of a baseline were made with. */
#ifndef TS_REPORT_BASELINE_CHECK_H
#define TS_REPORT_BASELINE_CHECK_H

#include "baseline.h"

/* The key's own hash, cut: enough to tell keys apart, and of no use to whoever has no key. */
void report__baseline_check(const struct ts_finding_key *key,
                            char ret_check[static TS_BASELINE_CHECK_LEN + 1]);

#endif
