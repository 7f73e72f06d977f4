/*
 * Shared by the files that assemble a report: its sightings, and the report in progress.
 */
#ifndef TS_SCAN_ASSEMBLE_IMPL_H
#define TS_SCAN_ASSEMBLE_IMPL_H

#include "applies.h"
#include "kin.h"
#include "pairs.h"
#include "pass.h"
#include "suppressed.h"

/* Number of remembered masked texts, a power of two: paths and authors repeat. */
#define SCAN_MASKED_COUNT 4096

/* A hit at a location where the hit is reported. */
struct scan_sighting {
    uint32_t finding;
    uint32_t location;
    uint64_t hit;
};

/* Where a finding is now: HEAD and refs. */
struct scan_whereabouts {
    uint64_t head_hit;
    uint64_t head_count;
    uint64_t ref_count;
    uint32_t head;                 /* index of the location in HEAD */
    uint32_t head_path;            /* the path in HEAD that was counted last, as a text of the hits */
    uint32_t refs[TS_REPORT_REFS]; /* names of refs, as texts of the hits */
    uint32_t ref_listed;
};

struct scan_masked_text {
    uint32_t text; /* SCAN_NO_TEXT: free */
    struct ts_bytes masked;
};

struct scan_assembly {
    struct scan_pass *pass;
    struct ts_arena *arena;
    struct scan_location *locations;
    size_t location_count;
    const struct scan_commit *commits;
    const struct scan_content *contents;
    struct scan_pile sightings;
    struct scan_suppressed suppressed;
    struct scan_applies applies;
    struct scan_pairs pairs;
    uint32_t *rows; /* indexed by finding: its row in the report, or TS_REPORT_NONE */
    /* Where each finding is now, indexed by the first finding of its kin; NULL: unknown for all. */
    struct scan_whereabouts *whereabouts;
    struct scan_kin kin;
    /* Indexed by the first finding of a kin: 1 + the highest confidence of the kin in the base of the current
     * target, or 0 if the base does not have the kin. NULL: no base so far. */
    uint8_t *before;
    struct scan_masked_text *masked; /* hash table, indexed by the lowest bits of a text's position */
    uint32_t *commit_rows;           /* indexed by commit: its row in the report, or TS_REPORT_NONE */
    struct ts_report report;
    struct ts_report_suppression unsure; /* findings below the minimum confidence */
    struct ts_finding_id *unlisted;      /* ids of `unsure` findings and paired key ids; has room for all */
    size_t listed_max;
    bool is_cut; /* the sightings reached the memory limit; further ones are not counted */
};

static inline struct ts_bytes scan__assembly_text(const struct scan_assembly *a, uint32_t text) {
    return scan__hits_text_at(&a->pass->hits, text);
}

static inline const struct scan_sighting *scan__assembly_sightings(const struct scan_assembly *a,
                                                                   size_t *ret_count) {
    *ret_count = a->sightings.len / sizeof(struct scan_sighting);
    return (const struct scan_sighting *)(const void *)a->sightings.bytes;
}

/* Masks a text. Returns a text in the arena, or the text itself if nothing is masked. */
struct ts_bytes scan__assembly_mask(struct scan_assembly *a, struct ts_bytes text);
const char *scan__assembly_mask_cstring(struct scan_assembly *a, const char *text);

/* Finds the sightings of all locations, and groups them by finding. Returns false when memory runs out. */
bool scan__assembly_see(struct scan_assembly *a);

/* Adds findings, their occurrences and commits to the report. Returns false when memory runs out. */
bool scan__assembly_add_findings(struct scan_assembly *a);

#endif
