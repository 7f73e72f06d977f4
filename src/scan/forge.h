/*
 * Computes the page of a repository at a code host from the URL of the remote `origin`.
 */
#ifndef TS_SCAN_FORGE_H
#define TS_SCAN_FORGE_H

#include "report/report.h"

#include <stdbool.h>

#define SCAN_FORGE_SIZE 512

/* Makes "https://github.com/a/b" from a URL in any form that git accepts. The result has no user, no password
 * and no .git, and consists of letters, digits and -._~/:% only. Returns false if the host is unknown, or if
 * no such page can be made of the URL. */
bool scan__forge_of(const char *url, char ret_page[static SCAN_FORGE_SIZE], enum ts_forge *ret_kind);

#endif
