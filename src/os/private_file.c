#include "os/private_file.h"

#include "base/assert.h"
#include "os/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

bool ts_private_refuse(struct ts_private_error *ret_error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(ret_error->text, sizeof ret_error->text, format, arguments);
    va_end(arguments);
    return false;
}

static bool refuse_size(const struct ts_private_file_options *options, struct ts_private_error *ret_error) {
    return ts_private_refuse(ret_error, "is too large; use a file of at most %zu KiB", options->max / 1024);
}

static bool check(int fd, const struct ts_private_file_options *options, struct ts_private_error *ret_error) {
    struct stat status;
    if (fstat(fd, &status) != 0)
        return ts_private_refuse(ret_error, "cannot be read: %s", strerror(errno));
    if (!S_ISREG(status.st_mode))
        return options->allow_other ||
               ts_private_refuse(ret_error, "is not a regular file; use a file of at most %zu KiB",
                                 options->max / 1024);
    if (status.st_uid != 0 && status.st_uid != geteuid())
        return ts_private_refuse(ret_error, "belongs to another user; it must be yours, or root's");
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return ts_private_refuse(ret_error, "can be used by others; run 'chmod 600' on it");
    return (size_t)status.st_size <= options->max || refuse_size(options, ret_error);
}

/* Reads the whole file. The text has room for one byte more than the limit, so that a file that grows
 * meanwhile is refused, and not cut. */
static bool read_all(int fd, const struct ts_private_file_options *options, struct ts_private_file *file,
                     struct ts_private_error *ret_error) {
    file->text = malloc(options->max + 2);
    if (file->text == NULL)
        return ts_private_refuse(ret_error, "cannot be read: out of memory");
    if (!ts_read_up_to(fd, file->text, options->max + 1, &file->size)) {
        const int error = errno;
        explicit_bzero(file->text, options->max + 1);
        return ts_private_refuse(ret_error, "cannot be read: %s", strerror(error));
    }
    if (file->size > options->max)
        return refuse_size(options, ret_error);
    if (options->is_text && memchr(file->text, '\0', file->size) != NULL)
        return ts_private_refuse(ret_error, "has a zero byte; remove it");
    file->text[file->size] = '\0';
    file->rest = file->text;
    return true;
}

bool ts_private_file_read(const char *path, const struct ts_private_file_options *options,
                          struct ts_private_file *ret_file, struct ts_private_error *ret_error) {
    ts_assert(options->max % 1024 == 0);
    /* If pipes are refused, O_NONBLOCK makes sure that opening a pipe does not wait for a writer. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (options->allow_other ? 0 : O_NONBLOCK));
    if (fd < 0)
        return ts_private_refuse(ret_error, "cannot be read: %s", strerror(errno));
    struct ts_private_file file = {0};
    const bool done = check(fd, options, ret_error) && read_all(fd, options, &file, ret_error);
    (void)close(fd);
    if (done)
        *ret_file = file;
    else
        ts_private_file_release(&file);
    return done;
}

void ts_private_file_release(struct ts_private_file *file) {
    if (file->text != NULL)
        explicit_bzero(file->text, file->size);
    free(file->text);
    *file = (struct ts_private_file){0};
}

char *ts_private_trim(char *text) {
    text += strspn(text, " \t");
    size_t len = strlen(text);
    while (len > 0 && strchr(" \t\r", text[len - 1]) != NULL)
        text[--len] = '\0';
    return text;
}

char *ts_private_file_line(struct ts_private_file *file) {
    for (char *line; (line = strsep(&file->rest, "\n")) != NULL;) {
        file->line++;
        line = ts_private_trim(line);
        if (*line != '\0' && *line != '#')
            return line;
    }
    return NULL;
}
