/*
 * Classifies missing objects that a selection reaches: moved while the repository was read, omitted by a
 * partial clone, or lost.
 *
 * Git writes a .promisor file next to a pack that a server sent incomplete. Every object that such a pack
 * refers to is promised: the server has it, and git fetches it on demand. Like 'git fsck', this file treats
 * any other missing object as damage. There is one exception: a missing object that a ref names counts as
 * promised, because git would fetch that object from the server, too. Nothing counts as promised if the
 * configuration names no promisor, if the index of a pack is missing or damaged, or if the pack of an index
 * is missing, because the missing object may have been in that pack.
 */
#ifndef TS_GIT_LACKS_H
#define TS_GIT_LACKS_H

#include "graph.h"

/* Counts missing objects, and reports a fault for each that is not promised. `history` contains the missing
 * objects that refs and tags name, and missing parents of commits. `is_added` is indexed by number of a
 * missing object: promised objects that are neither added nor history are not counted. If `is_added` is NULL,
 * all are counted. */
enum ts_git_error git__lacks_send(struct ts_git_graph *graph, const struct git__list *missing,
                                  const struct git__list *history, const bool *is_added,
                                  struct ts_git_reach_stats *stats, struct ts_git_fault *ret_fault);

#endif
