#include "answer.h"

#include "os/grow.h"

#include <jansson.h>

#include <string.h>
#include <strings.h>

static bool is_set(const json_t *repository, const char *field) {
    const json_t *value = field ? json_object_get(repository, field) : NULL;
    return json_is_true(value) || json_is_object(value);
}

static bool is_wanted(const struct discover_pages *pages, const json_t *repository) {
    const struct discover_forge *forge = pages->request->forge;
    return !(pages->options->no_archived && is_set(repository, forge->archived)) &&
           !(pages->options->no_forks && is_set(repository, forge->fork));
}

/* Whether the repository belongs to the owner. Forges ignore case in the names of owners. */
static bool is_of_owner(const char *name, const char *owner) {
    size_t len = strlen(owner);
    return strncasecmp(name, owner, len) == 0 && name[len] == '/';
}

static enum discover_page_result keep(struct discover_pages *pages, const char *name) {
    enum { HOST_WITHOUT_PORT = DISCOVER_HOST_MAX + 1, ADDRESS_MAX = 1100 };
    char address[ADDRESS_MAX], host[HOST_WITHOUT_PORT];
    struct discover_values values = {.host = pages->request->host, .name = name};
    if (pages->options->ssh) { /* the port is for HTTPS, so it is removed */
        const char *colon = strrchr(pages->request->host, ':');
        size_t len = colon && !strchr(colon, ']') ? (size_t)(colon - pages->request->host)
                                                  : strlen(pages->request->host);
        memcpy(host, pages->request->host, len);
        host[len] = '\0';
        values.host = host;
    }
    if (!discover__fill(pages->options->ssh ? "ssh://git@{{host}}/{{name}}.git"
                                            : "https://{{host}}/{{name}}.git",
                        &values, address, sizeof address))
        return DISCOVER_PAGE_NAME;
    struct ts_discovered *list = pages->list;
    const char *copy = ts_arena_copy(&list->arena, ts_bytes_of_cstring(address));
    if (!copy || !TS_GROW(list->addresses, list->capacity, list->count + 1))
        return DISCOVER_PAGE_NO_MEMORY;
    list->addresses[list->count++] = copy;
    return DISCOVER_PAGE_OK;
}

static enum discover_page_result read_repository(struct discover_pages *pages, const json_t *repository) {
    const char *name = json_string_value(json_object_get(repository, pages->request->forge->repository));
    if (!name)
        return DISCOVER_PAGE_OTHER;
    if (!discover__is_name(name))
        return DISCOVER_PAGE_NAME;
    if (!is_of_owner(name, pages->request->owner))
        return DISCOVER_PAGE_OWNER;
    return is_wanted(pages, repository) ? keep(pages, name) : DISCOVER_PAGE_OK;
}

/* Checks that the page does not repeat the previous page. Without this check, a forge that ignores the page
 * number would be asked until the limit of pages. */
static enum discover_page_result check_first(struct discover_pages *pages, const json_t *repository) {
    const char *name = json_string_value(json_object_get(repository, pages->request->forge->repository));
    if (!name)
        return DISCOVER_PAGE_OTHER;
    if (pages->first && strcmp(pages->first, name) == 0)
        return DISCOVER_PAGE_REPEATED;
    pages->first = ts_arena_copy(&pages->list->arena, ts_bytes_of_cstring(name));
    return pages->first ? DISCOVER_PAGE_OK : DISCOVER_PAGE_NO_MEMORY;
}

static enum discover_page_result read_list(struct discover_pages *pages, const json_t *list) {
    size_t count = json_array_size(list);
    enum discover_page_result result =
        count > 0 ? check_first(pages, json_array_get(list, 0)) : DISCOVER_PAGE_OK;
    for (size_t i = 0; i < count && result == DISCOVER_PAGE_OK; i++)
        result = read_repository(pages, json_array_get(list, i));
    return result;
}

enum discover_page_result discover__page_read(struct discover_pages *pages, struct ts_bytes body) {
    const struct discover_forge *forge = pages->request->forge;
    json_error_t error;
    json_t *root = json_loadb((const char *)body.data, body.len, 0, &error);
    if (!root)
        return DISCOVER_PAGE_NOT_JSON;
    const json_t *list = forge->list ? json_object_get(root, forge->list) : root;
    enum discover_page_result result = json_is_array(list) ? read_list(pages, list) : DISCOVER_PAGE_OTHER;
    if (result == DISCOVER_PAGE_OK)
        pages->is_last = forge->more ? !json_object_get(root, forge->more) : json_array_size(list) == 0;
    json_decref(root);
    return result;
}
