/*
 * Writes reports as text, JSON, SARIF, CSV, JUnit XML, HTML, and in GitLab's format.
 *
 * The output depends only on the report and the options, not on the clock, time zone or locale of the
 * machine, so reports of the same scan are equal everywhere. Only text says how long the scan took, and only
 * GitLab's format says when the scan was.
 *
 * Everything from a repository is escaped for its format. The formats that are JSON (also SARIF and GitLab's)
 * use the escapes of JSON. In the other formats, a byte that is not shown becomes \xNN, and a backslash is
 * doubled (base/redact.h), so that paths can be distinguished; the backslashes of excerpts stay single.
 */
#ifndef TS_REPORT_WRITE_H
#define TS_REPORT_WRITE_H

#include "report/report.h"

#include "os/out.h"

#include <stdbool.h>

/* Each format with its name and the extension of its files. */
#define TS_REPORT_FORMATS(X)                                                                                 \
    X(TEXT, "text", "txt", text)                                                                             \
    X(JSON, "json", "json", json)                                                                            \
    X(JSONL, "jsonl", "jsonl", jsonl)                                                                        \
    X(SARIF, "sarif", "sarif", sarif)                                                                        \
    X(CSV, "csv", "csv", csv)                                                                                \
    X(JUNIT, "junit", "xml", junit)                                                                          \
    X(GITLAB, "gitlab", "gitlab.json", gitlab)                                                               \
    X(HTML, "html", "html", html)

#define TS_REPORT_FORMAT_ENUM(suffix, name, extension, writer) TS_REPORT_FORMAT_##suffix,
enum ts_report_format { TS_REPORT_FORMATS(TS_REPORT_FORMAT_ENUM) };
#undef TS_REPORT_FORMAT_ENUM

/* For the table of an option: "text|json|…", and " .txt .json …". */
#define TS_REPORT_FORMAT_CHOICE(suffix, name, extension, writer)    "|" name
#define TS_REPORT_FORMAT_EXTENSION(suffix, name, extension, writer) " ." extension
#define TS_REPORT_FORMAT_CHOICES                                    (&TS_REPORT_FORMATS(TS_REPORT_FORMAT_CHOICE)[1])
#define TS_REPORT_FORMAT_EXTENSIONS                                 TS_REPORT_FORMATS(TS_REPORT_FORMAT_EXTENSION)

/* Finds a format by its name; returns false if the name is unknown. */
bool ts_report_format_parse(struct ts_bytes name, enum ts_report_format *ret);

/* Finds a format by the extension of a file's name: "out/scan.sarif". "scan.sarif.json", which some tools
 * use, is also SARIF. "gl-secret-detection-report.json" is GitLab's name for its reports. */
bool ts_report_format_of_file(struct ts_bytes path, enum ts_report_format *ret);

struct ts_report_options {
    enum ts_report_format format;
    const char *version; /* version of the program */
    const char *folder;  /* absolute path to which targets are relative: for URIs of SARIF; NULL: unknown */
    int64_t start_s;     /* GitLab only: start and end of the scan, since 1970, UTC */
    int64_t end_s;
    enum ts_confidence fails_from; /* findings of a lower confidence do not fail the scan */
    bool only_new;                 /* omit findings of the baseline */
    bool lists_gone;               /* list entries of the baseline that were not found */
    bool colour;                   /* text only */
    unsigned width;                /* text only: width in columns; 0: lines are not wrapped */
};

/* Writes the report. `out` keeps the first error; the caller flushes it. */
void ts_report_write(const struct ts_report *report, const struct ts_report_options *options,
                     struct ts_out *out);

#endif
