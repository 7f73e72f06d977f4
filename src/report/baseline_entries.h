/* What reading and writing baselines share. */
#ifndef TS_REPORT_BASELINE_ENTRIES_H
#define TS_REPORT_BASELINE_ENTRIES_H

#include "baseline.h"

/* By id, each once. Returns how many are left. */
size_t report__baseline_sort(struct ts_report_gone *entries, size_t count);

/* The key's own hash, cut: enough to tell keys apart, and of no use to whoever has no key. */
void report__baseline_check(const struct ts_finding_key *key,
                            char ret_check[static TS_BASELINE_CHECK_LEN + 1]);

#endif
