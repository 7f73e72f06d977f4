/* Reads any bytes as a .turnstone.yml, and asks the configuration about a match. */
#include "detect/config.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ts_detect_config config;
    struct ts_detect_error error;
    if (!ts_detect_config_parse("fuzz.yml", ts_bytes_of(data, size), &config, &error))
        return 0;
    struct ts_allow_question question = {.path = "src/main.c",
                                         .rule = "github-pat",
                                         .finding = "00112233445566778899aabbccddeeff",
                                         .secret = TS_BYTES("ghp_Fake7Turnstone"),
                                         .lines =
                                             TS_BYTES("token = ghp_Fake7Turnstone # turnstone:allow=jwt"),
                                         .line_before = TS_BYTES("# nothing")};
    uint32_t *entries = calloc(config.allow_count + 1, sizeof *entries);
    if (entries != NULL) {
        size_t count = ts_detect_config_consider(&config, &question, entries);
        for (size_t i = 0; i < count; i++)
            (void)ts_allow_has_path(&config.allows[entries[i]], question.path);
    }
    free(entries);
    ts_detect_config_release(&config);
    return 0;
}
