#include "kin.h"

#include "detect/rule.h"
#include "os/grow.h"

#include <stdlib.h>

/* A finding with its print. */
struct printed {
    struct scan_print print;
    uint32_t finding;
};

static int compare_prints(const struct scan_print *a, const struct scan_print *b) {
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return (a->len > b->len) - (a->len < b->len);
}

static int compare(const void *left, const void *right) {
    const struct printed *a = left;
    const struct printed *b = right;
    int order = compare_prints(&a->print, &b->print);
    return order != 0 ? order : (a->finding > b->finding) - (a->finding < b->finding);
}

/* Findings whose secrets have no print, such as words, have no kin. */
bool scan__kin_find(struct scan_kin *kin, const struct scan_hits *hits) {
    const struct scan_finding *findings = scan__hits_findings(hits);
    size_t total = hits->findings.len / sizeof *findings;
    struct printed *items = calloc(total + 1, sizeof *items);
    if (items == NULL || !TS_GROW(kin->of, kin->capacity, total + 1)) {
        free(items);
        return false;
    }
    size_t count = 0;
    for (size_t i = 0; i < total; i++) {
        kin->of[i] = (uint32_t)i;
        if (findings[i].rule->generic && findings[i].print.len > 0)
            items[count++] = (struct printed){findings[i].print, (uint32_t)i};
    }
    if (count > 0)
        qsort(items, count, sizeof *items, compare);
    for (size_t i = 1; i < count; i++)
        if (compare_prints(&items[i].print, &items[i - 1].print) == 0)
            kin->of[items[i].finding] = kin->of[items[i - 1].finding];
    free(items);
    kin->count = total;
    return true;
}

void scan__kin_release(struct scan_kin *kin) {
    free(kin->of);
    *kin = (struct scan_kin){.of = NULL};
}
