/* The verbs, each in a file of its own. */
#ifndef TS_CLI_VERBS_H
#define TS_CLI_VERBS_H

#include "verb.h"

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
extern const struct cli_verb cli__verb_rules_list;
extern const struct cli_verb cli__verb_rules_check;
extern const struct cli_verb cli__verb_rules_explain;
extern const struct cli_verb cli__verb_sim;
extern const struct cli_verb cli__verb_help;

#endif
