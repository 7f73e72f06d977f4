/*
 * The page of a repository at a code host, by the URL of its remote `origin`.
 */
#ifndef TS_SCAN_FORGE_H
#define TS_SCAN_FORGE_H

#include "report/report.h"

#include <stdbool.h>

#define SCAN_FORGE_SIZE 512

/* "https://github.com/a/b" of any URL that git takes, without user, password and .git: letters, digits and -._~/: alone. Returns false
 * when the host is none that is known. */
bool scan__forge_of(const char *url, char ret_page[static SCAN_FORGE_SIZE], enum ts_forge *ret_kind);

#endif
