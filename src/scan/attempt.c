#include "attempt.h"

struct scan_attempt scan__attempt_begin(struct scan_pass *pass) {
    pass->faults.moved = 0;
    return (struct scan_attempt){.hits = scan__hits_mark(&pass->hits),
                                 .faults = scan__faults_mark(&pass->faults),
                                 .locations = pass->locations.len,
                                 .commits = pass->commits.len,
                                 .profile_count = pass->profile_count,
                                 .plain = pass->plain,
                                 .limits_hit = pass->limits_hit,
                                 .no_memory = pass->no_memory,
                                 .objects = atomic_load(&pass->progress->objects),
                                 .bytes = atomic_load(&pass->progress->bytes)};
}

bool scan__attempt_is_stale(struct scan_pass *pass) {
    return pass->faults.moved > 0 && pass->attempts_left > 0 && !scan__is_stopped(pass);
}

void scan__attempt_undo(struct scan_pass *pass, struct scan_target *target,
                        const struct scan_attempt *attempt) {
    struct ts_scan_progress *progress = pass->progress;
    scan__hits_cut(&pass->hits, &attempt->hits);
    scan__faults_cut(&pass->faults, &attempt->faults);
    scan__pile_cut(&pass->locations, attempt->locations);
    scan__pile_cut(&pass->commits, attempt->commits);
    while (pass->profile_count > attempt->profile_count)
        scan__pass_drop_profile(pass->profiles[--pass->profile_count]);
    pass->plain = attempt->plain;
    pass->limits_hit = attempt->limits_hit;
    pass->no_memory = attempt->no_memory;
    target->profile = NULL;
    target->row = (struct ts_report_target){.name = target->row.name};
    atomic_store(&progress->objects, attempt->objects);
    atomic_store(&progress->objects_total, 0);
    atomic_store(&progress->bytes, attempt->bytes);
    atomic_store(&progress->findings, atomic_load(&pass->hits.finding_count));
    atomic_store(&progress->stage, TS_SCAN_STAGE_HISTORY);
}
