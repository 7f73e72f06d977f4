/*
 * turnstone findings list and triage.
 */
#include "complain.h"
#include "findings_filter.h"
#include "output.h"
#include "verbs.h"

#include "base/hex.h"
#include "os/out_json.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_LIMIT = FINDINGS_OPTIONS, LIST_AFTER };
enum { TRIAGE_STATE = COORD_OPTIONS, TRIAGE_REASON, TRIAGE_BY };
enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 100000 };

/* ---- list ---- */

struct listing {
    struct cli_coord *coord;
    uint64_t count;
    struct ts_fleet_finding last;
};

static void member_bytes(struct cli_coord *coord, const char *name, struct ts_bytes text) {
    cli__member(coord, name);
    ts_out_put_json(coord->out, text);
}

static void put_triage(struct cli_coord *coord, const struct ts_fleet_triage *triage) {
    cli__member(coord, "triage");
    cli__object_begin(coord);
    cli__member_text(coord, "state", ts_triage_name(triage->state));
    member_bytes(coord, "by", triage->who);
    cli__member_number(coord, "at", triage->at_ms);
    member_bytes(coord, "reason", triage->why);
    ts_out_put_char(coord->out, '}');
}

static void print_json(struct cli_coord *coord, const struct ts_found *found) {
    char target[2 * TS_TARGET_ID_LEN + 1];
    *ts_hex_encode(ts_bytes_of(found->first_target.bytes, TS_TARGET_ID_LEN), target) = '\0';
    cli__object_begin(coord);
    cli__member_text(coord, "id", cli__show_finding(&found->id).text);
    member_bytes(coord, "rule", found->record.rule);
    member_bytes(coord, "name", found->record.name);
    cli__member_text(coord, "severity", ts_severity_name(found->severity));
    cli__member_text(coord, "confidence", ts_confidence_name(found->confidence));
    member_bytes(coord, "redacted", found->record.redacted);
    cli__member_text(coord, "state", ts_fleet_finding_state_name(found->state));
    cli__member_number(coord, "targets", found->targets);
    cli__member_number(coord, "occurrences", found->occurrences);
    if (found->knows_head)
        cli__member_bool(coord, "in_head", found->is_in_head);
    else
        cli__member_null(coord, "in_head");
    cli__member(coord, "first");
    cli__object_begin(coord);
    cli__member_text(coord, "target", target);
    member_bytes(coord, "repo", found->first_address);
    member_bytes(coord, "path", found->first.path);
    cli__member_bool(coord, "path_is_cut", found->first.path_is_cut);
    cli__member_number(coord, "line", found->first.line);
    cli__member_number(coord, "column", found->first.column);
    ts_out_put_char(coord->out, '}');
    if (found->has_triage)
        put_triage(coord, &found->triage);
    cli__object_end(coord);
}

static void print_text(struct cli_coord *coord, const struct ts_found *found) {
    cli__say(coord, "%s  %-8s  ", cli__show_finding(&found->id).text, ts_severity_name(found->severity));
    cli__put_escaped(coord->out, found->record.rule);
    cli__say(coord, "  ");
    cli__put_escaped(coord->out, found->record.redacted);
    cli__say(coord, "  %llu %s in %llu %s, ", (unsigned long long)found->occurrences,
             found->occurrences == 1 ? "place" : "places", (unsigned long long)found->targets,
             found->targets == 1 ? "target" : "targets");
    if (found->first_address.len > 0) {
        cli__put_escaped(coord->out, found->first_address);
        cli__say(coord, " ");
    }
    cli__put_escaped(coord->out, found->first.path);
    cli__say(coord, "%s:%llu", found->first.path_is_cut ? "…" : "", (unsigned long long)found->first.line);
    if (found->state != TS_FLEET_FINDING_OPEN)
        cli__say(coord, "  %s", ts_fleet_finding_state_name(found->state));
    cli__say(coord, "\n");
}

static void print_found(void *context, const struct ts_found *found) {
    struct listing *listing = context;
    /* print_more prints the id of the last finding, after which the next page begins. */
    listing->last = found->id;
    listing->count++;
    if (listing->coord->json)
        print_json(listing->coord, found);
    else
        print_text(listing->coord, found);
}

/* Prints how the user gets the next page. */
static void print_more(struct cli_coord *coord, const struct listing *listing) {
    const struct cli_finding_shown last = cli__show_finding(&listing->last);
    if (!coord->json) {
        cli__say(coord, "more findings: add --after %s\n", last.text);
        return;
    }
    cli__object_begin(coord);
    cli__member_text(coord, "next", last.text);
    cli__object_end(coord);
}

static enum cli_exit run_list(const struct cli_arguments *arguments) {
    static const char verb[] = "findings list";
    struct ts_findings_query query = {.has_after = arguments->values[LIST_AFTER] != NULL};
    uint64_t limit = LIMIT_DEFAULT;
    struct cli_coord coord = {0};
    enum cli_exit status = cli__findings_filter(verb, arguments, &query.filter);
    if (status == CLI_EXIT_DONE)
        status = cli__number_optional(verb, arguments, LIST_LIMIT, "limit", &limit);
    if (status == CLI_EXIT_DONE && (limit == 0 || limit > LIMIT_MAX))
        status = cli__complain(CLI_EXIT_USAGE,
                               "%s: --limit must be 1 to %d; for all findings use 'findings "
                               "export'",
                               verb, LIMIT_MAX);
    if (status == CLI_EXIT_DONE && query.has_after)
        status = cli__finding_id(verb, "--after", arguments->values[LIST_AFTER], &query.after);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    query.tenant = coord.tenant;
    query.limit = (size_t)limit;
    query.wants_address = true;
    struct listing listing = {.coord = &coord};
    struct ts_infra_error error = {0};
    bool more = false;
    status = cli__findings_check_target(&coord, &query.filter);
    if (status != CLI_EXIT_DONE)
        return cli__coord_close(&coord, status);
    if (!ts_findings_list(coord.coord, &query, print_found, &listing, &more, &error))
        status = cli__findings_refuse(&coord, &error);
    else if (more)
        print_more(&coord, &listing);
    else if (listing.count == 0 && !coord.json)
        cli__say(&coord, "no findings\n");
    return cli__coord_close(&coord, status);
}

/* ---- triage ---- */

/* Reads the options of a decision. --by names the person who decides (default: USER in the environment). */
static enum cli_exit read_decision(const char *verb, const struct cli_arguments *arguments,
                                   struct ts_fleet_triage *ret_triage) {
    const char *const *values = arguments->values;
    const char *by = values[TRIAGE_BY] != NULL ? values[TRIAGE_BY] : getenv("USER");
    const char *reason = values[TRIAGE_REASON] != NULL ? values[TRIAGE_REASON] : "";
    if (values[TRIAGE_STATE] == NULL)
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: --state is missing: open, false-positive, revoked or accepted", verb);
    (void)ts_triage_parse(ts_bytes_of_cstring(values[TRIAGE_STATE]), &ret_triage->state);
    if (ret_triage->state != TS_TRIAGE_OPEN && reason[0] == '\0')
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: --reason is missing; say why the finding is %s, without the secret", verb,
                             values[TRIAGE_STATE]);
    if (by == NULL || by[0] == '\0')
        return cli__complain(CLI_EXIT_USAGE, "%s: --by is missing, and USER is not set; say who decides",
                             verb);
    if (strlen(by) > TS_TRIAGE_WHO_MAX || strlen(reason) > TS_TRIAGE_WHY_MAX)
        return cli__complain(CLI_EXIT_USAGE, "%s: --by or --reason is too long; at most %d and %d bytes",
                             verb, TS_TRIAGE_WHO_MAX, TS_TRIAGE_WHY_MAX);
    ret_triage->who = ts_bytes_of_cstring(by);
    ret_triage->why = ts_bytes_of_cstring(reason);
    return CLI_EXIT_DONE;
}

static void print_decision(struct cli_coord *coord, const struct ts_triage_query *query,
                           const struct ts_fleet_triage *before, const struct ts_fleet_triage *triage) {
    if (coord->json) {
        cli__object_begin(coord);
        cli__member_text(coord, "id", cli__show_finding(&query->finding).text);
        cli__member_text(coord, "before", ts_triage_name(before->state));
        put_triage(coord, triage);
        cli__object_end(coord);
        return;
    }
    cli__say(coord, "%s: %s, before: %s\n", cli__show_finding(&query->finding).text,
             ts_triage_name(triage->state), ts_triage_name(before->state));
}

static enum cli_exit decide(struct cli_coord *coord, const struct ts_fleet_finding *finding,
                            struct ts_fleet_triage *triage) {
    const struct ts_triage_query query = {coord->tenant, *finding};
    struct ts_triage_room room;
    struct ts_fleet_triage before;
    struct ts_infra_error error = {0};
    bool exists = false;
    if (!ts_triage_get(coord->coord, &query, &room, &exists, &before, &error))
        return cli__findings_refuse(coord, &error);
    if (!exists)
        return cli__findings_refuse_unknown(coord, finding);
    if (!ts_triage_set(coord->coord, &query, triage, &triage->at_ms, &error))
        return cli__findings_refuse(coord, &error);
    print_decision(coord, &query, &before, triage);
    return CLI_EXIT_DONE;
}

static enum cli_exit run_triage(const struct cli_arguments *arguments) {
    static const char verb[] = "findings triage";
    struct ts_fleet_triage triage = {.state = TS_TRIAGE_OPEN};
    struct cli_coord coord = {0};
    struct ts_fleet_finding finding;
    enum cli_exit status = CLI_EXIT_DONE;
    if (arguments->operand_count == 0)
        return cli__complain(CLI_EXIT_USAGE, "%s: give the id of a finding; 'findings list' prints them",
                             verb);
    for (size_t i = 0; status == CLI_EXIT_DONE && i < arguments->operand_count; i++)
        status = cli__finding_id(verb, "the operand", arguments->operands[i], &finding);
    if (status == CLI_EXIT_DONE)
        status = read_decision(verb, arguments, &triage);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    for (size_t i = 0; status == CLI_EXIT_DONE && i < arguments->operand_count; i++) {
        (void)cli__finding_id(verb, "the operand", arguments->operands[i], &finding);
        status = decide(&coord, &finding, &triage);
    }
    return cli__coord_close(&coord, status);
}

static const struct cli_option list_options[] = {
    CLI_FINDINGS_OPTIONS,
    [LIST_LIMIT] = {.name = "limit", .argument = "N", .help = "print at most N findings (default: 100)"},
    [LIST_AFTER] = {.name = "after",
                    .argument = "ID",
                    .help = "start after this finding; for the next page, use the last id of this page"},
};

static const struct cli_option triage_options[] = {
    CLI_COORD_OPTIONS,
    [TRIAGE_STATE] = {.name = "state",
                      .argument = "STATE",
                      .choices = CLI_NUMBERED_CHOICES(TS_TRIAGES),
                      .help = "the decision"},
    [TRIAGE_REASON] = {.name = "reason",
                       .argument = "TEXT",
                       .help = "the reason; required unless the state is open. Do not write the secret here"},
    [TRIAGE_BY] = {.name = "by", .argument = "NAME", .help = "who decides (default: the variable USER)"},
};

const struct cli_verb cli__verb_findings_list = {
    .name = "findings list",
    .summary = "list the findings of the fleet",
    .description =
        "Prints one line for each finding, in the order of their ids, over all targets of the tenant. A "
        "secret has one id in all repositories. The list can be read in pages: --limit sets the length of a "
        "page, and --after starts the next page. Pages stay the same as long as the findings do not change. "
        "With --json, a page ends with {\"next\": ID} if more pages follow.\n\n"
        "The state of a finding is the "
        "decision of 'findings triage'. Without a decision it is 'allowed' if marks in the source allow "
        "every occurrence, otherwise 'open'.",
    .options = list_options,
    .option_count = sizeof list_options / sizeof list_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_list,
};

const struct cli_verb cli__verb_findings_triage = {
    .name = "findings triage",
    .summary = "record a decision about findings",
    .operands = "ID…",
    .description =
        "Stores a decision about each of the findings: who decided, when and why. It applies to the secret "
        "in all repositories of the tenant, and stays valid when they are scanned again. A later decision "
        "replaces it.",
    .options = triage_options,
    .option_count = sizeof triage_options / sizeof triage_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_triage,
};
