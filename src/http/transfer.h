/* One request over HTTPS, by libcurl. */
#ifndef TS_HTTP_TRANSFER_H
#define TS_HTTP_TRANSFER_H

#include "http/http.h"

#define HTTP_STOPPED "stopped"

struct http_transfer;

struct http_transfer *http__transfer_new(const struct ts_http_options *options,
                                         struct ts_http_error *ret_error);
void http__transfer_free(struct http_transfer *transfer); /* accepts NULL */

struct ts_http_answer http__transfer_send(struct http_transfer *transfer,
                                          const struct ts_http_request *request);

#endif
