/*
 * The meaning of each exit status, the same for every verb. Help and the man page print this table.
 */
#ifndef TS_CLI_EXIT_STATUS_H
#define TS_CLI_EXIT_STATUS_H

#define CLI_EXIT_TABLE(X)                                                                                    \
    X(DONE, 0, "success, also of a transaction that is committed but pending")                               \
    X(FINDINGS, 1, "findings, or a failed check")                                                            \
    X(USAGE, 2, "usage or bad input")                                                                        \
    X(REFUSED, 3, "refused: coordination error, conflict, aborted")                                          \
    X(INCOMPLETE, 4, "incomplete")                                                                           \
    X(UNKNOWN, 5, "outcome unknown")                                                                         \
    X(INFRASTRUCTURE, 6, "infrastructure failed")

enum cli_exit {
#define CLI_EXIT_MEMBER(name, value, meaning) CLI_EXIT_##name = (value),
    CLI_EXIT_TABLE(CLI_EXIT_MEMBER)
#undef CLI_EXIT_MEMBER
};

#endif
