/*
 * turnstone run watch: prints the progress of a run, until the run ends.
 *
 *     on a terminal     one picture that is drawn again, as wide as the terminal
 *     otherwise         a line for each change, for each target that is parked, and when targets begin to wait for
 *                       another try
 *     --json            an object for each change
 */
#include "complain.h"
#include "run_picture.h"
#include "verbs.h"

#include "base/bytes.h"
#include "os/out_json.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { WATCH_RUN = COORD_OPTIONS, WATCH_INTERVAL };
enum { INTERVAL_DEFAULT_MS = 2000, SAMPLES = 16, SAMPLE_MS = 2000, LINE_MAX_BYTES = 1024, NARROW = 60 };
enum { LISTS_USUAL = 3 }; /* the number of lists for which there is room in any case */
enum { COLUMNS_DEFAULT = 80, ROWS_DEFAULT = 24, COLUMNS_MIN = 20, BAR_MAX = 200 };

/* The number of shards that had ended at a moment. */
struct sample {
    uint64_t at_ms;
    uint64_t ended;
};

struct watching {
    struct cli_coord *coord;
    struct ts_run_id run;
    uint64_t interval_ms;
    bool draws; /* standard output is a terminal */
    struct cli_picture pictures[2];
    struct sample samples[SAMPLES]; /* in the order of their times */
    size_t sample_count;
    double rate;           /* number of shards that end per second; 0: unknown */
    uint64_t remaining_ms; /* valid if has_remaining */
    bool has_remaining;
    size_t drawn; /* number of lines on the screen */
    size_t columns;
};

/* ---- rates ---- */

/* Measures the rate over the last half minute or, if no shard has ended since the last sample, since the run
 * was created. */
static void measure(struct watching *watching, const struct cli_picture *picture) {
    const uint64_t at_ms = picture->run.ended_at.ms != 0 ? picture->run.ended_at.ms : picture->now.ms;
    const struct sample now = {at_ms, cli__picture_ended(picture)};
    struct sample first = {picture->run.created_at.ms, 0};
    if (watching->sample_count > 0 && watching->samples[watching->sample_count - 1].ended < now.ended)
        first = watching->samples[0];
    const uint64_t elapsed_ms = now.at_ms > first.at_ms ? now.at_ms - first.at_ms : 0;
    if (elapsed_ms > 0 && now.ended >= first.ended)
        watching->rate = (double)(now.ended - first.ended) * 1000.0 / (double)elapsed_ms;
    /* The remaining time is unknown when only the last targets are left, which may hang, or when no worker is
     * active. */
    watching->has_remaining = watching->rate > 0 && picture->free > 0 && picture->workers > 0;
    if (watching->has_remaining)
        watching->remaining_ms =
            (uint64_t)((double)picture->progress.counts.active * 1000.0 / watching->rate);
    if (watching->sample_count > 0 &&
        now.at_ms < watching->samples[watching->sample_count - 1].at_ms + SAMPLE_MS)
        return;
    if (watching->sample_count == SAMPLES)
        memmove(watching->samples, watching->samples + 1, --watching->sample_count * sizeof now);
    watching->samples[watching->sample_count++] = now;
}

/* ---- lines ---- */

/* Writes "2.1 targets/s, about 14 s left"; empty if the rate is unknown. */
static void put_rate(const struct watching *watching, const struct cli_picture *picture, char *text,
                     size_t size) {
    const char *what = picture->is_of_targets ? " targets" : " shards";
    text[0] = '\0';
    if (watching->rate > 0 && watching->has_remaining)
        snprintf(text, size, "%.*f%s/s, about %s left", watching->rate < 10 ? 1 : 0, watching->rate, what,
                 cli__show_ms(watching->remaining_ms).text);
    else if (watching->rate > 0)
        snprintf(text, size, "%.*f%s/s", watching->rate < 10 ? 1 : 0, watching->rate, what);
}

/* Replaces control characters by '?', so that the text is safe on a terminal. */
static void make_printable(char *text) {
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
    }
}

static bool continues_character(char byte) {
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t width_of(const char *text) {
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += !continues_character(*text);
    return width;
}

#define CUT_MARK "…"

/* Writes the name of an item in at most `columns`. A longer name is cut at its beginning, because names
 * differ more at the end. */
static void put_name(const struct cli_item *item, size_t columns, char *text, size_t size) {
    char whole[LINE_MAX_BYTES - sizeof CUT_MARK]; /* a name that with CUT_MARK fits into a line */
    if (item->address.len > 0)
        snprintf(whole, sizeof whole, "%.*s", (int)item->address.len, (const char *)item->address.data);
    else
        snprintf(whole, sizeof whole, "shard %llu", (unsigned long long)item->shard.v);
    make_printable(whole);
    const char *from = whole;
    const bool is_cut = width_of(whole) > columns;
    for (size_t skip = is_cut ? width_of(whole) - columns + 1 : 0; skip > 0; skip--) {
        from++;
        while (continues_character(*from))
            from++;
    }
    snprintf(text, size, "%s%s", is_cut ? CUT_MARK : "", from);
}

/* ---- drawing ---- */

static void look_at_terminal(size_t *ret_columns, size_t *ret_rows) {
    struct winsize size;
    *ret_columns = COLUMNS_DEFAULT;
    *ret_rows = ROWS_DEFAULT;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return;
    if (size.ws_col >= COLUMNS_MIN)
        *ret_columns = size.ws_col;
    if (size.ws_row > 0)
        *ret_rows = size.ws_row;
}

/* A picture that is being drawn; `used` is the number of lines so far. Lines are cut to the width, and
 * omitted when the screen is full. */
struct canvas {
    struct watching *watching;
    const struct cli_picture *picture;
    size_t columns, rows;
    size_t used;
};

static void draw_line(struct canvas *canvas, const char *text) {
    if (canvas->used + 1 >= canvas->rows)
        return;
    size_t bytes = 0;
    for (size_t width = 0; text[bytes] != '\0'; bytes++) {
        width += !continues_character(text[bytes]);
        if (width >= canvas->columns)
            break;
    }
    cli__say(canvas->watching->coord, "%.*s\n", (int)bytes, text);
    canvas->used++;
}

/* Draws a text below a name, wrapped at blanks to the width of the canvas. */
static void draw_wrapped(struct canvas *canvas, const char *text) {
    enum { INDENT = 4 };
    const size_t room = canvas->columns - INDENT - 1;
    while (text[0] != '\0') {
        size_t bytes = strlen(text);
        for (size_t at = bytes; bytes > room && at-- > 0;) {
            if (at <= room && text[at] == ' ')
                bytes = at;
        }
        char line[LINE_MAX_BYTES];
        snprintf(line, sizeof line, "%*s%.*s", INDENT, "", (int)bytes, text);
        draw_line(canvas, line);
        text += bytes;
        text += strspn(text, " ");
    }
}

/* Draws a name, with its details on the same line or below it. */
static void draw_item(struct canvas *canvas, const struct cli_item *item, const char *about) {
    char line[LINE_MAX_BYTES + 256], name[LINE_MAX_BYTES];
    const size_t room = canvas->columns - 3;
    const size_t beside = width_of(about) + 2;
    const size_t least = room / 2;
    if (beside + least > room) {
        put_name(item, room, name, sizeof name);
        snprintf(line, sizeof line, "  %s", name);
        draw_line(canvas, line);
        draw_wrapped(canvas, about);
        return;
    }
    put_name(item, room - beside, name, sizeof name);
    const size_t gap = room - beside - width_of(name) + 2;
    if (snprintf(line, sizeof line, "  %s%*s%s", name, (int)gap, "", about) >= 0)
        draw_line(canvas, line);
}

static void draw_items(struct canvas *canvas, const char *title, const struct cli_items *items, size_t most) {
    if (items->count == 0)
        return;
    draw_line(canvas, title);
    const size_t listed = items->count < most ? items->count : most;
    for (size_t i = 0; i < listed; i++) {
        const struct cli_item *item = &items->list[i];
        const uint64_t now_ms = canvas->picture->now.ms;
        char about[256];
        /* A target can be in two lists, in progress and stuck. Each list shows other details of the target. */
        if (items == &canvas->picture->busy)
            snprintf(about, sizeof about, item->parts > 0 ? "%s, %u %s" : "%s",
                     cli__show_ms(now_ms > item->since_ms ? now_ms - item->since_ms : 0).text, item->parts,
                     item->parts == 1 ? "part" : "parts");
        else if (items == &canvas->picture->parked)
            snprintf(about, sizeof about, "%s", cli__item_reason(item));
        else
            snprintf(about, sizeof about, "%s", cli__item_about(item, canvas->picture->now).text);
        if (item->is_stuck && about[0] == '\0')
            snprintf(about, sizeof about, "acquired %u times without progress", item->attempts);
        draw_item(canvas, item, about);
    }
    if (items->total > listed) {
        char line[64];
        snprintf(line, sizeof line, "  and %llu more", (unsigned long long)(items->total - listed));
        draw_line(canvas, line);
    }
}

static const char *came_of(const struct cli_picture *picture) {
    return picture->changes.came == 1 ? "finding" : "findings";
}

/* Draws the counts, two on a line if the terminal is wide. */
static void draw_counts(struct canvas *canvas) {
    const struct cli_picture *picture = canvas->picture;
    const struct ts_run_progress *progress = &picture->progress;
    char line[256], other[160];
    const char *what = picture->is_of_targets ? "targets" : "shards";
    const bool is_narrow = canvas->columns < NARROW;
    snprintf(line, sizeof line, "%llu of %llu %s done, %llu parked",
             (unsigned long long)progress->counts.done, (unsigned long long)picture->total, what,
             (unsigned long long)progress->counts.parked);
    snprintf(other, sizeof other, "%llu in progress, %llu waiting", (unsigned long long)progress->leased,
             (unsigned long long)picture->free);
    if (progress->expired > 0)
        snprintf(other + strlen(other), sizeof other - strlen(other), ", %llu expired",
                 (unsigned long long)progress->expired);
    if (is_narrow)
        draw_line(canvas, line);
    else
        snprintf(line + strlen(line), sizeof line - strlen(line), ", %s", other);
    draw_line(canvas, is_narrow ? other : line);
    put_rate(canvas->watching, picture, line, sizeof line);
    snprintf(other, sizeof other, "%llu %s", (unsigned long long)picture->workers,
             picture->workers == 1 ? "worker" : "workers");
    if (is_narrow && line[0] != '\0')
        draw_line(canvas, line);
    else if (line[0] != '\0')
        snprintf(other + strlen(other), sizeof other - strlen(other), ", %.120s", line);
    draw_line(canvas, other);
    if (!picture->is_of_targets)
        return;
    snprintf(line, sizeof line, is_narrow ? "%llu %s came, %llu went" : "%llu %s came, %llu went, in %llu %s",
             (unsigned long long)picture->changes.came, came_of(picture),
             (unsigned long long)picture->changes.went, (unsigned long long)picture->changes.targets,
             picture->changes.targets == 1 ? "target" : "targets");
    draw_line(canvas, line);
}

static void draw(struct watching *watching, const struct cli_picture *picture) {
    struct canvas canvas = {.watching = watching, .picture = picture};
    char bar[BAR_MAX + 1], line[BAR_MAX + 16];
    look_at_terminal(&canvas.columns, &canvas.rows);
    /* If the width has changed, the lines on the screen may have wrapped: clear the screen. */
    if (watching->drawn > 0 && canvas.columns != watching->columns)
        cli__say(watching->coord, "\033[H\033[J");
    else if (watching->drawn > 0)
        cli__say(watching->coord, "\033[%zuA\r\033[J", watching->drawn);
    watching->columns = canvas.columns;
    snprintf(line, sizeof line, "run %llu: %s%s", (unsigned long long)picture->run.run.v,
             ts_run_status_name(picture->run.status),
             cli__picture_has_failures(picture) ? ", with failures" : "");
    draw_line(&canvas, line);
    const size_t width = canvas.columns - 3 < BAR_MAX ? canvas.columns - 3 : BAR_MAX;
    cli__picture_bar(picture, width, bar);
    snprintf(line, sizeof line, "[%-*s]", (int)width, bar);
    draw_line(&canvas, line);
    draw_counts(&canvas);
    const size_t left = canvas.rows > canvas.used + 4 ? canvas.rows - canvas.used - 4 : 1;
    const struct {
        const char *title;
        const struct cli_items *items;
    } lists[] = {{"in progress, the longest first", &picture->busy},
                 {"stuck", &picture->struggling},
                 {"waiting for another try", &picture->waiting},
                 {"parked", &picture->parked}};
    size_t shown = 0;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        shown += lists[i].items->count > 0;
    const size_t share = left / (shown > LISTS_USUAL ? shown : LISTS_USUAL);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        draw_items(&canvas, lists[i].title, lists[i].items, canvas.columns < NARROW ? share / 2 + 1 : share);
    watching->drawn = canvas.used;
}

/* ---- lines and objects ---- */

static void print_line(const struct watching *watching, const struct cli_picture *picture) {
    const struct ts_run_progress *progress = &picture->progress;
    char rate[160];
    put_rate(watching, picture, rate, sizeof rate);
    cli__say(watching->coord, "run %llu: %s%s, %llu of %llu done, %llu parked, %llu in progress, %llu %s%s%s",
             (unsigned long long)picture->run.run.v, ts_run_status_name(picture->run.status),
             cli__picture_has_failures(picture) ? ", with failures" : "",
             (unsigned long long)progress->counts.done, (unsigned long long)picture->total,
             (unsigned long long)progress->counts.parked, (unsigned long long)progress->leased,
             (unsigned long long)picture->workers, picture->workers == 1 ? "worker" : "workers",
             rate[0] ? ", " : "", rate);
    if (picture->is_of_targets)
        cli__say(watching->coord, ", %llu %s came, %llu went", (unsigned long long)picture->changes.came,
                 came_of(picture), (unsigned long long)picture->changes.went);
    cli__say(watching->coord, "\n");
}

static bool has_item(const struct cli_items *items, struct ts_shard_id shard) {
    for (size_t i = 0; i < items->count; i++) {
        if (items->list[i].shard.v == shard.v)
            return true;
    }
    return false;
}

static void print_parked(const struct watching *watching, const struct cli_picture *picture,
                         const struct cli_picture *before) {
    for (size_t i = 0; i < picture->parked.count; i++) {
        const struct cli_item *item = &picture->parked.list[i];
        char name[LINE_MAX_BYTES];
        if (before != NULL && has_item(&before->parked, item->shard))
            continue;
        put_name(item, sizeof name, name, sizeof name);
        cli__say(watching->coord, "parked: %s: %s\n", name, cli__item_reason(item));
    }
}

/* If targets have begun to wait for another try, prints a line with the first target and the number of other
 * waiting targets. */
static void print_waiting(const struct watching *watching, const struct cli_picture *picture,
                          const struct cli_picture *before) {
    const struct cli_items *waiting = &picture->waiting;
    char name[LINE_MAX_BYTES];
    if (waiting->count == 0 || (before != NULL && before->waiting.count > 0))
        return;
    put_name(&waiting->list[0], sizeof name, name, sizeof name);
    cli__say(watching->coord, "waiting for another try: %s: %s", name, cli__item_reason(&waiting->list[0]));
    if (waiting->total > 1)
        cli__say(watching->coord, "; and %llu more", (unsigned long long)waiting->total - 1);
    cli__say(watching->coord, "\n");
}

static void print_object(const struct watching *watching, const struct cli_picture *picture) {
    struct cli_coord *coord = watching->coord;
    cli__object_begin(coord);
    cli__picture_members(coord, picture, false);
    if (watching->rate > 0) {
        char rate[32];
        snprintf(rate, sizeof rate, "%.3f", watching->rate);
        cli__member(coord, "rate");
        ts_out_put_cstring(coord->out, rate);
    }
    if (watching->has_remaining)
        cli__member_number(coord, "remaining_ms", watching->remaining_ms);
    cli__object_end(coord);
}

/* ---- watching ---- */

/* Returns whether the output would be the same for both pictures. */
static bool looks_the_same(const struct cli_picture *a, const struct cli_picture *b) {
    return a->run.status == b->run.status && a->digest == b->digest && a->damaged == b->damaged &&
           a->progress.expired == b->progress.expired && a->progress.struggling == b->progress.struggling &&
           a->changes.came == b->changes.came && a->changes.went == b->changes.went &&
           a->progress.has_watermark == b->progress.has_watermark &&
           ts_bytes_equal(ts_fixed_buf_read(&a->progress.watermark),
                          ts_fixed_buf_read(&b->progress.watermark));
}

/* Returns whether nothing is left to watch: the run has ended, or all its shards have ended. */
static bool is_over(const struct cli_picture *picture) {
    return ts_run_status_is_terminal(picture->run.status) ||
           (picture->total > 0 && picture->progress.counts.active == 0);
}

static void show(struct watching *watching, const struct cli_picture *picture,
                 const struct cli_picture *before) {
    measure(watching, picture);
    if (watching->draws) {
        draw(watching, picture);
        return;
    }
    if (before != NULL && looks_the_same(picture, before))
        return;
    if (watching->coord->json) {
        print_object(watching, picture);
        return;
    }
    print_parked(watching, picture, before);
    print_waiting(watching, picture, before);
    print_line(watching, picture);
}

static enum cli_exit watch(struct watching *watching) {
    for (unsigned turn = 0;; turn++) {
        struct cli_picture *picture = &watching->pictures[turn % 2];
        const struct cli_picture *before = turn > 0 ? &watching->pictures[(turn + 1) % 2] : NULL;
        const enum cli_exit status = cli__picture_read(watching->coord, watching->run, before, picture);
        if (status != CLI_EXIT_DONE)
            return status;
        show(watching, picture, before);
        /* The watch also ends when the reader has closed the output. */
        if (!ts_out_flush(watching->coord->out) || is_over(picture))
            return picture->damaged > 0 ? cli__complain_damaged(watching->coord, picture->damaged)
                                        : CLI_EXIT_DONE;
        const struct timespec pause = {.tv_sec = (time_t)(watching->interval_ms / 1000),
                                       .tv_nsec = (long)(watching->interval_ms % 1000) * 1000000};
        (void)nanosleep(&pause, NULL);
    }
}

static enum cli_exit run_watch(const struct cli_arguments *arguments) {
    static const char verb[] = "run watch";
    static struct watching watching = {.interval_ms = INTERVAL_DEFAULT_MS};
    struct cli_coord coord;
    enum cli_exit status = cli__number_required(verb, arguments, WATCH_RUN, "run", &watching.run.v);
    if (status == CLI_EXIT_DONE)
        status = cli__number_optional(verb, arguments, WATCH_INTERVAL, "interval-ms", &watching.interval_ms);
    if (status == CLI_EXIT_DONE && (watching.interval_ms < 10 || watching.interval_ms > 3600000))
        status = cli__complain(CLI_EXIT_USAGE, "%s: --interval-ms must be from 10 to 3600000", verb);
    if (status == CLI_EXIT_DONE)
        status = cli__coord_open(verb, arguments, NULL, &coord);
    if (status != CLI_EXIT_DONE)
        return status;
    watching.coord = &coord;
    watching.draws = !coord.json && isatty(STDOUT_FILENO) == 1;
    status = watch(&watching);
    cli__picture_release(&watching.pictures[0]);
    cli__picture_release(&watching.pictures[1]);
    return cli__coord_close(&coord, status);
}

static const struct cli_option watch_options[] = {
    CLI_COORD_OPTIONS,
    [WATCH_RUN] = CLI_RUN_OPTION,
    [WATCH_INTERVAL] = {.name = "interval-ms",
                        .argument = "N",
                        .help = "interval between two reads in milliseconds, 10 to 3600000 (default: 2000)"},
};

const struct cli_verb cli__verb_run_watch = {
    .name = "run watch",
    .summary = "follow the progress of a run until it ends",
    .description =
        "Shows how many targets are done, the rate, the remaining time and the workers. Lists the targets that have "
        "been in progress longest, and those that are stuck, waiting or parked, with the reasons. Says how many "
        "findings came and went.\n\n"
        "On a terminal it redraws one screen. Otherwise it prints a line for each change, and with "
        "--json an object.\n\n"
        "The time of a target in progress counts from the moment at which this command first saw its lease. "
        "The rate is measured over the last half minute.\n\n"
        "Ends when the run or all its shards have ended. Other processes can work on the run at the same time "
        "only on PostgreSQL, because only one process at a time can open a RocksDB directory.",
    .options = watch_options,
    .option_count = sizeof watch_options / sizeof watch_options[0],
    .variables = cli__cluster_variables,
    .variable_count = CLI_CLUSTER_VARIABLES,
    .run = run_watch,
};
