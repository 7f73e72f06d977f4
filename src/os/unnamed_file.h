/*
 * Temporary files without a name: on disk, and in memory.
 */
#ifndef TS_OS_UNNAMED_FILE_H
#define TS_OS_UNNAMED_FILE_H

#include "base/bytes.h"

/* Opens an empty file in the folder, for reading and writing. It disappears with its last descriptor or
 * mapping, even if the process is killed. Returns -1 with errno on failure. */
int ts_unnamed_file_open(const char *folder);

/* Opens a file in memory with this content, for a program that reads it as its standard input. The offset is
 * at the start. Returns -1 with errno on failure. */
int ts_unnamed_memory_of(struct ts_bytes content);

#endif
