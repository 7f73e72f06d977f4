#include "mirror_options.h"

#include "complain.h"
#include "options.h"
#include "scan_options.h"

#include "runtime/mirror/access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum cli_exit refuse(const char *verb, const char *name, const char *value, const char *wanted) {
    return cli__complain(CLI_EXIT_USAGE, "%s: --%s must be %s; got '%s'", verb, name, wanted,
                         cli__quote_text(value).text);
}

/* Sets the folder of the mirrors, as an absolute path, because git is not started in the current folder. */
static enum cli_exit read_root(const char *verb, const char *given, struct cli_mirrors *mirrors) {
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int len = -1;
    if (given != NULL && given[0] == '/') {
        len = snprintf(mirrors->root, sizeof mirrors->root, "%s", given);
    } else if (given != NULL) {
        char *current = realpath(".", NULL);
        if (current != NULL && given[0] != '\0')
            len = snprintf(mirrors->root, sizeof mirrors->root, "%s/%s", current, given);
        free(current);
    } else if (cache != NULL && cache[0] == '/') {
        len = snprintf(mirrors->root, sizeof mirrors->root, "%s/turnstone/mirrors", cache);
    } else if (home != NULL && home[0] == '/') {
        len = snprintf(mirrors->root, sizeof mirrors->root, "%s/.cache/turnstone/mirrors", home);
    } else {
        return cli__complain(CLI_EXIT_USAGE, "%s: there is no folder for mirrors: name one with --mirrors",
                             verb);
    }
    mirrors->options.root = mirrors->root;
    return len > 0 && (size_t)len < sizeof mirrors->root
               ? CLI_EXIT_DONE
               : refuse(verb, "mirrors", given, "a path of a folder");
}

static enum cli_exit read_credentials(const char *verb, const char *given, struct cli_mirrors *mirrors) {
    struct ts_mirror_access access = {.count = 0};
    struct ts_private_error error = {{0}};
    if (given == NULL)
        return CLI_EXIT_DONE;
    if (!ts_mirror_access_load(given, &access, &error))
        return cli__complain(CLI_EXIT_USAGE, "%s: --credentials: '%s' %s", verb, cli__quote_text(given).text,
                             error.text);
    ts_mirror_access_release(&access);
    mirrors->options.credentials = given;
    return CLI_EXIT_DONE;
}

/* Reads the list of protocols, and replaces its commas by colons, as git expects them. */
static enum cli_exit read_protocols(const char *verb, const char *given, struct cli_mirrors *mirrors) {
    static const char *const known[] = {"https", "ssh", "http", "git"};
    const char *text = given != NULL ? given : "https,ssh";
    if (strlen(text) >= sizeof mirrors->protocols)
        return refuse(verb, "protocols", text,
                      "one or more of https, ssh, http and git, separated by commas");
    for (const char *at = text;; at++) {
        const size_t len = strcspn(at, ",");
        bool is_known = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            is_known = is_known || (strlen(known[i]) == len && memcmp(known[i], at, len) == 0);
        if (!is_known)
            return refuse(verb, "protocols", text,
                          "one or more of https, ssh, http and git, separated by commas");
        at += len;
        if (*at == '\0')
            break;
    }
    for (size_t i = 0; i <= strlen(text); i++)
        mirrors->protocols[i] = text[i];
    for (char *comma; (comma = strchr(mirrors->protocols, ',')) != NULL;)
        *comma = ':';
    mirrors->options.protocols = mirrors->protocols;
    return CLI_EXIT_DONE;
}

static enum cli_exit read_size(const char *verb, const char *name, const char *given, uint64_t *bytes) {
    if (given == NULL || (cli__size_parse(given, bytes) && *bytes > 0))
        return CLI_EXIT_DONE;
    return refuse(verb, name, given, "a size, such as 20G");
}

static enum cli_exit read_time(const char *verb, const char *name, const char *given, uint64_t *seconds) {
    uint64_t ms = 0;
    if (given == NULL)
        return CLI_EXIT_DONE;
    if (!cli__duration_parse(given, &ms) || ms % 1000 != 0)
        return refuse(verb, name, given, "a time in whole seconds, such as 90s, 15m or 2h");
    *seconds = ms / 1000;
    return CLI_EXIT_DONE;
}

enum cli_exit cli__mirrors_read(const char *verb, const struct cli_arguments *arguments, size_t base,
                                struct cli_mirrors *ret_mirrors) {
    const char *const *given = arguments->values + base;
    struct ts_mirrors_options *options = &ret_mirrors->options;
    *options = (struct ts_mirrors_options){.quota_bytes = TS_MIRROR_QUOTA_DEFAULT,
                                           .mirror_bytes = TS_MIRROR_MAX_DEFAULT,
                                           .timeout_s = TS_MIRROR_TIMEOUT_DEFAULT,
                                           .stall_s = TS_MIRROR_STALL_DEFAULT,
                                           .memory_bytes = TS_MIRROR_MEMORY_DEFAULT};
    enum cli_exit status = read_root(verb, given[MIRROR_OPTION_ROOT], ret_mirrors);
    if (status == CLI_EXIT_DONE)
        status = read_size(verb, "mirror-quota", given[MIRROR_OPTION_QUOTA], &options->quota_bytes);
    if (status == CLI_EXIT_DONE)
        status = read_size(verb, "mirror-max", given[MIRROR_OPTION_MAX], &options->mirror_bytes);
    if (status == CLI_EXIT_DONE)
        status = read_credentials(verb, given[MIRROR_OPTION_CREDENTIALS], ret_mirrors);
    if (status == CLI_EXIT_DONE)
        status = read_protocols(verb, given[MIRROR_OPTION_PROTOCOLS], ret_mirrors);
    if (status == CLI_EXIT_DONE)
        status = read_time(verb, "fetch-timeout", given[MIRROR_OPTION_TIMEOUT], &options->timeout_s);
    if (status == CLI_EXIT_DONE)
        status = read_time(verb, "fetch-stall", given[MIRROR_OPTION_STALL], &options->stall_s);
    if (status == CLI_EXIT_DONE)
        status = read_size(verb, "fetch-memory", given[MIRROR_OPTION_MEMORY], &options->memory_bytes);
    return status;
}
