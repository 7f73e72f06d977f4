/*
 * Repositories with secrets, runs over them, and checks of the final state.
 */
#ifndef TS_TESTS_DRIVER_CREW_KIT_H
#define TS_TESTS_DRIVER_CREW_KIT_H

#include "victim.h"

#include "runtime/driver/target_list.h"

#define LEASE_MS UINT64_C(30000)

extern const struct ts_fleet_tenant_key key;

/* Makes a folder and a tenant for the test. */
int kit_setup(void **state);
int kit_teardown(void **state);
int kit_main(int argc, char **argv, const struct CMUnitTest *tests, size_t count);

/* Contents without secrets, and some with one. */
void make_repository(const char *name, unsigned contents, unsigned secrets);

/* A run over the repositories of the current folder. */
struct ts_run_id next_run(void);
void submit(struct ts_run_id run);
/* Only the duration of leases and the pin are used, if they are not 0. */
void submit_with(struct ts_run_id run, const struct ts_run_config *config);
/* Submits the targets of a list, and releases the list. */
void submit_list(struct ts_run_id run, struct ts_target_list *list, const struct ts_run_config *config);
struct ts_shard_counts counts_of_run(void);

/* Another worker, which is not disturbed, ends the run: all targets are done. */
void finish(uint64_t targets);

/* Removes rows that are no longer needed; all of them must be removable. */
void sweep(void);

/* Checks that the visible findings equal those of the first tenant on the same repositories, and that nothing
 * else is left: no row, no promise, no fault in the audit. A census counts marks and pages of all tenants, so this
 * needs the number of pages that existed before this tenant. */
void expect_same(const struct census *expected, size_t pages_before);

#endif
