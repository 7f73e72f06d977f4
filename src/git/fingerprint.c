#include "git/fingerprint.h"

#include "repo_impl.h"

#include "base/blake3.h"
#include "base/endian.h"
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void add_number(struct ts_blake3 *hasher, uint64_t number) {
    uint8_t bytes[8];
    ts_le64_store(number, bytes);
    ts_blake3_update(hasher, ts_bytes_of(bytes, sizeof bytes));
}

static void add_text(struct ts_blake3 *hasher, const char *text) {
    add_number(hasher, strlen(text));
    ts_blake3_update(hasher, ts_bytes_of_cstring(text));
}

/* Hashes device, inode, mode, owner, size and times of a file or folder, or the fact that it is missing. */
static void add_status(struct ts_blake3 *hasher, const char *folder, const char *name) {
    char path[4096];
    struct stat status;
    int len = snprintf(path, sizeof path, "%s/%s", folder, name);
    bool is_there = len > 0 && (size_t)len < sizeof path && stat(path, &status) == 0;
    add_number(hasher, is_there);
    if (!is_there)
        return;
    add_number(hasher, (uint64_t)status.st_dev);
    add_number(hasher, (uint64_t)status.st_ino);
    add_number(hasher, (uint64_t)status.st_mode);
    add_number(hasher, (uint64_t)status.st_uid);
    add_number(hasher, (uint64_t)status.st_gid);
    add_number(hasher, (uint64_t)status.st_size);
    add_number(hasher, (uint64_t)status.st_mtim.tv_sec);
    add_number(hasher, (uint64_t)status.st_mtim.tv_nsec);
    add_number(hasher, (uint64_t)status.st_ctim.tv_sec);
    add_number(hasher, (uint64_t)status.st_ctim.tv_nsec);
}

/* Hashes the status of a folder and of every file in it. */
static enum ts_git_error add_folder(struct ts_blake3 *hasher, const char *folder, const char *name,
                                    struct ts_git_fault *ret_fault) {
    char path[4096];
    char **names = NULL;
    size_t count = 0;
    int len = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (len < 0 || (size_t)len >= sizeof path)
        return git__fault(TS_GIT_IO, folder, ret_fault);
    enum ts_git_error error = git__list_dir(path, "", &names, &count, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    add_status(hasher, folder, name);
    add_number(hasher, count);
    for (size_t i = 0; i < count; i++) {
        add_text(hasher, names[i]);
        add_status(hasher, path, names[i]);
    }
    git__free_names(names, count);
    return TS_GIT_OK;
}

static enum ts_git_error add_objects(struct ts_blake3 *hasher, const char *folder,
                                     struct ts_git_fault *ret_fault) {
    add_text(hasher, folder);
    add_status(hasher, folder, "info/alternates");
    enum ts_git_error error = add_folder(hasher, folder, "pack", ret_fault);
    for (unsigned i = 0; i < 256 && error == TS_GIT_OK; i++) {
        char name[3];
        snprintf(name, sizeof name, "%02x", i);
        error = add_folder(hasher, folder, name, ret_fault);
    }
    return error;
}

static void keep_fault(void *ctx, const struct ts_git_fault *fault) {
    *(struct ts_git_fault *)ctx = *fault;
}

/* Hashes all refs. Returns an error if a ref cannot be read, because its value is unknown and may have
 * changed. */
static enum ts_git_error add_refs(struct ts_blake3 *hasher, struct ts_git_repo *repo,
                                  struct ts_git_fault *ret_fault) {
    struct ts_git_refs refs;
    struct ts_git_fault fault = {.error = TS_GIT_OK};
    struct ts_git_fault_sink sink = {.take = keep_fault, .ctx = &fault};
    enum ts_git_error error = ts_git_refs_list(repo, &sink, &refs, ret_fault);
    if (error != TS_GIT_OK)
        return error;
    if (fault.error != TS_GIT_OK) {
        ts_git_refs_release(&refs);
        *ret_fault = fault;
        return fault.error;
    }
    add_number(hasher, refs.count);
    for (size_t i = 0; i < refs.count; i++) {
        add_text(hasher, refs.items[i].name);
        ts_blake3_update(hasher, ts_bytes_of(refs.items[i].oid.bytes, TS_GIT_OID_MAX));
    }
    ts_git_refs_release(&refs);
    return TS_GIT_OK;
}

enum ts_git_error ts_git_repo_fingerprint(struct ts_git_repo *repo, uint8_t ret_digest[static 32],
                                          struct ts_git_fault *ret_fault) {
    struct ts_blake3 hasher;
    ts_blake3_init_derive_key(&hasher, TS_BYTES("turnstone 2026 fingerprint of a repository"));
    add_number(&hasher, (uint64_t)repo->hash);
    add_number(&hasher, repo->is_partial);
    add_number(&hasher, repo->shallow_count);
    if (repo->shallow_count > 0)
        ts_blake3_update(&hasher, ts_bytes_of(repo->shallow, repo->shallow_count * sizeof *repo->shallow));
    add_number(&hasher, repo->grafts.count);
    if (repo->grafts.count > 0)
        ts_blake3_update(&hasher,
                         ts_bytes_of(repo->grafts.items, repo->grafts.count * sizeof *repo->grafts.items));
    add_number(&hasher, repo->grafts.commit_count);
    for (size_t i = 0; i < repo->grafts.commit_count; i++)
        ts_blake3_update(&hasher, ts_bytes_of(repo->grafts.commits[i].bytes, TS_GIT_OID_MAX));
    enum ts_git_error error = add_refs(&hasher, repo, ret_fault);
    for (size_t i = 0; i < repo->object_dir_count && error == TS_GIT_OK; i++)
        error = add_objects(&hasher, repo->object_dirs[i], ret_fault);
    if (error == TS_GIT_OK)
        ts_blake3_output(&hasher, 0, ret_digest, 32);
    return error;
}
