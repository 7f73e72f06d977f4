#include "yaml_file.h"

#include "base/redact.h"
#include "os/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

enum { FILE_MAX = 1 << 20, NAME_MAX_LEN = 128 };

struct reader {
    const char *path;
    yaml_parser_t parser;
    struct config_taker taker;
    struct ts_config_error *error;
};

static enum ts_config_result complain(struct reader *reader, size_t line, const char *what) {
    snprintf(reader->error->text, sizeof reader->error->text, "%s:%zu: %s", reader->path, line, what);
    return TS_CONFIG_INVALID;
}

/* Reads the next event, which the caller deletes. */
static enum ts_config_result next(struct reader *reader, yaml_event_t *ret_event) {
    if (yaml_parser_parse(&reader->parser, ret_event) != 0)
        return TS_CONFIG_OK;
    if (reader->parser.error == YAML_MEMORY_ERROR)
        return TS_CONFIG_NO_MEMORY;
    char what[160];
    const char *problem = reader->parser.problem != NULL ? reader->parser.problem : "unknown error";
    snprintf(what, sizeof what, "not YAML: %s", problem);
    size_t line = reader->parser.problem_mark.line;
    return complain(reader, line + 1, what);
}

static size_t line_of(const yaml_event_t *event) {
    return event->start_mark.line + 1;
}

static struct ts_bytes scalar_of(const yaml_event_t *event) {
    return ts_bytes_of(event->data.scalar.value, event->data.scalar.length);
}

struct name {
    char text[2 * NAME_MAX_LEN + 2];
    size_t len;
};

/* Writes section and key, with a dot between them if there is a section. Returns false when the name is too
 * long. */
static bool join(const struct name *section, struct ts_bytes key, struct name *ret_name) {
    if (key.len > NAME_MAX_LEN || (section->len > NAME_MAX_LEN))
        return false;
    size_t len = section->len;
    memcpy(ret_name->text, section->text, len);
    if (len > 0)
        ret_name->text[len++] = '.';
    if (key.len > 0)
        memcpy(ret_name->text + len, key.data, key.len);
    ret_name->len = len + key.len;
    return true;
}

static enum ts_config_result read_mapping(struct reader *reader, const struct name *section);

static enum ts_config_result complain_about(struct reader *reader, const struct name *name, size_t line,
                                            const char *what) {
    char shown[160], text[400];
    ts_text_quote(ts_bytes_of(name->text, name->len), shown, sizeof shown);
    snprintf(text, sizeof text, "%s: %s", shown, what);
    return complain(reader, line, text);
}

/* Reads the node after a key: a value or, at the top level, a section. */
static enum ts_config_result read_value(struct reader *reader, const struct name *section,
                                        const struct name *name, size_t line) {
    yaml_event_t event;
    enum ts_config_result result = next(reader, &event);
    if (result != TS_CONFIG_OK)
        return result;
    bool at_top = section->len == 0;
    if (event.type == YAML_MAPPING_START_EVENT && at_top) {
        result = read_mapping(reader, name);
    } else if (event.type != YAML_SCALAR_EVENT) {
        result = complain_about(reader, name, line_of(&event),
                                at_top ? "expected a section or a value" : "expected a plain value");
    } else if (at_top && event.data.scalar.length == 0 && memchr(name->text, '.', name->len) == NULL) {
        /* A section without settings is allowed. */
    } else if (!reader->taker.take(reader->taker.context, ts_bytes_of(name->text, name->len),
                                   scalar_of(&event), line)) {
        result = TS_CONFIG_INVALID;
    }
    yaml_event_delete(&event);
    return result;
}

/* Reads the entries of a mapping whose start has been read, up to its end. */
static enum ts_config_result read_mapping(struct reader *reader, const struct name *section) {
    for (;;) {
        yaml_event_t key;
        enum ts_config_result result = next(reader, &key);
        if (result != TS_CONFIG_OK)
            return result;
        bool at_end = key.type == YAML_MAPPING_END_EVENT;
        size_t line = line_of(&key);
        struct name name = {0};
        if (!at_end && key.type != YAML_SCALAR_EVENT)
            result = complain(reader, line, "expected the name of a section or setting");
        else if (!at_end && !join(section, scalar_of(&key), &name))
            result = complain(reader, line, "the name is too long for a setting");
        yaml_event_delete(&key);
        if (at_end || result != TS_CONFIG_OK)
            return result;
        result = read_value(reader, section, &name, line);
        if (result != TS_CONFIG_OK)
            return result;
    }
}

/* Reads the document, which is empty or one mapping. */
static enum ts_config_result read_document(struct reader *reader) {
    bool done = false, has_content = false;
    enum ts_config_result result = TS_CONFIG_OK;
    while (!done && result == TS_CONFIG_OK) {
        yaml_event_t event;
        result = next(reader, &event);
        if (result != TS_CONFIG_OK)
            return result;
        bool is_empty = event.type == YAML_SCALAR_EVENT && event.data.scalar.length == 0;
        done = event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT && has_content)
            result = complain(reader, line_of(&event), "a second document: write all settings into one");
        else if (event.type == YAML_MAPPING_START_EVENT)
            result = read_mapping(reader, &(struct name){0});
        else if ((event.type == YAML_SCALAR_EVENT && !is_empty) || event.type == YAML_ALIAS_EVENT ||
                 event.type == YAML_SEQUENCE_START_EVENT)
            result = complain(reader, line_of(&event), "expected sections, such as \"timeouts:\"");
        has_content |= event.type == YAML_DOCUMENT_START_EVENT;
        yaml_event_delete(&event);
    }
    return result;
}

/* Reads the whole file into memory that the caller frees. */
static enum ts_config_result read_file(const char *path, unsigned char **ret_content, size_t *ret_len,
                                       struct ts_config_error *ret_error) {
    enum ts_config_result result = TS_CONFIG_UNREADABLE;
    unsigned char *content = malloc(FILE_MAX + 1);
    size_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (content == NULL) {
        result = TS_CONFIG_NO_MEMORY;
        goto done;
    }
    if (fd < 0 || !ts_read_up_to(fd, content, FILE_MAX + 1, &len)) {
        char reason[128], shown[160];
        snprintf(ret_error->text, sizeof ret_error->text, "%s: %s",
                 ts_text_quote(ts_bytes_of_cstring(path), shown, sizeof shown),
                 strerror_r(errno, reason, sizeof reason));
        goto done;
    }
    if (len > FILE_MAX) {
        snprintf(ret_error->text, sizeof ret_error->text,
                 "%s: larger than 1 MiB, the limit for a "
                 "configuration",
                 path);
        goto done;
    }
    *ret_content = content;
    *ret_len = len;
    content = NULL;
    result = TS_CONFIG_OK;
done:
    if (fd >= 0)
        close(fd);
    free(content);
    return result;
}

enum ts_config_result config__yaml_read(const char *path, struct config_taker taker,
                                        struct ts_config_error *ret_error) {
    unsigned char *content;
    size_t len;
    enum ts_config_result result = read_file(path, &content, &len, ret_error);
    if (result != TS_CONFIG_OK)
        return result;
    struct reader reader = {.path = path, .taker = taker, .error = ret_error};
    if (yaml_parser_initialize(&reader.parser) == 0) {
        free(content);
        return TS_CONFIG_NO_MEMORY;
    }
    yaml_parser_set_input_string(&reader.parser, content, len);
    result = read_document(&reader);
    yaml_parser_delete(&reader.parser);
    free(content);
    return result;
}
