#include "runtime/core/selection.h"

#include "base/hex.h"

/* The maximum number of items: each has at least one letter, and commas separate the items. */
#define ITEMS_MAX (TS_SELECTION_MAX / 2)

struct items {
    size_t count;
    size_t digits; /* digits of each commit; 0 if there is no commit yet */
    size_t len;    /* length of the names in bytes[] */
    struct ts_span spans[ITEMS_MAX];
    uint8_t bytes[TS_SELECTION_MAX];
};

static struct ts_bytes item(const struct items *items, size_t i) {
    return ts_bytes_slice(ts_bytes_of(items->bytes, items->len), items->spans[i]);
}

/* Returns false for names that git check-ref-format refuses. Allows *, as in git's ref patterns. */
static bool is_ref_name(struct ts_bytes name) {
    static const char refused[] = " ~^:?[\\,";
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.data[i];
        uint8_t before = i > 0 ? name.data[i - 1] : '/';
        bool is_refused = c <= ' ' || c == 0x7f || memchr(refused, c, sizeof refused - 1) != NULL;
        bool is_wrong_here = (c == '/' && before == '/') || (c == '.' && (before == '.' || before == '/')) ||
                             (c == '{' && before == '@');
        if (is_refused || is_wrong_here)
            return false;
        struct ts_bytes rest = ts_bytes_skip(name, i);
        if (ts_bytes_starts_with(rest, TS_BYTES(".lock")) && (rest.len == 5 || rest.data[5] == '/'))
            return false;
    }
    uint8_t last = name.data[name.len - 1];
    return last != '/' && last != '.';
}

static enum ts_selection_error add_name(struct items *items, struct ts_bytes name) {
    struct ts_bytes prefix = TS_BYTES("refs/heads/");
    if (ts_bytes_starts_with(name, TS_BYTES("refs/")))
        prefix.len = 0;
    if (!is_ref_name(name))
        return TS_SELECTION_NAME;
    if (items->len + prefix.len + name.len > TS_SELECTION_MAX)
        return TS_SELECTION_TOO_LONG;
    items->spans[items->count++] = (struct ts_span){items->len, prefix.len + name.len};
    memcpy(items->bytes + items->len, prefix.data, prefix.len);
    memcpy(items->bytes + items->len + prefix.len, name.data, name.len);
    items->len += prefix.len + name.len;
    return TS_SELECTION_OK;
}

static enum ts_selection_error add_commit(struct items *items, struct ts_bytes id) {
    if (id.len != 40 && id.len != 64)
        return TS_SELECTION_ID;
    uint8_t raw[32];
    if (!ts_hex_decode(id, raw))
        return TS_SELECTION_ID;
    if (items->digits != 0 && items->digits != id.len)
        return TS_SELECTION_MIXED;
    items->digits = id.len;
    items->spans[items->count++] = (struct ts_span){items->len, id.len};
    ts_hex_encode(ts_bytes_of(raw, id.len / 2), (char *)items->bytes + items->len);
    items->len += id.len;
    return TS_SELECTION_OK;
}

/* Sorts the names, and removes duplicates. */
static void put_in_order(struct items *items) {
    for (size_t i = 1; i < items->count; i++)
        for (size_t at = i; at > 0 && ts_bytes_compare(item(items, at - 1), item(items, at)) > 0; at--) {
            struct ts_span span = items->spans[at];
            items->spans[at] = items->spans[at - 1];
            items->spans[at - 1] = span;
        }
    size_t kept = 0;
    for (size_t i = 0; i < items->count; i++)
        if (kept == 0 || !ts_bytes_equal(item(items, kept - 1), item(items, i)))
            items->spans[kept++] = items->spans[i];
    items->count = kept;
}

static enum ts_selection_error split(struct ts_bytes list, bool is_commits, struct items *items) {
    for (;;) {
        const uint8_t *comma = list.len == 0 ? NULL : memchr(list.data, ',', list.len);
        size_t len = comma != NULL ? (size_t)(comma - list.data) : list.len;
        if (len == 0)
            return TS_SELECTION_EMPTY;
        enum ts_selection_error error = is_commits ? add_commit(items, ts_bytes_first(list, len))
                                                   : add_name(items, ts_bytes_first(list, len));
        if (error != TS_SELECTION_OK || comma == NULL)
            return error;
        list = ts_bytes_skip(list, len + 1);
    }
}

static enum ts_selection_error join(const struct items *items, struct ts_bytes kind,
                                    struct ts_selection *ret_selection) {
    uint8_t bytes[TS_SELECTION_MAX];
    size_t len = kind.len;
    memcpy(bytes, kind.data, kind.len);
    for (size_t i = 0; i < items->count; i++) {
        struct ts_bytes name = item(items, i);
        if (len + 1 + name.len > sizeof bytes)
            return TS_SELECTION_TOO_LONG;
        if (i > 0)
            bytes[len++] = ',';
        memcpy(bytes + len, name.data, name.len);
        len += name.len;
    }
    ts_fixed_buf_from_slice(&ret_selection->text, ts_bytes_of(bytes, len), "a selection that was measured");
    ret_selection->commit_digits = items->digits;
    return TS_SELECTION_OK;
}

enum ts_selection_error ts_selection_parse(struct ts_bytes given, struct ts_selection *ret_selection) {
    struct items items = {.count = 0};
    if (given.len > TS_SELECTION_MAX)
        return TS_SELECTION_TOO_LONG;
    if (ts_bytes_equal(given, TS_BYTES("default")) || ts_bytes_equal(given, TS_BYTES("all")))
        return join(&items, given, ret_selection);
    struct ts_bytes kind = TS_BYTES("refs:");
    bool is_commits = false;
    if (!ts_bytes_starts_with(given, kind)) {
        kind = TS_BYTES("commits:");
        is_commits = true;
    }
    if (!ts_bytes_starts_with(given, kind))
        return TS_SELECTION_UNKNOWN;
    enum ts_selection_error error = split(ts_bytes_skip(given, kind.len), is_commits, &items);
    if (error != TS_SELECTION_OK)
        return error;
    put_in_order(&items);
    return join(&items, kind, ret_selection);
}

const char *ts_selection_error_text(enum ts_selection_error error) {
    static const char *const texts[] = {
#define X(id, text) [TS_SELECTION_##id] = (text),
        TS_SELECTION_ERROR_TABLE(X)
#undef X
    };
    return texts[error];
}
