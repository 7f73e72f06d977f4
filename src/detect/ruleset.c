#include "ruleset.h"

#include "error.h"
#include "os/arena.h"
#include "os/grow.h"
#include "rule_reader.h"

#include "base/blake3.h"
#include "base/endian.h"
#include "os/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void ts_ruleset_init(struct ts_ruleset *set) {
    *set = (struct ts_ruleset){0};
}

void ts_ruleset_release(struct ts_ruleset *set) {
    if (set->memory) {
        ts_arena_release(set->memory);
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
        set->memory = calloc(1, sizeof(struct ts_arena));
    if (!set->memory)
        return false;
    return TS_GROW(set->rules, set->capacity, set->count + more);
}

/* The id of a rule, and its index. settle() sorts an array of these by id, so that rules with equal ids are
 * neighbours. */
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

/* Passes problems to the visitor, counts them, and remembers the first one. */
struct problems {
    const struct ts_ruleset *set;
    struct ts_detect_error *first;
    size_t count;
    bool any;
};

static void add_problem(struct problems *problems, const struct ts_detect_error *error) {
    if (!problems->any)
        *problems->first = *error;
    problems->any = true;
    problems->count++;
    if (problems->set->visit)
        problems->set->visit(problems->set->context, error);
}

static void add_no_memory(struct problems *problems, const char *file) {
    struct ts_detect_error error;
    detect__error_set(&error, TS_DETECT_NO_MEMORY, (struct detect_place){.file = file}, "out of memory");
    add_problem(problems, &error);
}

static bool same_id(const struct indexed_id *ids, size_t i) {
    return i > 0 && strcmp(ids[i - 1].id, ids[i].id) == 0;
}

/* Reports and marks each new rule whose id an earlier new rule already has. */
static void find_duplicates(const struct ts_ruleset *set, const struct indexed_id *ids, size_t total,
                            bool *gone, struct problems *problems) {
    for (size_t i = 1; i < total; i++) {
        if (!same_id(ids, i) || ids[i - 1].index < set->count)
            continue;
        const struct ts_rule *rule = &set->rules[ids[i].index];
        struct ts_detect_error error;
        detect__error_set(&error, TS_DETECT_DUPLICATE_ID,
                          (struct detect_place){rule->file, rule->line, rule->id, "id"},
                          "is used twice, also at line %u; give one of the rules another id",
                          set->rules[ids[i - 1].index].line);
        add_problem(problems, &error);
        gone[ids[i].index] = true;
    }
}

/* Moves the `added` rules after set->count to their final places. If there are problems, moves the rules only
 * if there is a visitor. */
static void settle(struct ts_ruleset *set, size_t added, struct problems *problems) {
    size_t total = set->count + added;
    struct indexed_id *ids = malloc((total ? total : 1) * sizeof *ids);
    bool *gone = calloc(total ? total : 1, sizeof *gone);
    if (!ids || !gone) {
        add_no_memory(problems, NULL);
        goto done;
    }
    for (size_t i = 0; i < total; i++)
        ids[i] = (struct indexed_id){set->rules[i].id, i};
    qsort(ids, total, sizeof *ids, compare_ids);
    find_duplicates(set, ids, total, gone, problems);
    if (problems->any && !set->visit)
        goto done;
    for (size_t i = 1; i < total; i++) {
        if (!same_id(ids, i) || ids[i - 1].index >= set->count)
            continue;
        set->rules[ids[i - 1].index] = set->rules[ids[i].index];
        gone[ids[i].index] = true;
    }
    size_t kept = set->count;
    for (size_t i = set->count; i < total; i++)
        if (!gone[i])
            set->rules[kept++] = set->rules[i];
    set->count = kept;
done:
    free(gone);
    free(ids);
}

/* Reads rules into the places after set->count. Returns the number of valid rules. */
static size_t read_rules(struct ts_ruleset *set, struct detect_yaml *yaml, yaml_node_t *list, size_t count,
                         struct problems *problems) {
    yaml->file = ts_arena_copy(set->memory, ts_bytes_of_cstring(yaml->file));
    if (!yaml->file || !reserve(set, count)) {
        add_no_memory(problems, yaml->file);
        return 0;
    }
    if (count > TS_RULESET_RULES_MAX - set->count) {
        detect__yaml_fail(yaml, 0, NULL, "too many rules; the limit is %d", TS_RULESET_RULES_MAX);
        return 0;
    }
    size_t sound = 0;
    for (size_t i = 0; i < count; i++) {
        struct ts_rule *rule = &set->rules[set->count + sound];
        if (!detect__rule_read(yaml, detect__yaml_item(yaml, list, i), rule))
            continue;
        rule->origin = set->origin;
        sound++;
    }
    return sound;
}

static void visit_problem(void *context, const struct ts_detect_error *problem) {
    add_problem(context, problem);
}

/* Adds the number of further problems to the text of the reported problem. */
static void name_others(struct ts_detect_error *error, size_t count) {
    size_t len = strlen(error->text);
    (void)snprintf(error->text + len, sizeof error->text - len,
                   "; %zu more problem%s: see 'turnstone rules check'", count, count == 1 ? "" : "s");
}

bool ts_ruleset_add(struct ts_ruleset *set, const char *file, struct ts_bytes text,
                    struct ts_detect_error *ret_error) {
    struct problems problems = {.set = set, .first = ret_error};
    if (text.len > TS_RULE_FILE_SIZE_MAX) {
        detect__error_set(ret_error, TS_DETECT_UNREADABLE, (struct detect_place){.file = file},
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
    size_t count = 0;
    bool is_open = detect__yaml_open(&yaml, file, text, set->memory, ret_error, &root);
    yaml_node_t *list = is_open ? detect__rules_list(&yaml, root, &count) : NULL;
    bool is_list = is_open && !yaml.failed;
    if (is_list) {
        yaml.visit = visit_problem;
        yaml.context = &problems;
        size_t sound = read_rules(set, &yaml, list, count, &problems);
        if (!problems.any || set->visit)
            settle(set, sound, &problems);
    }
    detect__yaml_release(&yaml);
    if (problems.count > 1 && !set->visit)
        name_others(ret_error, problems.count - 1);
    return is_list && !problems.any;
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
                          "not a regular file, or larger than %zu bytes; name a rule file",
                          TS_RULE_FILE_SIZE_MAX);
        goto done;
    }
    size_t size = (size_t)status.st_size;
    text = malloc(size + 1);
    if (!text) {
        detect__error_set(ret_error, TS_DETECT_NO_MEMORY, place, "out of memory");
        goto done;
    }
    size_t got = 0;
    if (!ts_read_up_to(fd, text, size, &got) || got < size) {
        detect__error_set(ret_error, TS_DETECT_UNREADABLE, place, "changed while it was read: try again");
        goto done;
    }
    good = ts_ruleset_add(set, path, ts_bytes_of(text, size), ret_error);
done:
    free(text);
    if (fd >= 0)
        close(fd);
    return good;
}

bool ts_ruleset_add_ready(struct ts_ruleset *set, const struct ts_rule *rules, size_t count,
                          struct ts_detect_error *ret_error) {
    struct problems problems = {.set = set, .first = ret_error};
    if (!reserve(set, count)) {
        add_no_memory(&problems, NULL);
        return false;
    }
    memcpy(set->rules + set->count, rules, count * sizeof *rules);
    if (set->count == 0)
        set->count = count; /* the ids are distinct, so no rule is replaced */
    else
        settle(set, count, &problems);
    return !problems.any;
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
        hash_texts(&hasher, &rule->paths);
        hash_texts(&hasher, &rule->not_paths);
        hash_texts(&hasher, &rule->pair);
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
        hash_u64(&hasher, rule->scored);
        hash_u64(&hasher, rule->context);
    }
    ts_blake3_output(&hasher, 0, ret_digest, TS_RULESET_DIGEST_LEN);
}
