/*
 * What can go wrong with a repository. One table for the whole layer: opening, reading and visiting meet the
 * same damage. Everything here is about input or the machine; our own mistakes are assertions.
 */
#ifndef TS_GIT_ERROR_H
#define TS_GIT_ERROR_H

#include "git/oid.h"

#include <stdbool.h>
#include <stddef.h>

/* X(SUFFIX, reason, cure): the two halves of the line that ts_git_fault_describe writes. */
#define TS_GIT_ERRORS(X)                                                                                     \
    X(OK, "ok", "")                                                                                          \
    X(NOT_A_REPOSITORY, "not a git repository", "give a work tree, a .git folder or a bare repository")      \
    X(BAD_GIT_FILE, "says where a repository is, and there is none",                                         \
      "'git worktree repair' or 'git submodule update --init' mends it")                                     \
    X(BAD_VERSION, "a repository format version that is not known", "a newer release may know it")           \
    X(BAD_EXTENSION, "a repository extension that is not known", "a newer release may know it")              \
    X(BAD_FORM, "an object format that needs version 1 in a repository of version 0",                        \
      "'git config core.repositoryFormatVersion 1' in it")                                                   \
    X(REFTABLE, "refs are kept as reftable, which is not supported",                                         \
      "'git refs migrate --ref-format=files' or a mirror clone makes one that is")                           \
    X(BAD_CONFIG, "the configuration is not valid", "'git config --list' says where")                        \
    X(BAD_REF, "a ref that is neither an id nor another ref", "'git fsck' and 'git update-ref -d' clear it") \
    X(SYMBOLIC_REFS, "a symbolic ref that goes round, or through too many others",                           \
      "'git symbolic-ref --delete' removes it")                                                              \
    X(LINKED_FOLDER, "a folder of refs behind a symbolic link, which is not followed",                       \
      "put the folder itself there")                                                                         \
    X(NO_SUCH_REF, "no such ref or commit", "'git for-each-ref' lists the refs")                             \
    X(IO, "cannot be read", "")                                                                              \
    X(NO_MEMORY, "out of memory", "give it more, or fewer threads")                                          \
    X(STOPPED, "stopped by the caller", "")                                                                  \
    X(NOT_A_FILE, "not a file, and one should be there", "'git fsck', or fetch it again")                    \
    X(BAD_FILE, "damaged: its header or its tables are not valid", "'git fsck', or fetch it again")          \
    X(NO_SHARED_INDEX, "the index is split, and this part of it is missing",                                 \
      "restore it, or remove the index: 'git reset' makes it anew")                                          \
    X(ALTERNATES, "alternates are too many or nested too deep; those further on are not read",               \
      "name them in objects/info/alternates of the repository itself")                                       \
    X(TOO_MANY, "more objects than can be numbered", "scan its packs apart")                                 \
    X(MISSING, "not in the repository", "'git fsck' lists what is missing; fetch it again")                  \
    X(BAD_ENTRY, "damaged: its header is not valid", "'git fsck', or fetch it again")                        \
    X(BAD_DEFLATE, "damaged: its compressed data is not valid", "'git fsck', or fetch it again")             \
    X(BAD_CHECKSUM, "damaged: its checksum differs", "'git fsck', or fetch it again")                        \
    X(BAD_DELTA, "damaged: its delta is not valid", "'git fsck', or fetch it again")                         \
    X(NO_BASE, "its delta base is missing or depends on itself", "'git fsck', or fetch it again")            \
    X(BASE_DAMAGED, "its delta base is damaged", "'git fsck', or fetch it again")                            \
    X(TOO_LARGE, "larger than the limit", "raise the limit to have it read")                                 \
    X(BAD_OBJECT, "its content is not what its type says", "'git fsck', or fetch it again")

#define TS_GIT_ERROR_ENUM(suffix, reason, cure) TS_GIT_##suffix,
enum ts_git_error { TS_GIT_ERRORS(TS_GIT_ERROR_ENUM) };
#undef TS_GIT_ERROR_ENUM

#define TS_GIT_ERROR_ONE(suffix, reason, cure) +1
enum { TS_GIT_ERROR_COUNT = 0 TS_GIT_ERRORS(TS_GIT_ERROR_ONE) };
#undef TS_GIT_ERROR_ONE

/* What went wrong with which thing. */
struct ts_git_fault {
    enum ts_git_error error;
    int os_error; /* errno with IO, 0 otherwise */
    bool has_oid;
    enum ts_git_hash hash;
    struct ts_git_oid oid;
    char thing[240]; /* file, ref or extension, made safe to print; empty when the object is all there is */
};

/* The reason as in the table. */
const char *ts_git_error_reason(enum ts_git_error error);

/* One line without a line end: "object 1234… in pack-5678….pack: damaged: …; cure". Returns ret_text. */
const char *ts_git_fault_describe(const struct ts_git_fault *fault, char *ret_text, size_t size);

/* Where faults that do not stop the work go: one call for each, on the caller's thread. */
struct ts_git_fault_sink {
    void (*take)(void *ctx, const struct ts_git_fault *fault);
    void *ctx;
};

#endif
