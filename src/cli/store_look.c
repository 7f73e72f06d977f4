/*
 * turnstone store get and scan: reads a store.
 */
#include "cluster_option.h"
#include "complain.h"
#include "key.h"
#include "output.h"
#include "verbs.h"

#include "base/bytes.h"
#include "base/hex.h"
#include "base/number.h"
#include "base/redact.h"
#include "os/clock.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_STORE = CLUSTER_OPTIONS, LOOK_LIMIT };
enum { PAGE_ROWS = 1000 };

/* The first key of users. Keys that begin with a zero byte belong to the system, and are shown only on
 * request. */
static const struct cli_key first_of_users = {.bytes = {1}, .len = 1};

/* The places to read, from `first` to before `end`: the place that --store names, or all places. */
struct places {
    size_t first;
    size_t end;
};

static enum cli_exit read_store(const char *verb, const struct cli_arguments *arguments,
                                const struct ts_cluster *cluster, bool *ret_given, size_t *ret_place) {
    const char *text = arguments->values[LOOK_STORE];
    *ret_given = text != NULL;
    uint32_t place = 0;
    if (text && (ts_u32_parse(ts_bytes_of_cstring(text), &place) != TS_NUMBER_OK ||
                 place >= ts_cluster_count(cluster)))
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: --store must be a number below %zu, the number of stores; got '%s'", verb,
                             ts_cluster_count(cluster), cli__quote_text(text).text);
    *ret_place = place;
    return CLI_EXIT_DONE;
}

static enum cli_exit read_key(const char *verb, const char *text, struct cli_key *ret_key) {
    const char *why = cli__key_parse(text, strlen(text), ret_key);
    return why ? cli__complain(CLI_EXIT_USAGE, "%s: the key '%s' %s", verb, cli__quote_text(text).text, why)
               : CLI_EXIT_DONE;
}

/* Sets "value" if the value is valid text in JSON. Otherwise sets "value_hex" to its hexadecimal digits. */
static void set_value(json_t *object, struct ts_bytes value) {
    json_t *text = json_stringn((const char *)value.data, value.len);
    if (text) {
        json_object_set_new(object, "value", text);
        return;
    }
    char *digits = malloc(2 * value.len + 1);
    if (digits)
        *ts_hex_encode(value, digits) = '\0';
    json_object_set_new(object, "value_hex", json_string(digits));
    free(digits);
}

static void print_row(const struct cli_arguments *arguments, size_t place, const struct ts_row *row) {
    static struct cli_key_text key;
    cli__key_format(row->key, &key);
    if (arguments->values[CLUSTER_JSON]) {
        json_t *object = json_pack("{s:I, s:s, s:I}", "store", (json_int_t)place, "key", key.text, "version",
                                   (json_int_t)row->version);
        if (row->version)
            set_value(object, row->value);
        json_dumpf(object, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(object);
        return;
    }
    if (!row->version) {
        printf("%s absent, on store %zu\n", key.text, place);
        return;
    }
    char value[240];
    ts_text_escape(row->value, value, sizeof value);
    printf("%s version %llu on store %zu: %s\n", key.text, (unsigned long long)row->version, place, value);
}

static uint64_t deadline(const struct ts_txn_config *config) {
    return ts_clock_monotonic_ns() + config->timeouts.shard_rpc_us * 1000;
}

static enum cli_exit run_get(const struct cli_arguments *arguments) {
    struct ts_txn_config config;
    if (arguments->operand_count != 1)
        return cli__complain(CLI_EXIT_USAGE, "store get: expected one key");
    struct cli_key key;
    struct ts_cluster *cluster = NULL;
    enum cli_exit status = read_key("store get", arguments->operands[0], &key);
    if (status == CLI_EXIT_DONE)
        status = cli__cluster_open("store get", arguments, CLUSTER_NEED_OPEN, &config, &cluster, NULL);
    bool given = false;
    size_t place = 0;
    if (status == CLI_EXIT_DONE)
        status = read_store("store get", arguments, cluster, &given, &place);
    if (status == CLI_EXIT_DONE) {
        struct ts_bytes bytes = ts_bytes_of(key.bytes, key.len);
        if (!given)
            place = ts_cluster_place_of_key(cluster, bytes);
        struct ts_rows rows = {0};
        struct ts_call call = {.kind = TS_CALL_READ,
                               .keys = &bytes,
                               .key_count = 1,
                               .rows = &rows,
                               .deadline_ns = deadline(&config)};
        if (ts_store_run(ts_cluster_store(cluster, place), &call) == TS_STORE_OK)
            print_row(arguments, place, &rows.rows[0]);
        else
            status = cli__complain_store("store get", &call.error);
        ts_rows_release(&rows);
    }
    ts_cluster_close(cluster);
    return cli__finish_stdout(status);
}

/* Returns the first key after all keys with the prefix; empty if there is no such key. */
static struct ts_bytes end_of_prefix(const struct cli_key *prefix, struct cli_key *end) {
    *end = *prefix;
    while (end->len > 0 && end->bytes[end->len - 1] == 0xff)
        end->len--;
    if (end->len > 0)
        end->bytes[end->len - 1]++;
    return ts_bytes_of(end->bytes, end->len);
}

/* Sets *ret_next to the least key above `key`. Returns false if there is no such key. */
static bool next_key(struct ts_bytes key, struct cli_key *ret_next) {
    struct cli_key last = {.len = key.len};
    memcpy(last.bytes, key.data, key.len);
    if (last.len == TS_STORE_KEY_MAX)
        return end_of_prefix(&last, ret_next).len > 0;
    last.bytes[last.len++] = 0;
    *ret_next = last;
    return true;
}

/* Prints the rows of one store, page by page. *left is how many rows may still be printed. */
static enum cli_exit scan_store(const struct cli_arguments *arguments, const struct ts_txn_config *config,
                                struct ts_cluster *cluster, size_t place, const struct cli_key *prefix,
                                uint64_t *left) {
    static struct cli_key from;
    static struct cli_key end;
    from = *prefix;
    if (prefix->len == 0)
        from = first_of_users;
    struct ts_rows rows = {0};
    enum cli_exit status = CLI_EXIT_DONE;
    bool more = true;
    while (more && *left > 0 && status == CLI_EXIT_DONE) {
        struct ts_call call = {.kind = TS_CALL_SCAN,
                               .from = ts_bytes_of(from.bytes, from.len),
                               .to = end_of_prefix(prefix, &end),
                               .limit = *left < PAGE_ROWS ? (size_t)*left : PAGE_ROWS,
                               .rows = &rows,
                               .deadline_ns = deadline(config)};
        if (ts_store_run(ts_cluster_store(cluster, place), &call) != TS_STORE_OK) {
            status = cli__complain_store("store scan", &call.error);
            break;
        }
        for (size_t i = 0; i < rows.count; i++)
            print_row(arguments, place, &rows.rows[i]);
        *left -= rows.count;
        more = rows.more && rows.count > 0 && next_key(rows.rows[rows.count - 1].key, &from);
    }
    ts_rows_release(&rows);
    return status;
}

static enum cli_exit run_scan(const struct cli_arguments *arguments) {
    struct ts_txn_config config;
    if (arguments->operand_count > 1)
        return cli__complain(CLI_EXIT_USAGE, "store scan: expected one prefix, or none for all keys");
    struct cli_key prefix = {.len = 0};
    uint64_t left = UINT64_MAX;
    struct ts_cluster *cluster = NULL;
    enum cli_exit status = CLI_EXIT_DONE;
    if (arguments->operand_count == 1)
        status = read_key("store scan", arguments->operands[0], &prefix);
    const char *limit = arguments->values[LOOK_LIMIT];
    if (status == CLI_EXIT_DONE && limit && ts_u64_parse(ts_bytes_of_cstring(limit), &left) != TS_NUMBER_OK)
        status = cli__complain(CLI_EXIT_USAGE, "store scan: --limit must be a number; got '%s'",
                               cli__quote_text(limit).text);
    if (status == CLI_EXIT_DONE)
        status = cli__cluster_open("store scan", arguments, CLUSTER_NEED_OPEN, &config, &cluster, NULL);
    bool given = false;
    size_t place = 0;
    if (status == CLI_EXIT_DONE)
        status = read_store("store scan", arguments, cluster, &given, &place);
    if (status == CLI_EXIT_DONE) {
        struct places places = {given ? place : 0, given ? place + 1 : ts_cluster_count(cluster)};
        for (size_t i = places.first; i < places.end && status == CLI_EXIT_DONE; i++)
            status = scan_store(arguments, &config, cluster, i, &prefix, &left);
    }
    ts_cluster_close(cluster);
    return cli__finish_stdout(status);
}

static const struct cli_option get_options[] = {
    CLI_CLUSTER_OPTIONS,
    [LOOK_STORE] = {.name = "store",
                    .argument = "N",
                    .help = "read from this store instead of the store that the key routes to"},
};

static const struct cli_option scan_options[] = {
    CLI_CLUSTER_OPTIONS,
    [LOOK_STORE] = {.name = "store", .argument = "N", .help = "only this store"},
    [LOOK_LIMIT] = {.name = "limit", .argument = "N", .help = "print at most N keys (default: no limit)"},
};

const struct cli_verb cli__verb_store_get = {
    .name = "store get",
    .summary = "show the value and version of a key",
    .operands = "KEY",
    .description =
        "Reads one key from the store that it routes to. Keys are text, or any bytes as 0x and hexadecimal digits. "
        "An absent key has version 0.",
    .options = get_options,
    .option_count = sizeof get_options / sizeof get_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_get,
};

const struct cli_verb cli__verb_store_scan = {
    .name = "store scan",
    .summary = "list the keys that begin with a prefix",
    .operands = "[PREFIX]",
    .description =
        "Lists keys in order, store after store, with their versions and values. Each page of a store is "
        "one snapshot; the whole list is not. Keys that begin with a zero byte are reserved; the prefix "
        "0x00 shows them.",
    .options = scan_options,
    .option_count = sizeof scan_options / sizeof scan_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_scan,
};
