/*
 * URLs of stores, and lists of them.
 *
 *   memory:[NAME]                                          a store in this process
 *   rocksdb:DIRECTORY                                      a store in a directory
 *   postgresql://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...][/DATABASE][?OPTION=VALUE[&OPTION=VALUE]...]
 *                                                          a database; postgres:// means the same
 *
 * Options are those of libpq. HOST is a host, an address in brackets, or a socket directory with its slashes
 * written as %2F. Several hosts are one store: a primary and its standbys. In every part, %XX is one byte. A
 * comma that does not separate hosts is written %2C. For omitted parts, libpq's own defaults apply
 * (PGPASSWORD, ~/.pgpass and so on), except for the host, which is required.
 */
#ifndef TS_STORE_CONTRACT_URL_H
#define TS_STORE_CONTRACT_URL_H

#include "turnstone/store.h"

enum store_url_kind { STORE_URL_MEMORY, STORE_URL_ROCKSDB, STORE_URL_POSTGRES };

enum {
    STORE_URL_OPTIONS_MAX = 32,
    STORE_URL_NAME_SIZE = 256,
    STORE_URL_HOSTS_MAX = 16,
    STORE_URL_HOSTS_SIZE = 1001,
};

struct store_url_option {
    const char *name;
    const char *value;
};

/* A parsed URL. Zero-initialise it; release it. The texts are decoded, never NULL, and live as long as the
 * struct. */
struct store_url {
    enum store_url_kind kind;
    char name[STORE_URL_NAME_SIZE]; /* name for messages, without password and options */
    const char *path;               /* memory: the name; rocksdb: the directory */
    const char *user;               /* user and all texts below: for postgresql; only the host is required */
    const char *password;
    const char *host; /* one host or a list with commas; `port` has the same form */
    const char *port;
    size_t host_count;
    const char *database;
    struct store_url_option options[STORE_URL_OPTIONS_MAX];
    size_t option_count;
    char *text;    /* the original text */
    char *decoded; /* memory that the other texts point into */
};

/* Parses a URL. Returns OK, BAD_USAGE, BAD_CONFIGURATION (the text is too long) or FAILED (out of memory).
 * The error is one line that names the fix and contains no password. */
enum ts_store_result store__url_parse(struct ts_bytes text, struct store_url *ret_url,
                                      struct ts_store_error *ret_error);
void store__url_release(struct store_url *url);

/* Returns item `number` of a list with commas, such as the hosts of a URL; the last item if the list is
 * shorter. */
struct ts_bytes store__url_list_item(const char *list, size_t number);

/* A comma-separated list. Zero-initialise it; release it. */
struct store_url_list {
    struct store_url *urls;
    size_t count;
};

/* Parses a list. Returns what store__url_parse returns; the same store twice is an error. */
enum ts_store_result store__url_list_parse(const char *text, struct store_url_list *ret_list,
                                           struct ts_store_error *ret_error);
void store__url_list_release(struct store_url_list *list);

#endif
