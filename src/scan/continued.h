/*
 * Continues an earlier scan of all refs: combines its result with what was added since (git/past.h).
 *
 *   snapshot ──> contents with hits, their places ──┐
 *   news ─┬─> new contents ──look──> hits           ├──> places
 *         └─> entries that new commits added ───────┘
 *
 * New commits change the places of contents in four ways: a new path; an earlier commit for a path, if a
 * branch with older commits was added; other paths in HEAD; other branches and tags that reach the content.
 * The report is the same as that of a scan of the whole history. If the snapshot and the news are not enough
 * to make this report, the continued scan fails and is undone.
 */
#ifndef TS_SCAN_CONTINUED_H
#define TS_SCAN_CONTINUED_H

#include "recall.h"

#include "git/past.h"

struct scan_continued {
    struct scan_recall *recall;
    struct scan_pass *pass;
    struct ts_git_news news;
    bool was_masked;            /* masking changed texts of the snapshot */
    uint64_t findings;          /* number of findings of all targets, with those of the snapshot */
    struct scan_mark old_ends;  /* where the contents, commits and places of the snapshot end */
    struct scan_hits_mark hits; /* mark of the hits before the snapshot was used */
    struct scan_faults_mark faults;
    struct ts_report_target row;
    size_t locations;
    size_t commits;
};

/* Reads the news, adds the results of the snapshot, and begins the recall. If the whole history must be
 * scanned, returns false and changes nothing. */
bool scan__continued_begin(struct scan_continued *continued, struct scan_recall *recall,
                           const struct ts_git_graph_options *options);

/* Finds the places of all contents. Call it when all objects of news.added were scanned. Returns false if the
 * scan must be undone. */
bool scan__continued_place(struct scan_continued *continued, uint64_t blobs_looked_at);

void scan__continued_undo(struct scan_continued *continued);
void scan__continued_release(struct scan_continued *continued);

#endif
