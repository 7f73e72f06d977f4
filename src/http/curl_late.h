/* libcurl, loaded for the first request: see os/late_library.h. */
#ifndef TS_HTTP_CURL_LATE_H
#define TS_HTTP_CURL_LATE_H

#include "os/late_library.h"

#include <curl/curl.h>

/* curl also defines these two functions as macros that check types. The macros would replace the names in the
 * list below. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

#define HTTP_CURL_FUNCTIONS(X)                                                                               \
    X(curl_easy_cleanup)                                                                                     \
    X(curl_easy_getinfo)                                                                                     \
    X(curl_easy_header)                                                                                      \
    X(curl_easy_init)                                                                                        \
    X(curl_easy_perform)                                                                                     \
    X(curl_easy_reset)                                                                                       \
    X(curl_easy_setopt)                                                                                      \
    X(curl_global_init)                                                                                      \
    X(curl_slist_append)                                                                                     \
    X(curl_slist_free_all)

struct http__curl_calls {
    HTTP_CURL_FUNCTIONS(TS_LATE_MEMBER)
};

extern struct http__curl_calls http__curl;
extern struct ts_late_library http__curl_library;

#define curl_easy_cleanup   http__curl.curl_easy_cleanup
#define curl_easy_getinfo   http__curl.curl_easy_getinfo
#define curl_easy_header    http__curl.curl_easy_header
#define curl_easy_init      http__curl.curl_easy_init
#define curl_easy_perform   http__curl.curl_easy_perform
#define curl_easy_reset     http__curl.curl_easy_reset
#define curl_easy_setopt    http__curl.curl_easy_setopt
#define curl_global_init    http__curl.curl_global_init
#define curl_slist_append   http__curl.curl_slist_append
#define curl_slist_free_all http__curl.curl_slist_free_all

#endif
