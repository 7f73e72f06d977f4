#include "git/object.h"

#include "base/assert.h"
#include "base/number.h"

#include <string.h>

static const char *const type_names[] = {"", "commit", "tree", "blob", "tag"};

const char *ts_git_type_name(enum ts_git_type type) {
    ts_assert(type >= TS_GIT_COMMIT && type <= TS_GIT_TAG);
    return type_names[type];
}

bool ts_git_type_from_name(struct ts_bytes name, enum ts_git_type *ret_type) {
    for (int type = TS_GIT_COMMIT; type <= TS_GIT_TAG; type++)
        if (ts_bytes_equal(name, ts_bytes_of_cstring(type_names[type]))) {
            *ret_type = (enum ts_git_type)type;
            return true;
        }
    return false;
}

enum ts_git_tree_step ts_git_tree_next(enum ts_git_hash hash, struct ts_bytes *rest,
                                       struct ts_git_tree_entry *ret_entry) {
    if (rest->len == 0)
        return TS_GIT_TREE_END;
    const uint8_t *at = rest->data;
    const uint8_t *end = at + rest->len;
    uint32_t mode = 0;
    while (at < end && *at != ' ') {
        if (*at < '0' || *at > '7' || at - rest->data >= 7)
            return TS_GIT_TREE_BAD;
        mode = mode << 3 | (uint32_t)(*at++ - '0');
    }
    if (at == end || at == rest->data)
        return TS_GIT_TREE_BAD;
    at++;
    const uint8_t *zero = memchr(at, 0, (size_t)(end - at));
    size_t hash_len = ts_git_hash_len(hash);
    if (zero == NULL || zero == at || (size_t)(end - zero - 1) < hash_len)
        return TS_GIT_TREE_BAD;
    struct ts_bytes name = ts_bytes_of(at, (size_t)(zero - at));
    if (memchr(name.data, '/', name.len) != NULL)
        return TS_GIT_TREE_BAD;
    ret_entry->mode = mode;
    ret_entry->name = name;
    ret_entry->oid = ts_git_oid_of(hash, zero + 1);
    *rest = ts_bytes_skip(*rest, (size_t)(zero + 1 - rest->data) + hash_len);
    return TS_GIT_TREE_ENTRY;
}

/* Removes the first line from *rest, and sets *ret_line to the line without its end. Returns false at the end
 * of the content. */
static bool take_line(struct ts_bytes *rest, struct ts_bytes *ret_line) {
    if (rest->len == 0)
        return false;
    const uint8_t *end = memchr(rest->data, '\n', rest->len);
    size_t len = end != NULL ? (size_t)(end - rest->data) : rest->len;
    *ret_line = ts_bytes_first(*rest, len);
    *rest = ts_bytes_skip(*rest, end != NULL ? len + 1 : len);
    return true;
}

/* Parses a line "key value", and sets *ret_value. Returns false if the line does not have this key. */
static bool value_of(struct ts_bytes line, struct ts_bytes key, struct ts_bytes *ret_value) {
    if (line.len <= key.len || !ts_bytes_starts_with(line, key) || line.data[key.len] != ' ')
        return false;
    *ret_value = ts_bytes_skip(line, key.len + 1);
    return true;
}

static struct ts_bytes trimmed(struct ts_bytes text) {
    while (text.len > 0 && text.data[text.len - 1] == ' ')
        text.len--;
    while (text.len > 0 && text.data[0] == ' ')
        text = ts_bytes_skip(text, 1);
    return text;
}

static int32_t zone_of(struct ts_bytes text) {
    uint32_t number;
    if (text.len != 5 || (text.data[0] != '+' && text.data[0] != '-') ||
        ts_u32_parse(ts_bytes_skip(text, 1), &number) != TS_NUMBER_OK)
        return 0;
    int32_t minutes = (int32_t)(number / 100 * 60 + number % 100);
    return text.data[0] == '-' ? -minutes : minutes;
}

/* Parses a line "Name <mail> seconds zone". The mail address is everything between the first '<' and the last
 * '>'. */
static struct ts_git_person person_of(struct ts_bytes line) {
    struct ts_git_person person = {.time_s = 0};
    const uint8_t *close = line.len > 0 ? memrchr(line.data, '>', line.len) : NULL;
    if (close == NULL) {
        person.name = trimmed(line);
        return person;
    }
    struct ts_bytes before = ts_bytes_first(line, (size_t)(close - line.data));
    struct ts_bytes after = trimmed(ts_bytes_skip(line, before.len + 1));
    const uint8_t *open = before.len > 0 ? memchr(before.data, '<', before.len) : NULL;
    size_t name_len = open != NULL ? (size_t)(open - before.data) : before.len;
    person.name = trimmed(ts_bytes_first(before, name_len));
    if (open != NULL)
        person.mail = trimmed(ts_bytes_skip(before, name_len + 1));
    const uint8_t *space = after.len > 0 ? memchr(after.data, ' ', after.len) : NULL;
    size_t time_len = space != NULL ? (size_t)(space - after.data) : after.len;
    if (ts_i64_parse(ts_bytes_first(after, time_len), &person.time_s) != TS_NUMBER_OK)
        person.time_s = 0;
    else if (space != NULL)
        person.zone_minutes = zone_of(trimmed(ts_bytes_skip(after, time_len)));
    return person;
}

bool ts_git_commit_parse(enum ts_git_hash hash, struct ts_bytes content, struct ts_git_commit *ret_commit) {
    struct ts_git_commit commit = {.message = {NULL, 0}};
    struct ts_bytes rest = content;
    struct ts_bytes line;
    struct ts_bytes value;
    if (!take_line(&rest, &line) || !value_of(line, TS_BYTES("tree"), &value) ||
        !ts_git_oid_parse(hash, value, &commit.tree))
        return false;
    commit.parents = ts_bytes_first(rest, 0);
    bool in_parents = true;
    while (take_line(&rest, &line) && line.len > 0) {
        if (in_parents && value_of(line, TS_BYTES("parent"), &value)) {
            struct ts_git_oid parent;
            if (!ts_git_oid_parse(hash, value, &parent))
                return false;
            commit.parents.len = (size_t)(rest.data - commit.parents.data);
            continue;
        }
        in_parents = false;
        if (value_of(line, TS_BYTES("author"), &value))
            commit.author = person_of(value);
        else if (value_of(line, TS_BYTES("committer"), &value))
            commit.committer = person_of(value);
    }
    commit.message = rest;
    *ret_commit = commit;
    return true;
}

bool ts_git_commit_next_parent(enum ts_git_hash hash, struct ts_bytes *parents,
                               struct ts_git_oid *ret_parent) {
    struct ts_bytes line;
    struct ts_bytes value;
    return take_line(parents, &line) && value_of(line, TS_BYTES("parent"), &value) &&
           ts_git_oid_parse(hash, value, ret_parent);
}

bool ts_git_tag_parse(enum ts_git_hash hash, struct ts_bytes content, struct ts_git_tag *ret_tag) {
    struct ts_git_tag tag = {.target_type = TS_GIT_COMMIT};
    struct ts_bytes rest = content;
    struct ts_bytes line;
    struct ts_bytes value;
    if (!take_line(&rest, &line) || !value_of(line, TS_BYTES("object"), &value) ||
        !ts_git_oid_parse(hash, value, &tag.target))
        return false;
    if (!take_line(&rest, &line) || !value_of(line, TS_BYTES("type"), &value) ||
        !ts_git_type_from_name(value, &tag.target_type))
        return false;
    while (take_line(&rest, &line) && line.len > 0) {
        if (value_of(line, TS_BYTES("tag"), &value))
            tag.name = value;
        else if (value_of(line, TS_BYTES("tagger"), &value))
            tag.tagger = person_of(value);
    }
    tag.message = rest;
    *ret_tag = tag;
    return true;
}
