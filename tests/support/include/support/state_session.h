/* A session with a target and a rule, and something found in it. */
#ifndef TS_TESTS_SUPPORT_STATE_SESSION_H
#define TS_TESTS_SUPPORT_STATE_SESSION_H

#include "state_codec.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct state_session {
    struct scan_session session;
    struct scan_target target;
    struct scan_profile profile;
    struct scan_rules rules;
};

static inline bool state_session_init(struct state_session *made) {
    static const char rules[] =
        "rules:\n  - {id: team, name: Team, pattern: '\\b(?<secret>team_[a-z0-9]{12})\\b', gate: [team_], "
        "severity: low, reach: 20}\n";
    struct ts_detect_error error;
    struct scan_hits_options hits = {.held_max = 1 << 20, .findings_max = 100, .spill_dir = "/tmp"};
    memset(made, 0, sizeof *made);
    made->session.targets = &made->target;
    made->session.target_count = 1;
    made->target.profile = &made->profile;
    made->profile.rules = &made->rules;
    scan__pile_init(&made->session.locations, 1 << 20, "/tmp");
    scan__pile_init(&made->session.commits, 1 << 20, "/tmp");
    return ts_ruleset_add(&made->rules.set, "rules.yml", ts_bytes_of_cstring(rules), &error) &&
           scan__hits_init(&made->session.hits, &hits);
}

static inline void state_session_release(struct state_session *made) {
    scan__hits_release(&made->session.hits);
    scan__pile_release(&made->session.locations);
    scan__pile_release(&made->session.commits);
    ts_ruleset_release(&made->rules.set);
}

static inline struct ts_git_oid state_oid(unsigned number) {
    struct ts_git_oid oid = {{(uint8_t)number, (uint8_t)(number >> 8), 7}};
    return oid;
}

static inline uint32_t state_around(struct scan_session *session, struct ts_bytes line) {
    char text[SCAN_AROUND_SIZE];
    struct ts_span secret = {4, line.len - 4};
    struct scan_around around = {.content = line, .at = secret, .secrets = &secret, .secret_count = 1};
    return scan__hits_text(&session->hits, ts_bytes_of(text, scan__around(&around, text)));
}

/* Two findings in two blobs and a tag, a commit, and where they location. */
static inline bool state_session_fill(struct state_session *made) {
    struct scan_session *session = &made->session;
    uint32_t findings[2];
    for (unsigned i = 0; i < 2; i++) {
        struct scan_finding_new finding = {.rule = &made->rules.set.rules[0],
                                           .print = {.hash = UINT64_C(1) << 63 | i, .len = 17, .head = "te"},
                                           .redacted = i == 0 ? TS_BYTES("te…01") : TS_BYTES("te…02")};
        memset(finding.id.text, 'a' + (int)i, TS_FINDING_ID_LEN);
        if (!scan__hits_finding(&session->hits, &finding, &findings[i]))
            return false;
    }
    for (unsigned i = 0; i < 3; i++) {
        struct scan_content content = {.oid = state_oid(i),
                                       .kind = i < 2 ? SCAN_CONTENT_BLOB : SCAN_CONTENT_TAG,
                                       .commit = i < 2 ? (struct ts_git_oid){{0}} : state_oid(9),
                                       .name = i < 2 ? TS_BYTES("") : TS_BYTES("v1"),
                                       .is_whole = true,
                                       .size = 1000 + i,
                                       .evidence = UINT64_C(0x8000000000000001) + i};
        struct scan_hit hits[2];
        for (unsigned k = 0; k < 2; k++)
            hits[k] =
                (struct scan_hit){.finding = findings[k],
                                  .around = state_around(session, TS_BYTES("x = SECRET")),
                                  .allows = SCAN_NO_TEXT,
                                  .pragma = scan__hits_text(&session->hits, TS_BYTES("turnstone:allow")),
                                  .line = 300 + k,
                                  .column = 5,
                                  .end_line = 300 + k,
                                  .end_column = 22,
                                  .at = UINT64_C(1) << 40,
                                  .len = 17,
                                  .confidence = TS_CONFIDENCE_HIGH,
                                  .depth = 1,
                                  .encodings = {TS_ENCODING_BASE64}};
        scan__hits_add(&session->hits, &content, hits, 1 + i % 2);
    }
    struct scan_commit commit = {.oid = state_oid(9),
                                 .time_s = -5,
                                 .author_time_s = 1700000000,
                                 .author_zone_minutes = -330,
                                 .author_name = scan__hits_text(&session->hits, TS_BYTES("Ada")),
                                 .author_mail = SCAN_NO_TEXT};
    uint32_t index = scan__session_commit(session, &commit);
    for (unsigned i = 0; i < 3; i++) {
        struct scan_location location = {.content = i,
                                         .commit = i == 1 ? TS_REPORT_NONE : index,
                                         .path = scan__hits_text(&session->hits, TS_BYTES("a/b.txt")),
                                         .place = i < 2 ? TS_PLACE_FILE : TS_PLACE_TAG_MESSAGE};
        scan__session_location(session, &location);
    }
    return !session->hits.no_memory && !session->no_memory;
}

static inline void state_session_encode(const struct state_session *made, struct scan_buffer *buffer) {
    static const uint32_t contents[] = {0, 1, 2};
    struct scan_material material = {.session = &made->session,
                                     .hash = TS_GIT_SHA1,
                                     .contents = contents,
                                     .content_count = 3,
                                     .commit_count = 1,
                                     .location_count = 3};
    scan__material_encode(&material, buffer);
}

#endif
