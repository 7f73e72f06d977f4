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

/* Makes a repository with this number of contents without secrets, and with this number of contents with a
 * secret. */
void make_repository(const char *name, unsigned contents, unsigned secrets);

/* Makes a run over the repositories of the current folder. Returns the id of the run. */
struct ts_run_id next_run(void);
void submit(struct ts_run_id run);
/* Submits targets. Uses only two fields of the config: the duration of leases and the pin. If a field is 0,
 * uses LEASE_MS or the pin of the rules instead. */
void submit_with(struct ts_run_id run, const struct ts_run_config *config);
/* Submits the targets of a list, and releases the list. */
void submit_list(struct ts_run_id run, struct ts_target_list *list, const struct ts_run_config *config);
struct ts_shard_counts counts_of_run(void);

/* Lets another worker, which is not disturbed, end the run. Expects that all targets are done. */
void finish(uint64_t targets);

/* Removes rows that are no longer needed. Expects that every such row can be removed. */
void sweep(void);

/* Checks that the visible findings equal those of the first tenant on the same repositories, and that nothing
 * else is left: no row, no promise, no fault in the audit. `pages_before` is the number of pages that existed
 * before this tenant, because a census counts marks and pages of all tenants. */
void expect_same(const struct census *expected, size_t pages_before);

#endif
