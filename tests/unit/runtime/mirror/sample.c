/*
 * One sync as a program, for tests with real servers: mirror_sample ROOT ADDRESS SELECTION [NAME=VALUE…]
 *
 * Prints one line: "ok PATH", "stopped", "CLASS REASON RETRY_AFTER_MS", or "own FAULT". After "ok" the program
 * holds the lock until its input ends. SIGTERM stops the sync.
 */
#include "runtime/core/address.h"
#include "runtime/mirror/mirror.h"

#include "base/number.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static atomic_bool is_asked;

static void stop(int number) {
    (void)number;
    atomic_store(&is_asked, true);
}

static bool take(const char *word, const char *name, const char **value) {
    const size_t len = strlen(name);
    const bool is_it = strncmp(word, name, len) == 0 && word[len] == '=';
    if (is_it)
        *value = word + len + 1;
    return is_it;
}

static bool take_number(const char *word, const char *name, uint64_t *value) {
    const char *text = NULL;
    return take(word, name, &text) && ts_u64_parse(ts_bytes_of_cstring(text), value) == TS_NUMBER_OK;
}

static bool read_options(char **words, struct ts_mirrors_options *options,
                         struct ts_mirror_request *request) {
    for (; *words != NULL; words++) {
        if (strcmp(*words, "repair") == 0)
            request->repair = true;
        else if (!take(*words, "credentials", &options->credentials) &&
                 !take(*words, "protocols", &options->protocols) &&
                 !take_number(*words, "quota", &options->quota_bytes) &&
                 !take_number(*words, "max", &options->mirror_bytes) &&
                 !take_number(*words, "memory", &options->memory_bytes) &&
                 !take_number(*words, "timeout", &options->timeout_s) &&
                 !take_number(*words, "stall", &options->stall_s))
            return false;
    }
    return true;
}

/* Returns an id that differs for each address and selection. */
static struct ts_target_id id_of(const struct ts_mirror_request *request) {
    const struct ts_target_parts parts = {.tenant = request->tenant,
                                          .address = request->address,
                                          .selection = request->selection,
                                          .format = TS_BYTES("sha1")};
    return ts_target_id_of(&parts);
}

static void print_failure(const struct ts_mirror_failure *failure) {
    if (failure->is_own)
        printf("own %s\n", ts_fleet_worker_fault_label(failure->fault));
    else
        printf("%s %s %llu\n", TS_UNIT_ERROR_MATCH(failure->error, "retryable", "permanent", "stale"),
               ts_unit_reason_label(failure->error.reason),
               (unsigned long long)failure->error.retry_after_ms);
}

int main(int argc, char **argv) {
    static struct ts_address address;
    static struct ts_mirror mirror;
    struct ts_mirror_failure failure;
    struct ts_mirrors_options options = {.protocols = "https:ssh",
                                         .quota_bytes = TS_MIRROR_QUOTA_DEFAULT,
                                         .mirror_bytes = TS_MIRROR_MAX_DEFAULT,
                                         .memory_bytes = TS_MIRROR_MEMORY_DEFAULT,
                                         .timeout_s = TS_MIRROR_TIMEOUT_DEFAULT,
                                         .stall_s = TS_MIRROR_STALL_DEFAULT};
    struct ts_mirror_request request = {.tenant = TS_BYTES("tenant"), .stop = &is_asked};
    if (argc < 4 || !read_options(argv + 4, &options, &request))
        return 2;
    const enum ts_address_error error = ts_address_parse(ts_bytes_of_cstring(argv[2]), &address);
    if (error != TS_ADDRESS_OK || address.is_path) {
        printf("refused: the address %s\n", ts_address_error_text(error));
        return 0;
    }
    options.root = argv[1];
    request.address = ts_fixed_buf_read(&address.text);
    request.url = ts_fixed_buf_read(&address.url);
    request.selection = ts_bytes_of_cstring(argv[3]);
    request.target = id_of(&request);
    (void)signal(SIGTERM, stop);
    struct ts_mirrors *mirrors = ts_mirrors_new(&options);
    const enum ts_mirror_end end =
        mirrors == NULL ? TS_MIRROR_STOPPED : ts_mirror_sync(mirrors, &request, &mirror, &failure);
    switch (end) {
    case TS_MIRROR_OK:
        printf("ok %s\n", mirror.path);
        break;
    case TS_MIRROR_FAILED:
        print_failure(&failure);
        break;
    case TS_MIRROR_STOPPED:
        printf("stopped\n");
        break;
    }
    (void)fflush(stdout);
    char byte;
    while (end == TS_MIRROR_OK && read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    if (end == TS_MIRROR_OK)
        ts_mirror_release(&mirror);
    ts_mirrors_free(mirrors);
    return 0;
}
