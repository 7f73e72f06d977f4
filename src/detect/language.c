#include "language.h"

#include "base/hex.h"

#include <ctype.h>
#include <string.h>

enum { DEPTH_MAX = 64, REPEAT_MAX = 65535, MAKE_STEPS_MAX = 100000 };

/* ---- reading a pattern ---- */

struct parser {
    const char *at;
    struct ts_arena *arena;
    bool any_case;
    bool dot_is_all;
    bool failed;
    unsigned depth;
};

static struct detect_language *new_node(struct parser *p, enum detect_language_kind kind) {
    struct detect_language *node = ts_arena_take(p->arena, sizeof *node);
    if (node)
        node->kind = kind;
    else
        p->failed = true;
    return node;
}

static void set_add(uint64_t set[4], unsigned byte) {
    set[byte >> 6] |= UINT64_C(1) << (byte & 63);
}

static void set_invert(uint64_t set[4]) {
    for (size_t i = 0; i < 4; i++)
        set[i] = ~set[i];
}

static void set_unite(uint64_t set[4], const uint64_t other[4]) {
    for (size_t i = 0; i < 4; i++)
        set[i] |= other[i];
}

static void set_add_cases(uint64_t set[4]) {
    for (unsigned upper = 'A'; upper <= 'Z'; upper++) {
        unsigned lower = upper - 'A' + 'a';
        if (detect__bytes_has(set, upper) || detect__bytes_has(set, lower)) {
            set_add(set, upper);
            set_add(set, lower);
        }
    }
}

/* Adds the set of d, w or s (after a backslash) or of a name such as alnum (in [: and :]). A capital means
 * the complement. Returns false if the name is unknown. */
static bool set_add_named(uint64_t set[4], const char *name, size_t len) {
    static const struct {
        const char *name;
        int (*has)(int);
        const char *more;
    } kinds[] = {{"d", isdigit, ""},       {"w", isalnum, "_"},    {"s", isspace, ""},
                 {"alnum", isalnum, ""},   {"alpha", isalpha, ""}, {"digit", isdigit, ""},
                 {"lower", islower, ""},   {"upper", isupper, ""}, {"space", isspace, ""},
                 {"xdigit", isxdigit, ""}, {"word", isalnum, "_"}, {"punct", ispunct, ""}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        bool is_inverted = len == 1 && isupper((unsigned char)name[0]);
        if (strlen(kinds[i].name) != len || (is_inverted ? tolower((unsigned char)name[0]) != kinds[i].name[0]
                                                         : memcmp(kinds[i].name, name, len) != 0))
            continue;
        uint64_t members[4] = {0};
        for (unsigned byte = 0; byte < 128; byte++)
            if (kinds[i].has((int)byte) || (byte != 0 && strchr(kinds[i].more, (int)byte)))
                set_add(members, byte);
        if (is_inverted)
            set_invert(members);
        set_unite(set, members);
        return true;
    }
    return false;
}

static bool read_hex(struct parser *p, unsigned *ret_byte) {
    bool braced = *p->at == '{';
    unsigned value = 0;
    unsigned digits = 0;
    for (p->at += braced; ts_hex_digit((uint8_t)*p->at) >= 0 && digits < 2; p->at++, digits++)
        value = value * 16 + (unsigned)ts_hex_digit((uint8_t)*p->at);
    if (digits != 2 || (braced && *p->at++ != '}'))
        return false;
    *ret_byte = value;
    return true;
}

/* Parses the text after a backslash: a byte, or a set. A byte is stored in *ret_byte. A set is added to
 * `set`, and *ret_is_byte is false. */
static bool read_escape(struct parser *p, uint64_t set[4], bool *ret_is_byte, unsigned *ret_byte) {
    static const char names[] = "nrtfea";
    static const char bytes[] = "\n\r\t\f\033\a";
    char c = *p->at;
    *ret_is_byte = true;
    if (c == '\0')
        return false;
    p->at++;
    const char *name = strchr(names, c);
    if (name) {
        *ret_byte = (unsigned char)bytes[name - names];
        return true;
    }
    if (c == 'x')
        return read_hex(p, ret_byte);
    if (!isalnum((unsigned char)c)) {
        *ret_byte = (unsigned char)c;
        return true;
    }
    *ret_is_byte = false;
    return set_add_named(set, &c, 1);
}

/* Parses one element of a class, which may be the end of a range. */
static bool read_class_item(struct parser *p, uint64_t set[4], bool *ret_is_byte, unsigned *ret_byte) {
    *ret_is_byte = false;
    if (p->at[0] == '[' && (p->at[1] == '.' || p->at[1] == '='))
        return false;
    if (p->at[0] == '[' && p->at[1] == ':') {
        const char *end = strstr(p->at, ":]");
        bool known = end && set_add_named(set, p->at + 2, (size_t)(end - p->at - 2)) && end - p->at > 3;
        p->at = end ? end + 2 : p->at;
        return known;
    }
    if (*p->at == '\\') {
        p->at++;
        if (*p->at == 'b') {
            p->at++;
            *ret_is_byte = true;
            *ret_byte = '\b';
            return true;
        }
        return read_escape(p, set, ret_is_byte, ret_byte);
    }
    *ret_is_byte = true;
    *ret_byte = (unsigned char)*p->at++;
    return true;
}

/* Parses a class after its opening bracket. */
static bool read_class(struct parser *p, uint64_t set[4]) {
    bool is_inverted = *p->at == '^';
    p->at += is_inverted;
    for (bool is_first = true; *p->at != ']' || is_first; is_first = false) {
        bool is_byte;
        unsigned from = 0;
        unsigned to = 0;
        if (*p->at == '\0' || !read_class_item(p, set, &is_byte, &from))
            return false;
        to = from;
        if (is_byte && p->at[0] == '-' && p->at[1] != ']') {
            p->at++;
            if (*p->at == '\0' || !read_class_item(p, set, &is_byte, &to) || !is_byte)
                return false;
        }
        for (unsigned byte = from; is_byte && byte <= to; byte++)
            set_add(set, byte);
    }
    p->at++;
    if (p->any_case)
        set_add_cases(set);
    if (is_inverted)
        set_invert(set);
    return true;
}

static struct detect_language *parse_choice(struct parser *p);

/* Parses the letters after "(?", as in (?i) or (?i:. Returns false if a letter is unknown. */
static bool read_flags(struct parser *p) {
    bool on = true;
    for (; *p->at && *p->at != ')' && *p->at != ':'; p->at++)
        switch (*p->at) {
        case 'i':
            p->any_case = on;
            break;
        case 's':
            p->dot_is_all = on;
            break;
        case 'm':
            break;
        case '-':
            on = false;
            break;
        default:
            return false;
        }
    return true;
}

/* Parses a group after its opening parenthesis. */
static struct detect_language *parse_group(struct parser *p) {
    static const char secret[] = "<secret>";
    bool any_case = p->any_case;
    bool dot_is_all = p->dot_is_all;
    bool is_secret = false;
    if (*p->at == '*')
        return NULL;
    if (*p->at == '?') {
        p->at++;
        p->at += *p->at == 'P' && p->at[1] == '<';
        if (*p->at == '<' && isalpha((unsigned char)p->at[1])) {
            is_secret = strncmp(p->at, secret, sizeof secret - 1) == 0;
            p->at = strchr(p->at, '>');
            if (!p->at) {
                p->at = "";
                return NULL;
            }
        } else if (!read_flags(p)) {
            return NULL;
        }
        if (*p->at == '\0')
            return NULL;
        if (*p->at == ')') { /* (?i): applies to the rest of the enclosing group */
            p->at++;
            return new_node(p, DETECT_LANGUAGE_NOTHING);
        }
        p->at++;
    }
    struct detect_language *inside = parse_choice(p);
    if (!inside || *p->at != ')')
        return NULL;
    p->at++;
    p->any_case = any_case;
    p->dot_is_all = dot_is_all;
    if (!is_secret)
        return inside;
    struct detect_language *group = new_node(p, DETECT_LANGUAGE_SECRET);
    if (group)
        group->first = inside;
    return group;
}

static struct detect_language *parse_atom(struct parser *p) {
    char c = *p->at++;
    if (c == '(')
        return parse_group(p);
    if (c == '^' || c == '$' || (c == '\\' && (*p->at == 'b' || *p->at == 'B'))) {
        p->at += c == '\\';
        return new_node(p, DETECT_LANGUAGE_NOTHING);
    }
    struct detect_language *node = new_node(p, DETECT_LANGUAGE_BYTE);
    bool is_byte = true;
    unsigned byte = (unsigned char)c;
    if (!node || c == '*' || c == '+' || c == '?')
        return NULL;
    if (c == '[')
        return read_class(p, node->bytes) ? node : NULL;
    if (c == '.') {
        if (!p->dot_is_all)
            set_add(node->bytes, '\n');
        set_invert(node->bytes);
        return node;
    }
    if (c == '\\' && !read_escape(p, node->bytes, &is_byte, &byte))
        return NULL;
    if (is_byte)
        set_add(node->bytes, byte);
    if (p->any_case)
        set_add_cases(node->bytes);
    return node;
}

static bool read_count(const char **at, uint32_t *ret_count) {
    if (!isdigit((unsigned char)**at))
        return false;
    uint32_t count = 0;
    for (; isdigit((unsigned char)**at) && count <= REPEAT_MAX; ++*at)
        count = count * 10 + (uint32_t)(**at - '0');
    *ret_count = count;
    return count <= REPEAT_MAX;
}

/* Parses {3}, {3,5} or ?; a bounded pattern has no other repeats. Returns false if there is no repeat here. A
 * brace without a repeat is a literal. */
static bool read_repeat(struct parser *p, struct detect_counts *ret_counts) {
    const char *at = p->at;
    struct detect_counts counts = {0, 1};
    if (*at == '*' || *at == '+') {
        p->failed = true;
        return false;
    }
    if (*at == '{') {
        at++;
        if (*at == ',') { /* refused, because the two engines read {,3} differently */
            p->failed = true;
            return false;
        }
        if (!isdigit((unsigned char)*at))
            return false;
        p->failed = p->failed || !read_count(&at, &counts.min);
        counts.max = counts.min;
        if (*at == ',') {
            at++;
            if (!isdigit((unsigned char)*at) && *at != '}')
                return false;
            p->failed = p->failed || !read_count(&at, &counts.max);
        }
        if (*at != '}' || counts.max < counts.min)
            return false;
    } else if (*at != '?') {
        return false;
    }
    p->at = at + 1;
    p->at += *p->at == '?' || *p->at == '+';
    *ret_counts = counts;
    return true;
}

static struct detect_language *parse_sequence(struct parser *p) {
    struct detect_language *sequence = new_node(p, DETECT_LANGUAGE_SEQUENCE);
    struct detect_language **end = sequence ? &sequence->first : NULL;
    while (end && *p->at && *p->at != '|' && *p->at != ')') {
        struct detect_language *part = parse_atom(p);
        struct detect_counts counts;
        while (part && read_repeat(p, &counts)) {
            struct detect_language *repeat = new_node(p, DETECT_LANGUAGE_REPEAT);
            if (repeat) {
                repeat->first = part;
                repeat->counts = counts;
            }
            part = repeat;
        }
        if (!part || p->failed)
            return NULL;
        *end = part;
        end = &part->next;
    }
    return sequence;
}

static struct detect_language *parse_choice(struct parser *p) {
    struct detect_language *choice = new_node(p, DETECT_LANGUAGE_CHOICE);
    struct detect_language **end = choice ? &choice->first : NULL;
    if (++p->depth > DEPTH_MAX)
        return NULL;
    for (; end; p->at++) {
        *end = parse_sequence(p);
        if (!*end)
            return NULL;
        end = &(*end)->next;
        if (*p->at != '|')
            break;
    }
    p->depth--;
    return choice;
}

struct detect_language *detect__language_parse(const char *pattern, struct ts_arena *arena) {
    struct parser p = {.at = pattern, .arena = arena};
    struct detect_language *language = parse_choice(&p);
    return language && !p.failed && *p.at == '\0' ? language : NULL;
}

/* ---- members ---- */

struct maker {
    struct ts_prng *prng;
    uint8_t *text;
    size_t size;
    size_t len;
    unsigned counts; /* repetitions of each part; 0: minimum, 1: maximum, otherwise: random */
    unsigned steps;
    bool failed;
};

/* Returns a random byte of the set. If the set has printable bytes, returns a printable byte. */
static uint8_t make_byte(struct maker *m, const uint64_t set[4]) {
    uint8_t members[256];
    size_t count = 0;
    for (unsigned byte = ' '; byte < 127; byte++)
        if (detect__bytes_has(set, byte))
            members[count++] = (uint8_t)byte;
    for (unsigned byte = 0; byte < 256 && count == 0; byte++)
        if (detect__bytes_has(set, byte))
            members[count++] = (uint8_t)byte;
    if (count == 0) {
        m->failed = true;
        return 0;
    }
    return members[ts_prng_below(m->prng, count)];
}

static uint32_t make_count(const struct maker *m, const struct detect_language *repeat) {
    if (m->counts < 2)
        return m->counts == 0 ? repeat->counts.min : repeat->counts.max;
    return (uint32_t)ts_prng_in(m->prng, (struct ts_prng_range){repeat->counts.min, repeat->counts.max});
}

static void make_node(struct maker *m, const struct detect_language *node) {
    m->failed = m->failed || ++m->steps > MAKE_STEPS_MAX;
    if (m->failed)
        return;
    switch (node->kind) {
    case DETECT_LANGUAGE_NOTHING:
        break;
    case DETECT_LANGUAGE_BYTE:
        if (m->len == m->size)
            m->failed = true;
        else
            m->text[m->len++] = make_byte(m, node->bytes);
        break;
    case DETECT_LANGUAGE_SEQUENCE:
    case DETECT_LANGUAGE_SECRET:
        for (const struct detect_language *part = node->first; part; part = part->next)
            make_node(m, part);
        break;
    case DETECT_LANGUAGE_CHOICE: {
        uint64_t seen = 0;
        const struct detect_language *chosen = NULL;
        for (const struct detect_language *part = node->first; part; part = part->next)
            if (ts_prng_below(m->prng, ++seen) == 0)
                chosen = part;
        if (chosen)
            make_node(m, chosen);
        break;
    }
    case DETECT_LANGUAGE_REPEAT:
        for (uint32_t left = make_count(m, node); left > 0 && !m->failed; left--)
            make_node(m, node->first);
        break;
    }
}

size_t detect__language_make(const struct detect_language *language, struct ts_prng *prng, uint8_t *ret_text,
                             size_t size) {
    struct maker m = {.prng = prng, .size = size};
    m.text = ret_text;
    m.counts = (unsigned)ts_prng_below(prng, 4);
    make_node(&m, language);
    return m.failed ? 0 : m.len;
}
