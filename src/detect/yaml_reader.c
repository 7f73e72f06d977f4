#include "yaml_reader.h"

#include "error.h"

#include "base/distance.h"
#include "base/redact.h"

#include <stdio.h>
#include <string.h>

/* Maximum depth of nested lists and mappings. Our own files have only a few levels. */
enum { DEPTH_MAX = 64 };

unsigned detect__yaml_line(const yaml_node_t *node) {
    return (unsigned)node->start_mark.line + 1;
}

void detect__yaml_pass(struct detect_yaml *yaml, const struct ts_detect_error *error) {
    if (!yaml->failed)
        *yaml->error = *error;
    yaml->failed = true;
    yaml->problems++;
    if (yaml->visit)
        yaml->visit(yaml->context, error);
}

void detect__yaml_fail(struct detect_yaml *yaml, unsigned line, const char *field, const char *format, ...) {
    struct ts_detect_error error;
    va_list arguments;
    va_start(arguments, format);
    detect__error_set_v(&error, TS_DETECT_BAD_FIELD,
                        (struct detect_place){yaml->file, line, yaml->rule, field}, format, arguments);
    va_end(arguments);
    detect__yaml_pass(yaml, &error);
}

/*
 * Returns false, with the line, if the text nests deeper than DEPTH_MAX. libyaml takes quadratic time in the
 * depth, and a file of a hostile repository may be nothing but brackets, so this check comes before loading.
 * The check ignores syntax errors, which loading reports.
 */
static bool is_shallow(yaml_parser_t *parser, unsigned *ret_line) {
    size_t depth = 0;
    for (bool is_end = false; !is_end && depth <= DEPTH_MAX;) {
        yaml_token_t token;
        if (!yaml_parser_scan(parser, &token))
            return true;
        is_end = token.type == YAML_STREAM_END_TOKEN;
        bool opens =
            token.type == YAML_FLOW_SEQUENCE_START_TOKEN || token.type == YAML_FLOW_MAPPING_START_TOKEN ||
            token.type == YAML_BLOCK_SEQUENCE_START_TOKEN || token.type == YAML_BLOCK_MAPPING_START_TOKEN;
        bool closes = token.type == YAML_FLOW_SEQUENCE_END_TOKEN ||
                      token.type == YAML_FLOW_MAPPING_END_TOKEN || token.type == YAML_BLOCK_END_TOKEN;
        depth += opens;
        depth -= closes && depth > 0;
        *ret_line = (unsigned)token.start_mark.line + 1;
        yaml_token_delete(&token);
    }
    return depth <= DEPTH_MAX;
}

static bool check_depth(const char *file, struct ts_bytes text, struct ts_detect_error *error) {
    yaml_parser_t parser;
    unsigned line = 0;
    if (!yaml_parser_initialize(&parser)) {
        detect__error_set(error, TS_DETECT_NO_MEMORY, (struct detect_place){.file = file}, "out of memory");
        return false;
    }
    yaml_parser_set_input_string(&parser, text.data ? text.data : (const unsigned char *)"", text.len);
    bool is_good = is_shallow(&parser, &line);
    yaml_parser_delete(&parser);
    if (!is_good)
        detect__error_set(error, TS_DETECT_NOT_YAML, (struct detect_place){.file = file, .line = line},
                          "lists and mappings are nested more than %d levels deep; use fewer levels",
                          DEPTH_MAX);
    return is_good;
}

bool detect__yaml_open(struct detect_yaml *yaml, const char *file, struct ts_bytes text,
                       struct ts_arena *arena, struct ts_detect_error *error, yaml_node_t **ret_root) {
    *yaml = (struct detect_yaml){.file = file, .error = error, .arena = arena};
    if (!check_depth(file, text, error)) {
        yaml->failed = true;
        return false;
    }
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        detect__error_set(error, TS_DETECT_NO_MEMORY, (struct detect_place){.file = file}, "out of memory");
        yaml->failed = true;
        return false;
    }
    yaml_parser_set_input_string(&parser, text.data ? text.data : (const unsigned char *)"", text.len);
    yaml->loaded = yaml_parser_load(&parser, &yaml->document) != 0;
    if (!yaml->loaded) {
        char why[160];
        const char *problem = parser.problem ? parser.problem : "cannot be parsed";
        ts_text_escape(ts_bytes_of_cstring(problem), why, sizeof why);
        size_t at = parser.problem_mark.line > 0 ? parser.problem_mark.line : parser.context_mark.line;
        detect__error_set(
            error, TS_DETECT_NOT_YAML, (struct detect_place){.file = file, .line = (unsigned)at + 1},
            "not YAML: %s; quote texts that contain ': ' or ' #', or begin with a special character", why);
        yaml->failed = true;
    }
    yaml_parser_delete(&parser);
    if (!yaml->loaded)
        return false;
    *ret_root = yaml_document_get_root_node(&yaml->document);
    return true;
}

void detect__yaml_release(struct detect_yaml *yaml) {
    if (yaml->loaded)
        yaml_document_delete(&yaml->document);
    yaml->loaded = false;
}

static struct ts_bytes scalar_bytes(const yaml_node_t *node) {
    return ts_bytes_of(node->data.scalar.value, node->data.scalar.length);
}

/* Reports an unknown key, with the most similar known key. */
static void fail_unknown_key(struct detect_yaml *yaml, const yaml_node_t *key, const char *what,
                             const char *const *names, size_t name_count) {
    char shown[48];
    ts_text_escape(scalar_bytes(key), shown, sizeof shown);
    size_t nearest;
    if (ts_distance_nearest(scalar_bytes(key), names, name_count, &nearest))
        detect__yaml_fail(yaml, detect__yaml_line(key), NULL, "%s has no field '%s'; did you mean '%s'?",
                          what, shown, names[nearest]);
    else
        detect__yaml_fail(yaml, detect__yaml_line(key), NULL, "%s has no field '%s'; remove it", what, shown);
}

bool detect__yaml_mapping(struct detect_yaml *yaml, yaml_node_t *node, const char *what,
                          const char *const *names, size_t name_count) {
    if (!node)
        return false;
    if (node->type != YAML_MAPPING_NODE) {
        detect__yaml_fail(yaml, detect__yaml_line(node), NULL, "%s must be a mapping of fields", what);
        return false;
    }
    uint64_t seen = 0;
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top;
         pair++) {
        yaml_node_t *key = yaml_document_get_node(&yaml->document, pair->key);
        if (!key || key->type != YAML_SCALAR_NODE) {
            detect__yaml_fail(yaml, detect__yaml_line(node), NULL, "a field of %s has no name", what);
            continue;
        }
        size_t index = 0;
        while (index < name_count && !ts_bytes_equal(scalar_bytes(key), ts_bytes_of_cstring(names[index])))
            index++;
        if (index == name_count) {
            fail_unknown_key(yaml, key, what, names, name_count);
            continue;
        }
        if (seen >> index & 1)
            detect__yaml_fail(yaml, detect__yaml_line(key), names[index], "is given twice; remove one");
        seen |= UINT64_C(1) << index;
    }
    return true;
}

yaml_node_t *detect__yaml_get(struct detect_yaml *yaml, yaml_node_t *mapping, const char *key) {
    if (!mapping || mapping->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < mapping->data.mapping.pairs.top;
         pair++) {
        yaml_node_t *name = yaml_document_get_node(&yaml->document, pair->key);
        if (name && name->type == YAML_SCALAR_NODE &&
            ts_bytes_equal(scalar_bytes(name), ts_bytes_of_cstring(key)))
            return yaml_document_get_node(&yaml->document, pair->value);
    }
    return NULL;
}

bool detect__yaml_scalar(struct detect_yaml *yaml, yaml_node_t *node, const char *field,
                         struct ts_bytes *ret_text) {
    if (!node)
        return false;
    if (node->type != YAML_SCALAR_NODE) {
        detect__yaml_fail(yaml, detect__yaml_line(node), field, "must be a single text");
        return false;
    }
    *ret_text = scalar_bytes(node);
    return true;
}

size_t detect__yaml_count(struct detect_yaml *yaml, yaml_node_t *node, const char *field) {
    if (!node)
        return 0;
    if (node->type != YAML_SEQUENCE_NODE) {
        detect__yaml_fail(yaml, detect__yaml_line(node), field,
                          "must be a list, with '- ' before each "
                          "item");
        return 0;
    }
    return (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
}

yaml_node_t *detect__yaml_item(struct detect_yaml *yaml, yaml_node_t *sequence, size_t index) {
    if (!sequence || sequence->type != YAML_SEQUENCE_NODE)
        return NULL;
    return yaml_document_get_node(&yaml->document, sequence->data.sequence.items.start[index]);
}
