#include "whereabouts.h"

#include "base/assert.h"
#include "base/hex.h"

#include <stdio.h>
#include <string.h>

enum ts_report_head ts_report_head_of(const struct ts_report *report,
                                      const struct ts_report_finding *finding) {
    if (finding->head != NULL)
        return TS_REPORT_HEAD_HAS;
    /* If the HEAD of any listed target is unknown, that HEAD may have the finding. */
    for (size_t i = 0; i < finding->listed_count; i++)
        if (!report->targets[finding->occurrences[i].target].knows_head)
            return TS_REPORT_HEAD_UNKNOWN;
    return TS_REPORT_HEAD_GONE;
}

const struct ts_report_occurrence *report__main_place(const struct ts_report_finding *finding) {
    return finding->head != NULL ? finding->head : &finding->occurrences[0];
}

const struct ts_report_occurrence *report__pair_place(const struct ts_report_finding *finding) {
    const struct ts_report_occurrence *first = &finding->occurrences[0];
    const struct ts_report_finding *pair = finding->pair;
    for (size_t i = 0; i < pair->listed_count; i++) {
        const struct ts_report_occurrence *place = &pair->occurrences[i];
        if (place->target == first->target && place->place == first->place &&
            place->commit == first->commit && strcmp(place->object, first->object) == 0 &&
            ts_bytes_equal(place->path, first->path))
            return place;
    }
    return &pair->occurrences[0];
}

const char *report__ref_short(const char *ref) {
    static const char *const prefixes[] = {"refs/heads/", "refs/remotes/", "refs/tags/"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(ref, prefixes[i], strlen(prefixes[i])) == 0)
            return ref + strlen(prefixes[i]);
    return ref;
}

/* ---- links ---- */

/* Writes a path for a URL. Returns false if the path does not fit. */
static bool put_path(char *link, size_t *len, struct ts_bytes path) {
    for (size_t i = 0; i < path.len; i++) {
        if (*len + 4 >= TS_REPORT_LINK_SIZE)
            return false;
        if (path.data[i] == '/')
            link[(*len)++] = '/';
        else
            *len += ts_percent_encode(path.data[i], link + *len);
    }
    return true;
}

/* Parts of a code host's URLs: the text before the commit in the URL of a file, the text before the line, and
 * the text before the commit in the URL of a commit. On some code hosts, the path precedes the commit. */
struct form {
    const char *file;
    const char *line;
    const char *commit;
    bool is_path_first;
};

static const struct form *form_of(enum ts_forge forge) {
    static const struct form github = {"/blob/", "#L", "/commit/", false};
    static const struct form gitlab = {"/-/blob/", "#L", "/-/commit/", false};
    static const struct form bitbucket = {"/src/", "#lines-", "/commits/", false};
    static const struct form gitea = {"/src/commit/", "#L", "/commit/", false};
    static const struct form azure = {"&version=GC", "&line=", "/commit/", true};
    switch (forge) {
    case TS_FORGE_GITHUB:
        return &github;
    case TS_FORGE_GITLAB:
        return &gitlab;
    case TS_FORGE_BITBUCKET:
        return &bitbucket;
    case TS_FORGE_GITEA:
        return &gitea;
    case TS_FORGE_AZURE:
        return &azure;
    }
    ts_unreachable("every forge has a form");
}

static bool is_masked(struct ts_bytes path) {
    return memmem(path.data, path.len, TS_REPORT_MASK, sizeof TS_REPORT_MASK - 1) != NULL;
}

/* Returns the path of the file in the repository: "deploy.zip" for the member "deploy.zip!/etc/app.env" of an
 * archive. A forge has no page for a member. */
static struct ts_bytes file_of(struct ts_bytes path) {
    const uint8_t *mark = memmem(path.data, path.len, "!/", 2);
    return mark != NULL && mark > path.data ? ts_bytes_of(path.data, (size_t)(mark - path.data)) : path;
}

/* Writes the URL of a line or, for a member of an archive, the URL of the archive. Returns false if the URL
 * does not fit. */
static bool put_line(const char *page, const char *oid, const struct form *form,
                     const struct ts_report_occurrence *occurrence,
                     char ret_link[static TS_REPORT_LINK_SIZE]) {
    struct ts_bytes file = file_of(occurrence->path);
    unsigned long long line = occurrence->line;
    char range[96] = "";
    if (file.len == occurrence->path.len && form->is_path_first) /* a range up to the next line */
        (void)snprintf(range, sizeof range, "%s%llu&lineEnd=%llu&lineStartColumn=1&lineEndColumn=1",
                       form->line, line, line + 1);
    else if (file.len == occurrence->path.len)
        (void)snprintf(range, sizeof range, "%s%llu", form->line, line);
    int made = form->is_path_first
                   ? snprintf(ret_link, TS_REPORT_LINK_SIZE, "%s?path=/", page)
                   : snprintf(ret_link, TS_REPORT_LINK_SIZE, "%s%s%s/", page, form->file, oid);
    size_t len = (size_t)made;
    if (made < 0 || len >= TS_REPORT_LINK_SIZE || !put_path(ret_link, &len, file))
        return false;
    size_t left = TS_REPORT_LINK_SIZE - len;
    made = form->is_path_first ? snprintf(ret_link + len, left, "%s%s%s", form->file, oid, range)
                               : snprintf(ret_link + len, left, "%s", range);
    return made >= 0 && (size_t)made < left;
}

bool ts_report_link(const struct ts_report *report, const struct ts_report_occurrence *occurrence,
                    char ret_link[static TS_REPORT_LINK_SIZE]) {
    const struct ts_report_target *target = &report->targets[occurrence->target];
    const struct ts_report_commit *commit = report__commit_of(report, occurrence);
    if (target->forge == NULL || commit == NULL)
        return false;
    const struct form *form = form_of(target->forge_kind);
    if (occurrence->place == TS_PLACE_FILE && occurrence->path.len > 0 && !is_masked(occurrence->path))
        return put_line(target->forge, commit->oid, form, occurrence, ret_link);
    int made = snprintf(ret_link, TS_REPORT_LINK_SIZE, "%s%s%s", target->forge, form->commit, commit->oid);
    return made > 0 && made < TS_REPORT_LINK_SIZE;
}
