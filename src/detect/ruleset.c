#include "ruleset.h"

#include "arena.h"
#include "builtin.h"
#include "error.h"
#include "rule_reader.h"

#include "base/blake3.h"
#include "base/endian.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void ts_ruleset_init(struct ts_ruleset *set) {
    *set = (struct ts_ruleset){0};
}

void ts_ruleset_release(struct ts_ruleset *set) {
    if (set->memory) {
        detect__arena_release(set->memory);
        free(set->memory);
    }
    free(set->rules);
    ts_ruleset_init(set);
}

const struct ts_rule *ts_ruleset_find(const struct ts_ruleset *set, const char *id) {
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->rules[i].id, id) == 0)
            return &set->rules[i];
    return NULL;
}

static bool reserve(struct ts_ruleset *set, size_t more) {
    if (!set->memory)
        set->memory = calloc(1, sizeof(struct detect_arena));
    if (!set->memory)
        return false;
    if (set->capacity - set->count >= more)
        return true;
    size_t capacity = set->capacity + more + 64;
    struct ts_rule *rules = realloc(set->rules, capacity * sizeof *rules);
    if (!rules)
        return false;
    set->rules = rules;
    set->capacity = capacity;
    return true;
}

/* Ids by which a rule of the file takes the place of one that was there: sorted, so that thousands of rules
 * are no matter. */
struct indexed_id {
    const char *id;
    size_t index;
};

static int compare_ids(const void *a, const void *b) {
    const struct indexed_id *x = a;
    const struct indexed_id *y = b;
    int order = strcmp(x->id, y->id);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

/* Puts the rules behind set->count, `added` of them, to their places. */
static bool settle(struct ts_ruleset *set, size_t added, struct ts_detect_error *ret_error) {
    size_t total = set->count + added;
    struct indexed_id *ids = malloc((total ? total : 1) * sizeof *ids);
    bool *gone = calloc(total ? total : 1, sizeof *gone);
    bool good = ids && gone;
    if (!good)
        detect__error_set(ret_error, TS_DETECT_NO_MEMORY, (struct detect_place){0}, "out of memory");
    for (size_t i = 0; good && i < total; i++)
        ids[i] = (struct indexed_id){set->rules[i].id, i};
    if (good)
        qsort(ids, total, sizeof *ids, compare_ids);
    for (size_t i = 1; good && i < total; i++) {
        if (strcmp(ids[i - 1].id, ids[i].id) != 0 || ids[i - 1].index < set->count)
            continue;
        const struct ts_rule *rule = &set->rules[ids[i].index];
        detect__error_set(
            ret_error, TS_DETECT_DUPLICATE_ID, (struct detect_place){rule->file, rule->line, rule->id, "id"},
            "stands twice, also at line %u; give one of them another id", set->rules[ids[i - 1].index].line);
        good = false;
    }
    /* Now every id stands at most twice: once among those that were there, once among the new ones. */
    for (size_t i = 1; good && i < total; i++) {
        if (strcmp(ids[i - 1].id, ids[i].id) != 0)
            continue;
        set->rules[ids[i - 1].index] = set->rules[ids[i].index];
        gone[ids[i].index] = true;
    }
    size_t kept = set->count;
    for (size_t i = set->count; good && i < total; i++)
        if (!gone[i])
            set->rules[kept++] = set->rules[i];
    if (good)
        set->count = kept;
    free(gone);
    free(ids);
    return good;
}

bool ts_ruleset_add(struct ts_ruleset *set, const char *file, struct ts_bytes text,
                    struct ts_detect_error *ret_error) {
    if (text.len > TS_RULE_FILE_SIZE_MAX) {
        detect__error_set(ret_error, TS_DETECT_BAD_FIELD, (struct detect_place){.file = file},
                          "larger than %zu bytes; split it", TS_RULE_FILE_SIZE_MAX);
        return false;
    }
    if (!reserve(set, 0)) {
        detect__error_set(ret_error, TS_DETECT_NO_MEMORY, (struct detect_place){.file = file},
                          "out of memory");
        return false;
    }
    struct detect_yaml yaml;
    yaml_node_t *root = NULL;
    bool good = detect__yaml_open(&yaml, file, text, set->memory, ret_error, &root);
    yaml_node_t *list = NULL;
    size_t count = 0;
    if (good)
        list = detect__rules_list(&yaml, root, &count);
    yaml.file = detect__arena_copy(set->memory, ts_bytes_of_cstring(file));
    if (good && !yaml.failed &&
        (!yaml.file || count > TS_RULESET_RULES_MAX - set->count || !reserve(set, count)))
        detect__yaml_fail(&yaml, 0, NULL, "too many rules for one set; %d are the most",
                          TS_RULESET_RULES_MAX);
    for (size_t i = 0; i < count && !yaml.failed; i++)
        detect__rule_read(&yaml, detect__yaml_item(&yaml, list, i), &set->rules[set->count + i]);
    for (size_t i = 0; i < count && !yaml.failed; i++)
        set->rules[set->count + i].origin = set->origin;
    good = good && !yaml.failed && settle(set, count, ret_error);
    detect__yaml_release(&yaml);
    return good;
}

bool ts_ruleset_add_file(struct ts_ruleset *set, const char *path, struct ts_detect_error *ret_error) {
    struct detect_place place = {.file = path};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    uint8_t *text = NULL;
    bool good = false;
    if (fd < 0 || fstat(fd, &status) != 0) {
        detect__error_set(ret_error, TS_DETECT_UNREADABLE, place, "cannot be read: %s", strerror(errno));
        goto done;
    }
    if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size > TS_RULE_FILE_SIZE_MAX) {
        detect__error_set(ret_error, TS_DETECT_UNREADABLE, place,
                          "not a file of at most %zu bytes; name a rule file", TS_RULE_FILE_SIZE_MAX);
        goto done;
    }
    size_t size = (size_t)status.st_size;
    text = malloc(size + 1);
    if (!text) {
        detect__error_set(ret_error, TS_DETECT_NO_MEMORY, place, "out of memory");
        goto done;
    }
    size_t got = 0;
    while (got < size) {
        ssize_t n = read(fd, text + got, size - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    if (got < size) {
        detect__error_set(ret_error, TS_DETECT_UNREADABLE, place, "cannot be read to its end: try again");
        goto done;
    }
    good = ts_ruleset_add(set, path, ts_bytes_of(text, size), ret_error);
done:
    free(text);
    if (fd >= 0)
        close(fd);
    return good;
}

bool ts_ruleset_add_builtin(struct ts_ruleset *set, struct ts_detect_error *ret_error) {
    enum ts_rule_origin before = set->origin;
    bool good = true;
    set->origin = TS_RULE_OF_PROGRAM;
    for (size_t i = 0; i < detect__builtin_count && good; i++) {
        const struct detect_builtin *file = &detect__builtin[i];
        good = ts_ruleset_add(set, file->name, ts_bytes_of(file->text, file->len), ret_error);
    }
    set->origin = before;
    return good;
}

static void hash_u64(struct ts_blake3 *hasher, uint64_t value) {
    uint8_t bytes[8];
    ts_le64_store(value, bytes);
    ts_blake3_update(hasher, ts_bytes_of(bytes, sizeof bytes));
}

static void hash_text(struct ts_blake3 *hasher, const char *text) {
    hash_u64(hasher, strlen(text));
    ts_blake3_update(hasher, ts_bytes_of_cstring(text));
}

static void hash_texts(struct ts_blake3 *hasher, const struct ts_rule_texts *texts) {
    hash_u64(hasher, texts->count);
    for (size_t i = 0; i < texts->count; i++)
        hash_text(hasher, texts->texts[i]);
}

void ts_ruleset_digest(const struct ts_ruleset *set, uint8_t ret_digest[static TS_RULESET_DIGEST_LEN]) {
    struct ts_blake3 hasher;
    ts_blake3_init_derive_key(&hasher, TS_BYTES("turnstone 2026 rule set digest"));
    hash_u64(&hasher, set->count);
    for (size_t i = 0; i < set->count; i++) {
        const struct ts_rule *rule = &set->rules[i];
        uint64_t entropy;
        memcpy(&entropy, &rule->entropy, sizeof entropy);
        hash_text(&hasher, rule->id);
        hash_text(&hasher, rule->pattern);
        hash_u64(&hasher, (uint64_t)rule->gate);
        hash_texts(&hasher, &rule->literals);
        hash_texts(&hasher, &rule->anchors);
        hash_texts(&hasher, &rule->keywords);
        hash_u64(&hasher, rule->lead);
        hash_u64(&hasher, rule->distance);
        hash_u64(&hasher, entropy);
        hash_u64(&hasher, rule->validator_count);
        for (size_t v = 0; v < rule->validator_count; v++)
            hash_u64(&hasher, (uint64_t)rule->validators[v]);
        hash_u64(&hasher, (uint64_t)rule->severity);
        hash_u64(&hasher, (uint64_t)rule->confidence);
        hash_u64(&hasher, rule->reach);
        hash_u64(&hasher, rule->generic);
    }
    ts_blake3_output(&hasher, 0, ret_digest, TS_RULESET_DIGEST_LEN);
}
