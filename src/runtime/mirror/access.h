/*
 * A file in which the operator says how this machine reaches hosts. The contents of the file never leave the
 * machine: they are not in stores, logs, addresses or the list of processes.
 *
 *     [github.com]
 *     user = x-access-token
 *     password-file = /etc/turnstone/github.token
 *
 *     [git.example.com:8443]
 *     password = …
 *     ca = /etc/turnstone/ca.pem
 *     proxy = http://proxy.example.com:3128
 *     ssh-key = /etc/turnstone/id_ed25519
 *     known-hosts = /etc/turnstone/known_hosts
 *
 * Lines that begin with # are comments. The file must belong to the user who runs the worker, or to root, and nobody else may read it.
 */
#ifndef TS_RUNTIME_MIRROR_ACCESS_H
#define TS_RUNTIME_MIRROR_ACCESS_H

#include "base/bytes.h"
#include "os/private_file.h"

#include <stdbool.h>
#include <stddef.h>

/* Texts are NULL if the file does not have them. X(field, key) */
#define MIRROR_ACCESS_KEYS(X)                                                                                \
    X(user, "user")                                                                                          \
    X(password, "password")                                                                                  \
    X(password_file, "password-file")                                                                        \
    X(ca, "ca")                                                                                              \
    X(proxy, "proxy")                                                                                        \
    X(ssh_key, "ssh-key")                                                                                    \
    X(known_hosts, "known-hosts")

struct ts_mirror_host {
    const char *name; /* with :port if the file names a port */
#define X(field, key) const char *field;
    MIRROR_ACCESS_KEYS(X)
#undef X
};

/* Zero-initialise it; release it. */
struct ts_mirror_access {
    struct ts_mirror_host *hosts;
    size_t count;
    size_t capacity;
    struct ts_private_file file; /* the bytes of the file, from which `hosts` borrow */
};

/* Reads the file. On failure returns false, and ret_access is unchanged. */
bool ts_mirror_access_load(const char *path, struct ts_mirror_access *ret_access,
                           struct ts_private_error *ret_error);

/* Erases the passwords. */
void ts_mirror_access_release(struct ts_mirror_access *access);

/* Returns the entry for host:port, otherwise the entry for the host, otherwise NULL. `host` may have a
 * port. */
const struct ts_mirror_host *ts_mirror_access_find(const struct ts_mirror_access *access,
                                                   struct ts_bytes host);

#endif
