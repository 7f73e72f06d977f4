#include "option_names.h"

#include <string.h>

struct name {
    const char *code;
    const char *command;
    const char *library;
};

static const struct name names[] = {
    {SCAN_OPTION_ALLOW_MISSING, "--allow-missing", "TS_SCAN_SWITCH_ALLOW_MISSING"},
    {SCAN_OPTION_ARCHIVE_DEPTH, "--archives", "TS_SCAN_LIMIT_ARCHIVE_DEPTH"},
    {SCAN_OPTION_BRANCH, "--branch", "TS_SCAN_TEXT_BRANCH"},
    {SCAN_OPTION_COMMIT, "--commit", "TS_SCAN_TEXT_COMMIT"},
    {SCAN_OPTION_CONFIG, "--config", "TS_SCAN_TEXT_CONFIG_FILE"},
    {SCAN_OPTION_DIR, "--dir", "ts_scan_add_folder"},
    {SCAN_OPTION_JOBS, "--jobs", "TS_SCAN_LIMIT_JOBS"},
    {SCAN_OPTION_MAX_ARCHIVE, "--max-archive", "TS_SCAN_LIMIT_ARCHIVE_BYTES"},
    {SCAN_OPTION_MAX_RATIO, "--max-ratio", "TS_SCAN_LIMIT_RATIO"},
    {SCAN_OPTION_MAX_TIME, "--max-time", "TS_SCAN_LIMIT_TIME_MS"},
    {SCAN_OPTION_MEMORY, "--memory", "TS_SCAN_LIMIT_MEMORY_BYTES"},
    {SCAN_OPTION_NO_ARCHIVES, "--archives 0", "TS_SCAN_SWITCH_NO_ARCHIVES"},
    {SCAN_OPTION_NO_BUILTIN_RULES, "--no-builtin-rules", "TS_SCAN_SWITCH_NO_BUILTIN_RULES"},
    {SCAN_OPTION_NO_REPO_CONFIG, "--no-repo-config", "TS_SCAN_SWITCH_NO_TARGET_CONFIG"},
    {SCAN_OPTION_OCCURRENCES, "--occurrences", "TS_SCAN_LIMIT_OCCURRENCES"},
    {SCAN_OPTION_RANGE, "--range", "TS_SCAN_TEXT_RANGE"},
    {SCAN_OPTION_REF, "--ref", "TS_SCAN_TEXT_REF"},
    {SCAN_OPTION_RULES, "--rules FILE", "TS_SCAN_TEXT_RULE_FILE"},
    {SCAN_OPTION_SINCE, "--since", "ts_scan_set_since"},
    {SCAN_OPTION_STAGED, "--staged", "TS_SCAN_SWITCH_STAGED"},
    {SCAN_OPTION_STRICT, "--strict", "TS_SCAN_SWITCH_STRICT"},
    {SCAN_OPTION_UNREACHABLE, "--unreachable", "TS_SCAN_SWITCH_UNREACHABLE"},
    {SCAN_OPTION_WORKING_TREE, "--working-tree", "TS_SCAN_SWITCH_WORKING_TREE"},
};

static const struct name *find(const char *code) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(code, names[i].code, strlen(names[i].code)) == 0)
            return &names[i];
    return NULL;
}

const char *scan__name_options(const char *text, bool for_library, char *ret_text, size_t size) {
    size_t len = 0;
    while (*text != '\0' && len + 1 < size) {
        const struct name *name = *text == SCAN_OPTION_MARK[0] ? find(text) : NULL;
        if (name == NULL) {
            ret_text[len++] = *text++;
            continue;
        }
        const char *shown = for_library ? name->library : name->command;
        for (; *shown != '\0' && len + 1 < size; shown++)
            ret_text[len++] = *shown;
        text += strlen(name->code);
    }
    ret_text[len] = '\0';
    return ret_text;
}
