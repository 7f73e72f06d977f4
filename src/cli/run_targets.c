#include "run_targets.h"

#include "complain.h"
#include "forge_option.h"
#include "target_request.h"

#include "runtime/driver/fleet_rules.h"
#include "runtime/driver/submit.h"
#include "store/cluster/cluster.h"

#include <string.h>

static enum cli_exit print(struct cli_coord *coord, const struct ts_submitted *submitted, size_t targets) {
    const unsigned long long run = submitted->run.run.v;
    if (coord->json) {
        cli__object_begin(coord);
        cli__member_text(coord, "outcome", submitted->is_new ? "executed" : "replayed");
        cli__member_number(coord, "run", run);
        cli__member_number(coord, "number", submitted->run.number);
        cli__member_number(coord, "targets", targets);
        cli__object_end(coord);
    } else {
        cli__say(coord, "run %llu %s %zu target%s; 'turnstone worker' scans them\n", run,
                 submitted->is_new ? "has" : "had already", targets, targets == 1 ? "" : "s");
    }
    return CLI_EXIT_DONE;
}

static enum cli_exit submit(struct cli_coord *coord, const struct ts_target_list *targets,
                            const struct ts_create_run_op *op) {
    const struct ts_submission submission = {
        .tenant = op->tenant, .run = op->run, .config = op->config, .targets = targets};
    struct ts_submitted submitted;
    struct ts_submit_error error;
    if (!ts_submit(coord->coord, &submission, &submitted, &error))
        return cli__coord_refuse(coord, error.variant, &error.detail);
    return print(coord, &submitted, targets->count);
}

/* Pins the rules, so that workers with other rules do not claim shards of the run. */
static enum cli_exit pin_rules(const struct cli_coord *coord, struct ts_run_config *config) {
    struct ts_fleet_rules_set set;
    struct ts_scan_error error;
    const struct ts_fleet_tenant_key key = ts_fleet_tenant_key_of(
        ts_cluster_meta(coord->cluster, 0)->secret, ts_bytes_of(coord->tenant.b, sizeof coord->tenant.b));
    if (!ts_fleet_rules_set_init(&set, &key, &error))
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: %s", coord->verb, error.text);
    config->pin = ts_fleet_rules_pin(&set.rules);
    ts_fleet_rules_set_release(&set);
    return CLI_EXIT_DONE;
}

enum cli_exit cli__run_create_targets(struct cli_coord *coord, const struct cli_run_targets *given,
                                      struct ts_create_run_op *op) {
    const struct cli_arguments *arguments = given->arguments;
    const char *tenant = arguments->values[COORD_TENANT];
    const char *select = arguments->values[given->select];
    const char *format = arguments->values[given->format];
    struct cli_target_request request = {
        .verb = coord->verb,
        .defaults = {.tenant = ts_bytes_of_cstring(tenant ? tenant : "default"),
                     .selection = ts_bytes_of_cstring(select ? select : "default"),
                     .format = format ? format : "sha1"}};
    enum cli_exit status = cli__forge_options_read(coord->verb, arguments, given->forge, &request.forge);
    if (status != CLI_EXIT_DONE)
        return status;
    for (size_t i = 0, number = 0; i < arguments->given_count && status != CLI_EXIT_INFRASTRUCTURE; i++) {
        if (arguments->given[i].option != given->targets)
            continue;
        enum cli_exit one = cli__target_request_add(&request, arguments->given[i].value, ++number);
        status = one == CLI_EXIT_DONE ? status : one;
    }
    ts_target_list_settle(&request.list);
    if (status == CLI_EXIT_DONE && request.list.count == 0)
        status = cli__complain(CLI_EXIT_USAGE, "%s: --targets: the list is empty", coord->verb);
    op->config.semantics = TS_CURSOR_COMPLETED;
    if (status == CLI_EXIT_DONE)
        status = pin_rules(coord, &op->config);
    if (status == CLI_EXIT_DONE)
        status = submit(coord, &request.list, op);
    ts_target_list_release(&request.list);
    return status;
}
