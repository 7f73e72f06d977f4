/*
 * Collects the secrets of a scan or a target, and masks its texts.
 */
#ifndef TS_SCAN_MASKING_H
#define TS_SCAN_MASKING_H

#include "pass.h"

/* The lengths of a pass's lists at some moment. */
struct scan_mark {
    size_t contents;
    size_t commits;
    size_t locations;
};

struct scan_mark scan__mark(const struct scan_pass *pass);

/* Makes masks for the secrets of the contents from first_content on; no masks if secrets are shown. Returns
 * false when memory runs out. */
bool scan__masks_of(const struct scan_pass *pass, size_t first_content, struct scan_masks *ret_masks);

/* The kinds of texts that masking has changed. */
struct scan_masked {
    bool any;   /* at least one text was changed */
    bool paths; /* at least one path was changed */
};

/*
 * Masks all texts since the mark (lines, paths, tags, authors) with the secrets that were found since then. A
 * scan does this at the end of each repository, with and without state, so that the state has the same texts
 * as the report.
 *
 * Contents before `first_content` keep their texts, which are already masked, but their secrets count.
 * Returns false when memory runs out.
 */
bool scan__mask_since(struct scan_pass *pass, const struct scan_mark *mark, size_t first_content,
                      struct scan_masked *ret_masked);

#endif
