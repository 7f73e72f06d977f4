/* Reads any bytes as a baseline, compares it with a report, writes it, and reads it again with the same
 * result. */
#include "report/baseline.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct ts_rule rule = {.id = "github-pat"};
static const struct ts_report_occurrence place = {.object = ""};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ts_baseline baseline;
    struct ts_baseline_error error;
    if (!ts_baseline_parse("fuzz", ts_bytes_of(data, size), &baseline, &error)) {
        if (error.kind == TS_BASELINE_NONE || error.text[0] == '\0' || strchr(error.text, '\n') != NULL)
            abort();
        return 0;
    }
    struct ts_report_finding findings[2] = {
        {.id = {"0123456789abcdef0123456789abcdef"}, .rule = &rule, .occurrences = &place},
        {.id = {"ffffffffffffffffffffffffffffffff"}, .rule = &rule, .occurrences = &place},
    };
    struct ts_report report = {.findings = findings, .finding_count = 2};
    ts_baseline_apply(&baseline, &report);
    if (report.baseline_known + report.gone_count != baseline.count)
        abort();

    /* The written baseline has the salt of the first baseline, and the findings of the report. */
    static struct ts_out out;
    ts_out_init(&out, -1);
    struct ts_finding_key key = ts_finding_key_of(ts_baseline_salt(&baseline, TS_BYTES("project")));
    struct ts_baseline again;
    if (!ts_baseline_write(&baseline, &key, &report, &out) ||
        !ts_baseline_parse("again", ts_bytes_of(out.buffer, out.used), &again, &error))
        abort();
    if (again.count != 2 || again.salt_len != baseline.salt_len ||
        !ts_baseline_fits(&again, &key, "again", &error))
        abort();
    ts_baseline_release(&again);
    ts_baseline_release(&baseline);
    return 0;
}
