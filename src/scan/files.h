/*
 * The files below a folder, and scanning bytes from a descriptor.
 */
#ifndef TS_SCAN_FILES_H
#define TS_SCAN_FILES_H

#include "pass.h"

struct scan_files {
    /* Paths of files and symbolic links, relative to the folder, sorted by bytes. Links are not followed. */
    char **paths;
    size_t count;
    size_t capacity;
    uint64_t skipped; /* number of entries that are neither file, folder nor link */
    struct ts_arena arena;
};

struct scan_files_options {
    bool without_git;    /* skip everything named .git */
    uint64_t memory_max; /* memory for the list; files that do not fit are a fault */
};

/* Lists the files below a folder. Folders that cannot be read are faults. Returns false when memory runs out,
 * or when `folder` itself cannot be opened: errno has the reason. */
bool scan__files_list(struct scan_files *files, const char *folder, const struct scan_files_options *options,
                      struct scan_faults *faults);
void scan__files_release(struct scan_files *files);

/* The state of one thread that reads and scans contents. */
struct scan_reader {
    struct scan_pass *pass;
    struct scan_look *look;
    uint8_t *buffer;
    size_t size;
    uint8_t head[16]; /* the beginning of the content */
    size_t head_len;
};

/* Scans a content from a descriptor: as a whole if it fits into the buffer, otherwise in windows. Sets
 * *ret_bytes to the size of the content. Returns false if the content cannot be read: errno has the
 * reason. */
bool scan__read_fd(struct scan_reader *reader, const struct scan_content *content, int fd,
                   uint64_t *ret_bytes);

/* Scans a content in memory, without copying it. */
void scan__read_bytes(struct scan_reader *reader, const struct scan_content *content, struct ts_bytes bytes);

/* Scans the text of a symbolic link: its target path, as git stores it. */
bool scan__read_link(struct scan_reader *reader, const struct scan_content *content, int folder,
                     const char *path, uint64_t *ret_bytes);

#endif
