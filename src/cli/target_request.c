#include "target_request.h"

#include "complain.h"
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Prints the error, if there is one, and returns the exit status. `where` names the operand or the line. The
 * address is not printed, because a refused address may contain a password. */
static enum cli_exit exit_of(const struct cli_target_request *request, enum ts_target_result result,
                             const char *where, const struct ts_target_error *error) {
    switch (result) {
    case TS_TARGET_OK:
        return CLI_EXIT_DONE;
    case TS_TARGET_WRONG:
        return cli__complain(CLI_EXIT_USAGE, "%s: %s: %s", request->verb, where, error->text);
    case TS_TARGET_IO:
    case TS_TARGET_NO_MEMORY:
        break;
    }
    return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: %s: %s", request->verb, where, error->text);
}

static bool is_blank(uint8_t byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static struct ts_bytes trim(struct ts_bytes line) {
    while (line.len > 0 && is_blank(line.data[line.len - 1]))
        line.len--;
    while (line.len > 0 && is_blank(line.data[0]))
        line = ts_bytes_skip(line, 1);
    return line;
}

/* Adds the target of a line: ADDRESS, or ADDRESS, a tab and SELECTION. Blanks around the line are ignored,
 * and so are empty lines and lines that begin with #. */
static enum cli_exit add_line(struct cli_target_request *request, const char *where, struct ts_bytes line) {
    line = trim(line);
    if (line.len == 0 || line.data[0] == '#')
        return CLI_EXIT_DONE;
    const uint8_t *tab = memchr(line.data, '\t', line.len);
    struct ts_bytes address = tab == NULL ? line : ts_bytes_first(line, (size_t)(tab - line.data));
    struct ts_bytes selection = ts_bytes_skip(line, tab == NULL ? line.len : address.len + 1);
    struct ts_target_error error;
    return exit_of(request,
                   ts_target_list_add(&request->list, &request->defaults, address, selection, &error), where,
                   &error);
}

static enum cli_exit add_stream(struct cli_target_request *request, const char *name, FILE *stream) {
    char *line = NULL;
    size_t size = 0;
    enum cli_exit status = CLI_EXIT_DONE;
    unsigned long long number = 0;
    for (ssize_t len; (len = getline(&line, &size, stream)) >= 0;) {
        char where[160];
        (void)snprintf(where, sizeof where, "%s, line %llu", name, ++number);
        struct ts_bytes text = ts_bytes_of(line, (size_t)len);
        if (number == 1 && ts_bytes_starts_with(text, TS_BYTES("\xef\xbb\xbf")))
            text = ts_bytes_skip(text, 3); /* some editors begin UTF-8 files with this mark */
        enum cli_exit one = add_line(request, where, text);
        status = one == CLI_EXIT_DONE ? status : one;
        if (one == CLI_EXIT_INFRASTRUCTURE)
            break;
    }
    if (ferror(stream))
        status = cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: %s cannot be read: %s", request->verb, name,
                               strerror(errno));
    free(line);
    return status;
}

static enum cli_exit add_file(struct cli_target_request *request, const char *path) {
    char name[128];
    (void)snprintf(name, sizeof name, "'%s'", cli__quote_text(path).text);
    FILE *stream = fopen(path, "re");
    if (stream == NULL)
        return cli__complain(CLI_EXIT_USAGE, "%s: %s cannot be read: %s", request->verb, name,
                             strerror(errno));
    enum cli_exit status = add_stream(request, name, stream);
    (void)fclose(stream);
    return status;
}

/* Adds the repositories of a folder, or of an owner at a forge. Prints an error if there are none. */
static enum cli_exit add_many(struct cli_target_request *request, const char *operand, const char *where,
                              bool is_forge) {
    struct ts_target_error error;
    size_t before = request->list.count;
    enum ts_target_result result =
        is_forge
            ? ts_target_list_add_forge(&request->list, &request->defaults, &request->forge, operand, &error)
            : ts_target_list_add_folder(&request->list, &request->defaults, operand, &error);
    if (result != TS_TARGET_OK || request->list.count > before)
        return exit_of(request, result, where, &error);
    if (is_forge)
        return cli__complain(
            CLI_EXIT_USAGE, "%s: %s: the forge lists no repository of this owner%s", request->verb, where,
            request->forge.no_archived || request->forge.no_forks ? " except archived ones or forks"
                                                                  : "; check what the token may read");
    return cli__complain(
        CLI_EXIT_USAGE,
        "%s: no repository in '%s'; give a repository, or a folder that contains repositories", request->verb,
        cli__quote_text(operand).text);
}

enum cli_exit cli__target_request_add(struct cli_target_request *request, const char *operand,
                                      size_t number) {
    char where[32];
    (void)snprintf(where, sizeof where, "operand %zu", number);
    if (strcmp(operand, "-") == 0)
        return add_stream(request, "standard input", stdin);
    if (ts_discover_is_request(operand))
        return add_many(request, operand, where, true);
    struct stat status;
    bool exists = stat(operand, &status) == 0;
    if (exists && S_ISREG(status.st_mode))
        return add_file(request, operand);
    if (exists && S_ISDIR(status.st_mode))
        return add_many(request, operand, where, false);
    struct ts_target_error error;
    return exit_of(request,
                   ts_target_list_add(&request->list, &request->defaults, ts_bytes_of_cstring(operand),
                                      TS_BYTES(""), &error),
                   where, &error);
}
