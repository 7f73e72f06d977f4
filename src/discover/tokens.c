#include "tokens.h"

#include "os/private_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FILE_MAX = 1 << 20 };

static bool is_fit(const char *token) {
    size_t len = strlen(token);
    for (size_t i = 0; i < len; i++)
        if (token[i] <= ' ' || token[i] > '~')
            return false;
    return len > 0 && len <= DISCOVER_TOKEN_MAX;
}

static enum ts_discover_result keep(const char *token, const char *where,
                                    char ret_token[static DISCOVER_TOKEN_MAX + 1],
                                    struct ts_discover_error *ret_error) {
    if (!is_fit(token)) {
        (void)snprintf(ret_error->text, sizeof ret_error->text,
                       "%s: a token has 1 to 4096 printable ASCII characters without blanks", where);
        return TS_DISCOVER_WRONG;
    }
    memcpy(ret_token, token, strlen(token) + 1);
    return TS_DISCOVER_OK;
}

/* A line is HOST TOKEN, with blanks between them. Returns the token if the line is for this host, otherwise
 * NULL. */
static const char *token_of(const char *line, const char *host) {
    static const char blanks[] = " \t\r";
    const size_t len = strcspn(line, blanks);
    if (len != strlen(host) || strncasecmp(line, host, len) != 0)
        return NULL;
    return line + len + strspn(line + len, blanks);
}

/* Searches the file for the token of the host. The file may be a pipe, such as the shell's <(command). */
static enum ts_discover_result find_in_file(const char *path, const char *host,
                                            char ret_token[static DISCOVER_TOKEN_MAX + 1],
                                            struct ts_discover_error *ret_error) {
    static const struct ts_private_file_options options = {
        .max = FILE_MAX, .is_text = true, .allow_other = true};
    struct ts_private_file file;
    struct ts_private_error why;
    if (!ts_private_file_read(path, &options, &file, &why)) {
        (void)snprintf(ret_error->text, sizeof ret_error->text, "the file of --tokens %.200s", why.text);
        return TS_DISCOVER_WRONG;
    }
    const char *token = NULL;
    for (const char *line; token == NULL && (line = ts_private_file_line(&file)) != NULL;)
        token = token_of(line, host);
    char where[64];
    (void)snprintf(where, sizeof where, "the file of --tokens: line %u", file.line);
    const enum ts_discover_result result =
        token != NULL ? keep(token, where, ret_token, ret_error) : TS_DISCOVER_OK;
    ts_private_file_release(&file);
    return result;
}

enum ts_discover_result discover__token_find(const char *file, const struct discover_request *request,
                                             char ret_token[static DISCOVER_TOKEN_MAX + 1],
                                             struct ts_discover_error *ret_error) {
    ret_token[0] = '\0';
    if (file) {
        const enum ts_discover_result result = find_in_file(file, request->host, ret_token, ret_error);
        if (result != TS_DISCOVER_OK || ret_token[0] != '\0')
            return result;
    }
    const struct discover_forge *forge = request->forge;
    const bool is_own = forge->own_host && strcmp(request->host, forge->own_host) == 0;
    const char *token = is_own && forge->variable ? getenv(forge->variable) : NULL;
    return token && token[0] != '\0' ? keep(token, forge->variable, ret_token, ret_error) : TS_DISCOVER_OK;
}
