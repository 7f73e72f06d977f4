#include "runtime/mirror/access.h"

#include "os/grow.h"
#include "os/private_ini.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 1 << 20 };

static const struct ts_private_ini_words words = {.section = "host",
                                                  .form = "a host is written as [name] or [name:port]"};

static const char **field_of(struct ts_mirror_host *host, const char *key) {
#define X(field, name)                                                                                       \
    if (strcmp(key, name) == 0)                                                                              \
        return &host->field;
    MIRROR_ACCESS_KEYS(X)
#undef X
    return NULL;
}

static bool add_host(struct ts_mirror_access *access, const struct ts_private_ini_item *item,
                     struct ts_private_error *ret_error) {
    if (!TS_GROW(access->hosts, access->capacity, access->count + 1))
        return ts_private_refuse(ret_error, "cannot be read: out of memory");
    access->hosts[access->count++] = (struct ts_mirror_host){.name = item->name};
    return true;
}

/* Whether the value has no control characters. The path of a key becomes part of a shell command for ssh, and
 * a password becomes part of a line for git. So neither may contain control characters. */
static bool is_plain(const char *value) {
    for (; *value != '\0'; value++)
        if ((unsigned char)*value < ' ' || *value == 0x7f)
            return false;
    return true;
}

static bool add_setting(struct ts_mirror_access *access, const struct ts_private_ini_item *item,
                        struct ts_private_error *ret_error) {
    const char **field = field_of(&access->hosts[access->count - 1], item->name);
    if (field == NULL)
        return ts_private_refuse(
            ret_error,
            "line %u: unknown key; use user, password, password-file, ca, proxy, ssh-key or known-hosts",
            item->line);
    *field = item->value;
    return is_plain(item->value) ||
           ts_private_refuse(ret_error, "line %u: the value has a control character; remove it", item->line);
}

static bool parse(struct ts_mirror_access *access, struct ts_private_ini *ini,
                  struct ts_private_error *ret_error) {
    struct ts_private_ini_item item;
    enum ts_private_ini_result result;
    while ((result = ts_private_ini_next(ini, &item, ret_error)) < TS_PRIVATE_INI_END)
        if (result == TS_PRIVATE_INI_SECTION ? !add_host(access, &item, ret_error)
                                             : !add_setting(access, &item, ret_error))
            return false;
    return result == TS_PRIVATE_INI_END;
}

bool ts_mirror_access_load(const char *path, struct ts_mirror_access *ret_access,
                           struct ts_private_error *ret_error) {
    struct ts_mirror_access access = {.count = 0};
    const struct ts_private_file_options options = {.max = FILE_MAX, .is_text = true};
    if (!ts_private_file_read(path, &options, &access.file, ret_error))
        return false;
    struct ts_private_ini ini = {.file = &access.file, .words = &words};
    const bool done = parse(&access, &ini, ret_error);
    ts_private_ini_release(&ini);
    if (done)
        *ret_access = access;
    else
        ts_mirror_access_release(&access);
    return done;
}

void ts_mirror_access_release(struct ts_mirror_access *access) {
    ts_private_file_release(&access->file);
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
