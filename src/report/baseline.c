/*
 * Reads baselines, and compares reports with them.
 *
 *     turnstone-baseline 1                                        first line that is no comment
 *     salt 5c0ffee...                                             at most once, hexadecimal, 16 to 64 bytes
 *     key 0123456789abcdef                                        at most once: identifies the key of the ids
 *     0123456789abcdef0123456789abcdef github-pat                 finding id and rule
 *     # a comment; empty lines are comments too
 *
 * After a merge, entries may be in any order and may occur twice. Anything else is an error that names its
 * line: a baseline that is only partly understood could let a secret pass.
 */
#include "baseline.h"
#include "baseline_entries.h"

#include "base/blake3.h"
#include "base/hex.h"
#include "base/redact.h"
#include "os/entropy.h"
#include "os/grow.h"
#include "os/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((format(printf, 4, 5))) static bool fail(struct ts_baseline_error *ret_error,
                                                       enum ts_baseline_error_kind kind, size_t line,
                                                       const char *format, ...) {
    *ret_error = (struct ts_baseline_error){.kind = kind, .line = line};
    va_list values;
    va_start(values, format);
    (void)vsnprintf(ret_error->text, sizeof ret_error->text, format, values);
    va_end(values);
    return false;
}

/* The state of the reader. */
struct reader {
    const char *file; /* name of the file, escaped */
    struct ts_baseline *baseline;
    struct ts_baseline_error *error;
    size_t line;
    size_t capacity;
    bool has_head;
};

static bool is_hex(const char *text, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (ts_hex_digit_lower((uint8_t)text[i]) < 0)
            return false;
    return true;
}

static bool bad_line(struct reader *reader, const char *why) {
    return fail(reader->error, TS_BASELINE_BAD_LINE, reader->line, "%s:%zu: %s", reader->file, reader->line,
                why);
}

static bool read_head(struct reader *reader, const char *line) {
    if (strncmp(line, "turnstone-baseline ", 19) != 0)
        return fail(reader->error, TS_BASELINE_NOT_A_BASELINE, reader->line,
                    "%s:%zu: not a baseline: the first line must be 'turnstone-baseline 1'; make one with "
                    "'turnstone baseline'",
                    reader->file, reader->line);
    if (strcmp(line + 19, "1") != 0)
        return fail(reader->error, TS_BASELINE_NOT_A_BASELINE, reader->line,
                    "%s:%zu: unknown version of a baseline: this program reads version 1", reader->file,
                    reader->line);
    reader->has_head = true;
    return true;
}

static bool read_salt(struct reader *reader, const char *hex) {
    struct ts_baseline *baseline = reader->baseline;
    size_t len = strlen(hex);
    if (baseline->salt_len > 0)
        return bad_line(reader, "a second salt; keep the one that the ids were made with");
    if (len % 2 != 0 || len / 2 < TS_BASELINE_SALT_MIN || len / 2 > TS_BASELINE_SALT_MAX ||
        !ts_hex_decode_lower(ts_bytes_of_cstring(hex), baseline->salt))
        return bad_line(reader, "the salt must be 32 to 128 hexadecimal digits, 0-9 and a-f");
    baseline->salt_len = len / 2;
    return true;
}

static bool read_check(struct reader *reader, const char *hex) {
    struct ts_baseline *baseline = reader->baseline;
    if (baseline->check[0] != '\0')
        return bad_line(reader, "a second key; keep the one that the ids were made with");
    if (strlen(hex) != TS_BASELINE_CHECK_LEN || !is_hex(hex, TS_BASELINE_CHECK_LEN))
        return bad_line(reader, "the key must be 16 hexadecimal digits, 0-9 and a-f");
    memcpy(baseline->check, hex, TS_BASELINE_CHECK_LEN + 1);
    return true;
}

static bool make_room(struct reader *reader) {
    struct ts_baseline *baseline = reader->baseline;
    if (baseline->count < reader->capacity)
        return true;
    if (baseline->count >= TS_BASELINE_ENTRIES_MAX)
        return fail(reader->error, TS_BASELINE_TOO_LARGE, reader->line, "%s: more than %zu findings",
                    reader->file, TS_BASELINE_ENTRIES_MAX);
    return TS_GROW(baseline->entries, reader->capacity, baseline->count + 1) ||
           fail(reader->error, TS_BASELINE_NO_MEMORY, 0, "%s: out of memory", reader->file);
}

static bool read_entry(struct reader *reader, const char *line) {
    size_t len = strlen(line);
    bool has_id =
        len > TS_FINDING_ID_LEN + 1 && is_hex(line, TS_FINDING_ID_LEN) && line[TS_FINDING_ID_LEN] == ' ';
    const char *rule = has_id ? line + TS_FINDING_ID_LEN + 1 : "";
    size_t rule_len = strlen(rule);
    if (strncmp(line, "<<<<<<<", 7) == 0 || strncmp(line, "=======", 7) == 0 ||
        strncmp(line, ">>>>>>>", 7) == 0)
        return bad_line(reader, "a merge conflict; keep the lines of both sides and remove the conflict "
                                "markers");
    if (!has_id || rule_len > TS_RULE_ID_MAX ||
        strspn(rule, "abcdefghijklmnopqrstuvwxyz0123456789-") != rule_len)
        return bad_line(reader,
                        "invalid line: expected a finding id of 32 hexadecimal digits, a blank and a rule");
    if (!make_room(reader))
        return false;
    struct ts_report_gone *entry = &reader->baseline->entries[reader->baseline->count++];
    memcpy(entry->id.text, line, TS_FINDING_ID_LEN);
    entry->id.text[TS_FINDING_ID_LEN] = '\0';
    entry->rule = rule;
    return true;
}

static bool read_line(struct reader *reader, const char *line) {
    if (line[0] == '\0' || line[0] == '#')
        return true;
    if (!reader->has_head)
        return read_head(reader, line);
    if (strncmp(line, "salt ", 5) == 0)
        return read_salt(reader, line + 5);
    if (strncmp(line, "key ", 4) == 0)
        return read_check(reader, line + 4);
    return read_entry(reader, line);
}

/* Reads the lines of `text`, which is a copy of the file, and terminates each line in it. The texts of
 * entries are parts of this copy. */
static bool read_lines(struct reader *reader, char *text, size_t len) {
    char *end = text + len;
    while (text < end) {
        char *stop = memchr(text, '\n', (size_t)(end - text));
        char *next = stop != NULL ? stop + 1 : end;
        if (stop == NULL)
            stop = end;
        reader->line++;
        if (memchr(text, '\0', (size_t)(stop - text)) != NULL)
            return bad_line(reader, "a zero byte: this is not a text file");
        if (stop > text && stop[-1] == '\r')
            stop[-1] = '\0';
        *stop = '\0';
        if (!read_line(reader, text))
            return false;
        text = next;
    }
    if (!reader->has_head)
        return fail(
            reader->error, TS_BASELINE_NOT_A_BASELINE, 0,
            "%s: empty: the first line must be 'turnstone-baseline 1'; make one with 'turnstone baseline'",
            reader->file);
    return true;
}

static int compare_entries(const void *left, const void *right) {
    const struct ts_report_gone *a = left;
    const struct ts_report_gone *b = right;
    int order = memcmp(a->id.text, b->id.text, TS_FINDING_ID_LEN);
    return order != 0 ? order : strcmp(a->rule, b->rule);
}

size_t report__baseline_sort(struct ts_report_gone *entries, size_t count) {
    if (count < 2)
        return count;
    qsort(entries, count, sizeof *entries, compare_entries);
    size_t kept = 1;
    for (size_t i = 1; i < count; i++)
        if (memcmp(entries[i].id.text, entries[kept - 1].id.text, TS_FINDING_ID_LEN) != 0)
            entries[kept++] = entries[i];
    return kept;
}

bool ts_baseline_parse(const char *file, struct ts_bytes text, struct ts_baseline *ret_baseline,
                       struct ts_baseline_error *ret_error) {
    char shown[200];
    (void)ts_text_escape(ts_bytes_of_cstring(file), shown, sizeof shown);
    struct ts_baseline baseline = {.memory = text.len <= TS_BASELINE_SIZE_MAX ? malloc(text.len + 1) : NULL};
    struct reader reader = {.file = shown, .baseline = &baseline, .error = ret_error};
    bool good = baseline.memory != NULL;
    if (text.len > TS_BASELINE_SIZE_MAX)
        (void)fail(ret_error, TS_BASELINE_TOO_LARGE, 0, "%s: larger than %zu bytes", shown,
                   TS_BASELINE_SIZE_MAX);
    else if (!good)
        (void)fail(ret_error, TS_BASELINE_NO_MEMORY, 0, "%s: out of memory", shown);
    if (good) {
        if (text.len > 0)
            memcpy(baseline.memory, text.data, text.len);
        good = read_lines(&reader, baseline.memory, text.len);
    }
    if (good) {
        baseline.count = report__baseline_sort(baseline.entries, baseline.count);
        baseline.gone = calloc(baseline.count + 1, sizeof *baseline.gone);
        good = baseline.gone != NULL || fail(ret_error, TS_BASELINE_NO_MEMORY, 0, "%s: out of memory", shown);
    }
    if (good)
        *ret_baseline = baseline;
    else
        ts_baseline_release(&baseline);
    return good;
}

bool ts_baseline_load(const char *path, char **ret_text, size_t *ret_len,
                      struct ts_baseline_error *ret_error) {
    char shown[200];
    (void)ts_text_escape(ts_bytes_of_cstring(path), shown, sizeof shown);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t *bytes = NULL;
    const bool good = fd >= 0 && ts_read_all(fd, TS_BASELINE_SIZE_MAX, &bytes, ret_len);
    if (good)
        *ret_text = (char *)bytes;
    else
        (void)fail(ret_error, TS_BASELINE_UNREADABLE, 0,
                   "cannot read the baseline '%s': %s; make one with 'turnstone baseline'", shown,
                   strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return good;
}

bool ts_baseline_read(const char *path, struct ts_baseline *ret_baseline,
                      struct ts_baseline_error *ret_error) {
    char *text;
    size_t len;
    if (!ts_baseline_load(path, &text, &len, ret_error))
        return false;
    bool good = ts_baseline_parse(path, ts_bytes_of(text, len), ret_baseline, ret_error);
    free(text);
    return good;
}

void ts_baseline_release(struct ts_baseline *baseline) {
    free(baseline->entries);
    free(baseline->gone);
    free(baseline->memory);
    *baseline = (struct ts_baseline){0};
}

bool ts_baseline_new_salt(struct ts_baseline *ret_baseline, struct ts_baseline_error *ret_error) {
    struct ts_baseline baseline = {.salt_len = 32};
    if (!ts_entropy_fill(baseline.salt, baseline.salt_len))
        return fail(ret_error, TS_BASELINE_NO_ENTROPY, 0, "no random bytes for a salt: %s", strerror(errno));
    *ret_baseline = baseline;
    return true;
}

struct ts_bytes ts_baseline_salt(const struct ts_baseline *baseline, struct ts_bytes project_salt) {
    return baseline->salt_len > 0 ? ts_bytes_of(baseline->salt, baseline->salt_len) : project_salt;
}

/* --- comparing --- */

/* Returns whether the baseline has the id. If it has the id, marks its entry as found. */
static bool meet(struct ts_baseline *baseline, const struct ts_finding_id *id) {
    size_t low = 0;
    size_t high = baseline->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memcmp(baseline->entries[middle].id.text, id->text, TS_FINDING_ID_LEN) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == baseline->count || memcmp(baseline->entries[low].id.text, id->text, TS_FINDING_ID_LEN) != 0)
        return false;
    baseline->gone[low].rule = NULL;
    return true;
}

void ts_baseline_apply(struct ts_baseline *baseline, struct ts_report *report) {
    /* In `gone`, an entry that was found loses its rule, and is removed at the end. */
    if (baseline->count > 0)
        memcpy(baseline->gone, baseline->entries, baseline->count * sizeof *baseline->gone);
    report->has_baseline = true;
    report->baseline_known = 0;
    for (size_t i = 0; i < report->finding_count; i++) {
        struct ts_report_finding *finding = &report->findings[i];
        finding->is_new = !meet(baseline, &finding->id);
        report->baseline_known += finding->is_new ? 0 : 1;
    }
    for (size_t i = 0; i < report->unlisted_count; i++)
        (void)meet(baseline, &report->unlisted[i]);
    size_t kept = 0;
    for (size_t i = 0; i < baseline->count; i++)
        if (baseline->gone[i].rule != NULL)
            baseline->gone[kept++] = baseline->gone[i];
    report->gone = baseline->gone;
    report->gone_count = kept;
}

void report__baseline_check(const struct ts_finding_key *key,
                            char ret_check[static TS_BASELINE_CHECK_LEN + 1]) {
    struct ts_blake3 hasher;
    uint8_t hash[TS_BASELINE_CHECK_LEN / 2];
    ts_blake3_init_keyed(&hasher, key->key);
    ts_blake3_update(&hasher, TS_BYTES("turnstone baseline: which key"));
    ts_blake3_output(&hasher, 0, hash, sizeof hash);
    *ts_hex_encode(ts_bytes_of(hash, sizeof hash), ret_check) = '\0';
}

bool ts_baseline_fits(const struct ts_baseline *baseline, const struct ts_finding_key *key, const char *file,
                      struct ts_baseline_error *ret_error) {
    char check[TS_BASELINE_CHECK_LEN + 1];
    char shown[200];
    report__baseline_check(key, check);
    if (baseline->check[0] == '\0' || strcmp(baseline->check, check) == 0)
        return true;
    return fail(
        ret_error, TS_BASELINE_OTHER_SALT, 0,
        "%s: made with another salt than this scan uses, so none of its ids would match; use that salt, "
        "or make a new baseline with 'turnstone baseline'",
        ts_text_escape(ts_bytes_of_cstring(file), shown, sizeof shown));
}
