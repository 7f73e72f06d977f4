/*
 * The address of a repository in one spelling, so that every spelling of a repository's address means the
 * same target:
 *
 *     given                                  address
 *     HTTPS://GitHub.com:443//a/b.git/       https://github.com/a/b
 *     git@github.com:a/b.git                 ssh://git@github.com/a/b
 *     me@host:a/b                            ssh://me@host/~/a/b
 *     git@[2001:DB8::1]:a/b                  ssh://git@[2001:db8::1]/a/b
 *     [git@host:2222]:a/b                    ssh://git@host:2222/a/b
 *     ssh://git@[2001:DB8::1]:22/a/./b       ssh://git@[2001:db8::1]/a/b
 *     https://host/%7ea/b%2fc                https://host/~a/b%2Fc
 *     file:///srv/a.git, /srv/a.git, ../a    a path: the driver finds the repository there
 *
 * git gets `url`, which keeps a .git at the end, because some servers need it. In a short address, the path
 * of the user git is below the root, because servers with that user have only one tree of repositories. For
 * other users it is below their home, as in git.
 *
 * An address with a password, or with a user that may be a token, is refused. Otherwise the password or token
 * would appear in stores, logs and the list of processes. A URL with one slash (https:/user:password@host/a)
 * is refused, too: it would be a short address for a host named https.
 */
#ifndef TS_RUNTIME_CORE_ADDRESS_H
#define TS_RUNTIME_CORE_ADDRESS_H

#include "base/bytes.h"
#include "base/fixed_buf.h"

/* A unit's record of 2 KiB has room for the longest address and the longest selection, if the URL equals the
 * address. */
#define TS_ADDRESS_MAX 1024

/* Each text continues a message that begins with "the address". */
#define TS_ADDRESS_ERROR_TABLE(X)                                                                            \
    X(OK, "is correct")                                                                                      \
    X(EMPTY, "is empty")                                                                                     \
    X(TOO_LONG, "is longer than 1024 bytes")                                                                 \
    X(DASH, "begins with '-', which git would take for an option")                                           \
    X(CHARACTER, "has a blank, a control character or a backslash; write it as %XX")                         \
    X(CREDENTIALS, "contains a user name or password, which may be a secret; remove everything up to the @") \
    X(SCHEME, "has an unknown scheme; use https://, http://, ssh://, git://, file:// or a path")             \
    X(HOST, "has no valid host name; write names with non-ASCII letters in their xn-- form")                 \
    X(PORT, "has no valid port; use 1 to 65535")                                                             \
    X(PATH, "names no repository: the path is empty")                                                        \
    X(PARENT, "has '..' in its path; write the path without it")                                             \
    X(ESCAPE, "has a % that is not followed by two hexadecimal digits, or stands for a control character")   \
    X(QUERY, "has a query or fragment (? or #); remove it")

enum ts_address_error {
#define X(id, text) TS_ADDRESS_##id,
    TS_ADDRESS_ERROR_TABLE(X)
#undef X
};

struct ts_address {
    bool is_path;                      /* `text` and `url` are the path, as the user wrote it */
    TS_FIXED_BUF(TS_ADDRESS_MAX) text; /* the text that identifies the target */
    TS_FIXED_BUF(TS_ADDRESS_MAX) url;  /* the URL that git gets */
};

/* Writes ret_address on success only. */
enum ts_address_error ts_address_parse(struct ts_bytes given, struct ts_address *ret_address);

const char *ts_address_error_text(enum ts_address_error error);

#endif
