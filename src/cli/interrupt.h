/*
 * Handles Ctrl-C and SIGTERM, for verbs that end in an orderly way.
 */
#ifndef TS_CLI_INTERRUPT_H
#define TS_CLI_INTERRUPT_H

/* Calls the handler at the first Ctrl-C, and at every SIGTERM. timeout(1) and other supervisors signal the
 * process and its group, so the process may get SIGTERM twice. A second Ctrl-C ends the program. */
void cli__catch_interrupts(void (*handler)(int number));

#endif
