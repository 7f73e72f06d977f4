#include "metrics_option.h"

#include "complain.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool write_part(void *context, struct ts_bytes text) {
    return fwrite(text.data, 1, text.len, context) == text.len;
}

enum cli_exit cli__metrics_check(const char *verb, const char *path) {
    if (!path || strcmp(path, "-") == 0)
        return CLI_EXIT_DONE;
    FILE *file = fopen(path, "ae");
    if (!file)
        return cli__complain(CLI_EXIT_USAGE, "%s: cannot write the metrics to '%s': %s", verb,
                             cli__quote_text(path).text, strerror(errno));
    (void)fclose(file);
    return CLI_EXIT_DONE;
}

enum cli_exit cli__metrics_write(const char *verb, const char *path, struct ts_coordinator *coordinator,
                                 cli_metrics_put *more) {
    if (!path)
        return CLI_EXIT_DONE;
    bool to_stdout = strcmp(path, "-") == 0;
    FILE *file = to_stdout ? stdout : fopen(path, "we");
    if (!file)
        return cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: cannot write the metrics to '%s': %s", verb,
                             cli__quote_text(path).text, strerror(errno));
    bool good = ts_coordinator_metrics(coordinator, write_part, file);
    if (more != NULL)
        more(file);
    good = good && ferror(file) == 0;
    int error = errno;
    /* If standard output fails, the caller's cli__finish_stdout reports it. */
    if (to_stdout)
        return CLI_EXIT_DONE;
    if (fclose(file) != 0) {
        good = false;
        error = errno;
    }
    return good ? CLI_EXIT_DONE
                : cli__complain(CLI_EXIT_INFRASTRUCTURE, "%s: cannot write the metrics to '%s': %s", verb,
                                cli__quote_text(path).text, strerror(error));
}
