#include "bench/metrics.h"

#include "base/bytes.h"
#include "base/number.h"
#include "os/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The whole text of the metrics, with a NUL at the end. */
struct text {
    char *data;
    size_t len;
    size_t capacity;
};

static bool collect(void *context, struct ts_bytes part) {
    struct text *text = context;
    if (!TS_GROW(text->data, text->capacity, text->len + part.len + 1))
        return false;
    if (part.len > 0)
        memcpy(text->data + text->len, part.data, part.len);
    text->len += part.len;
    text->data[text->len] = '\0';
    return true;
}

/* Reads the number after a name at the beginning of a line. */
static bool value_of(const char *text, const char *name, uint64_t *ret_value) {
    size_t len = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) != 0 || line[len] != ' ')
            continue;
        const char *number = line + len + 1;
        return ts_u64_parse(ts_bytes_of(number, strcspn(number, "\n")), ret_value) == TS_NUMBER_OK;
    }
    return false;
}

static bool read_store(const char *text, size_t store, struct bench_store_metrics *ret_metrics) {
    const struct {
        const char *name;
        uint64_t *value;
    } rows[] = {{"shard_total_txns", &ret_metrics->txns},
                {"shard_conflict_aborts", &ret_metrics->conflicts},
                {"shard_concurrency_limit", &ret_metrics->concurrency_limit}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[80];
        snprintf(name, sizeof name, "turnstone_xs_%s{store=\"%zu\"}", rows[i].name, store);
        if (!value_of(text, name, rows[i].value))
            return false;
    }
    return true;
}

bool bench__metrics_read(struct ts_coordinator *coordinator, size_t store_count,
                         struct bench_metrics *ret_metrics) {
    struct text text = {0};
    struct bench_metrics metrics = {.store_count = store_count};
    uint64_t closed = 0;
    bool good = ts_coordinator_metrics(coordinator, collect, &text) && text.data != NULL &&
                value_of(text.data, "turnstone_xs_circuit_breaker_trips", &metrics.breaker_trips) &&
                value_of(text.data, "turnstone_xs_circuit_breaker_state{state=\"Closed\"}", &closed);
    for (size_t i = 0; good && i < store_count; i++)
        good = read_store(text.data, i, &metrics.stores[i]);
    free(text.data);
    metrics.breaker_closed = closed == 1;
    if (good)
        *ret_metrics = metrics;
    return good;
}
