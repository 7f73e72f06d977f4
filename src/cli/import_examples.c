#include "import_examples.h"

#include "base/bytes.h"
#include "detect/ruleset.h"
#include "detect/scanner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPLIT     "~~" /* splits secrets of examples, so that other scanners do not find them */
#define SPLIT_MIN 8    /* secrets with fewer bytes are not split */

/* Keeps the secret of the first match. */
static void on_match(void *context, const struct ts_match *match) {
    struct ts_span *found = context;
    if (found->len == 0)
        *found = match->secret_span;
}

static struct ts_span find(struct ts_scanner *scanner, const char *text) {
    struct ts_span found = {0, 0};
    struct ts_scanner_input scan = {.bytes = ts_bytes_of_cstring(text), .ungated = true, .not_decoded = true};
    (void)ts_scanner_scan(scanner, &scan, on_match, &found);
    return found;
}

/* Writes `before`, and the text as a JSON string, which is also a string of YAML. Returns false, and writes
 * nothing, if YAML cannot contain the text. */
static bool put_text(FILE *to, const char *before, const char *text, size_t len) {
    json_t *value = json_stringn(text, len);
    char *json = value != NULL ? json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
    bool can = json != NULL && strstr(json, "\\uD8") == NULL && strstr(json, "\\uD9") == NULL &&
               strstr(json, "\\uDA") == NULL && strstr(json, "\\uDB") == NULL &&
               strstr(json, "\\u0000") == NULL;
    if (can)
        fprintf(to, "%s%s\n", before, json);
    free(json);
    json_decref(value);
    return can;
}

/* Writes the example and its secret, with the secret split in the middle. */
static bool put_match(FILE *to, const char *text, const struct ts_span *found) {
    size_t middle = found->from + found->len / 2;
    while (middle > found->from && ((uint8_t)text[middle] & 0xc0) == 0x80)
        middle--; /* do not split a character */
    const char *split = found->len >= SPLIT_MIN ? SPLIT : "";
    char *whole = NULL;
    char *secret = NULL;
    int whole_len = asprintf(&whole, "%.*s%s%s", (int)middle, text, split, text + middle);
    int secret_len = asprintf(&secret, "%.*s%s%.*s", (int)(middle - found->from), text + found->from, split,
                              (int)(found->from + found->len - middle), text + middle);
    bool done = whole_len > 0 && secret_len > 0 &&
                put_text(to, "        - text: ", whole, (size_t)whole_len) &&
                put_text(to, "          secret: ", secret, (size_t)secret_len);
    if (whole_len >= 0)
        free(whole);
    if (secret_len >= 0)
        free(secret);
    return done;
}

/* Writes one list of examples. Returns how many examples it omits. */
static size_t put_list(FILE *to, struct ts_scanner *scanner, const json_t *list, bool is_match) {
    size_t i;
    size_t put = 0;
    json_t *item;
    json_array_foreach(list, i, item) {
        const char *text = json_is_string(item) ? json_string_value(item) : "";
        struct ts_span found = find(scanner, text);
        char *one = NULL;
        size_t len = 0;
        FILE *buffer = open_memstream(&one, &len);
        bool can =
            buffer != NULL && text[0] != '\0' && strstr(text, SPLIT) == NULL && (found.len > 0) == is_match &&
            (is_match ? put_match(buffer, text, &found) : put_text(buffer, "        - ", text, strlen(text)));
        if (buffer != NULL && fclose(buffer) != 0)
            can = false;
        if (can)
            fprintf(to, "%s%s", put++ > 0 ? "" : is_match ? "      match:\n" : "      no-match:\n", one);
        free(one);
    }
    return json_array_size(list) - put;
}

struct cli_import_examples cli__import_examples(const char *rule, const json_t *match,
                                                const json_t *no_match) {
    struct cli_import_examples examples = {.text = NULL};
    struct ts_ruleset one;
    struct ts_detect_error error;
    struct ts_detector *detector = NULL;
    struct ts_scanner *scanner = NULL;
    char *lists = NULL;
    size_t len = 0;
    if (json_array_size(match) + json_array_size(no_match) == 0)
        return examples;
    ts_ruleset_init(&one);
    if (ts_ruleset_add(&one, "rule", ts_bytes_of_cstring(rule), &error))
        detector = ts_detector_new(&one, &(struct ts_detector_options){.cache_folder = ""}, &error);
    scanner = detector != NULL ? ts_scanner_new(detector) : NULL;
    FILE *to = scanner != NULL ? open_memstream(&lists, &len) : NULL;
    if (to != NULL) {
        examples.not_found = put_list(to, scanner, match, true);
        examples.wrong = put_list(to, scanner, no_match, false);
        if (fclose(to) == 0 && len > 0 && asprintf(&examples.text, "    examples:\n%s", lists) < 0)
            examples.text = NULL;
    }
    free(lists);
    ts_scanner_free(scanner);
    ts_detector_free(detector);
    ts_ruleset_release(&one);
    return examples;
}
