/*
 * A made-up report with everything that an untrusted repository can contain: escape sequences, bidirectional
 * controls, line breaks, markup, formulas, bytes that are not UTF-8.
 *
 * PLANTED is the secret: no format may show it without shows_secrets.
 */
#ifndef TS_TESTS_UNIT_REPORT_SUPPORT_H
#define TS_TESTS_UNIT_REPORT_SUPPORT_H

#include "report/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLANTED "planted-s3cret-value"

static const struct ts_rule sample_rules[] = {
    {.id = "github-pat",
     .name = "GitHub personal access token",
     .description = "Grants what its owner may do on GitHub.",
     .revoke = "Delete it under *Settings*, <Tokens>.",
     .url = "https://docs.github.example/tokens?a=1&b=2",
     .pattern = "\\b(?<secret>ghp_[A-Za-z0-9]{36})\\b",
     .severity = TS_SEVERITY_CRITICAL,
     .confidence = TS_CONFIDENCE_HIGH},
    {.id = "generic-password",
     .name = "Password",
     .description = "A password in an assignment.",
     .revoke = "",
     .url = "",
     .severity = TS_SEVERITY_MEDIUM,
     .confidence = TS_CONFIDENCE_LOW},
    {.id = "team-odd",
     .name = "</script><script>alert(1)</script>",
     .description = "",
     .revoke = "",
     .url = "",
     .severity = TS_SEVERITY_LOW,
     .confidence = TS_CONFIDENCE_MEDIUM},
};

static struct ts_report_target sample_targets[] = {
    {.name = TS_BYTES_INIT("/srv/app"),
     .kind = TS_REPORT_TARGET_KIND_REPOSITORY,
     .commits = 1204,
     .trees = 3000,
     .tags = 2,
     .blobs = 8113,
     .bytes = 91400321,
     .bytes_looked_at = 12200000,
     .blobs_known = 8000,
     .missing_by_design = 17,
     .cut_commits = 2,
     .knows_head = true,
     .forge = "https://gitlab.example.org/ada/engine",
     .forge_kind = TS_FORGE_GITLAB},
    {.name = TS_BYTES_INIT("odd \x1b[2J\xff dir"),
     .kind = TS_REPORT_TARGET_KIND_DIRECTORY,
     .blobs = 1,
     .bytes = 12,
     .bytes_looked_at = 12,
     .skipped = 1},
};

static struct ts_report_commit sample_commits[] = {
    {.oid = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d",
     .author_name = TS_BYTES_INIT("Ada Lovelace"),
     .author_mail = TS_BYTES_INIT("ada@example.org"),
     .author_time_s = 1709299327,
     .author_zone_minutes = 60},
    {.oid = "ffffffffffffffffffffffffffffffffffffffff",
     .author_name = TS_BYTES_INIT("=cmd()|'/c calc'!A0, \"M\xc3\xbcller\""),
     .author_mail = TS_BYTES_INIT("\xe2\x80\xaegro.elpmaxe@evil"),
     .author_time_s = 4000000000000000000,
     .author_zone_minutes = 5999},
};

static const struct ts_report_occurrence sample_token_places[] = {
    {.target = 0,
     .commit = 0,
     .place = TS_PLACE_FILE,
     .object = "00112233445566778899aabbccddeeff00112233",
     .path = TS_BYTES_INIT("config/deploy.env"),
     .line = 12,
     .column = 7,
     .end_line = 12,
     .end_column = 47},
    {.target = 0,
     .commit = 1,
     .place = TS_PLACE_COMMIT_MESSAGE,
     .object = "ffffffffffffffffffffffffffffffffffffffff",
     .line = 3,
     .column = 1,
     .end_line = 3,
     .end_column = 41},
    {.target = 1,
     .commit = TS_REPORT_NONE,
     .place = TS_PLACE_FILE,
     .object = "",
     .path = TS_BYTES_INIT("a\\b\n\"c\", <b>\xff\xe2\x80\xae.txt"),
     .line = 1,
     .column = 1,
     .end_line = 1,
     .end_column = 41},
};

static const struct ts_report_occurrence sample_password_places[] = {
    {.target = 0,
     .commit = 1,
     .place = TS_PLACE_FILE,
     .object = "99112233445566778899aabbccddeeff00112233",
     .path = TS_BYTES_INIT("=HYPERLINK(\"http://evil\")/<img src=x onerror=alert(1)>.py"),
     .line = 4711,
     .column = 20,
     .end_line = 4711,
     .end_column = 30},
};

static const struct ts_report_occurrence sample_odd_places[] = {
    {.target = 1,
     .commit = TS_REPORT_NONE,
     .place = TS_PLACE_INPUT,
     .object = "",
     .line = 1,
     .column = 2,
     .end_line = 2,
     .end_column = 3},
};

static const struct ts_report_occurrence sample_token_head = {
    .target = 0,
    .commit = 1,
    .place = TS_PLACE_FILE,
    .object = "6666666666666666666666666666666666666666",
    .path = TS_BYTES_INIT("config/new <place>.env"),
    .line = 14,
    .column = 7,
    .end_line = 14,
    .end_column = 47,
};

#define SAMPLE_LONG_LINE                                                                                     \
    "    const settings = { first: 'one', second: 'two', third: 'three', fourth: 'four' }; password = "      \
    "'********'; // and more \\ text\tbehind \x1b[31mred\x07 </script><script>alert(2)</script>"

static struct ts_report_finding sample_findings[] = {
    {.id = {"11111111111111111111111111111111"},
     .rule = &sample_rules[1],
     .confidence = TS_CONFIDENCE_MEDIUM,
     .is_new = true,
     .redacted = "hunt…er12",
     .excerpt = TS_BYTES_INIT(SAMPLE_LONG_LINE),
     .occurrence_count = 1,
     .occurrences = sample_password_places,
     .listed_count = 1},
    {.id = {"22222222222222222222222222222222"},
     .rule = &sample_rules[0],
     .confidence = TS_CONFIDENCE_HIGH,
     .is_new = true,
     .redacted = "ghp_…9f3a",
     .excerpt = TS_BYTES_INIT("TOKEN=********"),
     .depth = 2,
     .encodings = {TS_ENCODING_PERCENT, TS_ENCODING_BASE64},
     .head = &sample_token_head,
     .head_count = 2,
     .refs = {"refs/heads/main", "refs/heads/<b>=\"1\"", "refs/remotes/origin/main", "refs/tags/v1.0",
              "refs/tags/-v2"},
     .ref_listed = 5,
     .ref_count = 1205,
     .occurrence_count = 31,
     .occurrences = sample_token_places,
     .listed_count = 3},
    {.id = {"33333333333333333333333333333333"},
     .rule = &sample_rules[2],
     .confidence = TS_CONFIDENCE_LOW,
     .is_new = true,
     .redacted = "-\xff\xe2\x80\xae…",
     .excerpt = TS_BYTES_INIT("\xff\xfe=1+1"),
     .occurrence_count = 1,
     .occurrences = sample_odd_places,
     .listed_count = 1},
};

static struct ts_report_fault sample_faults[] = {
    {.target = 0,
     .text =
         "object 5555555555555555555555555555555555555555 of /srv/app is damaged: its checksum is wrong; fetch "
         "it again with git fsck and git fetch"},
};

static struct ts_report_suppression sample_suppressions[] = {
    {.source = ".turnstone.yml:12", .reason = "test <fixtures>", .findings = 4, .occurrences = 9},
    {.source = "turnstone:allow", .reason = "", .findings = 1, .occurrences = 1},
};

static const char *sample_lost_rules[] = {"github-pat", "jwt",        "npm-token",
                                          "age-key",    "pypi-token", "slack-bot"};

static struct ts_report_rule_change sample_rule_changes[] = {
    {.change = TS_REPORT_RULE_CHANGE_REPLACED,
     .target = 0,
     .source = "team <b>\x1b[2J\xff.yml",
     .rules = sample_lost_rules,
     .count = 6},
    {.change = TS_REPORT_RULE_CHANGE_LEFT_OUT,
     .target = 1,
     .source = ".turnstone.yml",
     .rules = sample_lost_rules,
     .count = 1},
    {.change = TS_REPORT_RULE_CHANGE_ADDED,
     .target = TS_REPORT_NONE,
     .source = "mine.yml",
     .rules = sample_lost_rules + 1,
     .count = 2},
};

static const char *sample_notes[] = {"another scan holds the state: this one continues without"};

static const struct ts_report_gone sample_gone[] = {
    {.id = {"44444444444444444444444444444444"}, .rule = "aws-key"}};

/* A finding of a key id. This key id belongs to the password of the first sample finding. */
static const struct ts_report_finding sample_pair = {.id = {"55555555555555555555555555555555"},
                                                     .rule = &sample_rules[0],
                                                     .confidence = TS_CONFIDENCE_MEDIUM,
                                                     .is_new = true,
                                                     .redacted = "key_<…>&1",
                                                     .excerpt = TS_BYTES_INIT("ID=********"),
                                                     .occurrence_count = 2,
                                                     .occurrences = sample_token_places,
                                                     .listed_count = 2};

/* sample_report() copies sample_findings into this array, so that a test may change the copies. */
static struct ts_report_finding sample_now[3];

static inline struct ts_report sample_report(void) {
    memcpy(sample_now, sample_findings, sizeof sample_findings);
    struct ts_report report = {
        .targets = sample_targets,
        .target_count = 2,
        .commits = sample_commits,
        .commit_count = 2,
        .findings = sample_now,
        .finding_count = 3,
        .faults = sample_faults,
        .fault_count = 1,
        .fault_total = 3,
        .suppressions = sample_suppressions,
        .suppression_count = 2,
        .rule_changes = sample_rule_changes,
        .rule_change_count = 3,
        .notes = sample_notes,
        .note_count = 1,
        .has_public_salt = true,
        .rule_count = 83,
        .limits_hit = 1,
        .took_ns = 420000000,
    };
    for (size_t i = 0; i < 3; i++)
        sample_now[i].secret = TS_BYTES(PLANTED);
    sample_now[0].pair = &sample_pair;
    ts_report_sort(&report);
    return report;
}

/* Returns a report of a scan that went well and found nothing. */
static inline struct ts_report clean_report(void) {
    return (struct ts_report){
        .targets = sample_targets,
        .target_count = 1,
        .rule_count = 83,
        .has_public_salt = true,
        .took_ns = 75000000000,
    };
}

static inline struct ts_report_options sample_options(enum ts_report_format format) {
    return (struct ts_report_options){
        .format = format, .version = "1.2.3", .only_new = true, .start_s = 1709299327, .end_s = 1709299390};
}

/* Returns the report as it is written with these options, NUL-terminated. The caller frees it. */
static inline char *written(const struct ts_report *report, const struct ts_report_options *options,
                            size_t *ret_len) {
    static struct ts_out out;
    FILE *file = tmpfile();
    if (file == NULL)
        abort();
    ts_out_init(&out, fileno(file));
    ts_report_write(report, options, &out);
    if (!ts_out_flush(&out))
        abort();
    off_t len = lseek(fileno(file), 0, SEEK_END);
    char *text = calloc(1, (size_t)len + 1);
    if (text == NULL || pread(fileno(file), text, (size_t)len, 0) != len)
        abort();
    fclose(file);
    *ret_len = (size_t)len;
    return text;
}

#endif
