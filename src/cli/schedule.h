/*
 * Shared by the verbs on schedules: reading a schedule and its name, and showing how often a schedule runs.
 */
#ifndef TS_CLI_SCHEDULE_H
#define TS_CLI_SCHEDULE_H

#include "coord_verb.h"

#include "runtime/durable/schedules.h"

/* How often a verb tries to change a schedule that workers change at the same time. */
enum { CLI_SCHEDULE_TRIES = 20 };

/* Reads the only operand, the name of a schedule. Prints an error when it is wrong. */
enum cli_exit cli__schedule_name(const char *verb, const struct cli_arguments *arguments,
                                 struct ts_schedule_name *ret_name);

/* The states of a schedule that a verb accepts. */
enum cli_schedule_need {
    CLI_SCHEDULE_ANY,   /* the schedule may be absent or damaged */
    CLI_SCHEDULE_THERE, /* the schedule may be damaged, but not absent */
    CLI_SCHEDULE_VALID,
};

/* Reads the schedule. Prints an error if the schedule is absent or damaged and `need` does not
 * accept that. */
enum cli_exit cli__schedule_read(struct cli_coord *coord, const struct ts_schedule_name *name,
                                 enum cli_schedule_need need, struct ts_schedule_seen *ret_seen);

/* How often a schedule runs: "daily at 02:30 UTC", or "every 6 h". */
struct cli_rhythm {
    char text[48];
};
struct cli_rhythm cli__show_rhythm(const struct ts_fleet_schedule *schedule);

#endif
