/*
 * A worker that loses its lease stops within 100 ms, whatever it does at that moment: it may wait for a
 * server or a store, read history or contents, or find the places of findings.
 *
 * The run is cancelled as soon as its target is claimed, and the keeper learns it at the first renewal. The
 * worker begins its work some time after the claim, so that the renewal comes at a certain moment of the
 * work. Delays are processor time, so that other load of the machine does not count. A worker that sleeps
 * instead of stopping needs more elapsed time. Only the best quarter of the elapsed times counts.
 * With STOPS_LOSSES=50, the test loses 50 leases in each stage and limits the elapsed time of every stop.
 * tools/soak-fleet does this on an idle machine.
 */
#include "kit.h"

#include "repo_maker.h"

#include "os/clock.h"
#include "runtime/driver/submit.h"
#include "turnstone/cluster.h"
#include "txn/guard/txn_config.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#define SHORT_LEASE_MS   UINT64_C(1000)
#define RENEWAL_MS       (SHORT_LEASE_MS / 3)
#define SEED             20261118
#define LIMIT_US         UINT64_C(100000)
/* Limit of the elapsed time of a stop. On a busy machine every step waits for a processor, but a worker that
 * waits for a timeout instead of stopping takes even longer. */
#define ELAPSED_LIMIT_US UINT64_C(2000000)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWER 4
#else
#define SLOWER 1
#endif

enum { LOSSES = 5, LOSSES_MAX = 1000, TRIES_PER_LOSS = 40, STAGES = TS_SCAN_STAGE_ORIGINS + 1 };

static struct ts_prng prng;

/* The losses of leases in one stage. */
struct tally {
    unsigned count;
    uint64_t cpu_us; /* the longest processor time from a loss to the stop */
    uint64_t us[LOSSES_MAX];
    uint64_t from_ms, to_ms; /* the next try is between these moments of the work */
};

static const char *given_losses(void) {
    return getenv("STOPS_LOSSES"); /* NOLINT(concurrency-mt-unsafe) */
}

/* Returns the number of losses to wait for in each stage. */
static unsigned wanted_losses(void) {
    return given_losses() != NULL ? (unsigned)strtoul(given_losses(), NULL, 10) : LOSSES;
}

static void cancel(struct ts_run_id run) {
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    const struct ts_end_run_op op = {.tenant = world.tenant, .run = run, .op_id = {run.v}};
    assert_int_equal(ts_coord_cancel_run(world.coord, op, &outcome, &detail), TS_RUN_TRANSITION_OK);
}

static uint64_t delay_ms;

static void begin_later(struct victim *victim, const struct ts_crew_event *event) {
    if (event->kind != TS_CREW_EVENT_CLAIMED)
        return;
    cancel(event->run);
    usleep((useconds_t)(1000 * delay_ms));
    (void)victim;
}

/* Submits a run over one address or path. Returns the id of the run. */
static struct ts_run_id submit_one(const char *address, uint64_t lease_ms) {
    struct ts_target_list list = {0};
    struct ts_target_error why;
    const struct ts_target_defaults defaults = {.tenant = ts_bytes_of(world.tenant.b, sizeof world.tenant.b),
                                                .selection = TS_BYTES("all"),
                                                .format = "sha1"};
    if (ts_target_list_add(&list, &defaults, ts_bytes_of_cstring(address), (struct ts_bytes){0}, &why) !=
        TS_TARGET_OK)
        fail_msg("%s", why.text);
    ts_target_list_settle(&list);
    const struct ts_run_id run = next_run();
    submit_list(run, &list, &(struct ts_run_config){.lease_duration_ms = lease_ms});
    return run;
}

/* Returns the event that reports the loss of the lease; NULL if the unit ended before the renewal. */
static const struct ts_crew_event *loss_of(const struct victim *victim) {
    const struct ts_crew_event *lost = victim_last(victim, TS_CREW_EVENT_LOST);
    return lost == NULL || lost->stop_us == 0 ? NULL : lost;
}

static void count_loss(const struct ts_crew_event *lost, struct tally *tally) {
    if (tally->count == LOSSES_MAX)
        return;
    tally->us[tally->count++] = lost->stop_us;
    tally->cpu_us = lost->stop_cpu_us > tally->cpu_us ? lost->stop_cpu_us : tally->cpu_us;
}

static int by_size(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void judge(const char *what, struct tally *tally) {
    qsort(tally->us, tally->count, sizeof tally->us[0], by_size);
    const uint64_t quarter_us = tally->count > 0 ? tally->us[tally->count / 4] : 0;
    print_message(
        "%s: %u losses, at most %.1f ms of processor time; elapsed: a quarter within %.1f ms, all within %.1f ms\n",
        what, tally->count, (double)tally->cpu_us / 1000, (double)quarter_us / 1000,
        tally->count > 0 ? (double)tally->us[tally->count - 1] / 1000 : 0.0);
    assert_true(tally->cpu_us <= LIMIT_US * SLOWER);
    assert_true(quarter_us <= ELAPSED_LIMIT_US * SLOWER);
    if (given_losses() != NULL && tally->count > 0)
        assert_true(tally->us[tally->count - 1] <= LIMIT_US * SLOWER);
}

/* Returns the stage from `from` to `to` with the fewest losses. */
static unsigned rarest(const struct tally *tallies, unsigned from, unsigned to) {
    unsigned found = from;
    for (unsigned i = from + 1; i <= to; i++)
        if (tallies[i].count < tallies[found].count)
            found = i;
    return found;
}

/* Moves the bounds of the next try, so that it finds the wanted stage however fast the machine is now.
 * `found` is the stage at `moment_ms`, or STAGES if the work had ended. */
static void learn(struct tally *tally, unsigned wanted, unsigned found, uint64_t moment_ms) {
    enum { CLOSE_MS = 4 };
    if (found == wanted) {
        tally->from_ms = moment_ms - moment_ms / 8;
        tally->to_ms = moment_ms + moment_ms / 8 + CLOSE_MS;
        return;
    }
    if (found < wanted)
        tally->from_ms = moment_ms;
    else
        tally->to_ms = moment_ms;
    if (tally->to_ms > tally->from_ms + CLOSE_MS)
        return;
    tally->from_ms /= found < wanted ? 1 : 2;
    tally->to_ms = 2 * tally->to_ms + CLOSE_MS;
}

/* Loses the lease moment_ms after the worker began. Returns the stage of the worker at that moment. */
static unsigned lose(const char *address, struct ts_mirrors *mirrors, uint64_t moment_ms,
                     struct tally *tallies) {
    const uint64_t lease_ms = 3 * moment_ms > SHORT_LEASE_MS ? 3 * moment_ms : SHORT_LEASE_MS;
    struct victim victim;
    delay_ms = lease_ms / 3 - moment_ms;
    victim_init(&victim, &key);
    victim.options.has_run = true;
    victim.options.run = submit_one(address, lease_ms);
    victim.options.part_ms = TS_CREW_PART_MS;
    victim.options.mirrors = mirrors;
    victim.on_event = begin_later;
    victim_work(&victim);
    const struct ts_crew_event *lost = loss_of(&victim);
    const unsigned stage = lost != NULL ? lost->stage : STAGES;
    if (lost != NULL)
        count_loss(lost, &tallies[stage]);
    victim_release(&victim);
    return stage;
}

static void lose_often(const char *address, struct ts_mirrors *mirrors, unsigned from, unsigned to,
                       struct tally *tallies) {
    const unsigned wanted = wanted_losses();
    for (unsigned i = from; i <= to; i++)
        tallies[i].to_ms = RENEWAL_MS;
    for (unsigned i = 0; i < TRIES_PER_LOSS * wanted; i++) {
        const unsigned stage = rarest(tallies, from, to);
        struct tally *tally = &tallies[stage];
        if (tally->count >= wanted)
            return;
        const uint64_t moment_ms = tally->from_ms + ts_prng_below(&prng, tally->to_ms - tally->from_ms);
        learn(tally, stage, lose(address, mirrors, moment_ms, tallies), moment_ms);
    }
    fail_msg("a stage is too short");
}

static void a_lost_lease_ends_a_fetch(void **state) {
    (void)state;
    static struct tally tallies[STAGES];
    ts_prng_init(&prng, SEED);
    const int silent = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof at;
    char address[80], root[] = "mirrors";
    assert_int_equal(bind(silent, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(silent, 64), 0);
    assert_int_equal(getsockname(silent, (struct sockaddr *)&at, &len), 0);
    snprintf(address, sizeof address, "http://127.0.0.1:%u/silent.git", ntohs(at.sin_port));
    const struct ts_mirrors_options options = {.root = root,
                                               .protocols = "http",
                                               .quota_bytes = TS_MIRROR_QUOTA_DEFAULT,
                                               .mirror_bytes = TS_MIRROR_MAX_DEFAULT,
                                               .timeout_s = TS_MIRROR_TIMEOUT_DEFAULT,
                                               .stall_s = TS_MIRROR_STALL_DEFAULT};
    struct ts_mirrors *mirrors = ts_mirrors_new(&options);
    assert_non_null(mirrors);
    lose_often(address, mirrors, TS_SCAN_STAGE_START, TS_SCAN_STAGE_START, tallies);
    ts_mirrors_free(mirrors);
    close(silent);
    judge("fetch", &tallies[TS_SCAN_STAGE_START]);
}

/* Makes a repository with so many commits, contents and findings that all stages take about equally long. */
static void make_long_repository(void) {
    sh("git init -q --bare long.git");
    FILE *out = popen("git -C long.git fast-import --quiet", "w"); /* NOLINT(cert-env33-c): a test */
    assert_non_null(out);
    for (unsigned i = 0; i < 6000; i++) {
        fprintf(out, "commit refs/heads/main\ncommitter Cy <cy@example.org> %u +0100\ndata 1\nx\n",
                1700000000 + i);
        fprintf(out, "M 100644 inline d%u/f%u\ndata %d\n", i % 40, i % 4000, 100 * 29);
        for (unsigned line = 0; line < 100; line++)
            fprintf(out, "%06u %03u contents, nothing\n", i, line); /* a line of 29 bytes */
        fputc('\n', out);
        if (i % 4 == 0)
            fprintf(out, "M 100644 inline d%u/s%u.env\ndata 53\nGH_TOKEN=ghp_%016llx%016llx%04u\nab\n\n",
                    i % 40, i, (unsigned long long)ts_prng_next(&prng),
                    (unsigned long long)ts_prng_next(&prng), i % 9000 + 1000);
    }
    assert_int_equal(pclose(out), 0);
}

static void a_lost_lease_ends_every_stage_of_a_scan(void **state) {
    (void)state;
    static struct tally tallies[STAGES];
    static const char *const names[] = {"start", "history", "content", "origins"};
    char path[PATH_MAX];
    ts_prng_init(&prng, SEED);
    make_long_repository();
    assert_non_null(realpath("long.git", path));
    lose_often(path, NULL, TS_SCAN_STAGE_HISTORY, TS_SCAN_STAGE_ORIGINS, tallies);
    for (unsigned i = TS_SCAN_STAGE_HISTORY; i < STAGES; i++)
        judge(names[i], &tallies[i]);
}

/* Name of a promise that locks the target's record, so that the flip waits. */
static const char held[] = "held";

static struct ts_store *home_of(const struct ts_target_id *target) {
    const uint32_t place = ts_coord_target_home(ts_coord_router(world.coord), target->bytes).v;
    return ts_cluster_store(world.cluster, place);
}

static void hold_the_target(struct victim *victim, const struct ts_crew_event *event) {
    if (event->kind != TS_CREW_EVENT_CLAIMED)
        return;
    const struct ts_fleet_key record = ts_fleet_key_target(&world.tenant, &event->target);
    const struct ts_op put = {.kind = TS_OP_PUT, .key = ts_fleet_key_bytes(&record), .value = TS_BYTES("?")};
    struct ts_call promise = {.kind = TS_CALL_PREPARE, .gid = held, .batch = {&put, 1}};
    assert_int_equal(ts_store_run(home_of(&event->target), &promise), TS_STORE_OK);
    cancel(event->run);
    (void)victim;
}

/* Loses a lease while the worker waits for a store. Counts the loss only if the worker had begun its work,
 * because on a busy machine the renewal may precede the work. */
static void lose_in_a_call(struct ts_coord *coord, struct tally *tally) {
    struct victim victim;
    submit_with(next_run(), &(struct ts_run_config){.lease_duration_ms = SHORT_LEASE_MS});
    victim_init(&victim, &key);
    victim.options.coord = coord;
    victim.on_event = hold_the_target;
    victim_work(&victim);
    const struct ts_crew_event *lost = victim_last(&victim, TS_CREW_EVENT_LOST);
    assert_non_null(lost);
    struct ts_call abort = {.kind = TS_CALL_ABORT, .gid = held};
    assert_int_equal(ts_store_run(home_of(&lost->target), &abort), TS_STORE_OK);
    if (strcmp(lost->phase, "executing") == 0 && loss_of(&victim) != NULL)
        count_loss(lost, tally);
    victim_release(&victim);
}

/* The timeouts are hours. A worker that does not stop is ended by the time limit of the test. */
static void a_lost_lease_ends_a_call_to_a_store(void **state) {
    (void)state;
    const uint64_t hours_us = UINT64_C(10) * 3600 * 1000000;
    struct ts_txn_config config;
    struct ts_coordinator *coordinator;
    struct ts_txn_error_detail detail;
    static struct tally tally;
    ts_txn_config_init(&config);
    config.timeouts.lock_validate_us = config.timeouts.total_us = config.timeouts.retry_ceiling_us = hours_us;
    config.breaker.probe_timeout_us = config.deadlock.timeout_us = hours_us;
    assert_int_equal(ts_coordinator_open(world.cluster, &config, &coordinator, &detail), TS_TXN_ERROR_OK);
    struct ts_coord *coord = ts_coord_new(world.cluster, coordinator, NULL);
    assert_non_null(coord);
    make_repository("small.git", 3, 0);
    for (unsigned i = 0; i < TRIES_PER_LOSS * wanted_losses() && tally.count < wanted_losses(); i++)
        lose_in_a_call(coord, &tally);
    judge("store", &tally);
    assert_true(tally.count >= wanted_losses());
    ts_coord_free(coord);
    ts_coordinator_close(coordinator);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_lost_lease_ends_a_call_to_a_store, kit_setup, kit_teardown),
        cmocka_unit_test_setup_teardown(a_lost_lease_ends_a_fetch, kit_setup, kit_teardown),
        cmocka_unit_test_setup_teardown(a_lost_lease_ends_every_stage_of_a_scan, kit_setup, kit_teardown),
    };
    return kit_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
