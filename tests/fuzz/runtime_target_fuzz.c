/*
 * Reads any bytes as an address or a selection. An accepted text has one canonical spelling. This spelling,
 * and the URL that git gets, mean the same target when they are submitted again. No accepted address has a
 * password. The first byte chooses the kind.
 */
#include "address.h"
#include "selection.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool is_true) {
    if (!is_true)
        abort();
}

/* Checks that the address has no password: a user name may precede the host of an ssh address, but no other
 * text may. */
static void expect_no_password(struct ts_bytes text) {
    const bool is_ssh = ts_bytes_starts_with(text, TS_BYTES("ssh://"));
    const uint8_t *host = memchr(text.data, ':', text.len);
    expect(host != NULL);
    host += strlen("://");
    const uint8_t *path = memchr(host, '/', text.len - (size_t)(host - text.data));
    expect(path != NULL);
    const uint8_t *at = memchr(host, '@', (size_t)(path - host));
    expect(at == NULL || (is_ssh && memchr(host, ':', (size_t)(at - host)) == NULL));
}

static void expect_same(struct ts_bytes given, struct ts_bytes text) {
    struct ts_address again;
    expect(ts_address_parse(given, &again) == TS_ADDRESS_OK && !again.is_path &&
           ts_bytes_equal(ts_fixed_buf_read(&again.text), text));
}

static void try_address(struct ts_bytes given) {
    struct ts_address address;
    if (ts_address_parse(given, &address) != TS_ADDRESS_OK || address.is_path)
        return;
    const struct ts_bytes text = ts_fixed_buf_read(&address.text);
    expect_same(text, text);
    expect_same(ts_fixed_buf_read(&address.url), text);
    expect_no_password(text);
}

static void try_selection(struct ts_bytes given) {
    struct ts_selection selection, again;
    if (ts_selection_parse(given, &selection) != TS_SELECTION_OK)
        return;
    const struct ts_bytes text = ts_fixed_buf_read(&selection.text);
    expect(ts_selection_parse(text, &again) == TS_SELECTION_OK &&
           ts_bytes_equal(ts_fixed_buf_read(&again.text), text) &&
           again.commit_digits == selection.commit_digits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    const struct ts_bytes given = ts_bytes_of(data + 1, size - 1);
    if (data[0] % 2 == 0)
        try_address(given);
    else
        try_selection(given);
    return 0;
}
