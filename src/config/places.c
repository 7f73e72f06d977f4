#include "config/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void ts_config_places_init(struct ts_config_places *places) {
    *places = (struct ts_config_places){
        .xdg_config_home = getenv("XDG_CONFIG_HOME"),
        .home = getenv("HOME"),
        .xdg_config_dirs = getenv("XDG_CONFIG_DIRS"),
        .system = "/etc",
    };
}

/* Returns whether the variable of a folder counts as set. By the XDG specification, relative paths are
 * invalid and are ignored. */
static bool is_set(const char *folder) {
    return folder != NULL && folder[0] == '/';
}

/* Returns whether the folder, a path of this length, contains our file. A file that cannot be examined counts
 * as existing, so that the user sees the error. */
static bool holds_file(const char *folder, size_t len, const char *below,
                       char ret_path[static TS_CONFIG_PATH_SIZE]) {
    char path[TS_CONFIG_PATH_SIZE];
    int printed = snprintf(path, sizeof path, "%.*s%s/turnstone/config.yml", (int)len, folder, below);
    if (printed < 0 || (size_t)printed >= sizeof path)
        return false;
    struct stat found;
    if (stat(path, &found) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return false;
    memcpy(ret_path, path, (size_t)printed + 1);
    return true;
}

bool ts_config_find(const struct ts_config_places *places, char ret_path[static TS_CONFIG_PATH_SIZE]) {
    if (is_set(places->xdg_config_home)) {
        if (holds_file(places->xdg_config_home, strlen(places->xdg_config_home), "", ret_path))
            return true;
    } else if (is_set(places->home) && holds_file(places->home, strlen(places->home), "/.config", ret_path)) {
        return true;
    }
    const char *folder = places->xdg_config_dirs;
    if (folder == NULL || folder[0] == '\0')
        folder = "/etc/xdg";
    for (; *folder != '\0'; folder += strspn(folder, ":")) {
        size_t len = strcspn(folder, ":");
        if (is_set(folder) && len < TS_CONFIG_PATH_SIZE && holds_file(folder, len, "", ret_path))
            return true;
        folder += len;
    }
    return is_set(places->system) && holds_file(places->system, strlen(places->system), "", ret_path);
}
