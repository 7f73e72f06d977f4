/* A pass with a target, a rule, and findings of this rule. */
#ifndef TS_TESTS_SUPPORT_STATE_PASS_H
#define TS_TESTS_SUPPORT_STATE_PASS_H

#include "state_codec.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct state_pass {
    struct scan_pass pass;
    struct scan_target target;
    struct scan_profile profile;
    struct scan_rules rules;
};

static inline bool state_pass_init(struct state_pass *made) {
    static const char rules[] =
        "rules:\n  - {id: team, name: Team, pattern: '\\b(?<secret>team_[a-z0-9]{12})\\b', gate: [team_], "
        "severity: low, reach: 20}\n";
    struct ts_detect_error error;
    struct scan_hits_options hits = {.held_max = 1 << 20, .findings_max = 100, .spill_dir = "/tmp"};
    memset(made, 0, sizeof *made);
    made->pass.targets = &made->target;
    made->pass.target_count = 1;
    made->target.profile = &made->profile;
    made->profile.rules = &made->rules;
    scan__pile_init(&made->pass.locations, 1 << 20, "/tmp");
    scan__pile_init(&made->pass.commits, 1 << 20, "/tmp");
    return ts_ruleset_add(&made->rules.set, "rules.yml", ts_bytes_of_cstring(rules), &error) &&
           scan__hits_init(&made->pass.hits, &hits);
}

static inline void state_pass_release(struct state_pass *made) {
    scan__hits_release(&made->pass.hits);
    scan__pile_release(&made->pass.locations);
    scan__pile_release(&made->pass.commits);
    ts_ruleset_release(&made->rules.set);
}

static inline struct ts_git_oid state_oid(unsigned number) {
    struct ts_git_oid oid = {{(uint8_t)number, (uint8_t)(number >> 8), 7}};
    return oid;
}

static inline uint32_t state_around(struct scan_pass *pass, struct ts_bytes line) {
    char text[SCAN_AROUND_SIZE];
    struct ts_span secret = {4, line.len - 4};
    struct scan_around around = {.content = line, .at = secret, .secrets = &secret, .secret_count = 1};
    return scan__hits_text(&pass->hits, ts_bytes_of(text, scan__around(&around, text)));
}

/* Fills the pass with two findings, three contents (two blobs and a tag), a commit, and three locations. */
static inline bool state_pass_fill(struct state_pass *made) {
    struct scan_pass *pass = &made->pass;
    uint32_t findings[2];
    for (unsigned i = 0; i < 2; i++) {
        struct scan_finding_new finding = {.rule = &made->rules.set.rules[0],
                                           .print = {.hash = UINT64_C(1) << 63 | i, .len = 17, .head = "te"},
                                           .redacted = i == 0 ? TS_BYTES("te…01") : TS_BYTES("te…02")};
        memset(finding.id.text, 'a' + (int)i, TS_FINDING_ID_LEN);
        if (!scan__hits_finding(&pass->hits, &finding, &findings[i]))
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
            hits[k] = (struct scan_hit){.finding = findings[k],
                                        .around = state_around(pass, TS_BYTES("x = SECRET")),
                                        .allows = SCAN_NO_TEXT,
                                        .pragma = scan__hits_text(&pass->hits, TS_BYTES("turnstone:allow")),
                                        .line = 300 + k,
                                        .column = 5,
                                        .end_line = 300 + k,
                                        .end_column = 22,
                                        .at = UINT64_C(1) << 40,
                                        .len = 17,
                                        .confidence = TS_CONFIDENCE_HIGH,
                                        .depth = 1,
                                        .encodings = {TS_ENCODING_BASE64}};
        scan__hits_add(&pass->hits, &content, hits, 1 + i % 2);
    }
    struct scan_commit commit = {.oid = state_oid(9),
                                 .time_s = -5,
                                 .author_time_s = 1700000000,
                                 .author_zone_minutes = -330,
                                 .author_name = scan__hits_text(&pass->hits, TS_BYTES("Ada")),
                                 .author_mail = SCAN_NO_TEXT};
    uint32_t index = scan__pass_commit(pass, &commit);
    for (unsigned i = 0; i < 3; i++) {
        struct scan_location location = {.content = i,
                                         .commit = i == 1 ? TS_REPORT_NONE : index,
                                         .path = scan__hits_text(&pass->hits, TS_BYTES("a/b.txt")),
                                         .place = i < 2 ? TS_PLACE_FILE : TS_PLACE_TAG_MESSAGE};
        scan__pass_location(pass, &location);
    }
    return !pass->hits.no_memory && !pass->no_memory;
}

static inline void state_pass_encode(const struct state_pass *made, struct scan_buffer *buffer) {
    static const uint32_t contents[] = {0, 1, 2};
    struct scan_material material = {.pass = &made->pass,
                                     .hash = TS_GIT_SHA1,
                                     .contents = contents,
                                     .content_count = 3,
                                     .commit_count = 1,
                                     .location_count = 3};
    scan__material_encode(&material, buffer);
}

#endif
