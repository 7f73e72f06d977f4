#include "store/cluster/open.h"

#include "base/bytes.h"
#include "store/contract/url.h"
#include "store/local/local.h"
#include "store/local/memory.h"
#include "store/postgres/postgres.h"
#include "store/rocksdb/rocksdb.h"

static enum ts_store_result open_memory(const struct store_url *url, const struct ts_store_options *options,
                                        struct ts_store **ret_store, struct ts_store_error *ret_error) {
    struct ts_store *store = ts_memory_open_new(url->name, options->clock);
    if (store == NULL)
        return store__error(ret_error, TS_STORE_FAILED, SIZE_MAX, "%.120s: out of memory", url->name);
    if (options->now_ms != 0)
        (void)store__local_fix_time(((struct store__local_store *)store)->local, options->now_ms, ret_error);
    *ret_store = store;
    return TS_STORE_OK;
}

enum ts_store_result ts_store_open(const char *url, const struct ts_store_options *options,
                                   struct ts_store **ret_store, struct ts_store_error *ret_error) {
    struct store_url parsed = {0};
    enum ts_store_result result = store__url_parse(ts_bytes_of_cstring(url), &parsed, ret_error);
    if (result != TS_STORE_OK)
        return result;
    switch (parsed.kind) {
    case STORE_URL_MEMORY:
        result = open_memory(&parsed, options, ret_store, ret_error);
        break;
    case STORE_URL_ROCKSDB:
        result = store__rocksdb_open(parsed.path, parsed.name, options, ret_store, ret_error);
        break;
    case STORE_URL_POSTGRES:
        result = store__postgres_open(&parsed, options, ret_store, ret_error);
        break;
    }
    store__url_release(&parsed);
    return result;
}
