/* Stores the past of a store (past.h) as one record. */
#include "store/contract/past.h"
#include "store/local/local.h"

#include <string.h>

static const struct ts_bytes no_key = {0};

enum ts_store_result local__past_read(struct ts_store *head, struct store__past *ret_past,
                                      struct ts_store_error *ret_error) {
    struct store__local *local = ((struct store__local_store *)head)->local;
    struct store__backend *backend = local->backend;
    memset(ret_past, 0, sizeof *ret_past);
    if (backend->ops->origin == NULL)
        return TS_STORE_OK;
    ret_past->is_kept = true;
    ret_past->here = backend->ops->origin(backend);
    struct store__held held = {0};
    enum ts_store_result result =
        backend->ops->get(backend, NULL, STORE_SPACE_PAST, no_key, &held, ret_error);
    if (result != TS_STORE_OK || held.handle == NULL)
        return result;
    struct store__record record;
    if (!store__record_open(STORE_SPACE_PAST, no_key, held.stored, &record) ||
        !store__past_decode(record.body, ret_past))
        result = local__damaged(local, "when the store was open", SIZE_MAX, ret_error);
    backend->ops->let_go(backend, &held);
    return result;
}

enum ts_store_result local__past_write(struct ts_store *head, const struct store__past *past, bool sync,
                                       struct ts_store_error *ret_error) {
    struct store__local *local = ((struct store__local_store *)head)->local;
    uint8_t encoded[STORE_PAST_ENCODED_MAX];
    struct store__write write = {.space = STORE_SPACE_PAST};
    write.body = ts_bytes_of(encoded, store__past_encode(past, encoded));
    store__record_seal(&write, 0);
    return local->backend->ops->write(local->backend, &write, 1, (struct store__write_options){.sync = sync},
                                      ret_error);
}
