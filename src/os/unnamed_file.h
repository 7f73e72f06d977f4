/*
 * Temporary files without a name.
 */
#ifndef TS_OS_UNNAMED_FILE_H
#define TS_OS_UNNAMED_FILE_H

/* Opens an empty file in the folder, for reading and writing. It disappears with its last descriptor or
 * mapping, even if the process is killed. Returns -1 with errno on failure. */
int ts_unnamed_file_open(const char *folder);

#endif
