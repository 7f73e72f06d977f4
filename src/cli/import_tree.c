#include "import_tree.h"

#include "toml.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

#define DEPTH_MAX 64
/* Aliases of YAML can make an enormous tree of a small file. */
#define NODES_MAX 1000000

struct converter {
    yaml_document_t document;
    size_t nodes;
    unsigned depth;
    bool is_too_large;
};

static json_t *convert(struct converter *c, yaml_node_t *node);

static json_t *convert_sequence(struct converter *c, const yaml_node_t *node) {
    json_t *array = json_array();
    for (const yaml_node_item_t *item = node->data.sequence.items.start;
         array != NULL && item < node->data.sequence.items.top; item++)
        if (json_array_append_new(array, convert(c, yaml_document_get_node(&c->document, *item))) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *convert_mapping(struct converter *c, const yaml_node_t *node) {
    json_t *object = json_object();
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         object != NULL && pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(&c->document, pair->key);
        if (key->type != YAML_SCALAR_NODE)
            continue;
        json_t *value = convert(c, yaml_document_get_node(&c->document, pair->value));
        if (json_object_set_new(object, (const char *)key->data.scalar.value, value) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

/* Returns a node as a JSON value, in which every scalar is a text. Returns NULL if memory runs out or the
 * tree is too large. */
static json_t *convert(struct converter *c, yaml_node_t *node) {
    json_t *value = NULL;
    if (c->depth >= DEPTH_MAX || c->nodes++ >= NODES_MAX) {
        c->is_too_large = true;
        return NULL;
    }
    c->depth++;
    switch (node->type) {
    case YAML_SCALAR_NODE:
        value = json_stringn((const char *)node->data.scalar.value, node->data.scalar.length);
        break;
    case YAML_SEQUENCE_NODE:
        value = convert_sequence(c, node);
        break;
    case YAML_MAPPING_NODE:
        value = convert_mapping(c, node);
        break;
    case YAML_NO_NODE:
        value = json_null();
        break;
    }
    c->depth--;
    return value;
}

static json_t *read_yaml(struct ts_bytes text, struct cli_import_tree_error *ret_error) {
    struct converter c = {.nodes = 0};
    yaml_parser_t parser;
    json_t *tree = NULL;
    if (!yaml_parser_initialize(&parser)) {
        ret_error->is_memory = true;
        return NULL;
    }
    yaml_parser_set_input_string(&parser, text.data, text.len);
    if (!yaml_parser_load(&parser, &c.document)) {
        ret_error->is_memory = parser.error == YAML_MEMORY_ERROR;
        snprintf(ret_error->text, sizeof ret_error->text, "line %zu: neither TOML nor YAML: %.80s",
                 parser.problem_mark.line + 1, parser.problem != NULL ? parser.problem : "not UTF-8");
        yaml_parser_delete(&parser);
        return NULL;
    }
    yaml_node_t *root = yaml_document_get_root_node(&c.document);
    tree = root != NULL ? convert(&c, root) : json_object();
    if (tree == NULL)
        snprintf(ret_error->text, sizeof ret_error->text, "%s",
                 c.is_too_large ? "too large, or nested too deeply" : "out of memory");
    ret_error->is_memory = tree == NULL && !c.is_too_large;
    yaml_document_delete(&c.document);
    yaml_parser_delete(&parser);
    return tree;
}

/* Returns whether the first line that is not a comment looks like TOML: a table, or a key with '='. */
static bool is_toml(struct ts_bytes text) {
    while (text.len > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.len);
        size_t len = end != NULL ? (size_t)(end - text.data) : text.len;
        size_t from = 0;
        while (from < len && (text.data[from] == ' ' || text.data[from] == '\t' || text.data[from] == '\r'))
            from++;
        if (from < len && text.data[from] != '#')
            return text.data[from] == '[' || memchr(text.data + from, '=', len - from) != NULL;
        text = ts_bytes_skip(text, end != NULL ? len + 1 : len);
    }
    return false;
}

json_t *cli__import_tree(struct ts_bytes text, struct cli_import_tree_error *ret_error) {
    struct cli_toml_error error;
    *ret_error = (struct cli_import_tree_error){.is_memory = false};
    if (!is_toml(text))
        return read_yaml(text, ret_error);
    json_t *tree = cli__toml_parse(text, &error);
    if (tree == NULL) {
        ret_error->is_memory = error.line == 0;
        snprintf(ret_error->text, sizeof ret_error->text, "line %zu: %s", error.line, error.text);
    }
    return tree;
}
