/*
 * turnstone targets: shows the targets that a request names. Nothing is printed before all of it is checked.
 */
#include "complain.h"
#include "output.h"
#include "verbs.h"

#include "base/hex.h"
#include "coord/core/ids.h"
#include "os/out_json.h"
#include "runtime/driver/target_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TARGETS_SELECT, TARGETS_TENANT, TARGETS_FORMAT, TARGETS_JSON };

struct request {
    struct ts_target_defaults defaults;
    struct ts_target_list list;
};

/* `where` names the operand or the line. Addresses are not printed: one that is refused may hold a password. */
static enum cli_exit exit_of(enum ts_target_result result, const char *where,
                             const struct ts_target_error *error) {
    switch (result) {
    case TS_TARGET_OK:
        return CLI_EXIT_DONE;
    case TS_TARGET_WRONG:
        return cli__complain(CLI_EXIT_USAGE, "targets: %s: %s", where, error->text);
    case TS_TARGET_IO:
    case TS_TARGET_NO_MEMORY:
        break;
    }
    return cli__complain(CLI_EXIT_INFRASTRUCTURE, "targets: %s: %s", where, error->text);
}

/* ADDRESS, or ADDRESS, a tab and SELECTION. Empty lines and those that begin with # are ignored. */
static enum cli_exit add_line(struct request *request, const char *where, struct ts_bytes line) {
    while (line.len > 0 && (line.data[line.len - 1] == '\n' || line.data[line.len - 1] == '\r'))
        line.len--;
    if (line.len == 0 || line.data[0] == '#')
        return CLI_EXIT_DONE;
    const uint8_t *tab = memchr(line.data, '\t', line.len);
    struct ts_bytes address = tab == NULL ? line : ts_bytes_first(line, (size_t)(tab - line.data));
    struct ts_bytes selection = ts_bytes_skip(line, tab == NULL ? line.len : address.len + 1);
    struct ts_target_error error;
    return exit_of(ts_target_list_add(&request->list, &request->defaults, address, selection, &error), where,
                   &error);
}

static enum cli_exit add_stream(struct request *request, const char *name, FILE *stream) {
    char *line = NULL;
    size_t size = 0;
    enum cli_exit status = CLI_EXIT_DONE;
    unsigned long long number = 0;
    for (ssize_t len; (len = getline(&line, &size, stream)) >= 0;) {
        char where[160];
        (void)snprintf(where, sizeof where, "%s, line %llu", name, ++number);
        enum cli_exit one = add_line(request, where, ts_bytes_of(line, (size_t)len));
        status = one == CLI_EXIT_DONE ? status : one;
        if (one == CLI_EXIT_INFRASTRUCTURE)
            break;
    }
    if (ferror(stream))
        status =
            cli__complain(CLI_EXIT_INFRASTRUCTURE, "targets: %s cannot be read: %s", name, strerror(errno));
    free(line);
    return status;
}

static enum cli_exit add_file(struct request *request, const char *path) {
    char name[128];
    (void)snprintf(name, sizeof name, "'%s'", cli__quote_text(path).text);
    FILE *stream = fopen(path, "re");
    if (stream == NULL)
        return cli__complain(CLI_EXIT_USAGE, "targets: %s cannot be read: %s", name, strerror(errno));
    enum cli_exit status = add_stream(request, name, stream);
    (void)fclose(stream);
    return status;
}

/* A folder has repositories, a file has a list, and anything else is an address. */
static enum cli_exit add_operand(struct request *request, const char *operand, size_t number) {
    if (strcmp(operand, "-") == 0)
        return add_stream(request, "standard input", stdin);
    struct stat status;
    bool exists = stat(operand, &status) == 0;
    if (exists && S_ISREG(status.st_mode))
        return add_file(request, operand);
    char where[32];
    (void)snprintf(where, sizeof where, "operand %zu", number);
    struct ts_target_error error;
    if (!exists || !S_ISDIR(status.st_mode))
        return exit_of(ts_target_list_add(&request->list, &request->defaults, ts_bytes_of_cstring(operand),
                                          TS_BYTES(""), &error),
                       where, &error);
    size_t before = request->list.count;
    enum cli_exit result = exit_of(
        ts_target_list_add_folder(&request->list, &request->defaults, operand, &error), where, &error);
    if (result == CLI_EXIT_DONE && request->list.count == before)
        return cli__complain(CLI_EXIT_USAGE,
                             "targets: no repository in '%s'; give a repository, or a folder that has some",
                             cli__quote_text(operand).text);
    return result;
}

static void put_target(struct ts_out *out, const struct ts_target *target, bool json) {
    char id[2 * TS_TARGET_ID_LEN];
    (void)ts_hex_encode(ts_bytes_of(target->id.bytes, sizeof target->id.bytes), id);
    if (!json) {
        ts_out_put(out, ts_bytes_of(id, sizeof id));
        ts_out_put_cstring(out, "  ");
        cli__put_escaped(out, ts_bytes_of_cstring(target->address));
        ts_out_put_cstring(out, "  ");
        cli__put_escaped(out, ts_bytes_of_cstring(target->selection));
        ts_out_put_char(out, '\n');
        return;
    }
    const struct {
        const char *name;
        struct ts_bytes value;
    } members[] = {{"target", ts_bytes_of(id, sizeof id)},
                   {"address", ts_bytes_of_cstring(target->address)},
                   {"url", ts_bytes_of_cstring(target->url)},
                   {"selection", ts_bytes_of_cstring(target->selection)},
                   {"object_format", ts_bytes_of_cstring(target->format)}};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        ts_out_put_cstring(out, i == 0 ? "{\"" : ",\"");
        ts_out_put_cstring(out, members[i].name);
        ts_out_put_cstring(out, "\":");
        ts_out_put_json(out, members[i].value);
    }
    ts_out_put_cstring(out, "}\n");
}

static enum cli_exit print(struct request *request, bool json) {
    static struct ts_out out;
    ts_target_list_settle(&request->list);
    ts_out_init(&out, STDOUT_FILENO);
    for (size_t i = 0; i < request->list.count; i++)
        put_target(&out, &request->list.items[i], json);
    return cli__finish_out(&out, CLI_EXIT_DONE);
}

static enum cli_exit run_targets(const struct cli_arguments *arguments) {
    const char *tenant = arguments->values[TARGETS_TENANT] ? arguments->values[TARGETS_TENANT] : "default";
    const char *selection = arguments->values[TARGETS_SELECT] ? arguments->values[TARGETS_SELECT] : "default";
    const char *format = arguments->values[TARGETS_FORMAT] ? arguments->values[TARGETS_FORMAT] : "sha1";
    struct ts_tenant_id id;
    if (!ts_tenant_id_from_text(ts_bytes_of_cstring(tenant), &id))
        return cli__complain(CLI_EXIT_USAGE, "targets: --tenant must be a name of 1 to 32 bytes; got '%s'",
                             cli__quote_text(tenant).text);
    if (arguments->operand_count == 0)
        return cli__complain(
            CLI_EXIT_USAGE,
            "targets: nothing given; name addresses, a list, a folder, or '-' for standard input");
    struct request request = {.defaults = {.tenant = ts_bytes_of_cstring(tenant),
                                           .selection = ts_bytes_of_cstring(selection),
                                           .format = format}};
    enum cli_exit status = CLI_EXIT_DONE;
    for (size_t i = 0; i < arguments->operand_count && status != CLI_EXIT_INFRASTRUCTURE; i++) {
        enum cli_exit one = add_operand(&request, arguments->operands[i], i + 1);
        status = one == CLI_EXIT_DONE ? status : one;
    }
    if (status == CLI_EXIT_DONE)
        status = print(&request, arguments->values[TARGETS_JSON] != NULL);
    ts_target_list_release(&request.list);
    return status;
}

static const struct cli_option targets_options[] = {
    [TARGETS_SELECT] =
        {.name = "select",
         .argument = "WHAT",
         .help = "which part of each repository, where a list has no selection of its own: default "
                 "(the branch of HEAD), all, refs:NAME,… with names or patterns, or commits:ID,… "
                 "and what they reach (default: default)"},
    [TARGETS_TENANT] = {.name = "tenant",
                        .argument = "NAME",
                        .help = "whose targets these are (default: default)"},
    [TARGETS_FORMAT] = {.name = "object-format",
                        .argument = "FORMAT",
                        .choices = "sha1|sha256",
                        .help = "the object format of repositories on servers (default: sha1)"},
    [TARGETS_JSON] = {.name = "json", .help = "print one JSON object per line"},
};

static const struct cli_example targets_examples[] = {
    {"turnstone targets git@github.com:a/b.git ssh://git@GitHub.com:22/a/b/", "two spellings of one target"},
    {"echo https://github.com/a/b | turnstone targets --select refs:main --json -", "a list, for a program"},
};

const struct cli_verb cli__verb_targets = {
    .name = "targets",
    .summary = "show which targets a fleet makes of repositories",
    .operands = "ADDRESS|FILE|FOLDER|-…",
    .description =
        "A target is one repository with one selection, for one tenant. Each line has its id, its address in "
        "one spelling, and its selection. The same request gives the same targets in the same order; "
        "duplicates are dropped.\n\nA file, or '-' for standard input, has one address on a line, and, after a "
        "tab, a selection. Empty lines and lines that begin with # are ignored. A folder stands for all repositories in it. "
        "An address is a path or a URL with https, http, ssh, git or file, or user@host:path. An address with "
        "a password or token is refused.",
    .options = targets_options,
    .option_count = sizeof targets_options / sizeof targets_options[0],
    .examples = targets_examples,
    .example_count = sizeof targets_examples / sizeof targets_examples[0],
    .run = run_targets,
};
