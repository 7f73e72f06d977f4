/* Reads any bytes as a repository's configuration. */
#include "config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct git__config config;
    struct ts_git_fault fault;
    char text[512];
    if (git__config_parse(ts_bytes_of(data, size), "config", &config, &fault) != TS_GIT_OK)
        (void)ts_git_fault_describe(&fault, text, sizeof text);
    return 0;
}
