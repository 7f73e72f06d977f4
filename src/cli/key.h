/*
 * Keys as people write them: text, or any bytes as 0x and hexadecimal digits.
 */
#ifndef TS_CLI_KEY_H
#define TS_CLI_KEY_H

#include "os/out.h"
#include "turnstone/store.h"

#include <stdbool.h>

/* A parsed key, which contains its bytes. */
struct cli_key {
    uint8_t bytes[TS_STORE_KEY_MAX];
    size_t len;
};

/* Limits for the bytes that a text stands for. */
struct cli_bytes_rule {
    bool may_be_empty;
    size_t max;
};

/* Returns NULL when the text stands for allowed bytes, otherwise the problem: "is empty", "is longer than
 * 4096 bytes", … ret_bytes must have room for as many bytes as the text has. */
const char *cli__bytes_parse(const char *text, size_t length, struct cli_bytes_rule rule, uint8_t *ret_bytes,
                             size_t *ret_len);

/* Returns NULL when the text is a key, otherwise the problem: "is empty", "is longer than 1024 bytes", … */
const char *cli__key_parse(const char *text, size_t length, struct cli_key *ret_key);

/* Returns whether the bytes can be shown as text that reads back to the same bytes: valid, printable UTF-8
 * that does not begin with 0x. */
bool cli__key_is_text(struct ts_bytes key);

/* Writes a JSON string that contains the key as text, or as 0x and digits. An empty key is an empty string. */
void cli__put_key_json(struct ts_out *out, struct ts_bytes key);

/* A key as text, or as 0x and its digits. */
struct cli_key_text {
    char text[2 * TS_STORE_KEY_MAX + 3];
};
void cli__key_format(struct ts_bytes key, struct cli_key_text *ret_text);

#endif
