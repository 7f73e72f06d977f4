#include "txn/guard/metrics.h"

#include "support/cmocka.h"
#include "support/stops.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A parser of the text format, as strict as the description of the format, and independent of the code that
 * writes the text. */

struct label {
    char name[32];
    char value[64];
};

struct sample {
    char name[64]; /* with its suffix _bucket, _sum or _count */
    struct label labels[4];
    size_t label_count;
    double value;
};

struct family {
    char name[64];
    char type[16];
    bool helped;
    size_t first_sample, sample_count;
};

static struct family families[64];
static size_t family_count;
static struct sample samples[4000];
static size_t sample_count;

static const char *take_name(const char *at, char *ret_name, size_t size) {
    size_t len = 0;
    assert_true(isalpha((unsigned char)*at) || *at == '_' || *at == ':');
    while (isalnum((unsigned char)*at) || *at == '_' || *at == ':') {
        assert_true(len + 1 < size);
        ret_name[len++] = *at++;
    }
    ret_name[len] = '\0';
    return at;
}

static const char *take_label(const char *at, struct label *ret_label) {
    at = take_name(at, ret_label->name, sizeof ret_label->name);
    assert_int_equal(*at++, '=');
    assert_int_equal(*at++, '"');
    size_t len = 0;
    while (*at != '"') {
        char c = *at++;
        assert_true(c != '\0' && c != '\n');
        if (c == '\\') {
            c = *at++;
            assert_non_null(strchr("\\\"n", c));
            c = c == 'n' ? '\n' : c;
        }
        assert_true(len + 1 < sizeof ret_label->value);
        ret_label->value[len++] = c;
    }
    ret_label->value[len] = '\0';
    return at + 1;
}

static bool belongs(const char *sample, const struct family *family) {
    size_t len = strlen(family->name);
    if (strncmp(sample, family->name, len) != 0)
        return false;
    const char *rest = sample + len;
    if (strcmp(family->type, "histogram") == 0)
        return strcmp(rest, "_bucket") == 0 || strcmp(rest, "_sum") == 0 || strcmp(rest, "_count") == 0;
    return *rest == '\0';
}

static void take_comment(const char *line) {
    char word[8], name[64];
    const char *at = take_name(line + 2, word, sizeof word);
    assert_int_equal(*at++, ' ');
    at = take_name(at, name, sizeof name);
    assert_int_equal(*at++, ' ');
    if (strcmp(word, "HELP") == 0) {
        for (size_t i = 0; i < family_count; i++)
            assert_string_not_equal(families[i].name, name);
        struct family *family = &families[family_count++];
        *family = (struct family){.helped = strlen(at) > 10, .first_sample = sample_count};
        snprintf(family->name, sizeof family->name, "%s", name);
        return;
    }
    assert_string_equal(word, "TYPE");
    struct family *family = &families[family_count - 1];
    assert_string_equal(family->name, name);
    assert_int_equal(family->sample_count, 0);
    snprintf(family->type, sizeof family->type, "%s", at);
}

static void take_sample(const char *line) {
    struct sample *sample = &samples[sample_count++];
    memset(sample, 0, sizeof *sample);
    const char *at = take_name(line, sample->name, sizeof sample->name);
    if (*at == '{') {
        do {
            assert_true(sample->label_count < 4);
            at = take_label(at + 1, &sample->labels[sample->label_count++]);
        } while (*at == ',');
        assert_int_equal(*at++, '}');
    }
    assert_int_equal(*at++, ' ');
    char *end;
    sample->value = strtod(at, &end);
    assert_true(end != at && *end == '\0');
    /* All samples of a family directly follow its HELP and TYPE. */
    assert_true(family_count > 0 && belongs(sample->name, &families[family_count - 1]));
    families[family_count - 1].sample_count++;
}

static void parse(char *text) {
    family_count = sample_count = 0;
    assert_true(strlen(text) > 0 && text[strlen(text) - 1] == '\n');
    for (char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        *end = '\0';
        if (text[0] == '#')
            take_comment(text);
        else
            take_sample(text);
    }
}

static const struct family *family_named(const char *name) {
    for (size_t i = 0; i < family_count; i++)
        if (strcmp(families[i].name, name) == 0)
            return &families[i];
    fail_msg("no metric %s", name);
    return NULL;
}

/* Returns the value of the sample with this name. If label is not NULL, the sample has this label with
 * `value`. */
static double value_of(const char *name, const char *label, const char *value) {
    for (size_t i = 0; i < sample_count; i++) {
        const struct sample *s = &samples[i];
        bool matches = strcmp(s->name, name) == 0 && label == NULL;
        for (size_t l = 0; strcmp(s->name, name) == 0 && label != NULL && l < s->label_count; l++)
            matches |= strcmp(s->labels[l].name, label) == 0 && strcmp(s->labels[l].value, value) == 0;
        if (matches)
            return s->value;
    }
    fail_msg("no sample %s{%s=%s}", name, label != NULL ? label : "", value != NULL ? value : "");
    return 0;
}

/* The metrics under test: the metrics of two threads, each on two stores. */

static struct ts_txn_metrics metrics, other;
static struct ts_txn_store_metrics stores[2], other_stores[2];
static struct ts_txn_store_view store_views[2];
static struct ts_txn_view view;
static char text[300000];
static size_t text_len;

static bool append(void *context, struct ts_bytes part) {
    (void)context;
    assert_true(text_len + part.len < sizeof text);
    memcpy(text + text_len, part.data, part.len);
    text_len += part.len;
    text[text_len] = '\0';
    return true;
}

static int fresh(void **state) {
    (void)state;
    ts_txn_metrics_init(&metrics, stores, 2);
    ts_txn_metrics_init(&other, other_stores, 2);
    memset(store_views, 0, sizeof store_views);
    view = (struct ts_txn_view){.stores = store_views};
    return 0;
}

static void render(void) {
    text_len = 0;
    assert_true(ts_txn_metrics_render(&metrics, &view, (struct ts_txn_text_writer){append, NULL}));
    parse(text);
}

static void record(struct ts_txn_metrics *to, enum ts_txn_end end, enum ts_txn_cause_kind cause,
                   uint64_t us) {
    struct ts_txn_breakdown latency;
    ts_txn_breakdown_init(&latency);
    ts_txn_breakdown_add(&latency, TS_TXN_BREAKDOWN_PREPARE_WAL, us);
    ts_txn_metrics_record_rpc(to, (struct ts_txn_breakdown_rpc){.store = 1, .us = us / 2});
    latency.total_us = 2 * us;
    const struct ts_txn_cause because = {.kind = cause};
    ts_txn_metrics_record(to, &(struct ts_txn_sample){.end = end,
                                                      .cause = &because,
                                                      .retries = cause == TS_TXN_CAUSE_DEADLOCK,
                                                      .latency = &latency});
}

/* The metrics of section 9 of the specification, and the latency fields of section 2. */
static const struct {
    const char *name, *type, *label;
} specified[] = {
    {"turnstone_xs_total_attempted", "counter", NULL},
    {"turnstone_xs_total_committed", "counter", NULL},
    {"turnstone_xs_total_aborted", "counter", "reason"},
    {"turnstone_xs_total_retried", "counter", NULL},
    {"turnstone_xs_coord_in_flight", "gauge", NULL},
    {"turnstone_xs_coord_rejected", "counter", NULL},
    {"turnstone_xs_circuit_breaker_state", "gauge", "state"},
    {"turnstone_xs_circuit_breaker_trips", "counter", NULL},
    {"turnstone_xs_total_us", "histogram", NULL},
    {"turnstone_xs_coord_queue_us", "histogram", NULL},
    {"turnstone_xs_prepare_wal_us", "histogram", NULL},
    {"turnstone_xs_commit_wal_us", "histogram", NULL},
    {"turnstone_xs_shard_rpc_us", "histogram", "store"},
    {"turnstone_xs_retry_backoff_us", "histogram", NULL},
    {"turnstone_xs_shard_conflict_rate", "gauge", "store"},
    {"turnstone_xs_shard_abort_rate", "gauge", "store"},
    {"turnstone_xs_shard_lock_wait_us", "histogram", "store"},
    {"turnstone_xs_shard_avg_lock_wait_us", "gauge", "store"},
    {"turnstone_xs_shard_total_txns", "counter", "store"},
    {"turnstone_xs_shard_conflict_aborts", "counter", "store"},
    {"turnstone_xs_shard_timeout_aborts", "counter", "store"},
    {"turnstone_xs_deadlocks_detected", "counter", NULL},
    {"turnstone_xs_stalled_txns", "gauge", NULL},
    {"turnstone_xs_route_plan_us", "histogram", NULL},
    {"turnstone_xs_read_phase_us", "histogram", NULL},
    {"turnstone_xs_lock_validate_us", "histogram", NULL},
    {"turnstone_xs_commit_barrier_us", "histogram", NULL},
    {"turnstone_xs_replication_ack_us", "histogram", NULL},
    {"turnstone_xs_gc_impact_us", "histogram", NULL},
};

static void every_specified_metric_is_there_with_its_type_and_label(void **state) {
    (void)state;
    render();
    for (size_t i = 0; i < sizeof specified / sizeof specified[0]; i++) {
        const struct family *family = family_named(specified[i].name);
        assert_string_equal(family->type, specified[i].type);
        assert_true(family->sample_count > 0);
        for (size_t s = 0; s < family->sample_count; s++) {
            const struct sample *sample = &samples[family->first_sample + s];
            size_t own = sample->label_count;
            if (own > 0 && strcmp(sample->labels[own - 1].name, "le") == 0)
                own--;
            assert_int_equal(own, specified[i].label != NULL);
            if (own > 0)
                assert_string_equal(sample->labels[0].name, specified[i].label);
        }
    }
}

static void every_family_has_help_type_and_the_prefix(void **state) {
    (void)state;
    render();
    for (size_t i = 0; i < family_count; i++) {
        assert_true(families[i].helped);
        assert_true(strlen(families[i].type) > 0);
        assert_int_equal(strncmp(families[i].name, "turnstone_xs_", 13), 0);
    }
}

/* Checks one histogram series from its first bucket on. Returns the number of its samples. */
static size_t check_series(const struct sample *s) {
    double before = -1, bound_before = -1;
    size_t i = 0;
    for (; strstr(s[i].name, "_bucket") != NULL; i++) {
        const struct label *le = &s[i].labels[s[i].label_count - 1];
        assert_string_equal(le->name, "le");
        double bound = strtod(le->value, NULL);
        assert_true(bound > bound_before && s[i].value >= before);
        bound_before = bound;
        before = s[i].value;
        if (strcmp(le->value, "+Inf") == 0) {
            i++;
            break;
        }
    }
    assert_true(i > 10);
    assert_non_null(strstr(s[i].name, "_sum"));
    assert_non_null(strstr(s[i + 1].name, "_count"));
    assert_true(s[i + 1].value == before);
    return i + 2;
}

static void buckets_are_cumulative_and_end_with_the_count(void **state) {
    (void)state;
    for (uint64_t us = 1; us < 100000000; us = us * 3 + 1)
        record(&metrics, TS_TXN_END_COMMITTED, TS_TXN_CAUSE_NONE, us);
    render();
    size_t series = 0;
    for (size_t i = 0; i < family_count; i++) {
        if (strcmp(families[i].type, "histogram") != 0)
            continue;
        for (size_t s = 0; s < families[i].sample_count; series++)
            s += check_series(&samples[families[i].first_sample + s]);
    }
    assert_int_equal(series, 1 + (TS_TXN_BREAKDOWN_PHASE_COUNT - 1) + 2 * 2);
}

static void a_bucket_counts_exactly_what_its_bound_says(void **state) {
    (void)state;
    static const uint64_t values[] = {0, 1023, 1023, 1024, 5000};
    for (size_t i = 0; i < 5; i++)
        record(&metrics, TS_TXN_END_COMMITTED, TS_TXN_CAUSE_NONE, values[i]);
    render();
    assert_true(value_of("turnstone_xs_prepare_wal_us_bucket", "le", "511") == 1);
    assert_true(value_of("turnstone_xs_prepare_wal_us_bucket", "le", "1023") == 3);
    assert_true(value_of("turnstone_xs_prepare_wal_us_bucket", "le", "2047") == 4);
    assert_true(value_of("turnstone_xs_prepare_wal_us_bucket", "le", "+Inf") == 5);
    assert_true(value_of("turnstone_xs_prepare_wal_us_sum", NULL, NULL) == 8070);
    assert_true(value_of("turnstone_xs_prepare_wal_us_count", NULL, NULL) == 5);
    assert_true(value_of("turnstone_xs_total_us_sum", NULL, NULL) == 2 * 8070);
    assert_true(value_of("turnstone_xs_shard_rpc_us_count", "store", "1") == 5);
    assert_true(value_of("turnstone_xs_shard_rpc_us_count", "store", "0") == 0);
}

static void ends_and_reasons_are_counted_apart(void **state) {
    (void)state;
    record(&metrics, TS_TXN_END_COMMITTED, TS_TXN_CAUSE_NONE, 1);
    record(&metrics, TS_TXN_END_COMMITTED_PENDING, TS_TXN_CAUSE_NONE, 1);
    record(&metrics, TS_TXN_END_ABORTED, TS_TXN_CAUSE_DEADLOCK, 1);
    record(&metrics, TS_TXN_END_ABORTED, TS_TXN_CAUSE_ADMISSION, 1);
    record(&metrics, TS_TXN_END_UNKNOWN, TS_TXN_CAUSE_NONE, 1);
    render();
    assert_true(value_of("turnstone_xs_total_attempted", NULL, NULL) == 5);
    assert_true(value_of("turnstone_xs_total_committed", NULL, NULL) == 2);
    assert_true(value_of("turnstone_xs_total_unknown", NULL, NULL) == 1);
    assert_true(value_of("turnstone_xs_total_retried", NULL, NULL) == 1);
    assert_true(value_of("turnstone_xs_total_aborted", "reason", "deadlock") == 1);
    assert_true(value_of("turnstone_xs_total_aborted", "reason", "admission") == 1);
    assert_true(value_of("turnstone_xs_total_aborted", "reason", "conflict") == 0);
}

static void threads_are_merged(void **state) {
    (void)state;
    record(&metrics, TS_TXN_END_COMMITTED, TS_TXN_CAUSE_NONE, 10);
    record(&other, TS_TXN_END_COMMITTED, TS_TXN_CAUSE_NONE, 30);
    record(&other, TS_TXN_END_ABORTED, TS_TXN_CAUSE_BREAKER, 50);
    ts_txn_metrics_record_lock_wait(&other, (struct ts_txn_breakdown_rpc){.store = 0, .us = 70});
    ts_txn_metrics_merge(&metrics, &other);
    render();
    assert_true(value_of("turnstone_xs_total_attempted", NULL, NULL) == 3);
    assert_true(value_of("turnstone_xs_total_aborted", "reason", "circuit_breaker") == 1);
    assert_true(value_of("turnstone_xs_prepare_wal_us_sum", NULL, NULL) == 90);
    assert_true(value_of("turnstone_xs_shard_rpc_us_sum", "store", "1") == 45);
    assert_true(value_of("turnstone_xs_shard_lock_wait_us_sum", "store", "0") == 70);
}

static void figures_of_the_whole_process_come_from_the_view(void **state) {
    (void)state;
    view.admission = (struct ts_txn_admission_gauges){.in_flight = 7, .total_rejected = 8, .total_queued = 9};
    view.breaker_state = TS_TXN_BREAKER_HALF_OPEN;
    view.breaker_trips = 3;
    view.deadlocks_detected = 4;
    view.stalled_txns = 2;
    store_views[1].conflicts.conflict_rate_ppm = 153000;
    store_views[1].conflicts.abort_rate_ppm = TS_TXN_PPM;
    store_views[0].limit = 128;
    store_views[1].conflicts.avg_lock_wait_us = 17;
    store_views[1].conflicts.totals =
        (struct ts_txn_conflict_counts){.total_txns = 100, .conflict_aborts = 12, .timeout_aborts = 5};
    render();
    assert_true(value_of("turnstone_xs_shard_avg_lock_wait_us", "store", "1") == 17);
    assert_true(value_of("turnstone_xs_shard_total_txns", "store", "1") == 100);
    assert_true(value_of("turnstone_xs_shard_conflict_aborts", "store", "1") == 12);
    assert_true(value_of("turnstone_xs_shard_timeout_aborts", "store", "1") == 5);
    assert_true(value_of("turnstone_xs_coord_in_flight", NULL, NULL) == 7);
    assert_true(value_of("turnstone_xs_coord_rejected", NULL, NULL) == 8);
    assert_true(value_of("turnstone_xs_coord_queued", NULL, NULL) == 9);
    assert_true(value_of("turnstone_xs_circuit_breaker_state", "state", "HalfOpen") == 1);
    assert_true(value_of("turnstone_xs_circuit_breaker_state", "state", "Closed") == 0);
    assert_true(value_of("turnstone_xs_circuit_breaker_state", "state", "Open") == 0);
    assert_true(value_of("turnstone_xs_circuit_breaker_trips", NULL, NULL) == 3);
    assert_true(value_of("turnstone_xs_deadlocks_detected", NULL, NULL) == 4);
    assert_true(value_of("turnstone_xs_stalled_txns", NULL, NULL) == 2);
    assert_true(value_of("turnstone_xs_shard_conflict_rate", "store", "1") == 0.153);
    assert_true(value_of("turnstone_xs_shard_abort_rate", "store", "1") == 1.0);
    assert_true(value_of("turnstone_xs_shard_concurrency_limit", "store", "0") == 128);
}

static void names_of_stores_are_escaped(void **state) {
    (void)state;
    store_views[0].name = "rocksdb:/a \"b\"\\c\nd";
    render();
    assert_true(value_of("turnstone_xs_shard_conflict_rate", "store", "rocksdb:/a \"b\"\\c\nd") == 0);
}

static void a_sum_beyond_64_bits_is_still_a_number(void **state) {
    (void)state;
    ts_hist_record(&metrics.total_us, UINT64_MAX);
    ts_hist_record(&metrics.total_us, UINT64_MAX);
    render();
    assert_true(value_of("turnstone_xs_total_us_sum", NULL, NULL) == 36893488147419103232.0);
}

static unsigned writes_left;
static unsigned writes_after_the_end;

static bool fail_after_some(void *context, struct ts_bytes part) {
    (void)context;
    (void)part;
    writes_after_the_end += writes_left == 0;
    return writes_left > 0 && --writes_left > 0;
}

static void a_writer_that_fails_ends_it(void **state) {
    (void)state;
    writes_left = 20;
    writes_after_the_end = 0;
    assert_false(ts_txn_metrics_render(&metrics, &view, (struct ts_txn_text_writer){fail_after_some, NULL}));
    assert_int_equal(writes_left, 0);
    assert_int_equal(writes_after_the_end, 0);
}

static void metrics_of_different_clusters_cannot_be_merged(void **state) {
    (void)state;
    other.store_count = 1;
    assert_stops("store_count", ts_txn_metrics_merge(&metrics, &other));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_specified_metric_is_there_with_its_type_and_label, fresh),
        cmocka_unit_test_setup(every_family_has_help_type_and_the_prefix, fresh),
        cmocka_unit_test_setup(buckets_are_cumulative_and_end_with_the_count, fresh),
        cmocka_unit_test_setup(a_bucket_counts_exactly_what_its_bound_says, fresh),
        cmocka_unit_test_setup(ends_and_reasons_are_counted_apart, fresh),
        cmocka_unit_test_setup(threads_are_merged, fresh),
        cmocka_unit_test_setup(figures_of_the_whole_process_come_from_the_view, fresh),
        cmocka_unit_test_setup(names_of_stores_are_escaped, fresh),
        cmocka_unit_test_setup(a_sum_beyond_64_bits_is_still_a_number, fresh),
        cmocka_unit_test_setup(a_writer_that_fails_ends_it, fresh),
        cmocka_unit_test_setup(metrics_of_different_clusters_cannot_be_merged, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
