/*
 * Reads one page of a forge's list. Pure, except that it allocates.
 */
#ifndef TS_DISCOVER_ANSWER_H
#define TS_DISCOVER_ANSWER_H

#include "discover/discover.h"
#include "forge.h"

enum discover_page_result {
    DISCOVER_PAGE_OK,
    DISCOVER_PAGE_NOT_JSON,
    DISCOVER_PAGE_OTHER,    /* the page is JSON, but not the forge's list */
    DISCOVER_PAGE_NAME,     /* a repository has an invalid name, or one that is too long */
    DISCOVER_PAGE_OWNER,    /* a repository belongs to another owner */
    DISCOVER_PAGE_REPEATED, /* the page begins with the same name as the previous page */
    DISCOVER_PAGE_NO_MEMORY,
};

/* State between the pages of a list. The caller sets the first three members and zeroes the others. */
struct discover_pages {
    const struct ts_discover_options *options;
    const struct discover_request *request;
    struct ts_discovered *list;
    const char *first; /* first name of the previous page; the text is in the list's arena */
    bool is_last;      /* no page follows */
};

enum discover_page_result discover__page_read(struct discover_pages *pages, struct ts_bytes body);

#endif
