#include "fleet_codec.h"

#include "base/endian.h"
#include "base/hash64.h"

enum { VERSION = 1, MAGIC = 4, MORE = 0x80, SEVEN = 7 };

struct runtime__writer runtime__begin(uint8_t *bytes, size_t capacity, const char magic[static 4]) {
    ts_assert(capacity > RUNTIME__RECORD_HEAD + RUNTIME__RECORD_END);
    memcpy(bytes, magic, MAGIC);
    bytes[MAGIC] = VERSION;
    return (struct runtime__writer){
        .data = bytes, .len = RUNTIME__RECORD_HEAD, .capacity = capacity - RUNTIME__RECORD_END};
}

void runtime__put(struct runtime__writer *writer, struct ts_bytes bytes) {
    if (writer->is_full || bytes.len > writer->capacity - writer->len) {
        writer->is_full = true;
        return;
    }
    if (bytes.len > 0)
        memcpy(writer->data + writer->len, bytes.data, bytes.len);
    writer->len += bytes.len;
}

void runtime__put_byte(struct runtime__writer *writer, uint8_t byte) {
    runtime__put(writer, ts_bytes_of(&byte, 1));
}

void runtime__put_number(struct runtime__writer *writer, uint64_t number) {
    uint8_t bytes[10];
    size_t len = 0;
    for (; number >= MORE; number >>= SEVEN)
        bytes[len++] = (uint8_t)(number | MORE);
    bytes[len++] = (uint8_t)number;
    runtime__put(writer, ts_bytes_of(bytes, len));
}

/* Adds a number so that numbers near 0 are short: 0, -1, 1, -2 become 0, 1, 2, 3. */
void runtime__put_signed(struct runtime__writer *writer, int64_t number) {
    const uint64_t bits = (uint64_t)number;
    runtime__put_number(writer, bits << 1 ^ (number < 0 ? UINT64_MAX : 0));
}

void runtime__put_text(struct runtime__writer *writer, struct ts_bytes text) {
    runtime__put_number(writer, text.len);
    runtime__put(writer, text);
}

size_t runtime__seal(struct runtime__writer *writer) {
    if (writer->is_full)
        return 0;
    ts_le64_store(ts_xxh64_of_bytes(ts_bytes_of(writer->data, writer->len)), writer->data + writer->len);
    return writer->len + RUNTIME__RECORD_END;
}

enum ts_fleet_error runtime__open(struct ts_bytes bytes, const char magic[static 4], size_t max,
                                  struct runtime__reader *ret_reader) {
    if (bytes.len > max)
        return TS_FLEET_TOO_LARGE;
    if (bytes.len < RUNTIME__RECORD_HEAD + RUNTIME__RECORD_END)
        return TS_FLEET_TRUNCATED;
    if (memcmp(bytes.data, magic, MAGIC) != 0)
        return TS_FLEET_BAD_MAGIC;
    if (bytes.data[MAGIC] != VERSION)
        return TS_FLEET_UNKNOWN_VERSION;
    const size_t body = bytes.len - RUNTIME__RECORD_END;
    if (ts_le64_load(bytes.data + body) != ts_xxh64_of_bytes(ts_bytes_first(bytes, body)))
        return TS_FLEET_BAD_CHECKSUM;
    *ret_reader =
        (struct runtime__reader){.rest = ts_bytes_skip(ts_bytes_first(bytes, body), RUNTIME__RECORD_HEAD)};
    return TS_FLEET_OK;
}

static struct ts_bytes take(struct runtime__reader *reader, size_t len) {
    if (reader->is_bad || len > reader->rest.len) {
        reader->is_bad = true;
        return (struct ts_bytes){0};
    }
    const struct ts_bytes taken = ts_bytes_first(reader->rest, len);
    reader->rest = ts_bytes_skip(reader->rest, len);
    return taken;
}

uint8_t runtime__take_byte(struct runtime__reader *reader, uint8_t max) {
    const struct ts_bytes byte = take(reader, 1);
    if (byte.len == 0 || byte.data[0] > max) {
        reader->is_bad = true;
        return 0;
    }
    return byte.data[0];
}

uint64_t runtime__take_number(struct runtime__reader *reader) {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += SEVEN) {
        const struct ts_bytes byte = take(reader, 1);
        if (byte.len == 0)
            return 0;
        const uint64_t bits = byte.data[0] & (MORE - 1);
        const bool is_last = (byte.data[0] & MORE) == 0;
        const bool is_longer_than_needed = is_last && bits == 0 && shift > 0;
        if (bits << shift >> shift != bits || is_longer_than_needed)
            break;
        number |= bits << shift;
        if (is_last)
            return number;
    }
    reader->is_bad = true;
    return 0;
}

uint32_t runtime__take_number32(struct runtime__reader *reader) {
    const uint64_t number = runtime__take_number(reader);
    if (number <= UINT32_MAX)
        return (uint32_t)number;
    reader->is_bad = true;
    return 0;
}

int64_t runtime__take_signed(struct runtime__reader *reader) {
    const uint64_t bits = runtime__take_number(reader);
    const uint64_t value = bits >> 1 ^ ((bits & 1) != 0 ? UINT64_MAX : 0);
    int64_t number;
    memcpy(&number, &value, sizeof number);
    return number;
}

void runtime__take(struct runtime__reader *reader, uint8_t *ret_bytes, size_t len) {
    const struct ts_bytes taken = take(reader, len);
    if (taken.len == len && len > 0)
        memcpy(ret_bytes, taken.data, len);
    else
        memset(ret_bytes, 0, len);
}

struct ts_bytes runtime__take_text(struct runtime__reader *reader, size_t max) {
    const uint64_t len = runtime__take_number(reader);
    if (len > max) {
        reader->is_bad = true;
        return (struct ts_bytes){0};
    }
    return take(reader, (size_t)len);
}

enum ts_fleet_error runtime__close(const struct runtime__reader *reader) {
    return reader->is_bad || reader->rest.len > 0 ? TS_FLEET_BAD_FIELD : TS_FLEET_OK;
}
