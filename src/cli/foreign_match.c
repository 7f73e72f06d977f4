/*
 * Compares findings with the entries of another tool's report:
 *
 *     the secrets are equal, or have the same SHA-1          the same secret, wherever it is
 *     one contains the other, in a file of the same path     the same secret: the tools cut it out differently
 *     the entry has no secret: path, line and commit         the place
 *
 */
#include "foreign.h"

#include "os/grow.h"

#include <nettle/sha1.h>
#include <string.h>

/* A secret that is shorter than this may be a part of another secret by chance. */
#define PART_MIN 8

static struct ts_bytes trimmed(struct ts_bytes text) {
    while (text.len > 0 && strchr(" \t\r\n", text.data[text.len - 1]) && text.data[text.len - 1] != '\0')
        text.len--;
    while (text.len > 0 && strchr(" \t\r\n", text.data[0]) && text.data[0] != '\0')
        text = ts_bytes_skip(text, 1);
    return text;
}

static bool contains(struct ts_bytes whole, struct ts_bytes part) {
    return part.len >= PART_MIN && whole.len >= part.len &&
           memmem(whole.data, whole.len, part.data, part.len);
}

/* Returns whether the path of the entry is `path`, or ends with a slash and `path`, because the other tool
 * was started in another folder. */
static bool is_same_path(struct ts_bytes entry, struct ts_bytes path) {
    if (path.len == 0 || entry.len < path.len)
        return false;
    struct ts_bytes end = ts_bytes_skip(entry, entry.len - path.len);
    return ts_bytes_equal(end, path) && (end.len == entry.len || end.data[-1] == '/');
}

static bool is_same_commit(const struct ts_report *report, const struct cli_foreign_entry *entry,
                           const struct ts_report_occurrence *occurrence) {
    if (entry->commit[0] == '\0')
        return true;
    return occurrence->commit != TS_REPORT_NONE &&
           strcmp(report->commits[occurrence->commit].oid, entry->commit) == 0;
}

struct question {
    const struct ts_report *report;
    const struct ts_report_finding *finding;
    struct ts_bytes secret;
    uint8_t hash[CLI_FOREIGN_HASH_SIZE];
};

static bool is_equal(const struct question *question, const struct cli_foreign_entry *entry) {
    if (entry->secret.len > 0)
        return ts_bytes_equal(trimmed(entry->secret), question->secret);
    return entry->has_hash && memcmp(entry->hash, question->hash, sizeof entry->hash) == 0;
}

/* Returns whether an entry for the occurrence's file matches the occurrence: one secret contains the other
 * or, if the entry has no secret, the line and the commit agree. */
static bool is_here(const struct question *question, const struct cli_foreign_entry *entry,
                    const struct ts_report_occurrence *occurrence) {
    if (entry->secret.len > 0)
        return contains(entry->secret, question->secret) ||
               contains(question->secret, trimmed(entry->secret)) ||
               contains(entry->joined, question->secret);
    return !entry->has_hash && entry->line >= occurrence->line && entry->line <= occurrence->end_line &&
           is_same_commit(question->report, entry, occurrence);
}

/* Marks the entries in the occurrence's file that match the occurrence. Returns whether any entry matches. */
static bool meet_occurrence(struct cli_foreign *foreign, const struct question *question,
                            const struct ts_report_occurrence *occurrence) {
    struct ts_bytes name = cli__foreign_name(occurrence->path);
    size_t low = 0;
    size_t high = foreign->count;
    bool is_met = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ts_bytes_compare(cli__foreign_name(foreign->entries[foreign->by_name[middle]].path), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < foreign->count; low++) {
        struct cli_foreign_entry *entry = &foreign->entries[foreign->by_name[low]];
        if (!ts_bytes_equal(cli__foreign_name(entry->path), name))
            break;
        if (is_same_path(entry->path, occurrence->path) && is_here(question, entry, occurrence))
            entry->is_met = is_met = true;
    }
    return is_met;
}

static bool meet(struct cli_foreign *foreign, const struct question *question) {
    const struct ts_report_finding *finding = question->finding;
    bool is_met = false;
    for (size_t i = 0; i < foreign->count; i++)
        if (is_equal(question, &foreign->entries[i]))
            foreign->entries[i].is_met = is_met = true;
    for (size_t i = 0; i < finding->listed_count; i++)
        is_met = meet_occurrence(foreign, question, &finding->occurrences[i]) || is_met;
    if (finding->head)
        is_met = meet_occurrence(foreign, question, finding->head) || is_met;
    return is_met;
}

void cli__foreign_apply(struct cli_foreign *foreign, struct ts_report *report) {
    report->has_baseline = true;
    report->baseline_known = 0;
    for (size_t i = 0; i < report->finding_count; i++) {
        struct question question = {
            .report = report, .finding = &report->findings[i], .secret = trimmed(report->findings[i].secret)};
        struct sha1_ctx hasher;
        sha1_init(&hasher);
        sha1_update(&hasher, question.secret.len, question.secret.data);
        sha1_digest(&hasher, sizeof question.hash, question.hash);
        report->findings[i].is_new = !meet(foreign, &question);
        report->baseline_known += report->findings[i].is_new ? 0 : 1;
    }
    report->baseline_tool = foreign->tool;
    report->baseline_matched = 0;
    for (size_t i = 0; i < foreign->count; i++)
        report->baseline_matched += foreign->entries[i].is_met ? 1 : 0;
    report->baseline_unmatched = foreign->count - report->baseline_matched;
}
