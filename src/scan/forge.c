#include "forge.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Hosts that answer ssh at the port of https, and the hosts of their web pages. */
static const struct {
    const char *ssh;
    const char *web;
} web_hosts[] = {{"ssh.github.com", "github.com"},
                 {"altssh.gitlab.com", "gitlab.com"},
                 {"altssh.bitbucket.org", "bitbucket.org"}};

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static bool kind_of(const char *host, enum ts_forge *ret_kind) {
    static const struct {
        const char *part;
        enum ts_forge kind;
    } hosts[] = {{"github", TS_FORGE_GITHUB},
                 {"gitlab", TS_FORGE_GITLAB},
                 {"bitbucket.org", TS_FORGE_BITBUCKET},
                 {"codeberg.org", TS_FORGE_GITEA},
                 {"gitea", TS_FORGE_GITEA},
                 {"forgejo", TS_FORGE_GITEA},
                 {"dev.azure.com", TS_FORGE_AZURE},
                 {"visualstudio.com", TS_FORGE_AZURE}};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        if (strstr(host, hosts[i].part) != NULL) {
            *ret_kind = hosts[i].kind;
            return true;
        }
    return false;
}

/* Reads the host, and moves *at past it. Writes the host in lower case. Keeps its port only for http and
 * https: the web page is not at the port of another scheme, such as ssh. */
static bool take_host(const char **at, bool is_page, char *ret_host, size_t size) {
    size_t len = strspn(*at, LETTERS ".-");
    size_t port = (*at)[len] == ':' ? 1 + strspn(*at + len + 1, "0123456789") : 0;
    size_t kept = is_page && port > 1 ? len + port : len;
    if (len == 0 || kept >= size)
        return false;
    (void)snprintf(ret_host, size, "%.*s", (int)kept, *at);
    *at += len + (port > 1 ? port : 0);
    for (size_t i = 0; ret_host[i] != '\0'; i++)
        ret_host[i] = (char)tolower((unsigned char)ret_host[i]);
    for (size_t i = 0; i < sizeof web_hosts / sizeof web_hosts[0]; i++)
        if (strcmp(ret_host, web_hosts[i].ssh) == 0)
            (void)snprintf(ret_host, size, "%s", web_hosts[i].web);
    return true;
}

/* Writes the page of a repository at Azure. For ssh, Azure has another form of path:
 * v3/ORGANIZATION/PROJECT/REPOSITORY. Returns a negative number for a path of an unknown form. */
static int put_azure(const char *host, const char *path, size_t len, char ret_page[static SCAN_FORGE_SIZE]) {
    const char *repository = memrchr(path, '/', len);
    if (memmem(path, len, "/_git/", strlen("/_git/")) != NULL)
        return snprintf(ret_page, SCAN_FORGE_SIZE, "https://%s/%.*s", host, (int)len, path);
    if (strncmp(path, "v3/", 3) != 0 || repository == NULL || repository - path < 5 ||
        memchr(path + 3, '/', (size_t)(repository - path) - 3) == NULL)
        return -1;
    return snprintf(ret_page, SCAN_FORGE_SIZE, "https://dev.azure.com/%.*s/_git%.*s",
                    (int)(repository - path) - 3, path + 3, (int)(path + len - repository), repository);
}

bool scan__forge_of(const char *url, char ret_page[static SCAN_FORGE_SIZE], enum ts_forge *ret_kind) {
    static const char *const schemes[] = {"https://", "http://", "ssh://", "git://", "git+ssh://"};
    char host[256];
    bool has_scheme = false;
    bool is_page = strncmp(url, "http", 4) == 0;
    const char *at = url;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0] && !has_scheme; i++)
        if (strncmp(url, schemes[i], strlen(schemes[i])) == 0) {
            has_scheme = true;
            at += strlen(schemes[i]);
        }
    size_t before_path = strcspn(at, "/");
    const char *user_end = memrchr(at, '@', before_path);
    at = user_end != NULL ? user_end + 1 : at;
    if (!has_scheme && strchr(at, ':') == NULL)
        return false; /* a path on this machine */
    if (!take_host(&at, is_page, host, sizeof host) || (*at != '/' && *at != ':') || !kind_of(host, ret_kind))
        return false;
    at += 1 + strspn(at + 1, "/");
    size_t len = strlen(at);
    while (len > 0 && at[len - 1] == '/')
        len--;
    if (len > 4 && strncmp(at + len - 4, ".git", 4) == 0)
        len -= 4;
    if (len == 0 || strspn(at, LETTERS "-._~/%") < len)
        return false;
    int made = *ret_kind == TS_FORGE_AZURE
                   ? put_azure(host, at, len, ret_page)
                   : snprintf(ret_page, SCAN_FORGE_SIZE, "https://%s/%.*s", host, (int)len, at);
    return made > 0 && made < SCAN_FORGE_SIZE;
}
