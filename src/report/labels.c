#include "labels.h"

#include "base/number.h"
#include "base/redact.h"
#include "os/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIELDS = 5, FIELDS_MIN = 4 };

/* Writes the error, and returns false. Line 0 stands for the file as a whole. */
static bool fail(struct ts_labels_error *ret_error, const char *path, size_t line, const char *reason) {
    char file[200];
    (void)ts_text_escape(ts_bytes_of_cstring(path), file, sizeof file);
    if (line > 0)
        (void)snprintf(ret_error->text, sizeof ret_error->text, "%s:%zu: %s", file, line, reason);
    else
        (void)snprintf(ret_error->text, sizeof ret_error->text, "%s: %s", file, reason);
    return false;
}

int ts_label_place_compare(struct ts_label_place a, struct ts_label_place b) {
    if (a.line != b.line)
        return a.line < b.line ? -1 : 1;
    return (a.column > b.column) - (a.column < b.column);
}

static int compare(const void *a, const void *b) {
    const struct ts_label *x = a;
    const struct ts_label *y = b;
    int order = strcmp(x->path, y->path);
    return order != 0 ? order : ts_label_place_compare(x->from, y->from);
}

/* Reads a place such as "12:15": line and column. Returns false if the text is not a place. */
static bool read_place(const char *text, struct ts_label_place *ret) {
    const char *colon = strchr(text, ':');
    return colon != NULL &&
           ts_u64_parse(ts_bytes_of(text, (size_t)(colon - text)), &ret->line) == TS_NUMBER_OK &&
           ts_u64_parse(ts_bytes_of_cstring(colon + 1), &ret->column) == TS_NUMBER_OK && ret->line > 0 &&
           ret->column > 0;
}

/* Returns NULL, or the problem with the line. */
static const char *read_line(char *line, struct ts_label *ret) {
    char *fields[FIELDS];
    size_t count = 0;
    for (char *rest = line; rest != NULL; count++) {
        if (count == FIELDS)
            return "more than five fields; a path, two places, a family and a rule, with tabs between them";
        fields[count] = strsep(&rest, "\t");
    }
    if (count < FIELDS_MIN)
        return "too few fields; a path, two places and a family, with tabs between them";
    struct ts_label label = {.path = fields[0],
                             .family = fields[3],
                             .rule = count == FIELDS ? fields[4] : "",
                             .is_secret = fields[3][0] != '!'};
    label.family += !label.is_secret;
    if (label.path[0] == '\0' || label.path[0] == '/')
        return "the path must be relative to the folder of the labels";
    if (!read_place(fields[1], &label.from) || !read_place(fields[2], &label.to) ||
        ts_label_place_compare(label.from, label.to) >= 0)
        return "the places must be LINE:COLUMN, from 1, the second after the first";
    if (label.family[0] == '\0')
        return "the family is empty; use a word such as cloud, or !uuid for a kind of false positive";
    *ret = label;
    return NULL;
}

static char *read_file(const char *path, struct ts_labels_error *ret_error) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    char *text = NULL;
    if (fd < 0 || fstat(fd, &status) != 0) {
        (void)fail(ret_error, path, 0, strerror(errno));
    } else if (!S_ISREG(status.st_mode) || (size_t)status.st_size > TS_LABELS_SIZE_MAX) {
        (void)fail(ret_error, path, 0, "not a file of at most 64 MiB");
    } else {
        size_t size = (size_t)status.st_size;
        size_t len = 0;
        text = malloc(size + 1);
        if (text == NULL || !ts_read_up_to(fd, text, size, &len)) {
            (void)fail(ret_error, path, 0, text == NULL ? "out of memory" : strerror(errno));
            free(text);
            text = NULL;
        } else {
            text[len] = '\0';
        }
    }
    if (fd >= 0)
        close(fd);
    return text;
}

bool ts_labels_read(const char *path, struct ts_labels *ret_labels, struct ts_labels_error *ret_error) {
    struct ts_labels labels = {.text = read_file(path, ret_error)};
    if (labels.text == NULL)
        return false;
    size_t lines = 1;
    for (const char *at = labels.text; *at; at++)
        lines += *at == '\n';
    labels.items = calloc(lines, sizeof *labels.items);
    if (labels.items == NULL) {
        ts_labels_release(&labels);
        return fail(ret_error, path, 0, "out of memory");
    }
    size_t number = 0;
    for (char *rest = labels.text; rest != NULL;) {
        char *line = strsep(&rest, "\n");
        number++;
        size_t len = strlen(line);
        if (len > 0 && line[len - 1] == '\r')
            line[len - 1] = '\0';
        if (line[0] == '\0' || line[0] == '#')
            continue;
        const char *wrong = read_line(line, &labels.items[labels.count]);
        if (wrong != NULL) {
            ts_labels_release(&labels);
            return fail(ret_error, path, number, wrong);
        }
        labels.secret_count += labels.items[labels.count++].is_secret;
    }
    qsort(labels.items, labels.count, sizeof *labels.items, compare);
    *ret_labels = labels;
    return true;
}

void ts_labels_release(struct ts_labels *labels) {
    if (labels == NULL)
        return;
    free(labels->items);
    free(labels->text);
    *labels = (struct ts_labels){.count = 0};
}
