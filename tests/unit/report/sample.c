/*
 * report_sample FORMAT [COLOUR WIDTH]: the made-up report of support.h on standard output, for tests with
 * other tools, and for people. report_sample FORMAT many COUNT: COUNT findings.
 */
#include "support.h"

static int write_out(const struct ts_report *report, const struct ts_report_options *options) {
    static struct ts_out out;
    ts_out_init(&out, STDOUT_FILENO);
    ts_report_write(report, options, &out);
    return ts_out_flush(&out) ? 0 : 1;
}

static int write_many(struct ts_report report, const struct ts_report_options *options, size_t count) {
    struct ts_report_finding *findings = calloc(count, sizeof *findings);
    struct ts_report_occurrence *places = calloc(count, sizeof *places);
    if (findings == NULL || places == NULL)
        return 1;
    for (size_t i = 0; i < count; i++) {
        findings[i] = report.findings[i % report.finding_count];
        places[i] = findings[i].occurrences[0];
        places[i].line = i + 1;
        findings[i].occurrences = &places[i];
        findings[i].listed_count = 1;
        findings[i].occurrence_count = i % 7 + 1;
        snprintf(findings[i].id.text, sizeof findings[i].id.text, "%032zx", i);
    }
    report.findings = findings;
    report.finding_count = count;
    ts_report_sort(&report);
    int status = write_out(&report, options);
    free(findings);
    free(places);
    return status;
}

int main(int count, char **words) {
    enum ts_report_format format;
    if (count < 2 || !ts_report_format_parse(ts_bytes_of_cstring(words[1]), &format))
        return 2;
    struct ts_report_options options = sample_options(format);
    struct ts_report report = sample_report();
    if (count == 3 && strcmp(words[2], "clean") == 0)
        report = clean_report();
    if (count == 4 && strcmp(words[2], "many") == 0)
        return write_many(report, &options, strtoul(words[3], NULL, 10));
    if (count == 4) {
        options.colour = strcmp(words[2], "colour") == 0;
        options.width = (unsigned)strtoul(words[3], NULL, 10);
    }
    return write_out(&report, &options);
}
