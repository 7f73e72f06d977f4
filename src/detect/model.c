#include "model_score.h"

#include "model_data.h"
#include "validate.h"

#include "base/assert.h"
#include "base/number.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Features that are not words, with their names in rules/model.txt. */
#define FEATURES(X)                                                                                          \
    X(BIAS, "bias")                                                                                          \
    X(LENGTH_6, "length-6")                                                                                  \
    X(LENGTH_8, "length-8")                                                                                  \
    X(LENGTH_12, "length-12")                                                                                \
    X(LENGTH_16, "length-16")                                                                                \
    X(LENGTH_20, "length-20")                                                                                \
    X(LENGTH_32, "length-32")                                                                                \
    X(LENGTH_64, "length-64")                                                                                \
    X(CLASSES_1, "classes-1")                                                                                \
    X(CLASSES_2, "classes-2")                                                                                \
    X(CLASSES_3, "classes-3")                                                                                \
    X(CLASSES_4, "classes-4")                                                                                \
    X(DIGITS_NONE, "digits-none")                                                                            \
    X(DIGITS_ONE, "digits-one")                                                                              \
    X(DIGITS_FEW, "digits-few")                                                                              \
    X(DIGITS_SOME, "digits-some")                                                                            \
    X(DIGITS_MANY, "digits-many")                                                                            \
    X(HEX, "hexadecimal")                                                                                    \
    X(HEX_PASSWORD, "hexadecimal-password")                                                                  \
    X(UUID, "uuid")                                                                                          \
    X(PADDED, "base64-padding")                                                                              \
    X(MARKS, "marks")                                                                                        \
    X(PARTS_1, "parts-1")                                                                                    \
    X(PARTS_2, "parts-2")                                                                                    \
    X(PARTS_3, "parts-3")                                                                                    \
    X(PARTS_MANY, "parts-many")                                                                              \
    X(SURPRISE_0, "surprise-0")                                                                              \
    X(SURPRISE_1, "surprise-1")                                                                              \
    X(SURPRISE_2, "surprise-2")                                                                              \
    X(SURPRISE_3, "surprise-3")                                                                              \
    X(SURPRISE_4, "surprise-4")                                                                              \
    X(SURPRISE_5, "surprise-5")                                                                              \
    X(WORDS_NONE, "words-none")                                                                              \
    X(WORDS_FEW, "words-few")                                                                                \
    X(WORDS_HALF, "words-half")                                                                              \
    X(WORDS_MOST, "words-most")                                                                              \
    X(CHANGES_FEW, "changes-few")                                                                            \
    X(CHANGES_SOME, "changes-some")                                                                          \
    X(CHANGES_MANY, "changes-many")                                                                          \
    X(REPEATED, "repeated")                                                                                  \
    X(SEQUENCE, "sequence")                                                                                  \
    X(CAPITALISED, "capitalised")                                                                            \
    X(NAMED_NOTHING, "named-nothing")

#define FEATURE_ENUM(suffix, text) FEATURE_##suffix,
enum feature { FEATURES(FEATURE_ENUM) FEATURE_COUNT };
#undef FEATURE_ENUM

static const char *const feature_names[] = {
#define FEATURE_NAME(suffix, text) [FEATURE_##suffix] = text,
    FEATURES(FEATURE_NAME)
#undef FEATURE_NAME
};

/* The symbols of a text: 26 letters without case, one symbol for digits, and one symbol for everything
 * else. */
enum { SYMBOL_DIGIT = 26, SYMBOL_OTHER = 27, SYMBOLS = 28 };

/* TABLE_SIZE is the size of the hash table of the model's words, a power of two. WORD_MAX is the maximum
 * length of a word. KIND_WORD is the kind of feature for plain words. */
enum { TABLE_SIZE = 16384, WORD_MAX = 24, KIND_WORD = 'w' };

/* A path that lowers the score by at least this much belongs to tests, examples or documents. */
enum { UNLIKELY_PATH = 1000 };

struct entry {
    uint32_t hash; /* 0: empty slot */
    int16_t weight;
};

static struct {
    int16_t weights[FEATURE_COUNT];
    uint8_t surprise[SYMBOLS][SYMBOLS];
    uint8_t symbol[256];
    struct entry table[TABLE_SIZE];
    int32_t reject, medium, high;
} model;

/* ---- reading the model ---- */

/* Returns the FNV-1a hash of the letter `kind`, followed by the word in lower case. Never returns 0. */
static uint32_t hash_of(char kind, struct ts_bytes word) {
    uint32_t hash = (UINT32_C(2166136261) ^ (uint8_t)kind) * UINT32_C(16777619);
    for (size_t i = 0; i < word.len; i++) {
        uint8_t c = word.data[i];
        hash = (hash ^ (c >= 'A' && c <= 'Z' ? c + 32U : c)) * UINT32_C(16777619);
    }
    return hash != 0 ? hash : 1;
}

static struct entry *entry_of(uint32_t hash) {
    size_t at = hash % TABLE_SIZE;
    while (model.table[at].hash != 0 && model.table[at].hash != hash)
        at = (at + 1) % TABLE_SIZE;
    return &model.table[at];
}

static void add_entry(char kind, const char *word, int64_t weight) {
    uint32_t hash = hash_of(kind, ts_bytes_of_cstring(word));
    *entry_of(hash) = (struct entry){hash, (int16_t)weight};
}

static int64_t number_of(const char *text) {
    int64_t number = 0;
    ts_assert(text != NULL && ts_i64_parse(ts_bytes_of_cstring(text), &number) == TS_NUMBER_OK &&
              number > INT16_MIN && number <= INT16_MAX);
    return number;
}

static void read_weight(const char *name, int64_t weight) {
    for (size_t i = 0; i < FEATURE_COUNT; i++)
        if (strcmp(feature_names[i], name) == 0) {
            model.weights[i] = (int16_t)weight;
            return;
        }
    const char *colon = strchr(name, ':');
    ts_assert(colon != NULL);
    add_entry(name[0], colon + 1, weight);
}

static void read_line(char *line) {
    char *rest = line;
    const char *head = strsep(&rest, " ");
    if (head[0] == '\0' || head[0] == '#')
        return;
    if (strcmp(head, "words") == 0) {
        while (rest != NULL)
            add_entry(KIND_WORD, strsep(&rest, " "), 1);
    } else if (strcmp(head, "surprise") == 0) {
        int64_t row = number_of(strsep(&rest, " "));
        for (size_t i = 0; i < SYMBOLS; i++)
            model.surprise[row][i] = (uint8_t)number_of(strsep(&rest, " "));
    } else if (strcmp(head, "least") == 0) {
        const char *what = strsep(&rest, " ");
        int32_t score = (int32_t)number_of(rest);
        *(strcmp(what, "high") == 0     ? &model.high
          : strcmp(what, "medium") == 0 ? &model.medium
                                        : &model.reject) = score;
    } else {
        ts_assert(strcmp(head, "weight") == 0);
        const char *name = strsep(&rest, " ");
        read_weight(name, number_of(rest));
    }
}

/* Reads the model. The file is part of the program, so a mistake in the file is a bug. */
static void read_model(void) {
    for (size_t c = 0; c < 256; c++) {
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        model.symbol[c] = (uint8_t)(is_letter              ? (c | 32U) - 'a'
                                    : c >= '0' && c <= '9' ? SYMBOL_DIGIT
                                                           : SYMBOL_OTHER);
    }
    char *text = strdup(detect__model_text);
    ts_assert(text != NULL);
    for (char *rest = text; rest != NULL;)
        read_line(strsep(&rest, "\n"));
    free(text);
}

static void need_model(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    ts_assert(pthread_once(&once, read_model) == 0);
}

/* ---- features ---- */

struct scoring {
    int32_t score;
    ts_model_visit *visit;
    void *context;
};

static void add(struct scoring *scoring, enum feature feature) {
    scoring->score += model.weights[feature];
    if (scoring->visit != NULL)
        scoring->visit(scoring->context, feature_names[feature], model.weights[feature]);
}

/* Adds the feature of a word of some kind: "name:password". */
static void add_word(struct scoring *scoring, const char *kind, struct ts_bytes word) {
    uint32_t hash = hash_of(kind[0], word);
    const struct entry *entry = entry_of(hash);
    int32_t weight = entry->hash == hash ? entry->weight : 0;
    scoring->score += weight;
    if (scoring->visit == NULL || word.len > WORD_MAX)
        return;
    char text[2 * WORD_MAX + 2];
    int len = snprintf(text, sizeof text, "%s:%.*s", kind, (int)word.len, (const char *)word.data);
    for (int i = 0; i < len; i++)
        text[i] = (char)tolower((unsigned char)text[i]);
    scoring->visit(scoring->context, text, weight);
}

static bool is_word_in(char kind, struct ts_bytes word) {
    uint32_t hash = hash_of(kind, word);
    return entry_of(hash)->hash == hash;
}

/* Takes the first word of text: letters of one case, with or without a leading capital. Returns false when no
 * word is left. */
static bool take_word(struct ts_bytes *text, struct ts_bytes *ret_word) {
    size_t from = 0;
    while (from < text->len && !isalpha(text->data[from]))
        from++;
    size_t to = from;
    while (to < text->len && isupper(text->data[to]))
        to++;
    /* "HTTPServer" is "HTTP" and "Server". */
    if (to < text->len && islower(text->data[to])) {
        if (to - from > 1)
            to--;
        else
            while (to < text->len && islower(text->data[to]))
                to++;
    }
    *ret_word = ts_bytes_slice(*text, (struct ts_span){from, to - from});
    *text = ts_bytes_skip(*text, to);
    return ret_word->len > 0;
}

unsigned detect__model_surprise(struct ts_bytes text) {
    need_model();
    unsigned sum = 0;
    for (size_t i = 1; i < text.len; i++)
        sum += model.surprise[model.symbol[text.data[i - 1]]][model.symbol[text.data[i]]];
    return text.len > 1 ? sum / (unsigned)(text.len - 1) : 0;
}

struct counts {
    size_t lower, upper, digit, hex, separators, marks, changes;
    size_t repeated, sequence; /* lengths of the longest runs */
};

static struct counts count(struct ts_bytes secret) {
    struct counts counts = {.repeated = 1, .sequence = 1};
    size_t repeated = 1;
    size_t sequence = 1;
    unsigned kind_before = 0;
    for (size_t i = 0; i < secret.len; i++) {
        uint8_t c = secret.data[i];
        bool is_lower = (c >= 'a' && c <= 'z') || c >= 0x80;
        bool is_upper = c >= 'A' && c <= 'Z';
        bool is_digit = c >= '0' && c <= '9';
        bool is_separator = c == '-' || c == '_' || c == '.' || c == '/' || c == ':';
        counts.lower += is_lower;
        counts.upper += is_upper;
        counts.digit += is_digit;
        counts.hex += is_digit || (c >= 'a' && c <= 'f');
        counts.separators += is_separator;
        counts.marks += !is_lower && !is_upper && !is_digit && !is_separator && c != '=' && c != '+';
        unsigned kind = is_lower ? 1 : is_upper ? 2 : is_digit ? 3 : 4;
        /* A capital and the small letters after it are one word. */
        counts.changes += i > 0 && kind != kind_before && !(kind_before == 2 && kind == 1);
        kind_before = kind;
        if (i == 0)
            continue;
        repeated = c == secret.data[i - 1] ? repeated + 1 : 1;
        sequence = c == secret.data[i - 1] + 1 ? sequence + 1 : 1;
        counts.repeated = repeated > counts.repeated ? repeated : counts.repeated;
        counts.sequence = sequence > counts.sequence ? sequence : counts.sequence;
    }
    return counts;
}

/* Counts the letters that belong to known words of at least three letters. */
static size_t count_known(struct ts_bytes secret) {
    struct ts_bytes rest = secret;
    struct ts_bytes word;
    size_t known = 0;
    while (take_word(&rest, &word))
        known += word.len >= 3 && is_word_in(KIND_WORD, word) ? word.len : 0;
    return known;
}

static enum feature length_feature(size_t len) {
    static const struct {
        size_t least;
        enum feature feature;
    } lengths[] = {{64, FEATURE_LENGTH_64}, {32, FEATURE_LENGTH_32}, {20, FEATURE_LENGTH_20},
                   {16, FEATURE_LENGTH_16}, {12, FEATURE_LENGTH_12}, {8, FEATURE_LENGTH_8}};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        if (len >= lengths[i].least)
            return lengths[i].feature;
    return FEATURE_LENGTH_6;
}

static enum feature step(enum feature first, size_t value, size_t most) {
    return (enum feature)(first + (value < most ? value : most));
}

/* Returns the feature for how unusual the secret's pairs of letters are, in steps of 0.8 bits, starting at 4
 * bits. */
static enum feature surprise_feature(struct ts_bytes secret) {
    unsigned surprise = detect__model_surprise(secret);
    return step(FEATURE_SURPRISE_0, surprise < 40 ? 0 : (surprise - 40) / 8 + 1, 5);
}

static bool is_uuid(struct ts_bytes text) {
    return text.len == 36 && text.data[8] == '-' && text.data[13] == '-' && text.data[18] == '-' &&
           text.data[23] == '-';
}

/* Returns whether the name says that the value is a password. If such a value has 32 hexadecimal digits, the
 * value is the hash of a password. */
static bool is_password_name(struct ts_bytes name) {
    for (size_t i = 0; i + 3 <= name.len; i++)
        if ((i + 5 <= name.len && strncasecmp((const char *)name.data + i, "passw", 5) == 0) ||
            strncasecmp((const char *)name.data + i, "pwd", 3) == 0)
            return true;
    return false;
}

static void add_value(struct scoring *scoring, struct ts_bytes secret, struct ts_bytes name) {
    struct counts counts = count(secret);
    size_t len = secret.len;
    size_t letters = counts.lower + counts.upper;
    size_t other = len - letters - counts.digit;
    size_t classes = 0;
    const size_t by_class[] = {counts.lower, counts.upper, counts.digit, other};
    for (size_t i = 0; i < sizeof by_class / sizeof by_class[0]; i++)
        classes += by_class[i] > 0;
    add(scoring, length_feature(len));
    add(scoring, step(FEATURE_CLASSES_1, classes - 1, 3));
    add(scoring, counts.digit == 0             ? FEATURE_DIGITS_NONE
                 : counts.digit == 1           ? FEATURE_DIGITS_ONE
                 : counts.digit * 10 < len     ? FEATURE_DIGITS_FEW
                 : counts.digit * 10 < len * 3 ? FEATURE_DIGITS_SOME
                                               : FEATURE_DIGITS_MANY);
    if (counts.hex == len)
        add(scoring, is_password_name(name) ? FEATURE_HEX_PASSWORD : FEATURE_HEX);
    if (is_uuid(secret))
        add(scoring, FEATURE_UUID);
    if (secret.data[len - 1] == '=')
        add(scoring, FEATURE_PADDED);
    if (counts.marks > 0)
        add(scoring, FEATURE_MARKS);
    add(scoring, step(FEATURE_PARTS_1, counts.separators, 3));
    add(scoring, surprise_feature(secret));
    size_t known = count_known(secret);
    add(scoring, known == 0                ? FEATURE_WORDS_NONE
                 : known * 3 < letters     ? FEATURE_WORDS_FEW
                 : known * 4 < letters * 3 ? FEATURE_WORDS_HALF
                                           : FEATURE_WORDS_MOST);
    add(scoring, counts.changes * 6 < len   ? FEATURE_CHANGES_FEW
                 : counts.changes * 3 < len ? FEATURE_CHANGES_SOME
                                            : FEATURE_CHANGES_MANY);
    if (counts.repeated >= 3)
        add(scoring, FEATURE_REPEATED);
    if (counts.sequence >= 4)
        add(scoring, FEATURE_SEQUENCE);
    if (counts.upper == 1 && secret.data[0] >= 'A' && secret.data[0] <= 'Z')
        add(scoring, FEATURE_CAPITALISED);
}

static void add_words(struct scoring *scoring, const char *kind, struct ts_bytes text) {
    struct ts_bytes word;
    while (take_word(&text, &word))
        add_word(scoring, kind, word);
}

int32_t detect__model_score(const struct detect_sight *sight, ts_model_visit *visit, void *context) {
    struct scoring scoring = {.visit = visit, .context = context};
    need_model();
    add(&scoring, FEATURE_BIAS);
    add_value(&scoring, sight->secret, sight->name);
    if (sight->name.len == 0)
        add(&scoring, FEATURE_NAMED_NOTHING);
    add_words(&scoring, "name", sight->name);
    add_words(&scoring, "before", sight->before);
    add_word(&scoring, "rule", ts_bytes_of_cstring(sight->rule));
    return scoring.score > INT16_MAX ? INT16_MAX : scoring.score <= INT16_MIN ? INT16_MIN + 1 : scoring.score;
}

/* Returns whether a file with this extension is a program. A value without quotes in a program is part of a
 * comment, or of a document inside a text. */
static bool is_code(const char *extension) {
    static const char *const extensions[] = {"py",  "rb",    "go",  "java", "js",   "ts", "jsx",
                                             "tsx", "cs",    "php", "cpp",  "c",    "h",  "rs",
                                             "kt",  "scala", "pl",  "pm",   "swift"};
    for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; i++)
        if (strcmp(extension, extensions[i]) == 0)
            return true;
    return false;
}

int32_t ts_model_path_score(const char *rule, const char *path, ts_model_visit *visit, void *context) {
    struct scoring scoring = {.visit = visit, .context = context};
    need_model();
    const char *dot = strrchr(path, '.');
    if (dot != NULL && strchr(dot, '/') == NULL) {
        add_word(&scoring, "extension", ts_bytes_of_cstring(dot + 1));
        if (is_code(dot + 1))
            add_word(&scoring, "in-code", ts_bytes_of_cstring(rule));
    }
    add_words(&scoring, "path", ts_bytes_of_cstring(path));
    return scoring.score;
}

/* ---- scores ---- */

bool detect__model_rejects(int32_t score) {
    return score < model.reject;
}

enum ts_confidence ts_model_confidence(int32_t score) {
    need_model();
    return score >= model.high     ? TS_CONFIDENCE_HIGH
           : score >= model.medium ? TS_CONFIDENCE_MEDIUM
                                   : TS_CONFIDENCE_LOW;
}

static bool is_made_by_people(const struct ts_rule *rule) {
    for (size_t i = 0; i < rule->validator_count; i++)
        if (rule->validators[i] == TS_VALIDATOR_PASSWORD || rule->validators[i] == TS_VALIDATOR_BASIC ||
            rule->validators[i] == TS_VALIDATOR_STORED || rule->validators[i] == TS_VALIDATOR_PASSWORD_HASH ||
            rule->validators[i] == TS_VALIDATOR_JWT)
            return true;
    return false;
}

enum ts_confidence ts_model_confidence_at(const struct ts_rule *rule, struct ts_model_match match,
                                          const char *path) {
    if (!rule->scored && !is_made_by_people(rule))
        return match.confidence;
    int32_t by_path = ts_model_path_score(rule->id, path, NULL, NULL);
    if (!rule->scored)
        return by_path <= -UNLIKELY_PATH ? TS_CONFIDENCE_LOW : match.confidence;
    return match.score == TS_MODEL_SCORE_LEAST ? TS_CONFIDENCE_LOW
                                               : ts_model_confidence(match.score + by_path);
}

unsigned ts_model_probability(int32_t score) {
    /* e to the power of the score, by squaring: (1 + x / 1024) ** 1024. */
    double odds = 1 + (double)(score > 20000 ? 20000 : score < -20000 ? -20000 : score) / 1000 / 1024;
    for (int i = 0; i < 10; i++)
        odds *= odds;
    return (unsigned)(1000 * odds / (1 + odds) + 0.5);
}

struct ts_bytes detect__line_before(struct ts_bytes text, struct ts_bytes name, size_t match_from) {
    size_t least = match_from > TS_RULE_NAME_BEFORE ? match_from - TS_RULE_NAME_BEFORE : 0;
    size_t end = name.len > 0 ? (size_t)(name.data - text.data) : match_from;
    size_t from = end;
    while (from > least && text.data[from - 1] != '\n')
        from--;
    return ts_bytes_slice(text, (struct ts_span){from, end > from ? end - from : 0});
}

int32_t ts_model_explain(const struct ts_rule *rule, struct ts_bytes text, const struct ts_match *match,
                         ts_model_visit *visit, void *context) {
    struct ts_span before = {match->span.from, match->secret_span.from - match->span.from};
    struct ts_bytes name = detect__name_before(text, before);
    struct detect_sight sight = {.secret = match->secret,
                                 .name = name,
                                 .before = detect__line_before(text, name, match->span.from),
                                 .rule = rule->id};
    return detect__model_score(&sight, visit, context);
}

/* Product names have some pairs of letters that are rare in words; random letters have more such pairs. */
bool ts_model_is_word(struct ts_bytes text) {
    enum { MOST = 24, DIGITS = 2, SURPRISE_OF_NAMES = 78, SURPRISE_OF_MIXED = 50 };
    bool is_mixed = false; /* a capital after a small letter */
    uint8_t before = '-';
    if (text.len > MOST)
        return false;
    for (size_t i = 0; i < DIGITS && text.len > 3; i++)
        text.len -= text.data[text.len - 1] >= '0' && text.data[text.len - 1] <= '9';
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        bool is_separator = c == '-' || c == '_' || c == '.';
        bool is_upper = c >= 'A' && c <= 'Z';
        if (is_separator ? strchr("-_.", before) != NULL : !is_upper && !(c >= 'a' && c <= 'z'))
            return false;
        is_mixed = is_mixed || (is_upper && before >= 'a');
        before = c;
    }
    return strchr("-_.", before) == NULL &&
           detect__model_surprise(text) < (is_mixed ? SURPRISE_OF_MIXED : SURPRISE_OF_NAMES);
}
