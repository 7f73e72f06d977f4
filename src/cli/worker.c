/*
 * turnstone worker: scans the targets of runs until no target is left, or until a signal stops the worker.
 */
#include "complain.h"
#include "coord_verb.h"
#include "forge_option.h"
#include "interrupt.h"
#include "live_line.h"
#include "mirror_options.h"
#include "output.h"
#include "scan_options.h"
#include "verbs.h"
#include "worker_metrics.h"

#include "base/hex.h"
#include "base/number.h"
#include "os/clock.h"
#include "os/out_json.h"
#include "runtime/core/plant.h"
#include "runtime/driver/crew.h"
#include "store/cluster/cluster.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WORKER_RUN = COORD_OPTIONS,
    WORKER_JOBS,
    WORKER_ONCE,
    WORKER_NAME,
    WORKER_LOG,
    WORKER_MEMORY,
    WORKER_PART_MS,
    WORKER_MIRRORS, /* the first of the options for mirrors */
    WORKER_TOKENS = WORKER_MIRRORS + MIRROR_OPTIONS,
    WORKER_CA,
    WORKER_NOTIFY,
    WORKER_NO_PROGRESS,
};

#define PER_SECOND_NS UINT64_C(1000000000)

static struct ts_crew_progress progress;

static void stop(int number) {
    (void)number;
    atomic_store(&progress.stop, true);
}

/* ---- events while it works ---- */

static void make_line(void *context, uint64_t elapsed_ns, size_t columns,
                      char ret_line[static CLI_LIVE_LINE_SIZE]) {
    (void)context;
    char rate[TS_SIZE_TEXT_SIZE];
    const uint64_t bytes = atomic_load(&progress.bytes);
    (void)ts_size_format((uint64_t)((double)bytes * (double)PER_SECOND_NS / (double)elapsed_ns), rate);
    const unsigned long long done = atomic_load(&progress.done), parked = atomic_load(&progress.parked),
                             busy = atomic_load(&progress.busy), findings = atomic_load(&progress.findings);
    if (atomic_load(&progress.stop)) {
        snprintf(ret_line, CLI_LIVE_LINE_SIZE, "stopping");
        return;
    }
    int len = snprintf(ret_line, CLI_LIVE_LINE_SIZE,
                       "%llu target%s done, %llu parked, %llu in progress, %s/s, %llu finding%s", done,
                       done == 1 ? "" : "s", parked, busy, rate, findings, findings == 1 ? "" : "s");
    if (len >= 0 && (size_t)len > columns)
        snprintf(ret_line, CLI_LIVE_LINE_SIZE, "%llu done, %llu parked, %llu finding%s", done, parked,
                 findings, findings == 1 ? "" : "s");
}

#define PAUSE_TOLD_NS (UINT64_C(600) * 1000000000)

struct log {
    struct ts_out out;
    bool is_open;
    bool has_told_pins; /* pinned runs were reported already */
    bool has_told_notify;
    uint64_t told_pause_ns; /* when a host that limits requests was last reported; 0: never */
};

static void put_number(struct ts_out *out, const char *name, uint64_t value) {
    ts_out_put_json_name(out, 1, name);
    ts_out_put_u64(out, value);
}

static void put_text(struct ts_out *out, const char *name, struct ts_bytes text) {
    ts_out_put_json_name(out, 1, name);
    ts_out_put_json(out, text);
}

static void write_event(struct log *log, const struct ts_crew_event *event) {
    char target[2 * TS_TARGET_ID_LEN];
    ts_out_put_cstring(&log->out, "{\"time_ms\":");
    ts_out_put_u64(&log->out, ts_clock_wall_ms());
    put_text(&log->out, "event", ts_bytes_of_cstring(ts_crew_event_label(event->kind)));
    put_number(&log->out, "job", event->job + 1);
    if (event->run.v != 0)
        put_number(&log->out, "run", event->run.v);
    if (event->has_target) {
        (void)ts_hex_encode(ts_bytes_of(event->target.bytes, sizeof event->target.bytes), target);
        put_text(&log->out, "target", ts_bytes_of(target, sizeof target));
        put_number(&log->out, "fence", event->fence.v);
    }
    if (event->phase != NULL)
        put_text(&log->out, "phase", ts_bytes_of_cstring(event->phase));
    if (event->reason != NULL)
        put_text(&log->out, "reason", ts_bytes_of_cstring(event->reason));
    if (event->count > 0)
        put_number(&log->out, "count", event->count);
    if (event->elapsed_ms > 0)
        put_number(&log->out, "elapsed_ms", event->elapsed_ms);
    if (event->stop_us > 0)
        put_number(&log->out, "stop_us", event->stop_us);
    if (event->objects > 0) {
        put_number(&log->out, "scan_ms", event->scan_ms);
        put_number(&log->out, "objects", event->objects);
        put_number(&log->out, "bytes_read", event->bytes_read);
        put_number(&log->out, "bytes", event->bytes_looked_at);
        put_number(&log->out, "findings", event->findings);
    }
    if (event->faults > 0)
        put_number(&log->out, "faults", event->faults);
    ts_out_put_cstring(&log->out, "}\n");
    (void)ts_out_flush(&log->out);
}

/* Reports a failing receiver once. After a message was sent, reports the next failure again. */
static void tell_notify(struct log *log, const struct ts_crew_event *event) {
    if (event->kind == TS_CREW_EVENT_NOTIFIED)
        log->has_told_notify = false;
    if (event->kind != TS_CREW_EVENT_NOTIFY_FAILED || log->has_told_notify)
        return;
    log->has_told_notify = true;
    cli__complain(CLI_EXIT_DONE, "worker: --notify: %s; the notification is sent again later", event->text);
}

/* Reports that hosts limit requests, at most once in PAUSE_TOLD_NS, because a worker hands back each target
 * of such a host repeatedly. */
static void tell_pause(struct log *log, const struct ts_crew_event *event) {
    const char *label = ts_unit_reason_label(TS_UNIT_RATE_LIMITED);
    const uint64_t now_ns = ts_clock_monotonic_ns();
    if (event->kind != TS_CREW_EVENT_RELEASED || event->reason == NULL || strcmp(event->reason, label) != 0 ||
        (log->told_pause_ns != 0 && now_ns - log->told_pause_ns < PAUSE_TOLD_NS))
        return;
    log->told_pause_ns = now_ns;
    cli__complain(CLI_EXIT_DONE,
                  "worker: %s; its targets wait until it allows more, and 'run watch' lists them",
                  event->text);
}

/* Counts and logs an event. Unfinished work is reported on standard error, even without a log. */
static void tell_event(void *context, const struct ts_crew_event *event) {
    struct log *log = context;
    cli__worker_metrics_add(event);
    char target[2 * TS_TARGET_ID_LEN + 1] = "";
    (void)ts_hex_encode(ts_bytes_of(event->target.bytes, sizeof event->target.bytes), target);
    if (event->kind == TS_CREW_EVENT_PARKED)
        cli__complain(CLI_EXIT_DONE, "worker: target %s is parked: %s", target, event->text);
    if (event->faults > 0)
        cli__complain(
            CLI_EXIT_DONE,
            "worker: target %s is done, but something in it could not be read; 'findings export --target %s' "
            "shows what",
            target, target);
    if (event->kind == TS_CREW_EVENT_SCHEDULE_FAILED)
        cli__complain(CLI_EXIT_DONE, "worker: a schedule that is due cannot start: %s; see 'schedule list'",
                      event->text);
    tell_notify(log, event);
    tell_pause(log, event);
    if (event->kind == TS_CREW_EVENT_PINNED && !log->has_told_pins) {
        log->has_told_pins = true;
        cli__complain(
            CLI_EXIT_DONE,
            "worker: %llu run%s not scanned: pinned to the rules of another version; use a worker of the "
            "version that created them",
            (unsigned long long)event->count, event->count == 1 ? " is" : "s are");
    }
    if (log->is_open)
        write_event(log, event);
}

static enum cli_exit open_log(const char *path, struct log *log) {
    if (path == NULL)
        return CLI_EXIT_DONE;
    const int fd =
        strcmp(path, "-") == 0 ? STDERR_FILENO : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return cli__complain(CLI_EXIT_USAGE, "worker: --log: '%s' cannot be written: %s",
                             cli__quote_text(path).text, strerror(errno));
    ts_out_init(&log->out, fd);
    log->is_open = true;
    return CLI_EXIT_DONE;
}

/* ---- options ---- */

struct worker_given {
    struct ts_crew_options crew;
    char name[TS_NAME_ID_LEN + 1];
    struct cli_mirrors mirrors;
};

/* Sets the name of the worker. The default name is unique across machines, because two workers with the same
 * name would share their cooldown. */
static enum cli_exit read_name(const char *text, struct worker_given *given) {
    char host[17] = "";
    if (text == NULL) {
        (void)gethostname(host, sizeof host - 1);
        snprintf(given->name, sizeof given->name, "%s-%ld", host[0] ? host : "worker", (long)getpid());
    } else if (strlen(text) == 0 || strlen(text) > 28) {
        return cli__complain(CLI_EXIT_USAGE, "worker: --name must have 1 to 28 bytes; got '%s'",
                             cli__quote_text(text).text);
    } else {
        snprintf(given->name, sizeof given->name, "%s", text);
    }
    given->crew.name = ts_bytes_of_cstring(given->name);
    return CLI_EXIT_DONE;
}

static enum cli_exit read_notify(const char *path, struct ts_crew_options *crew) {
    struct ts_private_error error;
    if (path == NULL)
        return CLI_EXIT_DONE;
    crew->notify = ts_notify_new(path, &progress.stop, &error);
    return crew->notify != NULL ? CLI_EXIT_DONE
                                : cli__complain(CLI_EXIT_USAGE, "worker: --notify: '%s': %s",
                                                cli__quote_text(path).text, error.text);
}

static enum cli_exit read_options(const struct cli_arguments *arguments, struct worker_given *given) {
    static const char verb[] = "worker";
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t jobs = processors > 0 && processors < TS_CREW_JOBS_MAX ? (uint64_t)processors : 1;
    struct ts_crew_options *crew = &given->crew;
    enum cli_exit status = cli__number_optional(verb, arguments, WORKER_JOBS, "jobs", &jobs);
    if (status == CLI_EXIT_DONE && (jobs < 1 || jobs > TS_CREW_JOBS_MAX))
        status = cli__complain(CLI_EXIT_USAGE, "%s: --jobs must be from 1 to %d", verb, TS_CREW_JOBS_MAX);
    if (status == CLI_EXIT_DONE)
        status = cli__number_optional(verb, arguments, WORKER_RUN, "run", &crew->run.v);
    crew->part_ms = TS_CREW_PART_MS;
    if (status == CLI_EXIT_DONE)
        status = cli__number_optional(verb, arguments, WORKER_PART_MS, "part-ms", &crew->part_ms);
    if (status == CLI_EXIT_DONE && (crew->part_ms < 1 || crew->part_ms > 3600000))
        status = cli__complain(CLI_EXIT_USAGE, "%s: --part-ms must be from 1 to 3600000", verb);
    if (status == CLI_EXIT_DONE)
        status = read_name(arguments->values[WORKER_NAME], given);
    struct ts_scan_options scan = {0};
    const struct cli_scan_limits limits = {.memory = arguments->values[WORKER_MEMORY]};
    if (status == CLI_EXIT_DONE)
        status = cli__scan_limits_read(verb, &limits, &scan);
    if (status == CLI_EXIT_DONE)
        status = cli__mirrors_read(verb, arguments, WORKER_MIRRORS, &given->mirrors);
    crew->forge = (struct ts_discover_options){.tokens_file = arguments->values[WORKER_TOKENS],
                                               .ca_file = arguments->values[WORKER_CA],
                                               .timeout_s = TS_DISCOVER_TIMEOUT_S,
                                               .per_second = TS_DISCOVER_PER_SECOND};
    if (status == CLI_EXIT_DONE)
        status = cli__ca_check(verb, crew->forge.ca_file);
    if (status == CLI_EXIT_DONE)
        status = read_notify(arguments->values[WORKER_NOTIFY], crew);
    crew->jobs = (unsigned)jobs;
    crew->has_run = arguments->values[WORKER_RUN] != NULL;
    crew->once = arguments->values[WORKER_ONCE] != NULL;
    crew->memory_bytes = scan.memory_bytes;
    crew->progress = &progress;
    return status;
}

/* ---- working ---- */

#ifdef TS_TEST_BUILD

#define PLANT_NAME(suffix, name, text) name,

/* Breaks the rule of the protocol that the environment names. Tests use this function to show that they
 * notice the violation. */
static void plant(void) {
    static const char *const names[] = {"", TS_FLEET_PLANTS(PLANT_NAME)};
    const char *name = getenv("TURNSTONE_FLEET_PLANT"); /* NOLINT(concurrency-mt-unsafe) */
    for (size_t i = 1; name != NULL && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            ts_fleet_plant((enum ts_fleet_plant)i);
}

#else

static void plant(void) {
}

#endif

static enum cli_exit print_end(struct cli_coord *coord, enum ts_crew_result result,
                               const struct ts_crew_error *error) {
    const unsigned long long done = atomic_load(&progress.done), parked = atomic_load(&progress.parked),
                             released = atomic_load(&progress.released), lost = atomic_load(&progress.lost);
    if (coord->json) {
        cli__object_begin(coord);
        cli__member_number(coord, "done", done);
        cli__member_number(coord, "parked", parked);
        cli__member_number(coord, "released", released);
        cli__member_number(coord, "lost", lost);
        cli__object_end(coord);
    } else {
        cli__say(coord, "%llu done, %llu parked, %llu released, %llu lost\n", done, parked, released, lost);
    }
    if (result == TS_CREW_ENDED)
        return CLI_EXIT_DONE;
    return cli__complain(result == TS_CREW_REFUSED ? CLI_EXIT_REFUSED : CLI_EXIT_INFRASTRUCTURE, "worker: %s",
                         error->text);
}

static enum cli_exit work(struct cli_coord *coord, struct worker_given *given, bool draws) {
    struct ts_crew_error error = {{0}};
    struct cli_live_line line = {0};
    given->crew.coord = coord->coord;
    given->crew.tenant = coord->tenant;
    given->crew.tenant_key = ts_fleet_tenant_key_of(ts_cluster_meta(coord->cluster, 0)->secret,
                                                    ts_bytes_of(coord->tenant.b, sizeof coord->tenant.b));
    given->crew.mirrors = ts_mirrors_new(&given->mirrors.options);
    if (given->crew.mirrors == NULL)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "worker: out of memory");
    cli__catch_interrupts(stop);
    if (draws)
        cli__live_line_begin(&line, make_line, NULL);
    const enum ts_crew_result result = ts_crew_work(&given->crew, &error);
    cli__live_line_end(&line);
    ts_mirrors_free(given->crew.mirrors);
    if (progress.notices > 0)
        cli__complain(CLI_EXIT_DONE,
                      "worker: %llu notification%s not sent yet; the next worker with --notify sends %s",
                      (unsigned long long)progress.notices, progress.notices == 1 ? " is" : "s are",
                      progress.notices == 1 ? "it" : "them");
    return print_end(coord, result, &error);
}

static enum cli_exit run_worker(const struct cli_arguments *arguments) {
    static struct worker_given given;
    static struct log log;
    struct cli_coord coord;
    enum cli_exit status = read_options(arguments, &given);
    if (status == CLI_EXIT_DONE)
        status = open_log(arguments->values[WORKER_LOG], &log);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open("worker", arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    coord.more_metrics = cli__worker_metrics_put;
    plant();
    given.crew.event = tell_event;
    given.crew.context = &log;
    status = work(&coord, &given, arguments->values[WORKER_NO_PROGRESS] == NULL);
    ts_notify_free(given.crew.notify);
    return cli__coord_close(&coord, status);
}

static const struct cli_option worker_options[] = {
    CLI_COORD_OPTIONS,
    [WORKER_RUN] = {.name = "run",
                    .argument = "ID",
                    .help =
                        "work only on this run (default: all active runs of the tenant, the oldest first)"},
    [WORKER_JOBS] = {.name = "jobs",
                     .argument = "COUNT",
                     .help = "targets to scan at the same time, 1 to 64 (default: one per processor)",
                     .letter = 'j'},
    [WORKER_ONCE] = {.name = "once", .help = "end when no run is active (default: wait for new runs)"},
    [WORKER_NAME] = {.name = "name",
                     .argument = "NAME",
                     .help = "the worker's name in leases, up to 28 bytes (default: host and process id)"},
    [WORKER_LOG] = {.name = "log",
                    .argument = "FILE",
                    .help = "append one JSON line for each event; '-' is standard error. The lines contain "
                            "ids, numbers and reasons, never addresses, paths or secrets"},
    [WORKER_MEMORY] = {.name = "memory",
                       .argument = "SIZE",
                       .help = "memory for all jobs together, at least 64M for each (default: 1G)"},
    [WORKER_PART_MS] =
        {.name = "part-ms",
         .argument = "N",
         .help = "store the progress of a long scan every N milliseconds, 1 to 3600000; a killed worker "
                 "loses at most this much work (default: 5000)"},
    CLI_MIRROR_OPTIONS(WORKER_MIRRORS),
    [WORKER_TOKENS] =
        {.name = "tokens",
         .argument = "FILE",
         .help =
             "tokens for the forges of schedules: a file that only its owner can read, with a line 'HOST TOKEN' for "
             "each host (default: none)"},
    [WORKER_CA] =
        {.name = "ca",
         .argument = "FILE",
         .help =
             "for the forges of schedules, trust the certificates of this PEM file instead of the system's"},
    [WORKER_NOTIFY] =
        {.name = "notify",
         .argument = "FILE",
         .help =
             "report new findings to the webhooks and commands of this file; see docs/fleet.md (default: leave that to "
             "other workers)"},
    [WORKER_NO_PROGRESS] = {.name = "no-progress", .help = "draw no progress line"},
};

static const struct cli_variable worker_variables[] = {CLI_CLUSTER_VARIABLE, CLI_FORGE_VARIABLES};

static const struct cli_example worker_examples[] = {
    {"turnstone worker --once", "scan all submitted targets, and end"},
    {"turnstone worker --once --jobs 4 --log worker.log", "four targets at a time, with a log"},
};

const struct cli_verb cli__verb_worker = {
    .name = "worker",
    .summary = "scan the targets of runs",
    .description =
        "Claims one target after the other, scans its repository and stores the findings. 'run create "
        "--targets' submits targets, and 'findings list' shows the findings. Repositories on this machine are "
        "scanned in place. For repositories on servers, git fetches a mirror. Any number of workers can work "
        "on the same cluster, and each may be killed at any moment: other workers continue from its stored "
        "results. The worker that ends the last target completes the run. A worker without work starts runs of "
        "schedules that are due ('turnstone help schedule').\n\n"
        "A worker scans with the built-in rules of its own version. It skips runs that are pinned to other "
        "rules.\n\n"
        "On SIGTERM or Ctrl-C it stores its results so far, releases its leases, and ends. Only one process "
        "at a time can open a cluster on RocksDB; use --jobs there.",
    .options = worker_options,
    .option_count = sizeof worker_options / sizeof worker_options[0],
    .variables = worker_variables,
    .variable_count = sizeof worker_variables / sizeof worker_variables[0],
    .examples = worker_examples,
    .example_count = sizeof worker_examples / sizeof worker_examples[0],
    .run = run_worker,
};
