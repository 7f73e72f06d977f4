#include "ignored.h"

#include "base/number.h"
#include "os/grow.h"

#include <stdlib.h>
#include <string.h>

/* Cuts off and returns the text after the last colon. Returns NULL if there is no colon. */
static char *cut_last(char *text) {
    char *colon = strrchr(text, ':');
    if (colon == NULL)
        return NULL;
    *colon = '\0';
    return colon + 1;
}

/* Takes the id before the first colon, in SHA-1 or SHA-256. Returns the text after the id, or the whole text
 * if there is no id. */
static char *take_commit(char *text, struct ts_git_oid *ret_commit) {
    char *colon = strchr(text, ':');
    struct ts_bytes hex = {(const uint8_t *)text, colon != NULL ? (size_t)(colon - text) : 0};
    if (ts_git_oid_parse(TS_GIT_SHA1, hex, ret_commit) || ts_git_oid_parse(TS_GIT_SHA256, hex, ret_commit))
        return colon + 1;
    return text;
}

/* Parses a fingerprint. Returns false if the line is not a fingerprint. The entry points into the line. */
static bool read_line(char *line, struct scan_ignored_entry *ret_entry) {
    struct scan_ignored_entry entry = {.at = 0};
    const char *number = cut_last(line);
    entry.rule = number != NULL ? cut_last(line) : NULL;
    if (entry.rule == NULL || ts_u64_parse(ts_bytes_of_cstring(number), &entry.line) != TS_NUMBER_OK)
        return false;
    char *path = take_commit(line, &entry.commit);
    for (char *at = path; *at != '\0'; at++)
        if (*at == '\\')
            *at = '/';
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    entry.path = path;
    *ret_entry = entry;
    return path[0] != '\0' && entry.rule[0] != '\0';
}

static bool add_line(struct scan_ignored *ignored, char *line, unsigned at) {
    struct scan_ignored_entry entry;
    if (line[0] == '\0' || line[0] == '#')
        return true;
    if (!read_line(line, &entry)) {
        if (ignored->wrong++ == 0)
            ignored->first_wrong = at;
        return true;
    }
    entry.at = at;
    if (!TS_GROW(ignored->entries, ignored->capacity, ignored->count + 1))
        return false;
    ignored->entries[ignored->count++] = entry;
    return true;
}

static int compare(const void *left, const void *right) {
    const struct scan_ignored_entry *a = left;
    const struct scan_ignored_entry *b = right;
    int order = strcmp(a->path, b->path);
    return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

/* Parses all lines. Ends each line of the copy with a zero; a zero in the text also ends a line. Returns
 * false when memory runs out. */
static bool read_lines(struct scan_ignored *ignored, size_t len) {
    unsigned at = 0;
    char *end = ignored->memory + len;
    for (char *line = ignored->memory; line < end;) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop != NULL ? stop : end;
        *stop = '\0';
        char *last = stop;
        while (last > line && (last[-1] == '\r' || last[-1] == ' ' || last[-1] == '\t'))
            *--last = '\0';
        while (*line == ' ' || *line == '\t')
            line++;
        if (!add_line(ignored, line, ++at))
            return false;
        line = stop + 1;
    }
    if (ignored->count > 1)
        qsort(ignored->entries, ignored->count, sizeof *ignored->entries, compare);
    return true;
}

bool scan__ignored_parse(struct ts_bytes text, struct scan_ignored *ret_ignored) {
    struct scan_ignored ignored = {.memory = malloc(text.len + 1)};
    if (ignored.memory == NULL)
        return false;
    if (text.len > 0)
        memcpy(ignored.memory, text.data, text.len);
    ignored.memory[text.len] = '\0';
    if (!read_lines(&ignored, text.len)) {
        scan__ignored_release(&ignored);
        return false;
    }
    *ret_ignored = ignored;
    return true;
}

void scan__ignored_release(struct scan_ignored *ignored) {
    free(ignored->entries);
    free(ignored->memory);
    *ignored = (struct scan_ignored){.count = 0};
}

size_t scan__ignored_at(const struct scan_ignored *ignored, const char *path, size_t *ret_first) {
    size_t low = 0;
    size_t high = ignored->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(ignored->entries[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t count = 0;
    while (low + count < ignored->count && strcmp(ignored->entries[low + count].path, path) == 0)
        count++;
    *ret_first = low;
    return count;
}
