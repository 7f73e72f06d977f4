#include "runtime/core/fleet_schedule.h"

#include "fleet_codec.h"

#include "base/number.h"
#include "coord/core/hash.h"

#define FAILED_MIN_MS UINT64_C(5000)
#define FAILED_MAX_MS (UINT64_C(30) * 60 * 1000)

enum {
    FLAG_PAUSED = 1,
    FLAG_DAILY = 2,
    FLAG_NO_ARCHIVED = 4,
    FLAG_NO_FORKS = 8,
    FLAG_SSH = 16,
    FLAG_SHA256 = 32,
    FLAG_BEGUN = 64,
    FLAGS = 127,
};

/* ---- the record ---- */

static void put_list(struct runtime__writer *writer, const struct ts_schedule_list *list) {
    runtime__put_number(writer, list->id);
    runtime__put_number(writer, list->pages);
    runtime__put_number(writer, list->targets);
}

static uint8_t flags_of(const struct ts_fleet_schedule *schedule) {
    return (uint8_t)((schedule->is_paused ? FLAG_PAUSED : 0) | (schedule->is_daily ? FLAG_DAILY : 0) |
                     (schedule->no_archived ? FLAG_NO_ARCHIVED : 0) |
                     (schedule->no_forks ? FLAG_NO_FORKS : 0) | (schedule->ssh ? FLAG_SSH : 0) |
                     (schedule->is_sha256 ? FLAG_SHA256 : 0) | (schedule->has_begun ? FLAG_BEGUN : 0));
}

static void put_failure(struct runtime__writer *writer, const struct ts_fleet_schedule *schedule) {
    runtime__put_number(writer, schedule->failures);
    runtime__put_number(writer, schedule->failed_at_ms);
    runtime__put_number(writer, schedule->again_at_ms);
    runtime__put_text(writer, schedule->why);
}

size_t ts_fleet_schedule_encode(const struct ts_fleet_schedule *schedule,
                                uint8_t ret_bytes[static TS_FLEET_SCHEDULE_MAX]) {
    struct runtime__writer writer = runtime__begin(ret_bytes, TS_FLEET_SCHEDULE_MAX, "TSfc");
    ts_assert(schedule->request_count <= TS_SCHEDULE_REQUESTS && schedule->run_count <= TS_SCHEDULE_RUNS);
    runtime__put_byte(&writer, flags_of(schedule));
    runtime__put_number(&writer, schedule->made_at_ms);
    runtime__put_number(&writer, schedule->first_ms);
    runtime__put_number(&writer, schedule->every_ms);
    runtime__put_number(&writer, schedule->last_due_ms);
    put_list(&writer, &schedule->list);
    runtime__put_number(&writer, schedule->request_count);
    for (size_t i = 0; i < schedule->request_count; i++)
        runtime__put_text(&writer, schedule->requests[i]);
    runtime__put_text(&writer, schedule->selection);
    runtime__put_number(&writer, schedule->lease_ms);
    runtime__put_number(&writer, schedule->attempts);
    runtime__put_number(&writer, schedule->keep);
    runtime__put_number(&writer, schedule->run_count);
    for (size_t i = 0; i < schedule->run_count; i++)
        runtime__put_number(&writer, schedule->runs[i]);
    if (schedule->has_begun) {
        runtime__put_number(&writer, schedule->begun_due_ms);
        put_list(&writer, &schedule->begun);
        runtime__put(&writer, ts_bytes_of(schedule->pin.b, sizeof schedule->pin.b));
    }
    put_failure(&writer, schedule);
    return runtime__seal(&writer);
}

static struct ts_schedule_list take_list(struct runtime__reader *reader) {
    struct ts_schedule_list list = {.id = runtime__take_number(reader)};
    list.pages = runtime__take_number32(reader);
    list.targets = runtime__take_number(reader);
    reader->is_bad = reader->is_bad || list.pages > TS_SCHEDULE_PAGES_MAX;
    return list;
}

static void take_flags(struct ts_fleet_schedule *schedule, uint8_t flags) {
    schedule->is_paused = (flags & FLAG_PAUSED) != 0;
    schedule->is_daily = (flags & FLAG_DAILY) != 0;
    schedule->no_archived = (flags & FLAG_NO_ARCHIVED) != 0;
    schedule->no_forks = (flags & FLAG_NO_FORKS) != 0;
    schedule->ssh = (flags & FLAG_SSH) != 0;
    schedule->is_sha256 = (flags & FLAG_SHA256) != 0;
    schedule->has_begun = (flags & FLAG_BEGUN) != 0;
}

/* Reads a number of items. A number above `max` is invalid. */
static size_t take_count(struct runtime__reader *reader, size_t max) {
    const uint64_t count = runtime__take_number(reader);
    reader->is_bad = reader->is_bad || count > max;
    return reader->is_bad ? 0 : (size_t)count;
}

static void take_fields(struct runtime__reader *reader, struct ts_fleet_schedule *schedule) {
    schedule->made_at_ms = runtime__take_number(reader);
    schedule->first_ms = runtime__take_number(reader);
    schedule->every_ms = runtime__take_number(reader);
    schedule->last_due_ms = runtime__take_number(reader);
    schedule->list = take_list(reader);
    schedule->request_count = take_count(reader, TS_SCHEDULE_REQUESTS);
    for (size_t i = 0; i < schedule->request_count; i++)
        schedule->requests[i] = runtime__take_text(reader, TS_SCHEDULE_REQUEST_MAX);
    schedule->selection = runtime__take_text(reader, TS_SCHEDULE_SELECTION_MAX);
    schedule->lease_ms = runtime__take_number(reader);
    schedule->attempts = runtime__take_number32(reader);
    schedule->keep = runtime__take_number32(reader);
    schedule->run_count = take_count(reader, TS_SCHEDULE_RUNS);
    for (size_t i = 0; i < schedule->run_count; i++)
        schedule->runs[i] = runtime__take_number(reader);
    if (schedule->has_begun) {
        schedule->begun_due_ms = runtime__take_number(reader);
        schedule->begun = take_list(reader);
        runtime__take(reader, schedule->pin.b, sizeof schedule->pin.b);
    }
    schedule->failures = runtime__take_number(reader);
    schedule->failed_at_ms = runtime__take_number(reader);
    schedule->again_at_ms = runtime__take_number(reader);
    schedule->why = runtime__take_text(reader, TS_SCHEDULE_WHY_MAX);
}

enum ts_fleet_error ts_fleet_schedule_decode(struct ts_bytes bytes, struct ts_fleet_schedule *ret_schedule) {
    struct runtime__reader reader;
    const enum ts_fleet_error error = runtime__open(bytes, "TSfc", TS_FLEET_SCHEDULE_MAX, &reader);
    if (error != TS_FLEET_OK)
        return error;
    struct ts_fleet_schedule schedule = {0};
    take_flags(&schedule, runtime__take_byte(&reader, FLAGS));
    take_fields(&reader, &schedule);
    const bool is_valid =
        schedule.every_ms >= TS_SCHEDULE_EVERY_MIN_MS && schedule.every_ms <= TS_SCHEDULE_EVERY_MAX_MS;
    const enum ts_fleet_error end = is_valid ? runtime__close(&reader) : TS_FLEET_BAD_FIELD;
    if (end == TS_FLEET_OK)
        *ret_schedule = schedule;
    return end;
}

/* ---- names ---- */

bool ts_schedule_name_from_text(struct ts_bytes text, struct ts_schedule_name *ret_name) {
    struct ts_schedule_name name = {{0}};
    if (text.len == 0 || text.len > sizeof name.b)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] <= ' ' || text.data[i] > '~' || text.data[i] == '/')
            return false;
        name.b[i] = text.data[i];
    }
    *ret_name = name;
    return true;
}

struct ts_bytes ts_schedule_name_text(const struct ts_schedule_name *name) {
    size_t len = 0;
    while (len < sizeof name->b && name->b[len] != 0)
        len++;
    return ts_bytes_of(name->b, len);
}

struct ts_run_id ts_schedule_run(const struct ts_tenant_id *tenant, const struct ts_schedule_name *name,
                                 uint64_t due_ms) {
    char text[TS_REQUEST_MAX];
    char digits[TS_NUMBER_TEXT_SIZE];
    size_t len = 0;
    const struct ts_bytes parts[] = {TS_BYTES("schedule/"), ts_schedule_name_text(name), TS_BYTES("/"),
                                     ts_bytes_of(digits, ts_u64_format(due_ms, digits))};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        ts_assert(parts[i].len <= sizeof text - len);
        memcpy(text + len, parts[i].data, parts[i].len);
        len += parts[i].len;
    }
    struct ts_run_id run;
    struct ts_op_id op_id;
    const bool is_valid = ts_request_ids(tenant, ts_bytes_of(text, len), &run, &op_id);
    ts_assert(is_valid);
    return run;
}

/* ---- time ---- */

uint64_t ts_schedule_latest(const struct ts_fleet_schedule *schedule, uint64_t now_ms) {
    if (now_ms < schedule->first_ms)
        return 0;
    return now_ms - (now_ms - schedule->first_ms) % schedule->every_ms;
}

uint64_t ts_schedule_next(const struct ts_fleet_schedule *schedule, uint64_t now_ms) {
    const uint64_t latest = ts_schedule_latest(schedule, now_ms);
    return latest == 0 ? schedule->first_ms : latest + schedule->every_ms;
}

uint64_t ts_schedule_due(const struct ts_fleet_schedule *schedule, uint64_t now_ms) {
    const uint64_t latest = ts_schedule_latest(schedule, now_ms);
    return !schedule->is_paused && latest > schedule->last_due_ms ? latest : 0;
}

uint64_t ts_schedule_first_daily(uint64_t now_ms, uint64_t of_day_ms) {
    const uint64_t today_ms = now_ms - now_ms % TS_SCHEDULE_DAY_MS + of_day_ms % TS_SCHEDULE_DAY_MS;
    return today_ms >= now_ms ? today_ms : today_ms + TS_SCHEDULE_DAY_MS;
}

/* ---- transitions ---- */

void ts_schedule_started(struct ts_fleet_schedule *schedule) {
    ts_assert(schedule->has_begun);
    const size_t kept =
        schedule->run_count < TS_SCHEDULE_RUNS ? schedule->run_count : TS_SCHEDULE_RUNS - (size_t)1;
    memmove(schedule->runs + 1, schedule->runs, kept * sizeof schedule->runs[0]);
    schedule->runs[0] = schedule->begun_due_ms;
    schedule->run_count = kept + 1;
    if (schedule->last_due_ms < schedule->begun_due_ms)
        schedule->last_due_ms = schedule->begun_due_ms;
    schedule->has_begun = false;
    schedule->failures = schedule->failed_at_ms = schedule->again_at_ms = 0;
    schedule->why = (struct ts_bytes){0};
}

void ts_schedule_failed(struct ts_fleet_schedule *schedule, uint64_t now_ms, struct ts_bytes why) {
    uint64_t pause_ms = FAILED_MIN_MS;
    for (uint64_t i = 0; i < schedule->failures && pause_ms < FAILED_MAX_MS; i++)
        pause_ms *= 2;
    schedule->failures++;
    schedule->failed_at_ms = now_ms;
    schedule->again_at_ms = now_ms + (pause_ms < FAILED_MAX_MS ? pause_ms : FAILED_MAX_MS);
    schedule->why = why.len > TS_SCHEDULE_WHY_MAX ? ts_bytes_first(why, TS_SCHEDULE_WHY_MAX) : why;
}

/* ---- pages ---- */

void ts_fleet_listing_begin(struct ts_fleet_listing *page, uint8_t *memory) {
    const struct runtime__writer writer = runtime__begin(memory, TS_FLEET_PAGE_MAX, "TSfl");
    *page = (struct ts_fleet_listing){.bytes = memory, .len = writer.len};
}

static struct runtime__writer resume(const struct ts_fleet_listing *page) {
    return (struct runtime__writer){
        .data = page->bytes, .len = page->len, .capacity = TS_FLEET_PAGE_MAX - RUNTIME__RECORD_END};
}

bool ts_fleet_listing_add(struct ts_fleet_listing *page, const struct ts_fleet_unit *unit) {
    struct runtime__writer writer = resume(page);
    runtime__put_byte(&writer, unit->is_sha256 ? 1 : 0);
    runtime__put_text(&writer, unit->address);
    runtime__put_text(&writer, unit->url);
    runtime__put_text(&writer, unit->selection);
    if (writer.is_full)
        return false;
    page->len = writer.len;
    return true;
}

size_t ts_fleet_listing_seal(struct ts_fleet_listing *page) {
    struct runtime__writer writer = resume(page);
    return runtime__seal(&writer);
}

enum ts_fleet_error ts_fleet_listing_read(struct ts_bytes bytes,
                                          bool (*visit)(void *context, const struct ts_fleet_unit *unit),
                                          void *context) {
    struct runtime__reader reader;
    const enum ts_fleet_error error = runtime__open(bytes, "TSfl", TS_FLEET_PAGE_MAX, &reader);
    if (error != TS_FLEET_OK)
        return error;
    while (reader.rest.len > 0 && !reader.is_bad) {
        struct ts_fleet_unit unit = {.is_sha256 = runtime__take_byte(&reader, 1) != 0};
        unit.address = runtime__take_text(&reader, TS_FLEET_UNIT_MAX);
        unit.url = runtime__take_text(&reader, TS_FLEET_UNIT_MAX);
        unit.selection = runtime__take_text(&reader, TS_FLEET_UNIT_MAX);
        if (!reader.is_bad && !visit(context, &unit))
            return TS_FLEET_OK;
    }
    return runtime__close(&reader);
}
