#include "store/cluster/cluster.h"

#include "base/hash64.h"
#include "calls.h"
#include "store/local/memory.h"
#include "support/pg.h"

static struct ts_memory *contents[3];

static int fresh(void **state) {
    (void)state;
    static const char *const names[] = {"memory:a", "memory:b", "memory:c"};
    for (size_t i = 0; i < 3; i++)
        contents[i] = ts_memory_new(names[i], NULL);
    return 0;
}

static int gone(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++)
        ts_memory_free(contents[i]);
    return 0;
}

/* Initialises a cluster. The letter order[i] says which contents are at place i. */
static enum ts_store_result init(const char *order, const char *routing, struct ts_cluster **ret_cluster,
                                 struct ts_store_error *ret_error) {
    struct ts_store *stores[3];
    size_t count = strlen(order);
    for (size_t i = 0; i < count; i++)
        stores[i] = ts_memory_open(contents[order[i] - 'a']);
    return ts_cluster_init_over(stores, count, routing, &(struct ts_cluster_options){0}, ret_cluster,
                                ret_error);
}

static enum ts_store_result open_as(const char *order, struct ts_cluster_options options,
                                    struct ts_cluster **ret_cluster, struct ts_store_error *ret_error) {
    struct ts_store *stores[3];
    size_t count = strlen(order);
    for (size_t i = 0; i < count; i++)
        stores[i] = ts_memory_open(contents[order[i] - 'a']);
    return ts_cluster_open_over(stores, count, &options, ret_cluster, ret_error);
}

static struct ts_cluster *made(const char *order, const char *routing) {
    struct ts_cluster *cluster;
    struct ts_store_error error;
    if (init(order, routing, &cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    return cluster;
}

static void refused(enum ts_store_result result, const struct ts_store_error *error,
                    enum ts_store_result expected, const char *part) {
    if (result != expected || error->result != expected || strstr(error->text, part) == NULL)
        fail_msg("%s: %s", ts_store_result_text(result), error->text);
}

static void a_cluster_remembers_its_routing(void **state) {
    (void)state;
    static const char *const routings[] = {"xxh64", "jump", "fnv1a", "single",
                                           "range:2:0-5,0:5-100,1:100-max"};
    for (size_t i = 0; i < sizeof routings / sizeof routings[0]; i++) {
        ts_cluster_close(made("abc", routings[i]));
        struct ts_cluster *cluster;
        struct ts_store_error error;
        assert_int_equal(open_as("abc", (struct ts_cluster_options){0}, &cluster, &error), TS_STORE_OK);
        assert_int_equal(ts_cluster_count(cluster), 3);
        assert_string_equal(ts_cluster_meta(cluster, 2)->routing, routings[i]);
        const struct ts_router *router = ts_cluster_router(cluster);
        assert_int_equal(ts_cluster_place_of_key(cluster, TS_BYTES("key")),
                         ts_router_route(router, ts_xxh64_of_bytes(TS_BYTES("key"))).v);
        assert_int_equal(ts_router_route(router, 3).v, i == 4   ? 2
                                                       : i == 3 ? 0
                                                                : ts_router_route(router, 3).v);
        ts_cluster_close(cluster);
        (void)gone(NULL);
        (void)fresh(NULL);
    }
}

static void the_listed_stores_must_be_the_cluster(void **state) {
    (void)state;
    struct ts_cluster *cluster;
    struct ts_store_error error;
    refused(open_as("ab", (struct ts_cluster_options){0}, &cluster, &error), &error,
            TS_STORE_BAD_CONFIGURATION, "store init");
    ts_cluster_close(made("ab", "xxh64"));
    refused(open_as("ba", (struct ts_cluster_options){0}, &cluster, &error), &error, TS_STORE_FOREIGN,
            "memory:b is store 1 of its cluster, listed as store 0; list the stores in the order");
    refused(open_as("aa", (struct ts_cluster_options){0}, &cluster, &error), &error, TS_STORE_BAD_USAGE,
            "store 0 and store 1 are the same");
    refused(init("bb", "", &cluster, &error), &error, TS_STORE_BAD_USAGE, "store 0 and store 1 are the same");
    refused(open_as("a", (struct ts_cluster_options){0}, &cluster, &error), &error, TS_STORE_FOREIGN,
            "to a cluster of size 2, and the list has");
    refused(open_as("abc", (struct ts_cluster_options){0}, &cluster, &error), &error, TS_STORE_FOREIGN,
            "to a cluster of size 2, and the list has");
    refused(init("ac", "xxh64", &cluster, &error), &error, TS_STORE_FOREIGN, "memory:c is empty");
    refused(init("cb", "xxh64", &cluster, &error), &error, TS_STORE_FOREIGN, "memory:c is empty");
    refused(init("ca", "xxh64", &cluster, &error), &error, TS_STORE_FOREIGN,
            "memory:a already belongs to a cluster of 2, as store 0");
    refused(init("abc", "xxh64", &cluster, &error), &error, TS_STORE_FOREIGN, "belongs to a cluster");
    ts_cluster_close(made("c", "single"));
    refused(open_as("ac", (struct ts_cluster_options){0}, &cluster, &error), &error, TS_STORE_FOREIGN,
            "different clusters");
    refused(open_as("cb", (struct ts_cluster_options){.any_step = true}, &cluster, &error), &error,
            TS_STORE_FOREIGN, "to a cluster of size 1, and the list has 2");
}

static void bad_routings_are_refused_before_anything_is_written(void **state) {
    (void)state;
    struct ts_cluster *cluster;
    struct ts_store_error error;
    char longest[600] = "range:";
    memset(longest + 6, '0', sizeof longest - 7);
    refused(init("ab", "md5", &cluster, &error), &error, TS_STORE_BAD_USAGE, "xxh64");
    refused(init("ab", "range", &cluster, &error), &error, TS_STORE_BAD_USAGE, "xxh64");
    refused(init("ab", "range:0:0-5", &cluster, &error), &error, TS_STORE_BAD_USAGE, "coverage");
    refused(init("ab", "range:0:0-x", &cluster, &error), &error, TS_STORE_BAD_USAGE, "end must be");
    refused(init("ab", "range:0:0-5,2:5-max", &cluster, &error), &error, TS_STORE_BAD_USAGE, "stores 0 to 1");
    refused(init("ab", longest, &cluster, &error), &error, TS_STORE_BAD_USAGE, "too long");
    refused(open_as("ab", (struct ts_cluster_options){0}, &cluster, &error), &error,
            TS_STORE_BAD_CONFIGURATION, "not initialised");
}

static void init_again_changes_nothing(void **state) {
    (void)state;
    struct ts_cluster *first = made("ab", "jump"), *cluster;
    struct ts_store_error error;
    uint8_t secret[32];
    memcpy(secret, ts_cluster_meta(first, 0)->secret, sizeof secret);
    ts_cluster_close(first);
    struct ts_cluster *second = made("ab", "jump");
    assert_memory_equal(ts_cluster_meta(second, 1)->secret, secret, sizeof secret);
    ts_cluster_close(second);
    refused(init("ab", "xxh64", &cluster, &error), &error, TS_STORE_FOREIGN, "jump");
    assert_non_null(strstr(error.text, "keep that routing"));
}

static void without_a_routing_init_goes_by_what_is_remembered(void **state) {
    (void)state;
    static const char ranges[] = "range:1:0-5,0:5-max";
    ts_cluster_close(made("ab", ranges));
    struct ts_cluster *cluster = made("ab", "");
    assert_string_equal(ts_cluster_meta(cluster, 0)->routing, ranges);
    assert_int_equal(ts_router_route(ts_cluster_router(cluster), 3).v, 1);
    ts_cluster_close(cluster);
    cluster = made("c", "");
    assert_string_equal(ts_cluster_meta(cluster, 0)->routing, "xxh64");
    ts_cluster_close(cluster);
}

static void another_name_of_a_routing_is_the_same_routing(void **state) {
    (void)state;
    struct ts_cluster *cluster = made("ab", "hash");
    assert_string_equal(ts_cluster_meta(cluster, 1)->routing, "xxh64");
    ts_cluster_close(cluster);
    ts_cluster_close(made("ab", "xxh64"));
    ts_cluster_close(made("ab", "hash"));
}

/* Makes the contents that an init leaves if it ends after `written` of its six writes. Another init must
 * finish the work. */
static void an_interrupted_init_is_finished_by_another(void **state) {
    (void)state;
    for (size_t written = 0; written <= 6; written++) {
        struct ts_cluster *cluster = made("abc", "xxh64");
        struct ts_meta metas[3];
        for (size_t i = 0; i < 3; i++)
            metas[i] = *ts_cluster_meta(cluster, i);
        ts_cluster_close(cluster);
        (void)gone(NULL);
        (void)fresh(NULL);
        for (size_t i = 0; i < 3 && i < written; i++) {
            struct ts_store *store = ts_memory_open(contents[i]);
            struct ts_store_error error;
            metas[i].version = 0;
            metas[i].state = written >= 4 + i ? TS_META_OPEN : TS_META_INITIALISING;
            assert_int_equal(store->engine->meta_write(store, 0, &metas[i], &error), TS_STORE_OK);
            ts_store_close(store);
        }
        struct ts_store_error error;
        if (written < 6) {
            enum ts_store_result result = open_as("abc", (struct ts_cluster_options){0}, &cluster, &error);
            refused(result, &error, written < 3 ? TS_STORE_BAD_CONFIGURATION : TS_STORE_FOREIGN,
                    "store init");
        }
        cluster = made("abc", "xxh64");
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(ts_cluster_meta(cluster, i)->state, TS_META_OPEN);
            if (written > 0)
                assert_memory_equal(ts_cluster_meta(cluster, i)->cluster, metas[0].cluster, 16);
        }
        ts_cluster_close(cluster);
        (void)gone(NULL);
        (void)fresh(NULL);
    }
}

static void steps_of_fencing_are_reported_on_request(void **state) {
    (void)state;
    struct ts_cluster *cluster = made("ab", "xxh64"), *other;
    struct ts_store_error error;
    struct ts_store *store = ts_cluster_store(cluster, 0);
    struct ts_meta meta = *ts_cluster_meta(cluster, 0);
    meta.state = TS_META_CLOSING;
    assert_int_equal(store->engine->meta_write(store, 0, &meta, &error), TS_STORE_OK);
    refused(open_as("ab", (struct ts_cluster_options){0}, &other, &error), &error, TS_STORE_FOREIGN,
            "store fence");
    meta.version++;
    meta.state = TS_META_OPEN;
    meta.epoch = 2;
    assert_int_equal(store->engine->meta_write(store, 0, &meta, &error), TS_STORE_OK);
    refused(open_as("ab", (struct ts_cluster_options){0}, &other, &error), &error, TS_STORE_FOREIGN,
            "store fence");
    assert_int_equal(open_as("ab", (struct ts_cluster_options){.any_step = true}, &other, &error),
                     TS_STORE_OK);
    assert_int_equal(ts_cluster_meta(other, 0)->epoch, 2);
    assert_int_equal(ts_cluster_meta(other, 1)->epoch, 1);
    apply_expecting(TS_STORE_OK, ts_cluster_store(other, 0), PUT("a", "1"));
    apply_expecting(TS_STORE_OK, ts_cluster_store(other, 1), PUT("a", "1"));
    ts_cluster_close(other);
    /* A process that had opened the cluster before is refused until it expects the new epoch. */
    apply_expecting(TS_STORE_FOREIGN, store, PUT("a", "1"));
    ts_cluster_expect(cluster, 0, &meta);
    apply_expecting(TS_STORE_OK, store, PUT("a", "1"));
    ts_cluster_close(cluster);
}

/* Tests one database under an address and under a name, and a server whose files are a copy of another
 * server's. */
static void a_database_by_two_names_is_found_before_anything_is_written(void **state) {
    (void)state;
    const struct support_pg_options options = {.max_prepared_transactions = 10, .without_fsync = true};
    struct support_pg *one = support_pg_start(&options), *two = support_pg_start(&options);
    char named[200], urls[400];
    snprintf(named, sizeof named, "%s", support_pg_url(one, "postgres"));
    char *address = strstr(named, "127.0.0.1");
    assert_non_null(address);
    memcpy(address, "localhost", 9);
    snprintf(urls, sizeof urls, "%s,%s,%s", support_pg_url(two, "postgres"), support_pg_url(one, "postgres"),
             named);
    struct ts_cluster *cluster;
    struct ts_store_error error;
    refused(ts_cluster_init(urls, "", NULL, &cluster, &error), &error, TS_STORE_BAD_USAGE,
            "store 1 and store 2 are the same");
    /* The servers are unchanged, and can still become stores of any cluster. */
    snprintf(urls, sizeof urls, "%s,%s", support_pg_url(one, "postgres"), support_pg_url(two, "postgres"));
    if (ts_cluster_init(urls, "", NULL, &cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    ts_cluster_close(cluster);
    snprintf(urls, sizeof urls, "%s,%s", support_pg_url(one, "postgres"), named);
    refused(ts_cluster_open(urls, NULL, &cluster, &error), &error, TS_STORE_BAD_USAGE,
            "store 0 and store 1 are the same");
    support_pg_stop(one);
    support_pg_stop(two);
}

/* A store that cannot be part of a cluster is detected before any store is changed. */
static void a_server_without_promises_is_found_before_anything_is_written(void **state) {
    (void)state;
    struct support_pg *one = support_pg_start(
        &(struct support_pg_options){.max_prepared_transactions = 10, .without_fsync = true});
    struct support_pg *two = support_pg_start(&(struct support_pg_options){.without_fsync = true});
    char urls[400];
    snprintf(urls, sizeof urls, "%s,%s", support_pg_url(one, "postgres"), support_pg_url(two, "postgres"));
    struct ts_cluster *cluster;
    struct ts_store_error error;
    refused(ts_cluster_init(urls, "", NULL, &cluster, &error), &error, TS_STORE_BAD_CONFIGURATION,
            "max_prepared_transactions is 0");
    if (ts_cluster_init(support_pg_url(one, "postgres"), "", NULL, &cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    ts_cluster_close(cluster);
    support_pg_stop(one);
    support_pg_stop(two);
}

static void servers_that_do_not_answer_are_accepted_on_request(void **state) {
    (void)state;
    const struct support_pg_options options = {.max_prepared_transactions = 10, .without_fsync = true};
    struct support_pg *one = support_pg_start(&options), *two = support_pg_start(&options);
    char urls[400];
    snprintf(urls, sizeof urls, "%s,%s", support_pg_url(one, "postgres"), support_pg_url(two, "postgres"));
    const struct ts_cluster_options some = {.any_step = true, .some_down = true};
    struct ts_cluster *cluster;
    struct ts_store_error error;
    if (ts_cluster_init(urls, "jump", NULL, &cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    ts_cluster_close(cluster);
    support_pg_kill(one);
    refused(ts_cluster_open(urls, NULL, &cluster, &error), &error, TS_STORE_UNAVAILABLE, "cannot be reached");
    if (ts_cluster_open(urls, &some, &cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    assert_string_equal(ts_cluster_meta(cluster, 0)->routing, "jump");
    assert_int_equal(ts_cluster_meta(cluster, 0)->place, 0);
    apply_expecting(TS_STORE_OK, ts_cluster_store(cluster, 1), PUT("a", "1"));
    apply_expecting(TS_STORE_UNAVAILABLE, ts_cluster_store(cluster, 0), PUT("a", "1"));
    ts_cluster_close(cluster);
    support_pg_kill(two);
    refused(ts_cluster_open(urls, &some, &cluster, &error), &error, TS_STORE_UNAVAILABLE,
            "cannot be reached");
    support_pg_stop(one);
    support_pg_stop(two);
}

/* Opens a cluster of four databases by their URLs. Three of the databases are on one server. */
static void clusters_of_databases_open_by_their_urls(void **state) {
    (void)state;
    const struct support_pg_options options = {.max_prepared_transactions = 10, .without_fsync = true};
    struct support_pg *one = support_pg_start(&options), *two = support_pg_start(&options);
    support_pg_do(one, "postgres", "CREATE DATABASE a");
    support_pg_do(one, "postgres", "CREATE DATABASE b");
    char urls[400], turned[400];
    snprintf(urls, sizeof urls, "%s,%s,%s,%s", support_pg_url(one, "postgres"), support_pg_url(one, "a"),
             support_pg_url(one, "b"), support_pg_url(two, "postgres"));
    snprintf(turned, sizeof turned, "%s,%s,%s,%s", support_pg_url(one, "postgres"), support_pg_url(one, "b"),
             support_pg_url(one, "a"), support_pg_url(two, "postgres"));
    struct ts_cluster *cluster;
    struct ts_store_error error;
    const struct ts_cluster_options none = {0};
    refused(ts_cluster_open(urls, &none, &cluster, &error), &error, TS_STORE_BAD_CONFIGURATION, "store init");
    if (ts_cluster_init(urls, "xxh64", &none, &cluster, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < 4; i++)
        prepare_expecting(TS_STORE_OK, ts_cluster_store(cluster, i), "same", PUT("a", "1"));
    for (size_t i = 0; i < 4; i++)
        finish_expecting(TS_STORE_OK, ts_cluster_store(cluster, i), TS_CALL_COMMIT, "same");
    ts_cluster_close(cluster);
    assert_int_equal(ts_cluster_open(urls, &none, &cluster, &error), TS_STORE_OK);
    assert_string_equal(read_key(ts_cluster_store(cluster, 3), TS_BYTES("a")).value, "1");
    ts_cluster_close(cluster);
    refused(ts_cluster_open(turned, &none, &cluster, &error), &error, TS_STORE_FOREIGN, "order");
    refused(ts_cluster_init(support_pg_url(two, "postgres"), "single", &none, &cluster, &error), &error,
            TS_STORE_FOREIGN, "already belongs to a cluster of 4, as store 3");
    support_pg_do(two, "postgres", "CHECKPOINT"); /* so that the server starts without slots for promises */
    support_pg_reconfigure(two, "max_prepared_transactions = 0");
    refused(ts_cluster_open(urls, &none, &cluster, &error), &error, TS_STORE_BAD_CONFIGURATION,
            "max_prepared_transactions");
    support_pg_kill(two);
    refused(ts_cluster_open(urls, &none, &cluster, &error), &error, TS_STORE_UNAVAILABLE,
            "cannot be reached");
    support_pg_stop(one);
    support_pg_stop(two);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, gone)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_cluster_remembers_its_routing),
        TEST(the_listed_stores_must_be_the_cluster),
        TEST(bad_routings_are_refused_before_anything_is_written),
        TEST(init_again_changes_nothing),
        TEST(without_a_routing_init_goes_by_what_is_remembered),
        TEST(another_name_of_a_routing_is_the_same_routing),
        TEST(a_database_by_two_names_is_found_before_anything_is_written),
        TEST(a_server_without_promises_is_found_before_anything_is_written),
        TEST(servers_that_do_not_answer_are_accepted_on_request),
        TEST(an_interrupted_init_is_finished_by_another),
        TEST(steps_of_fencing_are_reported_on_request),
        TEST(clusters_of_databases_open_by_their_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
