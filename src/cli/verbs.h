/* The verbs, each in its own file. */
#ifndef TS_CLI_VERBS_H
#define TS_CLI_VERBS_H

#include "verb.h"

extern const struct cli_verb cli__verb_scan;
extern const struct cli_verb cli__verb_protect;
extern const struct cli_verb cli__verb_baseline;
extern const struct cli_verb cli__verb_verify;
extern const struct cli_verb cli__verb_txn;
extern const struct cli_verb cli__verb_txn_status;
extern const struct cli_verb cli__verb_store_init;
extern const struct cli_verb cli__verb_store_status;
extern const struct cli_verb cli__verb_store_recover;
extern const struct cli_verb cli__verb_store_fence;
extern const struct cli_verb cli__verb_store_get;
extern const struct cli_verb cli__verb_store_scan;
extern const struct cli_verb cli__verb_route;
extern const struct cli_verb cli__verb_bench_route;
extern const struct cli_verb cli__verb_bench_xs;
extern const struct cli_verb cli__verb_bench_coord;
extern const struct cli_verb cli__verb_rules_list;
extern const struct cli_verb cli__verb_rules_check;
extern const struct cli_verb cli__verb_rules_explain;
extern const struct cli_verb cli__verb_rules_import;
extern const struct cli_verb cli__verb_rules_test;
extern const struct cli_verb cli__verb_targets;
extern const struct cli_verb cli__verb_schedule_add;
extern const struct cli_verb cli__verb_schedule_list;
extern const struct cli_verb cli__verb_schedule_show;
extern const struct cli_verb cli__verb_schedule_pause;
extern const struct cli_verb cli__verb_schedule_resume;
extern const struct cli_verb cli__verb_schedule_remove;
extern const struct cli_verb cli__verb_worker;
extern const struct cli_verb cli__verb_worker_list;
extern const struct cli_verb cli__verb_run_create;
extern const struct cli_verb cli__verb_run_register;
extern const struct cli_verb cli__verb_run_list;
extern const struct cli_verb cli__verb_run_show;
extern const struct cli_verb cli__verb_run_watch;
extern const struct cli_verb cli__verb_run_audit;
extern const struct cli_verb cli__verb_run_diff;
extern const struct cli_verb cli__verb_run_complete;
extern const struct cli_verb cli__verb_run_fail;
extern const struct cli_verb cli__verb_run_cancel;
extern const struct cli_verb cli__verb_run_delete;
extern const struct cli_verb cli__verb_shard_list;
extern const struct cli_verb cli__verb_shard_show;
extern const struct cli_verb cli__verb_shard_unpark;
extern const struct cli_verb cli__verb_lease_claim;
extern const struct cli_verb cli__verb_lease_acquire;
extern const struct cli_verb cli__verb_lease_renew;
extern const struct cli_verb cli__verb_lease_checkpoint;
extern const struct cli_verb cli__verb_lease_complete;
extern const struct cli_verb cli__verb_lease_park;
extern const struct cli_verb cli__verb_lease_release;
extern const struct cli_verb cli__verb_lease_split_replace;
extern const struct cli_verb cli__verb_lease_split_residual;
extern const struct cli_verb cli__verb_findings_list;
extern const struct cli_verb cli__verb_findings_show;
extern const struct cli_verb cli__verb_findings_export;
extern const struct cli_verb cli__verb_findings_triage;
extern const struct cli_verb cli__verb_sim;
extern const struct cli_verb cli__verb_help;

#endif
