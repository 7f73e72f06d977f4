/*
 * Tokens for forges: from a file with lines HOST TOKEN, or from the environment for the public services.
 */
#ifndef TS_DISCOVER_TOKENS_H
#define TS_DISCOVER_TOKENS_H

#include "discover/discover.h"
#include "forge.h"

#define DISCOVER_TOKEN_MAX 4096

/* Finds the token for the host of a request. The file must be private, as os/private_file.h says. ret_token
 * is empty if there is no token for the host. */
enum ts_discover_result discover__token_find(const char *file, const struct discover_request *request,
                                             char ret_token[static DISCOVER_TOKEN_MAX + 1],
                                             struct ts_discover_error *ret_error);

#endif
