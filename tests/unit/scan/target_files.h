/* A target with a configuration and one rule file, which profiles read. */
#ifndef TS_TESTS_UNIT_SCAN_TARGET_FILES_H
#define TS_TESTS_UNIT_SCAN_TARGET_FILES_H

#include "profile.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#define TEAM_FILE "in/team.yml"

#define TEAM_RULE(id)                                                                                        \
    "  - {id: " id ", name: N, pattern: '\\b(?<secret>team_[a-z0-9]{12})\\b', gate: [team_], "               \
    "severity: low, reach: 20}\n"

struct target_files {
    const char *config;
    const char *rules; /* the text of TEAM_FILE, or NULL if it does not exist */
};

static inline enum scan_profile_read target_file_read(void *ctx, const char *path, size_t max,
                                                      struct scan_profile_file *ret) {
    const struct target_files *files = ctx;
    const char *text = strcmp(path, SCAN_CONFIG_NAME) == 0 ? files->config
                       : strcmp(path, TEAM_FILE) == 0      ? files->rules
                                                           : NULL;
    if (text == NULL)
        return SCAN_PROFILE_ABSENT;
    if (strlen(text) > max)
        return SCAN_PROFILE_UNREADABLE;
    *ret = (struct scan_profile_file){.bytes = malloc(strlen(text) + 1), .len = strlen(text)};
    assert_non_null(ret->bytes);
    memcpy(ret->bytes, text, strlen(text) + 1);
    return SCAN_PROFILE_READ;
}

#endif
