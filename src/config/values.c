/*
 * Values of settings as text: "500ms", "0.25", "128", "FailFast".
 */
#include "settings.h"

#include "base/assert.h"
#include "base/checked.h"
#include "base/distance.h"
#include "base/number.h"
#include "base/redact.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FRACTION_DIGITS = 6 };

struct unit {
    const char *name;
    uint64_t us;
};

/* All units, from the largest to the smallest. */
static const struct unit units[] = {
    {"h", UINT64_C(3600000000)}, {"m", 60000000}, {"s", 1000000}, {"ms", 1000}, {"us", 1},
};
enum { UNITS = sizeof units / sizeof units[0] };

/* Parses a number such as "1.5", and multiplies it by the unit `one` without rounding: 1.5 s are 1,500,000
 * us. Returns false when the text is not such a number, exceeds 64 bits, or has too many digits. */
static bool parse_decimal(struct ts_bytes text, uint64_t one, uint64_t *ret_value) {
    const uint8_t *dot = text.len > 0 ? memchr(text.data, '.', text.len) : NULL;
    struct ts_bytes whole_text = dot == NULL ? text : ts_bytes_first(text, (size_t)(dot - text.data));
    uint64_t value;
    if (ts_u64_parse(whole_text, &value) != TS_NUMBER_OK || !ts_checked_mul_u64(value, one, &value))
        return false;
    if (dot != NULL) {
        struct ts_bytes digits = ts_bytes_skip(text, whole_text.len + 1);
        uint64_t fraction, part = one;
        if (digits.len > FRACTION_DIGITS || ts_u64_parse(digits, &fraction) != TS_NUMBER_OK)
            return false;
        for (size_t i = 0; i < digits.len; i++) {
            if (part % 10 != 0)
                return false;
            part /= 10;
        }
        if (!ts_checked_add_u64(value, fraction * part, &value))
            return false;
    }
    *ret_value = value;
    return true;
}

static bool ends_with(struct ts_bytes text, struct ts_bytes end) {
    return text.len >= end.len && ts_bytes_equal(ts_bytes_skip(text, text.len - end.len), end);
}

/* Returns the longest unit that the text ends with; NULL: none. */
static const struct unit *unit_of(struct ts_bytes text) {
    const struct unit *found = NULL;
    for (size_t i = 0; i < UNITS; i++)
        if (ends_with(text, ts_bytes_of_cstring(units[i].name)) &&
            (found == NULL || strlen(units[i].name) > strlen(found->name)))
            found = &units[i];
    return found;
}

static bool parse_duration(struct ts_bytes text, uint64_t *ret_us, char *ret_why, size_t size) {
    const struct unit *unit = unit_of(text);
    uint64_t ignored;
    if (unit == NULL) {
        bool number = parse_decimal(text, 1000000, &ignored);
        snprintf(ret_why, size,
                 number ? "has no unit: add one of us, ms, s, m, h"
                        : "is not a duration: write a number and one of us, ms, s, m, h, such as 500ms");
        return false;
    }
    if (!parse_decimal(ts_bytes_first(text, text.len - strlen(unit->name)), unit->us, ret_us)) {
        snprintf(ret_why, size,
                 "is not a duration: write a number and one of us, ms, s, m, h, such as "
                 "500ms");
        return false;
    }
    return true;
}

static bool parse_choice(const struct config_setting *setting, struct ts_bytes text, uint64_t *ret_value,
                         char *ret_why, size_t size) {
    size_t count = 0, nearest;
    for (; setting->choices[count] != NULL; count++)
        if (ts_bytes_equal(text, ts_bytes_of_cstring(setting->choices[count]))) {
            *ret_value = count;
            return true;
        }
    char allowed[2 * TS_CONFIG_VALUE_SIZE];
    if (ts_distance_nearest(text, setting->choices, count, &nearest))
        snprintf(ret_why, size, "is not a known value; did you mean %s?", setting->choices[nearest]);
    else
        snprintf(ret_why, size, "is not one of %s", config__allowed(setting, allowed, sizeof allowed));
    return false;
}

static bool parse_by_kind(const struct config_setting *setting, struct ts_bytes text, uint64_t *ret_value,
                          char *ret_why, size_t size) {
    switch (setting->kind) {
    case CONFIG_DURATION:
        return parse_duration(text, ret_value, ret_why, size);
    case CONFIG_RATIO:
        snprintf(ret_why, size, "is not a ratio: write a decimal fraction such as 0.25");
        return parse_decimal(text, TS_TXN_PPM, ret_value);
    case CONFIG_MILLIS:
    case CONFIG_COUNT:
        snprintf(ret_why, size, "is not a whole number");
        return ts_u64_parse(text, ret_value) == TS_NUMBER_OK;
    case CONFIG_CHOICE:
        return parse_choice(setting, text, ret_value, ret_why, size);
    }
    ts_unreachable("no such kind");
}

bool config__value_parse(const struct config_setting *setting, struct ts_bytes text, uint64_t *ret_value,
                         char *ret_why, size_t size) {
    char why[200], shown[TS_CONFIG_VALUE_SIZE], allowed[2 * TS_CONFIG_VALUE_SIZE];
    uint64_t value;
    ts_text_quote(text, shown, sizeof shown);
    if (!parse_by_kind(setting, text, &value, why, sizeof why)) {
        snprintf(ret_why, size, "\"%s\" %s", shown, why);
        return false;
    }
    if (setting->kind != CONFIG_CHOICE && (value < setting->min || value > setting->max)) {
        snprintf(ret_why, size, "%s is out of range: %s", shown,
                 config__allowed(setting, allowed, sizeof allowed));
        return false;
    }
    *ret_value = value;
    return true;
}

static void format_duration(uint64_t us, char *ret_text, size_t size) {
    const struct unit *unit = &units[UNITS - 1];
    for (size_t i = UNITS; i-- > 0;)
        if (us > 0 && us % units[i].us == 0)
            unit = &units[i];
    snprintf(ret_text, size, "%" PRIu64 "%s", us / unit->us, us == 0 ? "s" : unit->name);
}

static void format_ratio(uint64_t ppm, char *ret_text, size_t size) {
    int printed = snprintf(ret_text, size, "%" PRIu64 ".%06" PRIu64, ppm / TS_TXN_PPM, ppm % TS_TXN_PPM);
    ts_assert(printed > 0 && (size_t)printed < size);
    /* Removes trailing zeros, but keeps one digit after the point. */
    for (size_t len = (size_t)printed; ret_text[len - 1] == '0' && ret_text[len - 2] != '.'; len--)
        ret_text[len - 1] = '\0';
}

void config__value_format(const struct config_setting *setting, uint64_t value,
                          char ret_text[static TS_CONFIG_VALUE_SIZE]) {
    switch (setting->kind) {
    case CONFIG_DURATION:
        format_duration(value, ret_text, TS_CONFIG_VALUE_SIZE);
        return;
    case CONFIG_RATIO:
        format_ratio(value, ret_text, TS_CONFIG_VALUE_SIZE);
        return;
    case CONFIG_MILLIS:
    case CONFIG_COUNT:
        snprintf(ret_text, TS_CONFIG_VALUE_SIZE, "%" PRIu64, value);
        return;
    case CONFIG_CHOICE:
        snprintf(ret_text, TS_CONFIG_VALUE_SIZE, "%s", setting->choices[value]);
        return;
    }
    ts_unreachable("no such kind");
}

const char *config__allowed(const struct config_setting *setting, char *ret_text, size_t size) {
    char least[TS_CONFIG_VALUE_SIZE], most[TS_CONFIG_VALUE_SIZE];
    if (setting->kind != CONFIG_CHOICE) {
        config__value_format(setting, setting->min, least);
        config__value_format(setting, setting->max, most);
        snprintf(ret_text, size, "%s to %s", least, most);
        return ret_text;
    }
    ret_text[0] = '\0';
    for (size_t i = 0; setting->choices[i] != NULL; i++) {
        size_t used = strlen(ret_text);
        snprintf(ret_text + used, size - used, "%s%s", i == 0 ? "" : ", ", setting->choices[i]);
    }
    return ret_text;
}
