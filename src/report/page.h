/* Style and script of the HTML report, put into the program by the build (embed_page.cmake). */
#ifndef TS_REPORT_PAGE_H
#define TS_REPORT_PAGE_H

#include "base/bytes.h"

extern const struct ts_bytes report__page_style;
extern const struct ts_bytes report__page_script;

/* SHA-256 of the style and of the script in base64, for the page's policy. */
extern const char report__page_style_sha256[];
extern const char report__page_script_sha256[];

#endif
