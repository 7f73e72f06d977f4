/*
 * turnstone targets: shows the targets that a request names. Nothing is printed before the whole request is
 * checked.
 */
#include "complain.h"
#include "forge_option.h"
#include "output.h"
#include "target_request.h"
#include "verbs.h"

#include "base/hex.h"
#include "coord/core/ids.h"
#include "os/out_json.h"

#include <string.h>
#include <unistd.h>

enum { TARGETS_SELECT, TARGETS_TENANT, TARGETS_FORMAT, TARGETS_JSON, TARGETS_LIST, TARGETS_FORGE };

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
    ts_out_put_char(out, '{');
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        ts_out_put_json_name(out, i, members[i].name);
        ts_out_put_json(out, members[i].value);
    }
    ts_out_put_cstring(out, "}\n");
}

static void put_line(struct ts_out *out, const struct ts_target *target) {
    ts_out_put_cstring(out, target->url);
    ts_out_put_char(out, '\t');
    ts_out_put_cstring(out, target->selection);
    ts_out_put_char(out, '\n');
}

/* Prints an error for a path that a list cannot contain. Addresses that are not paths have no blanks. */
static enum cli_exit check_path(const char *path) {
    const size_t len = strlen(path);
    if (strpbrk(path, "\t\n") == NULL && (len == 0 || strchr(" \r", path[len - 1]) == NULL))
        return CLI_EXIT_DONE;
    return cli__complain(
        CLI_EXIT_USAGE,
        "targets: --list: the path '%s' has a tab, a line feed, or a blank at its end; a list cannot "
        "contain it, so name it on the command line",
        cli__quote_text(path).text);
}

static enum cli_exit print(struct cli_target_request *request, bool json, bool list) {
    static struct ts_out out;
    enum cli_exit status = CLI_EXIT_DONE;
    ts_target_list_settle(&request->list);
    for (size_t i = 0; list && status == CLI_EXIT_DONE && i < request->list.count; i++)
        status = check_path(request->list.items[i].url);
    if (status != CLI_EXIT_DONE)
        return status;
    ts_out_init(&out, STDOUT_FILENO);
    for (size_t i = 0; i < request->list.count; i++)
        if (list)
            put_line(&out, &request->list.items[i]);
        else
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
    if (arguments->values[TARGETS_JSON] && arguments->values[TARGETS_LIST])
        return cli__complain(CLI_EXIT_USAGE, "targets: --json and --list exclude each other");
    if (arguments->operand_count == 0)
        return cli__complain(
            CLI_EXIT_USAGE,
            "targets: nothing given; name addresses, a list, a folder, a forge's owner, or '-' for standard input");
    struct cli_target_request request = {.verb = "targets",
                                         .defaults = {.tenant = ts_bytes_of_cstring(tenant),
                                                      .selection = ts_bytes_of_cstring(selection),
                                                      .format = format}};
    enum cli_exit status = cli__forge_options_read("targets", arguments, TARGETS_FORGE, &request.forge);
    if (status != CLI_EXIT_DONE)
        return status;
    for (size_t i = 0; i < arguments->operand_count && status != CLI_EXIT_INFRASTRUCTURE; i++) {
        enum cli_exit one = cli__target_request_add(&request, arguments->operands[i], i + 1);
        status = one == CLI_EXIT_DONE ? status : one;
    }
    if (status == CLI_EXIT_DONE)
        status =
            print(&request, arguments->values[TARGETS_JSON] != NULL, arguments->values[TARGETS_LIST] != NULL);
    ts_target_list_release(&request.list);
    return status;
}

static const struct cli_option targets_options[] = {
    [TARGETS_SELECT] =
        {.name = "select",
         .argument = "WHAT",
         .help = "scan this part of each repository: default (the branch of HEAD), all, refs:NAME,… with "
                 "names or patterns, or commits:ID,… with their history. A selection in a list takes "
                 "precedence (default: default)"},
    [TARGETS_TENANT] = {.name = "tenant",
                        .argument = "NAME",
                        .help = "the tenant that the targets belong to (default: default)"},
    [TARGETS_FORMAT] = {.name = "object-format",
                        .argument = "FORMAT",
                        .choices = "sha1|sha256",
                        .help = "the object format of repositories on servers (default: sha1)"},
    [TARGETS_JSON] = {.name = "json", .help = "print one JSON object per line"},
    [TARGETS_LIST] =
        {.name = "list",
         .help =
             "print a list that 'run create --targets' and this verb read: each address in the form that git gets, "
             "a tab, and the selection"},
    CLI_FORGE_OPTIONS(TARGETS_FORGE),
};

static const struct cli_variable targets_variables[] = {CLI_FORGE_VARIABLES};

static const struct cli_example targets_examples[] = {
    {"turnstone targets git@github.com:a/b.git ssh://git@GitHub.com:22/a/b/", "two spellings of one target"},
    {"echo https://github.com/a/b | turnstone targets --select refs:main --json -", "a list, for a program"},
    {"turnstone targets --list --select all https://github.com/a/b", "a list to edit, and to submit later"},
};

const struct cli_verb cli__verb_targets = {
    .name = "targets",
    .summary = "show the fleet targets for a list of repositories",
    .operands = "ADDRESS|FILE|FOLDER|FORGE|-…",
    .description =
        "A target is one repository with one selection, for one tenant. Prints one line for each target: its id, "
        "its normalised address, and its selection. The same request gives the same targets in the same order; duplicates "
        "are dropped.\n\nA file, or '-' for standard input, has one address per line, with an optional "
        "selection after a tab. Empty lines and lines that begin with # are ignored. A folder means all "
        "repositories in it, except those inside another repository. An address is a path or a URL with https, "
        "http, ssh, git or file, or user@host:path. An address with a password or token is refused.\n\nA "
        "request to a forge means all repositories of an organisation, group, workspace or user, as the forge's "
        "API lists them: github://HOST/OWNER, gitlab://HOST/GROUP with its subgroups, gitea://HOST/OWNER (also "
        "Forgejo), bitbucket://bitbucket.org/WORKSPACE. Requests use HTTPS with a verified certificate and "
        "follow no links or redirects. If a forge asks for a pause of up to 60 seconds, the next request waits. "
        "A token is sent only to its own host.\n\nExit status: 0 done; 2 a wrong operand or option, or an owner that "
        "the forge does not know; 6 something cannot be read, or a forge failed.",
    .options = targets_options,
    .option_count = sizeof targets_options / sizeof targets_options[0],
    .variables = targets_variables,
    .variable_count = sizeof targets_variables / sizeof targets_variables[0],
    .examples = targets_examples,
    .example_count = sizeof targets_examples / sizeof targets_examples[0],
    .run = run_targets,
};
