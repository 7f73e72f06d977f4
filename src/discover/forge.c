#include "forge.h"

#include <stdint.h>
#include <string.h>

/* The forges. All requests except those to gitea ask for a list that is sorted by a property that never
 * changes. So few repositories move to another page when repositories are added or deleted. */
static const struct discover_forge forges[] = {
    {.name = "github",
     .own_host = "github.com",
     .own_api = "https://api.github.com",
     .api = "https://{{host}}/api/v3",
     .variable = "GITHUB_TOKEN",
     .token_header = "Authorization: Bearer {{token}}",
     .header = "Accept: application/vnd.github+json",
     .organisation = "/orgs/{{owner}}/repos?type=all&sort=created&direction=asc&per_page=100&page={{page}}",
     .user = "/users/{{owner}}/repos?type=owner&sort=created&direction=asc&per_page=100&page={{page}}",
     .repository = "full_name",
     .archived = "archived",
     .fork = "fork"},
    {.name = "gitlab",
     .own_host = "gitlab.com",
     .api = "https://{{host}}/api/v4",
     .variable = "GITLAB_TOKEN",
     .token_header = "PRIVATE-TOKEN: {{token}}",
     .organisation =
         "/groups/{{owner}}/projects?include_subgroups=true&with_shared=false&order_by=id&sort=asc"
         "&per_page=100&page={{page}}",
     .user = "/users/{{owner}}/projects?order_by=id&sort=asc&per_page=100&page={{page}}",
     .has_groups = true,
     .repository = "path_with_namespace",
     .archived = "archived",
     .fork = "forked_from_project"},
    {.name = "gitea",
     .api = "https://{{host}}/api/v1",
     .token_header = "Authorization: token {{token}}",
     .organisation = "/orgs/{{owner}}/repos?limit=50&page={{page}}",
     .user = "/users/{{owner}}/repos?limit=50&page={{page}}",
     .repository = "full_name",
     .archived = "archived",
     .fork = "fork"},
    {.name = "bitbucket",
     .own_host = "bitbucket.org",
     .own_api = "https://api.bitbucket.org/2.0",
     .api = "https://{{host}}/2.0",
     .variable = "BITBUCKET_TOKEN",
     .token_header = "Authorization: Bearer {{token}}",
     .organisation = "/repositories/{{owner}}?sort=created_on&pagelen=100&page={{page}}",
     .list = "values",
     .more = "next",
     .repository = "full_name",
     .fork = "parent"},
};

#define SEPARATOR "://"

const struct discover_forge *discover__forge_of(const char *text) {
    for (size_t i = 0; i < sizeof forges / sizeof forges[0]; i++) {
        size_t len = strlen(forges[i].name);
        if (strncmp(text, forges[i].name, len) == 0 && strncmp(text + len, SEPARATOR, strlen(SEPARATOR)) == 0)
            return &forges[i];
    }
    return NULL;
}

/* ---- requests ---- */

static bool is_one_of(char c, const char *set) {
    return c != '\0' && strchr(set, c) != NULL;
}

static bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Copies a host in lower case. The host is a name, or an address in brackets, and may have a port. Returns
 * false if the host is not valid. */
static bool put_host(struct ts_bytes host, char ret_host[static DISCOVER_HOST_MAX + 1]) {
    if (host.len == 0 || host.len > DISCOVER_HOST_MAX)
        return false;
    bool is_inside = false;
    for (size_t i = 0; i < host.len; i++) {
        char c = (char)host.data[i];
        is_inside = c == '[' || (is_inside && c != ']');
        if (!is_letter_or_digit(c) && !is_one_of(c, ".-:[]"))
            return false;
        ret_host[i] = c;
        if (c >= 'A' && c <= 'Z')
            ret_host[i] = (char)(c - 'A' + 'a');
    }
    ret_host[host.len] = '\0';
    return !is_inside && ret_host[0] != '-' && ret_host[0] != ':';
}

/* Returns the number of segments of a path, or 0 if a segment is not valid. */
static size_t count_segments(const char *path) {
    for (size_t count = 1;; count++) {
        size_t len = strcspn(path, "/");
        for (size_t i = 0; i < len; i++)
            if (!is_letter_or_digit(path[i]) && !is_one_of(path[i], "-._"))
                return 0;
        if (strspn(path, ".") == len || path[0] == '-') /* the segment is empty or has only dots */
            return 0;
        if (path[len] == '\0')
            return count;
        path += len + 1;
    }
}

bool discover__is_name(const char *name) {
    return count_segments(name) >= 2;
}

const char *discover__request_parse(const char *text, struct discover_request *ret_request) {
    struct discover_request request = {.forge = discover__forge_of(text)};
    if (!request.forge)
        return "must begin with the name of a forge and ://";
    const char *host = text + strlen(request.forge->name) + strlen(SEPARATOR);
    if (strchr(host, '@'))
        return "must not have a user or a token; --tokens names a file with tokens";
    size_t len = strcspn(host, "/");
    if (!put_host(ts_bytes_of(host, len), request.host))
        return "has no valid host; write FORGE://HOST/OWNER";
    const char *owner = host + len + (host[len] == '/');
    size_t owner_len = strlen(owner);
    owner_len -= owner_len > 0 && owner[owner_len - 1] == '/';
    if (owner_len > DISCOVER_OWNER_MAX)
        return "has an owner of more than 255 bytes";
    memcpy(request.owner, owner, owner_len);
    request.owner[owner_len] = '\0';
    size_t segments = count_segments(request.owner);
    if (segments == 0)
        return "has no valid owner; write FORGE://HOST/OWNER with letters, digits and -._";
    if (segments > 1 && !request.forge->has_groups)
        return "names more than an owner; write FORGE://HOST/OWNER, or the address of one repository";
    *ret_request = request;
    return NULL;
}

/* ---- templates ---- */

struct writer {
    char *text;
    size_t len;
    size_t size;
};

static void put(struct writer *writer, char c) {
    if (writer->len < writer->size)
        writer->text[writer->len] = c;
    writer->len++;
}

/* Writes a value. In the name of an owner, the slash is the only character that must be encoded. */
static void put_value(struct writer *writer, const char *value, bool is_owner) {
    for (; *value != '\0'; value++) {
        if (is_owner && *value == '/') {
            put(writer, '%');
            put(writer, '2');
            put(writer, 'F');
        } else {
            put(writer, *value);
        }
    }
}

bool discover__fill(const char *template, const struct discover_values *values, char *ret_text, size_t size) {
    const struct {
        const char *placeholder;
        const char *value;
    } all[] = {{"{{host}}", values->host},
               {"{{owner}}", values->owner},
               {"{{page}}", values->page},
               {"{{token}}", values->token},
               {"{{name}}", values->name}};
    struct writer writer = {.size = size};
    writer.text = ret_text;
    while (*template != '\0') {
        size_t i = 0, count = sizeof all / sizeof all[0];
        while (i < count &&
               (!all[i].value || strncmp(template, all[i].placeholder, strlen(all[i].placeholder)) != 0))
            i++;
        if (i < count) {
            put_value(&writer, all[i].value, all[i].value == values->owner);
            template += strlen(all[i].placeholder);
        } else {
            put(&writer, *template ++);
        }
    }
    put(&writer, '\0');
    return writer.len <= size;
}
