#include "coord_verb.h"

#include "complain.h"
#include "key.h"
#include "metrics_option.h"
#include "output.h"

#include "base/bytes.h"
#include "base/endian.h"
#include "base/hex.h"
#include "base/number.h"
#include "base/redact.h"
#include "os/clock.h"
#include "os/entropy.h"
#include "os/out_json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char default_tenant[] = "default";

/* Writes the op id with which the user can repeat an operation that was refused or whose outcome
 * is unknown. */
static void put_op_id(struct cli_coord *coord) {
    if (coord->op_id)
        cli__member_number(coord, "op_id", coord->op_id->v);
}

/* The op id as the text output shows it: " (op id 17)". */
struct op_id_shown {
    char text[40];
};

static struct op_id_shown show_op_id(const struct cli_coord *coord) {
    struct op_id_shown shown = {0};
    if (coord->op_id)
        snprintf(shown.text, sizeof shown.text, " (op id %llu)", (unsigned long long)coord->op_id->v);
    return shown;
}

static void put_backend_error(struct cli_coord *coord, enum ts_infra_kind kind, const char *cause) {
    cli__object_begin(coord);
    cli__member_text(coord, "error", ts_error_variant_name(TS_VARIANT_BACKEND_ERROR));
    cli__member_text(coord, "kind", ts_infra_kind_name(kind));
    cli__member_text(coord, "cause", cause);
    put_op_id(coord);
    cli__object_end(coord);
}

/* The timeout of a request for a store's time. The time is only shown to people, so a failure is harmless. */
enum { ASK_TIME_MAX_MS = 1000 };

/* The maximum time by which --now may be ahead of the machine's clock. A store's time cannot be set back, so
 * a wrong time would be permanent. */
#define NOW_AHEAD_MAX_MS (UINT64_C(24) * 3600 * 1000)

static enum cli_exit read_now(const char *verb, const struct cli_arguments *arguments, uint64_t *now_ms) {
    enum cli_exit status = cli__number_optional(verb, arguments, COORD_NOW, "now", now_ms);
    if (status != CLI_EXIT_DONE || !arguments->values[COORD_NOW])
        return status;
    if (*now_ms == 0)
        return cli__complain(CLI_EXIT_USAGE, "%s: --now must be at least 1", verb);
    const uint64_t real_ms = ts_clock_wall_ms();
    if (*now_ms > real_ms && *now_ms - real_ms > NOW_AHEAD_MAX_MS)
        return cli__complain(
            CLI_EXIT_USAGE,
            "%s: --now %llu is more than 24 hours ahead of this machine's clock (%llu); give milliseconds since "
            "1970. A store's clock cannot be set back",
            verb, (unsigned long long)*now_ms, (unsigned long long)real_ms);
    return CLI_EXIT_DONE;
}

/* Prints why a store could not be opened, in the form of a refusal, so that scripts need to read only one
 * form. */
static enum cli_exit refuse_opening(struct cli_coord *coord, const struct ts_store_error *error) {
    const enum cli_exit status = cli__complain_store(coord->verb, error);
    if (!coord->json || (status != CLI_EXIT_INFRASTRUCTURE && status != CLI_EXIT_UNKNOWN))
        return status;
    put_backend_error(coord, ts_infra_kind_of_store(error->result), error->text);
    return status;
}

static enum cli_exit open_cluster(struct cli_coord *coord, const struct cli_arguments *arguments) {
    uint64_t now_ms = 0;
    struct ts_cluster_options options;
    const char *urls = cli__cluster_urls(coord->verb, arguments);
    enum cli_exit status = urls ? read_now(coord->verb, arguments, &now_ms) : CLI_EXIT_USAGE;
    if (status == CLI_EXIT_DONE)
        status = cli__cluster_options(coord->verb, arguments, &coord->config, &options);
    if (status != CLI_EXIT_DONE)
        return status;
    options.some_down = true;
    options.store.must_exist = true;
    options.store.now_ms = now_ms;
    coord->is_clock_frozen = now_ms != 0;
    struct ts_store_error error;
    if (ts_cluster_open(urls, &options, &coord->cluster, &error) != TS_STORE_OK)
        return refuse_opening(coord, &error);
    return CLI_EXIT_DONE;
}

/* Prints the line of --waterfall for a transaction on standard error, so that the answer on standard output
 * does not change. */
static void tell_transaction(void *context, const struct ts_txn_result *result) {
    char waterfall[TS_TXN_WATERFALL_SIZE];
    ts_txn_latency_waterfall(&result->latency, waterfall);
    fprintf(stderr, "turnstone: %s: %s transaction %s, attempts %u: %s\n", (const char *)context,
            result->global ? "global" : "local", ts_txn_outcome_text(result->outcome), result->attempts,
            waterfall);
}

static enum cli_exit open_coordination(struct cli_coord *coord) {
    struct ts_txn_error_detail detail;
    if (ts_coordinator_open(coord->cluster, &coord->config, &coord->coordinator, &detail) !=
        TS_TXN_ERROR_OK) {
        if (coord->json)
            put_backend_error(coord, TS_INFRA_RETRYABLE, detail.text);
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: %s", coord->verb, detail.text);
    }
    const struct ts_coord_options options = {.is_clock_frozen = coord->is_clock_frozen,
                                             .transaction = coord->waterfall ? tell_transaction : NULL,
                                             .context = (void *)(uintptr_t)coord->verb};
    coord->coord = ts_coord_new(coord->cluster, coord->coordinator, &options);
    if (!coord->coord)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: out of memory", coord->verb);
    return CLI_EXIT_DONE;
}

enum cli_exit cli__coord_open(const char *verb, const struct cli_arguments *arguments,
                              const struct ts_op_id *op_id, struct cli_coord *ret_coord) {
    static struct ts_out out;
    ts_out_init(&out, STDOUT_FILENO);
    const char *tenant = arguments->values[COORD_TENANT];
    struct cli_coord coord = {.verb = verb,
                              .json = arguments->values[CLUSTER_JSON] != NULL,
                              .has_tenant = tenant != NULL,
                              .waterfall = arguments->values[COORD_WATERFALL] != NULL,
                              .metrics = arguments->values[COORD_METRICS],
                              .op_id = op_id,
                              .out = &out};
    if (!ts_tenant_id_from_text(ts_bytes_of_cstring(tenant ? tenant : default_tenant), &coord.tenant))
        return cli__complain(CLI_EXIT_USAGE, "%s: --tenant must be a name of 1 to 32 bytes; got '%s'", verb,
                             cli__quote_text(tenant).text);
    enum cli_exit status = cli__metrics_check(verb, coord.metrics);
    if (status == CLI_EXIT_DONE)
        status = open_cluster(&coord, arguments);
    if (status == CLI_EXIT_DONE)
        status = open_coordination(&coord);
    if (status != CLI_EXIT_DONE) {
        cli__coord_close(&coord, status);
        return status;
    }
    *ret_coord = coord;
    return CLI_EXIT_DONE;
}

enum cli_exit cli__coord_close(struct cli_coord *coord, enum cli_exit status) {
    ts_coord_free(coord->coord);
    const enum cli_exit ended = cli__finish_out(coord->out, status);
    /* If the metrics cannot be written, the exit status is still that of the operation. Otherwise users would
     * repeat the operation. */
    if (coord->coordinator && coord->metrics)
        (void)cli__finish_stdout(
            cli__metrics_write(coord->verb, coord->metrics, coord->coordinator, coord->more_metrics));
    ts_coordinator_close(coord->coordinator);
    ts_cluster_close(coord->cluster);
    return ended;
}

enum cli_exit cli__number_optional(const char *verb, const struct cli_arguments *arguments, size_t option,
                                   const char *name, uint64_t *value) {
    const char *text = arguments->values[option];
    if (text && ts_u64_parse(ts_bytes_of_cstring(text), value) != TS_NUMBER_OK)
        return cli__complain(CLI_EXIT_USAGE, "%s: --%s must be a whole number below 2^64; got '%s'", verb,
                             name, cli__quote_text(text).text);
    return CLI_EXIT_DONE;
}

enum cli_exit cli__number_required(const char *verb, const struct cli_arguments *arguments, size_t option,
                                   const char *name, uint64_t *ret_value) {
    if (!arguments->values[option])
        return cli__complain(CLI_EXIT_USAGE, "%s: --%s ID is missing", verb, name);
    return cli__number_optional(verb, arguments, option, name, ret_value);
}

enum cli_exit cli__pin_optional(const char *verb, const struct cli_arguments *arguments, size_t option,
                                struct ts_pin *pin) {
    const char *text = arguments->values[option];
    struct ts_pin read;
    if (!text)
        return CLI_EXIT_DONE;
    if (strlen(text) != 2 * sizeof read.b || !ts_hex_decode(ts_bytes_of_cstring(text), read.b) ||
        !ts_pin_is_set(&read))
        return cli__complain(CLI_EXIT_USAGE, "%s: --pin: '%s' is not a pin: 64 hexadecimal digits, not all 0",
                             verb, text);
    *pin = read;
    return CLI_EXIT_DONE;
}

enum cli_exit cli__op_id(const char *verb, const struct cli_arguments *arguments, size_t option,
                         struct ts_op_id *ret_op_id) {
    if (arguments->values[option])
        return cli__number_optional(verb, arguments, option, "op-id", &ret_op_id->v);
    uint8_t drawn[8];
    if (!ts_entropy_fill(drawn, sizeof drawn))
        return cli__complain(CLI_EXIT_INFRASTRUCTURE,
                             "%s: no random numbers from the system; give --op-id ID", verb);
    /* An op id is below 2^53, so that JSON readers that use doubles read it exactly. */
    ret_op_id->v = ts_le64_load(drawn) >> 11;
    return CLI_EXIT_DONE;
}

void cli__object_begin(struct cli_coord *coord) {
    ts_out_put_char(coord->out, '{');
    coord->members = 0;
}

void cli__object_end(struct cli_coord *coord) {
    ts_out_put_cstring(coord->out, "}\n");
}

void cli__member(struct cli_coord *coord, const char *name) {
    ts_out_put_json_name(coord->out, coord->members++, name);
}

void cli__member_number(struct cli_coord *coord, const char *name, uint64_t value) {
    cli__member(coord, name);
    ts_out_put_u64(coord->out, value);
}

void cli__member_text(struct cli_coord *coord, const char *name, const char *text) {
    cli__member(coord, name);
    ts_out_put_json(coord->out, ts_bytes_of_cstring(text));
}

void cli__member_bool(struct cli_coord *coord, const char *name, bool value) {
    cli__member(coord, name);
    ts_out_put_cstring(coord->out, value ? "true" : "false");
}

void cli__member_null(struct cli_coord *coord, const char *name) {
    cli__member(coord, name);
    ts_out_put_cstring(coord->out, "null");
}

void cli__member_key(struct cli_coord *coord, const char *name, struct ts_bytes bytes) {
    cli__member(coord, name);
    cli__put_key_json(coord->out, bytes);
}

void cli__say(struct cli_coord *coord, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ts_out_put_cstring(coord->out, text);
}

struct cli_key_shown cli__show_key(struct ts_bytes key) {
    struct cli_key_shown shown;
    if (cli__key_is_text(key)) {
        char text[80];
        snprintf(shown.text, sizeof shown.text, "'%s'", ts_text_escape(key, text, sizeof text));
        return shown;
    }
    char digits[65];
    *ts_hex_encode(ts_bytes_first(key, key.len < 32 ? key.len : 32), digits) = '\0';
    snprintf(shown.text, sizeof shown.text, "%s%s%s", key.len == 0 ? "none" : "0x", digits,
             key.len > 32 ? "..." : "");
    return shown;
}

struct cli_duration cli__show_ms(uint64_t ms) {
    struct cli_duration shown;
    if (ms < 1000)
        snprintf(shown.text, sizeof shown.text, "%llu ms", (unsigned long long)ms);
    else if (ms < 120000)
        snprintf(shown.text, sizeof shown.text, "%llu.%llu s", (unsigned long long)(ms / 1000),
                 (unsigned long long)(ms / 100 % 10));
    else if (ms < 7200000)
        snprintf(shown.text, sizeof shown.text, "%llu min", (unsigned long long)(ms / 60000));
    else
        snprintf(shown.text, sizeof shown.text, "%llu h", (unsigned long long)(ms / 3600000));
    return shown;
}

/* Returns the distance of a time from the stores' time, as " (in 29.9 s)"; empty if the first store does not
 * answer. */
static struct cli_duration show_distance(const struct cli_coord *coord, struct ts_logical_time time) {
    struct cli_duration shown = {0};
    struct ts_store *store = ts_cluster_store(coord->cluster, 0);
    struct ts_call call = {.kind = TS_CALL_NOW,
                           .deadline_ns = ts_clock_monotonic_ns() + ASK_TIME_MAX_MS * UINT64_C(1000000)};
    if (ts_store_run(store, &call) != TS_STORE_OK)
        return shown;
    if (time.ms >= call.time_ms)
        snprintf(shown.text, sizeof shown.text, " (in %.20s)", cli__show_ms(time.ms - call.time_ms).text);
    else
        snprintf(shown.text, sizeof shown.text, " (%.20s ago)", cli__show_ms(call.time_ms - time.ms).text);
    return shown;
}

struct cli_time cli__show_time(const struct cli_coord *coord, struct ts_logical_time time) {
    struct cli_time shown;
    snprintf(shown.text, sizeof shown.text, "%llu ms%s", (unsigned long long)time.ms,
             show_distance(coord, time).text);
    return shown;
}

struct cli_moment cli__show_moment(uint64_t ms) {
    struct cli_moment shown;
    const time_t seconds = (time_t)(ms / 1000);
    struct tm at;
    if (gmtime_r(&seconds, &at) == NULL)
        snprintf(shown.text, sizeof shown.text, "%llu ms", (unsigned long long)ms);
    else
        (void)strftime(shown.text, sizeof shown.text,
                       ms % 60000 == 0 ? "%Y-%m-%d %H:%M UTC" : "%Y-%m-%d %H:%M:%S UTC", &at);
    return shown;
}

void cli__put_outcome(struct cli_coord *coord, const struct ts_coord_outcome *outcome,
                      struct ts_op_id op_id) {
    const char *text = outcome->outcome == TS_OUTCOME_EXECUTED ? "executed" : "replayed";
    if (coord->json) {
        cli__member_text(coord, "outcome", text);
        cli__member_number(coord, "op_id", op_id.v);
        return;
    }
    cli__say(coord, "%s (op id %llu)", text, (unsigned long long)op_id.v);
}

static void put_field(struct cli_coord *coord, const struct ts_error_field *field) {
    char text[TS_REDACT_TEXT_SIZE];
    switch (field->kind) {
    case TS_FIELD_NUMBER:
    case TS_FIELD_SOME:
        cli__member_number(coord, field->name, field->number);
        return;
    case TS_FIELD_NAME:
    case TS_FIELD_TEXT:
    case TS_FIELD_VARIANT:
        cli__member_text(coord, field->name, field->text);
        return;
    case TS_FIELD_REDACTED:
        cli__member_text(coord, field->name, TS_REDACTED);
        return;
    case TS_FIELD_LEN:
    case TS_FIELD_SOME_LEN:
        cli__member_text(coord, field->name, ts_redact_len(field->number, text, sizeof text));
        return;
    case TS_FIELD_NONE:
        cli__member_null(coord, field->name);
        return;
    }
}

static enum cli_exit exit_of(enum ts_error_variant variant, const struct ts_coord_detail *detail) {
    if (variant == TS_VARIANT_REGISTER_SHARDS_FAILED || variant == TS_VARIANT_GET_RUN_FAILED)
        variant = detail->nested;
    if (variant != TS_VARIANT_BACKEND_ERROR)
        return CLI_EXIT_REFUSED;
    return detail->infra.kind == TS_INFRA_UNKNOWN ? CLI_EXIT_UNKNOWN : CLI_EXIT_INFRASTRUCTURE;
}

/* Returns the distance from the stores' time to the time at which a refusal allows a retry; empty if the
 * refusal names no time. */
static struct cli_duration show_wait(const struct cli_coord *coord, const struct ts_error_field *fields,
                                     size_t count) {
    static const char *const times[] = {"lease_deadline", "earliest_deadline", "retry_after"};
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < sizeof times / sizeof times[0]; j++)
            if (strcmp(fields[i].name, times[j]) == 0 &&
                (fields[i].kind == TS_FIELD_NUMBER || fields[i].kind == TS_FIELD_SOME))
                return show_distance(coord, (struct ts_logical_time){fields[i].number});
    return (struct cli_duration){0};
}

enum cli_exit cli__coord_refuse(struct cli_coord *coord, enum ts_error_variant variant,
                                const struct ts_coord_detail *detail) {
    struct ts_error_field fields[TS_ERROR_FIELDS_MAX];
    const size_t count = ts_error_fields(variant, detail, fields);
    if (coord->json) {
        cli__object_begin(coord);
        cli__member_text(coord, "error", ts_error_variant_name(variant));
        bool has_op_id = false;
        for (size_t i = 0; i < count; i++) {
            put_field(coord, &fields[i]);
            has_op_id |= strcmp(fields[i].name, "op_id") == 0;
        }
        if (ts_error_cause(variant, detail)[0] != '\0')
            cli__member_text(coord, "cause", ts_error_cause(variant, detail));
        if (!has_op_id)
            put_op_id(coord);
        cli__object_end(coord);
    }
    char text[1024];
    ts_error_display(variant, detail, text, sizeof text);
    return cli__complain(exit_of(variant, detail), "%s: %s: %s%s%s", coord->verb,
                         ts_error_variant_name(variant), text, show_wait(coord, fields, count).text,
                         show_op_id(coord).text);
}

enum cli_exit cli__complain_damaged(struct cli_coord *coord, uint64_t count) {
    return cli__complain(
        CLI_EXIT_INFRASTRUCTURE,
        "%s: %llu %s damaged and not included in the other counts; restore the store from a backup",
        coord->verb, (unsigned long long)count, count == 1 ? "record is" : "records are");
}
