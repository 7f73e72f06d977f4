/* Reads any bytes as a report of another tool, and compares the result with a report of our own. */
#include "foreign.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct cli_foreign foreign;
    struct cli_foreign_error error;
    if (!cli__foreign_parse("fuzz", ts_bytes_of(data, size), &foreign, &error)) {
        if (error.text[0] == '\0' || strchr(error.text, '\n') != NULL)
            abort();
        return 0;
    }
    const struct ts_report_occurrence place = {
        .commit = TS_REPORT_NONE, .path = TS_BYTES("a.env"), .object = "", .line = 1, .end_line = 2};
    struct ts_report_finding finding = {
        .secret = TS_BYTES("made-up-Secret-4711"), .occurrences = &place, .listed_count = 1};
    struct ts_report report = {.findings = &finding, .finding_count = 1};
    cli__foreign_apply(&foreign, &report);
    if (report.baseline_matched + report.baseline_unmatched != foreign.count ||
        (report.baseline_known == 1) != (report.baseline_matched > 0))
        abort();
    cli__foreign_release(&foreign);
    return 0;
}
