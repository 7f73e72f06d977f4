/*
 * transitions WISH:EVENT...: prints every transition of a unit of work (runtime/core/unit_step.h), one per
 * line:
 *
 *     PHASE|EVENT|NEXT PHASE|WISH
 *
 * The arguments say which events answer which wish. The program visits all reachable states.
 */
#include "runtime/core/unit_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_NUMBER = 5, STATES_MAX = 1 << 16, LINE_SIZE = 96, LINES_MAX = 1000 };

static const char *const wish_names[] = {
#define NAME(suffix, name) name,
    TS_UNIT_WISHES(NAME)
#undef NAME
};

static const char *const event_names[] = {
#define NAME(suffix, name) name,
    TS_UNIT_EVENTS(NAME)
#undef NAME
};

static bool answers[TS_WISH_COUNT][TS_UNIT_EVENT_COUNT];

static struct ts_unit states[STATES_MAX];
static uint64_t keys[STATES_MAX];
static size_t state_count;

static char lines[LINES_MAX][LINE_SIZE];
static size_t line_count;

/* Returns a key of everything that the next steps depend on. Instead of unit->n, the key contains whether
 * unit->n is above 0. */
static uint64_t key_of(const struct ts_unit *unit) {
    const uint64_t parts[] = {
        unit->phase,          unit->wish.kind,   unit->wish.is_new,      unit->later.kind,
        unit->later.is_new,   unit->flip.is_new, unit->flip.with_faults, unit->tries,
        unit->is_repaired,    unit->is_stopping, unit->target.exists,    unit->target.is_complete,
        unit->target.refs[0], unit->n > 0,
    };
    uint64_t key = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        key = key * 16 + parts[i];
    return key;
}

static void keep_line(const char *line) {
    for (size_t i = 0; i < line_count; i++)
        if (strcmp(lines[i], line) == 0)
            return;
    if (line_count == LINES_MAX)
        abort();
    snprintf(lines[line_count++], LINE_SIZE, "%s", line);
    puts(line);
}

static void keep_state(const struct ts_unit *unit) {
    const uint64_t key = key_of(unit);
    for (size_t i = 0; i < state_count; i++)
        if (keys[i] == key)
            return;
    if (state_count == STATES_MAX)
        abort();
    keys[state_count] = key;
    states[state_count++] = *unit;
}

static void take(const struct ts_unit *before, const struct ts_unit_event *event) {
    struct ts_unit unit = *before;
    const struct ts_unit_wish wish = ts_unit_step(&unit, event);
    char line[LINE_SIZE];
    snprintf(line, sizeof line, "%s|%s|%s|%s%s%s", ts_unit_phase_name(before->phase),
             event_names[event->kind], ts_unit_phase_name(unit.phase), wish_names[wish.kind],
             wish.repair ? " (repair)" : "", wish.continues ? " (continues)" : "");
    keep_line(line);
    keep_state(&unit);
}

/* Takes an event of this kind with every value that such an event can have. */
static void take_all(const struct ts_unit *unit, enum ts_unit_event_kind kind) {
    struct ts_unit_event event = {.kind = kind};
    if (kind == TS_UNIT_EVENT_READ) {
        for (unsigned i = 0; i < 8; i++) {
            event.target = (struct ts_unit_target){.exists = i & 1,
                                                   .is_complete = i & 2,
                                                   .has_rules_of_run = true,
                                                   .run_number = i & 4 ? RUN_NUMBER : RUN_NUMBER - 1};
            take(unit, &event);
        }
    } else if (kind == TS_UNIT_EVENT_SYNCED) {
        for (uint8_t i = 0; i < 2; i++) {
            event.refs[0] = i;
            take(unit, &event);
        }
    } else if (kind == TS_UNIT_EVENT_SCANNED) {
        take(unit, &event);
        event.has_faults = true;
        take(unit, &event);
    } else if (kind == TS_UNIT_EVENT_LOOKED_UP) {
        for (unsigned i = 0; i <= TS_UNIT_FOUND_OTHER; i++) {
            event.found = (enum ts_unit_found)i;
            take(unit, &event);
        }
    } else if (kind == TS_UNIT_EVENT_FAILED) {
        for (unsigned i = 0; i <= TS_UNIT_RUN_ENDED; i++) {
            event.error = ts_unit_error_of((enum ts_unit_reason)i);
            take(unit, &event);
        }
    } else {
        take(unit, &event);
    }
}

static bool has_event(const char *argument, size_t wish, size_t event) {
    char pair[64];
    snprintf(pair, sizeof pair, "%s:%s", wish_names[wish], event_names[event]);
    return strcmp(argument, pair) == 0;
}

static void read_pair(const char *argument) {
    for (size_t wish = 0; wish < TS_WISH_COUNT; wish++)
        for (size_t event = 0; event < TS_UNIT_EVENT_COUNT; event++)
            if (has_event(argument, wish, event)) {
                answers[wish][event] = true;
                return;
            }
    fprintf(stderr, "transitions: unknown pair '%s'\n", argument);
    exit(2);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        read_pair(argv[i]);
    struct ts_unit unit;
    struct ts_unit_limits limits = ts_unit_limits_default();
    limits.tries_max = 1; /* keeps the number of states small */
    ts_unit_init(&unit, RUN_NUMBER, limits);
    take(&unit, &(struct ts_unit_event){.kind = TS_UNIT_EVENT_CLAIMED});
    for (size_t i = 0; i < state_count; i++)
        for (unsigned event = 0; event < TS_UNIT_EVENT_COUNT; event++)
            if (answers[states[i].wish.kind][event])
                take_all(&states[i], (enum ts_unit_event_kind)event);
    return 0;
}
