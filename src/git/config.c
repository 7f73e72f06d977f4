#include "config.h"
#include "repo_impl.h"

#include "base/number.h"
#include "file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CONFIG_MAX (16u << 20)
#define NAME_MAX_  1024 /* longer than any name or value that is used here */

struct item {
    char section[NAME_MAX_];    /* section without its subsection, in lower case */
    char subsection[NAME_MAX_]; /* subsection as written, without quotes; empty: none */
    bool has_subsection;
    char name[NAME_MAX_];  /* lower case */
    char value[NAME_MAX_]; /* "true" if the setting has no value */
};

struct reader {
    const char *at;
    const char *end;
    struct item item;
};

static void append(char *text, size_t *len, char c) {
    if (*len + 1 < NAME_MAX_)
        text[(*len)++] = c;
    text[*len] = '\0';
}

static void skip_line(struct reader *r) {
    while (r->at < r->end && *r->at != '\n')
        r->at++;
}

/* Returns whether git treats the character as white space. */
static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_key(char c) {
    return isalnum((unsigned char)c) || c == '-';
}

/* Returns whether the cursor is at the end of a line or of the file. \r belongs to the \n after it. */
static bool at_line_end(const struct reader *r) {
    return r->at == r->end || *r->at == '\n' || (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n');
}

/* Reads [section] or [section "subsection"]. The cursor is after the '['. Returns false if the line is not
 * valid. */
static bool read_section(struct reader *r) {
    size_t len = 0;
    size_t sub_len = 0;
    r->item.section[0] = '\0';
    r->item.subsection[0] = '\0';
    while (r->at < r->end && (is_key(*r->at) || *r->at == '.'))
        append(r->item.section, &len, (char)tolower((unsigned char)*r->at++));
    bool has_more = r->at < r->end && is_blank(*r->at);
    r->item.has_subsection = has_more;
    while (!at_line_end(r) && is_blank(*r->at))
        r->at++;
    if (has_more) {
        if (at_line_end(r) || *r->at++ != '"')
            return false;
        for (; !at_line_end(r) && *r->at != '"'; r->at++) {
            r->at += *r->at == '\\' && r->at + 1 < r->end && r->at[1] != '\n';
            append(r->item.subsection, &sub_len, *r->at);
        }
        if (at_line_end(r))
            return false;
        r->at++;
    }
    return r->at < r->end && *r->at++ == ']';
}

/* Returns the character that the escape \c stands for, or 0 if git does not know the escape. */
static char escaped(char c) {
    switch (c) {
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'n':
        return '\n';
    case '\\':
    case '"':
        return c;
    default:
        return '\0';
    }
}

/* Reads the value after the '='. Quotes, escapes, comments and continued lines work as in git. */
static bool read_value(struct reader *r) {
    size_t len = 0;
    size_t kept = 0; /* length without unquoted blanks at the end */
    bool in_quotes = false;
    r->item.value[0] = '\0';
    for (; !at_line_end(r); r->at++) {
        char c = *r->at;
        if (c == '"') {
            in_quotes = !in_quotes;
            kept = len;
            continue;
        }
        if (!in_quotes && (c == '#' || c == ';')) {
            skip_line(r);
            break;
        }
        if (c == '\\') {
            r->at++;
            if (at_line_end(r)) {
                r->at += r->at < r->end && *r->at == '\r';
                if (r->at == r->end)
                    break;
                continue;
            }
            c = escaped(*r->at);
            if (c == '\0')
                return false;
        } else if (!in_quotes && is_blank(c)) {
            if (len > 0)
                append(r->item.value, &len, c);
            continue;
        }
        append(r->item.value, &len, c);
        kept = len;
    }
    r->item.value[kept] = '\0';
    return !in_quotes;
}

static bool read_variable(struct reader *r) {
    size_t len = 0;
    r->item.name[0] = '\0';
    while (r->at < r->end && is_key(*r->at))
        append(r->item.name, &len, (char)tolower((unsigned char)*r->at++));
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
    memcpy(r->item.value, "true", 5);
    if (r->at < r->end && *r->at == '=') {
        r->at++;
        return read_value(r);
    }
    return at_line_end(r);
}

enum found { FOUND_ITEM, FOUND_END, FOUND_BAD };

static enum found next_item(struct reader *r) {
    while (r->at < r->end) {
        char c = *r->at;
        if (c == '#' || c == ';') {
            skip_line(r);
        } else if (c == '[') {
            r->at++;
            if (!read_section(r))
                return FOUND_BAD;
        } else if (is_blank(c)) {
            r->at++;
        } else {
            return isalpha((unsigned char)c) && read_variable(r) ? FOUND_ITEM : FOUND_BAD;
        }
    }
    return FOUND_END;
}

static bool is_true(const char *value) {
    return strcasecmp(value, "true") == 0 || strcasecmp(value, "yes") == 0 || strcasecmp(value, "on") == 0 ||
           strcmp(value, "1") == 0;
}

struct judged {
    uint32_t version;
    bool has_sha256;
    bool has_reftable;
    char unknown[NAME_MAX_];
    char bad_format[NAME_MAX_];
};

static void judge_extension(const struct item *item, struct judged *judged, struct git__config *config) {
    static const char *const harmless[] = {"noop", "noop-v1", "preciousobjects", "worktreeconfig",
                                           "relativeworktrees"};
    const char *name = item->has_subsection ? "" : item->name; /* no extension is in a subsection */
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        if (strcmp(name, harmless[i]) == 0)
            return;
    if (strcmp(name, "partialclone") == 0) {
        config->is_partial = true;
    } else if (strcmp(name, "objectformat") == 0) {
        judged->has_sha256 = strcasecmp(item->value, "sha256") == 0;
        if (!judged->has_sha256 && strcasecmp(item->value, "sha1") != 0)
            memcpy(judged->bad_format, item->value, sizeof judged->bad_format);
    } else if (strcmp(name, "refstorage") == 0) {
        judged->has_reftable = strcasecmp(item->value, "files") != 0;
    } else {
        memcpy(judged->unknown, item->name, sizeof judged->unknown);
    }
}

static enum ts_git_error refuse_extension(const char *name, const char *value, const char *path,
                                          struct ts_git_fault *ret_fault) {
    char thing[2 * NAME_MAX_ + 4096];
    (void)snprintf(thing, sizeof thing, "extensions.%s%s in %s", name, value, path);
    return git__fault(TS_GIT_BAD_EXTENSION, thing, ret_fault);
}

/* Decides whether the repository can be read. With version 0, git ignores unknown extensions, but refuses
 * those that change how a repository is read, because otherwise the repository would seem empty. */
static enum ts_git_error conclude(const struct judged *judged, const char *path, struct git__config *config,
                                  struct ts_git_fault *ret_fault) {
    if (judged->version > 1)
        return git__fault(TS_GIT_BAD_VERSION, path, ret_fault);
    if (judged->version == 1 && judged->unknown[0] != '\0')
        return refuse_extension(judged->unknown, "", path, ret_fault);
    if (judged->bad_format[0] != '\0')
        return refuse_extension("objectformat = ", judged->bad_format, path, ret_fault);
    if (judged->has_reftable)
        return git__fault(TS_GIT_REFTABLE, path, ret_fault);
    if (judged->version == 0 && judged->has_sha256)
        return git__fault(TS_GIT_BAD_FORM, path, ret_fault);
    config->hash = judged->has_sha256 ? TS_GIT_SHA256 : TS_GIT_SHA1;
    return TS_GIT_OK;
}

enum ts_git_error git__config_parse(struct ts_bytes text, const char *path, struct git__config *ret_config,
                                    struct ts_git_fault *ret_fault) {
    struct git__config config = {.hash = TS_GIT_SHA1};
    struct judged judged = {.version = 0};
    if (text.len == 0) {
        *ret_config = config;
        return TS_GIT_OK;
    }
    if (ts_bytes_starts_with(text, TS_BYTES("\xef\xbb\xbf"))) /* byte order mark */
        text = ts_bytes_skip(text, 3);
    struct reader r = {.at = (const char *)text.data, .end = (const char *)text.data + text.len};
    enum found found;
    while ((found = next_item(&r)) == FOUND_ITEM) {
        const struct item *item = &r.item;
        if (strcmp(item->section, "core") == 0 && !item->has_subsection) {
            if (strcmp(item->name, "repositoryformatversion") == 0 &&
                ts_u32_parse(ts_bytes_of_cstring(item->value), &judged.version) != TS_NUMBER_OK)
                return git__fault(TS_GIT_BAD_VERSION, path, ret_fault);
            if (strcmp(item->name, "bare") == 0)
                config.is_bare = is_true(item->value);
        } else if (strcmp(item->section, "extensions") == 0) {
            judge_extension(item, &judged, &config);
        } else if (strcmp(item->section, "remote") == 0 && item->has_subsection &&
                   strcmp(item->name, "promisor") == 0) {
            config.is_partial = config.is_partial || is_true(item->value);
        }
    }
    if (found == FOUND_BAD)
        return git__fault(TS_GIT_BAD_CONFIG, path, ret_fault);
    enum ts_git_error error = conclude(&judged, path, &config, ret_fault);
    if (error == TS_GIT_OK)
        *ret_config = config;
    return error;
}

enum ts_git_error git__config_read(const char *path, struct git__config *ret_config,
                                   struct ts_git_fault *ret_fault) {
    char *text = NULL;
    size_t len = 0;
    enum ts_git_error error = git__file_read(path, CONFIG_MAX, &text, &len, ret_fault);
    if (error == TS_GIT_OK || error == TS_GIT_MISSING)
        error = git__config_parse(ts_bytes_of(text, len), path, ret_config, ret_fault);
    free(text);
    return error;
}

void git__config_each(const char *path, const char *section, const char *subsection, const char *name,
                      void (*take)(void *ctx, const char *value), void *ctx) {
    char *text = NULL;
    size_t len = 0;
    if (git__file_read(path, CONFIG_MAX, &text, &len, NULL) != TS_GIT_OK)
        return;
    struct reader r = {.at = text, .end = text + len};
    while (next_item(&r) == FOUND_ITEM)
        if (strcmp(r.item.section, section) == 0 && strcmp(r.item.name, name) == 0 &&
            strcmp(r.item.subsection, subsection != NULL ? subsection : "") == 0)
            take(ctx, r.item.value);
    free(text);
}

struct first_value {
    char *text;
    size_t size;
    bool is_set;
};

static void take_first(void *ctx, const char *value) {
    struct first_value *first = ctx;
    int len = first->is_set ? -1 : snprintf(first->text, first->size, "%s", value);
    first->is_set = first->is_set || (len >= 0 && (size_t)len < first->size);
}

bool ts_git_repo_remote_url(const struct ts_git_repo *repo, const char *remote, char *ret_url, size_t size) {
    struct first_value first = {.text = malloc(size), .size = size};
    char *path = git__path_join(repo->common_dir, "config");
    if (path != NULL && first.text != NULL)
        git__config_each(path, "remote", remote, "url", take_first, &first);
    if (first.is_set)
        memcpy(ret_url, first.text, strlen(first.text) + 1);
    free(path);
    free(first.text);
    return first.is_set;
}
