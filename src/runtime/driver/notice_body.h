/* The body of a notice: JSON with ids, rules, severities, the name of the target and counts. */
#ifndef TS_RUNTIME_DRIVER_NOTICE_BODY_H
#define TS_RUNTIME_DRIVER_NOTICE_BODY_H

#include "notify/notify.h"
#include "runtime/durable/notices.h"

/* The most findings that a body lists, those of the highest severity first. */
enum { RUNTIME__LISTED_MAX = 100 };

struct runtime__noticed {
    struct ts_fleet_finding id;
    char rule[80], name[256];
    uint8_t severity, confidence;
    uint64_t occurrences;
};

/* The open findings of a notice. The caller zero-initialises the struct and releases it. */
struct runtime__news {
    struct runtime__noticed *list;
    size_t count, capacity;
    bool no_memory;
};

/* Keeps the finding if it is open. A callback for ts_notice_findings; the context is a struct
 * runtime__news. */
void runtime__news_keep(void *context, const struct ts_noticed *noticed);
void runtime__news_release(struct runtime__news *news);

/* Returns how many of the findings have at least the severity and the confidence that the sink asks for. */
size_t runtime__news_count(const struct runtime__news *news, const struct ts_notify_sink *sink);

/* Returns the body, which the caller frees; NULL when memory runs out. Sorts the news. */
char *runtime__notice_body(const struct ts_notice_taken *taken, struct runtime__news *news,
                           const struct ts_notify_sink *sink, const char *id);

#endif
