/* Runs a command with a message on its standard input. */
#ifndef TS_NOTIFY_COMMAND_H
#define TS_NOTIFY_COMMAND_H

#include "notify/notify.h"

/* Runs the command in a process group of its own. The group is killed when the command has ended, when the
 * timeout of the sink has passed, or when `stop` is set. The output of the command goes to standard error. */
struct ts_notify_answer notify__command_run(const struct ts_notify_sink *sink, const atomic_bool *stop,
                                            const struct ts_notify_message *message);

#endif
