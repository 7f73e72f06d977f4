#include "ops.h"

#include "base/hex.h"
#include "complain.h"
#include "key.h"
#include "nearest.h"
#include "os/grow.h"

#include "base/bytes.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The names of operations, indexed by enum ts_op_kind, and the members that each operation takes in addition
 * to "op". */
static const struct {
    const char *name;
    const char *members; /* names, each with a space after it */
} kinds[] = {
    [TS_OP_CHECK] = {"check", "key version "},     [TS_OP_BEFORE] = {"before", "time_ms "},
    [TS_OP_PUT] = {"put", "key value value_hex "}, [TS_OP_DEL] = {"del", "key "},
    [TS_OP_ADD] = {"add", "key delta max "},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

struct reader {
    const char *verb;
    uint64_t line;
    struct cli_ops *ops;
};

__attribute__((format(printf, 2, 3))) static enum cli_exit wrong(const struct reader *reader,
                                                                 const char *format, ...) {
    char what[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return cli__complain(CLI_EXIT_USAGE, "%s: line %llu: %s", reader->verb, (unsigned long long)reader->line,
                         what);
}

static enum cli_exit out_of_memory(const struct reader *reader) {
    return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: out of memory", reader->verb);
}

/* Copies the bytes; the copy lives as long as the operations. Returns NULL when memory runs out. */
static const uint8_t *keep(struct cli_ops *ops, const void *bytes, size_t len) {
    if (!TS_GROW(ops->memory, ops->memory_capacity, ops->memory_count + 1))
        return NULL;
    uint8_t *copy = malloc(len ? len : 1);
    if (!copy)
        return NULL;
    if (len)
        memcpy(copy, bytes, len);
    ops->memory[ops->memory_count++] = copy;
    return copy;
}

static enum cli_exit add_op(struct reader *reader, const struct ts_op *op) {
    struct cli_ops *ops = reader->ops;
    if (!TS_GROW(ops->ops, ops->capacity, ops->count + 1) ||
        !TS_GROW(ops->lines, ops->line_capacity, ops->count + 1))
        return out_of_memory(reader);
    ops->ops[ops->count] = *op;
    ops->lines[ops->count++] = reader->line;
    return CLI_EXIT_DONE;
}

static enum cli_exit read_kind(const struct reader *reader, const json_t *object, enum ts_op_kind *ret_kind) {
    const json_t *op = json_object_get(object, "op");
    if (!json_is_string(op))
        return wrong(reader, "\"op\" is missing: put, del, add, check or before");
    const char *names[KINDS];
    for (size_t i = 0; i < KINDS; i++) {
        names[i] = kinds[i].name;
        if (strcmp(json_string_value(op), names[i]) == 0) {
            *ret_kind = (enum ts_op_kind)i;
            return CLI_EXIT_DONE;
        }
    }
    struct ts_bytes word = ts_bytes_of_cstring(json_string_value(op));
    const char *nearest = cli__nearest(word, names, KINDS);
    if (nearest)
        return wrong(reader, "unknown operation '%s'; did you mean '%s'?", cli__quote(word).text, nearest);
    return wrong(reader, "unknown operation '%s'; there are put, del, add, check and before",
                 cli__quote(word).text);
}

/* Prints an error for a member that the operation does not take. */
static enum cli_exit check_members(const struct reader *reader, json_t *object, enum ts_op_kind kind) {
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) {
        if (strcmp(name, "op") == 0)
            continue;
        size_t length = strlen(name);
        bool known = false;
        for (const char *at = kinds[kind].members; *at && !known; at = strchr(at, ' ') + 1)
            known = strncmp(at, name, length) == 0 && at[length] == ' ';
        if (!known)
            return wrong(reader, "%s takes no \"%s\"; it takes: %s", kinds[kind].name,
                         cli__quote_text(name).text, kinds[kind].members);
    }
    return CLI_EXIT_DONE;
}

static enum cli_exit read_key(const struct reader *reader, const json_t *object, struct ts_op *op) {
    const json_t *text = json_object_get(object, "key");
    if (!json_is_string(text))
        return wrong(reader, "\"key\" is missing, or not a string");
    struct cli_key key;
    const char *why = cli__key_parse(json_string_value(text), json_string_length(text), &key);
    if (why)
        return wrong(reader, "the key %s", why);
    const uint8_t *bytes = keep(reader->ops, key.bytes, key.len);
    if (!bytes)
        return out_of_memory(reader);
    op->key = ts_bytes_of(bytes, key.len);
    return CLI_EXIT_DONE;
}

static enum cli_exit read_integer(const struct reader *reader, const json_t *object, const char *name,
                                  int64_t least, int64_t *ret_value) {
    const json_t *value = json_object_get(object, name);
    if (!json_is_integer(value) || json_integer_value(value) < least)
        return wrong(reader, "\"%s\" must be a whole number from %lld to 9223372036854775807", name,
                     (long long)least);
    *ret_value = json_integer_value(value);
    return CLI_EXIT_DONE;
}

static enum cli_exit read_hex_value(const struct reader *reader, const char *text, size_t length,
                                    struct ts_op *op) {
    uint8_t *bytes = malloc(length / 2 + 1);
    if (!bytes)
        return out_of_memory(reader);
    bool good = ts_hex_decode(ts_bytes_of(text, length), bytes);
    const uint8_t *kept = good ? keep(reader->ops, bytes, length / 2) : NULL;
    free(bytes);
    if (!good)
        return wrong(reader, "\"value_hex\" must be pairs of hexadecimal digits");
    if (!kept)
        return out_of_memory(reader);
    op->value = ts_bytes_of(kept, length / 2);
    return CLI_EXIT_DONE;
}

static enum cli_exit read_value(const struct reader *reader, const json_t *object, struct ts_op *op) {
    const json_t *text = json_object_get(object, "value");
    const json_t *hex = json_object_get(object, "value_hex");
    if (json_is_string(text) && !hex) {
        const uint8_t *bytes = keep(reader->ops, json_string_value(text), json_string_length(text));
        if (!bytes)
            return out_of_memory(reader);
        op->value = ts_bytes_of(bytes, json_string_length(text));
        return CLI_EXIT_DONE;
    }
    if (json_is_string(hex) && !text)
        return read_hex_value(reader, json_string_value(hex), json_string_length(hex), op);
    return wrong(reader, "put takes a \"value\" that is a string, or a \"value_hex\"");
}

static enum cli_exit read_members(const struct reader *reader, const json_t *object, struct ts_op *op) {
    int64_t number = 0;
    enum cli_exit status = op->kind == TS_OP_BEFORE ? CLI_EXIT_DONE : read_key(reader, object, op);
    if (status != CLI_EXIT_DONE)
        return status;
    switch (op->kind) {
    case TS_OP_CHECK:
        status = read_integer(reader, object, "version", 0, &number);
        op->version = (uint64_t)number;
        break;
    case TS_OP_BEFORE:
        status = read_integer(reader, object, "time_ms", 0, &number);
        op->time_ms = (uint64_t)number;
        break;
    case TS_OP_PUT:
        status = read_value(reader, object, op);
        break;
    case TS_OP_DEL:
        break;
    case TS_OP_ADD:
        status = read_integer(reader, object, "delta", INT64_MIN, &op->delta);
        number = INT64_MAX;
        if (status == CLI_EXIT_DONE && json_object_get(object, "max"))
            status = read_integer(reader, object, "max", 0, &number);
        op->max = (uint64_t)number;
        break;
    }
    return status;
}

static enum cli_exit read_line(struct reader *reader, const char *line, size_t length) {
    json_error_t error;
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!object)
        return wrong(reader, "not JSON: %s", error.text);
    struct ts_op op = {0};
    enum cli_exit status;
    if (!json_is_object(object))
        status = wrong(reader, "not an object such as {\"op\":\"put\",\"key\":\"a\",\"value\":\"1\"}");
    else
        status = read_kind(reader, object, &op.kind);
    if (status == CLI_EXIT_DONE)
        status = check_members(reader, object, op.kind);
    if (status == CLI_EXIT_DONE)
        status = read_members(reader, object, &op);
    if (status == CLI_EXIT_DONE)
        status = add_op(reader, &op);
    json_decref(object);
    return status;
}

enum cli_exit cli__ops_read(const char *verb, FILE *in, struct cli_ops *ret_ops) {
    struct reader reader = {.verb = verb, .ops = ret_ops};
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    enum cli_exit status = CLI_EXIT_DONE;
    while (status == CLI_EXIT_DONE && (length = getline(&line, &size, in)) >= 0) {
        reader.line++;
        if (strspn(line, " \t\r\n") < (size_t)length)
            status = read_line(&reader, line, (size_t)length);
    }
    if (status == CLI_EXIT_DONE && ferror(in))
        status = cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: cannot read the operations: %s", verb,
                               strerror(errno));
    if (status == CLI_EXIT_DONE && ret_ops->count == 0)
        status = cli__complain(CLI_EXIT_USAGE,
                               "%s: no operations; write them to standard input as JSON lines", verb);
    free(line);
    return status;
}

void cli__ops_release(struct cli_ops *ops) {
    for (size_t i = 0; i < ops->memory_count; i++)
        free(ops->memory[i]);
    free(ops->memory);
    free(ops->lines);
    free(ops->ops);
    *ops = (struct cli_ops){0};
}
