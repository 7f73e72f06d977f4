/*
 * Remembers whether rules apply to paths.
 *
 * A finding has one location for each commit that added the finding. Most of these locations have the same
 * path, and generic rules have dozens of path patterns. Answers are stored by rule and text of the path. A
 * new answer may replace an old answer.
 */
#ifndef TS_SCAN_APPLIES_H
#define TS_SCAN_APPLIES_H

#include "hits.h"

#include "detect/rule.h"

#define SCAN_APPLIES_COUNT 4096 /* a power of two */

struct scan_applies_answer {
    const struct ts_rule *rule; /* NULL: free */
    uint32_t path;
    bool applies;
};

struct scan_applies {
    const struct scan_hits *hits;
    struct scan_applies_answer *answers;
};

/* Returns false when memory runs out. */
bool scan__applies_init(struct scan_applies *applies, const struct scan_hits *hits);
void scan__applies_release(struct scan_applies *applies);

/* Like ts_rule_applies(), for a path that is stored as a text of the hits. */
bool scan__applies(struct scan_applies *applies, const struct ts_rule *rule, uint32_t path);

#endif
