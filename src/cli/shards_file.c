#include "shards_file.h"

#include "complain.h"
#include "key.h"
#include "os/grow.h"

#include "base/number.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const char *verb;
    const char *file;
    uint64_t line;
    struct cli_shards *shards;
};

__attribute__((format(printf, 2, 3))) static enum cli_exit wrong(const struct reader *reader,
                                                                 const char *format, ...) {
    char text[240];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return cli__complain(CLI_EXIT_USAGE, "%s: %s: line %llu: %s", reader->verb,
                         cli__quote_text(reader->file).text, (unsigned long long)reader->line, text);
}

static enum cli_exit out_of_memory(const struct reader *reader) {
    return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: out of memory", reader->verb);
}

static uint8_t *keep(struct cli_shards *shards, size_t size) {
    if (!TS_GROW(shards->memory, shards->memory_capacity, shards->memory_count + 1))
        return NULL;
    uint8_t *bytes = malloc(size);
    if (bytes)
        shards->memory[shards->memory_count++] = bytes;
    return bytes;
}

/* Reads bytes of any length: the operation of coordination checks the length. */
static enum cli_exit read_bytes(const struct reader *reader, const char *name, const json_t *value,
                                struct ts_bytes *ret_bytes) {
    if (!json_is_string(value))
        return wrong(reader, "\"%s\" must be a string", name);
    size_t length = json_string_length(value);
    uint8_t *bytes = keep(reader->shards, length + 1);
    if (!bytes)
        return out_of_memory(reader);
    size_t len = 0;
    const char *why =
        cli__bytes_parse(json_string_value(value), length,
                         (struct cli_bytes_rule){.may_be_empty = true, .max = SIZE_MAX}, bytes, &len);
    if (why)
        return wrong(reader, "\"%s\" %s", name, why);
    *ret_bytes = ts_bytes_of(bytes, len);
    return CLI_EXIT_DONE;
}

/* Reads an id: a number, or its digits as a string. The JSON parser reads a number with bit 63 as a real, for
 * which *ret_id becomes 2^63. Coordination refuses such ids. */
static bool read_id(const json_t *value, uint64_t *ret_id) {
    if (json_is_string(value))
        return ts_u64_parse(ts_bytes_of((const uint8_t *)json_string_value(value), json_string_length(value)),
                            ret_id) == TS_NUMBER_OK;
    if (json_is_real(value)) {
        const double real = json_real_value(value);
        *ret_id = UINT64_C(1) << 63;
        return real >= 0x1p63 && real <= 0x1p64;
    }
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *ret_id = (uint64_t)json_integer_value(value);
    return true;
}

static enum cli_exit read_member(const struct reader *reader, const char *name, const json_t *value,
                                 struct ts_new_shard *shard) {
    if (strcmp(name, "id") == 0) {
        shard->has_id = true;
        if (!read_id(value, &shard->id.v))
            return wrong(reader, "\"id\" must be a whole number below 2^63, or a string of its digits");
        return CLI_EXIT_DONE;
    }
    if (strcmp(name, "start") == 0)
        return read_bytes(reader, name, value, &shard->spec.range.start);
    if (strcmp(name, "end") == 0)
        return read_bytes(reader, name, value, &shard->spec.range.end);
    if (strcmp(name, "metadata") == 0)
        return read_bytes(reader, name, value, &shard->spec.metadata);
    if (strcmp(name, "key") == 0) {
        shard->cursor.has_key = true;
        return read_bytes(reader, name, value, &shard->cursor.last_key);
    }
    if (strcmp(name, "token") == 0) {
        shard->cursor.has_token = true;
        return read_bytes(reader, name, value, &shard->cursor.token);
    }
    return wrong(reader, "unknown member \"%s\"; a shard has start, end, metadata, id, key and token",
                 cli__quote_text(name).text);
}

static enum cli_exit read_line(const struct reader *reader, const char *line, size_t length) {
    json_error_t error;
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!object && json_error_code(&error) == json_error_numeric_overflow)
        object = json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL,
                            &error);
    if (!object)
        return wrong(reader, "not JSON: %s", error.text);
    struct ts_new_shard shard = {0};
    enum cli_exit status = CLI_EXIT_DONE;
    if (!json_is_object(object))
        status = wrong(reader, "not an object such as {\"start\":\"a\",\"end\":\"m\"}");
    for (void *at = json_object_iter(object); at && status == CLI_EXIT_DONE;
         at = json_object_iter_next(object, at))
        status = read_member(reader, json_object_iter_key(at), json_object_iter_value(at), &shard);
    json_decref(object);
    if (status != CLI_EXIT_DONE)
        return status;
    struct cli_shards *shards = reader->shards;
    if (!TS_GROW(shards->list, shards->capacity, shards->count + 1))
        return out_of_memory(reader);
    shards->list[shards->count++] = shard;
    return CLI_EXIT_DONE;
}

static enum cli_exit read_lines(struct reader *reader, FILE *in) {
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    enum cli_exit status = CLI_EXIT_DONE;
    while (status == CLI_EXIT_DONE && (length = getline(&line, &size, in)) >= 0) {
        reader->line++;
        if (strspn(line, " \t\r\n") < (size_t)length)
            status = read_line(reader, line, (size_t)length);
    }
    if (status == CLI_EXIT_DONE && ferror(in))
        status = cli__complain(CLI_EXIT_USAGE, "%s: cannot read %s: %s", reader->verb,
                               cli__quote_text(reader->file).text, strerror(errno));
    free(line);
    return status;
}

enum cli_exit cli__shards_read(const char *verb, const char *path, struct cli_shards *ret_shards) {
    bool is_input = strcmp(path, "-") == 0;
    struct reader reader = {.verb = verb, .file = is_input ? "standard input" : path, .shards = ret_shards};
    FILE *in = is_input ? stdin : fopen(path, "re");
    if (!in)
        return cli__complain(CLI_EXIT_USAGE, "%s: cannot open %s: %s", verb, cli__quote_text(path).text,
                             strerror(errno));
    enum cli_exit status = read_lines(&reader, in);
    if (!is_input)
        (void)fclose(in);
    return status;
}

void cli__shards_release(struct cli_shards *shards) {
    for (size_t i = 0; i < shards->memory_count; i++)
        free(shards->memory[i]);
    free(shards->memory);
    free(shards->list);
    *shards = (struct cli_shards){0};
}
