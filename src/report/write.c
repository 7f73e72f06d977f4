#include "writer.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

bool ts_report_format_parse(struct ts_bytes name, enum ts_report_format *ret) {
#define TRY(suffix, its_name, extension, writer)                                                             \
    if (ts_bytes_equal(name, TS_BYTES(its_name))) {                                                          \
        *ret = TS_REPORT_FORMAT_##suffix;                                                                    \
        return true;                                                                                         \
    }
    TS_REPORT_FORMATS(TRY)
#undef TRY
    return false;
}

static bool ends_with(struct ts_bytes text, const char *tail) {
    size_t len = strlen(tail);
    return text.len > len && memcmp(text.data + text.len - len, tail, len) == 0;
}

static bool is_named(struct ts_bytes path, const char *name) {
    size_t len = strlen(name);
    return ends_with(path, name) ? path.data[path.len - len - 1] == '/'
                                 : ts_bytes_equal(path, ts_bytes_of_cstring(name));
}

bool ts_report_format_of_file(struct ts_bytes path, enum ts_report_format *ret) {
    if (ends_with(path, ".sarif.json")) {
        *ret = TS_REPORT_FORMAT_SARIF;
        return true;
    }
    if (ends_with(path, ".gitlab.json") || is_named(path, "gl-secret-detection-report.json")) {
        *ret = TS_REPORT_FORMAT_GITLAB;
        return true;
    }
#define TRY(suffix, name, extension, writer)                                                                 \
    if (ends_with(path, "." extension)) {                                                                    \
        *ret = TS_REPORT_FORMAT_##suffix;                                                                    \
        return true;                                                                                         \
    }
    TS_REPORT_FORMATS(TRY)
#undef TRY
    return false;
}

void ts_report_write(const struct ts_report *report, const struct ts_report_options *options,
                     struct ts_out *out) {
#define WRITER_OF(suffix, name, extension, writer) report__write_##writer,
    static void (*const writers[])(const struct report_job *job) = {TS_REPORT_FORMATS(WRITER_OF)};
#undef WRITER_OF
    const struct report_job job = {
        .report = report,
        .options = options,
        .out = out,
        .totals = ts_report_totals(report),
    };
    writers[options->format](&job);
}

bool report__is_listed(const struct report_job *job, const struct ts_report_finding *finding) {
    return finding->is_new || !job->options->only_new;
}

const struct ts_report_commit *report__commit_of(const struct ts_report *report,
                                                 const struct ts_report_occurrence *occurrence) {
    return occurrence->commit == TS_REPORT_NONE ? NULL : &report->commits[occurrence->commit];
}

struct ts_bytes report__secret_of(const struct ts_report *report, const struct ts_report_finding *finding) {
    return report->shows_secrets ? finding->secret : ts_bytes_of_cstring(finding->redacted);
}

size_t report__show_one(struct ts_bytes bytes, enum report_backslash backslash,
                        char ret_piece[static TS_TEXT_PIECE_MAX], size_t *ret_piece_len) {
    uint8_t first = bytes.data[0];
    if (backslash == REPORT_BACKSLASH_KEPT && (first == '\\' || first == '\t')) {
        ret_piece[0] = first == '\t' ? ' ' : '\\';
        *ret_piece_len = 1;
        return 1;
    }
    return ts_text_escape_one(bytes, ret_piece, ret_piece_len);
}

const bool report__is_special[256] = {
    ['\\'] = true, ['"'] = true, ['&'] = true, ['<'] = true, ['>'] = true, ['\''] = true};

void report__put_shown(struct ts_out *out, struct ts_bytes bytes, enum report_backslash backslash) {
    while (bytes.len > 0) {
        size_t plain = report__plain_len(bytes);
        ts_out_put(out, ts_bytes_first(bytes, plain));
        bytes = ts_bytes_skip(bytes, plain);
        if (bytes.len == 0)
            return;
        char piece[TS_TEXT_PIECE_MAX];
        size_t piece_len;
        size_t taken = report__show_one(bytes, backslash, piece, &piece_len);
        ts_out_put(out, ts_bytes_of(piece, piece_len));
        bytes = ts_bytes_skip(bytes, taken);
    }
}

struct report_place report__place_of(const struct ts_report_occurrence *occurrence) {
    struct report_place place = {.before = "", .subject = occurrence->path, .after = ""};
    switch (occurrence->place) {
    case TS_PLACE_FILE:
        if (occurrence->path.len == 0) { /* a tag names the object, but no commit contains it */
            place.before = "object ";
            place.subject = ts_bytes_of_cstring(occurrence->object);
        }
        break;
    case TS_PLACE_STAGED:
        place.after = " (staged)";
        break;
    case TS_PLACE_WORKING_TREE:
        place.after = " (working tree)";
        break;
    case TS_PLACE_COMMIT_MESSAGE:
        place.before = "commit message";
        break;
    case TS_PLACE_TAG_MESSAGE:
        place.before = "tag ";
        break;
    case TS_PLACE_NOTE:
        place.before = "note on ";
        break;
    case TS_PLACE_UNREACHABLE:
        place.before = "unreachable object ";
        place.subject = ts_bytes_of_cstring(occurrence->object);
        break;
    case TS_PLACE_INPUT:
        place.before = "standard input";
        break;
    }
    return place;
}

struct report_words report__grouped(uint64_t number) {
    struct report_words words;
    char digits[TS_NUMBER_TEXT_SIZE];
    size_t len = ts_u64_format(number, digits);
    size_t to = 0;
    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            words.text[to++] = ',';
        words.text[to++] = digits[i];
    }
    words.text[to] = '\0';
    return words;
}

struct report_words report__count(uint64_t count, const char *one, const char *many) {
    struct report_words words;
    snprintf(words.text, sizeof words.text, "%.30s %.80s", report__grouped(count).text,
             count == 1 ? one : many);
    return words;
}

struct report_words report__content(const struct ts_report_target *target) {
    struct report_words words;
    char size[TS_SIZE_TEXT_SIZE];
    bool is_repository = target->kind == TS_REPORT_TARGET_KIND_REPOSITORY;
    bool has_commits = is_repository && target->commits > 0; /* a scan of staged files has no commits */
    bool has_blobs = is_repository || target->kind == TS_REPORT_TARGET_KIND_DIRECTORY;
    struct report_words blobs =
        report__count(target->blobs, is_repository ? "blob" : "file", is_repository ? "blobs" : "files");
    (void)ts_size_format(target->bytes, size);
    snprintf(words.text, sizeof words.text, "%.50s%s%.50s%s%s",
             has_commits ? report__count(target->commits, "commit", "commits").text : "",
             has_commits ? ", " : "", has_blobs ? blobs.text : "", has_blobs ? ", " : "", size);
    return words;
}

void report__put_grouped(struct ts_out *out, uint64_t number) {
    ts_out_put_cstring(out, report__grouped(number).text);
}

void report__put_count(struct ts_out *out, uint64_t count, const char *one, const char *many) {
    ts_out_put_cstring(out, report__count(count, one, many).text);
}

struct ts_bytes report__trimmed(struct ts_bytes line) {
    while (line.len > 0 && (line.data[0] == ' ' || line.data[0] == '\t'))
        line = ts_bytes_skip(line, 1);
    while (line.len > 0 && (line.data[line.len - 1] == ' ' || line.data[line.len - 1] == '\t' ||
                            line.data[line.len - 1] == '\r' || line.data[line.len - 1] == '\n'))
        line.len--;
    return line;
}

/* Returns the name of the file in 'FILE:LINE'; empty if the source is not a line of a file. */
static struct ts_bytes file_of(const struct ts_report_suppression *by) {
    const char *colon = strrchr(by->source, ':');
    bool is_line = colon != NULL && colon[1] >= '0' && colon[1] <= '9';
    return ts_bytes_of(by->source, is_line ? (size_t)(colon - by->source) : 0);
}

struct report_suppressions report__suppressions_from(const struct ts_report *report, size_t first) {
    enum { SHOWN = 5 };
    const struct ts_report_suppression *all = report->suppressions + first;
    struct report_suppressions group = {.count = 1, .shown = 1, .file = file_of(&all[0])};
    while (group.file.len > 0 && first + group.count < report->suppression_count &&
           ts_bytes_equal(file_of(&all[group.count]), group.file))
        group.count++;
    /* A sentence about one omitted suppression would be as long as the suppression itself. */
    group.shown = group.count > SHOWN + 1 ? SHOWN : group.count;
    for (size_t i = group.shown; i < group.count; i++)
        group.left_occurrences += all[i].occurrences;
    return group;
}

bool report__is_empty(const struct ts_report_target *target) {
    return target->commits + target->tags + target->blobs == 0;
}

bool report__looked_at_nothing(const struct ts_report *report) {
    for (size_t i = 0; i < report->target_count; i++)
        if (!report__is_empty(&report->targets[i]))
            return false;
    return true;
}

/* Sets *ret to the civil time at an offset from UTC. Returns false outside the years 0 to 9999. */
static bool civil_time(int64_t time_s, int32_t zone_minutes, struct tm *ret) {
    const int64_t year_0_s = -62167219200;
    const int64_t year_10000_s = 253402300800;
    if (time_s < year_0_s || time_s >= year_10000_s)
        return false;
    time_t shifted = (time_t)(time_s + (int64_t)zone_minutes * 60);
    return shifted >= year_0_s && shifted < year_10000_s && gmtime_r(&shifted, ret) != NULL;
}

const char *report__date_iso(const struct ts_report_commit *commit, char ret_text[static REPORT_DATE_SIZE]) {
    /* Ignores an impossible zone, such as +9959. */
    int32_t zone = commit->author_zone_minutes;
    if (zone <= -24 * 60 || zone >= 24 * 60)
        zone = 0;
    struct tm at;
    if (!civil_time(commit->author_time_s, zone, &at))
        return NULL;
    unsigned offset = (unsigned)(zone < 0 ? -zone : zone);
    snprintf(ret_text, REPORT_DATE_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u%c%02u:%02u",
             ((unsigned)at.tm_year + 1900) % 10000, ((unsigned)at.tm_mon + 1) % 100,
             (unsigned)at.tm_mday % 100, (unsigned)at.tm_hour % 100, (unsigned)at.tm_min % 100,
             (unsigned)at.tm_sec % 100, zone < 0 ? '-' : '+', offset / 60 % 100, offset % 60);
    return ret_text;
}

const char *report__date_utc(const struct ts_report_commit *commit, char ret_text[static REPORT_DATE_SIZE]) {
    struct tm at;
    if (!civil_time(commit->author_time_s, 0, &at))
        return NULL;
    snprintf(ret_text, REPORT_DATE_SIZE, "%04u-%02u-%02u %02u:%02u UTC",
             ((unsigned)at.tm_year + 1900) % 10000, ((unsigned)at.tm_mon + 1) % 100,
             (unsigned)at.tm_mday % 100, (unsigned)at.tm_hour % 100, (unsigned)at.tm_min % 100);
    return ret_text;
}

const char *report__time_utc(int64_t time_s, char ret_text[static REPORT_DATE_SIZE]) {
    struct tm at;
    if (!civil_time(time_s, 0, &at))
        return report__time_utc(0, ret_text);
    snprintf(ret_text, REPORT_DATE_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u",
             ((unsigned)at.tm_year + 1900) % 10000, ((unsigned)at.tm_mon + 1) % 100,
             (unsigned)at.tm_mday % 100, (unsigned)at.tm_hour % 100, (unsigned)at.tm_min % 100,
             (unsigned)at.tm_sec % 100);
    return ret_text;
}
