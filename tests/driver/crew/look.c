/*
 * fleet_look URLS RUN PATH...: prints what a fleet should contain, and what it must not contain, for tests of
 * the real program.
 *
 *     {"places": [...], "audit": true, "left": 0}
 *
 *     places   every occurrence that a scan of these repositories finds without a fleet, with the ids of the
 *              tenant 'default': an id is a digest of the secret. Occurrences that marks allow are listed, too.
 *     audit    whether the records of the run are consistent
 *     left     rows that belong to no current attempt: pages, seen-in rows, known pages, waste marks, promises
 *
 * No worker may use the cluster meanwhile.
 */
#include "base/number.h"
#include "coord/driver/coord.h"
#include "os/out_json.h"
#include "runtime/core/fleet_record.h"
#include "runtime/core/tenant_key.h"
#include "scan/scan.h"
#include "store/cluster/cluster.h"
#include "turnstone/txn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATHS_MAX = 64, TARGETS_MAX = 64, ROWS_AT_ONCE = 32, HEAD = 3 };

static struct ts_out out;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "fleet_look: %s: %s\n", what, why);
    exit(1);
}

/* ---- places ---- */

static void put_text(const char *name, struct ts_bytes text) {
    ts_out_put_cstring(&out, name);
    ts_out_put_json(&out, text);
}

static void put_number(const char *name, uint64_t number) {
    ts_out_put_cstring(&out, name);
    ts_out_put_u64(&out, number);
}

static void put_places(const struct ts_report *report) {
    bool is_first = true;
    ts_out_put_cstring(&out, "{\"places\": [");
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct ts_report_finding *finding = &report->findings[i];
        for (size_t j = 0; j < finding->listed_count; j++, is_first = false) {
            const struct ts_report_occurrence *place = &finding->occurrences[j];
            put_text(is_first ? "\n{\"id\": " : ",\n{\"id\": ", ts_bytes_of_cstring(finding->id.text));
            put_text(", \"rule\": ", ts_bytes_of_cstring(finding->rule->id));
            put_text(", \"repo\": ", report->targets[place->target].name);
            put_text(", \"object\": ", ts_bytes_of_cstring(place->object));
            put_text(", \"path\": ", place->path);
            put_number(", \"line\": ", place->line);
            put_number(", \"column\": ", place->column);
            ts_out_put_cstring(&out, place->is_allowed ? ", \"allowed\": true}" : ", \"allowed\": false}");
        }
    }
    ts_out_put_cstring(&out, "],\n");
}

static void scan(const struct ts_fleet_tenant_key *key, char **paths, size_t count) {
    struct ts_scan_target targets[PATHS_MAX];
    struct ts_report report;
    struct ts_scan_error error;
    if (count == 0 || count > PATHS_MAX)
        fail("the paths", "1 to 64 are expected");
    for (size_t i = 0; i < count; i++)
        targets[i] = (struct ts_scan_target){.path = paths[i], .kind = TS_SCAN_TARGET_REPOSITORY};
    const struct ts_scan_options options = {.targets = targets,
                                            .target_count = count,
                                            .salt = ts_bytes_of(key->bytes, sizeof key->bytes),
                                            .occurrences_max = TS_SCAN_OCCURRENCES_ALL,
                                            .min_confidence = TS_CONFIDENCE_LOW,
                                            .lists_allowed = true,
                                            .no_repo_config = true};
    if (ts_scan_report_make(&options, &report, &error) != TS_SCAN_DONE)
        fail("the scan", error.text);
    put_places(&report);
    ts_scan_report_release(&report);
}

/* ---- rows ---- */

struct current {
    struct ts_target_id id;
    struct ts_attempt attempt;
};

struct rows {
    struct ts_cluster *cluster;
    struct current current[TARGETS_MAX];
    size_t count;
    uint64_t left;
};

static void note_target(struct rows *rows, const struct ts_row *row) {
    struct ts_target_id id;
    struct ts_fleet_target target;
    if (!ts_fleet_key_is_target(row->key, &id))
        return;
    if (rows->count == TARGETS_MAX || ts_fleet_target_decode(row->value, &target) != TS_FLEET_OK)
        fail("a target", "its record is damaged, or there are more than 64");
    rows->current[rows->count++] = (struct current){id, target.attempt};
}

static bool is_current(const struct rows *rows, const uint8_t *id, const struct ts_attempt *attempt) {
    for (size_t i = 0; i < rows->count; i++)
        if (memcmp(rows->current[i].id.bytes, id, TS_TARGET_ID_LEN) == 0)
            return ts_attempt_equal(&rows->current[i].attempt, attempt);
    return false;
}

static void count_row(struct rows *rows, const struct ts_row *row) {
    struct ts_fleet_seen_key seen;
    const uint8_t *key = row->key.data;
    struct ts_attempt attempt;
    switch (row->key.len > HEAD ? key[2] : 0) {
    case 'e':
        rows->left +=
            !ts_fleet_key_is_seen(row->key, &seen) || !is_current(rows, seen.target.bytes, &seen.attempt);
        break;
    case 'o':
    case 's':
        attempt = ts_attempt_decode(key + HEAD + TS_TARGET_ID_LEN);
        rows->left += !is_current(rows, key + HEAD, &attempt);
        break;
    case 'k':
    case 'w':
        rows->left++;
        break;
    default: /* rows of other kinds are kept, such as targets, findings and hits */
        break;
    }
}

static void walk(struct rows *rows, void (*visit)(struct rows *rows, const struct ts_row *row)) {
    const struct ts_bytes to = TS_BYTES("\0g");
    for (size_t place = 0; place < ts_cluster_count(rows->cluster); place++) {
        uint8_t from[TS_FLEET_KEY_MAX + 1] = {0, 'f'};
        struct ts_rows found = {0};
        struct ts_call call = {.kind = TS_CALL_SCAN,
                               .from = ts_bytes_of(from, 2),
                               .to = ts_bytes_of(to.data, 2),
                               .limit = ROWS_AT_ONCE,
                               .rows = &found};
        for (bool more = true; more;) {
            if (ts_store_run(ts_cluster_store(rows->cluster, place), &call) != TS_STORE_OK)
                fail("a store", call.error.text);
            for (size_t i = 0; i < found.count; i++)
                visit(rows, &found.rows[i]);
            more = found.more;
            if (found.count == 0)
                break;
            const struct ts_bytes last = found.rows[found.count - 1].key;
            memcpy(from, last.data, last.len);
            from[last.len] = 0;
            call.from = ts_bytes_of(from, last.len + 1);
        }
        ts_rows_release(&found);
    }
}

static uint64_t promises(struct ts_cluster *cluster) {
    struct ts_rows found = {0};
    uint64_t count = 0;
    for (size_t place = 0; place < ts_cluster_count(cluster); place++) {
        struct ts_call call = {.kind = TS_CALL_PREPARED, .rows = &found};
        if (ts_store_run(ts_cluster_store(cluster, place), &call) != TS_STORE_OK)
            fail("a store", call.error.text);
        count += found.count;
    }
    ts_rows_release(&found);
    return count;
}

/* ---- the run ---- */

static bool audit(struct ts_cluster *cluster, const struct ts_coord_run_query *query) {
    struct ts_coordinator *coordinator;
    struct ts_txn_error_detail why;
    struct ts_coord_audit found;
    struct ts_coord_detail detail = {0};
    if (ts_coordinator_open(cluster, NULL, &coordinator, &why) != TS_TXN_ERROR_OK)
        fail("the coordinator", why.text);
    struct ts_coord *coord = ts_coord_new(cluster, coordinator, NULL);
    if (coord == NULL || ts_coord_audit_run(coord, query, &found, &detail) != TS_GET_RUN_OK)
        fail("the run", "its records cannot be read");
    ts_coord_free(coord);
    ts_coordinator_close(coordinator);
    return ts_coord_audit_is_clean(&found);
}

int main(int argc, char **argv) {
    static struct rows rows;
    struct ts_store_error error;
    struct ts_coord_run_query query;
    const struct ts_cluster_options options = {.store = {.must_exist = true}};
    if (argc < 4 || ts_u64_parse(ts_bytes_of_cstring(argv[2]), &query.run.v) != TS_NUMBER_OK ||
        !ts_tenant_id_from_text(TS_BYTES("default"), &query.tenant))
        fail("usage", "fleet_look URLS RUN PATH...");
    if (ts_cluster_open(argv[1], &options, &rows.cluster, &error) != TS_STORE_OK)
        fail("the cluster", error.text);
    ts_out_init(&out, STDOUT_FILENO);
    const struct ts_fleet_tenant_key key = ts_fleet_tenant_key_of(
        ts_cluster_meta(rows.cluster, 0)->secret, ts_bytes_of(query.tenant.b, sizeof query.tenant.b));
    scan(&key, argv + 3, (size_t)argc - 3);
    const bool is_clean = audit(rows.cluster, &query);
    walk(&rows, note_target);
    walk(&rows, count_row);
    put_number(is_clean ? "\"audit\": true, \"left\": " : "\"audit\": false, \"left\": ",
               rows.left + promises(rows.cluster));
    ts_out_put_cstring(&out, "}\n");
    ts_cluster_close(rows.cluster);
    return ts_out_flush(&out) ? 0 : 1;
}
