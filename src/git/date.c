#include "date.h"

#include "base/number.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define AMOUNT_MAX 100000000u

/* Takes between min and max digits. Returns false if there are fewer. */
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

/* A zone at the end of the text, in seconds east of Greenwich. */
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
    day.tm_isdst = -1; /* summer time, if there is any on that day */
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

/* ---- dates before now ---- */

/* Moves the time back. A month or a year has no fixed length: its number changes, and the day stays. */
static bool go_back(struct tm *time, int amount, const char *unit, size_t len) {
    static const struct {
        const char *name;
        int seconds;
    } units[] = {{"seconds", 1},    {"minutes", 60}, {"hours", 3600}, {"days", 86400},
                 {"weeks", 604800}, {"months", 0},   {"years", 0}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t whole = strlen(units[i].name);
        if ((len != whole && len != whole - 1) || strncasecmp(unit, units[i].name, len) != 0)
            continue;
        time_t moved = mktime(time) - (time_t)amount * units[i].seconds;
        if (localtime_r(&moved, time) == NULL)
            return false;
        time->tm_mon -= strcmp(units[i].name, "months") == 0 ? amount : 0;
        time->tm_year -= strcmp(units[i].name, "years") == 0 ? amount : 0;
        return true;
    }
    return false;
}

static bool read_ago(const char *text, const struct tm *now, int64_t *ret_s) {
    static const char between[] = ". ";
    struct tm time = *now;
    int amount;
    if (strcasecmp(text, "now") != 0 && strcasecmp(text, "yesterday") != 0 && !isdigit((unsigned char)*text))
        return false;
    if (strcasecmp(text, "yesterday") == 0)
        text = "1 day";
    while (isdigit((unsigned char)*text)) {
        if (!take_digits(&text, 1, 9, &amount) || strspn(text, between) == 0)
            return false;
        text += strspn(text, between);
        size_t len = strcspn(text, between);
        if (!go_back(&time, amount, text, len))
            return false;
        text += len;
        text += strspn(text, between);
    }
    if (*text != '\0' && strcasecmp(text, "ago") != 0 && strcasecmp(text, "now") != 0)
        return false;
    *ret_s = mktime(&time);
    return true;
}

bool git__date_read(const char *text, int64_t now_s, int64_t *ret_s) {
    time_t seconds = (time_t)now_s;
    struct tm now;
    int64_t read_s;
    tzset(); /* localtime_r need not do it */
    if (localtime_r(&seconds, &now) == NULL ||
        (!read_calendar(text, &now, &read_s) && !read_ago(text, &now, &read_s)))
        return false;
    *ret_s = read_s > 0 ? read_s : 0;
    return true;
}
