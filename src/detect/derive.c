/*
 * Finds a list of texts such that every match of a pattern contains one of them. The search goes through the
 * pattern from left to right, and joins parts that match only a few texts. When no further part can be
 * joined, the texts so far are a candidate. The rarest candidate wins.
 */
#include "derive.h"

#include "classify.h"
#include "compiled.h"
#include "language.h"
#include "token_runs.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
    TEXTS_MAX = 48, /* maximum number of texts of a gate */
    TEXT_LEN_MAX = 24,
    BYTE_CHOICES_MAX = 6,
    GATE_LEN_MIN = 3,
    /* If a rule has keywords, the gate `token` is cheaper than texts with fewer bits of rarity than this. */
    RARE_ENOUGH = 18,
    /* More bits of rarity than this make no difference. */
    RARE = 30,
    /* The maximum number of texts to generate for one pattern, because an attacker may have written the
     * pattern. */
    WORK_MAX = 20000,
};

#define ANY_CASE 0x100u

/* A text that a part of a pattern matches. A letter with ANY_CASE means both cases, and is stored in lower
 * case. */
struct text {
    uint16_t len;
    uint16_t characters[TEXT_LEN_MAX];
};

struct texts {
    size_t count;
    uint32_t end; /* maximum offset of the end of a text from the start of the part */
    int score;    /* rarity in bits; less than 0: not a gate */
    struct text items[];
};

/* Facts about a part of a pattern. */
struct facts {
    struct texts *exact; /* exactly the texts that the part matches; or NULL */
    struct texts *best;  /* each match contains one of these texts; or NULL */
    uint32_t longest;
};

struct derivation {
    struct ts_arena *arena; /* temporary memory */
    size_t work;
    bool failed;
};

static uint32_t add(uint32_t a, uint32_t b) {
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static uint32_t multiply(uint32_t a, uint32_t b) {
    uint64_t product = (uint64_t)a * b;
    return product > UINT32_MAX ? UINT32_MAX : (uint32_t)product;
}

static struct texts *new_texts(struct derivation *d, size_t room) {
    d->work += room;
    if (d->work > WORK_MAX)
        d->failed = true;
    size_t size = sizeof(struct texts) + room * sizeof(struct text);
    struct texts *texts = d->failed ? NULL : ts_arena_take(d->arena, size);
    if (!texts)
        d->failed = true;
    return texts;
}

/* Returns the rarity of a character in source code and text, in bits. */
static int rarity(uint16_t character) {
    int c = character & 0xff;
    if (character & ANY_CASE)
        return 3;
    if (islower(c) || c == ' ')
        return 4;
    return 5;
}

static int score_of(const struct texts *texts) {
    int least = RARE;
    for (size_t i = 0; i < texts->count; i++) {
        int bits = 0;
        if (texts->items[i].len < GATE_LEN_MIN)
            return -1;
        for (size_t k = 0; k < texts->items[i].len; k++)
            if (k == 0 || texts->items[i].characters[k] != texts->items[i].characters[k - 1])
                bits += rarity(texts->items[i].characters[k]);
        least = bits < least ? bits : least;
    }
    for (size_t more = texts->count; more > 1; more /= 2)
        least--;
    return least < 0 ? 0 : least;
}

static bool is_in(const struct text *part, const struct text *whole) {
    for (size_t at = 0; at + part->len <= whole->len; at++)
        if (memcmp(part->characters, whole->characters + at, part->len * sizeof part->characters[0]) == 0)
            return true;
    return false;
}

static void offer(struct facts *facts, struct texts *texts, uint32_t end) {
    texts->end = end;
    texts->score = score_of(texts);
    if (texts->score >= 0 && (!facts->best || texts->score > facts->best->score))
        facts->best = texts;
}

static struct texts *empty_text(struct derivation *d) {
    struct texts *texts = new_texts(d, 1);
    if (texts)
        texts->count = 1;
    return texts;
}

/* Joins each text of a with each text of b. Returns NULL if the results are too many or too long. */
static struct texts *join(struct derivation *d, const struct texts *a, const struct texts *b) {
    if (a->count * b->count > TEXTS_MAX)
        return NULL;
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < b->count; k++)
            if (a->items[i].len + b->items[k].len > TEXT_LEN_MAX)
                return NULL;
    struct texts *joined = new_texts(d, a->count * b->count);
    for (size_t i = 0; joined && i < a->count; i++)
        for (size_t k = 0; k < b->count; k++) {
            struct text *text = &joined->items[joined->count++];
            *text = a->items[i];
            memcpy(text->characters + text->len, b->items[k].characters,
                   b->items[k].len * sizeof text->characters[0]);
            text->len = (uint16_t)(text->len + b->items[k].len);
        }
    return joined;
}

static struct texts *unite(struct derivation *d, const struct texts *a, const struct texts *b) {
    if (a->count + b->count > TEXTS_MAX)
        return NULL;
    struct texts *both = new_texts(d, a->count + b->count);
    if (!both)
        return NULL;
    memcpy(both->items, a->items, a->count * sizeof a->items[0]);
    memcpy(both->items + a->count, b->items, b->count * sizeof b->items[0]);
    both->count = a->count + b->count;
    both->end = a->end > b->end ? a->end : b->end;
    both->score = score_of(both);
    return both;
}

static struct facts look_at_byte(struct derivation *d, const struct detect_language *node) {
    struct facts facts = {.longest = 1};
    struct texts *texts = new_texts(d, BYTE_CHOICES_MAX);
    /* Visits only the set bits, because this loop dominates the time to read many rules. */
    for (unsigned word = 0; texts && word < 4; word++)
        for (uint64_t left = node->bytes[word]; left != 0; left &= left - 1) {
            unsigned byte = word * 64 + (unsigned)__builtin_ctzll(left);
            bool has_both = isalpha((int)byte) && detect__bytes_has(node->bytes, byte ^ 0x20u);
            if (has_both && isupper((int)byte))
                continue;
            if (byte == 0 || texts->count == BYTE_CHOICES_MAX)
                return facts;
            texts->items[texts->count++] =
                (struct text){.len = 1, .characters = {(uint16_t)(has_both ? byte | ANY_CASE : byte)}};
        }
    facts.exact = texts;
    return facts;
}

static struct facts look_at(struct derivation *d, const struct detect_language *node);

static struct facts look_at_sequence(struct derivation *d, const struct detect_language *node) {
    struct facts facts = {0};
    struct texts *run = empty_text(d);
    bool is_exact = true;
    for (const struct detect_language *part = node->first; part && run; part = part->next) {
        struct facts of_part = look_at(d, part);
        struct texts *longer = of_part.exact ? join(d, run, of_part.exact) : NULL;
        if (!longer) {
            offer(&facts, run, facts.longest);
            is_exact = false;
            if (of_part.best)
                offer(&facts, of_part.best, add(facts.longest, of_part.best->end));
            longer = of_part.exact ? of_part.exact : empty_text(d);
        }
        run = longer;
        facts.longest = add(facts.longest, of_part.longest);
    }
    if (!run || d->failed)
        return facts;
    offer(&facts, run, facts.longest);
    facts.exact = is_exact ? run : NULL;
    return facts;
}

static struct facts look_at_choice(struct derivation *d, const struct detect_language *node) {
    if (!node->first)
        return (struct facts){.exact = empty_text(d)};
    struct facts facts = look_at(d, node->first);
    for (const struct detect_language *part = node->first->next; part && !d->failed; part = part->next) {
        struct facts other = look_at(d, part);
        facts.exact = facts.exact && other.exact ? unite(d, facts.exact, other.exact) : NULL;
        facts.best = facts.best && other.best ? unite(d, facts.best, other.best) : NULL;
        facts.longest = other.longest > facts.longest ? other.longest : facts.longest;
    }
    return facts;
}

/* Returns the texts that counts.min to counts.max repetitions of the part match; NULL if they are too many or
 * too long. */
static struct texts *repeat(struct derivation *d, const struct texts *part, struct detect_counts counts) {
    struct texts *all = NULL;
    struct texts *times = empty_text(d);
    for (uint32_t count = 0; times && count <= counts.max; count++) {
        if (count >= counts.min)
            all = all ? unite(d, all, times) : times;
        if (count >= counts.min && !all)
            return NULL;
        if (count < counts.max)
            times = join(d, times, part);
    }
    return times ? all : NULL;
}

static struct facts look_at_repeat(struct derivation *d, const struct detect_language *node) {
    struct facts part = look_at(d, node->first);
    struct facts facts = {.longest = multiply(part.longest, node->counts.max)};
    if (part.exact && node->counts.max <= TEXT_LEN_MAX)
        facts.exact = repeat(d, part.exact, node->counts);
    if (node->counts.min > 0)
        facts.best = part.best;
    return facts;
}

static struct facts look_at(struct derivation *d, const struct detect_language *node) {
    switch (node->kind) {
    case DETECT_LANGUAGE_NOTHING:
        return (struct facts){.exact = empty_text(d)};
    case DETECT_LANGUAGE_BYTE:
        return look_at_byte(d, node);
    case DETECT_LANGUAGE_SEQUENCE:
        return look_at_sequence(d, node);
    case DETECT_LANGUAGE_CHOICE:
        return look_at_choice(d, node);
    case DETECT_LANGUAGE_REPEAT:
        return look_at_repeat(d, node);
    case DETECT_LANGUAGE_SECRET:
        return look_at(d, node->first);
    }
    return (struct facts){0};
}

/* ---- the gate token ---- */

/* Where the secret is in a match: the maximum distance from the start of the match, and whether all bytes of
 * the secret are token characters. Not defined for a secret in a repeat. */
struct secret_place {
    bool is_found;
    bool is_repeated;
    bool is_token;
    uint32_t before;
    uint32_t longest;
};

static bool is_all_token(const struct detect_language *node) {
    if (node->kind == DETECT_LANGUAGE_BYTE)
        for (unsigned byte = 0; byte < 256; byte++)
            if (detect__bytes_has(node->bytes, byte) && detect__is_token[byte] == 0)
                return false;
    for (const struct detect_language *part = node->first; part; part = part->next)
        if (!is_all_token(part))
            return false;
    return true;
}

static struct secret_place find_secret(struct derivation *d, const struct detect_language *node) {
    struct secret_place place = {0};
    if (node->kind == DETECT_LANGUAGE_SECRET)
        return (struct secret_place){
            .is_found = true, .is_token = is_all_token(node), .longest = look_at(d, node->first).longest};
    for (const struct detect_language *part = node->first; part; part = part->next) {
        struct secret_place inner = find_secret(d, part);
        if (inner.is_found) {
            inner.is_repeated = inner.is_repeated || place.is_repeated ||
                                (node->kind == DETECT_LANGUAGE_REPEAT && node->counts.max > 1);
            inner.is_token = inner.is_token && (!place.is_found || place.is_token);
            inner.before = add(inner.before, node->kind == DETECT_LANGUAGE_SEQUENCE ? place.before : 0);
            if (place.is_found && place.before > inner.before)
                inner.before = place.before;
            if (place.is_found && place.longest > inner.longest)
                inner.longest = place.longest;
            place = inner;
            if (node->kind == DETECT_LANGUAGE_SEQUENCE)
                return place;
        } else if (node->kind == DETECT_LANGUAGE_SEQUENCE) {
            place.before = add(place.before, look_at(d, part).longest);
        }
    }
    if (!place.is_found)
        return (struct secret_place){0};
    return place;
}

/* Sets *ret_lead to the maximum distance from the start of a match to the token characters of its secret.
 * Returns false if the secret is repeated, or too short to contain a run. */
static bool token_lead(struct derivation *d, const struct detect_language *language, uint32_t *ret_lead) {
    struct secret_place place = find_secret(d, language);
    if (!place.is_found || place.is_repeated || place.longest < DETECT_RUN_MIN)
        return false;
    *ret_lead = add(place.before, place.is_token ? 0 : place.longest - DETECT_RUN_MIN);
    return true;
}

/* ---- the rule ---- */

/* With as_pattern, writes a regular expression that matches only this text (letters with ANY_CASE in both
 * cases). Without as_pattern, copies the text, which must not have letters with ANY_CASE. Returns NULL when
 * memory runs out. */
static char *write_text(const struct text *text, bool as_pattern, struct ts_arena *arena) {
    char *made = ts_arena_take(arena, (size_t)text->len * 4 + 1);
    char *to = made;
    for (size_t i = 0; made && i < text->len; i++) {
        int c = text->characters[i] & 0xff;
        if (text->characters[i] & ANY_CASE)
            to += snprintf(to, 5, "[%c%c]", toupper(c), c);
        else if (as_pattern && !isalnum(c))
            to += snprintf(to, 5, "\\x%02x", (unsigned)c);
        else
            *to++ = (char)c;
    }
    return made;
}

static bool has_any_case(const struct text *text) {
    for (size_t i = 0; i < text->len; i++)
        if (text->characters[i] & ANY_CASE)
            return true;
    return false;
}

/* Returns whether a text is needed. A text is superfluous if it contains another text of the list. */
static bool is_needed(const struct texts *texts, size_t which) {
    for (size_t i = 0; i < texts->count; i++)
        if (i != which && is_in(&texts->items[i], &texts->items[which]) &&
            (texts->items[i].len < texts->items[which].len || i < which))
            return false;
    return true;
}

static bool take_texts(struct ts_rule *rule, const struct texts *texts, struct ts_arena *arena) {
    const char **literals = ts_arena_take(arena, texts->count * sizeof *literals);
    const char **anchors = ts_arena_take(arena, texts->count * sizeof *anchors);
    if (!literals || !anchors)
        return false;
    rule->literals.texts = literals;
    rule->anchors.texts = anchors;
    for (size_t i = 0; i < texts->count; i++) {
        if (!is_needed(texts, i))
            continue;
        bool as_pattern = has_any_case(&texts->items[i]);
        char *text = write_text(&texts->items[i], as_pattern, arena);
        if (!text)
            return false;
        if (as_pattern)
            anchors[rule->anchors.count++] = text;
        else
            literals[rule->literals.count++] = text;
    }
    rule->gate = TS_GATE_TEXT;
    return true;
}

static const char *derive_gate(struct derivation *d, struct ts_rule *rule,
                               const struct detect_language *language, const struct texts *best,
                               struct ts_arena *arena) {
    bool may_be_token = rule->keywords.count > 0 &&
                        ts_rule_before(rule) + ts_rule_after(rule) <= DETECT_SHORT_REACH &&
                        token_lead(d, language, &rule->lead);
    if (may_be_token && (!best || best->score < RARE_ENOUGH)) {
        rule->gate = TS_GATE_TOKEN;
        return NULL;
    }
    if (!best)
        return "is missing, and no text of three bytes is in every match; give the rule keywords, or a gate of anchors";
    rule->lead = best->end < rule->reach ? best->end : rule->reach;
    return take_texts(rule, best, arena) ? NULL : "out of memory";
}

static const char *derive(struct derivation *d, struct ts_rule *rule, struct ts_arena *arena,
                          const char **ret_field) {
    const struct detect_language *language = detect__language_parse(rule->pattern, d->arena);
    struct facts facts = language ? look_at(d, language) : (struct facts){0};
    *ret_field = rule->derived.reach ? "reach" : "gate";
    if (!language || d->failed) {
        if (rule->derived.reach)
            return "is missing, and the pattern is too unusual to compute it; if it contains * or +, write {0,64} or {1,64}";
        if (rule->derived.gate)
            return "is missing, and the pattern is too unusual to find one; name texts that every match contains";
        rule->lead = rule->derived.lead ? rule->reach : rule->lead;
        return NULL;
    }
    if (rule->derived.reach && facts.longest > TS_RULE_REACH_MAX)
        return "is missing, and a match can be longer than the maximum reach; bound the pattern";
    if (rule->derived.reach)
        rule->reach = facts.longest;
    *ret_field = "gate";
    if (rule->derived.gate)
        return derive_gate(d, rule, language, facts.best, arena);
    if (rule->derived.lead && (rule->gate != TS_GATE_TOKEN || !token_lead(d, language, &rule->lead)))
        rule->lead = rule->reach;
    return NULL;
}

const char *detect__rule_derive(struct ts_rule *rule, struct ts_arena *arena, const char **ret_field) {
    if (!rule->derived.reach && !rule->derived.gate && !rule->derived.lead)
        return NULL;
    struct ts_arena own = {0};
    struct derivation d = {.arena = &own};
    const char *problem = derive(&d, rule, arena, ret_field);
    ts_arena_release(&own);
    return problem;
}
