#include "forms.h"

#include "base/hex.h"

#include <string.h>

#define NONE UINT32_MAX

static void put(struct scan_form *to, uint8_t byte, const struct scan_form *of, struct ts_span at) {
    to->bytes[to->len] = byte;
    to->from[to->len] = of->from[at.from];
    to->to[to->len++] = of->to[at.from + at.len - 1];
}

/* Writes a code point as UTF-8. */
static void put_point(struct scan_form *to, uint32_t point, const struct scan_form *of, struct ts_span at) {
    if (point < 0x80) {
        put(to, (uint8_t)point, of, at);
        return;
    }
    static const uint8_t leads[] = {0, 0xc0, 0xe0, 0xf0};
    unsigned more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    put(to, (uint8_t)(leads[more] | point >> 6 * more), of, at);
    while (more-- > 0)
        put(to, (uint8_t)(0x80 | (point >> 6 * more & 0x3f)), of, at);
}

static uint32_t digit_of(uint8_t c, uint32_t base) {
    int digit = ts_hex_digit(c);
    return digit >= 0 && (uint32_t)digit < base ? (uint32_t)digit : NONE;
}

/* Reads a number of at most this many digits. Returns the number of digits. */
static size_t number_at(const struct scan_form *form, size_t at, size_t most, uint32_t base,
                        uint32_t *ret_number) {
    size_t count = 0;
    *ret_number = 0;
    for (; count < most && at + count < form->len; count++) {
        uint32_t digit = digit_of(form->bytes[at + count], base);
        if (digit == NONE)
            break;
        *ret_number = *ret_number * base + digit;
    }
    return count;
}

static uint8_t byte_at(const struct scan_form *form, size_t at) {
    return at < form->len ? form->bytes[at] : 0;
}

static bool is_high(uint32_t unit) {
    return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(uint32_t unit) {
    return unit >= 0xdc00 && unit < 0xe000;
}

static uint32_t join(uint32_t high, uint32_t low) {
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* ---- decoders ---- */

/* An encoded character. If len is 0, there is no encoded character. */
struct sign {
    size_t len;
    uint32_t value;
    bool is_byte; /* the value is a byte, not a code point */
};
typedef struct sign sign_reader(const struct scan_form *form, size_t at);

static bool has_byte(const struct scan_form *form, uint8_t byte) {
    return form->len > 0 && memchr(form->bytes, byte, form->len) != NULL;
}

/* Decodes the encoded characters, which all begin with `mark`. Most texts have no mark and need not be
 * copied. */
static bool decode_signs(const struct scan_form *form, struct scan_form *to, uint8_t mark,
                         sign_reader *read) {
    bool is_other = false;
    if (!has_byte(form, mark))
        return false;
    for (size_t i = 0; i < form->len;) {
        struct sign sign = form->bytes[i] == mark ? read(form, i) : (struct sign){0};
        bool is_sign = sign.len > 0 && sign.value <= 0x10ffff;
        struct ts_span at = {i, is_sign ? sign.len : 1};
        if (is_sign && !sign.is_byte)
            put_point(to, sign.value, form, at);
        else
            put(to, is_sign ? (uint8_t)sign.value : form->bytes[i], form, at);
        is_other = is_other || is_sign;
        i += at.len;
    }
    return is_other;
}

/* Reads two hexadecimal digits after a mark. */
static struct sign read_hex_byte(const struct scan_form *form, size_t at) {
    uint32_t value;
    return number_at(form, at + 1, 2, 16, &value) == 2 ? (struct sign){3, value, true} : (struct sign){0};
}

/* Reads \uNNNN, a surrogate pair of two of these, or \u{N}. */
static struct sign read_unicode_escape(const struct scan_form *form, size_t at) {
    uint32_t value;
    uint32_t low;
    if (byte_at(form, at + 2) == '{') {
        size_t digits = number_at(form, at + 3, 6, 16, &value);
        bool is_one = digits > 0 && byte_at(form, at + 3 + digits) == '}';
        return is_one ? (struct sign){digits + 4, value, false} : (struct sign){0};
    }
    if (number_at(form, at + 2, 4, 16, &value) < 4)
        return (struct sign){0};
    if (is_high(value) && byte_at(form, at + 6) == '\\' && byte_at(form, at + 7) == 'u' &&
        number_at(form, at + 8, 4, 16, &low) == 4 && is_low(low))
        return (struct sign){12, join(value, low), false};
    return (struct sign){6, value, false};
}

/* Reads escapes as in JSON, C, Python and JavaScript, and \xNN as in this program's own messages. */
static struct sign read_escape(const struct scan_form *form, size_t at) {
    static const char names[] = "bfnrt\"\\/'";
    static const char values[] = "\b\f\n\r\t\"\\/'";
    uint8_t next = byte_at(form, at + 1);
    const char *name = next != 0 ? strchr(names, next) : NULL;
    uint32_t value;
    if (name != NULL)
        return (struct sign){2, (uint8_t)values[name - names], true};
    if (next == 'x' && number_at(form, at + 2, 2, 16, &value) == 2)
        return (struct sign){4, value, true};
    if (next == 'u')
        return read_unicode_escape(form, at);
    if (next == 'U' && number_at(form, at + 2, 8, 16, &value) == 8)
        return (struct sign){10, value, false};
    size_t octal = number_at(form, at + 1, 3, 8, &value);
    return octal > 0 && value < 256 ? (struct sign){octal + 1, value, true} : (struct sign){0};
}

/* Reads entities as in HTML and XML. The ";" after a number may be missing. */
static struct sign read_entity(const struct scan_form *form, size_t at) {
    static const struct {
        struct ts_bytes text;
        uint8_t value;
    } names[] = {{TS_BYTES_INIT("amp;"), '&'},
                 {TS_BYTES_INIT("lt;"), '<'},
                 {TS_BYTES_INIT("gt;"), '>'},
                 {TS_BYTES_INIT("quot;"), '"'},
                 {TS_BYTES_INIT("apos;"), '\''}};
    struct ts_bytes rest = ts_bytes_of(form->bytes + at + 1, form->len - at - 1);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (ts_bytes_starts_with(rest, names[i].text))
            return (struct sign){names[i].text.len + 1, names[i].value, true};
    bool is_hex = (byte_at(form, at + 2) | 0x20) == 'x';
    uint32_t value;
    size_t digits =
        byte_at(form, at + 1) != '#' ? 0 : number_at(form, at + 2 + is_hex, 8, is_hex ? 16 : 10, &value);
    size_t len = 2 + is_hex + digits;
    return digits > 0 ? (struct sign){len + (byte_at(form, at + len) == ';'), value, false}
                      : (struct sign){0};
}

static bool decode_percent(const struct scan_form *form, struct scan_form *to) {
    return decode_signs(form, to, '%', read_hex_byte);
}

static bool decode_quoted_printable(const struct scan_form *form, struct scan_form *to) {
    return decode_signs(form, to, '=', read_hex_byte);
}

static bool decode_escapes(const struct scan_form *form, struct scan_form *to) {
    return decode_signs(form, to, '\\', read_escape);
}

static bool decode_entities(const struct scan_form *form, struct scan_form *to) {
    return decode_signs(form, to, '&', read_entity);
}

/* Decodes wide characters of any byte order and width, if they are ASCII, by removing zeros. */
static bool drop_zeros(const struct scan_form *form, struct scan_form *to) {
    if (!has_byte(form, 0))
        return false;
    for (size_t i = 0; i < form->len; i++)
        if (form->bytes[i] != 0)
            put(to, form->bytes[i], form, (struct ts_span){i, 1});
    return true;
}

static uint32_t unit_at(const struct scan_form *form, size_t at, bool is_big) {
    uint32_t first = form->bytes[at];
    uint32_t second = form->bytes[at + 1];
    return is_big ? first << 8 | second : second << 8 | first;
}

/* Decodes UTF-16 from `begin` on. A line may begin inside a character, and a masked part may end inside a
 * character. So callers try both alignments. */
static bool decode_utf16(const struct scan_form *form, struct scan_form *to, size_t begin, bool is_big) {
    if (!has_byte(form, 0))
        return false;
    for (size_t i = begin; i + 2 <= form->len;) {
        uint32_t unit = unit_at(form, i, is_big);
        uint32_t low = i + 4 <= form->len ? unit_at(form, i + 2, is_big) : 0;
        bool is_pair = is_high(unit) && is_low(low);
        struct ts_span at = {i, is_pair ? 4 : 2};
        put_point(to, is_pair ? join(unit, low) : unit, form, at);
        i += at.len;
    }
    return to->len > 0;
}

static bool decode_utf16_le(const struct scan_form *form, struct scan_form *to) {
    return decode_utf16(form, to, 0, false);
}

static bool decode_utf16_le_odd(const struct scan_form *form, struct scan_form *to) {
    return decode_utf16(form, to, 1, false);
}

static bool decode_utf16_be(const struct scan_form *form, struct scan_form *to) {
    return decode_utf16(form, to, 0, true);
}

static bool decode_utf16_be_odd(const struct scan_form *form, struct scan_form *to) {
    return decode_utf16(form, to, 1, true);
}

scan_decoder *const scan__decoders[SCAN_DECODER_COUNT] = {
    decode_percent,  decode_quoted_printable, decode_escapes,  decode_entities,     drop_zeros,
    decode_utf16_le, decode_utf16_le_odd,     decode_utf16_be, decode_utf16_be_odd,
};

/* ---- codes ---- */

/* The value of a character in either alphabet of base64, plus 1; 0 for all other characters. */
static const uint8_t base64_values[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['-'] = 63,
    ['/'] = 64, ['_'] = 64,
};

static bool is_base64(uint8_t byte) {
    return base64_values[byte] != 0;
}

static void decode_base64(const struct scan_form *form, struct ts_span run, struct scan_form *to) {
    uint32_t bits = 0;
    for (size_t i = 0; i < run.len; i++) {
        bits = bits << 6 | (base64_values[form->bytes[run.from + i]] - 1u);
        unsigned left = 6 - 2 * (unsigned)(i % 4); /* number of bits that belong to the next byte */
        if (i % 4 != 0)
            put(to, (uint8_t)(bits >> left), form, (struct ts_span){run.from + i - 1, 2});
    }
}

static bool is_hex_digit(uint8_t byte) {
    return digit_of(byte, 16) != NONE;
}

static void decode_hex(const struct scan_form *form, struct ts_span run, struct scan_form *to) {
    for (size_t i = 0; i + 2 <= run.len; i += 2) {
        uint32_t value;
        (void)number_at(form, run.from + i, 2, 16, &value);
        put(to, (uint8_t)value, form, (struct ts_span){run.from + i, 2});
    }
}

const struct scan_code scan__codes[SCAN_CODE_COUNT] = {
    {.has = is_base64, .decode = decode_base64, .group = 4, .bytes = 3},
    {.has = is_hex_digit, .decode = decode_hex, .group = 2, .bytes = 1},
};
