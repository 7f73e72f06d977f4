/*
 * Searching for a commit by its message, for the revisions :/TEXT and REV^{/TEXT}.
 *
 * TEXT is a POSIX extended regular expression, which may match anywhere in the message. As in git, lines do not
 * count: ^ and $ are the ends of the whole message, and . matches a newline. !-TEXT finds messages that do not
 * match, and !!TEXT begins with an exclamation mark. The locale of the environment says what a character is.
 */
#ifndef TS_GIT_MESSAGE_H
#define TS_GIT_MESSAGE_H

#include "git/repo.h"

/* Finds the youngest commit, by committers' dates, with a message that matches. Searches the commits that
 * `from` reaches or, if `from` is NULL, the commits that HEAD or a ref reaches. Commits of the same second
 * are in git's order. For BAD_PATTERN and NO_MATCH, the caller fills in the fault. A commit that cannot be
 * read is an error, because it may be the wanted commit. */
enum ts_git_error git__message_find(struct ts_git_repo *repo, const char *text, const struct ts_git_oid *from,
                                    struct ts_git_oid *ret_oid, struct ts_git_fault *ret_fault);

#endif
