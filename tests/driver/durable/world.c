#include "world.h"

#include "base/blake3.h"
#include "base/endian.h"
#include "base/hex.h"
#include "moved_time.h"
#include "support/pg.h"
#include "turnstone/cluster.h"
#include "turnstone/txn.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct world world;

static struct support_pg *servers[2];
static char directory[200];

/* ---- calls ---- */

static void run_calls(void *context, struct ts_coord_call *calls, size_t count) {
    (void)context;
    world.reads++;
    void (*between)(void) = world.between;
    if (between != NULL && world.spared_reads-- == 0) {
        world.between = NULL;
        between();
    }
    for (size_t i = 0; i < count; i++) {
        (void)ts_store_run(ts_cluster_store(world.cluster, calls[i].place), &calls[i].call);
        calls[i].call.time_ms += world.ahead_ms[calls[i].place];
    }
}

static void measure(const struct ts_txn_part *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t bytes = 0;
        for (size_t j = 0; j < parts[i].batch.count; j++)
            bytes += parts[i].batch.ops[j].key.len + parts[i].batch.ops[j].value.len;
        if (world.ops_most < parts[i].batch.count)
            world.ops_most = parts[i].batch.count;
        if (world.bytes_most < bytes)
            world.bytes_most = bytes;
    }
}

static void run_txn(void *context, const struct ts_txn_part *parts, size_t count,
                    struct ts_txn_result *ret_result) {
    (void)context;
    static const struct ts_txn_options options = {.system = true};
    const enum fate fate = world.spared == 0 ? world.fate : ARRIVES;
    world.writes++;
    if (world.before_write != NULL)
        world.before_write();
    if (world.spared > 0)
        world.spared--;
    else
        world.fate = ARRIVES;
    measure(parts, count);
    if (fate != REQUEST_LOST)
        ts_txn_run_parts(world.coordinator, parts, count, &options, ret_result);
    if (fate != ARRIVES)
        *ret_result = (struct ts_txn_result){.outcome = TS_TXN_UNKNOWN,
                                             .reason = TS_STORE_UNKNOWN,
                                             .op = SIZE_MAX,
                                             .text = "the reply was lost"};
}

static uint64_t elapsed_ms(void *context) {
    (void)context;
    return ts_clock_monotonic_ns() / 1000000;
}

static void pause_ms(void *context, uint64_t ms) {
    (void)context;
    (void)ms;
}

/* ---- stores ---- */

static void open_urls(const char *urls, const struct ts_store_clock *clock) {
    struct ts_store_error error;
    const struct ts_cluster_options options = {.store = {.clock = clock}};
    if (ts_cluster_init(urls, "xxh64", &options, &world.cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
}

static void open_cluster(const char *engine) {
    char urls[600];
    if (strcmp(engine, "postgres") == 0) {
        for (int i = 0; i < 2; i++) {
            servers[i] = support_pg_start(
                &(struct support_pg_options){.max_prepared_transactions = 64, .without_fsync = true});
            support_pg_do(servers[i], "postgres", "CREATE DATABASE fleet");
        }
        snprintf(urls, sizeof urls, "%s,%s", support_pg_url(servers[0], "fleet"),
                 support_pg_url(servers[1], "fleet"));
        open_urls(urls, NULL);
    } else if (strcmp(engine, "rocksdb") == 0) {
        const char *folder = getenv("TMPDIR");
        snprintf(directory, sizeof directory, "%s/durable-XXXXXX", folder != NULL ? folder : "/tmp");
        assert_non_null(mkdtemp(directory));
        snprintf(urls, sizeof urls, "rocksdb:%s/a,rocksdb:%s/b", directory, directory);
        open_urls(urls, &time_clock);
    } else {
        open_urls("memory:a,memory:b", &time_clock);
    }
}

static void remove_folder(void) {
    const pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", "--", directory, (char *)NULL);
        _exit(127);
    }
    (void)waitpid(pid, NULL, 0);
}

int world_main(int argc, char **argv, const struct CMUnitTest *tests, size_t count) {
    const char *engine = argc > 1 ? argv[1] : "memory";
    open_cluster(engine);
    struct ts_txn_error_detail detail;
    if (ts_coordinator_open(world.cluster, NULL, &world.coordinator, &detail) != TS_TXN_ERROR_OK) {
        print_error("%s\n", detail.text);
        return 1;
    }
    const struct ts_coord_io io = {.router = ts_cluster_router(world.cluster),
                                   .place_count = (uint32_t)ts_cluster_count(world.cluster),
                                   .call = run_calls,
                                   .txn = run_txn,
                                   .elapsed_ms = elapsed_ms,
                                   .pause_ms = pause_ms};
    world.engine = engine;
    world.coord = ts_coord_new_over(&io, NULL);
    const int status = _cmocka_run_group_tests(engine, tests, count, NULL, NULL);
    ts_coord_free(world.coord);
    ts_coordinator_close(world.coordinator);
    ts_cluster_close(world.cluster);
    for (int i = 0; i < 2; i++)
        support_pg_stop(servers[i]);
    if (directory[0] != '\0')
        remove_folder();
    return status;
}

bool world_pass_ms(uint64_t ms) {
    if (servers[0] == NULL)
        time_pass_ms(ms);
    return servers[0] == NULL;
}

int world_fresh(void **state) {
    (void)state;
    static unsigned tests;
    char name[32];
    snprintf(name, sizeof name, "tenant-%u", ++tests);
    assert_true(ts_tenant_id_from_text(ts_bytes_of_cstring(name), &world.tenant));
    world.fate = ARRIVES;
    world.spared = 0;
    world.before_write = NULL;
    world.is_id_used_again = false;
    world.ahead_ms[0] = world.ahead_ms[1] = 0;
    world.stop = (struct ts_durable_stop){0};
    return 0;
}

/* ---- runs ---- */

struct ts_target_id world_target(unsigned number) {
    struct ts_target_id target = {0};
    memcpy(target.bytes, world.tenant.b, 12);
    target.bytes[14] = (uint8_t)(number >> 8);
    target.bytes[15] = (uint8_t)number;
    return target;
}

static uint32_t home_of(const struct ts_target_id *target) {
    return ts_coord_target_home(ts_coord_router(world.coord), target->bytes).v;
}

static void put_unit(struct ts_run_id run, const struct ts_target_id *target) {
    uint8_t key[TS_COORD_UNIT_KEY_LEN], bytes[TS_FLEET_UNIT_MAX];
    const struct ts_fleet_unit unit = {.address = TS_BYTES("https://host/repository"),
                                       .url = TS_BYTES("https://host/repository"),
                                       .selection = TS_BYTES("all")};
    struct ts_infra_error error;
    ts_coord_unit_key(run, target->bytes, key);
    const struct ts_op put = {.kind = TS_OP_PUT,
                              .key = ts_bytes_of(key, sizeof key),
                              .value = ts_bytes_of(bytes, ts_fleet_unit_encode(&unit, bytes))};
    assert_int_equal(ts_coord_apply(world.coord, home_of(target), (struct ts_batch){&put, 1}, &error),
                     TS_STORE_OK);
}

uint64_t world_make_run(const struct ts_target_id *targets, size_t count) {
    static uint64_t last;
    const struct ts_run_id run = {world.is_id_used_again ? world.run : ++last};
    struct ts_coord_target_keys *keys = calloc(count, sizeof *keys);
    struct ts_new_shard *shards = calloc(count, sizeof *shards);
    assert_true(keys != NULL && shards != NULL);
    for (size_t i = 0; i < count; i++) {
        keys[i] = ts_coord_target_keys_of(targets[i].bytes);
        shards[i] = (struct ts_new_shard){.has_id = true, .spec.range = ts_coord_target_range(&keys[i])};
        assert_true(
            ts_coord_target_shard_id(run, targets[i].bytes, ts_coord_router(world.coord), &shards[i].id));
        put_unit(run, &targets[i]);
    }
    struct ts_run_config config = ts_run_config_default();
    config.lease_duration_ms = 600000;
    const struct ts_create_run_op create = {.tenant = world.tenant, .run = run, .config = config};
    const struct ts_register_op registration = {
        .tenant = world.tenant, .run = run, .op_id = {1}, .shards = {shards, count}};
    static struct ts_manifest_memory memory;
    struct ts_coord_outcome outcome;
    struct ts_coord_detail detail = {0};
    const enum ts_create_run_error error =
        ts_coord_create_run_with_shards(world.coord, &create, &registration, &memory, &outcome, &detail);
    if (error != TS_CREATE_RUN_OK)
        fail_msg("%s", detail.infra.text);
    free(keys);
    free(shards);
    struct ts_run_record record;
    const struct ts_coord_run_query query = {world.tenant, run};
    assert_int_equal(ts_coord_get_run(world.coord, &query, &record, &detail), TS_GET_RUN_OK);
    world.run = run.v;
    return record.number;
}

void worker_claim(struct worker *worker, uint64_t run_id, const struct ts_durable_run *run) {
    struct ts_coord_worker who = {.tenant = world.tenant};
    struct ts_acquire_result_view view;
    struct ts_coord_detail detail = {0};
    assert_true(ts_worker_id_from_text(TS_BYTES("worker"), &who.worker));
    *worker = (struct worker){.session = ts_coord_session_new(world.coord, &who)};
    assert_non_null(worker->session);
    assert_int_equal(ts_coord_session_claim(worker->session, (struct ts_run_id){run_id}, &view, &detail),
                     TS_CLAIM_OK);
    const struct ts_durable_options options = {
        .coord = world.coord, .session = worker->session, .tenant = world.tenant, .stop = world.stop};
    worker->durable = ts_durable_new(&options);
    assert_non_null(worker->durable);
    ts_durable_begin(worker->durable, run);
}

void worker_free(struct worker *worker) {
    ts_durable_free(worker->durable);
    ts_coord_session_free(worker->session);
}

/* ---- reports ---- */

static void set_id(struct ts_finding_id *id, unsigned number) {
    /* The first digits decide the store. */
    snprintf(id->text, sizeof id->text, "%08x%016x%08x", number * 2654435761u, 0, number);
}

struct ts_fleet_finding finding_number(unsigned number) {
    struct ts_finding_id id;
    struct ts_fleet_finding finding;
    set_id(&id, number);
    assert_true(ts_hex_decode(ts_bytes_of(id.text, TS_FINDING_ID_LEN), finding.bytes));
    return finding;
}

void make_report(struct made_report *made, unsigned first, unsigned count, unsigned places) {
    static char oid[] = "00000000000000000000000000000000000000aa";
    *made = (struct made_report){.target = {.name = TS_BYTES_INIT("repository"),
                                            .kind = TS_REPORT_TARGET_KIND_REPOSITORY,
                                            .blobs = count,
                                            .bytes = 1000,
                                            .knows_head = true},
                                 .rule = {.id = "rule-a",
                                          .name = "Rule A",
                                          .description = "d",
                                          .revoke = "r",
                                          .url = "u",
                                          .pattern = "p",
                                          .severity = TS_SEVERITY_HIGH}};
    for (size_t i = 0; i < 2; i++)
        made->commits[i] = (struct ts_report_commit){.oid = oid,
                                                     .author_name = TS_BYTES_INIT("Kim"),
                                                     .author_mail = TS_BYTES_INIT("kim@host"),
                                                     .author_time_s = (int64_t)i};
    made->occurrences = calloc((size_t)count * places + 1, sizeof *made->occurrences);
    struct ts_report_finding *findings = calloc((size_t)count + 1, sizeof *findings);
    assert_true(made->occurrences != NULL && findings != NULL);
    for (size_t i = 0; i < (size_t)count * places; i++)
        made->occurrences[i] = (struct ts_report_occurrence){.commit = (uint32_t)(i % 2),
                                                             .object = oid,
                                                             .path = TS_BYTES_INIT("some/path/to/a/file.c"),
                                                             .line = i + 1,
                                                             .column = 2,
                                                             .end_line = i + 1,
                                                             .end_column = 9};
    for (unsigned i = 0; i < count; i++) {
        findings[i] = (struct ts_report_finding){.rule = &made->rule,
                                                 .confidence = TS_CONFIDENCE_HIGH,
                                                 .redacted = "AK…9",
                                                 .excerpt = TS_BYTES_INIT("key = ********"),
                                                 .occurrence_count = places,
                                                 .occurrences = made->occurrences + (size_t)i * places,
                                                 .listed_count = places};
        findings[i].head = findings[i].occurrences;
        findings[i].head_count = 1;
        set_id(&findings[i].id, first + i);
    }
    made->report = (struct ts_report){.targets = &made->target,
                                      .target_count = 1,
                                      .commits = made->commits,
                                      .commit_count = 2,
                                      .findings = findings,
                                      .finding_count = count,
                                      .rule_count = 1};
}

void free_report(struct made_report *made) {
    free(made->report.findings);
    free(made->occurrences);
}

struct ts_durable_scan scan_of(const struct made_report *made) {
    static const uint8_t tips[40] = {1, [20] = 2};
    return (struct ts_durable_scan){
        .report = &made->report, .refs = {1, 2, 3}, .tips = ts_bytes_of(tips, sizeof tips), .objects = 7};
}

/* ---- all rows ---- */

struct count {
    struct census census;
    struct {
        struct ts_target_id id;
        struct ts_attempt attempt;
    } current[256];
    size_t current_count;
};

static bool is_current(const struct count *count, const struct ts_target_id *target,
                       const struct ts_attempt *attempt) {
    for (size_t i = 0; i < count->current_count; i++)
        if (memcmp(&count->current[i].id, target, sizeof *target) == 0 &&
            ts_attempt_equal(&count->current[i].attempt, attempt))
            return true;
    return false;
}

static void count_targets(struct count *count, const struct ts_row *row) {
    struct ts_target_id id;
    struct ts_fleet_target target;
    if (!ts_fleet_key_is_target(row->key, &id) || memcmp(row->key.data + 3, world.tenant.b, 32) != 0)
        return;
    assert_int_equal(ts_fleet_target_decode(row->value, &target), TS_FLEET_OK);
    assert_true(count->current_count < 256);
    count->current[count->current_count].id = id;
    count->current[count->current_count++].attempt = target.attempt;
}

static uint64_t digest_of(struct ts_bytes value) {
    uint8_t hash[TS_BLAKE3_OUT_LEN];
    ts_blake3_derive_key(TS_BYTES("a visible row"), value, hash);
    return ts_le64_load(hash);
}

static void count_page(struct count *count, const struct ts_row *row) {
    struct ts_target_id id;
    memcpy(id.bytes, row->key.data + 3, sizeof id.bytes);
    const struct ts_attempt attempt = ts_attempt_decode(row->key.data + 3 + sizeof id.bytes);
    struct ts_fleet_page_reader reader;
    struct ts_fleet_item item;
    if (!world.has_real_targets && memcmp(id.bytes, world.tenant.b, 12) != 0)
        return;
    count->census.pages++;
    if (row->key.data[2] != 'o' || !is_current(count, &id, &attempt))
        return;
    count->census.digest += digest_of(row->value);
    assert_int_equal(ts_fleet_page_open(row->value, &reader), TS_FLEET_OK);
    for (enum ts_fleet_item_kind kind; (kind = ts_fleet_page_next(&reader, &item)) != TS_FLEET_ITEM_END;) {
        assert_int_not_equal(kind, TS_FLEET_ITEM_BAD);
        count->census.places += kind == TS_FLEET_ITEM_PLACE;
    }
}

static void count_row(struct count *count, const struct ts_row *row) {
    struct ts_fleet_seen_key seen;
    const uint8_t *owner = row->key.data + 3;
    const bool is_mine = memcmp(owner, world.tenant.b, 12) == 0;
    switch (row->key.data[2]) {
    case 'e':
        assert_true(ts_fleet_key_is_seen(row->key, &seen));
        if (!is_mine)
            break;
        if (!is_current(count, &seen.target, &seen.attempt)) {
            count->census.hidden++;
            break;
        }
        count->census.visible++;
        count->census.digest += digest_of(row->value);
        break;
    case 'o':
    case 's':
        count_page(count, row);
        break;
    case 'i':
        count->census.findings += is_mine;
        break;
    case 'w':
        count->census.marks += is_mine || world.has_real_targets;
        break;
    case 'k':
        count->census.known += is_mine || world.has_real_targets;
        break;
    case 'h':
        count->census.hits += is_mine || world.has_real_targets;
        break;
    default:
        break;
    }
}

static void for_all(struct count *count, void (*visit)(struct count *, const struct ts_row *)) {
    for (uint32_t place = 0; place < ts_coord_place_count(world.coord); place++) {
        struct ts_rows rows = {0};
        uint8_t from[TS_STORE_KEY_MAX] = {0, 'f'};
        size_t len = 2;
        do {
            struct ts_infra_error error;
            struct ts_coord_call call = {.place = place,
                                         .call = {.kind = TS_CALL_SCAN,
                                                  .from = ts_bytes_of(from, len),
                                                  .to = TS_BYTES("\0g"),
                                                  .limit = 1000,
                                                  .rows = &rows}};
            assert_int_equal(ts_coord_read(world.coord, &call, 1, &error), TS_STORE_OK);
            for (size_t i = 0; i < rows.count; i++)
                visit(count, &rows.rows[i]);
            if (rows.count > 0) {
                len = rows.rows[rows.count - 1].key.len;
                memcpy(from, rows.rows[rows.count - 1].key.data, len);
                from[len++] = 0;
            }
        } while (rows.more);
        ts_rows_release(&rows);
    }
}

size_t world_coordination_rows(void) {
    size_t count = 0;
    for (uint32_t place = 0; place < ts_coord_place_count(world.coord); place++) {
        struct ts_rows rows = {0};
        struct ts_infra_error error;
        struct ts_coord_call call = {.place = place,
                                     .call = {.kind = TS_CALL_SCAN,
                                              .from = TS_BYTES("\0c"),
                                              .to = TS_BYTES("\0d"),
                                              .limit = 100000,
                                              .rows = &rows}};
        assert_int_equal(ts_coord_read(world.coord, &call, 1, &error), TS_STORE_OK);
        count += rows.count;
        ts_rows_release(&rows);
    }
    return count;
}

struct census world_census(void) {
    static struct count count;
    count = (struct count){0};
    for_all(&count, count_targets);
    for_all(&count, count_row);
    return count.census;
}
