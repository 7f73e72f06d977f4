/* Functions that reading and writing baselines share. */
#ifndef TS_REPORT_BASELINE_ENTRIES_H
#define TS_REPORT_BASELINE_ENTRIES_H

#include "baseline.h"

/* Sorts the entries by id and removes duplicates. Returns how many entries remain. */
size_t report__baseline_sort(struct ts_report_gone *entries, size_t count);

/* Writes a short hash of the key: enough to distinguish keys, and useless without the key. */
void report__baseline_check(const struct ts_finding_key *key,
                            char ret_check[static TS_BASELINE_CHECK_LEN + 1]);

#endif
