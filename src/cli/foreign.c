/*
 * Reads reports of other tools. Recognised forms:
 *
 *     [{"RuleID": …, "File": …, "StartLine": …, "Commit": …, "Secret": …}, …]       gitleaks
 *     {"version": …, "results": {FILE: [{"type": …, "hashed_secret": …, "line_number": …}, …]}}    detect-secrets
 *     {"SourceMetadata": {"Data": {"Git": {"commit": …, "file": …, "line": …}}}, "Raw": …} …       TruffleHog, one per line
 *     {"path": …, "commitHash": …, "stringsFound": […]} …                           TruffleHog 2
 *
 * A message never quotes the file, because the file contains secrets.
 */
#include "foreign.h"

#include "base/hex.h"
#include "base/redact.h"
#include "os/grow.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX ((size_t)4 << 20)

struct reader {
    const char *file; /* name of the file, escaped */
    struct cli_foreign *foreign;
    struct cli_foreign_error *error;
    size_t number; /* number of the entry, from 1 */
};

__attribute__((format(printf, 2, 3))) static bool fail(struct reader *reader, const char *format, ...) {
    char why[200];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(why, sizeof why, format, values);
    va_end(values);
    snprintf(reader->error->text, sizeof reader->error->text, "%.90s: %s", reader->file, why);
    return false;
}

static bool fail_memory(struct reader *reader) {
    reader->error->is_memory = true;
    return fail(reader, "out of memory");
}

static bool fail_entry(struct reader *reader, const char *name) {
    return fail(reader, "entry %zu of %s's report has no \"%s\"; write the report again", reader->number,
                reader->foreign->tool, name);
}

/* ---- fields ---- */

static struct ts_bytes text_of(const json_t *value) {
    return json_is_string(value) ? ts_bytes_of(json_string_value(value), json_string_length(value))
                                 : ts_bytes_of("", 0);
}

static uint64_t line_of(const json_t *value) {
    json_int_t line = json_is_integer(value) ? json_integer_value(value) : 0;
    return line > 0 ? (uint64_t)line : 0;
}

static const char *commit_of(const json_t *value) {
    return json_is_string(value) ? json_string_value(value) : "";
}

static struct ts_bytes path_of(const json_t *value) {
    struct ts_bytes path = text_of(value);
    while (ts_bytes_starts_with(path, TS_BYTES("./")))
        path = ts_bytes_skip(path, 2);
    return path;
}

static bool add(struct reader *reader, struct cli_foreign_entry entry) {
    struct cli_foreign *foreign = reader->foreign;
    if (foreign->count >= ENTRIES_MAX)
        return fail(reader, "more than %zu entries", ENTRIES_MAX);
    if (!TS_GROW(foreign->entries, foreign->capacity, foreign->count + 1))
        return fail_memory(reader);
    foreign->entries[foreign->count++] = entry;
    return true;
}

/* ---- gitleaks ---- */

/* Returns whether gitleaks --redact has replaced the secret by "REDACTED", or cut it: "ghp_12...". */
static bool is_redacted(struct ts_bytes secret) {
    return ts_bytes_equal(secret, TS_BYTES("REDACTED")) ||
           (secret.len >= 3 && memcmp(secret.data + secret.len - 3, "...", 3) == 0);
}

static bool read_gitleaks(struct reader *reader, const json_t *item) {
    struct cli_foreign_entry entry = {.secret = text_of(json_object_get(item, "Secret")),
                                      .path = path_of(json_object_get(item, "File")),
                                      .commit = commit_of(json_object_get(item, "Commit")),
                                      .line = line_of(json_object_get(item, "StartLine"))};
    if (is_redacted(entry.secret))
        entry.secret.len = 0;
    if (entry.path.len == 0)
        return fail_entry(reader, "File");
    return add(reader, entry);
}

/* ---- TruffleHog ---- */

/* Reads the place of a secret from the only member of Data: Git, Filesystem, Github and so on. */
static void read_source(const json_t *item, struct cli_foreign_entry *entry) {
    json_t *data = json_object_get(json_object_get(item, "SourceMetadata"), "Data");
    const json_t *source = json_object_iter_value(json_object_iter(data));
    entry->path = path_of(json_object_get(source, "file"));
    entry->commit = commit_of(json_object_get(source, "commit"));
    entry->line = line_of(json_object_get(source, "line"));
}

static bool read_trufflehog(struct reader *reader, const json_t *item) {
    struct cli_foreign_entry entry = {.secret = text_of(json_object_get(item, "Raw")),
                                      .joined = text_of(json_object_get(item, "RawV2")),
                                      .commit = ""};
    read_source(item, &entry);
    if (entry.secret.len == 0 && (entry.path.len == 0 || entry.line == 0))
        return fail_entry(reader, "Raw");
    return add(reader, entry);
}

static bool read_trufflehog_2(struct reader *reader, const json_t *item) {
    const json_t *strings = json_object_get(item, "stringsFound");
    size_t i;
    json_t *one;
    json_array_foreach(strings, i, one) {
        struct cli_foreign_entry entry = {.secret = text_of(one),
                                          .path = path_of(json_object_get(item, "path")),
                                          .commit = commit_of(json_object_get(item, "commitHash"))};
        if (entry.secret.len > 0 && !add(reader, entry))
            return false;
    }
    return true;
}

/* ---- detect-secrets ---- */

/* Reads an entry. The hash of a private key covers only its first line, which is always the same, so a
 * private key is compared by its place. */
static bool read_detect_secrets(struct reader *reader, const json_t *item, struct ts_bytes path) {
    struct cli_foreign_entry entry = {
        .path = path, .commit = "", .line = line_of(json_object_get(item, "line_number"))};
    struct ts_bytes hash = text_of(json_object_get(item, "hashed_secret"));
    if (hash.len != 2 * sizeof entry.hash || !ts_hex_decode_lower(hash, entry.hash))
        return fail_entry(reader, "hashed_secret");
    entry.has_hash = !ts_bytes_equal(text_of(json_object_get(item, "type")), TS_BYTES("Private Key"));
    return add(reader, entry);
}

static bool read_detect_secrets_all(struct reader *reader, json_t *results) {
    const char *file;
    json_t *items;
    json_object_foreach(results, file, items) {
        size_t i;
        json_t *item;
        struct ts_bytes path = ts_bytes_of_cstring(file);
        while (ts_bytes_starts_with(path, TS_BYTES("./")))
            path = ts_bytes_skip(path, 2);
        json_array_foreach(items, i, item) {
            reader->number++;
            if (!read_detect_secrets(reader, item, path))
                return false;
        }
    }
    return true;
}

/* ---- recognising the tool ---- */

/* Returns whether the value is a line of TruffleHog's log, which users redirect into the same file as the
 * report. */
static bool is_log(const json_t *item) {
    return json_object_get(item, "level") && json_object_get(item, "msg");
}

static bool read_item(struct reader *reader, const json_t *item) {
    reader->number++;
    if (json_object_get(item, "RuleID")) {
        reader->foreign->tool = "gitleaks";
        return read_gitleaks(reader, item);
    }
    reader->foreign->tool = "TruffleHog";
    if (json_object_get(item, "SourceMetadata"))
        return read_trufflehog(reader, item);
    if (json_object_get(item, "stringsFound"))
        return read_trufflehog_2(reader, item);
    if (is_log(item))
        return true;
    return fail(reader, "entry %zu does not belong to a report of gitleaks, detect-secrets or TruffleHog",
                reader->number);
}

static bool read_items(struct reader *reader, const json_t *items) {
    size_t i;
    json_t *item;
    json_array_foreach(items, i, item) {
        if (!read_item(reader, item))
            return false;
    }
    return true;
}

/* Reads the report. `values` are the JSON values of the file, one after another. */
static bool read_values(struct reader *reader, const json_t *values) {
    json_t *first = json_array_get(values, 0);
    if (json_array_size(values) != 1 || !first)
        return read_items(reader, values);
    if (json_is_array(first)) {
        reader->foreign->tool = "gitleaks"; /* even if the report is empty */
        return read_items(reader, first);
    }
    json_t *results = json_object_get(first, "results");
    if (json_is_object(results)) {
        reader->foreign->tool = "detect-secrets";
        return read_detect_secrets_all(reader, results);
    }
    if (json_object_get(first, "runs"))
        return fail(reader,
                    "a SARIF report; make a JSON report, such as with gitleaks' --report-format json");
    if (json_object_get(first, "findings") && json_object_get(first, "summary"))
        return fail(reader, "a report of turnstone scan; make a baseline with 'turnstone baseline'");
    return read_items(reader, values);
}

/* ---- text ---- */

bool cli__foreign_is_json(struct ts_bytes text) {
    if (ts_bytes_starts_with(text, TS_BYTES("\xef\xbb\xbf")))
        text = ts_bytes_skip(text, 3);
    while (text.len > 0 && strchr(" \t\r\n", text.data[0]) && text.data[0] != '\0')
        text = ts_bytes_skip(text, 1);
    return text.len > 0 && (text.data[0] == '[' || text.data[0] == '{');
}

static struct ts_bytes skip_blanks(struct ts_bytes text, size_t *line) {
    while (text.len > 0 &&
           (text.data[0] == ' ' || text.data[0] == '\t' || text.data[0] == '\r' || text.data[0] == '\n')) {
        *line += text.data[0] == '\n';
        text = ts_bytes_skip(text, 1);
    }
    return text;
}

/* Returns the JSON values of a text: one value, or one for each line. Returns NULL after an error. */
static json_t *load(struct reader *reader, struct ts_bytes text) {
    json_t *values = json_array();
    size_t line = 1;
    if (ts_bytes_starts_with(text, TS_BYTES("\xef\xbb\xbf")))
        text = ts_bytes_skip(text, 3);
    for (text = skip_blanks(text, &line); values && text.len > 0; text = skip_blanks(text, &line)) {
        json_error_t error;
        json_t *value =
            json_loadb((const char *)text.data, text.len, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &error);
        if (!value) {
            bool is_memory = json_error_code(&error) == json_error_out_of_memory;
            size_t at = line + (error.line > 0 ? (size_t)error.line - 1 : 0);
            (void)(is_memory ? fail_memory(reader) : fail(reader, "line %zu is not JSON", at));
            json_decref(values);
            return NULL;
        }
        size_t taken = (size_t)error.position;
        for (size_t i = 0; i < taken; i++)
            line += text.data[i] == '\n';
        text = ts_bytes_skip(text, taken);
        if (json_array_append_new(values, value) != 0) {
            json_decref(values);
            values = NULL;
        }
    }
    if (!values)
        (void)fail_memory(reader);
    return values;
}

/* ---- places ---- */

struct ts_bytes cli__foreign_name(struct ts_bytes path) {
    size_t from = path.len;
    while (from > 0 && path.data[from - 1] != '/')
        from--;
    return ts_bytes_skip(path, from);
}

static int compare_names(const void *left, const void *right, void *ctx) {
    const struct cli_foreign_entry *entries = ctx;
    size_t a = *(const size_t *)left;
    size_t b = *(const size_t *)right;
    int order = ts_bytes_compare(cli__foreign_name(entries[a].path), cli__foreign_name(entries[b].path));
    return order != 0 ? order : (a > b) - (a < b);
}

static bool sort_names(struct cli_foreign *foreign) {
    foreign->by_name = malloc((foreign->count + 1) * sizeof *foreign->by_name);
    if (!foreign->by_name)
        return false;
    for (size_t i = 0; i < foreign->count; i++)
        foreign->by_name[i] = i;
    if (foreign->count > 1)
        qsort_r(foreign->by_name, foreign->count, sizeof *foreign->by_name, compare_names, foreign->entries);
    return true;
}

bool cli__foreign_parse(const char *file, struct ts_bytes text, struct cli_foreign *ret_foreign,
                        struct cli_foreign_error *ret_error) {
    char shown[200];
    (void)ts_text_escape(ts_bytes_of_cstring(file), shown, sizeof shown);
    struct cli_foreign foreign = {.tool = ""};
    struct reader reader = {.file = shown, .foreign = &foreign, .error = ret_error};
    *ret_error = (struct cli_foreign_error){.is_memory = false};
    foreign.memory = load(&reader, text);
    bool good = foreign.memory && read_values(&reader, foreign.memory) &&
                (sort_names(&foreign) || fail_memory(&reader));
    if (good)
        *ret_foreign = foreign;
    else
        cli__foreign_release(&foreign);
    return good;
}

void cli__foreign_release(struct cli_foreign *foreign) {
    free(foreign->entries);
    free(foreign->by_name);
    json_decref(foreign->memory);
    *foreign = (struct cli_foreign){.tool = ""};
}
