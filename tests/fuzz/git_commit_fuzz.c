/* Reads any bytes as a commit, and as a tag; the first byte chooses the hash. All results must point into the
 * input. */
#include "git/object.h"

#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(struct ts_bytes part, struct ts_bytes whole) {
    ts_assert(part.len == 0 || (part.data >= whole.data && part.data + part.len <= whole.data + whole.len));
}

static void check_person(const struct ts_git_person *person, struct ts_bytes whole) {
    check_inside(person->name, whole);
    check_inside(person->mail, whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    enum ts_git_hash hash = (data[0] & 1) != 0 ? TS_GIT_SHA256 : TS_GIT_SHA1;
    struct ts_bytes content = ts_bytes_of(data + 1, size - 1);
    struct ts_git_commit commit;
    struct ts_git_tag tag;
    if (ts_git_commit_parse(hash, content, &commit)) {
        struct ts_git_oid parent;
        check_person(&commit.author, content);
        check_person(&commit.committer, content);
        check_inside(commit.message, content);
        while (ts_git_commit_next_parent(hash, &commit.parents, &parent)) {
        }
    }
    if (ts_git_tag_parse(hash, content, &tag)) {
        check_inside(tag.name, content);
        check_inside(tag.message, content);
        check_person(&tag.tagger, content);
    }
    return 0;
}
