/*
 * A finding as a block:
 *
 *     critical    GitHub personal access token  ghp_…9f3a
 *                 config/deploy.env:12:14
 *                 │ TOKEN=ghp_…9f3a
 *                 with AWS access key id AKIA…7Q2B: config/deploy.env:11:20
 *                 1a2b3c4d5e  2024-03-01 13:22 UTC  Ada Lovelace <ada@example.org>
 *                 still in HEAD: config/deploy.env:14
 *                 reachable from main, v1.0 and 3 more
 *                 https://github.com/ada/engine/blob/1a2b3c…/config/deploy.env#L14
 *                 abused: Acts as its owner on GitHub
 *                 revoke: Settings > Developer settings https://github.com/settings/tokens
 *                 3 occurrences · high confidence · in base64 · github-pat · 5f2c…
 */
#include "text.h"
#include "whereabouts.h"

#include <stdio.h>
#include <string.h>

enum { SHORT_OID_LEN = 10, ROOM_OF_DETAILS = 100, NAME_CELLS_MIN = 8, AUTHOR_CELLS_MIN = 16 };

/* Returns the position of needle in bytes, or an empty span at the end. */
static struct ts_span find(struct ts_bytes bytes, struct ts_bytes needle) {
    for (size_t from = 0; needle.len > 0 && needle.len <= bytes.len && from <= bytes.len - needle.len; from++)
        if (memcmp(bytes.data + from, needle.data, needle.len) == 0)
            return (struct ts_span){.from = from, .len = needle.len};
    return (struct ts_span){.from = bytes.len, .len = 0};
}

/* Drops characters from the front until at most room cells are left. */
static struct ts_bytes last_cells(struct ts_bytes bytes, size_t room) {
    size_t cells = report__text_cells(bytes, REPORT_BACKSLASH_KEPT);
    while (cells > room) {
        size_t len = 1;
        while (len < bytes.len && (bytes.data[len] & 0xc0) == 0x80)
            len++;
        cells -= report__text_cells(ts_bytes_first(bytes, len), REPORT_BACKSLASH_KEPT);
        bytes = ts_bytes_skip(bytes, len);
    }
    return bytes;
}

/* Shows the line so that the secret, masked or not, is in view. If there is not enough room, cuts the parts
 * before and after the secret. */
static void put_excerpt(const struct report_job *job, const struct ts_report_finding *finding) {
    struct ts_bytes line = report__trimmed(finding->excerpt);
    if (line.len == 0)
        return;
    report__text_margin(job, TEXT_PLAIN, "");
    report__text_put(job, TEXT_DIM, "│ ");
    size_t room = report__text_room(job);
    room = room == SIZE_MAX ? room : room - 2;
    struct ts_span mask = find(line, job->report->shows_secrets ? finding->secret : TS_BYTES(TS_REPORT_MASK));
    struct ts_bytes before = ts_bytes_first(line, mask.from);
    struct ts_bytes masked = ts_bytes_slice(line, mask);
    struct ts_bytes behind = ts_bytes_skip(line, mask.from + mask.len);
    size_t masked_cells = report__text_cells(masked, REPORT_BACKSLASH_KEPT);
    if (room < SIZE_MAX && mask.len > 0) {
        size_t before_room = masked_cells + 2 >= room ? 0 : room - masked_cells - 2;
        size_t behind_cells = report__text_cells(behind, REPORT_BACKSLASH_KEPT);
        /* The part after the secret gets half of the room, or less if this part is shorter. */
        size_t kept = behind_cells < before_room / 2 ? behind_cells : before_room / 2;
        struct ts_bytes shown = last_cells(before, before_room - kept);
        if (shown.len < before.len) {
            ts_out_put_cstring(job->out, "…");
            room--;
        }
        before = shown;
    }
    size_t before_cells = report__text_cells(before, REPORT_BACKSLASH_KEPT);
    report__text_put_cut(job, before, REPORT_BACKSLASH_KEPT, room);
    room = room == SIZE_MAX ? room : room > before_cells ? room - before_cells : 0;
    if (mask.len > 0) {
        report__text_style(job, TEXT_BOLD);
        report__text_put_cut(job, masked, REPORT_BACKSLASH_KEPT, room);
        report__text_style(job, TEXT_PLAIN);
        room = room == SIZE_MAX ? room : room > masked_cells ? room - masked_cells : 0;
        report__text_put_cut(job, behind, REPORT_BACKSLASH_KEPT, room);
    }
    ts_out_put_char(job->out, '\n');
}

/* Writes the title. The name is cut to make room for the secret. A shown secret that is still too long has
 * its own line. */
static void put_title(const struct report_job *job, const struct ts_report_finding *finding) {
    struct ts_bytes secret = report__secret_of(job->report, finding);
    struct ts_bytes name = ts_bytes_of_cstring(finding->rule->name);
    const char *known = finding->is_new ? "" : "  known";
    size_t room = report__text_room(job);
    size_t behind = report__text_cells(secret, REPORT_BACKSLASH_KEPT) + 2 + strlen(known);
    bool is_together = room == SIZE_MAX || behind + NAME_CELLS_MIN <= room;
    report__text_margin(job, report__text_style_of(finding->rule->severity),
                        ts_severity_name(finding->rule->severity));
    report__text_style(job, TEXT_BOLD);
    report__text_put_cut(job, name, REPORT_BACKSLASH_KEPT,
                         room == SIZE_MAX || !is_together ? room : room - behind);
    report__text_style(job, TEXT_PLAIN);
    if (is_together) {
        ts_out_put_cstring(job->out, "  ");
    } else {
        ts_out_put_char(job->out, '\n');
        report__text_margin(job, TEXT_PLAIN, "");
    }
    report__put_shown(job->out, secret, REPORT_BACKSLASH_KEPT);
    if (!finding->is_new)
        report__text_put(job, TEXT_DIM, known);
    ts_out_put_char(job->out, '\n');
}

static void put_first_place(const struct report_job *job, const struct ts_report_finding *finding) {
    struct ts_out *out = job->out;
    const struct ts_report_occurrence *first = &finding->occurrences[0];
    struct report_place place = report__place_of(first);
    report__text_margin(job, TEXT_PLAIN, "");
    if (job->report->target_count > 1) {
        report__text_style(job, TEXT_DIM);
        report__put_shown(out, job->report->targets[first->target].name, REPORT_BACKSLASH_DOUBLED);
        ts_out_put_cstring(out, "  ");
        report__text_style(job, TEXT_PLAIN);
    }
    report__text_style(job, TEXT_PLACE);
    ts_out_put_cstring(out, place.before);
    report__put_shown(out, place.subject, REPORT_BACKSLASH_DOUBLED);
    ts_out_put_char(out, ':');
    ts_out_put_u64(out, first->line);
    ts_out_put_char(out, ':');
    ts_out_put_u64(out, first->column);
    ts_out_put_cstring(out, place.after);
    report__text_style(job, TEXT_PLAIN);
    ts_out_put_char(out, '\n');
}

/* Writes the key id that belongs to the secret. */
static void put_pair(const struct report_job *job, const struct ts_report_finding *finding) {
    struct text_flow flow;
    char position[48];
    if (finding->pair == NULL)
        return;
    const struct ts_report_occurrence *at = report__pair_place(finding);
    struct report_place place = report__place_of(at);
    snprintf(position, sizeof position, ":%llu:%llu", (unsigned long long)at->line,
             (unsigned long long)at->column);
    report__text_margin(job, TEXT_PLAIN, "");
    report__flow_begin(&flow, job, true);
    report__flow_put(&flow, "with ");
    report__flow_put(&flow, finding->pair->rule->name);
    report__flow_put(&flow, " ");
    report__flow_put_whole(&flow, report__secret_of(job->report, finding->pair), REPORT_BACKSLASH_KEPT);
    report__flow_put(&flow, ": ");
    report__flow_style(&flow, TEXT_PLACE);
    report__flow_put(&flow, place.before);
    report__flow_put_whole(&flow, place.subject, REPORT_BACKSLASH_DOUBLED);
    report__flow_put(&flow, position);
    report__flow_put(&flow, place.after);
    report__flow_style(&flow, TEXT_PLAIN);
    report__flow_end(&flow);
}

/* Writes the author on the rest of the line, or on a new line if the rest is too short. Writes the mail
 * address only if there is room for it. */
static void put_author(const struct report_job *job, const struct ts_report_commit *commit, size_t room) {
    size_t name_cells = report__text_cells(commit->author_name, REPORT_BACKSLASH_KEPT);
    size_t mail_cells = report__text_cells(commit->author_mail, REPORT_BACKSLASH_KEPT);
    if (name_cells + mail_cells == 0)
        return;
    size_t least = name_cells > 0 ? name_cells : mail_cells + 2;
    if (room < least && room < AUTHOR_CELLS_MIN) {
        ts_out_put_char(job->out, '\n');
        report__text_margin(job, TEXT_PLAIN, "");
        room = report__text_room(job);
    } else {
        ts_out_put_cstring(job->out, "  ");
    }
    report__text_put_cut(job, commit->author_name, REPORT_BACKSLASH_KEPT, room);
    if (mail_cells > 0 && (room == SIZE_MAX || name_cells + mail_cells + 3 <= room)) {
        ts_out_put_cstring(job->out, name_cells > 0 ? " <" : "<");
        report__put_shown(job->out, commit->author_mail, REPORT_BACKSLASH_KEPT);
        ts_out_put_char(job->out, '>');
    }
}

static void put_commit(const struct report_job *job, const struct ts_report_finding *finding) {
    const struct ts_report_commit *commit = report__commit_of(job->report, &finding->occurrences[0]);
    if (commit == NULL)
        return;
    struct ts_out *out = job->out;
    char date_text[REPORT_DATE_SIZE];
    const char *date = report__date_utc(commit, date_text);
    struct ts_bytes oid = ts_bytes_of_cstring(commit->oid);
    size_t room = report__text_room(job);
    report__text_margin(job, TEXT_PLAIN, "");
    report__text_style(job, TEXT_MEDIUM);
    ts_out_put(out, ts_bytes_first(oid, oid.len < SHORT_OID_LEN ? oid.len : SHORT_OID_LEN));
    report__text_style(job, TEXT_PLAIN);
    ts_out_put_cstring(out, "  ");
    ts_out_put_cstring(out, date != NULL ? date : "date unknown");
    size_t used = SHORT_OID_LEN + 2 + strlen("2024-03-01 13:22 UTC") + 2;
    put_author(job, commit, room == SIZE_MAX ? room : room > used ? room - used : 0);
    ts_out_put_char(out, '\n');
}

static void put_head(const struct report_job *job, const struct ts_report_finding *finding) {
    struct text_flow flow;
    char line[24] = "";
    enum ts_report_head head = ts_report_head_of(job->report, finding);
    if (head == TS_REPORT_HEAD_UNKNOWN)
        return;
    if (head == TS_REPORT_HEAD_HAS)
        snprintf(line, sizeof line, "%llu", (unsigned long long)finding->head->line);
    report__text_margin(job, TEXT_PLAIN, "");
    report__flow_begin(&flow, job, true);
    report__flow_put(&flow, head == TS_REPORT_HEAD_HAS ? "still in HEAD: " : "not in HEAD");
    if (head == TS_REPORT_HEAD_HAS) {
        report__flow_style(&flow, TEXT_PLACE);
        struct report_place place = report__place_of(finding->head);
        report__flow_put(&flow, place.before);
        report__flow_put_whole(&flow, place.subject, REPORT_BACKSLASH_DOUBLED);
        report__flow_put(&flow, ":");
        report__flow_put(&flow, line);
        report__flow_put(&flow, place.after);
        report__flow_style(&flow, TEXT_PLAIN);
        if (finding->head_count > 1) {
            report__flow_put(&flow, " and ");
            report__flow_put(&flow, report__count(finding->head_count - 1, "other file", "other files").text);
        }
    }
    report__flow_end(&flow);
}

static void put_refs(const struct report_job *job, const struct ts_report_finding *finding) {
    struct text_flow flow;
    if (finding->ref_count == 0)
        return;
    report__text_margin(job, TEXT_PLAIN, "");
    report__flow_begin(&flow, job, true);
    report__flow_style(&flow, TEXT_DIM);
    report__flow_put(&flow, "reachable from ");
    for (size_t i = 0; i < finding->ref_listed; i++) {
        report__flow_put(&flow, i == 0 ? "" : ", ");
        report__flow_put_whole(&flow, ts_bytes_of_cstring(report__ref_short(finding->refs[i])),
                               REPORT_BACKSLASH_DOUBLED);
    }
    if (finding->ref_count > finding->ref_listed) {
        report__flow_put(&flow, " and ");
        report__flow_put(&flow, report__grouped(finding->ref_count - finding->ref_listed).text);
        report__flow_put(&flow, " more");
    }
    report__flow_style(&flow, TEXT_PLAIN);
    report__flow_end(&flow);
}

static void put_link(const struct report_job *job, const struct ts_report_finding *finding) {
    char link[TS_REPORT_LINK_SIZE];
    if (!ts_report_link(job->report, report__main_place(finding), link))
        return;
    report__text_margin(job, TEXT_PLAIN, "");
    report__text_put(job, TEXT_DIM, link);
    ts_out_put_char(job->out, '\n');
}

static void put_abuse(const struct report_job *job, const struct ts_rule *rule) {
    struct text_flow flow;
    if (rule->description[0] == '\0')
        return;
    report__text_margin(job, TEXT_PLAIN, "");
    report__flow_begin(&flow, job, true);
    report__flow_put(&flow, "abused: ");
    report__flow_put(&flow, rule->description);
    report__flow_end(&flow);
}

/* Shows how to revoke the secret. */
static void put_cure(const struct report_job *job, const struct ts_rule *rule) {
    struct text_flow flow;
    if (rule->revoke[0] == '\0' && rule->url[0] == '\0')
        return;
    report__text_margin(job, TEXT_PLAIN, "");
    report__flow_begin(&flow, job, true);
    report__flow_put(&flow, "revoke: ");
    report__flow_put(&flow, rule->revoke);
    if (rule->url[0] != '\0') {
        report__flow_put(&flow, rule->revoke[0] != '\0' ? " " : "");
        report__flow_put_whole(&flow, ts_bytes_of_cstring(rule->url), REPORT_BACKSLASH_DOUBLED);
    }
    report__flow_end(&flow);
}

/* Writes the details. Rule and id, which users copy, share a line if the terminal is too narrow for
 * everything. If the terminal is too narrow for both, each has its own line. */
static void put_details(const struct report_job *job, const struct ts_report_finding *finding) {
    struct text_flow flow;
    struct ts_bytes rule = ts_bytes_of_cstring(finding->rule->id);
    size_t room = report__text_room(job);
    size_t rule_cells = report__text_cells(rule, REPORT_BACKSLASH_KEPT);
    report__text_margin(job, TEXT_PLAIN, "");
    report__flow_begin(&flow, job, true);
    report__flow_style(&flow, TEXT_DIM);
    report__flow_put(&flow, report__count(finding->occurrence_count, "occurrence", "occurrences").text);
    report__flow_put(&flow, " · ");
    report__flow_put(&flow, ts_confidence_name(finding->confidence));
    report__flow_put(&flow, " confidence");
    for (size_t i = 0; i < finding->depth; i++) {
        report__flow_put(&flow, i == 0 ? " · in " : " in ");
        report__flow_put(&flow, ts_encoding_name(finding->encodings[finding->depth - 1 - i]));
    }
    if (room < ROOM_OF_DETAILS) {
        report__flow_end(&flow);
        report__text_margin(job, TEXT_PLAIN, "");
        report__flow_begin(&flow, job, true);
    } else {
        report__flow_put(&flow, " · ");
    }
    report__flow_put_whole(&flow, rule, REPORT_BACKSLASH_KEPT);
    if (room < rule_cells + 3 + TS_FINDING_ID_LEN) {
        report__flow_end(&flow);
        report__text_margin(job, TEXT_PLAIN, "");
        report__flow_begin(&flow, job, true);
    } else {
        report__flow_put(&flow, " · ");
    }
    report__flow_put(&flow, finding->id.text);
    report__flow_style(&flow, TEXT_PLAIN);
    report__flow_end(&flow);
    ts_out_put_char(job->out, '\n');
}

void report__write_text(const struct report_job *job) {
    const struct ts_rule *last = NULL; /* the last rule whose instructions were shown */
    for (size_t i = 0; i < job->report->finding_count; i++) {
        const struct ts_report_finding *finding = &job->report->findings[i];
        if (!report__is_listed(job, finding))
            continue;
        put_title(job, finding);
        put_first_place(job, finding);
        put_excerpt(job, finding);
        put_pair(job, finding);
        put_commit(job, finding);
        put_head(job, finding);
        put_refs(job, finding);
        put_link(job, finding);
        if (finding->rule != last) {
            put_abuse(job, finding->rule);
            put_cure(job, finding->rule);
        }
        last = finding->rule;
        put_details(job, finding);
    }
    report__text_put_summary(job);
}
