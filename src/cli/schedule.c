/*
 * turnstone schedule add: stores which targets to scan, and how often.
 */
#include "schedule.h"

#include "complain.h"
#include "forge_option.h"
#include "output.h"
#include "scan_options.h"
#include "target_request.h"
#include "verbs.h"

#include "base/number.h"
#include "discover/discover.h"

#include <stdlib.h>
#include <string.h>

enum {
    ADD_TARGETS = COORD_OPTIONS,
    ADD_EVERY,
    ADD_DAILY,
    ADD_SELECT,
    ADD_FORMAT,
    ADD_NO_ARCHIVED,
    ADD_NO_FORKS,
    ADD_SSH,
    ADD_LEASE_MS,
    ADD_ATTEMPTS,
    ADD_KEEP,
    ADD_REPLACE,
};

#define MINUTE_MS UINT64_C(60000)

/* The values of the verb's options, while the schedule is being stored. */
struct adding {
    struct ts_fleet_schedule schedule; /* the schedule without its list and times */
    uint64_t of_day_ms;                /* with --daily: time of the day, UTC */
    struct cli_target_request request; /* has the targets of the list */
    size_t next;                       /* index of the next target to store */
};

/* ---- how often ---- */

static bool two_digits(const char **text, unsigned max, unsigned *ret_number) {
    const char *at = *text;
    if (at[0] < '0' || at[0] > '9' || at[1] < '0' || at[1] > '9')
        return false;
    *ret_number = (unsigned)(at[0] - '0') * 10 + (unsigned)(at[1] - '0');
    *text += 2;
    return *ret_number <= max;
}

/* Parses HH:MM, or HH:MM+HH:MM with the offset from UTC. */
static bool parse_daily(const char *text, uint64_t *ret_of_day_ms) {
    unsigned hours, minutes, zone_hours = 0, zone_minutes = 0;
    if (!two_digits(&text, 23, &hours) || *text++ != ':' || !two_digits(&text, 59, &minutes))
        return false;
    const bool is_east = *text == '+';
    if (*text == '+' || *text == '-') {
        text++;
        if (!two_digits(&text, 14, &zone_hours) || *text++ != ':' || !two_digits(&text, 59, &zone_minutes))
            return false;
    }
    const uint64_t day = TS_SCHEDULE_DAY_MS / MINUTE_MS;
    const uint64_t zone = (uint64_t)zone_hours * 60 + zone_minutes;
    *ret_of_day_ms = ((uint64_t)hours * 60 + minutes + day + (is_east ? day - zone : zone)) % day * MINUTE_MS;
    return *text == '\0';
}

static bool parse_every(const char *text, uint64_t *ret_ms) {
    const size_t len = strspn(text, "0123456789");
    uint64_t days;
    if (strcmp(text + len, "d") != 0)
        return cli__duration_parse(text, ret_ms) && *ret_ms >= TS_SCHEDULE_EVERY_MIN_MS;
    if (ts_u64_parse(ts_bytes_of(text, len), &days) != TS_NUMBER_OK || days == 0 || days > 366)
        return false;
    *ret_ms = days * TS_SCHEDULE_DAY_MS;
    return true;
}

static enum cli_exit read_rhythm(const char *verb, const char *const *values, struct adding *adding) {
    const char *every = values[ADD_EVERY], *daily = values[ADD_DAILY];
    struct ts_fleet_schedule *schedule = &adding->schedule;
    if ((every == NULL) == (daily == NULL))
        return cli__complain(CLI_EXIT_USAGE, "%s: say how often: either --every 6h or --daily 02:30", verb);
    schedule->is_daily = daily != NULL;
    schedule->every_ms = TS_SCHEDULE_DAY_MS;
    if (daily != NULL && !parse_daily(daily, &adding->of_day_ms))
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: --daily must be a time such as 02:30 (UTC) or 02:30+01:00; got '%s'", verb,
                             cli__quote_text(daily).text);
    if (every != NULL && !parse_every(every, &schedule->every_ms))
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: --every must be from 1s to 366d, such as 30m, 6h or 7d; got '%s'", verb,
                             cli__quote_text(every).text);
    return CLI_EXIT_DONE;
}

/* ---- targets and other options ---- */

static enum cli_exit add_forge(const char *verb, struct adding *adding, const char *request, size_t number) {
    struct ts_fleet_schedule *schedule = &adding->schedule;
    const char *wrong = ts_discover_check(request);
    if (wrong != NULL)
        return cli__complain(CLI_EXIT_USAGE, "%s: operand %zu of --targets: the request %s", verb, number,
                             wrong);
    if (schedule->request_count == TS_SCHEDULE_REQUESTS || strlen(request) > TS_SCHEDULE_REQUEST_MAX)
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: a schedule has at most %d requests to forges, of up to %d bytes", verb,
                             TS_SCHEDULE_REQUESTS, TS_SCHEDULE_REQUEST_MAX);
    schedule->requests[schedule->request_count++] = ts_bytes_of_cstring(request);
    return CLI_EXIT_DONE;
}

static enum cli_exit read_targets(const char *verb, const struct cli_arguments *arguments,
                                  struct adding *adding) {
    enum cli_exit status = CLI_EXIT_DONE;
    size_t number = 0;
    for (size_t i = 0; i < arguments->given_count && status != CLI_EXIT_INFRASTRUCTURE; i++) {
        const char *value = arguments->given[i].value;
        if (arguments->given[i].option != ADD_TARGETS)
            continue;
        number++;
        const enum cli_exit one = ts_discover_is_request(value)
                                      ? add_forge(verb, adding, value, number)
                                      : cli__target_request_add(&adding->request, value, number);
        status = one == CLI_EXIT_DONE ? status : one;
    }
    ts_target_list_settle(&adding->request.list);
    if (status == CLI_EXIT_DONE && adding->request.list.count == 0 && adding->schedule.request_count == 0)
        status = cli__complain(CLI_EXIT_USAGE,
                               number == 0 ? "%s: --targets is missing" : "%s: --targets: the list is empty",
                               verb);
    return status;
}

static enum cli_exit read_numbers(const char *verb, const struct cli_arguments *arguments,
                                  struct ts_fleet_schedule *schedule) {
    struct ts_run_config config = ts_run_config_default();
    struct ts_run_config_detail detail;
    uint64_t attempts = config.attempts, keep = TS_SCHEDULE_KEEP;
    enum cli_exit status =
        cli__number_optional(verb, arguments, ADD_LEASE_MS, "lease-ms", &config.lease_duration_ms);
    if (status == CLI_EXIT_DONE)
        status = cli__number_optional(verb, arguments, ADD_ATTEMPTS, "attempts", &attempts);
    if (status == CLI_EXIT_DONE)
        status = cli__number_optional(verb, arguments, ADD_KEEP, "keep", &keep);
    if (status != CLI_EXIT_DONE)
        return status;
    config.attempts = attempts < UINT32_MAX ? (uint32_t)attempts : UINT32_MAX;
    if (ts_run_config_check(&config, &detail) != TS_RUN_CONFIG_FAULT_OK)
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: --lease-ms must be from 1000 to 86400000, and --attempts from 0 to 1000",
                             verb);
    if (keep > TS_SCHEDULE_KEEP_MAX)
        return cli__complain(CLI_EXIT_USAGE, "%s: --keep must be from 0 to %d", verb, TS_SCHEDULE_KEEP_MAX);
    schedule->lease_ms = config.lease_duration_ms;
    schedule->attempts = config.attempts;
    schedule->keep = (uint32_t)keep;
    return CLI_EXIT_DONE;
}

static enum cli_exit read_all(const char *verb, const struct cli_arguments *arguments,
                              struct adding *ret_adding) {
    const char *const *values = arguments->values;
    const char *tenant = values[COORD_TENANT], *select = values[ADD_SELECT], *format = values[ADD_FORMAT];
    struct ts_fleet_schedule *schedule = &ret_adding->schedule;
    ret_adding->request.verb = verb;
    ret_adding->request.defaults =
        (struct ts_target_defaults){.tenant = ts_bytes_of_cstring(tenant ? tenant : "default"),
                                    .selection = ts_bytes_of_cstring(select ? select : "default"),
                                    .format = format ? format : "sha1"};
    schedule->no_archived = values[ADD_NO_ARCHIVED] != NULL;
    schedule->no_forks = values[ADD_NO_FORKS] != NULL;
    schedule->ssh = values[ADD_SSH] != NULL;
    schedule->selection = ret_adding->request.defaults.selection;
    schedule->is_sha256 = format != NULL && strcmp(format, "sha256") == 0;
    if (schedule->selection.len > TS_SCHEDULE_SELECTION_MAX)
        return cli__complain(CLI_EXIT_USAGE, "%s: --select has more than %d bytes", verb,
                             TS_SCHEDULE_SELECTION_MAX);
    enum cli_exit status = read_rhythm(verb, values, ret_adding);
    if (status == CLI_EXIT_DONE)
        status = read_numbers(verb, arguments, schedule);
    if (status == CLI_EXIT_DONE)
        status = read_targets(verb, arguments, ret_adding);
    const bool has_filters = schedule->no_archived || schedule->no_forks || schedule->ssh;
    if (status == CLI_EXIT_DONE && has_filters && schedule->request_count == 0)
        status = cli__complain(
            CLI_EXIT_USAGE, "%s: --no-archived, --no-forks and --ssh need a request to a forge in --targets",
            verb);
    return status;
}

/* ---- storing ---- */

static bool next_unit(void *context, struct ts_fleet_unit *ret_unit) {
    struct adding *adding = context;
    if (adding->next == adding->request.list.count)
        return false;
    const struct ts_target *target = &adding->request.list.items[adding->next++];
    const bool is_other_url = strcmp(target->url, target->address) != 0;
    *ret_unit = (struct ts_fleet_unit){.address = ts_bytes_of_cstring(target->address),
                                       .url = ts_bytes_of_cstring(is_other_url ? target->url : ""),
                                       .selection = ts_bytes_of_cstring(target->selection),
                                       .is_sha256 = strcmp(target->format, "sha256") == 0};
    return true;
}

/* Returns the new record of a schedule. The new record keeps the runs of the existing record and, if the
 * interval and the time of day are unchanged, the due times. */
static struct ts_fleet_schedule merge(const struct adding *adding, const struct ts_schedule_seen *seen) {
    const struct ts_fleet_schedule *old = &seen->schedule;
    struct ts_fleet_schedule next = adding->schedule;
    next.made_at_ms = seen->now_ms;
    next.first_ms = next.is_daily ? ts_schedule_first_daily(seen->now_ms, adding->of_day_ms) : seen->now_ms;
    if (seen->version == 0)
        return next;
    const bool is_same_rhythm =
        old->is_daily == next.is_daily && old->every_ms == next.every_ms &&
        (!next.is_daily || old->first_ms % TS_SCHEDULE_DAY_MS == next.first_ms % TS_SCHEDULE_DAY_MS);
    if (is_same_rhythm)
        next.first_ms = old->first_ms;
    next.is_paused = old->is_paused;
    next.last_due_ms = old->last_due_ms;
    next.has_begun = old->has_begun;
    next.begun_due_ms = old->begun_due_ms;
    next.begun = old->begun;
    next.pin = old->pin;
    next.run_count = old->run_count;
    memcpy(next.runs, old->runs, sizeof next.runs);
    return next;
}

static void print_added(struct cli_coord *coord, const struct ts_schedule_seen *seen,
                        const struct ts_fleet_schedule *schedule) {
    const struct ts_bytes name = ts_schedule_name_text(&seen->ref.name);
    const uint64_t next_ms = ts_schedule_due(schedule, seen->now_ms) != 0
                                 ? ts_schedule_due(schedule, seen->now_ms)
                                 : ts_schedule_next(schedule, seen->now_ms);
    if (coord->json) {
        char text[TS_NAME_ID_LEN + 1];
        memcpy(text, name.data, name.len);
        text[name.len] = '\0';
        cli__object_begin(coord);
        cli__member_text(coord, "schedule", text);
        cli__member_bool(coord, "replaced", seen->version != 0);
        cli__member_number(coord, "targets", schedule->list.targets);
        cli__member_number(coord, "requests", schedule->request_count);
        cli__member_number(coord, "next_due_ms", next_ms);
        cli__object_end(coord);
        return;
    }
    cli__say(coord, "%.*s: %s, ", (int)name.len, (const char *)name.data, cli__show_rhythm(schedule).text);
    if (schedule->list.targets > 0 || schedule->request_count == 0)
        cli__say(coord, "%llu target%s", (unsigned long long)schedule->list.targets,
                 schedule->list.targets == 1 ? "" : "s");
    if (schedule->request_count > 0)
        cli__say(coord, "%s%zu forge request%s", schedule->list.targets > 0 ? " and " : "",
                 schedule->request_count, schedule->request_count == 1 ? "" : "s");
    cli__say(coord, "; next %s; an idle 'turnstone worker' starts it\n", cli__show_moment(next_ms).text);
}

static enum cli_exit store(struct cli_coord *coord, const struct ts_schedule_name *name, bool may_replace,
                           struct adding *adding, struct ts_schedule_seen *seen) {
    const struct ts_schedule_ref ref = {coord->tenant, *name};
    struct ts_infra_error error = {0};
    if (adding->request.list.count > 0 &&
        !ts_listing_write(coord->coord, &ref, next_unit, adding, &adding->schedule.list, &error))
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: the list cannot be stored: %s", coord->verb,
                             error.text);
    for (int tries = 0; tries < CLI_SCHEDULE_TRIES; tries++) {
        struct ts_listings listings;
        enum cli_exit status = cli__schedule_read(coord, name, CLI_SCHEDULE_ANY, seen);
        if (status != CLI_EXIT_DONE)
            return status;
        if (seen->version != 0 && !may_replace)
            return cli__complain(CLI_EXIT_REFUSED, "%s: the schedule exists; --replace changes it",
                                 coord->verb);
        if (!ts_listings_collect(coord->coord, &ref, &listings, &error))
            return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: %s", coord->verb, error.text);
        const struct ts_fleet_schedule next = merge(adding, seen);
        const enum ts_schedule_write written = ts_schedule_write(coord->coord, seen, &next, &error);
        if (written == TS_SCHEDULE_CHANGED)
            continue;
        if (written != TS_SCHEDULE_WRITTEN)
            return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: the schedule cannot be stored: %s",
                                 coord->verb,
                                 written == TS_SCHEDULE_TOO_LONG ? "its texts are too long" : error.text);
        const struct ts_listings_kept kept = {next.list.id, next.has_begun ? next.begun.id : next.list.id};
        /* If this fails, the next start of a run removes the old lists. */
        (void)ts_listings_remove(coord->coord, &ref, &listings, kept, &error);
        print_added(coord, seen, &next);
        return CLI_EXIT_DONE;
    }
    return cli__complain(CLI_EXIT_REFUSED, "%s: other processes keep changing the schedule; try again",
                         coord->verb);
}

static enum cli_exit schedule_add(const struct cli_arguments *arguments) {
    static const char verb[] = "schedule add";
    static struct adding adding;
    static struct ts_schedule_seen seen;
    struct ts_schedule_name name;
    struct cli_coord coord;
    enum cli_exit status = cli__schedule_name(verb, arguments, &name);
    if (status == CLI_EXIT_DONE)
        status = read_all(verb, arguments, &adding);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, NULL, &coord);
    if (status == CLI_EXIT_DONE) {
        status = store(&coord, &name, arguments->values[ADD_REPLACE] != NULL, &adding, &seen);
        status = cli__coord_close(&coord, status);
    }
    ts_target_list_release(&adding.request.list);
    return status;
}

static const struct cli_option add_options[] = {
    CLI_COORD_OPTIONS,
    [ADD_TARGETS] =
        {.name = "targets",
         .argument = "FILE|FOLDER|FORGE|ADDRESS|-",
         .many = true,
         .help =
             "the repositories; may be repeated. Files, folders and '-' are read now, and their targets are stored in "
             "the cluster; forges are asked before every run"},
    [ADD_EVERY] = {.name = "every",
                   .argument = "TIME",
                   .help = "scan at this interval, such as 30m, 6h or 7d; the first scan is due at once"},
    [ADD_DAILY] = {.name = "daily",
                   .argument = "HH:MM",
                   .help = "scan every day at this time, in UTC, or with an offset from UTC: 02:30+01:00"},
    [ADD_SELECT] = {.name = "select",
                    .argument = "WHAT",
                    .help = "which part of each repository (default: default); see 'turnstone help targets'"},
    [ADD_FORMAT] = {.name = "object-format",
                    .argument = "FORMAT",
                    .choices = "sha1|sha256",
                    .help = "the object format of repositories on servers (default: sha1)"},
    [ADD_NO_ARCHIVED] = {.name = "no-archived", .help = "leave out repositories that the forge has archived"},
    [ADD_NO_FORKS] = {.name = "no-forks", .help = "leave out repositories that the forge lists as forks"},
    [ADD_SSH] = {.name = "ssh",
                 .help = "fetch the repositories of forges by ssh as the user git (default: by https)"},
    [ADD_LEASE_MS] = {.name = "lease-ms",
                      .argument = "N",
                      .help = "duration of a lease in milliseconds, 1000 to 86400000 (default: 30000)"},
    [ADD_ATTEMPTS] =
        {.name = "attempts",
         .argument = "N",
         .help =
             "how often a target may be claimed without progress before it is parked, 0 to 1000 (default: 5; 0: no "
             "limit)"},
    [ADD_KEEP] =
        {.name = "keep",
         .argument = "COUNT",
         .help =
             "delete runs of this schedule that are older than the last COUNT, 0 to 90 (default: 30; 0: delete none). "
             "Findings stay"},
    [ADD_REPLACE] =
        {.name = "replace",
         .help =
             "replace the schedule if it exists. Its runs stay; its due times stay if --every or --daily is unchanged"},
};

static const struct cli_example add_examples[] = {
    {"turnstone schedule add nightly --daily 02:30 --targets https://github.com/curl/curl", "every night"},
};

const struct cli_verb cli__verb_schedule_add = {
    .name = "schedule add",
    .summary = "store which targets to scan, and how often",
    .operands = "NAME",
    .description =
        "A worker without work starts the run of a schedule that is due. Each due time starts at most one "
        "run, however many workers there are. If several due times pass while no worker is free, only the "
        "latest of them starts a run. Due times follow the clock of the first store. The id of a run is "
        "derived from tenant, schedule and due time.\n\nRequests to forges are sent by the "
        "worker, with its --tokens. If a forge fails, the worker tries again after a pause, and 'schedule show' says why. Local "
        "folders must have the same path on all workers.",
    .options = add_options,
    .option_count = sizeof add_options / sizeof add_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .examples = add_examples,
    .example_count = sizeof add_examples / sizeof add_examples[0],
    .run = schedule_add,
};
