/*
 * The reason why the state of earlier scans is not used or not kept. The reason is not part of the report:
 * reports are the same with and without state.
 */
#ifndef TS_SCAN_STATE_WARNING_H
#define TS_SCAN_STATE_WARNING_H

/* The first reason: one line with folder, reason and fix, safe to print. Empty if there is no reason. */
struct scan_state_warning {
    char text[700];
};

#endif
