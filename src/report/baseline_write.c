/*
 * Writing baselines: the layout is in baseline.c.
 */
#include "baseline.h"
#include "baseline_entries.h"

#include "base/redact.h"
#include "os/replace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_salt(struct ts_out *out, const struct ts_baseline *baseline) {
    ts_out_put_cstring(out, "salt ");
    ts_out_put_hex(out, ts_bytes_of(baseline->salt, baseline->salt_len));
    ts_out_put_char(out, '\n');
}

bool ts_baseline_write(const struct ts_baseline *baseline, const struct ts_finding_key *key,
                       const struct ts_report *report, struct ts_out *out) {
    struct ts_report_gone *entries = calloc(report->finding_count + 1, sizeof *entries);
    if (entries == NULL)
        return false;
    for (size_t i = 0; i < report->finding_count; i++)
        entries[i] =
            (struct ts_report_gone){.id = report->findings[i].id, .rule = report->findings[i].rule->id};
    size_t count = report__baseline_sort(entries, report->finding_count);
    char check[TS_BASELINE_CHECK_LEN + 1];
    report__baseline_check(key, check);
    ts_out_put_cstring(
        out, "# Findings that are known. Made by turnstone baseline; used by turnstone scan --baseline.\n"
             "turnstone-baseline 1\n");
    if (baseline != NULL && baseline->salt_len > 0)
        put_salt(out, baseline);
    ts_out_put_cstring(out, "key ");
    ts_out_put_cstring(out, check);
    ts_out_put_char(out, '\n');
    for (size_t i = 0; i < count; i++) {
        ts_out_put_cstring(out, entries[i].id.text);
        ts_out_put_char(out, ' ');
        ts_out_put_cstring(out, entries[i].rule);
        ts_out_put_char(out, '\n');
    }
    free(entries);
    return true;
}

static bool fail(struct ts_baseline_error *ret_error, enum ts_baseline_error_kind kind, const char *path,
                 const char *why) {
    char shown[200];
    *ret_error = (struct ts_baseline_error){.kind = kind};
    snprintf(ret_error->text, sizeof ret_error->text, "cannot write the baseline '%s': %s",
             ts_text_escape(ts_bytes_of_cstring(path), shown, sizeof shown), why);
    return false;
}

bool ts_baseline_save(const struct ts_baseline *baseline, const struct ts_finding_key *key,
                      const struct ts_report *report, const char *path, struct ts_baseline_error *ret_error) {
    struct ts_replace file;
    if (!ts_replace_open(&file, path, 0666))
        return fail(ret_error, TS_BASELINE_UNWRITABLE, path, strerror(errno));
    struct ts_out *out = malloc(sizeof *out);
    if (out == NULL) {
        ts_replace_abandon(&file);
        return fail(ret_error, TS_BASELINE_NO_MEMORY, path, "out of memory");
    }
    ts_out_init(out, file.fd);
    bool has_memory = ts_baseline_write(baseline, key, report, out);
    bool is_written = ts_out_flush(out);
    int error = ts_out_error(out);
    free(out);
    if (!has_memory || !is_written) {
        ts_replace_abandon(&file);
        return has_memory ? fail(ret_error, TS_BASELINE_UNWRITABLE, path, strerror(error))
                          : fail(ret_error, TS_BASELINE_NO_MEMORY, path, "out of memory");
    }
    return ts_replace_commit(&file) || fail(ret_error, TS_BASELINE_UNWRITABLE, path, strerror(errno));
}
