#include "attempt.h"

struct scan_attempt scan__attempt_begin(struct scan_session *session) {
    session->faults.moved = 0;
    return (struct scan_attempt){.hits = scan__hits_mark(&session->hits),
                                 .faults = scan__faults_mark(&session->faults),
                                 .locations = session->locations.len,
                                 .commits = session->commits.len,
                                 .profile_count = session->profile_count,
                                 .plain = session->plain,
                                 .limits_hit = session->limits_hit,
                                 .no_memory = session->no_memory,
                                 .objects = atomic_load(&session->progress->objects),
                                 .bytes = atomic_load(&session->progress->bytes)};
}

bool scan__attempt_is_stale(struct scan_session *session) {
    return session->faults.moved > 0 && session->attempts_left > 0 && !scan__is_stopped(session);
}

void scan__attempt_undo(struct scan_session *session, struct scan_target *target,
                        const struct scan_attempt *attempt) {
    struct ts_scan_progress *progress = session->progress;
    scan__hits_cut(&session->hits, &attempt->hits);
    scan__faults_cut(&session->faults, &attempt->faults);
    scan__pile_cut(&session->locations, attempt->locations);
    scan__pile_cut(&session->commits, attempt->commits);
    while (session->profile_count > attempt->profile_count)
        scan__session_drop_profile(session->profiles[--session->profile_count]);
    session->plain = attempt->plain;
    session->limits_hit = attempt->limits_hit;
    session->no_memory = attempt->no_memory;
    target->profile = NULL;
    target->row = (struct ts_report_target){.name = target->row.name};
    atomic_store(&progress->objects, attempt->objects);
    atomic_store(&progress->objects_total, 0);
    atomic_store(&progress->bytes, attempt->bytes);
    atomic_store(&progress->findings, atomic_load(&session->hits.finding_count));
    atomic_store(&progress->stage, TS_SCAN_STAGE_HISTORY);
}
