/*
 * The secrets of a scan or a target, and its texts without them.
 */
#ifndef TS_SCAN_MASKING_H
#define TS_SCAN_MASKING_H

#include "session.h"

/* How much a session had when something began. */
struct scan_mark {
    size_t contents;
    size_t commits;
    size_t stands;
};

struct scan_mark scan__mark(const struct scan_session *session);

/* Masks for the secrets of the contents from the first one on; none when secrets are to be shown. False when there is no memory. */
bool scan__masks_of(const struct scan_session *session, size_t first_content, struct scan_masks *ret_masks);

/*
 * Masks what came since the mark by the secrets that it has: lines, paths, tags, authors. A scan does so at the end of each
 * repository, with and without state, so that what is kept for later scans is what the report is made of.
 *
 * False when there is no memory. ret_paths says whether a path was changed.
 */
bool scan__mask_since(struct scan_session *session, const struct scan_mark *mark, bool *ret_paths);

#endif
