#include "coord/core/ids.h"

#include "base/assert.h"

#include <string.h>

#define NAME(suffix, number, name)                                                                           \
    case TS_##suffix:                                                                                        \
        return name;
#define SAME_NAME(suffix, number, shown)                                                                     \
    if (ts_bytes_equal(name, TS_BYTES(shown))) {                                                             \
        *ret_value = TS_##suffix;                                                                            \
        return true;                                                                                         \
    }
#define DEFINE_NAME(type, TABLE, count)                                                                      \
    const char *type##_name(enum type value) {                                                               \
        switch (value) { TABLE(NAME) }                                                                       \
        ts_unreachable("every " #type " has a name");                                                        \
    }
TS_COORD_ENUMS(DEFINE_NAME)

#define DEFINE_FROM_NAME(type, TABLE, count)                                                                 \
    bool type##_from_name(struct ts_bytes name, enum type *ret_value) {                                      \
        TABLE(SAME_NAME)                                                                                     \
        return false;                                                                                        \
    }
TS_COORD_PUBLIC_ENUMS(DEFINE_FROM_NAME)

static bool name_id_from_text(struct ts_bytes text, uint8_t ret_id[static TS_NAME_ID_LEN]) {
    if (text.len == 0 || text.len > TS_NAME_ID_LEN || memchr(text.data, 0, text.len) != NULL)
        return false;
    memset(ret_id, 0, TS_NAME_ID_LEN);
    memcpy(ret_id, text.data, text.len);
    return true;
}

bool ts_tenant_id_from_text(struct ts_bytes text, struct ts_tenant_id *ret_tenant) {
    return name_id_from_text(text, ret_tenant->b);
}

bool ts_worker_id_from_text(struct ts_bytes text, struct ts_worker_id *ret_worker) {
    return name_id_from_text(text, ret_worker->b);
}

struct ts_bytes ts_tenant_id_text(const struct ts_tenant_id *tenant) {
    const uint8_t *end = memchr(tenant->b, 0, sizeof tenant->b);
    return ts_bytes_of(tenant->b, end == NULL ? sizeof tenant->b : (size_t)(end - tenant->b));
}
