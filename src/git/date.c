#include "date.h"

#include "base/number.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define AMOUNT_MAX 100000000
#define DAY_S      86400

/* Takes a number of min to max digits. Returns false if there are fewer or more digits, or if the number is
 * above AMOUNT_MAX. */
static bool take_digits(const char **at, size_t min, size_t max, int *ret_number) {
    size_t len = strspn(*at, "0123456789");
    uint32_t number;
    if (len < min || len > max || ts_u32_parse(ts_bytes_of(*at, len), &number) != TS_NUMBER_OK ||
        number > AMOUNT_MAX)
        return false;
    *at += len;
    *ret_number = (int)number;
    return true;
}

static bool take(const char **at, char c) {
    bool is_there = **at == c;
    *at += is_there;
    return is_there;
}

/* ---- dates of the calendar ---- */

static bool take_day(const char **at, struct tm *day) {
    int year;
    int month;
    int mday;
    if (!take_digits(at, 4, 4, &year) || !take(at, '-') || !take_digits(at, 1, 2, &month) || !take(at, '-') ||
        !take_digits(at, 1, 2, &mday) || year < 1970 || year >= 2100 || month < 1 || month > 12 || mday < 1 ||
        mday > 31)
        return false;
    day->tm_year = year - 1900;
    day->tm_mon = month - 1;
    day->tm_mday = mday;
    return true;
}

static bool take_time(const char **at, struct tm *day) {
    day->tm_sec = 0;
    if (!take_digits(at, 1, 2, &day->tm_hour) || !take(at, ':') || !take_digits(at, 1, 2, &day->tm_min))
        return false;
    if (take(at, ':')) {
        if (!take_digits(at, 1, 2, &day->tm_sec))
            return false;
        if (take(at, '.')) { /* parts of a second do not count */
            size_t len = strspn(*at, "0123456789");
            *at += len;
            if (len == 0)
                return false;
        }
    }
    return day->tm_hour <= 24 && day->tm_min < 60 && day->tm_sec <= 60;
}

/* Reads a zone, which must end the text, as seconds east of Greenwich. Returns false if it is not valid. */
static bool read_zone(const char *at, int *ret_s) {
    int hour;
    int minute = 0;
    int sign = *at == '-' ? -1 : 1;
    if (strcasecmp(at, "Z") == 0) {
        *ret_s = 0;
        return true;
    }
    if (*at != '+' && *at != '-')
        return false;
    at++;
    if (strspn(at, "0123456789") == 4) {
        if (!take_digits(&at, 4, 4, &hour))
            return false;
        minute = hour % 100;
        hour /= 100;
    } else if (!take_digits(&at, 2, 2, &hour) || (take(&at, ':') && !take_digits(&at, 2, 2, &minute))) {
        return false;
    }
    *ret_s = sign * (hour * 60 + minute) * 60;
    return *at == '\0' && hour < 24 && minute < 60;
}

static bool read_calendar(const char *text, const struct tm *now, int64_t *ret_s) {
    struct tm day = *now;
    int zone_s;
    if (!take_day(&text, &day))
        return false;
    if (*text == '\0') {
        *ret_s = mktime(&day);
        return true;
    }
    if (!take(&text, 'T') && !take(&text, ' '))
        return false;
    if (!take_time(&text, &day))
        return false;
    day.tm_isdst = -1; /* summer time if the zone has it on that day */
    if (*text == '\0') {
        *ret_s = mktime(&day);
        return true;
    }
    (void)take(&text, ' ');
    if (!read_zone(text, &zone_s))
        return false;
    *ret_s = timegm(&day) - zone_s;
    return true;
}

/* ---- dates in words ---- */

/* Characters that separate words. */
static const char BETWEEN[] = " .,";

/* The date that the words so far specify. Parts that they do not specify are those of the current time. */
struct words {
    struct tm now;
    struct tm time;
    bool has_day;
    bool has_month;
    bool has_year;
    bool names_month;
    bool has_clock;  /* a time of day, such as 12:30, was read */
    bool is_date;    /* some word specifies a time */
    bool has_number; /* a number was read; the next word may say what it counts */
    int number;
};

/* Fills in missing parts of the date from the current time, and moves the result back by this many seconds.
 * Returns false if the result is not a valid time. */
static bool move_back(struct words *w, int64_t seconds) {
    if (!w->has_day)
        w->time.tm_mday = w->now.tm_mday;
    if (!w->has_month)
        w->time.tm_mon = w->now.tm_mon;
    if (!w->has_year)
        w->time.tm_year = w->now.tm_year - (w->time.tm_mon > w->now.tm_mon);
    w->has_day = w->has_month = w->has_year = w->is_date = true;
    time_t moved = mktime(&w->time) - (time_t)seconds;
    return localtime_r(&moved, &w->time) != NULL;
}

/* Takes a number without a unit: next to the name of a month, it is the day or the year. Returns false if it
 * can be neither. */
static bool settle_number(struct words *w) {
    int number = w->number;
    if (!w->has_number)
        return true;
    w->has_number = false;
    if (!w->names_month || number == 0)
        return false;
    if (!w->has_day && number < 32) {
        w->time.tm_mday = number;
        w->has_day = true;
        return true;
    }
    bool is_short = number < 38 || (number >= 70 && number < 100);
    if (w->has_year || (!is_short && (number < 1970 || number >= 2100)))
        return false;
    w->time.tm_year = number < 38 ? number + 100 : number < 100 ? number : number - 1900;
    w->has_year = true;
    return true;
}

/* Returns whether the word is this name, or an abbreviation of at least `min` letters. */
static bool is_name(struct ts_bytes word, const char *name, size_t min) {
    return word.len >= min && word.len <= strlen(name) &&
           strncasecmp((const char *)word.data, name, word.len) == 0;
}

static bool is_word(struct ts_bytes word, const char *name) {
    return is_name(word, name, strlen(name));
}

/* Returns the index of the name in `names`, or `count` if the word is not a name. */
static size_t find_name(struct ts_bytes word, const char *const *names, size_t count, size_t min) {
    size_t i = 0;
    while (i < count && !is_name(word, names[i], min))
        i++;
    return i;
}

static bool read_month(struct words *w, struct ts_bytes word) {
    static const char *const names[12] = {"January",   "February", "March",    "April",
                                          "May",       "June",     "July",     "August",
                                          "September", "October",  "November", "December"};
    size_t month = find_name(word, names, 12, 3);
    if (month == 12 || w->has_month)
        return false;
    w->time.tm_mon = (int)month;
    w->has_month = w->names_month = w->is_date = true;
    return true;
}

/* Reads a name of an hour, such as noon. If that hour is still to come today, the name means that hour of
 * yesterday. */
static bool read_hour(struct words *w, struct ts_bytes word) {
    static const struct {
        const char *name;
        int hour;
    } hours[] = {{"midnight", 0}, {"noon", 12}, {"tea", 17}};
    for (size_t i = 0; i < sizeof hours / sizeof hours[0]; i++) {
        if (!is_word(word, hours[i].name))
            continue;
        if (!settle_number(w) || (w->time.tm_hour < hours[i].hour && !move_back(w, DAY_S)))
            return false;
        w->time.tm_hour = hours[i].hour;
        w->time.tm_min = w->time.tm_sec = 0;
        w->is_date = true;
        return true;
    }
    return false;
}

static bool read_count(struct words *w, struct ts_bytes word) {
    static const char *const names[] = {"last", "one",   "two",   "three", "four", "five",
                                        "six",  "seven", "eight", "nine",  "ten"};
    size_t count = sizeof names / sizeof names[0];
    size_t i = 0;
    while (i < count && !is_word(word, names[i]))
        i++;
    if (i == count || w->has_number)
        return false;
    w->has_number = true;
    w->number = i == 0 ? 1 : (int)i;
    return true;
}

/* Reads a unit, and moves the time back by the number before it. A month or a year has no fixed length:
 * moving back by it changes the month or year, and keeps the day. */
static bool read_unit(struct words *w, struct ts_bytes word) {
    static const char *const names[] = {"seconds", "minutes", "hours", "days", "weeks", "months", "years"};
    static const int seconds[] = {1, 60, 3600, DAY_S, 7 * DAY_S, 0, 0};
    size_t count = sizeof names / sizeof names[0];
    size_t i = 0;
    while (i < count && !is_name(word, names[i], strlen(names[i]) - 1))
        i++;
    if (i == count || !w->has_number || !move_back(w, (int64_t)w->number * seconds[i]) ||
        w->time.tm_year < -AMOUNT_MAX)
        return false;
    w->has_number = false;
    w->time.tm_mon -= strcmp(names[i], "months") == 0 ? w->number : 0;
    w->time.tm_year -= strcmp(names[i], "years") == 0 ? w->number : 0;
    return true;
}

static const char *const WEEKDAYS[7] = {"Sundays",   "Mondays", "Tuesdays", "Wednesdays",
                                        "Thursdays", "Fridays", "Saturdays"};

/* Reads the name of a weekday. On a Friday, "last friday" means a week ago. */
static bool read_weekday(struct words *w, struct ts_bytes word) {
    size_t day = find_name(word, WEEKDAYS, 7, 3);
    if (day == 7 || !w->has_number || w->number == 0)
        return false;
    int64_t days = w->time.tm_wday - (int)day;
    days += 7 * ((int64_t)w->number - (days > 0));
    w->has_number = false;
    return move_back(w, days * DAY_S);
}

static bool read_word(struct words *w, struct ts_bytes word) {
    if (is_word(word, "yesterday"))
        return !w->has_number && move_back(w, DAY_S);
    if (is_word(word, "now"))
        return !w->has_number && move_back(w, 0);
    if (is_word(word, "ago"))
        return !w->has_number && w->is_date;
    if (is_word(word, "at") || is_word(word, "today"))
        return true;
    return read_month(w, word) || read_hour(w, word) || read_count(w, word) || read_unit(w, word) ||
           read_weekday(w, word);
}

/* Reads a number, such as 3 or 3rd, or a time of day. */
static bool read_number(struct words *w, struct ts_bytes word) {
    const char *at = (const char *)word.data;
    const char *end = at + word.len;
    if (!settle_number(w))
        return false;
    if (memchr(at, ':', word.len) != NULL) {
        w->has_clock = w->is_date = true;
        return take_time(&at, &w->time) && at == end;
    }
    if (!take_digits(&at, 1, 9, &w->number))
        return false;
    w->has_number = true;
    struct ts_bytes rest = ts_bytes_of(at, (size_t)(end - at));
    return at == end || is_word(rest, "st") || is_word(rest, "nd") || is_word(rest, "rd") ||
           is_word(rest, "th");
}

static bool read_words(const char *text, const struct tm *now, int64_t *ret_s) {
    struct words w = {.now = *now, .time = *now};
    while (*text != '\0') {
        struct ts_bytes word = ts_bytes_of(text, strcspn(text, BETWEEN));
        bool is_number = isdigit((unsigned char)*text);
        if (word.len == 0 || !(is_number ? read_number(&w, word) : read_word(&w, word)))
            return false;
        text += word.len;
        text += strspn(text, BETWEEN);
    }
    if (!settle_number(&w) || !w.is_date)
        return false;
    if (w.names_month && w.has_day && w.has_year && w.has_clock)
        w.time.tm_isdst = -1; /* every part is specified: summer time if the zone has it on that day */
    if (!move_back(&w, 0))
        return false;
    *ret_s = mktime(&w.time);
    return true;
}

bool git__date_read(const char *text, int64_t now_s, int64_t *ret_s) {
    time_t seconds = (time_t)now_s;
    struct tm now;
    int64_t read_s;
    tzset(); /* localtime_r may rely on an earlier tzset */
    if (localtime_r(&seconds, &now) == NULL ||
        (!read_calendar(text, &now, &read_s) && !read_words(text, &now, &read_s)))
        return false;
    *ret_s = read_s > 0 ? read_s : 0;
    return true;
}

bool ts_git_since_read(const char *text, int64_t now_s, int64_t *ret_s) {
    struct ts_bytes word = ts_bytes_of_cstring(text);
    char last[32];
    if (is_word(word, "today"))
        text = "midnight";
    if (find_name(word, WEEKDAYS, 7, 3) < 7) {
        snprintf(last, sizeof last, "last %s", text);
        text = last;
    }
    return git__date_read(text, now_s, ret_s);
}
