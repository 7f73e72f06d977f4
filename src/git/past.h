/*
 * The history of an earlier scan, and what was added to it since.
 *
 *   past     packs and loose objects, by identity           they must be the same files
 *            a bit for each object: refs reached it         nothing of it is read again
 *            commits with parents and times                 the whole history, without its trees
 *
 *   news     from the refs of today down to commits of the past: commits, and the entries of their trees that no
 *            parent has. Only these are read.
 *
 * A past is continued only if everything that its refs reached is still reached, and was stored in files that
 * are unchanged. Otherwise, and whenever something is unusual, the whole history is read instead. Reading it
 * reports any problem. docs/decisions/0017-history-that-continues.md has the conditions.
 */
#ifndef TS_GIT_PAST_H
#define TS_GIT_PAST_H

#include "git/evidence.h"
#include "git/walk.h"

/* The bytes of a past, which the caller frees. */
struct ts_git_past {
    uint8_t *bytes;
    size_t len; /* 0: this history cannot be continued */
};

/* Writes the past of a history. `reached` contains the objects that the refs reach. `key` is the key of the
 * evidence (evidence.h). */
enum ts_git_error ts_git_past_new(struct ts_git_graph *graph, const struct ts_git_set *reached,
                                  const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN],
                                  struct ts_git_past *ret_past, struct ts_git_fault *ret_fault);

enum ts_git_news_kind {
    TS_GIT_NEWS_BROUGHT,   /* the commit has the blob at the path, and none of its parents does */
    TS_GIT_NEWS_HEAD_HAS,  /* HEAD has the blob at the path, but the earlier HEAD did not */
    TS_GIT_NEWS_HEAD_LOST, /* the earlier HEAD had the blob at the path, but HEAD does not */
};

struct ts_git_news_item {
    enum ts_git_news_kind kind;
    struct ts_git_oid blob;
    struct ts_git_oid commit;
    char *path; /* ended by a zero */
    size_t path_len;
};

struct ts_git_news {
    struct ts_git_graph *graph;      /* commits and tags of past and news, without trees */
    struct ts_git_set *reached;      /* all objects that refs reach */
    struct ts_git_set *added;        /* blobs, commits and tags that the past did not reach */
    struct ts_git_reach_stats stats; /* statistics of the additions */
    struct ts_git_oid head;
    struct ts_git_news_item *items;
    size_t count;
    size_t capacity;
};

/* Reads what was added since the past. If the past cannot be continued, returns false and leaves ret_news
 * unchanged. The options are those of ts_git_graph_new, but no fault is sent. */
bool ts_git_news_read(struct ts_git_repo *repo, const struct ts_git_graph_options *options,
                      const uint8_t key[static TS_GIT_EVIDENCE_KEY_LEN], struct ts_bytes past,
                      struct ts_git_news *ret_news);
void ts_git_news_release(struct ts_git_news *news);

#endif
