#include "store/open.h"

#include "base/bytes.h"
#include "base/redact.h"
#include "postgres.h"
#include "store/memory.h"
#include "url.h"

#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = sizeof((struct ts_store *)NULL)->name };

/* What stands behind a scheme, or NULL when the URL has another. */
static const char *after_scheme(const char *url, const char *scheme) {
    size_t len = strlen(scheme);
    return strncmp(url, scheme, len) == 0 ? url + len : NULL;
}

static enum ts_store_result open_memory(const char *name, const struct ts_store_options *options,
                                        struct ts_store **ret_store, struct ts_store_error *ret_error) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    char full[NAME_SIZE];
    if (name[strspn(name, allowed)] != '\0' || strlen(name) > 64)
        return store__error(ret_error, TS_STORE_BAD_CONFIGURATION, SIZE_MAX,
                            "memory: a name has at most 64 letters, digits, '-', '_' and '.'");
    snprintf(full, sizeof full, "memory:%s", name);
    struct ts_store *store = ts_memory_open_new(full, options->clock);
    if (store == NULL)
        return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "%s: out of memory", full);
    *ret_store = store;
    return TS_STORE_OK;
}

static enum ts_store_result open_postgres(const char *text, const struct ts_store_options *options,
                                          struct ts_store **ret_store, struct ts_store_error *ret_error) {
    struct store_url url = {0};
    enum ts_store_result result = store__url_parse(ts_bytes_of_cstring(text), &url, ret_error);
    if (result == TS_STORE_OK)
        result = store__postgres_open(&url, options, ret_store, ret_error);
    store__url_release(&url);
    return result;
}

enum ts_store_result ts_store_open(const char *url, const struct ts_store_options *options,
                                   struct ts_store **ret_store, struct ts_store_error *ret_error) {
    const char *rest;
    if ((rest = after_scheme(url, "memory:")) != NULL)
        return open_memory(rest, options, ret_store, ret_error);
    if (after_scheme(url, "postgresql://") != NULL || after_scheme(url, "postgres://") != NULL)
        return open_postgres(url, options, ret_store, ret_error);
    /* Nothing of the URL is shown: where a scheme is wrong, a password may stand anywhere. */
    return store__error(
        ret_error, TS_STORE_BAD_CONFIGURATION, SIZE_MAX,
        "a store is memory:[NAME], rocksdb:DIRECTORY or postgresql://HOST/DATABASE; the URL given is none "
        "of these");
}
