#include "runtime/mirror/access.h"

#include "os/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20 };

__attribute__((format(printf, 2, 3))) static bool refuse(struct ts_mirror_access_error *error,
                                                         const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

static bool check_owner(int fd, struct ts_mirror_access_error *ret_error) {
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > FILE_MAX)
        return refuse(ret_error, "is not a file of at most 1 MiB");
    if (status.st_uid != 0 && status.st_uid != geteuid())
        return refuse(ret_error, "belongs to another user; it must be yours, or root's");
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return refuse(ret_error, "can be used by others; run 'chmod 600' on it");
    return true;
}

static bool read_all(int fd, struct ts_mirror_access *access, struct ts_mirror_access_error *ret_error) {
    access->text = malloc(FILE_MAX + 1);
    if (access->text == NULL)
        return refuse(ret_error, "cannot be read: out of memory");
    for (ssize_t count = 1; count > 0 && access->size < FILE_MAX; access->size += (size_t)count) {
        count = read(fd, access->text + access->size, FILE_MAX - access->size);
        if (count < 0)
            return refuse(ret_error, "cannot be read: %s", strerror(errno));
    }
    access->text[access->size] = '\0';
    return memchr(access->text, '\0', access->size) == NULL || refuse(ret_error, "has a zero byte");
}

static char *trim(char *text) {
    while (*text == ' ' || *text == '\t')
        text++;
    size_t len = strlen(text);
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t' || text[len - 1] == '\r'))
        text[--len] = '\0';
    return text;
}

static const char **field_of(struct ts_mirror_host *host, const char *key) {
#define X(field, name)                                                                                       \
    if (strcmp(key, name) == 0)                                                                              \
        return &host->field;
    MIRROR_ACCESS_KEYS(X)
#undef X
    return NULL;
}

static bool add_host(struct ts_mirror_access *access, char *name, unsigned line,
                     struct ts_mirror_access_error *ret_error) {
    const size_t len = strlen(name);
    if (len < 3 || name[len - 1] != ']')
        return refuse(ret_error, "line %u: a host is written as [name] or [name:port]", line);
    name[len - 1] = '\0';
    for (size_t i = 0; i < access->count; i++)
        if (strcmp(access->hosts[i].name, name + 1) == 0)
            return refuse(ret_error,
                          "line %u: the host occurs twice; write all its settings below one [host]", line);
    if (!TS_GROW(access->hosts, access->capacity, access->count + 1))
        return refuse(ret_error, "cannot be read: out of memory");
    access->hosts[access->count++] = (struct ts_mirror_host){.name = name + 1};
    return true;
}

/* The path of a key becomes part of a shell command for ssh, and a password part of a line for git. So
 * neither may contain control characters. */
static bool is_plain(const char *value) {
    for (; *value != '\0'; value++)
        if ((unsigned char)*value < ' ' || *value == 0x7f)
            return false;
    return true;
}

static bool add_setting(struct ts_mirror_access *access, char *text, unsigned line,
                        struct ts_mirror_access_error *ret_error) {
    char *equals = strchr(text, '=');
    if (access->count == 0)
        return refuse(ret_error, "line %u: a host in brackets must come first", line);
    if (equals == NULL)
        return refuse(ret_error, "line %u: a setting is written as KEY = VALUE", line);
    *equals = '\0';
    const char **field = field_of(&access->hosts[access->count - 1], trim(text));
    if (field == NULL)
        return refuse(
            ret_error,
            "line %u: unknown key; use user, password, password-file, ca, proxy, ssh-key or known-hosts",
            line);
    if (*field != NULL)
        return refuse(ret_error, "line %u: the key occurs twice for this host; remove one of them", line);
    *field = trim(equals + 1);
    return (**field != '\0' && is_plain(*field)) ||
           refuse(ret_error, "line %u: the value is empty, or has a control character", line);
}

static bool parse(struct ts_mirror_access *access, struct ts_mirror_access_error *ret_error) {
    char *rest = access->text;
    unsigned line = 0;
    for (char *text; (text = strsep(&rest, "\n")) != NULL;) {
        text = trim(text);
        line++;
        if (*text == '\0' || *text == '#')
            continue;
        if (*text == '[' ? !add_host(access, text, line, ret_error)
                         : !add_setting(access, text, line, ret_error))
            return false;
    }
    return true;
}

bool ts_mirror_access_load(const char *path, struct ts_mirror_access *ret_access,
                           struct ts_mirror_access_error *ret_error) {
    struct ts_mirror_access access = {.count = 0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return refuse(ret_error, "cannot be read: %s", strerror(errno));
    const bool done =
        check_owner(fd, ret_error) && read_all(fd, &access, ret_error) && parse(&access, ret_error);
    (void)close(fd);
    if (done)
        *ret_access = access;
    else
        ts_mirror_access_release(&access);
    return done;
}

void ts_mirror_access_release(struct ts_mirror_access *access) {
    if (access->text != NULL)
        explicit_bzero(access->text, access->size);
    free(access->text);
    free(access->hosts);
    *access = (struct ts_mirror_access){.count = 0};
}

static const struct ts_mirror_host *find(const struct ts_mirror_access *access, struct ts_bytes name) {
    for (size_t i = 0; i < access->count; i++)
        if (ts_bytes_equal(ts_bytes_of_cstring(access->hosts[i].name), name))
            return &access->hosts[i];
    return NULL;
}

const struct ts_mirror_host *ts_mirror_access_find(const struct ts_mirror_access *access,
                                                   struct ts_bytes host) {
    const struct ts_mirror_host *found = find(access, host);
    const uint8_t *colon = memrchr(host.data, ':', host.len);
    const bool has_port = colon != NULL && memchr(colon, ']', (size_t)(host.data + host.len - colon)) == NULL;
    return found != NULL || !has_port ? found
                                      : find(access, ts_bytes_first(host, (size_t)(colon - host.data)));
}
