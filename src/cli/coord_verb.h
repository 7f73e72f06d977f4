/*
 * Shared by the verbs on runs, shards and leases: their first options, opening the cluster, and printing
 * answers.
 *
 * With --json an answer is one line on standard output, also when an operation is refused:
 * {"error":"StaleFence","presented":3,"current":4,"op_id":17}. Without --json, a refusal is only a line on
 * standard error.
 */
#ifndef TS_CLI_COORD_VERB_H
#define TS_CLI_COORD_VERB_H

#include "cluster_option.h"
#include "metrics_option.h"
#include "verb.h"

#include "coord/driver/coord.h"
#include "os/out.h"

/* These options come first in the option table of every verb of coordination. */
enum { COORD_TENANT = CLUSTER_OPTIONS, COORD_NOW, COORD_METRICS, COORD_WATERFALL, COORD_OPTIONS };

#define CLI_COORD_OPTIONS                                                                                    \
    CLI_CLUSTER_OPTIONS,                                                                                     \
        [COORD_TENANT] = {.name = "tenant",                                                                  \
                          .argument = "NAME",                                                                \
                          .help = "the tenant, up to 32 bytes (default: 'default')"},                        \
        [COORD_NOW] = {.name = "now",                                                                        \
                       .argument = "MS",                                                                     \
                       .help =                                                                               \
                           "freeze the clock of RocksDB stores at MS, milliseconds since 1970, for "         \
                           "reproducible scripts; at or after the latest time in the store, and at most 24 " \
                           "hours from now"},                                                                \
        [COORD_METRICS] = CLI_METRICS_OPTION,                                                                \
        [COORD_WATERFALL] = {.name = "waterfall",                                                            \
                             .help = "print on standard error how long each phase of each transaction took"}

#define CLI_RUN_OPTION                                                                                       \
    { .name = "run", .argument = "ID", .help = "the run, a number" }
#define CLI_SHARD_OPTION                                                                                     \
    { .name = "shard", .argument = "ID", .help = "the shard, a number" }
#define CLI_OP_ID_OPTION                                                                                     \
    {                                                                                                        \
        .name = "op-id", .argument = "ID",                                                                   \
        .help = "the operation's id, a number; an operation that is repeated with the same id is done "      \
                "only once (default: a random number, which is printed)"                                     \
    }

struct cli_coord {
    const char *verb;
    bool json;
    bool is_clock_frozen;
    bool waterfall;
    const char *metrics;           /* destination of the metrics, or NULL */
    cli_metrics_put *more_metrics; /* writes the metrics of the verb; or NULL */
    struct ts_txn_config config;
    bool has_tenant;              /* an option names the tenant; false: the default tenant */
    const struct ts_op_id *op_id; /* id of the operation, or NULL */
    struct ts_tenant_id tenant;
    struct ts_cluster *cluster;
    struct ts_coordinator *coordinator;
    struct ts_coord *coord;
    struct ts_out *out; /* the standard output of the verb */
    size_t members;     /* number of members of the current JSON object so far */
};

/*
 * Opens the cluster and its coordination, or prints why not. After CLI_EXIT_DONE the caller must call
 * cli__coord_close. Keeps the pointer op_id, which may be NULL: every refusal prints the op id, so that the
 * user can repeat the call.
 */
enum cli_exit cli__coord_open(const char *verb, const struct cli_arguments *arguments,
                              const struct ts_op_id *op_id, struct cli_coord *ret_coord);

/* Writes the metrics and closes the cluster. Returns `status`, or another status if standard output fails. */
enum cli_exit cli__coord_close(struct cli_coord *coord, enum cli_exit status);

/* Each function reads a number, and prints an error when the number is wrong. If the option is absent,
 * cli__number_required prints an error, cli__number_optional keeps *value, and cli__op_id draws a
 * random id. */
enum cli_exit cli__number_required(const char *verb, const struct cli_arguments *arguments, size_t option,
                                   const char *name, uint64_t *ret_value);
enum cli_exit cli__number_optional(const char *verb, const struct cli_arguments *arguments, size_t option,
                                   const char *name, uint64_t *value);
enum cli_exit cli__op_id(const char *verb, const struct cli_arguments *arguments, size_t option,
                         struct ts_op_id *ret_op_id);

/* Reads a pin: 64 hexadecimal digits. Without the option, *pin is unchanged. */
enum cli_exit cli__pin_optional(const char *verb, const struct cli_arguments *arguments, size_t option,
                                struct ts_pin *pin);

/* Prints a refusal and returns the exit status: 5 (outcome unknown) or 6 for an error of a store, otherwise
 * 3. */
enum cli_exit cli__coord_refuse(struct cli_coord *coord, enum ts_error_variant variant,
                                const struct ts_coord_detail *detail);

/* Prints the number of damaged records that the printed answer omits, and returns status 6. */
enum cli_exit cli__complain_damaged(struct cli_coord *coord, uint64_t count);

/* These functions write an answer as a JSON object, one member after the other. */
void cli__object_begin(struct cli_coord *coord);
void cli__object_end(struct cli_coord *coord); /* also writes a line feed */
void cli__member(struct cli_coord *coord, const char *name);
void cli__member_number(struct cli_coord *coord, const char *name, uint64_t value);
void cli__member_text(struct cli_coord *coord, const char *name, const char *text);
void cli__member_bool(struct cli_coord *coord, const char *name, bool value);
void cli__member_null(struct cli_coord *coord, const char *name);
/* Writes the bytes as text, or as 0x and digits. */
void cli__member_key(struct cli_coord *coord, const char *name, struct ts_bytes bytes);

/* Like printf, to standard output. */
__attribute__((format(printf, 2, 3))) void cli__say(struct cli_coord *coord, const char *format, ...);

/* A key for people: quoted text or 0x and digits, cut if it is long. */
struct cli_key_shown {
    char text[96];
};
struct cli_key_shown cli__show_key(struct ts_bytes key);

/* Writes "executed" or "replayed" and the op id, as JSON members or as the beginning of a line. */
void cli__put_outcome(struct cli_coord *coord, const struct ts_coord_outcome *outcome, struct ts_op_id op_id);

/* Milliseconds for people: "12.3 s". */
struct cli_duration {
    char text[32];
};
struct cli_duration cli__show_ms(uint64_t ms);

/* A time and its distance from the stores' time: "1700000030000 ms (in 29.9 s)". */
struct cli_time {
    char text[80];
};
struct cli_time cli__show_time(const struct cli_coord *coord, struct ts_logical_time time);

/* A time for people: "2026-11-19 02:30 UTC", with seconds if they are not 0. */
struct cli_moment {
    char text[40];
};
struct cli_moment cli__show_moment(uint64_t ms);

#endif
