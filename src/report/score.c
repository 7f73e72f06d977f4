#include "score.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 64 };

struct rows {
    struct ts_score_row *items;
    size_t count;
};

struct scoring {
    const struct ts_labels *labels;
    struct ts_score *score;
    bool *is_found;   /* for each label: whether it was found */
    bool *by_its_own; /* for each label: whether the rule that the label names found the secret */
    struct rows families;
    struct rows rules;
    char (*names)[NAME_SIZE]; /* names of families, from file names */
    size_t name_count;
    char **paths; /* paths of false positives */
};

double ts_score_recall(const struct ts_score_row *row) {
    return row->secrets == 0 ? 1 : (double)row->found / (double)row->secrets;
}

double ts_score_precision(const struct ts_score_row *row) {
    uint64_t reported = row->found + row->false_positives;
    return reported == 0 ? 1 : (double)row->found / (double)reported;
}

/* Returns the row of this name. If the name is new, adds a row, for which there is room. */
static struct ts_score_row *row_of(struct rows *rows, const char *name) {
    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(rows->items[i].name, name) == 0)
            return &rows->items[i];
    rows->items[rows->count] = (struct ts_score_row){.name = name};
    return &rows->items[rows->count++];
}

/* Returns the family of a rule: "cloud" for a rule of "rules/cloud.yml". */
static const char *family_of(struct scoring *scoring, const struct ts_rule *rule) {
    const char *slash = strrchr(rule->file, '/');
    const char *base = slash != NULL ? slash + 1 : rule->file;
    size_t len = strcspn(base, ".");
    len = len < NAME_SIZE ? len : NAME_SIZE - 1;
    for (size_t i = 0; i < scoring->name_count; i++)
        if (strlen(scoring->names[i]) == len && memcmp(scoring->names[i], base, len) == 0)
            return scoring->names[i];
    char *name = scoring->names[scoring->name_count++];
    memcpy(name, base, len);
    name[len] = '\0';
    return name;
}

/* Returns the index of the first label of the path or, if the path has no label, the index at which its label
 * would be inserted. */
static size_t first_of(const struct ts_labels *labels, struct ts_bytes path) {
    size_t low = 0;
    size_t high = labels->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ts_bytes_compare(ts_bytes_of_cstring(labels->items[middle].path), path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool touches(const struct ts_label *label, const struct ts_report_occurrence *occurrence) {
    struct ts_label_place from = {occurrence->line, occurrence->column};
    struct ts_label_place to = {occurrence->end_line, occurrence->end_column};
    return ts_label_place_compare(label->from, to) < 0 && ts_label_place_compare(from, label->to) < 0;
}

/* Returns a label that the occurrence touches: the label of a secret or, if it touches no secret, the label
 * of a false positive. Returns NULL if it touches no label. */
static const struct ts_label *label_of(const struct ts_labels *labels,
                                       const struct ts_report_occurrence *occurrence) {
    const struct ts_label *found = NULL;
    for (size_t i = first_of(labels, occurrence->path);
         i < labels->count && strlen(labels->items[i].path) == occurrence->path.len &&
         memcmp(labels->items[i].path, occurrence->path.data, occurrence->path.len) == 0;
         i++)
        if (touches(&labels->items[i], occurrence) &&
            (found == NULL || (labels->items[i].is_secret && !found->is_secret)))
            found = &labels->items[i];
    return found;
}

static bool add_wrong(struct scoring *scoring, const struct ts_rule *rule, const struct ts_label *label,
                      const struct ts_report_occurrence *occurrence) {
    struct ts_score *score = scoring->score;
    char *path = strndup((const char *)occurrence->path.data, occurrence->path.len);
    if (path == NULL)
        return false;
    scoring->paths[score->wrong_count] = path;
    score->wrong[score->wrong_count++] = (struct ts_score_miss){.path = path,
                                                                .at = {occurrence->line, occurrence->column},
                                                                .family = label != NULL ? label->family : "",
                                                                .rule = rule->id};
    return true;
}

static bool add_occurrence(struct scoring *scoring, const struct ts_report_finding *finding,
                           const struct ts_report_occurrence *occurrence) {
    struct ts_score *score = scoring->score;
    const struct ts_label *label = label_of(scoring->labels, occurrence);
    struct ts_score_row *rows[] = {&score->all, &score->by_confidence[finding->confidence],
                                   row_of(&scoring->rules, finding->rule->id)};
    if (label == NULL || !label->is_secret) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            rows[i]->false_positives++;
        row_of(&scoring->families, family_of(scoring, finding->rule))->false_positives++;
        return add_wrong(scoring, finding->rule, label, occurrence);
    }
    size_t index = (size_t)(label - scoring->labels->items);
    scoring->by_its_own[index] =
        scoring->by_its_own[index] || label->rule[0] == '\0' || strcmp(label->rule, finding->rule->id) == 0;
    if (scoring->is_found[index]) {
        score->doubles++;
        return true;
    }
    scoring->is_found[index] = true;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        rows[i]->found++;
    for (size_t i = 1; i < sizeof rows / sizeof rows[0]; i++)
        rows[i]->secrets++;
    row_of(&scoring->families, label->family)->found++;
    return true;
}

static void add_labels(struct scoring *scoring) {
    struct ts_score *score = scoring->score;
    for (size_t i = 0; i < scoring->labels->count; i++) {
        const struct ts_label *label = &scoring->labels->items[i];
        if (!label->is_secret) {
            score->negatives++;
            continue;
        }
        score->all.secrets++;
        row_of(&scoring->families, label->family)->secrets++;
        if (!scoring->is_found[i])
            score->missed[score->missed_count++] = (struct ts_score_miss){
                .path = label->path, .at = label->from, .family = label->family, .rule = label->rule};
        else
            score->by_another_rule += !scoring->by_its_own[i];
    }
}

static int compare_rows(const void *a, const void *b) {
    const struct ts_score_row *x = a;
    const struct ts_score_row *y = b;
    return strcmp(x->name, y->name);
}

static bool is_of_labels(const struct ts_report_occurrence *occurrence) {
    return ts_bytes_equal(occurrence->path, TS_BYTES(TS_LABELS_FILE));
}

/* Allocates all arrays, large enough for any result. Returns false when memory runs out. */
static bool make_room(struct scoring *scoring, const struct ts_report *report) {
    size_t labels = scoring->labels->count;
    size_t occurrences = 0;
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct ts_report_finding *pair = report->findings[i].pair;
        occurrences += report->findings[i].listed_count + (pair != NULL ? pair->listed_count : 0);
    }
    size_t findings = 2 * report->finding_count; /* each finding may have a pair */
    struct ts_score *score = scoring->score;
    scoring->is_found = calloc(labels + 1, sizeof *scoring->is_found);
    scoring->by_its_own = calloc(labels + 1, sizeof *scoring->by_its_own);
    scoring->names = calloc(findings + 1, sizeof *scoring->names);
    scoring->paths = calloc(occurrences + 1, sizeof *scoring->paths);
    scoring->families.items = calloc(labels + findings + 1, sizeof *scoring->families.items);
    scoring->rules.items = calloc(findings + 1, sizeof *scoring->rules.items);
    score->missed = calloc(labels + 1, sizeof *score->missed);
    score->wrong = calloc(occurrences + 1, sizeof *score->wrong);
    return scoring->is_found && scoring->by_its_own && scoring->names && scoring->paths &&
           scoring->families.items && scoring->rules.items && score->missed && score->wrong;
}

static bool add_finding(struct scoring *scoring, const struct ts_report_finding *finding) {
    bool done = true;
    for (size_t i = 0; done && i < finding->listed_count; i++)
        if (!is_of_labels(&finding->occurrences[i]))
            done = add_occurrence(scoring, finding, &finding->occurrences[i]);
    return done;
}

bool ts_score_make(const struct ts_labels *labels, const struct ts_report *report,
                   enum ts_confidence least_confidence, struct ts_score *ret_score) {
    struct ts_score score = {.all = {.name = "all"}};
    struct scoring *scoring = calloc(1, sizeof *scoring);
    if (scoring == NULL)
        return false;
    score.memory = scoring;
    *scoring = (struct scoring){.labels = labels, .score = &score};
    for (size_t i = 0; i < TS_REPORT_CONFIDENCE_COUNT; i++)
        score.by_confidence[i].name = ts_confidence_name((enum ts_confidence)i);
    bool done = make_room(scoring, report);
    for (size_t i = 0; done && i < report->finding_count; i++) {
        const struct ts_report_finding *finding = &report->findings[i];
        if (finding->confidence >= least_confidence)
            done = add_finding(scoring, finding) && (finding->pair == NULL || finding->pair->rule->context ||
                                                     add_finding(scoring, finding->pair));
    }
    if (done) {
        add_labels(scoring);
        qsort(scoring->families.items, scoring->families.count, sizeof *scoring->families.items,
              compare_rows);
        qsort(scoring->rules.items, scoring->rules.count, sizeof *scoring->rules.items, compare_rows);
    }
    score.families = scoring->families.items;
    score.family_count = scoring->families.count;
    score.rules = scoring->rules.items;
    score.rule_count = scoring->rules.count;
    scoring->score = NULL;
    if (!done) {
        ts_score_release(&score);
        return false;
    }
    *ret_score = score;
    return true;
}

void ts_score_release(struct ts_score *score) {
    if (score == NULL || score->memory == NULL)
        return;
    struct scoring *scoring = score->memory;
    for (size_t i = 0; scoring->paths != NULL && i < score->wrong_count; i++)
        free(scoring->paths[i]);
    free(scoring->paths);
    free(scoring->is_found);
    free(scoring->by_its_own);
    free(scoring->names);
    free(scoring->families.items);
    free(scoring->rules.items);
    free(scoring);
    free(score->missed);
    free(score->wrong);
    *score = (struct ts_score){.negatives = 0};
}
