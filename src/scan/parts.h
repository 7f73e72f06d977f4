/*
 * Parts are results of a scan of one repository. The scan passes them to a caller, who makes them durable
 * while the scan continues. Another scan of the same target, on any machine, continues from the parts. The
 * state folder (state.h) keeps the same facts for `turnstone scan`. recall.h is the interface to both.
 *
 *     scan                              caller
 *     refs are read     ──begin──>      SAME: nothing has changed; the scan ends, and no object is read
 *     history is read   ──load──>       ts_scan_earlier_…(): results of earlier scans
 *     contents          ──keep──> …     one part after the other
 *     report            ──────────>     ts_scan_report_end: tips for the next scan
 *
 * Every content belongs to one of three groups:
 *
 *     known    scanned completely with every rule, nothing found. Depends on the rules id alone.
 *     hits     scanned completely, has hits. Depends on the rules id and the judging id. A page has all that is
 *              needed to place the hits later, without reading the content again: paths and commits are not part of it.
 *     again    must be read by every scan: archives with findings, LFS pointers, damaged contents, tags whose name contains a secret.
 *
 * Facts are about object ids, so they stay true when refs move, and in other copies of the repository. Ids are
 * trusted: git checks them when it fetches, and a scan does not check them again.
 *
 * A page contains no secret. For a finding it has the id, a keyed print and the redacted form. It has no line
 * of a content, because a line may contain a secret that another content reveals later. So reports of scans
 * with parts have no excerpts.
 *
 * Rules for the caller:
 * - One target, a repository. `salt` of the options is the key of finding ids and of prints: secret, and the same for all scans of a tenant.
 * - All functions get `ctx`. The scan calls at most one at a time: `begin` and `load` from the thread of ts_scan_report_make, `keep` from any thread
 *   of the scan. While `keep` runs, one thread of the scan waits and the others continue. So `keep` may write to a store. It must return within 100 ms after
 *   `progress->stop` is set.
 * - STOP of `begin`, and false of `load` and `keep`, mean that the caller has lost its right to continue: the scan sets `progress->stop`, calls no
 *   function again, and ends as stopped (`is_stopped` of the report).
 * - A scan that `progress->stop` has stopped still calls `keep` with its remaining results.
 * - A repository that changes during the scan is scanned again from its beginning: then `begin` and `load` are called again. Kept parts stay true.
 */
#ifndef TS_SCAN_PARTS_H
#define TS_SCAN_PARTS_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TS_SCAN_PART_MAX    ((size_t)1 << 20) /* maximum size of `known`, and of `hits`, in bytes */
#define TS_SCAN_KEY_LEN     16
#define TS_SCAN_REFS_DIGEST 32

/* The inputs on which the results of a scan depend. */
struct ts_scan_moment {
    /* Digest of everything that decides whether a content has findings: rules, program, libraries. */
    uint8_t rules[TS_SCAN_KEY_LEN];
    /* Digest of everything that decides what is reported about findings: salt and configuration. */
    uint8_t judging[TS_SCAN_KEY_LEN];
    uint8_t refs[TS_SCAN_REFS_DIGEST]; /* digest of the names and ids of the selected refs, and of HEAD */
    size_t id_len;                     /* length of an object's id: 20 or 32 */
    struct ts_bytes tips;              /* ids of the selected refs or commits: sorted, without duplicates */
};

enum ts_scan_parts_answer {
    TS_SCAN_PARTS_GO_ON,
    TS_SCAN_PARTS_SAME, /* an earlier scan of the same moment was complete; the report is empty */
    TS_SCAN_PARTS_STOP,
};

/* A part. `known` and `hits` are borrowed for the call, and may be empty. */
struct ts_scan_part {
    struct ts_bytes known; /* ids: sorted, without duplicates; TS_SCAN_PART_MAX bytes at most */
    struct ts_bytes hits;  /* a page, which is opaque; TS_SCAN_PART_MAX bytes at most */
    /* No part with further contents follows: all contents were scanned, or the scan is stopped. A caller that
     * is about to finish may store this part when it finishes. */
    bool is_rest;
};

/* The results of earlier scans. */
struct ts_scan_earlier;

/* Adds the ids in `known` of an earlier part that has the same rules id. */
void ts_scan_earlier_known(struct ts_scan_earlier *earlier, struct ts_bytes ids);

/* Adds a page of `hits` of an earlier part with the same rules id and judging id. If the page is damaged,
 * returns false; then neither the page nor the tips are used. */
bool ts_scan_earlier_hits(struct ts_scan_earlier *earlier, struct ts_bytes page);

/* Adds a page of `hits` of an earlier part with the same rules id but a different judging id. The scan reads
 * the contents on this page again. */
bool ts_scan_earlier_other_hits(struct ts_scan_earlier *earlier, struct ts_bytes page);

/*
 * The watermark of an earlier scan: `tips` and `again` of a ts_scan_end that was whole, with the same rules
 * id. If the repository has all of these tips, objects that they reach are not read, except those of `again`.
 * The caller must load all pages of `hits` with this rules id, too. Otherwise contents with hits would be
 * missed. Call it at most once.
 */
void ts_scan_earlier_tips(struct ts_scan_earlier *earlier, struct ts_bytes tips, struct ts_bytes again);

struct ts_scan_parts_ops {
    enum ts_scan_parts_answer (*begin)(void *ctx, const struct ts_scan_moment *moment);
    bool (*load)(void *ctx, struct ts_scan_earlier *earlier);
    bool (*keep)(void *ctx, const struct ts_scan_part *part);
};

struct ts_scan_parts {
    const struct ts_scan_parts_ops *ops;
    void *ctx;
    /* There are no earlier parts and no tips, so the scan reads messages together with the history, which is
     * faster. */
    bool is_empty;
    /* A part is passed to `keep` when there are part_bytes of new ids (0: 4 MiB), or part_ms after the
     * previous part (0: no such limit). The last part follows at the end. */
    size_t part_bytes;
    uint64_t part_ms;
};

/* How a scan with parts ended. It lives as long as the report. */
struct ts_scan_end {
    struct ts_scan_moment moment;
    struct ts_bytes again; /* ids of group `again`: sorted, without duplicates */
    /* Every content was read or recalled without faults, so the next scan can skip everything that the tips
     * reach. */
    bool is_whole;
    bool is_same; /* `begin` returned SAME */
};

struct ts_report;
struct ts_scan_end ts_scan_report_end(const struct ts_report *report);

#endif
