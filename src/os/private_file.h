/*
 * Files with secrets: nobody but their owner may have access to them, and the owner is this user or root. The
 * file is opened once, and all checks are made on that descriptor, so that nobody can replace the file between
 * a check and the reading.
 */
#ifndef TS_OS_PRIVATE_FILE_H
#define TS_OS_PRIVATE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* One line that contains no value from the file. It continues a sentence that begins with the file's name. */
struct ts_private_error {
    char text[240];
};

struct ts_private_file_options {
    size_t max;       /* maximum size of the file in bytes; a multiple of 1024 */
    bool is_text;     /* a zero byte is an error */
    bool allow_other; /* a pipe or a device is read, too, without checks of its owner and mode */
};

/* A file that was read. {0} holds no file. */
struct ts_private_file {
    char *text; /* text of the file, and a zero byte that `size` does not count */
    size_t size;
    char *rest;    /* the lines that ts_private_file_line has not returned yet; NULL after the last line */
    unsigned line; /* number of the last returned line */
};

/* Reads the file. On failure ret_file is unchanged. */
bool ts_private_file_read(const char *path, const struct ts_private_file_options *options,
                          struct ts_private_file *ret_file, struct ts_private_error *ret_error);

/* Overwrites the text in memory, and frees it. */
void ts_private_file_release(struct ts_private_file *file);

/* Returns the next line without the blanks around it. The line is a part of the text, which this function
 * modifies. Skips empty lines, and comments, which begin with #. Returns NULL after the last line. */
char *ts_private_file_line(struct ts_private_file *file);

/* Returns the text without the blanks around it. */
char *ts_private_trim(char *text);

/* Writes the error, and returns false. */
__attribute__((format(printf, 2, 3))) bool ts_private_refuse(struct ts_private_error *ret_error,
                                                             const char *format, ...);

#endif
