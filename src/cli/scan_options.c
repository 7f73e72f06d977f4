#include "scan_options.h"

#include "complain.h"

#include "base/checked.h"
#include "base/number.h"
#include "git/date.h"
#include "os/clock.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DURATION_MAX_MS (UINT64_C(366) * 24 * 3600000)

#define COMMON_OPTIONS                                                                                       \
    [SCAN_DIR] = {.name = "dir", .help = "the targets are folders; scan the files in them"},                 \
    [SCAN_REF] = {.name = "ref",                                                                             \
                  .argument = "REV",                                                                         \
                  .help = "scan only what this revision reaches, in git's syntax: main, v1.2, HEAD~3, "      \
                          "topic@{upstream} (default: all refs)",                                            \
                  .many = true},                                                                             \
    [SCAN_BRANCH] = {.name = "branch",                                                                       \
                     .argument = "NAME",                                                                     \
                     .help = "scan only what this branch reaches",                                           \
                     .many = true},                                                                          \
    [SCAN_COMMIT] = {.name = "commit",                                                                       \
                     .argument = "REV",                                                                      \
                     .help = "report only secrets that this commit adds: none of its parents has them",      \
                     .many = true},                                                                          \
    [SCAN_RANGE] = {.name = "range",                                                                         \
                    .argument = "RANGE",                                                                     \
                    .help =                                                                                  \
                        "report only secrets that these commits add: no earlier commit has them. RANGE is "  \
                        "in git's syntax: A..B, A...B, HEAD~3.. or REV^!"},                                  \
    [SCAN_SINCE] =                                                                                           \
        {.name = "since",                                                                                    \
         .argument = "DATE",                                                                                 \
         .help = "report only secrets that commits since this date add: no earlier commit has them. The "    \
                 "committer's date counts. DATE is 2026-01-31, 2026-01-31T12:00:00Z, @SECONDS since 1970, "  \
                 "or in git's words: yesterday, '3 days ago', last.friday, '3 March'"},                      \
    [SCAN_STAGED] = {.name = "staged",                                                                       \
                     .help = "report only secrets that the next commit would add: they are in staged "       \
                             "files, and HEAD does not have them"},                                          \
    [SCAN_WORKING_TREE] =                                                                                    \
        {.name = "working-tree",                                                                             \
         .help = "scan only the files in the work tree, including ignored and untracked files"},             \
    [SCAN_UNREACHABLE] = {.name = "unreachable", .help = "also scan objects that no ref reaches"},           \
    [SCAN_ALLOW_MISSING] =                                                                                   \
        {.name = "allow-missing",                                                                            \
         .help = "accept that a partial clone lacks objects (default: if objects are missing, the status "   \
                 "is 4)"},                                                                                   \
    CLI_SCAN_RULE_OPTIONS(SCAN_RULES, SCAN_NO_BUILTIN_RULES, SCAN_CONFIG, SCAN_NO_REPO_CONFIG),              \
    [SCAN_FULL] =                                                                                            \
        {.name = "full",                                                                                     \
         .help = "scan every byte of every blob, including bytes that were already scanned in an earlier "   \
                 "version of the file, and verify every object's id; same findings, slower"},                \
    [SCAN_UNGATED] = {.name = "ungated",                                                                     \
                      .help = "try every rule at every place; same findings, much "                          \
                              "slower"},                                                                     \
    [SCAN_JOBS] = {.name = "jobs",                                                                           \
                   .argument = "COUNT",                                                                      \
                   .help = "number of threads (default: one per processor)",                                 \
                   .letter = 'j'},                                                                           \
    CLI_SCAN_LIMIT_OPTIONS(SCAN_MEMORY, SCAN_MAX_TIME, SCAN_MAX_RATIO, SCAN_ARCHIVES, SCAN_MAX_ARCHIVE),     \
    [SCAN_STRICT] = {.name = "strict",                                                                       \
                     .help = "end with status 4 if there are submodules, encrypted archives or missing LFS " \
                             "objects, which cannot be scanned (default: only count them)"},                 \
    [SCAN_STATE] = {.name = "state",                                                                         \
                    .argument = "DIR",                                                                       \
                    .help = "keep the state of scans in this folder, so that the next scan reads only "      \
                            "what is new (default: turnstone in XDG_STATE_HOME)"},                           \
    [SCAN_NO_STATE] = {.name = "no-state", .help = "do not use or keep the state of scans"},                 \
    [SCAN_NO_PROGRESS] = {.name = "no-progress", .help = "show no progress on a terminal"}

const struct cli_option cli__scan_option_table[SCAN_OPTION_COUNT] = {
    COMMON_OPTIONS,
    [SCAN_OUTPUT] = {.name = "output",
                     .argument = "FILE",
                     .help =
                         "write the report to this file, completely or not at all ('-': standard output, the "
                         "default); repeat the option for several formats",
                     .many = true,
                     .letter = 'o'},
    [SCAN_FORMAT] =
        {.name = "format",
         .argument = "FORMAT",
         .choices = TS_REPORT_FORMAT_CHOICES,
         .help =
             "the format of the report (default: by the extension of the output file," TS_REPORT_FORMAT_EXTENSIONS
             "; otherwise text)"},
    [SCAN_MIN_CONFIDENCE] =
        {.name = "min-confidence",
         .argument = "CONFIDENCE",
         .choices = CLI_CHOICES(TS_CONFIDENCES),
         .help =
             "list only findings of this confidence or higher, and the number of the others (default: low)"},
    [SCAN_OCCURRENCES] =
        {.name = "occurrences",
         .argument = "COUNT",
         .help = "list at most COUNT occurrences of each finding, or 'all' (default: 100); the number of "
                 "occurrences is always exact"},
    [SCAN_SHOW_SECRETS] = {.name = "show-secrets", .help = "show the secrets instead of redacting them"},
    [SCAN_FAIL_ON] = {.name = "fail-on",
                      .argument = "SEVERITY",
                      .choices = CLI_CHOICES(TS_SEVERITIES),
                      .help = "end with status 1 only for findings of this severity or higher (default: "
                              "low)"},
    [SCAN_FAIL_ON_CONFIDENCE] = CLI_SCAN_CONFIDENCE_OPTION,
    [SCAN_BASELINE] =
        {.name = "baseline",
         .argument = "FILE",
         .help =
             "ignore the findings in this file: a file of 'turnstone baseline', or a report of gitleaks (JSON), "
             "detect-secrets (.secrets.baseline) or TruffleHog (JSON lines). Only new findings are shown and "
             "count for the status"},
    [SCAN_DIFF_BASELINE] = {.name = "diff-baseline",
                            .help = "with --baseline: also list findings of the baseline that the scan "
                                    "did not find"},
    [SCAN_QUIET] = {.name = "quiet",
                    .help = "if every --output is a file: do not print the summary on standard error",
                    .letter = 'q'},
};

const struct cli_option cli__baseline_option_table[SCAN_COMMON_COUNT] = {
    COMMON_OPTIONS,
    [SCAN_OUTPUT] = {.name = "output",
                     .argument = "FILE",
                     .help = "the baseline file to write, or to update if it exists",
                     .letter = 'o'},
};

static enum cli_exit refuse(const char *verb, size_t option, const char *value, const char *wants) {
    return cli__complain(CLI_EXIT_USAGE, "%s: --%s takes %s, not '%s'", verb,
                         cli__scan_option_table[option].name, wants, cli__quote_text(value).text);
}

/* ---- values ---- */

/* Returns the days from 1970-01-01 to a date of the Gregorian calendar. */
static int64_t days_of(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static int64_t days_of_month(int64_t year, int64_t month) {
    return month < 12 ? days_of(year, month + 1, 1) - days_of(year, month, 1) : 31;
}

/* Reads exactly `count` digits at *at, and moves *at past them. Returns -1 if there are fewer digits. */
static int64_t digits(const char **at, int count) {
    int64_t value = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if (!isdigit((unsigned char)**at))
            return -1;
        value = value * 10 + (**at - '0');
    }
    return value;
}

static bool take(const char **at, char c) {
    bool is_there = **at == c;
    *at += is_there;
    return is_there;
}

/* Reads a time zone up to the end of the text: "" (UTC), "Z" or "+01:30". */
static bool read_zone(const char *at, int64_t *ret_seconds) {
    int64_t sign = *at == '-' ? -1 : 1;
    int64_t seconds = 0;
    if (take(&at, 'Z') || *at == '\0') {
        seconds = 0;
    } else if (take(&at, '+') || take(&at, '-')) {
        int64_t hours = digits(&at, 2);
        (void)take(&at, ':');
        int64_t minutes = hours < 0 ? -1 : digits(&at, 2);
        if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
            return false;
        seconds = sign * (hours * 3600 + minutes * 60);
    }
    *ret_seconds = seconds;
    return *at == '\0';
}

static bool read_calendar(const char *text, int64_t *ret_seconds) {
    const char *at = text;
    if (take(&at, '@'))
        return ts_i64_parse(ts_bytes_of_cstring(at), ret_seconds) == TS_NUMBER_OK;
    int64_t year = digits(&at, 4);
    int64_t month = year >= 0 && take(&at, '-') ? digits(&at, 2) : -1;
    int64_t day = month >= 0 && take(&at, '-') ? digits(&at, 2) : -1;
    if (month < 1 || month > 12 || day < 1 || day > days_of_month(year, month))
        return false;
    int64_t seconds = days_of(year, month, day) * 86400;
    int64_t zone = 0;
    if (take(&at, 'T') || take(&at, ' ')) {
        int64_t hour = digits(&at, 2);
        int64_t minute = hour >= 0 && take(&at, ':') ? digits(&at, 2) : -1;
        int64_t second = minute >= 0 && take(&at, ':') ? digits(&at, 2) : 0;
        if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
            return false;
        seconds += hour * 3600 + minute * 60 + second;
    }
    if (!read_zone(at, &zone))
        return false;
    *ret_seconds = seconds - zone;
    return true;
}

/* Reads a date. read_calendar reads a text that begins with '@', or with a number and '-', such as
 * 2026-01-31. git's rules for dates apply to other texts. */
static bool read_date(const char *text, int64_t *ret_seconds) {
    size_t len = strspn(text, "0123456789");
    if (text[0] == '@' || (len > 0 && text[len] == '-'))
        return read_calendar(text, ret_seconds);
    return ts_git_since_read(text, (int64_t)(ts_clock_wall_ms() / 1000), ret_seconds);
}

bool cli__size_parse(const char *text, uint64_t *ret_bytes) {
    size_t len = strlen(text);
    unsigned shift = 0;
    if (len > 1 && toupper((unsigned char)text[len - 1]) == 'B' && isalpha((unsigned char)text[len - 2]))
        len--;
    if (len > 2 && text[len - 1] == 'i')
        len--;
    switch (len > 0 ? toupper((unsigned char)text[len - 1]) : 0) {
    case 'K':
        shift = 10;
        break;
    case 'M':
        shift = 20;
        break;
    case 'G':
        shift = 30;
        break;
    case 'T':
        shift = 40;
        break;
    default:
        break;
    }
    uint64_t number;
    return ts_u64_parse(ts_bytes_of(text, len - (shift > 0)), &number) == TS_NUMBER_OK &&
           ts_checked_mul_u64(number, UINT64_C(1) << shift, ret_bytes);
}

bool cli__duration_parse(const char *text, uint64_t *ret_ms) {
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    size_t len = strspn(text, "0123456789");
    uint64_t number;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(text + len, units[i].unit) == 0)
            return ts_u64_parse(ts_bytes_of(text, len), &number) == TS_NUMBER_OK && number > 0 &&
                   number <= DURATION_MAX_MS / units[i].ms && (*ret_ms = number * units[i].ms) > 0;
    return false;
}

enum cli_exit cli__scan_config_check(const char *verb, const char *config, const char *no_repo_config) {
    if (config == NULL || no_repo_config == NULL)
        return CLI_EXIT_DONE;
    return cli__complain(
        CLI_EXIT_USAGE,
        "%s: --config already replaces the target's own configuration; leave out --no-repo-config", verb);
}

enum cli_exit cli__scan_limits_read(const char *verb, const struct cli_scan_limits *texts,
                                    struct ts_scan_options *scan) {
    uint32_t ratio;
    if (texts->memory &&
        (!cli__size_parse(texts->memory, &scan->memory_bytes) || scan->memory_bytes < TS_SCAN_MEMORY_MIN))
        return refuse(verb, SCAN_MEMORY, texts->memory, "a size of 64M or more");
    if (texts->max_time && !cli__duration_parse(texts->max_time, &scan->max_time_ms))
        return refuse(verb, SCAN_MAX_TIME, texts->max_time,
                      "a time of up to a year, such as 90s, 15m or "
                      "2h");
    if (texts->max_ratio) {
        if (ts_u32_parse(ts_bytes_of_cstring(texts->max_ratio), &ratio) != TS_NUMBER_OK || ratio < 1)
            return refuse(verb, SCAN_MAX_RATIO, texts->max_ratio, "a number from 1");
        scan->ratio_max = ratio;
    }
    if (texts->archives) {
        uint32_t depth;
        if (ts_u32_parse(ts_bytes_of_cstring(texts->archives), &depth) != TS_NUMBER_OK ||
            depth > TS_SCAN_ARCHIVES_MAX)
            return refuse(verb, SCAN_ARCHIVES, texts->archives, "a number from 0 to 8");
        scan->archive_depth = depth;
        scan->no_archives = depth == 0;
    }
    if (texts->max_archive &&
        (!cli__size_parse(texts->max_archive, &scan->archive_max) || scan->archive_max == 0))
        return refuse(verb, SCAN_MAX_ARCHIVE, texts->max_archive, "a size, such as 200M");
    return CLI_EXIT_DONE;
}

/* ---- all options ---- */

static enum cli_exit read_numbers(const struct cli_arguments *arguments, struct cli_scan_options *options) {
    const char *const *values = arguments->values;
    uint32_t number;
    if (values[SCAN_JOBS]) {
        if (ts_u32_parse(ts_bytes_of_cstring(values[SCAN_JOBS]), &number) != TS_NUMBER_OK || number < 1 ||
            number > TS_SCAN_THREADS_MAX)
            return refuse(options->verb, SCAN_JOBS, values[SCAN_JOBS], "a number from 1 to 256");
        options->scan.jobs = number;
    }
    struct cli_scan_limits limits = {.memory = values[SCAN_MEMORY],
                                     .max_time = values[SCAN_MAX_TIME],
                                     .max_ratio = values[SCAN_MAX_RATIO],
                                     .archives = values[SCAN_ARCHIVES],
                                     .max_archive = values[SCAN_MAX_ARCHIVE]};
    enum cli_exit status = cli__scan_limits_read(options->verb, &limits, &options->scan);
    if (status != CLI_EXIT_DONE)
        return status;
    const char *occurrences = values[SCAN_OCCURRENCES];
    if (occurrences && strcmp(occurrences, "all") == 0) {
        options->scan.occurrences_max = TS_SCAN_OCCURRENCES_ALL;
    } else if (occurrences) {
        if (ts_u32_parse(ts_bytes_of_cstring(occurrences), &number) != TS_NUMBER_OK || number < 1)
            return refuse(options->verb, SCAN_OCCURRENCES, occurrences, "a number from 1, or all");
        options->scan.occurrences_max = number;
    }
    if (values[SCAN_SINCE] && !read_date(values[SCAN_SINCE], &options->scan.since_s))
        return refuse(options->verb, SCAN_SINCE, values[SCAN_SINCE],
                      "a valid date, such as 2026-01-31, 2026-01-31T12:00:00Z, @1769860800, yesterday, "
                      "2.weeks.ago or 'last friday'");
    options->scan.has_since = values[SCAN_SINCE] != NULL;
    return CLI_EXIT_DONE;
}

/* Returns how often the option occurs; if `value` is not NULL, how often it occurs with this value. */
static size_t count_given(const struct cli_arguments *arguments, size_t option, const char *value) {
    size_t count = 0;
    for (size_t i = 0; i < arguments->given_count; i++)
        count += arguments->given[i].option == option &&
                 (value == NULL || strcmp(arguments->given[i].value, value) == 0);
    return count;
}

static bool has_input(const struct cli_arguments *arguments) {
    for (size_t i = 0; i < arguments->operand_count; i++)
        if (strcmp(arguments->operands[i], "-") == 0)
            return true;
    return false;
}

/* Prints an error if there are options that exclude each other. */
static enum cli_exit check_together(const char *verb, const struct cli_arguments *arguments) {
    static const size_t extents[] = {SCAN_DIR, SCAN_STAGED, SCAN_WORKING_TREE};
    static const size_t history[] = {SCAN_REF,   SCAN_BRANCH, SCAN_COMMIT,
                                     SCAN_RANGE, SCAN_SINCE,  SCAN_UNREACHABLE};
    const char *const *values = arguments->values;
    const struct cli_option *table = cli__scan_option_table;
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = i + 1; values[extents[i]] && k < 3; k++)
            if (values[extents[k]])
                return cli__complain(CLI_EXIT_USAGE, "%s: --%s and --%s cannot be combined", verb,
                                     table[extents[i]].name, table[extents[k]].name);
        for (size_t k = 0; values[extents[i]] && k < sizeof history / sizeof history[0]; k++)
            if (values[history[k]])
                return cli__complain(CLI_EXIT_USAGE,
                                     "%s: --%s selects from the history, and --%s does not scan it", verb,
                                     table[history[k]].name, table[extents[i]].name);
    }
    bool has_range = values[SCAN_RANGE] != NULL;
    if ((values[SCAN_COMMIT] || has_range) &&
        (values[SCAN_REF] || values[SCAN_BRANCH] || values[SCAN_SINCE] || (values[SCAN_COMMIT] && has_range)))
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: --%s cannot be combined with --ref, --branch, --since or --%s", verb,
                             has_range ? "range" : "commit", has_range ? "commit" : "range");
    enum cli_exit status = cli__scan_config_check(verb, values[SCAN_CONFIG], values[SCAN_NO_REPO_CONFIG]);
    if (status != CLI_EXIT_DONE)
        return status;
    if (values[SCAN_STATE] && values[SCAN_STATE][0] == '\0')
        return refuse(verb, SCAN_STATE, values[SCAN_STATE], "a folder");
    if (values[SCAN_STATE] && values[SCAN_NO_STATE])
        return cli__complain(CLI_EXIT_USAGE, "%s: --state and --no-state cannot be combined", verb);
    if (values[SCAN_DIFF_BASELINE] && !values[SCAN_BASELINE])
        return cli__complain(CLI_EXIT_USAGE, "%s: --diff-baseline needs --baseline FILE", verb);
    if (values[SCAN_DIR] && has_input(arguments))
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: '-' is standard input and not a folder; with --dir, write './-' for a "
                             "folder named '-'",
                             verb);
    if (count_given(arguments, SCAN_OUTPUT, "-") > 1)
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: '--output -' is given twice; standard output takes one "
                             "report",
                             verb);
    if (values[SCAN_FORMAT] && count_given(arguments, SCAN_OUTPUT, NULL) > 1)
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: with several --output files the extensions decide the formats; leave out "
                             "--format",
                             verb);
    return CLI_EXIT_DONE;
}

/* Returns all values of an option that may occur several times. Stores them in `texts`, starting at *at. */
static const char *const *collect(const struct cli_arguments *arguments, size_t option, const char **texts,
                                  size_t *at, size_t *ret_count) {
    size_t first = *at;
    for (size_t i = 0; i < arguments->given_count; i++)
        if (arguments->given[i].option == option)
            texts[(*at)++] = arguments->given[i].value;
    *ret_count = *at - first;
    return texts + first;
}

static void read_texts(const struct cli_arguments *arguments, struct cli_scan_options *options) {
    struct ts_scan_options *scan = &options->scan;
    size_t at = 0;
    scan->refs = collect(arguments, SCAN_REF, options->texts, &at, &scan->ref_count);
    scan->branches = collect(arguments, SCAN_BRANCH, options->texts, &at, &scan->branch_count);
    scan->commits = collect(arguments, SCAN_COMMIT, options->texts, &at, &scan->commit_count);
    scan->range = arguments->values[SCAN_RANGE];
    scan->rule_files = collect(arguments, SCAN_RULES, options->texts, &at, &scan->rule_file_count);
    options->targets[0] = (struct ts_scan_target){.path = ".", .kind = TS_SCAN_TARGET_REPOSITORY};
    for (size_t i = 0; i < arguments->operand_count; i++) {
        const char *path = arguments->operands[i];
        bool is_input = strcmp(path, "-") == 0;
        options->targets[i] =
            (struct ts_scan_target){.path = path,
                                    .kind = is_input                      ? TS_SCAN_TARGET_INPUT
                                            : arguments->values[SCAN_DIR] ? TS_SCAN_TARGET_FOLDER
                                                                          : TS_SCAN_TARGET_ANY};
    }
    scan->targets = options->targets;
    scan->target_count = arguments->operand_count > 0 ? arguments->operand_count : 1;
    scan->search_upward = true;
    scan->ceilings = getenv("GIT_CEILING_DIRECTORIES");
}

/* Returns the path of the user's state folder, or NULL if there is none. The caller frees the path. */
static char *find_state_folder(void) {
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char *folder = NULL;
    int len = -1;
    if (state && state[0] == '/')
        len = asprintf(&folder, "%s/turnstone", state);
    else if (home && home[0] == '/')
        len = asprintf(&folder, "%s/.local/state/turnstone", home);
    return len < 0 ? NULL : folder;
}

static void read_state(const struct cli_arguments *arguments, struct cli_scan_options *options) {
    if (arguments->values[SCAN_NO_STATE])
        return;
    if (!arguments->values[SCAN_STATE])
        options->state_folder = find_state_folder();
    options->scan.state_folder =
        arguments->values[SCAN_STATE] ? arguments->values[SCAN_STATE] : options->state_folder;
}

static void read_flags(const struct cli_arguments *arguments, struct cli_scan_options *options) {
    const char *const *values = arguments->values;
    struct ts_scan_options *scan = &options->scan;
    scan->extent = values[SCAN_STAGED]         ? TS_SCAN_STAGED
                   : values[SCAN_WORKING_TREE] ? TS_SCAN_WORKING_TREE
                                               : TS_SCAN_HISTORY;
    scan->allow_missing = values[SCAN_ALLOW_MISSING] != NULL;
    scan->strict = values[SCAN_STRICT] != NULL;
    scan->unreachable = values[SCAN_UNREACHABLE] != NULL;
    scan->min_confidence = TS_CONFIDENCE_LOW;
    if (values[SCAN_MIN_CONFIDENCE])
        (void)ts_confidence_parse(ts_bytes_of_cstring(values[SCAN_MIN_CONFIDENCE]), &scan->min_confidence);
    scan->full = values[SCAN_FULL] != NULL;
    scan->ungated = values[SCAN_UNGATED] != NULL;
    scan->config_file = values[SCAN_CONFIG];
    scan->no_repo_config = values[SCAN_NO_REPO_CONFIG] != NULL;
    scan->no_builtin_rules = values[SCAN_NO_BUILTIN_RULES] != NULL;
    scan->shows_secrets = values[SCAN_SHOW_SECRETS] != NULL;
    options->no_progress = values[SCAN_NO_PROGRESS] != NULL;
    options->baseline = values[SCAN_BASELINE];
    options->lists_gone = values[SCAN_DIFF_BASELINE] != NULL;
    options->quiet = values[SCAN_QUIET] != NULL;
    if (values[SCAN_FAIL_ON])
        (void)ts_severity_parse(ts_bytes_of_cstring(values[SCAN_FAIL_ON]), &options->fail_on);
    if (values[SCAN_FAIL_ON_CONFIDENCE])
        (void)ts_confidence_parse(ts_bytes_of_cstring(values[SCAN_FAIL_ON_CONFIDENCE]),
                                  &options->fail_on_confidence);
    if (values[SCAN_FORMAT])
        (void)ts_report_format_parse(ts_bytes_of_cstring(values[SCAN_FORMAT]), &options->format);
}

/* Reads every --output. The format is that of --format, otherwise that of the file name's extension,
 * otherwise text. */
static void read_outputs(const struct cli_arguments *arguments, struct cli_scan_options *options) {
    for (size_t i = 0; i < arguments->given_count; i++) {
        if (arguments->given[i].option != SCAN_OUTPUT)
            continue;
        struct cli_scan_output *output = &options->outputs[options->output_count++];
        *output = (struct cli_scan_output){.path = arguments->given[i].value, .format = options->format};
        if (!arguments->values[SCAN_FORMAT])
            (void)ts_report_format_of_file(ts_bytes_of_cstring(output->path), &output->format);
    }
}

enum cli_exit cli__scan_check_confidence(const struct cli_scan_options *options,
                                         const char *fail_on_confidence) {
    if (fail_on_confidence == NULL || options->fail_on_confidence >= options->scan.min_confidence)
        return CLI_EXIT_DONE;
    return cli__complain(
        CLI_EXIT_USAGE,
        "%s: --fail-on-confidence %s is below --min-confidence %s, and findings that are not "
        "listed do not count; lower --min-confidence",
        options->verb, fail_on_confidence, ts_confidence_name(options->scan.min_confidence));
}

enum cli_exit cli__scan_options_read(const char *verb, const struct cli_arguments *arguments,
                                     struct cli_scan_options *ret_options) {
    struct cli_scan_options options = {.verb = verb,
                                       .format = TS_REPORT_FORMAT_TEXT,
                                       .fail_on = TS_SEVERITY_LOW,
                                       .fail_on_confidence = TS_CONFIDENCE_MEDIUM};
    if (arguments->operand_count == 0 && arguments->values[SCAN_DIR])
        return cli__complain(CLI_EXIT_USAGE, "%s: --dir needs a folder; '.' is the current one", verb);
    enum cli_exit status = check_together(verb, arguments);
    if (status == CLI_EXIT_DONE)
        status = read_numbers(arguments, &options);
    if (status != CLI_EXIT_DONE)
        return status;
    options.texts = calloc(arguments->given_count + 1, sizeof *options.texts);
    options.targets = calloc(arguments->operand_count + 1, sizeof *options.targets);
    options.outputs = calloc(arguments->given_count + 1, sizeof *options.outputs);
    if (!options.texts || !options.targets || !options.outputs) {
        cli__scan_options_release(&options);
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "out of memory");
    }
    read_texts(arguments, &options);
    read_flags(arguments, &options);
    read_state(arguments, &options);
    read_outputs(arguments, &options);
    status = cli__scan_check_confidence(&options, arguments->values[SCAN_FAIL_ON_CONFIDENCE]);
    if (status != CLI_EXIT_DONE)
        cli__scan_options_release(&options);
    else
        *ret_options = options;
    return status;
}

void cli__scan_options_release(struct cli_scan_options *options) {
    free(options->texts);
    free(options->targets);
    free(options->outputs);
    free(options->state_folder);
    *options = (struct cli_scan_options){.texts = NULL};
}
