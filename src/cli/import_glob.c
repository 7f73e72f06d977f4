/*
 * Builds the texts that the expression matches, from left to right. Alternatives and optional parts multiply
 * the number of texts.
 *
 *     (?:^|/)conf\.(?:env|ya?ml)$   ──>   conf.env, conf.yml, conf.yaml
 */
#include "import_glob.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 16

struct reader {
    const char *at;
    bool ignores_case;
    bool failed;
    unsigned depth;
};

static void fail(struct reader *r) {
    r->failed = true;
}

static void append(struct reader *r, struct cli_import_globs *globs, const char *text) {
    for (size_t i = 0; i < globs->count; i++) {
        size_t len = strlen(globs->texts[i]);
        size_t more = strlen(text);
        if (len + more >= CLI_IMPORT_GLOB_SIZE - 4) { /* room for the stars at both ends */
            fail(r);
            return;
        }
        memcpy(globs->texts[i] + len, text, more + 1);
    }
}

static void add(struct reader *r, struct cli_import_globs *globs, const char *text) {
    if (globs->count == CLI_IMPORT_GLOBS_MAX)
        fail(r);
    else
        memcpy(globs->texts[globs->count++], text, strlen(text) + 1);
}

/* Replaces each text of `first` by the text followed by each text of `second`. */
static void multiply(struct reader *r, struct cli_import_globs *first,
                     const struct cli_import_globs *second) {
    struct cli_import_globs *all = calloc(1, sizeof *all);
    for (size_t k = 0; all != NULL && k < second->count && !r->failed; k++) {
        struct cli_import_globs *part = malloc(sizeof *part);
        if (part == NULL) {
            fail(r);
            break;
        }
        *part = *first;
        append(r, part, second->texts[k]);
        for (size_t i = 0; i < part->count && !r->failed; i++)
            add(r, all, part->texts[i]);
        free(part);
    }
    if (all != NULL && !r->failed)
        *first = *all;
    else
        fail(r);
    free(all);
}

static bool take(struct reader *r, const char *text) {
    size_t len = strlen(text);
    bool is_there = strncmp(r->at, text, len) == 0;
    r->at += is_there ? len : 0;
    return is_there;
}

/* Writes one character in the syntax of path patterns. */
static void read_literal(struct reader *r, char c, char ret_text[static 8]) {
    unsigned char byte = (unsigned char)c;
    size_t len = 0;
    if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\' || c == '{' || byte < ' ')
        fail(r);
    if (r->ignores_case && isalpha(byte)) {
        ret_text[len++] = '[';
        ret_text[len++] = (char)tolower(byte);
        ret_text[len++] = (char)toupper(byte);
        ret_text[len++] = ']';
    } else {
        ret_text[len++] = c;
    }
    ret_text[len] = '\0';
}

/* Reads a character class without escapes. Path patterns have the same syntax, except that [!…] negates. */
static void read_class(struct reader *r, char *ret_text, size_t size) {
    const char *end = strchr(r->at, ']');
    size_t len = end != NULL ? (size_t)(end - r->at) : 0;
    bool is_not = r->at[0] == '^';
    if (len < 1 || len + 3 > size || memchr(r->at, '\\', len) || memchr(r->at, '[', len) ||
        memchr(r->at, '/', len) || r->at[0] == '!' || r->ignores_case) {
        fail(r);
        return;
    }
    ret_text[0] = '[';
    memcpy(ret_text + 1, r->at, len);
    if (is_not)
        ret_text[1] = '!';
    ret_text[len + 1] = ']';
    ret_text[len + 2] = '\0';
    r->at = end + 1;
}

static void read_choice(struct reader *r, struct cli_import_globs *ret_globs);

/* Reads one part of the expression and its repeat. `ret_part` gets the texts that the part matches. */
static void read_part(struct reader *r, struct cli_import_globs *ret_part) {
    char text[CLI_IMPORT_GLOB_SIZE] = "";
    ret_part->count = 1;
    ret_part->texts[0][0] = '\0';
    if (take(r, ".*?") || take(r, ".*")) {
        append(r, ret_part, "**");
        return;
    }
    if (take(r, "[^/]*")) {
        append(r, ret_part, "*");
        return;
    }
    if (take(r, ".+")) {
        append(r, ret_part, "?**");
        add(r, ret_part, "/**");
        return;
    }
    if (take(r, "(?:") || take(r, "(")) {
        read_choice(r, ret_part);
        if (!take(r, ")"))
            fail(r);
    } else if (take(r, "[")) {
        read_class(r, text, sizeof text);
    } else if (take(r, "\\d")) {
        memcpy(text, "[0-9]", 6);
    } else if (take(r, ".")) {
        memcpy(text, "?", 2);
    } else {
        bool is_escaped = take(r, "\\");
        if (*r->at == '\0' || (is_escaped && isalnum((unsigned char)*r->at)))
            fail(r);
        else
            read_literal(r, *r->at++, text);
    }
    if (!r->failed && text[0] != '\0')
        append(r, ret_part, text);
    if (take(r, "?"))
        add(r, ret_part, "");
    else if (*r->at == '*' || *r->at == '+' || *r->at == '{')
        fail(r);
}

static void read_sequence(struct reader *r, struct cli_import_globs *ret_globs) {
    struct cli_import_globs *part = malloc(sizeof *part);
    ret_globs->count = 1;
    ret_globs->texts[0][0] = '\0';
    if (part == NULL)
        fail(r);
    while (!r->failed && *r->at != '\0' && *r->at != '|' && *r->at != ')' && strcmp(r->at, "$") != 0) {
        read_part(r, part);
        if (!r->failed)
            multiply(r, ret_globs, part);
    }
    free(part);
}

static void read_choice(struct reader *r, struct cli_import_globs *ret_globs) {
    struct cli_import_globs *one = malloc(sizeof *one);
    ret_globs->count = 0;
    if (one == NULL || r->depth++ >= DEPTH_MAX)
        fail(r);
    do {
        if (r->failed)
            break;
        read_sequence(r, one);
        for (size_t i = 0; i < one->count && !r->failed; i++)
            add(r, ret_globs, one->texts[i]);
    } while (take(r, "|"));
    r->depth--;
    free(one);
}

/* Adds stars where the expression has no anchor: an expression matches anywhere in a path, but a pattern must
 * match the whole path or, if the pattern has no slash, a name in the path. */
static void open_ends(struct reader *r, struct cli_import_globs *globs, bool is_start, bool is_name,
                      bool is_end) {
    size_t count = globs->count;
    for (size_t i = 0; i < count && !r->failed; i++) {
        char *text = globs->texts[i];
        char old[CLI_IMPORT_GLOB_SIZE];
        memcpy(old, text, sizeof old);
        size_t len = strlen(old);
        if (!is_end && (len < 2 || strcmp(old + len - 2, "**") != 0))
            memcpy(old + len, "**", 3);
        bool has_slash = strchr(old, '/') != NULL;
        const char *before = is_start ? "" : is_name ? (has_slash ? "**/" : "") : has_slash ? "**" : "*";
        size_t before_len = strlen(before);
        if (before_len + strlen(old) >= sizeof old) {
            fail(r);
            return;
        }
        memmove(text + before_len, old, strlen(old) + 1);
        for (size_t k = 0; k < before_len; k++)
            text[k] = before[k];
        if (is_name && has_slash)
            add(r, globs, old); /* at the top of the repository, no slash precedes the name */
    }
}

bool cli__import_globs(const char *regex, struct cli_import_globs *ret_globs) {
    struct reader r = {.at = regex};
    size_t len = strlen(regex);
    r.ignores_case = take(&r, "(?i)");
    bool is_name = take(&r, "(?:^|/)") || take(&r, "(^|/)");
    bool is_start = !is_name && take(&r, "^");
    bool is_end = len > 0 && regex[len - 1] == '$' && (len < 2 || regex[len - 2] != '\\');
    read_choice(&r, ret_globs);
    (void)take(&r, "$");
    if (*r.at != '\0')
        fail(&r);
    /* In "^a|b$" each anchor belongs to only one alternative, which is not supported. */
    if (!r.failed && (is_start || is_name || is_end) && strchr(regex, '|') != NULL && ret_globs->count > 0) {
        unsigned depth = 0;
        for (const char *at = regex; *at != '\0'; at++) {
            depth += *at == '(' ? 1u : 0;
            depth -= *at == ')' && depth > 0 ? 1u : 0;
            if (*at == '|' && depth == 0)
                fail(&r);
        }
    }
    if (!r.failed)
        open_ends(&r, ret_globs, is_start, is_name, is_end);
    return !r.failed;
}
