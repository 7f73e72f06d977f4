#include "notice_body.h"

#include "base/hex.h"
#include "base/utf8.h"
#include "os/grow.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- findings ---- */

void runtime__news_keep(void *context, const struct ts_noticed *noticed) {
    struct runtime__news *news = context;
    if (noticed->state != TS_FLEET_FINDING_OPEN || news->no_memory)
        return;
    news->no_memory = !TS_GROW(news->list, news->capacity, news->count + 1);
    if (news->no_memory)
        return;
    struct runtime__noticed *kept = &news->list[news->count++];
    *kept = (struct runtime__noticed){.id = noticed->id,
                                      .severity = noticed->severity,
                                      .confidence = noticed->confidence,
                                      .occurrences = noticed->occurrences};
    (void)snprintf(kept->rule, sizeof kept->rule, "%.*s", (int)noticed->rule.len,
                   (const char *)noticed->rule.data);
    (void)snprintf(kept->name, sizeof kept->name, "%.*s", (int)noticed->name.len,
                   (const char *)noticed->name.data);
}

void runtime__news_release(struct runtime__news *news) {
    free(news->list);
    *news = (struct runtime__news){0};
}

static bool is_wanted(const struct runtime__noticed *noticed, const struct ts_notify_sink *sink) {
    return noticed->severity >= sink->severity && noticed->confidence >= sink->confidence;
}

size_t runtime__news_count(const struct runtime__news *news, const struct ts_notify_sink *sink) {
    size_t count = 0;
    for (size_t i = 0; i < news->count; i++)
        count += is_wanted(&news->list[i], sink);
    return count;
}

/* Orders by severity from the highest, then by id, so that the same notice always has the same body. */
static int compare(const void *a, const void *b) {
    const struct runtime__noticed *one = a, *other = b;
    return one->severity != other->severity ? (int)other->severity - (int)one->severity
                                            : memcmp(&one->id, &other->id, sizeof one->id);
}

/* ---- JSON ---- */

/* Returns the text as JSON. If the text is not UTF-8, writes ? for its bytes that are not ASCII. */
static json_t *text_of(struct ts_bytes text) {
    if (ts_utf8_is_valid(text))
        return json_stringn_nocheck((const char *)text.data, text.len);
    char *copy = malloc(text.len + 1);
    if (copy == NULL)
        return NULL;
    for (size_t i = 0; i < text.len; i++)
        copy[i] = (char)(text.data[i] < 0x80 ? text.data[i] : '?');
    json_t *result = json_stringn_nocheck(copy, text.len);
    free(copy);
    return result;
}

static json_t *hex_of(const void *bytes, size_t len) {
    char digits[2 * 32];
    (void)ts_hex_encode(ts_bytes_of(bytes, len), digits);
    return json_stringn_nocheck(digits, 2 * len);
}

static json_t *finding_of(const struct runtime__noticed *noticed) {
    json_t *object =
        json_pack("{s:o, s:s, s:s, s:s, s:s}", "id", hex_of(noticed->id.bytes, sizeof noticed->id.bytes),
                  "rule", noticed->rule, "name", noticed->name, "severity",
                  ts_severity_name((enum ts_severity)noticed->severity), "confidence",
                  ts_confidence_name((enum ts_confidence)noticed->confidence));
    if (object != NULL && noticed->occurrences > 0)
        (void)json_object_set_new(object, "occurrences", json_integer((json_int_t)noticed->occurrences));
    return object;
}

static void count_severities(const struct runtime__news *news, const struct ts_notify_sink *sink,
                             json_t *counts) {
    for (size_t i = 0; i < news->count; i++) {
        const char *name = ts_severity_name((enum ts_severity)news->list[i].severity);
        if (!is_wanted(&news->list[i], sink))
            continue;
        const json_int_t before = json_integer_value(json_object_get(counts, name));
        (void)json_object_set_new(counts, name, json_integer(before + 1));
    }
}

static json_t *object_of(const struct ts_notice_taken *taken, const struct runtime__news *news,
                         const struct ts_notify_sink *sink, const char *id) {
    const struct ts_fleet_notice *notice = &taken->notice;
    const struct ts_target_id *target = &taken->ref.key.target;
    json_t *findings = json_array(), *counts = json_object();
    size_t listed = 0;
    for (size_t i = 0; i < news->count && listed < RUNTIME__LISTED_MAX; i++) {
        if (!is_wanted(&news->list[i], sink))
            continue;
        (void)json_array_append_new(findings, finding_of(&news->list[i]));
        listed++;
    }
    (void)json_object_set_new(counts, "new", json_integer((json_int_t)runtime__news_count(news, sink)));
    (void)json_object_set_new(counts, "listed", json_integer((json_int_t)listed));
    (void)json_object_set_new(counts, "came", json_integer((json_int_t)notice->came));
    (void)json_object_set_new(counts, "went", json_integer((json_int_t)notice->went));
    count_severities(news, sink, counts);
    return json_pack("{s:i, s:s, s:s, s:o, s:I, s:I, s:I, s:{s:o, s:o, s:o}, s:o, s:o}", "version", 1, "type",
                     "findings.new", "id", id, "tenant", text_of(ts_tenant_id_text(&taken->ref.tenant)),
                     "run", (json_int_t)notice->run, "run_number", (json_int_t)taken->ref.key.run, "time_ms",
                     (json_int_t)notice->at_ms, "target", "id", hex_of(target->bytes, sizeof target->bytes),
                     "address", text_of(notice->address), "selection", text_of(notice->selection), "counts",
                     counts, "findings", findings);
}

char *runtime__notice_body(const struct ts_notice_taken *taken, struct runtime__news *news,
                           const struct ts_notify_sink *sink, const char *id) {
    if (news->count > 0)
        qsort(news->list, news->count, sizeof *news->list, compare);
    json_t *object = object_of(taken, news, sink, id);
    char *body = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    json_decref(object);
    return body;
}
