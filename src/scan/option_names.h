/*
 * Names of options in messages. A message contains a code instead of the name, such as "raise "
 * SCAN_OPTION_MEMORY. scan__name_options replaces the code with the name that the user knows: the command's
 * option, or the name in turnstone/scan.h for programs that link the library.
 *
 * A path or other untrusted text cannot contain a code, because such texts are escaped and have no control
 * characters.
 */
#ifndef TS_SCAN_OPTION_NAMES_H
#define TS_SCAN_OPTION_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define SCAN_OPTION_MARK             "\001"

#define SCAN_OPTION_ALLOW_MISSING    SCAN_OPTION_MARK "a"
#define SCAN_OPTION_ARCHIVE_DEPTH    SCAN_OPTION_MARK "b"
#define SCAN_OPTION_BRANCH           SCAN_OPTION_MARK "c"
#define SCAN_OPTION_COMMIT           SCAN_OPTION_MARK "d"
#define SCAN_OPTION_CONFIG           SCAN_OPTION_MARK "e"
#define SCAN_OPTION_DIR              SCAN_OPTION_MARK "f"
#define SCAN_OPTION_JOBS             SCAN_OPTION_MARK "g"
#define SCAN_OPTION_MAX_ARCHIVE      SCAN_OPTION_MARK "h"
#define SCAN_OPTION_MAX_RATIO        SCAN_OPTION_MARK "i"
#define SCAN_OPTION_MAX_TIME         SCAN_OPTION_MARK "j"
#define SCAN_OPTION_MEMORY           SCAN_OPTION_MARK "k"
#define SCAN_OPTION_NO_ARCHIVES      SCAN_OPTION_MARK "l"
#define SCAN_OPTION_NO_BUILTIN_RULES SCAN_OPTION_MARK "m"
#define SCAN_OPTION_NO_REPO_CONFIG   SCAN_OPTION_MARK "n"
#define SCAN_OPTION_OCCURRENCES      SCAN_OPTION_MARK "o"
#define SCAN_OPTION_RANGE            SCAN_OPTION_MARK "p"
#define SCAN_OPTION_REF              SCAN_OPTION_MARK "q"
#define SCAN_OPTION_RULES            SCAN_OPTION_MARK "r"
#define SCAN_OPTION_SINCE            SCAN_OPTION_MARK "s"
#define SCAN_OPTION_STAGED           SCAN_OPTION_MARK "t"
#define SCAN_OPTION_STRICT           SCAN_OPTION_MARK "u"
#define SCAN_OPTION_UNREACHABLE      SCAN_OPTION_MARK "v"
#define SCAN_OPTION_WORKING_TREE     SCAN_OPTION_MARK "w"

/* Writes the text with names instead of codes, truncated to the size, and returns it. for_library selects the
 * names of turnstone/scan.h. */
const char *scan__name_options(const char *text, bool for_library, char *ret_text, size_t size);

#endif
