/*
 * Forges as data, and requests to them as text. Pure.
 *
 * Templates have {{host}}, {{owner}} (percent-encoded), {{page}}, {{token}} and {{name}}.
 */
#ifndef TS_DISCOVER_FORGE_H
#define TS_DISCOVER_FORGE_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

enum { DISCOVER_HOST_MAX = 255, DISCOVER_OWNER_MAX = 255 };

struct discover_forge {
    const char *name;         /* name of the forge, before "://" in requests */
    const char *own_host;     /* host of the public service; NULL: none */
    const char *own_api;      /* URL of the public service's API; NULL: `api` is used */
    const char *api;          /* URL of the API of all other hosts */
    const char *variable;     /* environment variable with a token for the public service; NULL: none */
    const char *token_header; /* the header with a token */
    const char *header;       /* an additional header; NULL: none */
    const char *organisation; /* path of a page of an organisation's repositories */
    const char *user;         /* path of a page of a user's repositories; NULL: none */
    bool has_groups;          /* an owner can be inside another owner: a/b/c */
    const char *list;         /* field with the list; NULL: the answer is the list */
    const char *more;         /* field that all pages except the last have; NULL: an empty page is the last */
    const char *repository;   /* field with the name: owner/repository */
    const char *archived;     /* field that is true in archived repositories; NULL: no such field */
    const char *fork;         /* field that is true or an object in forks */
};

struct discover_request {
    const struct discover_forge *forge;
    char host[DISCOVER_HOST_MAX + 1]; /* name of the host in lower case, with the port if there is one */
    char owner[DISCOVER_OWNER_MAX + 1];
};

/* Returns the forge of a request "NAME://…", or NULL if no forge has this name. */
const struct discover_forge *discover__forge_of(const char *text);

/* Parses a request. Returns NULL, or the reason why the text is wrong, which continues a sentence that begins
 * with "the request". */
const char *discover__request_parse(const char *text, struct discover_request *ret_request);

/* Whether the name is a path of 2 segments or more, of characters that every forge and git accept: letters,
 * digits and -._ */
bool discover__is_name(const char *name);

/* The values of placeholders. A value is NULL if the template does not have its placeholder. */
struct discover_values {
    const char *host;
    const char *owner;
    const char *page;
    const char *token;
    const char *name;
};

/* Fills in the template. Returns false if the result does not fit. */
bool discover__fill(const char *template, const struct discover_values *values, char *ret_text, size_t size);

#endif
