#include "tokens.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static enum ts_discover_result refuse(struct ts_discover_error *ret_error, const char *text,
                                      const char *why) {
    snprintf(ret_error->text, sizeof ret_error->text, "%s%s", text, why);
    return TS_DISCOVER_WRONG;
}

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
    if (!is_fit(token))
        return refuse(ret_error, where, ": a token has 1 to 4096 printable ASCII characters without blanks");
    memcpy(ret_token, token, strlen(token) + 1);
    return TS_DISCOVER_OK;
}

/* HOST TOKEN, with blanks between them. Returns the token if the line is the host's, otherwise NULL. */
static char *token_of(char *line, const char *host) {
    static const char blanks[] = " \t\r\n";
    char *name = line + strspn(line, blanks);
    size_t len = strcspn(name, blanks);
    if (name[0] == '#' || len != strlen(host) || strncasecmp(name, host, len) != 0)
        return NULL;
    char *token = name + len + strspn(name + len, blanks);
    size_t end = strlen(token);
    while (end > 0 && strchr(blanks, token[end - 1]))
        token[--end] = '\0';
    return token;
}

static enum ts_discover_result read_file(FILE *stream, const char *host,
                                         char ret_token[static DISCOVER_TOKEN_MAX + 1],
                                         struct ts_discover_error *ret_error) {
    struct stat status;
    if (fstat(fileno(stream), &status) == 0 && S_ISREG(status.st_mode) &&
        (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return refuse(ret_error, "others can read the file of --tokens; use 'chmod 600' on it", "");
    char *line = NULL;
    size_t size = 0;
    enum ts_discover_result result = TS_DISCOVER_OK;
    while (result == TS_DISCOVER_OK && ret_token[0] == '\0' && getline(&line, &size, stream) >= 0) {
        const char *token = token_of(line, host);
        if (token)
            result = keep(token, "the file of --tokens", ret_token, ret_error);
        explicit_bzero(line, size);
    }
    if (ferror(stream))
        result = refuse(ret_error, "the file of --tokens cannot be read: ", strerror(errno));
    free(line);
    return result;
}

enum ts_discover_result discover__token_find(const char *file, const struct discover_request *request,
                                             char ret_token[static DISCOVER_TOKEN_MAX + 1],
                                             struct ts_discover_error *ret_error) {
    ret_token[0] = '\0';
    if (file) {
        FILE *stream = fopen(file, "re");
        if (!stream)
            return refuse(ret_error, "the file of --tokens cannot be read: ", strerror(errno));
        enum ts_discover_result result = read_file(stream, request->host, ret_token, ret_error);
        (void)fclose(stream);
        if (result != TS_DISCOVER_OK || ret_token[0] != '\0')
            return result;
    }
    const struct discover_forge *forge = request->forge;
    const bool is_own = forge->own_host && strcmp(request->host, forge->own_host) == 0;
    const char *token = is_own && forge->variable ? getenv(forge->variable) : NULL;
    return token && token[0] != '\0' ? keep(token, forge->variable, ret_token, ret_error) : TS_DISCOVER_OK;
}
