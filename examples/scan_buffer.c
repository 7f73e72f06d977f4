/* scan_buffer: scans each line of standard input for secrets, as a server scans messages. */
#include <stdio.h>
#include <turnstone/scan.h>

static bool print_finding(void *context, const struct ts_scan_finding *finding) {
    size_t *count = (size_t *)context;
    ++*count;
    printf("%s: %s %s at column %llu\n", ts_scan_severity_text(ts_scan_finding_severity(finding)),
           ts_scan_finding_rule(finding), ts_scan_finding_redacted(finding),
           (unsigned long long)ts_scan_occurrence_column(ts_scan_finding_occurrence(finding, 0)));
    return true;
}

/* The first run compiles the rules; later runs reuse them. */
static enum ts_scan_result scan_line(struct ts_scan *scan, const char *line, size_t *count) {
    ts_scan_clear_targets(scan);
    enum ts_scan_result result = ts_scan_add_bytes(scan, "message", ts_bytes_of_cstring(line));
    return result == TS_SCAN_RESULT_OK ? ts_scan_run(scan, print_finding, count) : result;
}

int main(void) {
    char line[10000];
    size_t count = 0;
    struct ts_scan *scan = ts_scan_new();
    if (scan == NULL)
        return 2;
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (scan_line(scan, line, &count) != TS_SCAN_RESULT_OK) {
            fprintf(stderr, "scan_buffer: %s\n", ts_scan_error_text(scan));
            ts_scan_free(scan);
            return 2;
        }
    }
    ts_scan_free(scan);
    return count > 0 ? 1 : 0;
}
