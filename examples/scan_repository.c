/* scan_repository PATH [SECONDS]: prints each secret in the history of a repository. With SECONDS, a time in
 * seconds since 1970, prints only secrets that commits since that time have added. Ctrl-C ends the scan after
 * printing the findings so far. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <turnstone/scan.h>

static struct ts_scan *scan;

static void cancel(int number) {
    (void)number;
    ts_scan_cancel(scan);
}

/* Paths are untrusted bytes, so only plain characters are printed. */
static void print_plain(struct ts_bytes bytes) {
    for (size_t i = 0; i < bytes.len; i++)
        putchar(bytes.data[i] >= 0x20 && bytes.data[i] < 0x7f ? bytes.data[i] : '?');
}

static bool print_finding(void *context, const struct ts_scan_finding *finding) {
    (void)context;
    printf("%s %s, %s confidence, occurrences: %llu\n", ts_scan_finding_rule(finding),
           ts_scan_finding_redacted(finding), ts_scan_confidence_text(ts_scan_finding_confidence(finding)),
           (unsigned long long)ts_scan_finding_occurrence_count(finding));
    const struct ts_scan_occurrence *occurrence;
    for (size_t i = 0; (occurrence = ts_scan_finding_occurrence(finding, i)) != NULL; i++) {
        printf("    %.10s ", ts_scan_occurrence_commit(occurrence));
        print_plain(ts_scan_occurrence_path(occurrence));
        printf(":%llu (%s)\n", (unsigned long long)ts_scan_occurrence_line(occurrence),
               ts_scan_occurrence_place(occurrence));
    }
    const struct ts_scan_occurrence *head = ts_scan_finding_head(finding);
    if (head != NULL) {
        char link[1024];
        bool has_link = ts_scan_occurrence_link(head, link, sizeof link) - 1 < sizeof link - 1;
        printf("    still in HEAD: ");
        print_plain(ts_scan_occurrence_path(head));
        printf(":%llu%s%s\n", (unsigned long long)ts_scan_occurrence_line(head), has_link ? " " : "",
               has_link ? link : "");
    }
    if (ts_scan_finding_ref_count(finding) > 0)
        printf("    reachable from %s and %llu more\n", ts_scan_finding_ref(finding, 0),
               (unsigned long long)ts_scan_finding_ref_count(finding) - 1);
    return true;
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: scan_repository PATH [SECONDS]\n");
        return 2;
    }
    scan = ts_scan_new();
    if (scan == NULL)
        return 2;
    signal(SIGINT, cancel);
    ts_scan_add_repository(scan, argv[1]);
    ts_scan_set_since(scan, argc == 3 ? atoll(argv[2]) : 0);
    ts_scan_set_limit(scan, TS_SCAN_LIMIT_MEMORY_BYTES, (uint64_t)256 << 20);
    ts_scan_set_limit(scan, TS_SCAN_LIMIT_TIME_MS, 10 * 60 * 1000);
    ts_scan_set_limit(scan, TS_SCAN_LIMIT_OCCURRENCES, 3);
    enum ts_scan_result result = ts_scan_run(scan, print_finding, NULL);
    if (result != TS_SCAN_RESULT_OK)
        fprintf(stderr, "scan_repository: %s\n", ts_scan_error_text(scan));
    for (size_t i = 1; ts_scan_fault(scan, i) != NULL; i++)
        fprintf(stderr, "scan_repository: %s\n", ts_scan_fault(scan, i));
    int status = result != TS_SCAN_RESULT_OK ? 2 : ts_scan_count(scan, TS_SCAN_COUNT_FINDINGS) > 0 ? 1 : 0;
    signal(SIGINT, SIG_DFL);
    ts_scan_free(scan);
    return status;
}
