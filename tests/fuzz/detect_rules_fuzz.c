/* Reads any bytes as a rule file. If they are rules, compiles them, checks their examples, and scans the file
 * itself with them. */
#include "detect/rules_check.h"
#include "detect/scanner.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore_problem(void *context, const struct ts_detect_error *problem) {
    (void)context;
    (void)problem;
}

static void ignore_match(void *context, const struct ts_match *match) {
    (void)context;
    (void)match;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* Large files only make compiling slow, and the compiler is not under test. */
    if (size > 4096)
        return 0;
    struct ts_ruleset rules;
    struct ts_detect_error error;
    ts_ruleset_init(&rules);
    if (ts_ruleset_add(&rules, "fuzz.yml", ts_bytes_of(data, size), &error)) {
        (void)ts_rules_check(&rules, ignore_problem, NULL);
        struct ts_detector *detector =
            ts_detector_new(&rules, &(struct ts_detector_options){.cache_folder = ""}, &error);
        struct ts_scanner *scanner = detector ? ts_scanner_new(detector) : NULL;
        struct ts_scanner_input scan = {.bytes = ts_bytes_of(data, size)};
        if (scanner)
            (void)ts_scanner_scan(scanner, &scan, ignore_match, NULL);
        ts_scanner_free(scanner);
        ts_detector_free(detector);
    }
    ts_ruleset_release(&rules);
    return 0;
}
