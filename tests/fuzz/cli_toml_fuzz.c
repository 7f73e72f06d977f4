/* Reads any bytes as TOML, and every string at its top level as a regular expression of another tool. */
#include "import_pattern.h"
#include "toml.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void translate(const char *text) {
    struct cli_import_request request = {.pattern = ts_bytes_of_cstring(text), .bound = 8};
    struct cli_import_pattern pattern;
    if (!cli__import_pattern(&request, &pattern))
        return;
    if (pattern.wrong == NULL && (pattern.text == NULL || strstr(pattern.text, "(?<secret>") == NULL))
        abort();
    cli__import_pattern_release(&pattern);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct cli_toml_error error;
    json_t *tree = cli__toml_parse(ts_bytes_of(data, size), &error);
    if (tree == NULL) {
        if (error.text[0] == '\0' || strchr(error.text, '\n') != NULL)
            abort();
        return 0;
    }
    const char *key;
    json_t *value;
    json_object_foreach(tree, key, value) {
        if (json_is_string(value))
            translate(json_string_value(value));
    }
    json_decref(tree);
    return 0;
}
