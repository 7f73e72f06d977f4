/*
 * Errors of a repository. One table for the whole layer: opening, reading and visiting find the same kinds of
 * damage. All errors come from the input, the machine or a stop by the caller. Mistakes of the program itself
 * are assertions.
 */
#ifndef TS_GIT_ERROR_H
#define TS_GIT_ERROR_H

#include "git/oid.h"

#include <stdbool.h>
#include <stddef.h>

/* X(SUFFIX, reason, fix): the two halves of the line that ts_git_fault_describe writes. */
#define TS_GIT_ERRORS(X)                                                                                                        \
    X(OK, "ok", "")                                                                                                             \
    X(NOT_A_REPOSITORY, "not a git repository", "give a work tree, a .git folder or a bare repository")                         \
    X(BAD_GIT_FILE, "points to a repository that does not exist",                                                               \
      "'git worktree repair' or 'git submodule update --init' repairs it")                                                      \
    X(BAD_VERSION, "unknown repository format version", "try a newer version of turnstone")                                     \
    X(BAD_EXTENSION, "unknown repository extension", "try a newer version of turnstone")                                        \
    X(BAD_FORM, "an object format that needs version 1 in a repository of version 0",                                           \
      "run 'git config core.repositoryFormatVersion 1' in it")                                                                  \
    X(REFTABLE, "refs are kept as reftable, which is not supported",                                                            \
      "convert it with 'git refs migrate --ref-format=files', or scan a mirror clone")                                          \
    X(BAD_CONFIG, "the configuration is not valid", "'git config --list' shows where")                                          \
    X(BAD_REF, "the ref has neither an id nor the name of another ref",                                                         \
      "find it with 'git fsck' and remove it "                                                                                  \
      "with 'git update-ref -d'")                                                                                               \
    X(BAD_LINE, "damaged: a line that is cut off or not valid", "run 'git fsck', or restore the file")                          \
    X(BAD_REF_NAME, "the name of the ref is not valid for git", "rename its file, or remove it")                                \
    X(SYMBOLIC_REFS, "the symbolic ref is a loop, or goes through too many others",                                             \
      "'git symbolic-ref --delete' removes it")                                                                                 \
    X(LINKED_FOLDER, "a folder of refs behind a symbolic link, which is not followed",                                          \
      "replace the link by the folder itself")                                                                                  \
    X(REFS_CHANGE, "the refs changed during every attempt to read them",                                                        \
      "scan again when fewer refs change, or scan a mirror clone")                                                              \
    X(NO_SUCH_REF, "unknown ref or commit", "'git for-each-ref' lists the refs")                                                \
    X(BAD_REVISION, "not a revision that turnstone can read",                                                                   \
      "give a branch, a tag or an id, with ~N, ^N, ^{/TEXT}, @{upstream}, @{N}, @{-N} or @{DATE} after it, or :/TEXT, or what " \
      "'git rev-parse' prints")                                                                                                 \
    X(NO_SUCH_PARENT, "the commit has no such parent", "'git log --graph' shows the commits before it")                         \
    X(CUT, "its parents are missing: the clone is shallow",                                                                     \
      "fetch the history with 'git fetch --unshallow', or in CI with 'fetch-depth: 0'")                                         \
    X(NO_UPSTREAM, "the branch has no upstream", "'git branch --set-upstream-to' sets one")                                     \
    X(NO_REFLOG, "the reflog has no such entry", "'git reflog' lists the entries")                                              \
    X(BAD_DATE, "not a date that turnstone can read",                                                                           \
      "give @{now}, @{yesterday}, @{3.days.ago}, @{2026-01-31} or "                                                             \
      "@{2026-01-31 12:00:00 +0100}")                                                                                           \
    X(BAD_PATTERN, "the text is not a POSIX extended regular expression",                                                       \
      "to match ( [ { * + or ? itself, write a backslash before it; to match a ! at the "                                       \
      "start, write !!")                                                                                                        \
    X(NO_MATCH, "no commit has a message that matches the text", "'git log --all' shows the messages")                          \
    X(REPLACED, "replaced by other objects in a loop, or by too many in a row",                                                 \
      "'git replace -d' removes a replacement")                                                                                 \
    X(HALF_PACK, "a pack without its index, or an index without its pack",                                                      \
      "'git index-pack' makes an index again; otherwise clone the repository again")                                            \
    X(IO, "cannot be read", "")                                                                                                 \
    X(NO_MEMORY, "out of memory", "use more memory, or fewer threads")                                                          \
    X(STOPPED, "stopped by the caller", "")                                                                                     \
    X(NOT_A_FILE, "expected a regular file", "run 'git fsck', or clone the repository again")                                   \
    X(BAD_FILE, "damaged: its header or its tables are not valid",                                                              \
      "run 'git fsck', or clone the repository again")                                                                          \
    X(NO_SHARED_INDEX, "the index is split, and this part of it is missing",                                                    \
      "restore it, or remove the index and rebuild it with 'git reset'")                                                        \
    X(ALTERNATES, "too many alternates, or nested too deeply; the rest is not read",                                            \
      "name them in objects/info/alternates of the repository itself")                                                          \
    X(TOO_MANY, "more objects than can be numbered", "scan its packs separately")                                               \
    X(MISSING, "not in the repository", "'git fsck' lists what is missing; clone the repository again")                         \
    X(MOVED, "appeared or moved while the repository was read",                                                                 \
      "scan again when the repository changes less")                                                                            \
    X(BAD_ENTRY, "damaged: its header is not valid", "run 'git fsck', or clone the repository again")                           \
    X(BAD_DEFLATE, "damaged: its compressed data is not valid",                                                                 \
      "run 'git fsck', or clone the repository again")                                                                          \
    X(BAD_CHECKSUM, "damaged: its checksum differs", "run 'git fsck', or clone the repository again")                           \
    X(BAD_ID, "damaged: its content does not match its id", "run 'git fsck', or clone the repository again")                    \
    X(BAD_DELTA, "damaged: its delta is not valid", "run 'git fsck', or clone the repository again")                            \
    X(NO_BASE, "its delta base is missing or depends on itself",                                                                \
      "run 'git fsck', or clone the repository again")                                                                          \
    X(BASE_DAMAGED, "its delta base is damaged", "run 'git fsck', or clone the repository again")                               \
    X(TOO_LARGE, "larger than the limit", "raise the limit to read it")                                                         \
    X(NO_ROOM, "too large for the memory limit, and cannot be read in parts", "raise the memory limit")                         \
    X(BAD_OBJECT, "its content does not match its type", "run 'git fsck', or clone the repository again")                       \
    X(WRONG_TYPE, "its type differs from the type that its references expect",                                                  \
      "run 'git fsck', or clone the repository again")

#define TS_GIT_ERROR_ENUM(suffix, reason, cure) TS_GIT_##suffix,
enum ts_git_error { TS_GIT_ERRORS(TS_GIT_ERROR_ENUM) };
#undef TS_GIT_ERROR_ENUM

#define TS_GIT_ERROR_ONE(suffix, reason, cure) +1
enum { TS_GIT_ERROR_COUNT = 0 TS_GIT_ERRORS(TS_GIT_ERROR_ONE) };
#undef TS_GIT_ERROR_ONE

/* An error, and the object or file that it concerns. */
struct ts_git_fault {
    enum ts_git_error error;
    int os_error; /* errno with IO, 0 otherwise */
    bool has_oid;
    enum ts_git_hash hash;
    struct ts_git_oid oid;
    char thing[240]; /* file, ref or extension, safe to print; empty if only an object is concerned */
};

/* Writes one line without a newline: "object 1234… in pack-5678….pack: damaged: …; fix". Returns ret_text. */
const char *ts_git_fault_describe(const struct ts_git_fault *fault, char *ret_text, size_t size);

/* Receives faults that do not stop the work. take is called once for each fault, on the caller's thread. */
struct ts_git_fault_sink {
    void (*take)(void *ctx, const struct ts_git_fault *fault);
    void *ctx;
};

#endif
