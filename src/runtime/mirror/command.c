#include "command.h"
#include "os/unnamed_file.h"

#include "classify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PASSWORD_MAX = 64 << 10 };

struct mirror__address mirror__address_split(struct ts_bytes address) {
    struct mirror__address split = {.scheme = {.len = 0}};
    const uint8_t *colon = memmem(address.data, address.len, "://", 3);
    if (colon == NULL)
        return split;
    split.scheme = ts_bytes_first(address, (size_t)(colon - address.data));
    struct ts_bytes rest = ts_bytes_skip(address, split.scheme.len + 3);
    const uint8_t *slash = memchr(rest.data, '/', rest.len);
    rest = ts_bytes_first(rest, slash == NULL ? rest.len : (size_t)(slash - rest.data));
    const uint8_t *at = memchr(rest.data, '@', rest.len);
    split.host = at == NULL ? rest : ts_bytes_skip(rest, (size_t)(at - rest.data) + 1);
    const uint8_t *end = memrchr(split.host.data, ':', split.host.len);
    const bool has_port =
        end != NULL && memchr(end, ']', (size_t)(split.host.data + split.host.len - end)) == NULL;
    split.name = has_port ? ts_bytes_first(split.host, (size_t)(end - split.host.data)) : split.host;
    return split;
}

/* ---- words and variables ---- */

__attribute__((format(printf, 2, 3))) static const char *text(struct mirror__command *command,
                                                              const char *format, ...) {
    va_list arguments;
    char *made = NULL;
    va_start(arguments, format);
    const int len = vasprintf(&made, format, arguments);
    va_end(arguments);
    const char *kept = len < 0 ? NULL : ts_arena_copy(&command->arena, ts_bytes_of(made, (size_t)len));
    if (len >= 0) {
        explicit_bzero(made, (size_t)len);
        free(made);
    }
    command->no_memory = command->no_memory || kept == NULL;
    return kept;
}

void mirror__command_word(struct mirror__command *command, const char *word) {
    ts_assert(command->word_count + 1 < MIRROR__WORDS_MAX);
    command->words[command->word_count++] = word;
    command->words[command->word_count] = NULL;
}

static void variable(struct mirror__command *command, const char *name_and_value) {
    ts_assert(command->variable_count + 1 < MIRROR__VARIABLES_MAX);
    command->variables[command->variable_count++] = name_and_value;
    command->variables[command->variable_count] = NULL;
}

static void setting(struct mirror__command *command, const char *name_and_value) {
    mirror__command_word(command, "-c");
    mirror__command_word(command, name_and_value);
}

/* ---- settings of every call ---- */

static void put_settings(struct mirror__command *command, const struct ts_mirrors_options *options) {
    static const char *const fixed[] = {
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "core.askPass=",
        "credential.helper=", /* drops the helpers of earlier files */
        "http.followRedirects=false",
        "http.sslVerify=true",
        "http.cookieFile=",
        "http.lowSpeedLimit=1000",
        "http.maxRequests=1",
        "protocol.version=2",
        "fetch.recurseSubmodules=false",
        "fetch.unpackLimit=1", /* always keep the pack */
        "fetch.writeCommitGraph=false",
        "transfer.bundleURI=false",
        "gc.auto=0",
        "maintenance.auto=false",
        "pack.threads=1", /* the worker's jobs already run in parallel */
        "advice.detachedHead=false",
    };
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        setting(command, fixed[i]);
    setting(command, text(command, "http.lowSpeedTime=%" PRIu64, options->stall_s));
}

static void put_variables(struct mirror__command *command, const struct ts_mirrors_options *options) {
    static const char *const fixed[] = {
        "HOME=/dev/null", /* so that git finds no .netrc */
        "XDG_CONFIG_HOME=/dev/null",
        "LC_ALL=C",
        "GIT_CONFIG_NOSYSTEM=1",
        "GIT_CONFIG_SYSTEM=/dev/null",
        "GIT_CONFIG_GLOBAL=/dev/null",
        "GIT_ATTR_NOSYSTEM=1",
        "GIT_TERMINAL_PROMPT=0",
        "GIT_PROTOCOL_FROM_USER=0",
        "GIT_NO_REPLACE_OBJECTS=1",
        "GIT_NO_LAZY_FETCH=1",
        "GIT_SSH_VARIANT=ssh",
        /* Shows the headers, which say when to try again. The trace contains no bodies and no credentials,
         * and nobody sees it. */
        "GIT_TRACE_CURL=2",
        "GIT_TRACE_CURL_NO_DATA=1",
        "GIT_TRACE_REDACT=1",
    };
    const char *path = getenv("PATH");
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        variable(command, fixed[i]);
    variable(command, text(command, "PATH=%s", path != NULL ? path : "/usr/local/bin:/usr/bin:/bin"));
    variable(command, text(command, "GIT_ALLOW_PROTOCOL=%s", options->protocols));
}

/* ---- settings for the host ---- */

/* Quotes a text for a shell: in single quotes, with each single quote inside written as '\''. */
static const char *quote(struct mirror__command *command, const char *value) {
    size_t quotes = 0;
    for (const char *at = value; *at != '\0'; at++)
        quotes += *at == '\'';
    char *quoted = ts_arena_take(&command->arena, strlen(value) + 3 * quotes + 3);
    command->no_memory = command->no_memory || quoted == NULL;
    if (quoted == NULL)
        return "";
    char *to = quoted;
    *to++ = '\'';
    for (; *value != '\0'; value++) {
        if (*value == '\'') {
            memcpy(to, "'\\'", 3);
            to += 3;
        }
        *to++ = *value;
    }
    *to++ = '\'';
    *to = '\0';
    return quoted;
}

/* Sets how ssh is called: only with the key and the hosts that the operator's file names, without agent,
 * default keys and ~/.ssh. */
static void put_ssh(struct mirror__command *command, const struct ts_mirror_host *host,
                    const struct ts_mirrors_options *options) {
    const char *known = host != NULL && host->known_hosts != NULL ? host->known_hosts : "/dev/null";
    const char *key = host != NULL && host->ssh_key != NULL ? host->ssh_key : "/dev/null";
    command->has_key = command->has_key || (host != NULL && host->ssh_key != NULL);
    variable(
        command,
        text(
            command,
            "GIT_SSH_COMMAND=ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=yes"
            " -o GlobalKnownHostsFile=/dev/null -o UserKnownHostsFile=%s -o IdentitiesOnly=yes -o IdentityAgent=none"
            " -o PreferredAuthentications=publickey -o UpdateHostKeys=no -o ClearAllForwardings=yes"
            " -o PermitLocalCommand=no -o ServerAliveInterval=%" PRIu64
            " -o ServerAliveCountMax=2 -o ConnectTimeout=%" PRIu64 " -i %s",
            quote(command, known), options->stall_s, options->stall_s, quote(command, key)));
}

/* Reads the password: the first line of the file. */
static bool read_password(const char *path, char ret_password[static PASSWORD_MAX]) {
    static const struct ts_private_file_options options = {.max = PASSWORD_MAX - 1024, .is_text = true};
    struct ts_private_file file;
    struct ts_private_error error;
    if (!ts_private_file_read(path, &options, &file, &error))
        return false;
    const size_t len = strcspn(file.text, "\r\n");
    memcpy(ret_password, file.text, len);
    ret_password[len] = '\0';
    ts_private_file_release(&file);
    return len > 0;
}

/* Passes the credentials to git's credential helper in a file in memory, through a descriptor. So they are
 * neither in the list of processes nor on disk. git asks the helper only for this host. */
static bool put_credentials(struct mirror__command *command, const struct ts_mirror_host *host,
                            const struct mirror__address *address) {
    char password[PASSWORD_MAX];
    if (host->password != NULL)
        (void)snprintf(password, sizeof password, "%s", host->password);
    else if (host->password_file == NULL)
        return true;
    else if (!read_password(host->password_file, password))
        return false;
    char lines[2 * PASSWORD_MAX];
    const int len = snprintf(lines, sizeof lines, "username=%s\npassword=%s\n",
                             host->user != NULL ? host->user : "git", password);
    const bool fits = len > 0 && (size_t)len < sizeof lines;
    command->secret_fd = fits ? ts_unnamed_memory_of(ts_bytes_of(lines, (size_t)len)) : -1;
    explicit_bzero(password, sizeof password);
    explicit_bzero(lines, sizeof lines);
    command->has_key = command->secret_fd >= 0;
    setting(command, text(command, "credential.%.*s://%.*s.helper=!cat /proc/self/fd/%d #",
                          (int)address->scheme.len, (const char *)address->scheme.data,
                          (int)address->host.len, (const char *)address->host.data, command->secret_fd));
    return command->has_key;
}

static bool is_readable(const char *path) {
    return path == NULL || access(path, R_OK) == 0;
}

/* Returns whether the files that the operator names for this host can be read. If a file is missing, git and
 * ssh would report something else: that the host is not trusted, or that the host rejects the key. */
static bool has_files(const struct ts_mirror_host *host) {
    return is_readable(host->ca) && is_readable(host->ssh_key) && is_readable(host->known_hosts);
}

static bool put_host(struct mirror__command *command, const struct ts_mirrors_options *options,
                     const struct mirror__address *address) {
    struct ts_mirror_access access = {.count = 0};
    struct ts_private_error error = {{0}};
    if (options->credentials != NULL && !ts_mirror_access_load(options->credentials, &access, &error))
        return false;
    const struct ts_mirror_host *host = ts_mirror_access_find(&access, address->host);
    bool done = host == NULL || has_files(host);
    if (ts_bytes_equal(address->scheme, TS_BYTES("ssh")))
        put_ssh(command, host, options);
    else if (host != NULL)
        done = done && put_credentials(command, host, address);
    if (host != NULL && host->ca != NULL)
        variable(command, text(command, "GIT_SSL_CAINFO=%s", host->ca));
    if (host != NULL && host->proxy != NULL)
        variable(command, text(command, "ALL_PROXY=%s", host->proxy));
    ts_mirror_access_release(&access);
    return done;
}

static bool is_allowed(const char *protocols, struct ts_bytes scheme) {
    for (const char *at = protocols;; at++) {
        const size_t len = strcspn(at, ":");
        if (len > 0 && ts_bytes_equal(ts_bytes_of(at, len), scheme))
            return true;
        at += len;
        if (*at == '\0')
            return false;
    }
}

bool mirror__command_init(struct mirror__command *command, const struct ts_mirrors_options *options,
                          const struct ts_mirror_request *request, struct ts_mirror_failure *ret_failure) {
    const struct mirror__address address = mirror__address_split(request->address);
    const struct ts_bytes url = request->url.len > 0 ? request->url : request->address;
    *command = (struct mirror__command){.secret_fd = -1};
    if (!is_allowed(options->protocols, address.scheme)) {
        *ret_failure = mirror__failure_of(TS_UNIT_UNSUPPORTED_PROTOCOL);
        return false;
    }
    put_settings(command, options);
    put_variables(command, options);
    command->url = text(command, "%.*s", (int)url.len, (const char *)url.data);
    const bool done = put_host(command, options, &address);
    *ret_failure =
        mirror__own_fault(done ? TS_FLEET_WORKER_FAULT_NO_MEMORY : TS_FLEET_WORKER_FAULT_CREDENTIALS_FILE);
    command->shared_words = command->word_count;
    command->shared_variables = command->variable_count;
    return done && !command->no_memory;
}

void mirror__command_release(struct mirror__command *command) {
    if (command->secret_fd >= 0)
        (void)close(command->secret_fd);
    ts_arena_release(&command->arena);
    *command = (struct mirror__command){.secret_fd = -1};
}

void mirror__command_begin(struct mirror__command *command, const char *repository,
                           const char *const *words) {
    command->word_count = command->shared_words;
    command->variable_count = command->shared_variables;
    variable(command, text(command, "GIT_DIR=%s", repository != NULL ? repository : "/dev/null"));
    for (; *words != NULL; words++)
        mirror__command_word(command, *words);
}

struct mirror__git mirror__command_git(struct mirror__command *command) {
    return (struct mirror__git){.arguments = command->words,
                                .environment = command->variables,
                                .input_fd = -1,
                                .lock_fd = -1,
                                .secret_fd = command->secret_fd,
                                .output_max = 1 << 16};
}
