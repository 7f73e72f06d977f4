/* libcurl, loaded for the first request: see os/late_library.h. */
#ifndef TS_VERIFY_CURL_LATE_H
#define TS_VERIFY_CURL_LATE_H

#include "os/late_library.h"

#include <curl/curl.h>

/* Macros that check types would hide the functions. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

#define VERIFY_CURL_FUNCTIONS(X)                                                                             \
    X(curl_easy_cleanup)                                                                                     \
    X(curl_easy_getinfo)                                                                                     \
    X(curl_easy_init)                                                                                        \
    X(curl_easy_perform)                                                                                     \
    X(curl_easy_reset)                                                                                       \
    X(curl_easy_setopt)                                                                                      \
    X(curl_global_init)                                                                                      \
    X(curl_slist_append)                                                                                     \
    X(curl_slist_free_all)

struct verify__curl_calls {
    VERIFY_CURL_FUNCTIONS(TS_LATE_MEMBER)
};

extern struct verify__curl_calls verify__curl;
extern struct ts_late_library verify__curl_library;

#define curl_easy_cleanup   verify__curl.curl_easy_cleanup
#define curl_easy_getinfo   verify__curl.curl_easy_getinfo
#define curl_easy_init      verify__curl.curl_easy_init
#define curl_easy_perform   verify__curl.curl_easy_perform
#define curl_easy_reset     verify__curl.curl_easy_reset
#define curl_easy_setopt    verify__curl.curl_easy_setopt
#define curl_global_init    verify__curl.curl_global_init
#define curl_slist_append   verify__curl.curl_slist_append
#define curl_slist_free_all verify__curl.curl_slist_free_all

#endif
