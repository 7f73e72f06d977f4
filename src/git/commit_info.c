/* The fields of a commit that a report shows. */
#include "git/walk.h"

#include "fault.h"
#include "repo_impl.h"

#include <stdlib.h>
#include <string.h>

/* Commits up to this size are read completely. The beginning of a larger commit is enough, because it has all
 * fields that a report shows. */
#define COMMIT_BYTES_MAX  ((size_t)64 << 20)
#define COMMIT_START_SIZE ((size_t)1 << 20)

static char *text_of(struct ts_bytes bytes) {
    char *text = malloc(bytes.len + 1);
    if (text == NULL)
        return NULL;
    if (bytes.len > 0)
        memcpy(text, bytes.data, bytes.len);
    text[bytes.len] = '\0';
    return text;
}

enum ts_git_error ts_git_commit_info_read(struct ts_git_repo *repo, const struct ts_git_oid *oid,
                                          struct ts_git_commit_info *ret_info,
                                          struct ts_git_fault *ret_fault) {
    struct ts_git_content content;
    struct ts_git_commit commit;
    enum ts_git_error error = ts_git_object_read(repo, oid, COMMIT_BYTES_MAX, &content, ret_fault);
    if (error == TS_GIT_TOO_LARGE)
        error = git__object_read_start(repo, oid, COMMIT_START_SIZE, &content);
    if (error != TS_GIT_OK)
        return git__fault_object(error, repo->hash, oid, NULL, ret_fault);
    if (content.type != TS_GIT_COMMIT ||
        !ts_git_commit_parse(repo->hash, ts_bytes_of(content.bytes, content.len), &commit)) {
        free(content.bytes);
        return git__fault_object(TS_GIT_BAD_OBJECT, repo->hash, oid, NULL, ret_fault);
    }
    struct ts_git_commit_info info = {.oid = *oid,
                                      .author_name = text_of(commit.author.name),
                                      .author_mail = text_of(commit.author.mail),
                                      .author_time_s = commit.author.time_s,
                                      .author_zone_minutes = commit.author.zone_minutes,
                                      .commit_time_s = commit.committer.time_s};
    free(content.bytes);
    if (info.author_name == NULL || info.author_mail == NULL) {
        ts_git_commit_info_release(&info);
        return git__fault(TS_GIT_NO_MEMORY, repo->common_dir, ret_fault);
    }
    *ret_info = info;
    return TS_GIT_OK;
}

void ts_git_commit_info_release(struct ts_git_commit_info *info) {
    free(info->author_name);
    free(info->author_mail);
    *info = (struct ts_git_commit_info){.author_name = NULL};
}
