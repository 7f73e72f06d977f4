/*
 * turnstone route: prints which store holds an id, or whether a store owns the id.
 *
 * The command line is first turned into a plan (a router, and the kind of answer), so that nothing is printed
 * before all arguments are checked. Before the program waits for an id on standard input, it writes all
 * answers so far. So another program can wait for each answer.
 */
#include "complain.h"
#include "output.h"
#include "verbs.h"

#include "base/assert.h"
#include "base/number.h"
#include "os/in.h"
#include "os/out.h"
#include "turnstone/route.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUTE_STRATEGY, ROUTE_STORES, ROUTE_RANGES, ROUTE_OWN, ROUTE_JSON };

/* Longer than any id with a reasonable number of leading zeros. */
enum { TOKEN_MAX = 4096 };

struct plan {
    struct ts_router router;
    void *range_memory;
    bool asks_ownership;
    struct ts_store_id owner;
    bool json;
};

static void plan_release(struct plan *plan) {
    free(plan->range_memory);
}

/* Reads a 32-bit number that is at least `least`. `name` is the option or variable, for messages. */
static enum cli_exit read_u32(const char *name, const char *text, uint32_t least, uint32_t *ret_value) {
    uint32_t value;
    if (ts_u32_parse(ts_bytes_of_cstring(text), &value) != TS_NUMBER_OK || value < least)
        return cli__complain(CLI_EXIT_USAGE, "route: %s must be a number from %u to 4294967295; got '%s'",
                             name, least, cli__quote_text(text).text);
    *ret_value = value;
    return CLI_EXIT_DONE;
}

/* Reads the environment of --own env: the index of the store and the count of stores. */
static enum cli_exit read_environment(uint32_t *ret_index, uint32_t *ret_count) {
    const char *index = getenv("TURNSTONE_STORE_INDEX");
    const char *count = getenv("TURNSTONE_STORE_COUNT");
    if (!index || !count)
        return cli__complain(CLI_EXIT_USAGE, "route: --own env: %s%s%s not set",
                             index ? "" : "TURNSTONE_STORE_INDEX", index || count ? "" : " and ",
                             count   ? " is"
                             : index ? "TURNSTONE_STORE_COUNT is"
                                     : "TURNSTONE_STORE_COUNT are");
    enum cli_exit status = read_u32("TURNSTONE_STORE_INDEX", index, 0, ret_index);
    return status == CLI_EXIT_DONE ? read_u32("TURNSTONE_STORE_COUNT", count, 1, ret_count) : status;
}

static enum cli_exit plan_ranges(const char *list, struct plan *plan) {
    size_t length = strlen(list);
    size_t count = ts_router_list_count(list, length);
    size_t memory_size = ts_router_range_memory(count);
    struct ts_router_range *ranges = calloc(count ? count : 1, sizeof *ranges);
    plan->range_memory = malloc(memory_size);
    enum cli_exit status = CLI_EXIT_USAGE;
    char why[512];
    struct ts_router_list_error_detail list_error;
    struct ts_router_error_detail error;
    if (!ranges || !plan->range_memory) {
        status = cli__complain(CLI_EXIT_INFRASTRUCTURE, "route: out of memory for %zu ranges", count);
    } else if (ts_router_list_parse(list, length, ranges, count, &count, &list_error) != TS_ROUTER_LIST_OK) {
        ts_router_list_error_describe(&list_error, list, why, sizeof why);
        cli__complain(CLI_EXIT_USAGE, "route: --ranges: %s", why);
    } else if (ts_router_init_range(ranges, count, plan->range_memory, memory_size, &plan->router, &error) !=
               TS_ROUTER_OK) {
        ts_router_error_describe(&error, why, sizeof why);
        cli__complain(CLI_EXIT_USAGE, "route: --ranges: %s", why);
    } else {
        status = CLI_EXIT_DONE;
    }
    free(ranges);
    return status;
}

static enum cli_exit plan_hash(const struct cli_arguments *arguments, enum ts_router_strategy strategy,
                               struct plan *plan) {
    const char *stores = arguments->values[ROUTE_STORES];
    const char *own = arguments->values[ROUTE_OWN];
    bool from_environment = own && strcmp(own, "env") == 0;
    uint32_t count = 0;
    enum cli_exit status;
    if (from_environment && stores)
        return cli__complain(
            CLI_EXIT_USAGE,
            "route: --stores cannot be combined with --own env, which reads TURNSTONE_STORE_COUNT");
    if (from_environment) {
        status = read_environment(&plan->owner.v, &count);
    } else if (stores) {
        status = read_u32("--stores", stores, 1, &count);
    } else {
        return cli__complain(CLI_EXIT_USAGE, "route: the number of stores is missing; give --stores N");
    }
    if (status == CLI_EXIT_DONE) {
        enum ts_router_error error = ts_router_init_hash(strategy, count, &plan->router, NULL);
        ts_assert(error == TS_ROUTER_OK);
    }
    return status;
}

/* Sets the plan's router from --strategy and the options of that strategy. */
static enum cli_exit plan_router(const struct cli_arguments *arguments, struct plan *plan) {
    const char *name = arguments->values[ROUTE_STRATEGY];
    enum ts_router_strategy strategy = TS_ROUTER_STRATEGY_DEFAULT;
    if (name && !ts_router_strategy_from_name(name, &strategy))
        return cli__complain(CLI_EXIT_USAGE, "route: unknown strategy '%s'", cli__quote_text(name).text);

    bool is_hash = strategy != TS_ROUTER_STRATEGY_SINGLE && strategy != TS_ROUTER_STRATEGY_RANGE;
    const char *list = arguments->values[ROUTE_RANGES];
    const char *own = arguments->values[ROUTE_OWN];
    if (arguments->values[ROUTE_STORES] && !is_hash)
        return cli__complain(CLI_EXIT_USAGE,
                             "route: --stores works only with xxh64, fnv1a and jump, not to %s",
                             ts_router_strategy_name(strategy));
    if (list && strategy != TS_ROUTER_STRATEGY_RANGE)
        return cli__complain(CLI_EXIT_USAGE, "route: --ranges works only with --strategy range, not to %s",
                             ts_router_strategy_name(strategy));
    if (own && strcmp(own, "env") == 0 && !is_hash)
        return cli__complain(CLI_EXIT_USAGE,
                             "route: --own env works only with xxh64, fnv1a and jump, not to %s",
                             ts_router_strategy_name(strategy));

    switch (strategy) {
    case TS_ROUTER_STRATEGY_SINGLE:
        ts_router_init_single(&plan->router);
        return CLI_EXIT_DONE;
    case TS_ROUTER_STRATEGY_RANGE:
        if (!list)
            return cli__complain(CLI_EXIT_USAGE,
                                 "route: --strategy range needs --ranges, such as 7:0-1000,3:1000-max");
        return plan_ranges(list, plan);
    case TS_ROUTER_STRATEGY_XXH64:
    case TS_ROUTER_STRATEGY_FNV1A:
    case TS_ROUTER_STRATEGY_JUMP:
        return plan_hash(arguments, strategy, plan);
    }
    return cli__complain(CLI_EXIT_USAGE, "route: unknown strategy");
}

/* Sets the store to ask about, from --own INDEX. With --own env the store was set together with
 * the router. */
static enum cli_exit plan_owner(const struct cli_arguments *arguments, struct plan *plan) {
    const char *own = arguments->values[ROUTE_OWN];
    if (!own)
        return CLI_EXIT_DONE;
    plan->asks_ownership = true;
    const char *name = "TURNSTONE_STORE_INDEX";
    if (strcmp(own, "env") != 0) {
        name = "--own";
        enum cli_exit status = read_u32(name, own, 0, &plan->owner.v);
        if (status != CLI_EXIT_DONE)
            return status;
    }
    size_t count = ts_router_store_count(&plan->router);
    if (ts_router_strategy_of(&plan->router) != TS_ROUTER_STRATEGY_RANGE) {
        if (plan->owner.v < count)
            return CLI_EXIT_DONE;
        return cli__complain(CLI_EXIT_USAGE, "route: %s must be below the number of stores, %zu; got %u",
                             name, count, plan->owner.v);
    }
    for (size_t i = 0; i < count; i++)
        if (ts_router_store_at(&plan->router, i).v == plan->owner.v)
            return CLI_EXIT_DONE;
    return cli__complain(CLI_EXIT_USAGE, "route: %s %u is not a store of --ranges", name, plan->owner.v);
}

static const char *why_not_an_id(enum ts_number_error error) {
    return error == TS_NUMBER_OUT_OF_RANGE
               ? "does not fit into 64 bits: ids are -9223372036854775808 to 18446744073709551615"
               : "is not an id: ids are decimal numbers of 64 bits";
}

static void put_answer(const struct plan *plan, struct ts_bytes text, uint64_t id, struct ts_out *out) {
    if (plan->json) {
        /* JSON allows no leading zeros, so the id is formatted again: as a signed number if the user wrote a
         * sign. */
        ts_out_put_cstring(out, "{\"id\":");
        if (text.data[0] == '-')
            ts_out_put_i64(out, (int64_t)id);
        else
            ts_out_put_u64(out, id);
    } else {
        ts_out_put(out, text);
    }
    if (plan->asks_ownership) {
        bool owns = ts_router_owns(&plan->router, plan->owner, id);
        if (plan->json)
            ts_out_put_cstring(out, owns ? ",\"own\":true}" : ",\"own\":false}");
        else
            ts_out_put_cstring(out, owns ? " yes" : " no");
    } else {
        ts_out_put_cstring(out, plan->json ? ",\"store\":" : " ");
        ts_out_put_u64(out, ts_router_route(&plan->router, id).v);
        if (plan->json)
            ts_out_put_char(out, '}');
    }
    ts_out_put_char(out, '\n');
}

static void flush_answers(void *out) {
    (void)ts_out_flush(out);
}

static enum cli_exit answer_standard_input(const struct plan *plan, struct ts_out *out) {
    static struct ts_in in;
    ts_in_init(&in, STDIN_FILENO, TOKEN_MAX);
    ts_in_before_read(&in, flush_answers, out);
    for (;;) {
        struct ts_in_token token;
        switch (ts_in_next(&in, &token)) {
        case TS_IN_TOKEN:
            break;
        case TS_IN_END:
            return CLI_EXIT_DONE;
        case TS_IN_TOO_LONG:
            (void)ts_out_flush(out);
            return cli__complain(CLI_EXIT_USAGE,
                                 "route: standard input, line %llu: '%s' is too long to be an id",
                                 (unsigned long long)token.line, cli__quote(token.bytes).text);
        case TS_IN_READ_ERROR:
            (void)ts_out_flush(out);
            return cli__complain(CLI_EXIT_INFRASTRUCTURE, "route: cannot read standard input: %s",
                                 strerror(ts_in_error(&in)));
        }
        uint64_t id;
        enum ts_number_error error = ts_id_parse(token.bytes, &id);
        if (error != TS_NUMBER_OK) {
            (void)ts_out_flush(out);
            return cli__complain(CLI_EXIT_USAGE, "route: standard input, line %llu: '%s' %s",
                                 (unsigned long long)token.line, cli__quote(token.bytes).text,
                                 why_not_an_id(error));
        }
        put_answer(plan, token.bytes, id, out);
        if (ts_out_error(out))
            return CLI_EXIT_DONE; /* the caller reports the error */
    }
}

static enum cli_exit check_operands(const struct cli_arguments *arguments) {
    if (arguments->operand_count == 0)
        return cli__complain(CLI_EXIT_USAGE, "route: no ids given; '-' reads them from standard input");
    for (size_t i = 0; i < arguments->operand_count; i++) {
        const char *word = arguments->operands[i];
        uint64_t id;
        enum ts_number_error error = ts_id_parse(ts_bytes_of_cstring(word), &id);
        if (error != TS_NUMBER_OK && strcmp(word, "-") != 0)
            return cli__complain(CLI_EXIT_USAGE, "route: id '%s' %s", cli__quote_text(word).text,
                                 why_not_an_id(error));
    }
    return CLI_EXIT_DONE;
}

static enum cli_exit answer_all(const struct cli_arguments *arguments, const struct plan *plan) {
    static struct ts_out out;
    ts_out_init(&out, STDOUT_FILENO);
    enum cli_exit status = CLI_EXIT_DONE;
    for (size_t i = 0; i < arguments->operand_count && status == CLI_EXIT_DONE; i++) {
        struct ts_bytes text = ts_bytes_of_cstring(arguments->operands[i]);
        uint64_t id;
        if (ts_id_parse(text, &id) == TS_NUMBER_OK)
            put_answer(plan, text, id, &out);
        else
            status = answer_standard_input(plan, &out);
    }
    return cli__finish_out(&out, status);
}

static enum cli_exit run_route(const struct cli_arguments *arguments) {
    struct plan plan = {.json = arguments->values[ROUTE_JSON] != NULL};
    enum cli_exit status = plan_router(arguments, &plan);
    if (status == CLI_EXIT_DONE)
        status = plan_owner(arguments, &plan);
    if (status == CLI_EXIT_DONE)
        status = check_operands(arguments);
    if (status == CLI_EXIT_DONE)
        status = answer_all(arguments, &plan);
    plan_release(&plan);
    return status;
}

static const struct cli_option route_options[] = {
    [ROUTE_STRATEGY] = {.name = "strategy",
                        .argument = "NAME",
                        .choices = CLI_NUMBERED_CHOICES(TS_ROUTER_STRATEGIES),
                        .help = "how ids map to stores (default: xxh64)"},
    [ROUTE_STORES] = {.name = "stores",
                      .argument = "N",
                      .help = "the number of stores, for xxh64, fnv1a and jump"},
    [ROUTE_RANGES] =
        {.name = "ranges",
         .argument = "LIST",
         .help = "for the strategy range: STORE:START-END,…; END is excluded, but the end 'max' includes "
                 "the last id"},
    [ROUTE_OWN] = {.name = "own",
                   .argument = "INDEX",
                   .help = "print yes or no: whether this store owns the id; 'env' reads the store from "
                           "TURNSTONE_STORE_INDEX and the number of stores from TURNSTONE_STORE_COUNT"},
    [ROUTE_JSON] = {.name = "json", .help = "print one JSON object per line"},
};

static const struct cli_variable route_variables[] = {
    {"TURNSTONE_STORE_INDEX", "for --own env: the number of this store, from 0"},
    {"TURNSTONE_STORE_COUNT", "for --own env: the number of stores"},
};

static const struct cli_example route_examples[] = {
    {"turnstone route --stores 16 42 -1", "the stores that hold the ids 42 and -1"},
    {"turnstone route --strategy range --ranges 7:0-1000,3:1000-max 999 1000", "two ids, by ranges"},
    {"seq 1000000 | turnstone route --stores 4 --own 2 -", "which of a million ids store 2 owns"},
};

const struct cli_verb cli__verb_route = {
    .name = "route",
    .summary = "show which store holds an id",
    .operands = "ID…",
    .description =
        "Prints one line for each id: the id as given, and its store. Ids are 64-bit numbers, signed or "
        "unsigned (-1 and 18446744073709551615 are the same, the last id). The operand '-' reads ids from "
        "standard input, separated by white space.\n\n"
        "The same strategy gives the same answer in every "
        "process, on any machine, in any version. xxh64 spreads all ids evenly. jump also spreads them "
        "evenly, and moves only 1/(n+1) of the ids when a store is added to n stores. fnv1a is for "
        "compatibility: it reaches at most 65,536 stores, and spreads badly when ids share their low bits. "
        "range uses a list of ranges. single has only store 0.",
    .options = route_options,
    .option_count = sizeof route_options / sizeof route_options[0],
    .variables = route_variables,
    .variable_count = sizeof route_variables / sizeof route_variables[0],
    .examples = route_examples,
    .example_count = sizeof route_examples / sizeof route_examples[0],
    .run = run_route,
};
