#include "kit.h"

#include "repo_maker.h"

#include "runtime/driver/submit.h"
#include "turnstone/cluster.h"

const struct ts_fleet_tenant_key key = {{7}};
static struct ts_pin pin;

/* ---- repositories ---- */

static void put_secret(FILE *out, const char *path, unsigned seed) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    char body[12 * 65 + 1], text[1200];
    struct ts_prng prng;
    ts_prng_init(&prng, seed);
    for (size_t i = 0; i < sizeof body - 1; i++)
        body[i] = i % 65 == 64 ? '\n' : digits[ts_prng_below(&prng, 62)];
    body[sizeof body - 1] = '\0';
    const int len = snprintf(text, sizeof text, "%sBEGIN RSA PRIVATE KEY%s\n%s%sEND RSA PRIVATE KEY%s\n",
                             "-----", "-----", body, "-----", "-----");
    fprintf(out, "M 100644 inline %s\ndata %d\n%s\n", path, len, text);
}

/* Makes a repository with this number of contents without secrets, and with this number of contents with a
 * secret. */
void make_repository(const char *name, unsigned contents, unsigned secrets) {
    char command[200], path[60];
    sh("git init -q --bare %s", name);
    snprintf(command, sizeof command, "git -C %s fast-import --quiet", name);
    FILE *out = popen(command, "w"); /* NOLINT(cert-env33-c): a test */
    assert_non_null(out);
    fprintf(out, "commit refs/heads/main\ncommitter Cy <cy@example.org> 1700000000 +0100\ndata 5\nfirst\n");
    for (unsigned i = 0; i < contents; i++) {
        char text[100];
        const int len = snprintf(text, sizeof text, "content %u of %s\nnothing here\n", i, name);
        fprintf(out, "M 100644 inline dir/file%u\ndata %d\n%s\n", i, len, text);
    }
    for (unsigned i = 0; i < secrets; i++) {
        snprintf(path, sizeof path, "keys/key%u.pem", i);
        put_secret(out, path, i);
    }
    assert_int_equal(pclose(out), 0);
}

void submit(struct ts_run_id run) {
    submit_with(run, &(struct ts_run_config){0});
}

void submit_with(struct ts_run_id run, const struct ts_run_config *config) {
    struct ts_target_list list = {0};
    struct ts_target_error why;
    const struct ts_target_defaults defaults = {.tenant = ts_bytes_of(world.tenant.b, sizeof world.tenant.b),
                                                .selection = TS_BYTES("all")};
    if (ts_target_list_add_folder(&list, &defaults, ".", &why) != TS_TARGET_OK)
        fail_msg("%s", why.text);
    ts_target_list_settle(&list);
    submit_list(run, &list, config);
}

void submit_list(struct ts_run_id run, struct ts_target_list *list, const struct ts_run_config *config) {
    struct ts_submission submission = {
        .tenant = world.tenant, .run = run, .config = ts_run_config_default(), .targets = list};
    submission.config.lease_duration_ms =
        config->lease_duration_ms != 0 ? config->lease_duration_ms : LEASE_MS;
    submission.config.pin = ts_pin_is_set(&config->pin) ? config->pin : pin;
    struct ts_submitted submitted;
    struct ts_submit_error error;
    assert_true(ts_submit(world.coord, &submission, &submitted, &error));
    ts_target_list_release(list);
    world.run = run.v;
}

struct ts_run_id next_run(void) {
    static uint64_t last = 1000;
    return (struct ts_run_id){++last};
}

struct ts_shard_counts counts_of_run(void) {
    const struct ts_coord_run_query query = {world.tenant, {world.run}};
    struct ts_shard_counts counts;
    struct ts_coord_detail detail = {0};
    assert_int_equal(ts_coord_run_counts(world.coord, &query, &counts, &detail), TS_GET_RUN_OK);
    return counts;
}

/* Lets another worker, which is not disturbed, end the run. */
void finish(uint64_t targets) {
    struct victim other;
    victim_init(&other, &key);
    other.options.name = TS_BYTES("other");
    victim_work(&other);
    assert_int_equal(other.result, TS_CREW_ENDED);
    victim_release(&other);
    const struct ts_shard_counts counts = counts_of_run();
    assert_int_equal(counts.done, targets);
    assert_int_equal(counts.parked, 0);
}

void sweep(void) {
    struct ts_durable_swept swept;
    struct ts_infra_error error;
    const struct ts_durable_stop never = {0};
    assert_true(ts_durable_sweep(world.coord, &world.tenant, never, &swept, &error));
    (void)world_pass_ms(swept.wait_ms);
    assert_true(ts_durable_sweep(world.coord, &world.tenant, never, &swept, &error));
    assert_int_equal(swept.kept, 0);
}

static size_t count_promises(void) {
    struct ts_rows rows = {0};
    size_t count = 0;
    for (size_t place = 0; place < ts_cluster_count(world.cluster); place++) {
        struct ts_call call = {.kind = TS_CALL_PREPARED, .rows = &rows};
        assert_int_equal(ts_store_run(ts_cluster_store(world.cluster, place), &call), TS_STORE_OK);
        count += rows.count;
    }
    ts_rows_release(&rows);
    return count;
}

static bool is_audit_clean(void) {
    const struct ts_coord_run_query query = {world.tenant, {world.run}};
    struct ts_coord_audit audit;
    struct ts_coord_detail detail = {0};
    assert_int_equal(ts_coord_audit_run(world.coord, &query, &audit, &detail), TS_GET_RUN_OK);
    return ts_coord_audit_is_clean(&audit);
}

void expect_same(const struct census *expected, size_t pages_before) {
    sweep();
    const struct census census = world_census();
    assert_int_equal(count_promises(), 0);
    assert_true(is_audit_clean());
    assert_int_equal(census.pages - pages_before, expected->pages);
    assert_int_equal(census.hidden, 0);
    assert_int_equal(census.marks, 0);
    assert_int_equal(census.known, 0);
    assert_int_equal(census.visible, expected->visible);
    assert_int_equal(census.places, expected->places);
    assert_int_equal(census.digest, expected->digest);
}

int kit_setup(void **state) {
    const int status = maker_setup(state);
    world.has_real_targets = true;
    return status == 0 ? world_fresh(state) : status;
}

int kit_teardown(void **state) {
    return maker_teardown(state);
}

int kit_main(int argc, char **argv, const struct CMUnitTest *tests, size_t count) {
    struct ts_fleet_rules_set rules;
    struct ts_scan_error error;
    if (!ts_fleet_rules_set_init(&rules, &key, &error))
        return 1;
    pin = ts_fleet_rules_pin(&rules.rules);
    ts_fleet_rules_set_release(&rules);
    return world_main(argc, argv, tests, count);
}
