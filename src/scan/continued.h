/*
 * A history that continues: what an earlier scan of all refs reported, and what was added since (git/past.h).
 *
 *   snapshot ──> contents with hits, their places ──┐
 *   news ──> new contents ──look──> hits            ├──> places
 *        └─> entries that new commits brought ──────┘
 *
 * Places of contents are changed by new commits in four ways: a new path; an earlier commit for a path, if a branch with older
 * commits was added; paths in HEAD; and branches and tags that reach them. The report is the same as that of a scan of the whole
 * history. If something does not follow from the news alone, this makes the continued scan fail, and it is undone.
 */
#ifndef TS_SCAN_CONTINUED_H
#define TS_SCAN_CONTINUED_H

#include "recall.h"

#include "git/past.h"

struct scan_continued {
    struct scan_recall *recall;
    struct scan_pass *pass;
    struct ts_git_news news;
    bool was_masked;            /* masks changed texts of the snapshot */
    uint64_t findings;          /* of all targets, with those of the snapshot */
    struct scan_mark old_ends;  /* contents, commits and places of the snapshot end here */
    struct scan_hits_mark hits; /* before all of it */
    struct scan_faults_mark faults;
    struct ts_report_target row;
    size_t locations;
    size_t commits;
};

/* Reads the news, takes the snapshot, and begins the recall. Returns false if the history must be scanned as a whole; nothing is
 * changed then. */
bool scan__continued_begin(struct scan_continued *continued, struct scan_recall *recall,
                           const struct ts_git_graph_options *options);

/* When all of news.added is looked at: finds the places. Returns false if the scan must be undone. */
bool scan__continued_place(struct scan_continued *continued, uint64_t blobs_looked_at);

void scan__continued_undo(struct scan_continued *continued);
void scan__continued_release(struct scan_continued *continued);

#endif
